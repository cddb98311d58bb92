#include "plan/break_even.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float_values.h"
#include "base/input_error.h"
#include "plan/workers.h"
#include "run/lone_restore.h"
#include "run/machine.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {
namespace {

// The changes of the scenario and the contexts in one cell of the map.
struct Duel {
  Changes changes;
  StoredContexts contexts;
};

void apply(const Dimension& axis, std::size_t i, Duel& duel) {
  for (const std::string& path : axis.paths) {
    if (int64_t* size = context_size(duel.contexts, path)) {
      *size = static_cast<int64_t>(axis.numbers[i]);
    } else {
      duel.changes.push_back(path + "=" + axis.values[i]);
    }
  }
}

Duel duel_at(const BreakEven& asked, std::size_t row, std::size_t column) {
  Duel duel{.changes = asked.changes, .contexts = asked.contexts};
  apply(asked.down, row, duel);
  apply(asked.across, column, duel);
  return duel;
}

// Returns the tier that stores the contexts: the first tier of the scenario if it names any, otherwise the
// SSDs if there are any, otherwise the host tier nearest to the GPU.
Tier tier_of(const Scenario& scenario) {
  if (scenario.policy.tiers && !scenario.policy.tiers->empty()) return scenario.policy.tiers->front().kind;
  if (has_tier(scenario.hardware, Tier::ssd)) return Tier::ssd;
  for (Tier tier : kHostTiers) {
    if (has_tier(scenario.hardware, tier)) return tier;
  }
  throw InputError("break_even: hardware " + scenario.hardware.name + " has no host tier");
}

double api_s(const ServingOptions& serving, const StoredContexts& contexts) {
  const auto tokens = static_cast<double>(contexts.tokens + contexts.new_tokens);
  return serving.request_overhead_s + serving.request_overhead_s_per_token * tokens;
}

Contestant fight(const Plan& plan, const Duel& duel, const std::string& policy) {
  Contestant contestant{.ttft_s = kNaN, .closed_form_ttft_s = kNaN};
  try {
    Changes changes = duel.changes;
    changes.push_back("policy.name=" + policy);
    Scenario scenario = load_scenario(plan.base, changes);
    const StoredContexts& contexts = duel.contexts;
    const Tier tier = tier_of(scenario);
    scenario.fidelity = Fidelity::layer;
    scenario.serving.max_num_batched_tokens = contexts.tokens + contexts.new_tokens + 1;
    // Contexts may exceed the GPU's memory, because only the speed is compared.
    make_room(contexts, tier, scenario);
    if (contexts.count == 1) {
      const Machine machine(scenario, contexts.tokens, contexts.tokens);
      const LoneRestore alone = lone_restore(machine, scenario.serving, contexts, tier);
      contestant.closed_form_ttft_s = api_s(scenario.serving, contexts) + alone.restore_s + alone.prefill_s;
    }
    const RunResult result = simulate(scenario, requests_at_once(contexts));
    contestant.ttft_s = 1e-3 * result.number("mean_ttft_ms");
  } catch (const InputError& error) {
    contestant.reason = error.what();
  }
  return contestant;
}

// Convert a result to bytes and back, to pass it between processes forked from one binary (as in
// metrics/serialize.h).
std::string packed(const Contestant& one) {
  std::string bytes(2 * sizeof(double), '\0');
  std::memcpy(bytes.data(), &one.ttft_s, sizeof(double));
  std::memcpy(bytes.data() + sizeof(double), &one.closed_form_ttft_s, sizeof(double));
  return bytes + one.reason;
}
Contestant unpacked(const std::string& bytes) {
  Contestant one;
  std::memcpy(&one.ttft_s, bytes.data(), sizeof(double));
  std::memcpy(&one.closed_form_ttft_s, bytes.data() + sizeof(double), sizeof(double));
  one.reason = bytes.substr(2 * sizeof(double));
  return one;
}

int least(const std::vector<Contestant>& all, double Contestant::*time) {
  int best = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isnan(all[i].*time)) continue;
    if (best < 0 || all[i].*time < all[static_cast<std::size_t>(best)].*time) best = static_cast<int>(i);
  }
  return best;
}

