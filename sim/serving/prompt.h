// What a turn's sequence consists of: the texts of its prompt and its answer, and the parts under which the
// tiers below the GPU hold them.
//
//   A sequence is a list of runs of texts (TextRun). Equal runs after equal runs are equal tokens, which is
//   what the engine's prefix cache compares. A session writes one text of its own: its turns and answers in
//   order. A turn that does not follow the last end of that text (a branch, or a turn after shared pieces)
//   begins another one. A history that lost its front begins later in its text, which is another chain.
//
//   A part is what a tier stores under one key: a session's text as far as it has grown, a document, a piece
//   or a chunk of one. Which parts count as the same:
//     session, prefix   a part can be reused when all parts before it are reused as well
//     chunk             a part is reused wherever it stands
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "policy/options.h"
#include "state/block_pool.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// A piece, a chunk of one, or a text; from `first_token` of node_tokens on.
struct Part : Item {
  int64_t node_tokens = 0;
  int64_t first_token = 0;
};

// A run of a sequence: of a text of its session, of a document or a piece that others share.
enum class TextOwner : uint8_t { session, document, piece };
struct SequenceRun : TextRun {
  TextOwner owner = TextOwner::session;
};

// Says of each run of a sequence under which part tiers hold it.
void name_parts(std::span<SequenceRun> runs, PieceKeys piece_keys, Match match);
// The first `tokens` tokens of a sequence, the last run of them cut.
std::vector<SequenceRun> first_tokens(std::span<const SequenceRun> runs, int64_t tokens);
// The parts of a sequence, in order. `chunk_tokens`: pieces are kept in chunks of at most so many tokens, the
// first of which has its piece's name (0: whole). REQUIRES: they have been named.
std::vector<Part> parts_of(std::span<const SequenceRun> runs, int64_t chunk_tokens);

// The pieces of a turn, those of its prompt and those of its answer, as parts.
struct Pieces {
  std::vector<Part> prompt;
  std::vector<Part> answer;
};
Pieces pieces_of(const Workload& workload, std::size_t turn, Match match, int64_t chunk_tokens = 0);

// What was found of a prompt in the tiers. One hit a part, in prompt order; parts that were not found are
// left out.
struct FoundParts {
  std::vector<Hit> hits;
  std::array<int64_t, kTiers.size()> tokens{};
  int64_t all_tokens() const { return std::accumulate(tokens.begin(), tokens.end(), int64_t{0}); }
  int64_t on_gpu() const { return tokens[index(Tier::hbm)]; }
  int64_t below() const { return all_tokens() - on_gpu(); }
  // Without what lies farther than `tier`, and what follows it.
  void keep_within(Tier tier);
  // One hit a host tier, for a policy.
  std::vector<Hit> by_tier() const;
};

// Where what is found of a prefix may end: at whole blocks; and where states are stored (checkpoint_tokens, a
// multiple of block_tokens), but for a session's context that is found whole.
struct FoundEnds {
  int64_t block_tokens = 1;
  int64_t checkpoint_tokens = 1;
};

// `store`: a Store or a NodeStore. The first `resident` tokens of the prompt are on the GPU already, and are
// not looked for.
template <class AnyStore>
FoundParts find_parts(const AnyStore& store, const std::vector<Part>& prompt, Match match,
                      int64_t resident = 0, FoundEnds ends = {}) {
  FoundParts found;
  int64_t begin = 0;      // of the part in the prompt
  int64_t end = 0;        // of what is reused, where parts follow each other
  bool is_whole = false;  // the end of what is stored
  for (const Part& part : prompt) {
    const int64_t skipped = std::clamp<int64_t>(resident - begin, 0, part.tokens);
    begin += part.tokens;
    if (skipped == part.tokens) {
      end += part.tokens;
      continue;
    }
    std::optional<Hit> hit = store.find(part.key);
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
