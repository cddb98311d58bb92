#include "calibration/disk.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/input_error.h"

namespace kvcap::calibration {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

void require_folder(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw InputError("--ssd: found \"" + folder.string() + "\", which is no folder");
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw InputError("--ssd: found \"" + folder.string() + "\", which cannot be written to");
  }
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// Returns the model of block device `number`; for a partition, the model of its disk.
std::string device_model(dev_t number) {
  const std::string entry =
      "/sys/dev/block/" + std::to_string(major(number)) + ":" + std::to_string(minor(number));
  for (const char* below : {"/device/model", "/../device/model"}) {
    std::string model = first_line(entry + below);
    if (!model.empty()) return model;
  }
  return "";
}

// Reads the file system from the line of mountinfo whose device is `number`: "id parent major:minor root
// point options - type source".
void name_mount(dev_t number, DiskInfo* info) {
  const std::string wanted = std::to_string(major(number)) + ":" + std::to_string(minor(number));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, device;
    words >> id >> parent >> device;
    const std::size_t dash = line.find(" - ");
    if (device != wanted || dash == std::string::npos) continue;
    std::istringstream rest(line.substr(dash + 3));
    rest >> info->file_system >> info->device;
    return;
  }
}

std::string gigabytes(double bytes) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f GB", bytes / 1e9);
  return text;
}

void move_piece(bool reading, int descriptor, const IoPiece& piece) {
  for (int64_t done = 0; done < piece.bytes;) {
    const auto left = static_cast<std::size_t>(piece.bytes - done);
    const off_t offset = piece.offset_bytes + done;
    const ssize_t moved = reading ? pread(descriptor, piece.data + done, left, offset)
                                  : pwrite(descriptor, piece.data + done, left, offset);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0) fail(errno, reading ? "scratch file: read" : "scratch file: write");
    if (moved == 0) fail(EIO, "scratch file: a read beyond its end");
    done += moved;
  }
}

// Completes `piece` after io_uring returned `result`: moves the rest of a short or interrupted transfer with
// pread or pwrite.
void finish_piece(bool reading, int descriptor, const IoPiece& piece, int result) {
  if (result == -EINTR || result == -EAGAIN) result = 0;
  if (result < 0) fail(-result, reading ? "scratch file: read" : "scratch file: write");
  if (result == piece.bytes) return;
  move_piece(reading, descriptor, {piece.offset_bytes + result, piece.data + result, piece.bytes - result});
}

}  // namespace

DiskInfo disk_info(const std::filesystem::path& folder) {
  require_folder(folder);
  DiskInfo info;
  struct stat entry {};
  struct statvfs space {};
  if (stat(folder.c_str(), &entry) != 0 || statvfs(folder.c_str(), &space) != 0) fail(errno, folder.string());
  name_mount(entry.st_dev, &info);
  const std::string model = device_model(entry.st_dev);
  if (!model.empty()) info.device += (info.device.empty() ? "" : ", ") + model;
  info.capacity_bytes = static_cast<double>(space.f_blocks) * static_cast<double>(space.f_frsize);
  info.free_bytes = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  return info;
}

ScratchFile::ScratchFile(const std::filesystem::path& folder, int64_t bytes) : bytes_(bytes) {
  const DiskInfo info = disk_info(folder);
  const double needed_bytes = 1.1 * static_cast<double>(bytes);
  if (info.free_bytes < needed_bytes) {
    throw InputError("--ssd: found " + gigabytes(info.free_bytes) + " free in \"" + folder.string() +
                     "\", needed: " + gigabytes(needed_bytes));
  }
  std::string path = (folder / ".kvcap-calibrate.XXXXXX").string();
  descriptor_ = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno, path);
  const int direct = open(path.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  unlink(path.c_str());
  if (direct >= 0) {
    close(descriptor_);
    descriptor_ = direct;
    direct_ = true;
  }
  const int error = posix_fallocate(descriptor_, 0, bytes);
  if (error != 0) {
    close(descriptor_);
    fail(error, "scratch file in " + folder.string());
  }
}

ScratchFile::~ScratchFile() { close(descriptor_); }

void ScratchFile::sync() const {
  if (fdatasync(descriptor_) != 0) fail(errno, "scratch file: sync");
}

void ScratchFile::drop_cache() const {
  sync();
  posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED);
}

// The kernel's submission and completion rings, mapped. Indices only grow; entries are taken modulo the size.
class DiskQueue::Ring {
 public:
  // Returns null if the kernel refuses io_uring, and its error in `why`.
  static std::unique_ptr<Ring> make(int depth, std::string* why) {
    auto ring = std::unique_ptr<Ring>(new Ring);
    io_uring_params params{};
    ring->descriptor_ = static_cast<int>(syscall(__NR_io_uring_setup, depth, &params));
    if (ring->descriptor_ < 0) {
      *why = std::string("io_uring: ") + std::strerror(errno);
      return nullptr;
    }
    const std::size_t submission_bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    const std::size_t completion_bytes = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
    if (!ring->map(0, submission_bytes, IORING_OFF_SQ_RING) ||
        !ring->map(1, completion_bytes, IORING_OFF_CQ_RING) ||
        !ring->map(2, params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES)) {
      *why = std::string("io_uring: ") + std::strerror(errno);
      return nullptr;
    }
    ring->place(params);
    return ring;
  }

