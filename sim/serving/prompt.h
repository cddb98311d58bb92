// The parts of a turn's prompt that others may have left behind, and those that the turn leaves in its turn:
// keys and lengths in prompt order.
//
//   session  one part: the session's whole history (or its document), under the session's key
//   prefix   the pieces of the prompt; a piece can be reused when all pieces before it are reused as well
//   chunk    the pieces of the prompt, each reused wherever it stands
#pragma once

#include <vector>

#include "policy/options.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// The pieces of a turn that has some. What ends beyond the prompt belongs to the answer.
struct Pieces {
  std::vector<Item> prompt;
  std::vector<Item> answer;
};
Pieces pieces_of(const Workload& workload, std::size_t turn, Match match);

// What was found of a prompt. One hit a part, in prompt order; parts that were not found are left out.
struct Found {
  std::vector<Hit> hits;
  std::array<int64_t, kTiers.size()> tokens{};
  int64_t all_tokens() const { return tokens[0] + tokens[1] + tokens[2] + tokens[3]; }
  int64_t on_gpu() const { return tokens[index(Tier::hbm)]; }
  // One hit a host tier, for a policy.
  std::vector<Hit> by_tier() const;
};
Found find_parts(const Store& store, const std::vector<Item>& prompt, Match match);

}  // namespace kvcap
