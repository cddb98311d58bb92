// Reads and writes whole files; handles full disks, links, pipes and endless files.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>

namespace kvcap {

// Opens a file or a pipe for reading; the caller closes it. Throws InputError, which begins with `path`, for
// a folder, a socket, a device that is not stdin, and a pipe that no process opens for writing within 3 s.
int open_input(const std::filesystem::path& path);

// Throws InputError if `path` is a pipe, which can be read only once. `why`: what the user can do instead,
// e.g. "; give --format".
void refuse_read_once(const std::filesystem::path& path, const std::string& why);

// Returns the contents of a file or pipe. Throws InputError, which begins with `path`, if it cannot be read
// or has more than `most_bytes`; reading stops there.
std::string read_file(const std::filesystem::path& path, int64_t most_bytes);

// Returns the contents of a hand-written file, at most 64 MB.
std::string read_text(const std::filesystem::path& path);

// Throws InputError for a regular file of more than `most_bytes`.
void refuse_larger(const std::filesystem::path& path, int64_t most_bytes);

// NewFile: a file that is unnamed, or has a temporary name in the same folder, until commit(), so that other
// processes see either the old file or the complete new one. Links are followed; pipes and devices are
// written to directly, and a pipe's reader may take up to 3 s to open it. All members throw a
// std::system_error that names `path`. A forked process may append; it must exit without running destructors.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  // Removes an uncommitted file.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::string_view text);
  // Discards the appended text; no effect on pipes and devices.
  void clear();
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path target_;  // `path_` with its link resolved
  std::filesystem::path name_;    // temporary name until commit(); empty: unnamed
  bool is_aside_ = false;         // false: pipe or device, written to directly
  int file_ = -1;
};

// NewFiles: files that are replaced together. All are complete before commit() moves the first one into
// place; signals do not interrupt commit().
class NewFiles {
 public:
  // Adds a file that begins with `text`; the caller may append more until commit().
  NewFile& add(const std::filesystem::path& path, std::string_view text = {});
  void commit();

 private:
  std::deque<NewFile> files_;
};

// Writes a whole file; signals wait until it is complete.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace kvcap
