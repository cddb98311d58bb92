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

  // Remembers the pieces of one turn. Throws BadRowError, and remembers none of them, where they contradict
  // each other or earlier ones; `path` is the list's field.
  void take(std::span<const Piece> pieces, const std::string& path);

 private:
  struct Known {
    uint32_t tokens = 0;
    std::optional<uint64_t> after;  // the key before it; none at the beginning of a prompt
  };
  std::string contradiction(const Piece& piece, std::optional<uint64_t> after, const Known& known) const;

  PieceKeys keys_;
  std::unordered_map<uint64_t, Known> known_;
};

// An integer of 64 bits, or BadRowError.
uint64_t piece_key(const nlohmann::json& value, const std::string& path);

}  // namespace kvcap
