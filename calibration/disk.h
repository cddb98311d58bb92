// Direct file I/O as a storage tier does it: ScratchFile bypasses the page cache (O_DIRECT), and DiskQueue
// keeps several requests in flight with io_uring, or with pread and pwrite on `depth` threads if the kernel
// refuses io_uring.
//
// A scratch file is unlinked when it is opened, so that it disappears with its process in any case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace kvcap::calibration {

// Alignment of file offsets, lengths and memory addresses under O_DIRECT.
inline constexpr int64_t kDirectBytes = 4096;

struct DiskInfo {
  std::string file_system;  // ext4, overlay, tmpfs, ...
  std::string device;       // /dev/nvme0n1, with its model if the kernel reports it
  double capacity_bytes = 0;
  double free_bytes = 0;
};

// Throws InputError if the folder does not exist or is not writable.
DiskInfo disk_info(const std::filesystem::path& folder);

class ScratchFile {
 public:
  // Throws InputError if `folder` is not a writable folder or has less than 1.1 `bytes` free. The bytes are
  // reserved and read as zeros until they are written.
  ScratchFile(const std::filesystem::path& folder, int64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int descriptor() const { return descriptor_; }
  int64_t bytes() const { return bytes_; }
  // False if the file system does not support O_DIRECT; I/O then goes through the page cache.
  bool direct() const { return direct_; }
  // Waits until everything written is on the device.
  void sync() const;
  // Drops the file's pages from the page cache.
  void drop_cache() const;

 private:
  int descriptor_ = -1;
  int64_t bytes_ = 0;
  bool direct_ = false;
};

struct IoPiece {
  int64_t offset_bytes = 0;
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

// A queue may be used by one thread at a time; different queues may be used concurrently.
class DiskQueue {
 public:
  // `depth`: requests in flight, at least 1. `may_use_uring` = false lets tests use pread and pwrite.
  explicit DiskQueue(int depth, bool may_use_uring = true);
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  int depth() const { return depth_; }
  std::string way() const;  // "io_uring" or "pread"
  // Returns the reason why io_uring is not used; empty if it is.
  const std::string& reason() const { return reason_; }

  // Returns when every piece has been read or written. Throws std::system_error once no piece is in flight.
  void read(const ScratchFile& file, std::span<const IoPiece> pieces);
  void write(const ScratchFile& file, std::span<const IoPiece> pieces);

 private:
  class Ring;
  enum class Direction : uint8_t { read, write };
  void transfer(Direction direction, const ScratchFile& file, std::span<const IoPiece> pieces);

  int depth_;
  std::string reason_;
  std::unique_ptr<Ring> ring_;
};

}  // namespace kvcap::calibration