  ~Ring() {
    for (const Mapping& mapping : mappings_) {
      if (mapping.data != MAP_FAILED) munmap(mapping.data, mapping.bytes);
    }
    if (descriptor_ >= 0) close(descriptor_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void submit(bool reading, int file, const IoPiece& piece, uint64_t tag) {
    const unsigned tail = *submit_tail_;
    const unsigned slot = tail & submit_mask_;
    io_uring_sqe& entry = entries_[slot];
    entry = {};
    entry.opcode = reading ? IORING_OP_READ : IORING_OP_WRITE;
    entry.fd = file;
    entry.off = static_cast<uint64_t>(piece.offset_bytes);
    entry.addr = reinterpret_cast<uint64_t>(piece.data);
    entry.len = static_cast<uint32_t>(piece.bytes);
    entry.user_data = tag;
    submit_array_[slot] = slot;
    std::atomic_ref(*submit_tail_).store(tail + 1, std::memory_order_release);
    ++waiting_;
  }

  // Passes submissions to the kernel and waits for one completion.
  std::pair<uint64_t, int> complete() {
    while (true) {
      const unsigned head = *complete_head_;
      if (waiting_ == 0 && head != std::atomic_ref(*complete_tail_).load(std::memory_order_acquire)) {
        const io_uring_cqe entry = completions_[head & complete_mask_];
        std::atomic_ref(*complete_head_).store(head + 1, std::memory_order_release);
        return {entry.user_data, entry.res};
      }
      const long taken =
          syscall(__NR_io_uring_enter, descriptor_, waiting_, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
      if (taken < 0 && errno != EINTR && errno != EAGAIN && errno != EBUSY) fail(errno, "io_uring_enter");
      if (taken > 0) waiting_ -= static_cast<unsigned>(taken);
    }
  }

 private:
  struct Mapping {
    void* data = MAP_FAILED;
    std::size_t bytes = 0;
  };

  Ring() = default;
  bool map(int which, std::size_t bytes, off_t offset) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor_, offset);
    mappings_[which] = {data, bytes};
    return data != MAP_FAILED;
  }
  unsigned* word(int which, unsigned offset) {
    return reinterpret_cast<unsigned*>(static_cast<std::byte*>(mappings_[which].data) + offset);
  }
  void place(const io_uring_params& params) {
    submit_tail_ = word(0, params.sq_off.tail);
    submit_mask_ = *word(0, params.sq_off.ring_mask);
    submit_array_ = word(0, params.sq_off.array);
    complete_head_ = word(1, params.cq_off.head);
    complete_tail_ = word(1, params.cq_off.tail);
    complete_mask_ = *word(1, params.cq_off.ring_mask);
    completions_ = reinterpret_cast<io_uring_cqe*>(word(1, params.cq_off.cqes));
    entries_ = static_cast<io_uring_sqe*>(mappings_[2].data);
  }

  int descriptor_ = -1;
  Mapping mappings_[3];
  unsigned* submit_tail_ = nullptr;
  unsigned submit_mask_ = 0;
  unsigned* submit_array_ = nullptr;
  unsigned* complete_head_ = nullptr;
  unsigned* complete_tail_ = nullptr;
  unsigned complete_mask_ = 0;
  io_uring_cqe* completions_ = nullptr;
  io_uring_sqe* entries_ = nullptr;
  unsigned waiting_ = 0;  // submissions not yet passed to the kernel
};

DiskQueue::DiskQueue(int depth, bool may_use_uring) : depth_(depth), reason_("io_uring: not asked for") {
  KVCAP_CHECK(depth >= 1);
  if (may_use_uring) ring_ = Ring::make(depth, &reason_);
  if (ring_) reason_.clear();
}

DiskQueue::~DiskQueue() = default;

std::string DiskQueue::way() const { return ring_ ? "io_uring" : "pread"; }

void DiskQueue::read(const ScratchFile& file, std::span<const IoPiece> pieces) {
  transfer(Direction::read, file, pieces);
}

void DiskQueue::write(const ScratchFile& file, std::span<const IoPiece> pieces) {
  transfer(Direction::write, file, pieces);
}

void DiskQueue::transfer(Direction direction, const ScratchFile& file, std::span<const IoPiece> pieces) {
  const bool reading = direction == Direction::read;
  if (!ring_) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&] {
      try {
        for (std::size_t i = next++; i < pieces.size(); i = next++) {
          move_piece(reading, file.descriptor(), pieces[i]);
        }
      } catch (...) {
        const std::scoped_lock lock(mutex);
        error = std::current_exception();
      }
    };
    {
      std::vector<std::jthread> threads;
      const std::size_t helpers = std::min(static_cast<std::size_t>(depth_), pieces.size());
      for (std::size_t i = 1; i < helpers; ++i) threads.emplace_back(work);
      work();
    }
    if (error) std::rethrow_exception(error);
    return;
  }
  // After an error nothing more is submitted, and transfers in flight are waited for, because the kernel
  // writes to the caller's memory until they end.
  std::exception_ptr error;
  std::size_t submitted = 0;
  for (std::size_t done = 0; done < (error ? submitted : pieces.size()); ++done) {
    while (!error && submitted < pieces.size() && submitted - done < static_cast<std::size_t>(depth_)) {
      ring_->submit(reading, file.descriptor(), pieces[submitted], submitted);
      ++submitted;
    }
    const auto [which, result] = ring_->complete();
    try {
      finish_piece(reading, file.descriptor(), pieces[which], result);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace kvcap::calibration
