#include "serving/prompt.h"

#include <algorithm>

namespace kvcap {

// splitmix64's finaliser.
Key chained(Key before, Key piece) {
  uint64_t x = before * 0x9e3779b97f4a7c15ULL + piece + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::vector<Part> parts_of(std::span<const SequenceRun> runs, PieceKeys piece_keys, Match match,
                           int64_t chunk_tokens) {
  std::vector<Part> parts;
  const bool chain = match == Match::prefix && piece_keys == PieceKeys::text;
  Key before = 0;
  for (const SequenceRun& run : runs) {
    const bool piece = run.owner == TextOwner::piece;
    before = chain && piece ? chained(before, run.text) : run.text;
    const int64_t step = chunk_tokens > 0 && piece ? chunk_tokens : run.tokens;
    // The first chunk has its piece's key.
    for (int64_t first = 0; first < run.tokens; first += step) {
      const Key key = first == 0 ? before : chained(before, static_cast<Key>(first));
      parts.push_back({{key, std::min(step, run.tokens - first)}, run.tokens, first});
    }
  }
  return parts;
}

Pieces pieces_of(const Workload& workload, std::size_t turn, Match match, int64_t chunk_tokens) {
  std::vector<SequenceRun> runs;
  for (const Piece& piece : workload.pieces_of(turn))
    runs.push_back({{piece.key, 0, piece.tokens}, TextOwner::piece});
  const std::size_t in_prompt = workload.prompt_pieces_of(turn).size();
  int64_t prompt_tokens = 0;
  for (std::size_t i = 0; i < in_prompt; ++i) prompt_tokens += runs[i].tokens;
  Pieces pieces;
  for (const Part& part : parts_of(runs, workload.piece_keys, match, chunk_tokens)) {
    (prompt_tokens > 0 ? pieces.prompt : pieces.answer).push_back(part);
    prompt_tokens -= part.tokens;
  }
  return pieces;
}

std::vector<Hit> FoundParts::by_tier() const {
  std::vector<Hit> list;
  for (Tier tier : kTiers) {
    if (tier != Tier::hbm && tokens[index(tier)] > 0)
      list.push_back({.tier = tier, .tokens = tokens[index(tier)]});
  }
  return list;
}

}  // namespace kvcap
