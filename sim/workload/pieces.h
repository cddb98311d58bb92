// What files may say of pieces: equal keys are the same text, so that they have the same number of tokens,
// and keys of a prefix follow the same key wherever they stand.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "workload/workload.h"

namespace kvcap {

class KnownPieces {
 public:
  explicit KnownPieces(PieceKeys keys) : keys_(keys) {}

  // The pieces of one turn.
  struct List {
    std::span<const Piece> pieces;
    std::optional<uint64_t> after;  // the last piece of the text before them, if it has any
    std::string path;               // the list's field
  };
  // Remembers the pieces of a row. Throws BadRowError, and remembers none of them, where they contradict each
  // other or earlier ones.
  void take(std::span<const List> lists);
  void take(std::span<const Piece> pieces, const std::string& path) {
    const List list{.pieces = pieces, .after = {}, .path = path};
    take({&list, 1});
  }

 private:
  struct Known {
    uint32_t tokens = 0;
    std::optional<uint64_t> after;  // the key before it; none where no piece is
  };
  std::string contradiction(const Piece& piece, std::optional<uint64_t> after, const Known& known) const;

  PieceKeys keys_;
  std::unordered_map<uint64_t, Known> known_;
};

// An integer of 64 bits, or BadRowError.
uint64_t piece_key(const nlohmann::json& value, const std::string& path);

}  // namespace kvcap
