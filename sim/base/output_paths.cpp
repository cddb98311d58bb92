#include "base/output_paths.h"

#include <system_error>

#include "base/input_error.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

// True iff `path` is a link to a missing name or to itself.
bool leads_nowhere(const fs::path& path) {
  std::error_code none;
  return fs::is_symlink(fs::symlink_status(path, none)) && !fs::exists(fs::status(path, none));
}

}  // namespace

void refuse_link_to_nothing(const std::string& option, const fs::path& path) {
  if (!leads_nowhere(path)) return;
  throw InputError(option + ": found \"" + path.string() +
                   "\", a link that leads nowhere; remove the link, or choose another file");
}

void refuse_input(const std::string& option, const fs::path& path, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    if (!is_same_file(path, input) && !is_same_file(path, input.substr(0, input.rfind('#')))) continue;
    throw InputError(option + ": found \"" + path.string() +
                     "\", which this command reads, allowed: another file");
  }
}

void refuse_no_file(const std::string& option, const fs::path& path, std::span<const std::string> inputs) {
  std::error_code none;
  refuse_input(option, path, inputs);
  refuse_link_to_nothing(option, path);
  const fs::file_status status = fs::status(path, none);
  if (fs::is_directory(status))
    throw InputError(option + ": found the folder \"" + path.string() + "\", allowed: a file");
  if (fs::is_socket(status) || fs::is_block_file(status))
    throw InputError(option + ": found \"" + path.string() + "\", a socket or a disk, allowed: a file");
}

void refuse_root_folder(const std::string& option, const fs::path& folder) {
  std::error_code none;
  const fs::path absolute = fs::absolute(folder, none);
  // Folders that do not exist yet may also resolve to the root: "/made/..".
  const bool is_root = fs::weakly_canonical(absolute, none).relative_path().empty() && !none;
  if (!is_root && !is_same_file(folder, absolute.root_path())) return;
  throw InputError(option + ": found \"" + folder.string() +
                   "\", the root directory (is a shell variable unset?), allowed: a folder below it");
}

void refuse_one_path(const std::string& option, const fs::path& path, const fs::path& other) {
  std::error_code none;
  const bool is_one = fs::weakly_canonical(path, none) == fs::weakly_canonical(other, none);
  if (!is_one && !is_same_file(path, other)) return;
  throw InputError(option + ": found \"" + path.string() +
                   "\", which this command writes already, allowed: another file");
}

}  // namespace kvcap
