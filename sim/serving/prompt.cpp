#include "serving/prompt.h"

#include <algorithm>

namespace kvcap {
namespace {

// A key for `piece` after everything that `before` stands for (splitmix64's finaliser).
Key chained(Key before, Key piece) {
  uint64_t x = before * 0x9e3779b97f4a7c15ULL + piece + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

Pieces pieces_of(const Workload& workload, std::size_t turn, Match match, int64_t chunk_tokens) {
  Pieces pieces;
  const bool chain = match == Match::prefix && workload.piece_keys == PieceKeys::text;
  std::size_t prompt_pieces = workload.prompt_pieces_of(turn).size();
  Key before = 0;
  for (const Piece& piece : workload.pieces_of(turn)) {
    before = chain ? chained(before, piece.key) : piece.key;
    std::vector<Part>& parts = prompt_pieces > 0 ? pieces.prompt : pieces.answer;
    if (prompt_pieces > 0) --prompt_pieces;
    const int64_t step = chunk_tokens > 0 ? chunk_tokens : piece.tokens;
    // The first chunk has its piece's key.
    for (int64_t first = 0; first < piece.tokens; first += step) {
      const Key key = first == 0 ? before : chained(before, static_cast<Key>(first));
      parts.push_back({{key, std::min(step, piece.tokens - first)}, piece.tokens, first});
    }
  }
  return pieces;
}

std::vector<Hit> Found::by_tier() const {
  std::vector<Hit> list;
  for (Tier tier : kTiers) {
    if (tier != Tier::hbm && tokens[index(tier)] > 0)
      list.push_back({.tier = tier, .tokens = tokens[index(tier)]});
  }
  return list;
}

}  // namespace kvcap
