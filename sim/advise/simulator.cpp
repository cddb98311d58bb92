#include "advise/simulator.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/progress.h"
#include "base/tier.h"
#include "metrics/serialize.h"
#include "plan/replicate.h"
#include "plan/sizes.h"
#include "plan/workers.h"
#include "run/billing.h"
#include "run/machine.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "workload/workload.h"

namespace kvcap {
namespace {

// Least number of sessions in a part of a workload; fewer are not representative.
constexpr double kLeastPlanSessions = 50;

constexpr char kRan = 'R';
constexpr char kRefused = 'X';

// Returns the part of the workload that `share` asks for: its first sessions or, above 1, the workload with
// more sessions.
Workload part_of(const Scenario& scenario, double share, const Sources& sources) {
  Workload whole = sources.workload(scenario);
  if (share == 1) return whole;
  const auto sessions = static_cast<double>(whole.sessions.size());
  const double wanted = std::ceil(share * sessions);
  WorkloadOptions options = scenario.workload;
  options.sessions =
      static_cast<int64_t>(share > 1 ? wanted : std::min(sessions, std::max(kLeastPlanSessions, wanted)));
  return sources.workload(scenario, options);
}

void lengthen(Workload& workload, double scale) {
  const auto scaled = [scale](uint32_t tokens) {
    return static_cast<uint32_t>(std::llround(scale * static_cast<double>(tokens)));
  };
  for (Session& session : workload.sessions) session.context_tokens = scaled(session.context_tokens);
  for (Turn& turn : workload.turns) turn.input_tokens = std::max(1U, scaled(turn.input_tokens));
}

std::string simulate_one(Scenario scenario, const Ask& ask, const Sources& sources,
                         std::atomic<int64_t>& done_units) {
  std::string message;
  try {
    scenario.seed += static_cast<uint64_t>(ask.replication);
    Workload workload = part_of(scenario, ask.share, sources);
    // Pieces of prompts have fixed lengths.
    if (ask.context_scale != 1 && !workload.piece_begin.empty()) {
      throw InputError("prompts made of pieces cannot be made longer");
    }
    if (ask.context_scale != 1) lengthen(workload, ask.context_scale);
    RunResult result = without_curves(simulate(scenario, workload));
    result.scenario_json.clear();
    message = kRan + serialize(result);
  } catch (const InputError& error) {
    message = kRefused + std::string(error.what());
  }
  ++done_units;
  return message;
}

// True iff the first tier is GPU memory. Policies that store nothing can also have this tier, for prefixes
// that stay on the GPU.
bool has_hbm_tier(const Scenario& scenario) {
  return scenario.policy.tiers && !scenario.policy.tiers->empty() &&
         scenario.policy.tiers->front().kind == Tier::hbm;
}

// Returns a key of everything that the run depends on: the scenario without unused storage that costs
// nothing. For SSDs that are read through DRAM, the key keeps the DRAM's bandwidth but not its size.
std::string key_of(const Scenario& scenario, const Ask& ask) {
  nlohmann::json key = nlohmann::json::parse(scenario.resolved_json);
  nlohmann::json& hardware = key["hardware"];
  if (!keeps_in(scenario, Tier::dram) && scenario.hardware.dram) hardware["dram"].erase("capacity_bytes");
  for (Tier tier : kHostTiers) {
    const bool is_free = tier != Tier::dram && !keeps_in(scenario, tier) && !chooses_devices(scenario, tier);
    if (is_free) hardware.erase(std::string(name(tier)));
  }
  if (!keeps_anything(scenario) && !has_hbm_tier(scenario)) key["policy"].erase("tiers");
  key["ask"] = {ask.share, ask.replication, ask.context_scale};
  return key.dump();
}

// Throws InputError if the plan minimizes a cost and the machine has none.
void require_price(const Plan& plan, const HardwareProfile& hardware) {
  if (!plan.minimize.starts_with("cost.") || gpu_usd_per_hour(hardware) > 0) return;
  throw InputError(hardware.name +
                   ": hardware.gpu.price_usd_per_hour: found 0 (not known), allowed: a price, " +
                   "because the plan minimizes " + plan.minimize);
}

}  // namespace

std::vector<Answer> Simulator::run(const std::vector<Ask>& asks) {
  if (asks.empty()) return {};
  struct Missing {
    std::string key;
    Scenario scenario;
    const Ask* ask;
  };
  std::vector<std::string> keys;
  std::vector<Missing> missing;
  Progress progress(step_ + ", checking", true);
  for (const Ask& ask : asks) {
    progress.show(static_cast<double>(keys.size()) / static_cast<double>(asks.size()));
    try {
      Scenario scenario = in_steady_state(load_scenario(plan_.base, ask.changes));
      require_price(plan_, scenario.hardware);
      sources_.read(scenario);
      keys.push_back(key_of(scenario, ask));
      if (answers_.try_emplace(keys.back()).second) {
        missing.push_back({keys.back(), std::move(scenario), &ask});
      }
    } catch (const InputError& error) {
      keys.emplace_back(error.what());
      answers_[keys.back()].reason = error.what();
    }
  }
  simulations_ += static_cast<int64_t>(missing.size());
  std::vector<std::string> finished_keys;
  for (const Missing& one : missing) finished_keys.push_back(finished_.key_of(one.scenario) + one.key);
  const std::vector<std::string> messages = run_in_workers(
      missing.size(),
      [&](std::size_t job, std::atomic<int64_t>& done_units) {
        return finished_.get(finished_keys[job], [&] {
          return simulate_one(missing[job].scenario, *missing[job].ask, sources_, done_units);
        });
      },
      {.total_units = static_cast<int64_t>(missing.size()),
       .label = step_,
       .is_part = true,
       .name =
           [&](std::size_t job) {
             return "the simulation with " + joined(missing[job].ask->changes, " ") + ", seed " +
                    std::to_string(missing[job].scenario.seed +
                                   static_cast<uint64_t>(missing[job].ask->replication));
           },
       .hint = finished_.hint()});
  for (std::size_t i = 0; i < missing.size(); ++i) {
    Answer& answer = answers_[missing[i].key];
    const std::string_view rest = std::string_view(messages[i]).substr(1);
    if (messages[i].front() == kRan) {
      answer.result = deserialize(rest);
      answer.may_be_longer = missing[i].scenario.workload.arrivals.process != ArrivalProcess::trace &&
                             2 * answer.result.turn_count <= kMostSearchedTurns;
    } else {
      answer.reason = rest;
    }
  }
  std::vector<Answer> answers;
  answers.reserve(keys.size());
  for (const std::string& key : keys) answers.push_back(answers_.at(key));
  return answers;
}

}  // namespace kvcap
