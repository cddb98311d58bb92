#include "workload/pieces.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "workload/logs/rows.h"

namespace kvcap {
namespace {

std::string place(std::optional<uint64_t> after) {
  return after ? "after " + std::to_string(*after) : "first";
}

}  // namespace

std::string KnownPieces::contradiction(const Piece& piece, std::optional<uint64_t> after,
                                       const Known& known) const {
  if (piece.tokens != known.tokens) {
    return "found " + std::to_string(piece.key) + " with " + std::to_string(piece.tokens) +
           " tokens, allowed: " + std::to_string(known.tokens) + ", as before";
  }
  if (keys_ == PieceKeys::prefix && after != known.after) {
    return "found " + std::to_string(piece.key) + " " + place(after) + ", allowed: " + place(known.after) +
           ", as before (equal keys have the same text before them)";
  }
  return "";
}

void KnownPieces::take(std::span<const List> lists) {
  std::vector<uint64_t> added;
  for (const List& list : lists) {
    std::optional<uint64_t> after = list.after;
    for (std::size_t i = 0; i < list.pieces.size(); ++i) {
      const Piece& piece = list.pieces[i];
      const auto [found, is_new] = known_.try_emplace(piece.key, Known{piece.tokens, after});
      if (is_new) added.push_back(piece.key);
      const std::string wrong = contradiction(piece, after, found->second);
      if (!wrong.empty()) {
        for (uint64_t key : added) known_.erase(key);
        throw BadRowError{list.path + "." + std::to_string(i) + ": " + wrong};
      }
      after = piece.key;
    }
  }
}

uint64_t piece_key(const nlohmann::json& value, const std::string& path) {
  if (!value.is_number_unsigned()) {
    bad_value(path, value, "an integer from 0 to " + std::to_string(std::numeric_limits<uint64_t>::max()));
  }
  return value.get<uint64_t>();
}

}  // namespace kvcap
