#include "base/files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/input_error.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path) {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path.string());
}

[[noreturn]] void refuse_reading(const fs::path& path, const std::string& why) {
  throw InputError(path.string() + ": cannot be read: " + why);
}

[[noreturn]] void refuse_size(const fs::path& path, int64_t most_bytes) {
  throw InputError(path.string() + ": is larger than " + std::to_string(most_bytes / 1'000'000) +
                   " MB, the limit for one file");
}

// Closes an open file in its destructor.
class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return file_; }

 private:
  int file_;
};

// Waits up to 3 s for `holds`, because a program takes time to open its end of a pipe. Returns false on
// timeout.
template <class Holds>
bool wait_for_partner(Holds holds) {
  constexpr auto kPause = std::chrono::milliseconds(20);
  constexpr int kTries = 150;
  for (int i = 0; i < kTries; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

// True iff the pipe has bytes or a process that may write some. tee() does not consume bytes; poll() would
// not distinguish an idle writer from a missing one.
bool has_writer(int pipe) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return true;
  const Descriptor out(ends[0]), in(ends[1]);
  return tee(pipe, in.get(), 1, SPLICE_F_NONBLOCK) != 0;
}

void set_blocking(int file) { fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK); }

bool is_stdin(const struct stat& status) {
  struct stat own {};
  return fstat(STDIN_FILENO, &own) == 0 && own.st_dev == status.st_dev && own.st_ino == status.st_ino;
}

// Opens an existing pipe or device for writing.
int open_as_it_is(const fs::path& path) {
  std::error_code none;
  const bool is_pipe = fs::is_fifo(path, none);
  int file = -1;
  const auto is_open = [&] {
    file = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return file >= 0 || errno != ENXIO || !is_pipe;
  };
  if (!wait_for_partner(is_open)) {
    throw std::system_error(ENXIO, std::generic_category(), path.string() + ": is a pipe without a reader");
  }
  if (file < 0) fail(path);
  set_blocking(file);
  return file;
}

// Blocks Ctrl-C and termination signals during its lifetime.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t ending;
    sigemptyset(&ending);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_;
};

// Returns the first unused name in the folder of `path` for which `take` succeeds; a dangling link counts as
// used.
template <class Take>
fs::path new_name(const fs::path& path, Take take) {
  constexpr int kTries = 100;
  for (int i = 0;; ++i) {
    fs::path name = path.parent_path() / (".kvcap.part" + std::to_string(getpid()) + "." + std::to_string(i));
    if (take(name.c_str())) return name;
    if (errno != EEXIST || i == kTries) fail(path);
  }
}

}  // namespace

void refuse_larger(const fs::path& path, int64_t most_bytes) {
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return;
  const std::uintmax_t bytes = fs::file_size(path, none);
  if (!none && bytes > static_cast<std::uintmax_t>(most_bytes)) refuse_size(path, most_bytes);
}

int open_input(const fs::path& path) {
  // Without O_NONBLOCK, opening a pipe waits for a writer, which may never come.
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) refuse_reading(path, errno == ENXIO ? "it is a socket" : std::strerror(errno));
  struct stat status {};
  fstat(file, &status);
  std::string problem;
  if (S_ISDIR(status.st_mode)) {
    problem = std::strerror(EISDIR);
  } else if (S_ISFIFO(status.st_mode)) {
    if (!wait_for_partner([file] { return has_writer(file); })) problem = "it is a pipe without a writer";
  } else if (!S_ISREG(status.st_mode) && !is_stdin(status)) {
    problem = "it is a device; allowed: a file or a pipe";
  }
  if (!problem.empty()) {
    ::close(file);
    refuse_reading(path, problem);
  }
  set_blocking(file);
  return file;
}

void refuse_read_once(const fs::path& path, const std::string& why) {
  std::error_code none;
  if (fs::is_fifo(path, none))
    throw InputError(path.string() + ": is a pipe, which can be read only once" + why);
}

std::string read_file(const fs::path& path, int64_t most_bytes) {
  refuse_larger(path, most_bytes);
  const Descriptor file(open_input(path));
  std::string text;
  std::array<char, 1 << 16> part;
  while (true) {
    const ssize_t bytes = ::read(file.get(), part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) refuse_reading(path, std::strerror(errno));
    if (bytes == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(bytes));
    if (std::ssize(text) > most_bytes) refuse_size(path, most_bytes);
  }
}

std::string read_text(const fs::path& path) {
  constexpr int64_t kMaxBytes = 64'000'000;
  return read_file(path, kMaxBytes);
}

NewFile::NewFile(fs::path path) : path_(std::move(path)), target_(path_) {
  std::error_code none;
  const bool is_there = fs::exists(path_, none);
  // For example, a link to itself cannot be resolved; it must not be replaced.
  if (none) throw std::system_error(none, path_.string());
  if (is_there && !fs::is_regular_file(path_, none)) {
    file_ = open_as_it_is(path_);
    return;
  }
  if (is_there && fs::is_symlink(path_, none)) target_ = fs::canonical(path_);
  is_aside_ = true;
  // An unnamed file vanishes if the process ends early. Not every file system supports O_TMPFILE.
  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  file_ = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (file_ >= 0) return;
  name_ = new_name(target_, [this](const char* name) {
    file_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return file_ >= 0;
  });
}

NewFile::~NewFile() {
  if (file_ >= 0) ::close(file_);
  if (!name_.empty()) ::unlink(name_.c_str());
}

void NewFile::append(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno != EINTR) fail(path_);
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void NewFile::clear() {
  if (is_aside_ && (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) != 0)) {
    throw std::system_error(errno, std::generic_category(), path_.string());
  }
}

void NewFile::commit() {
  const SignalsWait wait;
  if (is_aside_ && name_.empty()) {
    const std::string opened = "/proc/self/fd/" + std::to_string(file_);
    name_ = new_name(target_, [&opened](const char* name) {
      return ::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    });
  }
  // Some file systems report a full disk only on close.
  if (::close(std::exchange(file_, -1)) != 0) fail(path_);
  if (!is_aside_) return;
  if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(path_);
  name_.clear();
}

NewFile& NewFiles::add(const fs::path& path, std::string_view text) {
  NewFile& file = files_.emplace_back(path);
  file.append(text);
  return file;
}

void NewFiles::commit() {
  const SignalsWait wait;
  for (NewFile& file : files_) file.commit();
}

void write_file(const fs::path& path, std::string_view text) {
  const SignalsWait wait;
  NewFile file(path);
  file.append(text);
  file.commit();
}

}  // namespace kvcap
