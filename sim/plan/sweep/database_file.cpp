#include "plan/sweep/database_file.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/files.h"
#include "base/input_error.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

// Magic numbers that <linux/magic.h> lacks, from the sources of these file systems.
constexpr int64_t kJfs = 0x3153464a;
constexpr int64_t kZfs = 0x2fc12fc1;
constexpr int64_t kBcachefs = 0xca451a4e;
constexpr std::array<int64_t, 12> kLocal = {EXT4_SUPER_MAGIC,
                                            XFS_SUPER_MAGIC,
                                            BTRFS_SUPER_MAGIC,
                                            F2FS_SUPER_MAGIC,
                                            TMPFS_MAGIC,
                                            RAMFS_MAGIC,
                                            NILFS_SUPER_MAGIC,
                                            REISERFS_SUPER_MAGIC,
                                            OVERLAYFS_SUPER_MAGIC,
                                            kJfs,
                                            kZfs,
                                            kBcachefs};

// Returns up to `count` bytes of the file, from `begin` on.
std::string bytes_of(const std::string& path, off_t begin, std::size_t count) {
  std::string bytes(count, '\0');
  const int file = open_input(path);
  const ssize_t got = pread(file, bytes.data(), count, begin);
  const std::error_code error(errno, std::generic_category());
  ::close(file);
  if (got < 0) throw InputError(path + ": cannot be read: " + error.message());
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

uint32_t big_endian(std::string_view bytes, std::size_t at) {
  uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

JournalMode journal_mode_on(int64_t magic) {
  const bool is_local = std::find(kLocal.begin(), kLocal.end(), magic) != kLocal.end();
  return is_local ? JournalMode::wal : JournalMode::rollback;
}

JournalMode journal_mode_at(const std::string& path) {
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  struct statfs found {};
  if (statfs(path.c_str(), &found) != 0 && statfs(folder.c_str(), &found) != 0) return JournalMode::rollback;
  // On some architectures f_type is a signed 32-bit number.
  return journal_mode_on(static_cast<uint32_t>(found.f_type));
}

std::optional<DatabaseHeader> read_database_header(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr std::size_t kHeaderBytes = 100, kReadVersion = 19, kApplicationId = 68;
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (!fs::exists(status)) return std::nullopt;
  if (!fs::is_regular_file(status)) throw InputError(path + ": cannot be read: not a regular file");
  const std::string header = bytes_of(path, 0, kHeaderBytes);
  if (header.empty()) return std::nullopt;
  if (header.size() < kHeaderBytes || !header.starts_with(kMagic)) {
    throw InputError(path + ": is not a sweep results file: not an SQLite database");
  }
  DatabaseHeader found{.application_id = big_endian(header, kApplicationId)};
  constexpr char kWal = 2;
  if (header[kReadVersion] != kWal) return found;
  found.journal_mode = JournalMode::wal;
  // Before the first checkpoint, the header is only in the WAL, in the first page of the first transaction.
  constexpr off_t kFirstFrame = 32;
  constexpr std::size_t kFrameHeaderBytes = 24;
  const std::string wal = path + "-wal";
  if (found.application_id != 0 || !fs::is_regular_file(wal, none)) return found;
  const std::string frame = bytes_of(wal, kFirstFrame, kFrameHeaderBytes + kHeaderBytes);
  if (frame.size() == kFrameHeaderBytes + kHeaderBytes && big_endian(frame, 0) == 1) {
    found.application_id = big_endian(frame, kFrameHeaderBytes + kApplicationId);
  }
  return found;
}

}  // namespace kvcap
