// Files as a storage tier uses them: a scratch file that no page cache helps (O_DIRECT) and a queue that
// keeps several requests in flight, io_uring's where the kernel lets us, else pread and pwrite on that many
// threads.
//
// A scratch file has no name from the moment it is open, so that it is gone with its process, however that
// ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace kvcap::calibration {

// What a file offset, a length and a memory address must be multiples of under O_DIRECT.
inline constexpr int64_t kDirectBytes = 4096;

struct DiskInfo {
  std::string file_system;  // ext4, overlay, tmpfs, ...
  std::string device;       // /dev/nvme0n1, its model where the kernel names it
  double capacity_bytes = 0;
  double free_bytes = 0;
};

// Throws InputError where the folder is not there or cannot be written.
DiskInfo disk_info(const std::filesystem::path& folder);

class ScratchFile {
 public:
  // Throws InputError where `folder` is no folder that can be written, or has no `bytes` free with a tenth to
  // spare. The bytes are reserved; they read as zeros until they are written.
  ScratchFile(const std::filesystem::path& folder, int64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int descriptor() const { return descriptor_; }
  int64_t bytes() const { return bytes_; }
  // False where the file system knows no O_DIRECT: the page cache then takes part.
  bool direct() const { return direct_; }
  // Waits until everything written is on the device.
  void sync() const;
  // Forgets what the page cache holds of the file.
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

// One thread at a time may use a queue; different queues run beside each other.
class DiskQueue {
 public:
  // `depth`: requests in flight, at least 1. `may_use_uring` false is for tests of the other way.
  explicit DiskQueue(int depth, bool may_use_uring = true);
  ~DiskQueue();
  DiskQueue(const DiskQueue&) = delete;
  DiskQueue& operator=(const DiskQueue&) = delete;

  int depth() const { return depth_; }
  std::string way() const;  // "io_uring" or "pread"
  // Why io_uring is not used; empty where it is.
  const std::string& reason() const { return reason_; }

  // Returns when every piece has been read or written. Throws std::system_error when none is under way.
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
