#include "report/find_files.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/input_error.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

// File names that do not identify a result. The name of the folder is used instead.
constexpr std::array<std::string_view, 5> kPlainNames = {"result", "results", "compare", "capacity", "index"};

bool is_plain(const fs::path& stem) {
  return std::find(kPlainNames.begin(), kPlainNames.end(), stem.string()) != kPlainNames.end();
}

std::string folder_name(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  return (error ? folder : whole).filename().string();
}

std::string name_of(const fs::path& file) {
  const fs::path stem = file.stem();
  if (!is_plain(stem)) return stem.string();
  const std::string folder = folder_name(file.has_parent_path() ? file.parent_path() : ".");
  return folder.empty() ? stem.string() : folder;
}

std::string name_in(const fs::path& folder, const fs::path& file) {
  fs::path inner = file.lexically_relative(folder).replace_extension();
  if (is_plain(inner)) return folder_name(folder);
  if (is_plain(inner.filename())) inner = inner.parent_path();
  const std::string outer = folder_name(folder);
  return (outer.empty() ? inner : outer / inner).generic_string();
}

bool is_inside(const fs::path& folder, const fs::path& file) {
  const fs::path way = file.lexically_relative(folder);
  return !way.empty() && *way.begin() != "..";
}

// True iff the file is the result of one setting, which kvcap compare --out writes into a subfolder;
// compare.json contains it, too.
bool is_setting_of_comparison(const fs::path& file) {
  return file.filename() == "result.json" && fs::exists(file.parent_path().parent_path() / "compare.json") &&
         fs::exists(file.parent_path() / "requests.csv");
}

bool may_show(const fs::path& file) {
  return file.extension() == ".json" || file.filename() == "results.sqlite";
}

std::vector<FoundFile> find_in_folder(const std::string& path, std::vector<std::string>& skipped) {
  const fs::path folder = fs::path(path).lexically_normal();
  const fs::path root = fs::canonical(folder);
  std::vector<FoundFile> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path& file = entry.path();
    std::error_code error;
    if (!may_show(file) || !entry.is_regular_file(error) || error) continue;
    if (!is_inside(root, fs::canonical(file))) {
      skipped.push_back(file.string() + ": is a link that leads outside " + path);
      continue;
    }
    if (file.parent_path() != folder && is_setting_of_comparison(file)) continue;
    found.push_back({file, name_in(folder, file)});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundFile& a, const FoundFile& b) { return a.path < b.path; });
  return found;
}

}  // namespace

std::vector<FoundFile> find_files(const std::string& path, std::vector<std::string>& skipped) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw InputError(path + ": cannot be read: " +
                     (error ? error : std::make_error_code(std::errc::no_such_file_or_directory)).message());
  if (!fs::is_directory(status)) return {{path, name_of(path), true}};
  try {
    return find_in_folder(path, skipped);
  } catch (const fs::filesystem_error& problem) {
    throw InputError(problem.path1().string() + ": cannot be read: " + problem.code().message());
  }
}

}  // namespace kvcap
