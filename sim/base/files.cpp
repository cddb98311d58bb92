#include "base/files.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/input_error.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path) {
  throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path.string());
}

[[noreturn]] void refuse_size(const fs::path& path, int64_t most_bytes) {
  throw InputError(path.string() + ": is larger than " + std::to_string(most_bytes / 1'000'000) +
                   " MB, the most that is read of one file");
}

// An open file, closed in any case.
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

// While it lives, Ctrl-C and termination wait.
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

// A name beside `path` that nobody has, not even as a link to elsewhere: the first that `take` can take.
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

std::string read_file(const fs::path& path, int64_t most_bytes) {
  const auto refuse = [&path] {
    throw InputError(path.string() + ": cannot be read: " + std::strerror(errno));
  };
  refuse_larger(path, most_bytes);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) refuse();
  std::string text;
  std::array<char, 1 << 16> part;
  while (true) {
    const ssize_t bytes = ::read(file.get(), part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) refuse();
    if (bytes == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(bytes));
    if (std::ssize(text) > most_bytes) refuse_size(path, most_bytes);
  }
}

std::string read_text(const fs::path& path) {
  constexpr int64_t kMostBytes = 64'000'000;
  return read_file(path, kMostBytes);
}

NewFile::NewFile(fs::path path) : path_(std::move(path)), target_(path_) {
  std::error_code none;
  const bool is_there = fs::exists(path_, none);
  if (is_there && !fs::is_regular_file(path_, none)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail(path_);
    return;
  }
  if (is_there && fs::is_symlink(path_, none)) target_ = fs::canonical(path_);
  is_aside_ = true;
  // Without a name nothing is left of it, whatever happens. Not every file system can.
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
  // Some file systems tell of a full disk only now.
  if (::close(std::exchange(file_, -1)) != 0) fail(path_);
  if (!is_aside_) return;
  if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(path_);
  name_.clear();
}

void write_file(const fs::path& path, std::string_view text) {
  const SignalsWait wait;
  NewFile file(path);
  file.append(text);
  file.commit();
}

}  // namespace kvcap
