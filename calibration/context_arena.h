// ContextArena stores contexts in host memory and a scratch file, in chunks of 64 tokens of one layer. It is
// filled with random numbers once. Each case lays out its contexts in it and writes real values only where
// values matter.
#pragma once

#include <memory>
#include <optional>

#include "base/tier.h"
#include "calibration/backend.h"
#include "calibration/disk.h"
#include "calibration/pipeline.h"

namespace kvcap::calibration {

inline constexpr int64_t kChunkTokens = 64;
constexpr int64_t chunks(int64_t tokens) { return (tokens + kChunkTokens - 1) / kChunkTokens; }

// The rows of one layer of one context, one per token, contiguous.
struct StoredRows {
  Tier tier = Tier::dram;
  int64_t offset_bytes = 0;  // in the context arena's memory or file
  int64_t row_bytes = 0;
  int64_t rows = 0;

  int64_t bytes() const { return rows * row_bytes; }
  // Size including the unused rows of the last chunk, rounded up to whole disk blocks.
  int64_t stored_bytes() const {
    return (chunks(rows) * kChunkTokens * row_bytes + kDirectBytes - 1) / kDirectBytes * kDirectBytes;
  }
};

class ContextArena {
 public:
  // Throws InputError if the folder has no room for the file; `file_bytes` 0 needs no folder.
  ContextArena(Backend& backend, Format format, int64_t host_bytes, const std::filesystem::path& folder,
               int64_t file_bytes);

  void clear() { host_used_bytes_ = file_used_bytes_ = 0; }
  StoredRows reserve(Tier tier, int64_t row_bytes, int64_t rows);
  const ScratchFile* file() const { return file_ ? &*file_ : nullptr; }
  const std::byte* host(const StoredRows& stored) const { return host_.at(stored.offset_bytes); }

  // Copies rows from host memory into the context arena.
  void put(const StoredRows& stored, const std::byte* rows);

  // Returns the transfer of all rows to the device: chunk by chunk, or in one piece if `whole` (HyperInfer's
  // probe keys).
  Load load(const StoredRows& stored, std::byte* to, bool whole = false) const;

 private:
  Buffer host_;
  std::optional<ScratchFile> file_;
  DiskQueue disk_;
  Buffer staging_;
  int64_t host_used_bytes_ = 0;
  int64_t file_used_bytes_ = 0;
};

}  // namespace kvcap::calibration
