// The parts of a turn's prompt that others may have left behind, and those that the turn leaves in its turn:
// keys and lengths in prompt order.
//
//   session  one part: the session's whole history (or its document), under the session's key
//   prefix   the pieces of the prompt; a piece can be reused when all pieces before it are reused as well
//   chunk    the pieces of the prompt, each reused wherever it stands
//
// Pieces may be kept in smaller chunks, each a part by itself.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "policy/options.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// A piece, a chunk of one, or a session's history; from `first_token` of node_tokens on.
struct Part : Item {
  int64_t node_tokens = 0;
  int64_t first_token = 0;
};

// The pieces of a turn that has some, in chunks of at most `chunk_tokens` tokens (0: as they are). What ends
// beyond the prompt belongs to the answer.
struct Pieces {
  std::vector<Part> prompt;
  std::vector<Part> answer;
};
Pieces pieces_of(const Workload& workload, std::size_t turn, Match match, int64_t chunk_tokens = 0);

// What was found of a prompt. One hit a part, in prompt order; parts that were not found are left out.
struct Found {
  std::vector<Hit> hits;
  std::array<int64_t, kTiers.size()> tokens{};
  int64_t all_tokens() const { return tokens[0] + tokens[1] + tokens[2] + tokens[3]; }
  int64_t on_gpu() const { return tokens[index(Tier::hbm)]; }
  // One hit a host tier, for a policy.
  std::vector<Hit> by_tier() const;
};

// `store`: a Store or a NodeStore.
template <class AnyStore>
Found find_parts(const AnyStore& store, const std::vector<Part>& prompt, Match match) {
  Found found;
  for (const Item& part : prompt) {
    std::optional<Hit> hit = store.find(part.key);
    if (hit) {
      hit->tokens = std::min(hit->tokens, part.tokens);
      found.tokens[index(hit->tier)] += hit->tokens;
      found.hits.push_back(*hit);
    }
    if (match != Match::chunk && (!hit || hit->tokens < part.tokens)) break;
  }
  return found;
}

}  // namespace kvcap
