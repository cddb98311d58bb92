#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "metrics/write.h"

namespace kvcap {
namespace {

void write_in_place(const std::filesystem::path& path, std::string_view text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path.string());
}

}  // namespace

void write_file(const std::filesystem::path& path, std::string_view text) {
  // A pipe or a device must not be replaced by a file.
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    return write_in_place(path, text);
  std::filesystem::path aside = path;
  aside += ".part" + std::to_string(::getpid());  // of this process, so that two writers never share it
  try {
    write_in_place(aside, text);
    std::filesystem::rename(aside, path);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(aside, ignored);
    throw;
  }
}

}  // namespace kvcap
