// Break-even maps: which policy brings one context back first, over two fields at a time, by how much, and
// where the winner changes: by simulation, layer by layer, and by the closed form beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/search/plan.h"

namespace kvcap {

struct Contestant {
  double ttft_s = 0;              // simulated, mean over the contexts; NaN where it cannot run
  double closed_form_ttft_s = 0;  // of one context alone; NaN with several
  std::string reason;             // why it cannot run
};

// One pair of values.
struct BreakEvenCell {
  std::vector<Contestant> policies;  // in the order of the plan
  int winner = -1;                   // by simulation; -1: none can run
  int closed_form_winner = -1;
  double lead = 1;  // TTFT of the second over that of the winner; NaN without a second
};

// Between two neighbours across the winner changes; where both have the same TTFT, interpolated.
struct Boundary {
  std::size_t row = 0;
  int from = -1, to = -1;
  double simulated = 0;
  double closed_form = 0;  // of the same two policies; the nearest; NaN where it sees none in this row
};

struct BreakEvenMap {
  std::vector<std::vector<BreakEvenCell>> rows;  // [down][across]
  std::vector<Boundary> boundaries;
};

// What a path of a break-even plan sets that is no field of a scenario: tokens, new_tokens or contexts; null
// where it is one.
int64_t* context_size(StoredContexts& contexts, std::string_view path);

// Throws InputError when nothing can run anywhere.
BreakEvenMap break_even_map(const Plan& plan);
std::string break_even_text(const Plan& plan, const BreakEvenMap& map);

}  // namespace kvcap
