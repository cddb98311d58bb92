#include "run/facts.h"

#include <string>
#include <vector>

#include "base/text/note.h"
#include "cost/peer_collectives.h"
#include "fleet/router.h"
#include "policy/table.h"
#include "run/billing.h"
#include "workload/readers/long_turns.h"

namespace kvcap {
namespace {

// Returns the offered rate in turns per second; 0 in a closed loop, and if all sessions begin at the same
// time.
double offered_turns_per_s(const Workload& workload) {
  if (workload.concurrency > 0 || workload.sessions.empty()) return 0;
  const auto turns = static_cast<double>(workload.turns.size());
  const auto sessions = static_cast<double>(workload.sessions.size());
  if (workload.sessions_per_s > 0) return workload.sessions_per_s * turns / sessions;
  const double last_s = workload.turns[workload.sessions.back().first_turn].time_s;
  return last_s > 0 ? turns / last_s : 0;
}

std::vector<CallOfTurn> calls_of(const Workload& asked, const Workload& divided) {
  std::vector<CallOfTurn> calls;
  for (const Call& call : divided.calls) {
    const Turn& turn = asked.turns[asked.sessions[call.asked_session].first_turn];
    calls.push_back({.asked_session = call.asked_session,
                     .answers = call.answers,
                     .output_tokens = turn.output_tokens,
                     .warmup = call.asked_session < asked.warmup_turns});
  }
  return calls;
}

}  // namespace

RunFacts facts_of(const Setup& setup, double duration_s) {
  const Scenario& scenario = setup.engine.scenario;
  const Workload& workload = setup.workload;
  const Machine& machine = setup.engine.machine;
  RunFacts facts;
  facts.scenario_name = scenario.name;
  facts.scenario_json = scenario.resolved_json;
  facts.policy = scenario.policy.name;
  facts.hardware_provenance = scenario.hardware.provenance_kind;
  facts.policy_summary = policy_summary(machine.options());
  const Reuse reuse = machine.policy().traits().reuse;
  const bool free_loads = reuse == Reuse::stored && machine.options().ideal_load.value_or(false);
  facts.is_bound =
      reuse == Reuse::everything || free_loads || machine.clairvoyant() || scenario.policy.unbounded;
  facts.quality_note = machine.quality_note();
  facts.notes = scenario.notes;
  facts.notes.insert(facts.notes.end(), workload.notes.begin(), workload.notes.end());
  facts.notes.insert(facts.notes.end(), machine.notes().begin(), machine.notes().end());
  if (machine.cost().extrapolated()) {
    facts.notes.emplace_back(
        "some GEMMs are outside the measured table of the hardware profile; their times are extrapolated");
  }
  if (scenario.serving.gpus() * machine.cost().placement().ranks > 1) {
    const std::string assumed = peer_assumption(scenario.hardware);
    if (!assumed.empty()) facts.notes.push_back(noted(NoteKind::assumption, assumed));
  }
  const std::string too_long = note_on_long_turns(workload, machine.max_model_len());
  if (!too_long.empty()) facts.notes.push_back(too_long);
  facts.cuts_warmup = scenario.workload.warmup == Warmup::automatic;
  facts.cuts_unsteady = scenario.workload.warmup == Warmup::steady;
  const RatesOver over = scenario.workload.rates_over;
  const bool is_replayed =
      workload.absolute_times || scenario.workload.arrivals.process == ArrivalProcess::trace;
  facts.rates_over_run = over == RatesOver::run || (over == RatesOver::automatic && is_replayed);
  facts.closed_loop = workload.concurrency > 0;
  facts.offered_turns_per_s = offered_turns_per_s(workload);
  const StepTime& step_time = setup.engine.step_time;
  // There is no closed form for disaggregated nodes.
  if (!setup.decode) {
    facts.gpu_s_of_turn = [&](const MeanTurn& turn) {
      return step_time.turn_s(turn, [&](double tokens) { return machine.sequences_at_once(tokens); });
    };
  }
  facts.idle_prefill_s = [&](const TurnRecord& turn) {
    const int64_t prompt_tokens = int64_t{turn.history_tokens} + turn.input_tokens;
    return step_time.idle_prefill_s({prompt_tokens - turn.hit_tokens, turn.hit_tokens});
  };
  facts.rate_varies = is_replayed || !scenario.workload.arrivals.rates.empty();
  facts.slo_ttft_ms = scenario.slo.ttft_ms.value_or(-1);
  facts.slo_tpot_ms = scenario.slo.tpot_ms.value_or(-1);
  facts.stored_bytes_per_token = machine.policy().traits().stored_bytes_per_token;
  facts.reserved_bytes =
      machine.policy().traits().kv_buffer.reserved_tokens * scenario.model.kv_bytes_per_token();
  facts.replicas = static_cast<int64_t>(setup.nodes);
  facts.shared_remote = scenario.fleet.shared_remote;
  facts.routes_by_beliefs = scenario.fleet.router.index != IndexKind::exact && setup.nodes > 1 &&
                            Router(scenario.fleet).needs_beliefs();
  add_prices(scenario, machine.tiers(), facts);
  facts.max_model_len = machine.max_model_len();
  facts.kv_capacity_tokens = facts.replicas * machine.kv_capacity_tokens();
  if (setup.decode) {
    facts.prefill_replicas = static_cast<int64_t>(setup.storing_nodes);
    facts.kv_capacity_tokens =
        facts.prefill_replicas * machine.kv_capacity_tokens() +
        (facts.replicas - facts.prefill_replicas) * setup.decode->machine.kv_capacity_tokens();
  }
  if (setup.calls) facts.calls = calls_of(setup.asked, workload);
  facts.duration_s = duration_s;
  return facts;
}

}  // namespace kvcap
