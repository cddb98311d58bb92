#include "calibration/context_arena.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kStagingBytes = int64_t{4} << 20;
constexpr int64_t kPieceBytes = int64_t{1} << 20;
constexpr int kDepth = 16;

std::vector<IoPiece> pieces_of(int64_t offset_bytes, std::byte* data, int64_t bytes) {
  std::vector<IoPiece> pieces;
  for (int64_t at = 0; at < bytes; at += kPieceBytes) {
    pieces.push_back({offset_bytes + at, data + at, std::min(kPieceBytes, bytes - at)});
  }
  return pieces;
}

}  // namespace

ContextArena::ContextArena(Backend& backend, Format format, int64_t host_bytes,
                           const std::filesystem::path& folder, int64_t file_bytes)
    : disk_(kDepth), staging_(backend.allocate(Place::pinned, kStagingBytes)) {
  // The file comes first, so that an unusable folder is refused before any slow work.
  if (file_bytes > 0) file_.emplace(folder, file_bytes);
  host_ = backend.allocate(Place::pinned, std::max(host_bytes, kDirectBytes));
  const std::unique_ptr<Stream> stream = backend.make_stream();
  const Buffer random = backend.allocate(Place::device, kStagingBytes);
  stream->fill_random(format, random.data(), kStagingBytes / bytes_of(format), 1);
  stream->copy(staging_.data(), random.data(), kStagingBytes);
  for (int64_t at = 0; at < host_.bytes(); at += kStagingBytes) {
    stream->copy(host_.at(at), random.data(), std::min(kStagingBytes, host_.bytes() - at));
  }
  stream->synchronize();
  for (int64_t at = 0; at < file_bytes; at += kStagingBytes) {
    disk_.write(*file_, pieces_of(at, staging_.data(), std::min(kStagingBytes, file_bytes - at)));
  }
  if (file_) file_->drop_cache();
}

StoredRows ContextArena::reserve(Tier tier, int64_t row_bytes, int64_t rows) {
  StoredRows stored{.tier = tier, .row_bytes = row_bytes, .rows = rows};
  int64_t& used_bytes = tier == Tier::ssd ? file_used_bytes_ : host_used_bytes_;
  stored.offset_bytes = used_bytes;
  used_bytes += stored.stored_bytes();
  KVCAP_CHECK(used_bytes <= (tier == Tier::ssd ? file_->bytes() : host_.bytes()));
  return stored;
}

void ContextArena::put(const StoredRows& stored, const std::byte* rows) {
  if (stored.tier == Tier::dram) {
    std::memcpy(host_.at(stored.offset_bytes), rows, static_cast<std::size_t>(stored.bytes()));
    return;
  }
  for (int64_t at = 0; at < stored.stored_bytes(); at += kStagingBytes) {
    const int64_t bytes = std::min(kStagingBytes, stored.stored_bytes() - at);
    const int64_t filled_bytes = std::clamp<int64_t>(stored.bytes() - at, 0, bytes);
    std::memcpy(staging_.data(), rows + at, static_cast<std::size_t>(filled_bytes));
    disk_.write(*file_, pieces_of(stored.offset_bytes + at, staging_.data(), bytes));
  }
}

Load ContextArena::load(const StoredRows& stored, std::byte* to, bool whole) const {
  const int64_t chunk_bytes = whole ? stored.bytes() : kChunkTokens * stored.row_bytes;
  Load load;
  const std::byte* memory = nullptr;
  if (stored.tier == Tier::ssd) {
    const int64_t read_bytes = whole ? stored.stored_bytes() : chunk_bytes;
    KVCAP_CHECK(read_bytes % kDirectBytes == 0);
    for (int64_t at = 0; at < stored.bytes(); at += chunk_bytes) {
      load.pieces.push_back({stored.offset_bytes + at, read_bytes});
    }
  } else {
    memory = host(stored);
  }
  load.enqueue = [=, bytes = stored.bytes()](Stream& copies, const std::byte* slot) {
    const std::byte* from = slot ? slot : memory;
    for (int64_t at = 0; at < bytes; at += chunk_bytes) {
      copies.copy(to + at, from + at, std::min(chunk_bytes, bytes - at));
    }
  };
  return load;
}

}  // namespace kvcap::calibration
