#include "engine/prompt.h"

#include <algorithm>

namespace kvcap {

void name_parts(std::span<SequenceRun> runs, PieceKeys piece_keys, Match match) {
  const bool chain = match == Match::prefix && piece_keys == PieceKeys::text;
  Key before = 0;
  for (SequenceRun& run : runs) {
    before = chain && run.owner == TextOwner::piece ? chained(before, run.text) : run.text;
    run.part = before;
  }
}

std::vector<SequenceRun> first_tokens(std::span<const SequenceRun> runs, int64_t tokens) {
  std::vector<SequenceRun> first;
  for (const SequenceRun& run : runs) {
    if (tokens <= 0) break;
    first.push_back(run);
    first.back().tokens = std::min(run.tokens, tokens);
    tokens -= first.back().tokens;
  }
  return first;
}

std::vector<Part> parts_of(std::span<const SequenceRun> runs, int64_t chunk_tokens) {
  std::vector<Part> parts;
  for (const SequenceRun& run : runs) {
    const bool divides = chunk_tokens > 0 && run.owner == TextOwner::piece;
    const int64_t step = divides ? chunk_tokens : run.tokens;
    for (int64_t first = 0; first < run.tokens; first += step) {
      const Key key = first == 0 ? run.part : chained(run.part, static_cast<Key>(first));
      const bool shared = run.owner != TextOwner::session;
      parts.push_back({{key, std::min(step, run.tokens - first), shared}, run.tokens, first});
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
  name_parts(runs, workload.piece_keys, match);
  Pieces pieces;
  for (const Part& part : parts_of(runs, chunk_tokens)) {
    (prompt_tokens > 0 ? pieces.prompt : pieces.answer).push_back(part);
    prompt_tokens -= part.tokens;
  }
  return pieces;
}

int64_t FoundParts::leading_tokens(const std::vector<Part>& prompt, int64_t resident, int64_t most) const {
  int64_t end = 0;
  auto hit = hits.begin();
  for (const Part& part : prompt) {
    if (end >= most) break;
    const int64_t skipped = std::clamp<int64_t>(resident - end, 0, part.tokens);
    const bool is_found = skipped < part.tokens && hit != hits.end() && hit->key == part.key;
    const int64_t there = skipped + (is_found ? hit->tokens : 0);
    if (is_found) ++hit;
    end += there;
    if (there < part.tokens) break;
  }
  return std::min(end, most);
}

void FoundParts::keep_within(Tier tier) {
  const auto farther =
      std::find_if(hits.begin(), hits.end(), [tier](const Hit& hit) { return hit.tier > tier; });
  for (auto hit = farther; hit != hits.end(); ++hit) tokens[index(hit->tier)] -= hit->tokens;
  hits.erase(farther, hits.end());
}

std::vector<Hit> FoundParts::by_tier() const {
  std::vector<Hit> list;
  for (Tier tier : kTiers) {
    if (tier != Tier::hbm && tokens[index(tier)] > 0)
      list.push_back({.tier = tier, .tokens = tokens[index(tier)]});
  }
  return list;
}

FoundParts find_parts(const Store& store, const std::vector<Part>& prompt, Match match, int64_t resident,
                      FoundEnds ends, Reach reach) {
  FoundParts found;
  int64_t begin = 0;      // start of the part in the prompt
  int64_t end = 0;        // end of the reused tokens, as long as they are contiguous
  bool is_whole = false;  // the found prefix ends with the stored context
  for (const Part& part : prompt) {
    const int64_t skipped = std::clamp<int64_t>(resident - begin, 0, part.tokens);
    begin += part.tokens;
    if (skipped == part.tokens) {
      end += part.tokens;
      continue;
    }
    std::optional<Hit> hit = store.find(part.key, reach);
    if (hit) {
      const int64_t tokens = std::min(hit->tokens, part.tokens);
      is_whole = match == Match::session && hit->tokens <= part.tokens;
      end += tokens;
      hit->tokens = std::max<int64_t>(0, tokens - skipped);
      found.tokens[index(hit->tier)] += hit->tokens;
      if (hit->tokens > 0) found.hits.push_back(*hit);
      if (match != Match::chunk && tokens < part.tokens) break;
    } else if (match != Match::chunk) {
      break;
    }
  }
  const int64_t multiple = is_whole ? ends.block_tokens : std::max(ends.block_tokens, ends.checkpoint_tokens);
  if (match == Match::chunk || multiple <= 1) return found;
  for (int64_t beyond = end % multiple; beyond > 0 && !found.hits.empty();) {
    Hit& last = found.hits.back();
    const int64_t here = std::min(beyond, last.tokens);
    last.tokens -= here;
    found.tokens[index(last.tier)] -= here;
    beyond -= here;
    if (last.tokens > 0) break;
    found.hits.pop_back();
  }
  return found;
}

}  // namespace kvcap
