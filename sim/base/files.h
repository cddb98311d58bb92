// Whole files in and out, in a world of full disks, foreign links and endless files.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>

namespace kvcap {

// Opens a file or a pipe for reading; the caller closes it. Throws InputError, which begins with `path`, for
// a folder, a socket, a device that is not stdin, and a pipe that nobody opens for writing within seconds.
int open_input(const std::filesystem::path& path);

// InputError for what can be read only once, a pipe. `why`: what a user can do, "; give --format".
void refuse_read_once(const std::filesystem::path& path, const std::string& why);

// A file or pipe up to its end. Throws InputError, which begins with `path`, where it cannot be read or has
// more than `most_bytes`; no more than those are read.
std::string read_file(const std::filesystem::path& path, int64_t most_bytes);

// One that people write, not measure: of at most 64 MB.
std::string read_text(const std::filesystem::path& path);

// InputError for a regular file of more than `most_bytes`.
void refuse_larger(const std::filesystem::path& path, int64_t most_bytes);

// A file that grows without a name, or under a new one in the same folder, until it is whole: whoever looks
// sees the old file or the new one. A link is followed, a pipe or a device is written to as it is; for the
// reader of a pipe it waits some seconds. All throw std::system_error that names `path`. A forked process may
// append; it ends without destructors.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  // Removes what was not committed.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(std::string_view text);
  // Takes back what was appended, where it is a file.
  void clear();
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path target_;  // where `path_` leads
  std::filesystem::path name_;    // until then; empty: it has none
  bool is_aside_ = false;         // else it is written to as it is
  int file_ = -1;
};

// Files that belong together, where all are new or none: what is added is written aside, and takes its place
// with commit(), which no signal interrupts.
class NewFiles {
 public:
  // Adds a file with `text` in it, which may be appended to until the end.
  NewFile& add(const std::filesystem::path& path, std::string_view text = {});
  void commit();

 private:
  std::deque<NewFile> files_;
};

// All of it at once; signals wait until it is done.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace kvcap
