#include "run/setup.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "run/ranks.h"
#include "scenario/pools.h"
#include "workload/calls.h"

namespace kvcap {
namespace {

// True iff contexts from farther tiers move to DRAM first. A machine without a DRAM tier loads them directly.
bool moves_to_dram(const Machine& machine) {
  return machine.uses(Tier::dram) && (machine.uses(Tier::ssd) || machine.uses(Tier::remote));
}

// Returns how many tokens may be prefetched at the same time: a share of the tokens by which DRAM exceeds the
// GPU's cache.
std::optional<int64_t> prefetch_capacity_tokens(const Machine& machine) {
  const std::optional<double>& share = machine.options().prefetch_capacity_share;
  const auto dram = std::find_if(machine.tiers().begin(), machine.tiers().end(),
                                 [](const StoreTier& tier) { return tier.kind == Tier::dram; });
  if (!share || dram == machine.tiers().end()) return {};
  const double beyond_gpu =
      dram->capacity_bytes / dram->bytes_per_token - static_cast<double>(machine.kv_capacity_tokens());
  return static_cast<int64_t>(*share * std::max(0.0, beyond_gpu));
}

KeepingOptions keeping_of(const Machine& machine, const Workload& workload) {
  const PolicyOptions& options = machine.options();
  const PolicyDefaults& usual = kPolicyDefaults;
  PrefetchOnArrival prefetch = options.prefetch_on_arrival.value_or(usual.prefetch_on_arrival);
  bool first_tier_only = options.loads_first_tier_only.value_or(usual.loads_first_tier_only);
  if (!moves_to_dram(machine)) {
    if (prefetch == PrefetchOnArrival::at_lookup) first_tier_only = false;
    prefetch = PrefetchOnArrival::none;
  }
  return {.match = machine.match(),
          .look_ahead = options.look_ahead.value_or(false) && machine.has_host_tier(),
          .clairvoyant = machine.clairvoyant(),
          .decoupled_positions = options.decoupled_positions.value_or(false),
          // Selective policies store everything and load only this share.
          .retained_share = machine.policy().traits().selects ? 1 : options.retention.value_or(1),
          .expires = options.ttl_s.has_value(),
          .chunk_tokens = options.chunk_tokens.value_or(0),
          .weighs = machine.keeps_scores(),
          .soft_pins = machine.soft_pins(),
          .blocking_save = options.save == SaveMode::blocking,
          // Chunks that are reused at any position were computed without the tokens that now precede them.
          .exact = *options.restore != Restore::blend && options.retention.value_or(1) == 1 &&
                   !(machine.match() == Match::chunk && workload.piece_keys == PieceKeys::text),
          .keeps_kv = options.keep == Keep::kv,
          .load = options.load.value_or(usual.load),
          .save_at = options.save_at.value_or(usual.save_at),
          .save_generated = options.save_generated.value_or(usual.save_generated),
          .store_after_hits = options.store_after_hits.value_or(usual.store_after_hits),
          .prefetch_on_arrival = prefetch,
          .prefetch_timeout_s = options.prefetch_timeout_s.value_or(usual.prefetch_timeout_s),
          .prefetch_timeout_s_per_token =
              options.prefetch_timeout_s_per_token.value_or(usual.prefetch_timeout_s_per_token),
          .prefetch_timeout_max_s =
              options.prefetch_timeout_max_s.value_or(std::numeric_limits<double>::infinity()),
          .prefetch_min_tokens = options.prefetch_min_tokens.value_or(usual.prefetch_min_tokens),
          .prefetch_capacity_tokens = prefetch_capacity_tokens(machine),
          .loads_first_tier_only = first_tier_only,
          .load_min_tokens = options.load_min_tokens.value_or(usual.load_min_tokens),
          .load_enqueue_s = options.load_enqueue_s.value_or(usual.load_enqueue_s) *
                            static_cast<double>(machine.cost().model().num_hidden_layers),
          .polled_loads = options.polled_loads.value_or(usual.polled_loads),
          .remote_copies = machine.remote_copies(),
          .lookup_s = machine.uses(Tier::remote) ? machine.hardware().remote->lookup_s : 0,
          .write_queue_s = options.write_queue_s.value_or(usual.write_queue_s)};
}

// Returns the workload with each turn divided into the policy's model calls; nullopt if each turn is one
// call.
std::optional<Workload> divided(const Workload& asked, const PolicyOptions& options) {
  const Calls calls = options.calls.value_or(Calls::single);
  if (calls == Calls::single) return {};
  return divided_into_calls(
      asked, {.kind = calls == Calls::map_reduce ? MapKind::reduce : MapKind::rerank,
              .map_tokens = static_cast<uint32_t>(options.map_tokens.value_or(kPolicyDefaults.map_tokens))});
}

// Returns an engine's end of the links between nodes.
Route end_of_link(const EngineSetup& engine) {
  const HardwareProfile& hardware = engine.machine.hardware();
  if (engine.scenario.fleet.disaggregation->link == TransferLink::nic) {
    const Nic& nic = *hardware.nic;
    return {.hops = {{.resource = Resource::nic,
                      .bytes_per_s = static_cast<double>(nic.count) * nic.bandwidth_bytes_per_s}},
            .latency_s = nic.latency_s};
  }
  const auto gpus = static_cast<double>(engine.scenario.serving.tensor_parallel_size);
  return {
      .hops = {{.resource = Resource::nvlink, .bytes_per_s = gpus * hardware.nvlink->bandwidth_bytes_per_s}},
      .latency_s = hardware.nvlink->latency_s};
}

}  // namespace

EngineSetup::EngineSetup(Scenario scenario_of_kind, const Workload& workload)
    : scenario(std::move(scenario_of_kind)),
      machine(scenario, workload),
      keeping(keeping_of(machine, workload)),
      step_time(machine.step_time(scenario.serving)),
      model{.serving = &scenario.serving,
            .keeping = &keeping,
            .cost = &machine.cost(),
            .step_time = &step_time,
            .speculation = machine.speculation(),
            .policy = &machine.policy(),
            .route = [this](Tier from, Tier to) -> const Route& { return machine.route(from, to); },
            .kv_layout = &machine.kv_layout(),
            .kv_capacity_tokens = machine.kv_capacity_tokens(),
            .max_model_len = machine.max_model_len()} {}

Setup::Setup(const Scenario& scenario_of_fleet, const Workload& asked_workload)
    : scenario(scenario_of_fleet),
      asked(asked_workload),
      engine(prefill_scenario(scenario), asked),
      calls(divided(asked, engine.machine.options())),
      workload(calls ? *calls : asked),
      nodes(static_cast<std::size_t>(engines(scenario))),
      storing_nodes(static_cast<std::size_t>(storing_engines(scenario))) {
  if (const std::optional<DisaggregationOptions>& disaggregation = scenario.fleet.disaggregation) {
    decode.emplace(decode_scenario(scenario), asked);
    decode->model.max_model_len = engine.model.max_model_len;  // the prefill nodes' limit applies
    interconnect = {.senders = storing_nodes, .sends = end_of_link(engine), .receives = end_of_link(*decode)};
    const std::optional<ModelSpec> drafter =
        drafter_of(scenario.serving.speculative.value_or(SpeculativeOptions()), scenario.model);
    handover = handover_plan(*disaggregation, scenario.model, decode->scenario.serving.tensor_parallel_size,
                             interconnect->route(), drafter ? &*drafter : nullptr);
  }
  const PolicyOptions& policy = engine.machine.options();
  // Pieces are found only as a whole.
  const bool keeps_tails = *policy.eviction_unit == EvictionUnit::block && workload.piece_begin.empty();
  store = {.inclusive = *policy.inclusive,
           .write = *policy.inclusive ? *policy.write : WriteMode::back,
           .unit_tokens = keeps_tails ? engine.scenario.serving.block_tokens() : 0,
           .ttl_s = policy.ttl_s};
  for (const StoreTier& tier : engine.machine.tiers()) {
    const bool is_shared = scenario.fleet.shared_remote && tier.kind == Tier::remote;
    (is_shared ? shared_tiers : own_tiers).push_back(tier);
  }
}

}  // namespace kvcap
