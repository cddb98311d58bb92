// Break-even maps: each cell of a map belongs to a pair of values of two fields, and shows the policy that
// restores a context fastest there and its lead over the second fastest. A map also shows the values at which
// the fastest policy changes. Each cell is simulated layer by layer and compared with the closed form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace kvcap {

struct Contestant {
  double ttft_s = 0;              // simulated, mean over the contexts; NaN if the policy cannot run
  double closed_form_ttft_s = 0;  // for a single context; NaN with several contexts
  std::string reason;             // why the policy cannot run; empty: it can
};

// The comparison of all policies at one pair of values.
struct BreakEvenCell {
  std::vector<Contestant> policies;  // in the plan's order
  int winner = -1;                   // by simulation; -1: no policy can run
  int closed_form_winner = -1;
  double lead = 1;  // TTFT of the second fastest divided by that of the winner; NaN without a second
};

// A change of the winner between two neighbouring columns of a row: the interpolated value on the axis
// `across` at which both policies have the same TTFT.
struct Boundary {
  std::size_t row = 0;
  int from = -1, to = -1;
  double simulated = 0;
  double closed_form = 0;  // nearest crossing of the same two policies; NaN: none in this row
};

struct BreakEvenMap {
  std::vector<std::vector<BreakEvenCell>> rows;  // [down][across]
  std::vector<Boundary> boundaries;
};

// Returns the member of `contexts` that a path of a break-even plan sets (tokens, new_tokens or contexts), or
// null if the path is a field of a scenario.
int64_t* context_size(StoredContexts& contexts, std::string_view path);

// Simulates every cell in worker processes. Throws InputError if a policy cannot run in any cell.
BreakEvenMap break_even_map(const Plan& plan);

}  // namespace kvcap