void judge(BreakEvenCell& cell) {
  cell.winner = least(cell.policies, &Contestant::ttft_s);
  cell.closed_form_winner = least(cell.policies, &Contestant::closed_form_ttft_s);
  double second_s = kNaN;
  for (std::size_t i = 0; i < cell.policies.size(); ++i) {
    if (static_cast<int>(i) != cell.winner) second_s = std::fmin(second_s, cell.policies[i].ttft_s);
  }
  cell.lead = cell.winner < 0 ? kNaN : second_s / cell.policies[static_cast<std::size_t>(cell.winner)].ttft_s;
}

// Returns the value on the axis `across` at which policy `to` becomes faster than policy `from`. If there are
// several such values, returns the one nearest to `near`; if there are none, NaN.
double crossing(const std::vector<double>& across, const std::vector<BreakEvenCell>& row, int from, int to,
                double Contestant::*time, double near) {
  const auto difference = [&](std::size_t i) {
    const std::vector<Contestant>& policies = row[i].policies;
    return policies[static_cast<std::size_t>(to)].*time - policies[static_cast<std::size_t>(from)].*time;
  };
  double nearest = kNaN;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    const double left = difference(i), right = difference(i + 1);
    if (!(left >= 0 && right < 0)) continue;
    const double place = across[i] + (across[i + 1] - across[i]) * left / (left - right);
    if (!(std::abs(nearest - near) <= std::abs(place - near))) nearest = place;
  }
  return nearest;
}

std::vector<Boundary> boundaries_of(const BreakEven& asked, const BreakEvenMap& map) {
  const std::vector<double>& across = asked.across.numbers;
  std::vector<Boundary> boundaries;
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const std::vector<BreakEvenCell>& row = map.rows[r];
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      const int from = row[i].winner, to = row[i + 1].winner;
      if (from < 0 || to < 0 || from == to) continue;
      // Exactly one crossing lies between these two columns.
      const double simulated = crossing({across[i], across[i + 1]}, {row[i], row[i + 1]}, from, to,
                                        &Contestant::ttft_s, across[i]);
      boundaries.push_back(
          {.row = r,
           .from = from,
           .to = to,
           .simulated = simulated,
           .closed_form = crossing(across, row, from, to, &Contestant::closed_form_ttft_s, simulated)});
    }
  }
  return boundaries;
}

}  // namespace

int64_t* context_size(StoredContexts& contexts, std::string_view path) {
  if (path == "tokens") return &contexts.tokens;
  if (path == "new_tokens") return &contexts.new_tokens;
  if (path == "contexts") return &contexts.count;
  return nullptr;
}

BreakEvenMap break_even_map(const Plan& plan) {
  const BreakEven& asked = *plan.break_even;
  const std::size_t columns = asked.across.values.size(), rows = asked.down.values.size();
  const std::size_t policies = asked.policies.size();
  const std::vector<std::string> messages =
      run_in_workers(rows * columns * policies,
                     [&](std::size_t job, std::atomic<int64_t>& done_units) {
                       const std::size_t cell = job / policies;
                       const Duel duel = duel_at(asked, cell / columns, cell % columns);
                       std::string message = packed(fight(plan, duel, asked.policies[job % policies]));
                       ++done_units;
                       return message;
                     },
                     {.total_units = static_cast<int64_t>(rows * columns * policies), .label = "simulating"});
  BreakEvenMap map;
  std::vector<std::string> refusals(policies);
  std::vector<bool> ran(policies, false);
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<BreakEvenCell>& row = map.rows.emplace_back(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t p = 0; p < policies; ++p) {
        row[c].policies.push_back(unpacked(messages[(r * columns + c) * policies + p]));
        if (row[c].policies[p].reason.empty()) ran[p] = true;
        if (refusals[p].empty()) refusals[p] = row[c].policies[p].reason;
      }
      judge(row[c]);
    }
  }
  for (std::size_t p = 0; p < policies; ++p) {
    if (!ran[p])
      throw InputError("break_even: " + asked.policies[p] + " cannot run in any cell: " + refusals[p]);
  }
  map.boundaries = boundaries_of(asked, map);
  return map;
}

}  // namespace kvcap
