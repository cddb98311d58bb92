// KnownPieces: checks that equal piece keys in a file stand for the same text: pieces with equal keys must
// have the same number of tokens and, with prefix keys, follow the same key.
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

  // Pieces of one turn.
  struct List {
    std::span<const Piece> pieces;
    std::optional<uint64_t> after;  // key of the piece before the first one, if any
    std::string path;               // field of the list, for error messages
  };
  // Records the pieces of a row. If they contradict each other or earlier pieces, throws BadRowError and
  // records none of them.
  void take(std::span<const List> lists);
  void take(std::span<const Piece> pieces, const std::string& path) {
    const List list{.pieces = pieces, .after = {}, .path = path};
    take({&list, 1});
  }

 private:
  struct Known {
    uint32_t tokens = 0;
    std::optional<uint64_t> after;  // key of the preceding piece; nullopt if there is none
  };
  std::string contradiction(const Piece& piece, std::optional<uint64_t> after, const Known& known) const;

  PieceKeys keys_;
  std::unordered_map<uint64_t, Known> known_;
};

// Returns the value as an unsigned 64-bit integer. Throws BadRowError if it is anything else.
uint64_t piece_key(const nlohmann::json& value, const std::string& path);

}  // namespace kvcap
