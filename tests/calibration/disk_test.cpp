#include "calibration/disk.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/input_error.h"
#include "calibration/backend.h"

namespace kvcap::calibration::disk_test {
namespace {

class Disk : public testing::TestWithParam<bool> {
 protected:
  Disk() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kvcap-disk.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Disk() override { std::filesystem::remove_all(folder_); }

  std::string refusal(const std::filesystem::path& folder, int64_t bytes) {
    try {
      const ScratchFile file(folder, bytes);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no refusal";
  }

  std::filesystem::path folder_;
};

// Pieces written in one order and read in another come back as they were.
TEST_P(Disk, WhatWasWrittenIsRead) {
  constexpr int64_t kPieceBytes = 64 << 10;
  constexpr int64_t kPieces = 40;
  const ScratchFile file(folder_, kPieces * kPieceBytes);
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const Buffer out = cpu->allocate(Place::pinned, file.bytes());
  const Buffer in = cpu->allocate(Place::pinned, file.bytes());
  for (int64_t i = 0; i < out.bytes(); ++i) out.data()[i] = static_cast<std::byte>(i * 7 + i / kPieceBytes);
  std::vector<IoPiece> writes, reads;
  for (int64_t i = 0; i < kPieces; ++i) {
    const int64_t offset = i * 17 % kPieces * kPieceBytes;
    writes.push_back({offset, out.at(offset), kPieceBytes});
    reads.push_back({i * kPieceBytes, in.at(i * kPieceBytes), kPieceBytes});
  }
  DiskQueue queue(8, GetParam());
  queue.write(file, writes);
  file.drop_cache();
  queue.read(file, reads);
  EXPECT_EQ(std::memcmp(in.data(), out.data(), static_cast<std::size_t>(in.bytes())), 0);
}

// Two requests fail, the second after the error of the first is known: it belongs to no later transfer.
TEST_P(Disk, ATransferThatFailsLeavesNothingToTheNext) {
  constexpr int64_t kPieceBytes = 64 << 10;
  constexpr int64_t kPieces = 16;
  const ScratchFile file(folder_, kPieces * kPieceBytes);
  const std::unique_ptr<Backend> cpu = make_cpu_backend();
  const Buffer memory = cpu->allocate(Place::pinned, file.bytes());
  std::vector<IoPiece> pieces;
  for (int64_t i = 0; i < kPieces; ++i) {
    pieces.push_back({i * kPieceBytes, memory.at(i * kPieceBytes), kPieceBytes});
  }
  DiskQueue queue(8, GetParam());
  queue.write(file, pieces);
  std::vector<IoPiece> wrong = pieces;
  wrong[1].data = wrong[3].data = nullptr;
  wrong[5].offset_bytes = file.bytes();
  EXPECT_THROW(queue.read(file, wrong), std::system_error);
  EXPECT_NO_THROW(queue.read(file, pieces));
}

INSTANTIATE_TEST_SUITE_P(Ways, Disk, testing::Bool(),
                         [](const auto& way) { return std::string(way.param ? "uring" : "pread"); });

TEST_F(Disk, AScratchFileHasNoNameEvenWhileItIsOpen) {
  const ScratchFile file(folder_, 1 << 20);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Disk, AQueueWithoutUringSaysSo) {
  const DiskQueue queue(2, false);
  EXPECT_EQ(queue.way(), "pread");
  EXPECT_NE(queue.reason(), "");
}

TEST_F(Disk, RefusesAFolderThatIsNotThere) {
  EXPECT_EQ(refusal(folder_ / "none", 4096),
            "--ssd: found \"" + (folder_ / "none").string() + "\", which is no folder");
}

TEST_F(Disk, RefusesAFile) {
  EXPECT_NE(refusal("/proc/self/status", 4096).find("which is no folder"), std::string::npos);
}

TEST_F(Disk, RefusesToFillADisk) {
  const std::string message = refusal(folder_, int64_t{1} << 60);
  EXPECT_NE(message.find(" free in "), std::string::npos) << message;
  EXPECT_NE(message.find("needed: 1268213"), std::string::npos) << message;  // 1.1 x 2^60 bytes in GB
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(Disk, NamesTheFileSystem) {
  const DiskInfo info = disk_info(folder_);
  EXPECT_NE(info.file_system, "");
  EXPECT_GT(info.capacity_bytes, info.free_bytes);
}

}  // namespace
}  // namespace kvcap::calibration::disk_test
