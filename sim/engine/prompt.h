// Contents of a turn's sequence: the texts of its prompt and answer, and the parts under which host tiers
// store them.
//
//   A sequence is a list of runs of texts (TextRun). Equal lists of runs stand for equal tokens; this is how
//   the engine's prefix cache compares sequences. A session writes one text of its own, which consists of its
//   turns and answers in order. A turn that does not continue the end of that text (a branch, or a turn after
//   shared pieces) begins another text. A history that lost its front begins later in its text and therefore
//   has different block names.
//
//   A part is what a tier stores under one key: a session's text so far, a document, a piece or a chunk of a
//   piece. Reuse of parts, by Match:
//   session, prefix   a part can be reused if all parts before it are reused
//   chunk             a part can be reused at any position
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "policy/options.h"
#include "state/block_runs.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// A range of a text or piece: the `tokens` tokens from `first_token` on. The whole text has node_tokens
// tokens.
struct Part : Item {
  int64_t node_tokens = 0;
  int64_t first_token = 0;
};

// The kind of text to which a run belongs: the session's own text, or a shared document or piece.
enum class TextOwner : uint8_t { session, document, piece };
struct SequenceRun : TextRun {
  TextOwner owner = TextOwner::session;
};

// Sets for each run the key under which tiers store it.
void name_parts(std::span<SequenceRun> runs, PieceKeys piece_keys, Match match);
// Returns the first `tokens` tokens of a sequence; the last run may be cut.
std::vector<SequenceRun> first_tokens(std::span<const SequenceRun> runs, int64_t tokens);
// Returns the parts of a sequence in order. Splits pieces into chunks of at most `chunk_tokens` tokens (0:
// whole pieces); the first chunk has the piece's key. REQUIRES: name_parts() was called.
std::vector<Part> parts_of(std::span<const SequenceRun> runs, int64_t chunk_tokens);

// Pieces of a turn's prompt and of its answer, as parts.
struct Pieces {
  std::vector<Part> prompt;
  std::vector<Part> answer;
};
Pieces pieces_of(const Workload& workload, std::size_t turn, Match match, int64_t chunk_tokens = 0);

// Parts of a prompt found in the tiers: one hit per part, in prompt order, omitting parts that miss.
struct FoundParts {
  std::vector<Hit> hits;
  std::array<int64_t, kTiers.size()> tokens{};
  int64_t all_tokens() const { return std::accumulate(tokens.begin(), tokens.end(), int64_t{0}); }
  int64_t on_gpu() const { return tokens[index(Tier::hbm)]; }
  int64_t below() const { return all_tokens() - on_gpu(); }
  // Returns the tokens from the beginning of the prompt up to the first one that misses, at most `most`.
  int64_t leading_tokens(const std::vector<Part>& prompt, int64_t resident, int64_t most) const;
  // Removes the first hit in a tier farther than `tier` and all hits after it.
  void keep_within(Tier tier);
  // Returns one hit per host tier, as policies expect.
  std::vector<Hit> by_tier() const;
};

// Positions at which a found prefix may end: at whole blocks and at stored states (checkpoint_tokens, a
// multiple of block_tokens). A session's context that is found completely may end anywhere.
struct FoundEnds {
  int64_t block_tokens = 1;
  int64_t checkpoint_tokens = 1;
};

// Looks the prompt up in the store, skipping the first `resident` tokens, which are on the GPU.
FoundParts find_parts(const Store& store, const std::vector<Part>& prompt, Match match, int64_t resident = 0,
                      FoundEnds ends = {}, Reach reach = Reach::all);

}  // namespace kvcap
