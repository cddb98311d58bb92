#include "run/simulate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>

#include "base/check.h"
#include "base/input_error.h"
#include "base/text/note.h"
#include "cost/peer_collectives.h"
#include "des/world.h"
#include "metrics/recorder.h"
#include "policy/table.h"
#include "run/billing.h"
#include "run/finished_run.h"
#include "run/idle_prefill.h"
#include "run/machine.h"
#include "run/offered_load.h"
#include "serving/fleet.h"
#include "serving/handover.h"
#include "serving/instance.h"
#include "serving/prompt.h"
#include "serving/sessions.h"
#include "workload/calls.h"
#include "workload/readers/long_turns.h"

namespace kvcap {
namespace {

#ifdef KVCAP_CHECK_ALWAYS
constexpr bool kCheckAlways = true;
#else
constexpr bool kCheckAlways = false;
#endif

// Largest date of scenarios and traces; doubles still resolve microseconds there.
constexpr double kLongestRun_s = 1e10;

// Returns the offered rate; 0 in a closed loop, and if all sessions begin concurrently.
double offered_turns_per_s(const Workload& workload) {
  if (workload.concurrency > 0 || workload.sessions.empty()) return 0;
  const auto turns = static_cast<double>(workload.turns.size());
  const auto sessions = static_cast<double>(workload.sessions.size());
  if (workload.sessions_per_s > 0) return workload.sessions_per_s * turns / sessions;
  const double last_s = workload.turns[workload.sessions.back().first_turn].time_s;
  return last_s > 0 ? turns / last_s : 0;
}

// `decode`: the machine of nodes that only decode, or nullptr.
RunFacts facts_of(const Scenario& scenario, const Workload& workload, const Machine& machine,
                  const Machine* decode) {
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
        "some GEMMs lie outside the measured table of the hardware profile and are extrapolated");
  }
  if (machine.cost().tensor_parallel_size() * machine.cost().placement().ranks > 1) {
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
  // There is no closed form for disaggregated nodes.
  if (!decode) {
    facts.gpu_s_of_turn = [&](const MeanTurn& turn) {
      return gpu_seconds_of_turn(machine, scenario.serving, turn);
    };
  }
  facts.idle_prefill_s = [&](const TurnRecord& turn) {
    const int64_t prompt_tokens = int64_t{turn.history_tokens} + turn.input_tokens;
    return idle_prefill_s(machine, scenario.serving, {prompt_tokens - turn.hit_tokens, turn.hit_tokens});
  };
  facts.rate_varies = is_replayed || !scenario.workload.arrivals.rates.empty();
  facts.slo_ttft_ms = scenario.slo.ttft_ms.value_or(-1);
  facts.slo_tpot_ms = scenario.slo.tpot_ms.value_or(-1);
  facts.stored_bytes_per_token = machine.policy().traits().stored_bytes_per_token;
  facts.reserved_bytes =
      machine.policy().traits().kv_buffer.reserved_tokens * scenario.model.kv_bytes_per_token();
  facts.replicas = engines(scenario);
  facts.shared_remote = scenario.fleet.shared_remote;
  facts.routes_by_beliefs = scenario.fleet.router.index != IndexKind::exact && engines(scenario) > 1 &&
                            Router(scenario.fleet).needs_beliefs();
  add_prices(scenario, machine.tiers(), facts);
  facts.kv_capacity_tokens = facts.replicas * machine.kv_capacity_tokens();
  if (decode) {
    facts.prefill_replicas = storing_engines(scenario);
    facts.kv_capacity_tokens = facts.prefill_replicas * machine.kv_capacity_tokens() +
                               (facts.replicas - facts.prefill_replicas) * decode->kv_capacity_tokens();
  }
  return facts;
}

// Returns the workload divided into the policy's model calls; nullopt if each turn is one call.
std::optional<Workload> divided(const Workload& asked, const PolicyOptions& options) {
  const Calls calls = options.calls.value_or(Calls::single);
  if (calls == Calls::single) return {};
  return divided_into_calls(asked, {.kind = calls == Calls::map_reduce ? MapKind::reduce : MapKind::rerank,
                                    .map_tokens = static_cast<uint32_t>(options.map_tokens.value_or(64))});
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

// Fills the stores as after a long time (a warm start). Contexts: in order of their sessions, each on its
// home node. Parts of prompts: on every node, those with the highest scores over all turns first (by default
// the most used ones).
void preload(const Workload& workload, const Machine& machine, std::span<NodeStore> stores) {
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    const Key key = context_text(workload, static_cast<uint32_t>(i));
    const int64_t tokens = workload.sessions[i].context_tokens;
    NodeStore& store = stores[home_of(workload.context_key(i), stores.size())];
    const bool shared = workload.sessions[i].document != kOwnContext;
    if (tokens > 0 && !store.find(key)) store.preload(key, tokens, shared);
  }
  if (workload.piece_begin.empty()) return;
  struct Used {
    Item item;
    double score = 0;
  };
  std::vector<Used> parts;
  std::unordered_map<Key, std::size_t> place;
  for (std::size_t turn = 0; turn < workload.turns.size(); ++turn) {
    const int64_t chunk_tokens = machine.options().chunk_tokens.value_or(0);
    for (const Part& part : pieces_of(workload, turn, machine.match(), chunk_tokens).prompt) {
      const auto [found, is_new] = place.try_emplace(part.key, parts.size());
      if (is_new) parts.push_back({part, 0});
      const PartUse use = machine.policy().use({part.node_tokens, part.first_token, part.tokens});
      parts[found->second].score += machine.policy().weight(use);
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Used& a, const Used& b) { return a.score > b.score; });
  for (NodeStore& store : stores) {
    for (const Used& part : parts) store.preload(part.item.key, part.item.tokens, part.item.shared);
  }
}

KeepingOptions keeping_of(const Machine& machine, const Workload& workload) {
  const PolicyOptions& options = machine.options();
  return {.match = machine.match(),
          .look_ahead = options.look_ahead.value_or(false) && machine.has_host_tier(),
          .clairvoyant = machine.clairvoyant(),
          .decoupled_positions = options.decoupled_positions.value_or(false),
          // Selective policies store everything and load only that share.
          .retained_share = machine.policy().traits().selects ? 1 : options.retention.value_or(1),
          .expires = options.ttl_s.has_value(),
          .chunk_tokens = options.chunk_tokens.value_or(0),
          .weighs = machine.keeps_scores(),
          .soft_pins = machine.soft_pins(),
          .blocking_save = options.save == SaveMode::blocking,
          // Text chunks that are reused at any position were computed without the tokens before them.
          .exact = *options.restore != Restore::blend && options.retention.value_or(1) == 1 &&
                   !(machine.match() == Match::chunk && workload.piece_keys == PieceKeys::text),
          .keeps_kv = options.keep == Keep::kv,
          .load = options.load.value_or(LoadMode::parked),
          .save_at = options.save_at.value_or(SaveAt::turn_end),
          .save_generated = options.save_generated.value_or(true),
          .save_chunk_tokens = options.chunk_tokens.value_or(0),
          .store_after_hits = options.store_after_hits.value_or(0),
          .prefetch_on_arrival = options.prefetch_on_arrival.value_or(PrefetchOnArrival::none),
          .prefetch_timeout_s = options.prefetch_timeout_s.value_or(1),
          .prefetch_timeout_s_per_token = options.prefetch_timeout_s_per_token.value_or(0),
          .loads_first_tier_only = options.loads_first_tier_only.value_or(false),
          .load_min_tokens = options.load_min_tokens.value_or(1),
          .remote_copies = machine.remote_copies(),
          .lookup_s = machine.uses(Tier::remote) ? machine.hardware().remote->lookup_s : 0,
          .write_queue_s = options.write_queue_s.value_or(1)};
}

// Returns the route of KV between nodes.
Route transfer_route(const Scenario& scenario) {
  const HardwareProfile& hardware = scenario.hardware;
  if (scenario.fleet.disaggregation->link == TransferLink::nic) {
    const Nic& nic = *hardware.nic;
    return {.hops = {{.resource = Resource::nic,
                      .bytes_per_s = static_cast<double>(nic.count) * nic.bandwidth_bytes_per_s}},
            .latency_s = nic.latency_s};
  }
  const auto gpus = static_cast<double>(scenario.serving.tensor_parallel_size);
  return {
      .hops = {{.resource = Resource::nvlink, .bytes_per_s = gpus * hardware.nvlink->bandwidth_bytes_per_s}},
      .latency_s = hardware.nvlink->latency_s};
}

}  // namespace

RunResult simulate(const Scenario& whole, const Workload& asked, const SimulateHooks& hooks) {
  const bool checks = kCheckAlways || hooks.check_invariants;
  const std::optional<DisaggregationOptions>& disaggregation = whole.fleet.disaggregation;
  const Scenario scenario = prefill_scenario(whole);
  const Machine machine(scenario, asked);
  std::unique_ptr<Machine> decode;
  std::optional<HandoverPlan> handover;
  std::optional<Interconnect> interconnect;
  if (disaggregation) {
    decode = std::make_unique<Machine>(decode_scenario(whole), asked);
    const Route route = transfer_route(whole);
    handover = handover_plan(*disaggregation, whole.model, whole.serving.tensor_parallel_size, route);
    interconnect = {static_cast<std::size_t>(storing_engines(whole)), route};
  }
  const std::optional<Workload> calls = divided(asked, machine.options());
  const Workload& workload = calls ? *calls : asked;
  const auto nodes = static_cast<std::size_t>(engines(scenario));
  const auto storing = static_cast<std::size_t>(storing_engines(scenario));
  Recorder recorder(static_cast<int64_t>(workload.turns.size()), hooks.trace, decode ? storing : 0);
  const auto observer_of = [&recorder](std::size_t node) -> LinkObserver {
    return [&recorder, node](Resource resource, double busy_s, double from_s, double to_s) {
      recorder.busy(resource, busy_s, from_s, to_s, node);
    };
  };
  const StoreOptions store_options{
      .inclusive = *machine.options().inclusive,
      .write = *machine.options().inclusive ? *machine.options().write : WriteMode::back,
      // Pieces are found only as a whole.
      .unit_tokens = *machine.options().eviction_unit == EvictionUnit::block && workload.piece_begin.empty()
                         ? scenario.serving.block_size
                         : 0,
      .ttl_s = machine.options().ttl_s};
  std::vector<StoreTier> own_tiers, shared_tiers;
  for (const StoreTier& tier : machine.tiers()) {
    const bool is_shared = scenario.fleet.shared_remote && tier.kind == Tier::remote;
    (is_shared ? shared_tiers : own_tiers).push_back(tier);
  }
  Store shared(shared_tiers, store_options);
  Store* const shared_or_none = shared_tiers.empty() ? nullptr : &shared;
  std::vector<NodeStore> stores;
  std::vector<LinkObserver> observers;
  for (std::size_t node = 0; node < nodes; ++node) {
    if (node < storing) {
      stores.emplace_back(own_tiers, store_options, shared_or_none);
    } else {
      stores.emplace_back(std::vector<StoreTier>(), store_options, nullptr);
    }
    observers.push_back(observer_of(node));
  }
  if (workload.warm_start) preload(workload, machine, std::span(stores).first(storing));
  const std::unique_ptr<World> world =
      make_simgrid_world(machine.hardware(), scenario.serving.tensor_parallel_size, std::move(observers),
                         scenario.fleet.shared_remote, interconnect);
  // If loads wait for computation, the link idles between layers; there is no closed form, so layers are
  // simulated.
  const bool buffered = machine.policy().traits().read_buffer_layers < scenario.model.num_hidden_layers;
  const InstanceParts instance{
      .workload = &workload,
      .cost = &machine.cost(),
      .speculation = machine.speculation(),
      .policy = &machine.policy(),
      .recorder = &recorder,
      .route = [&machine](Tier from, Tier to) -> const Route& { return machine.route(from, to); },
      .serving = scenario.serving,
      .keeping = keeping_of(machine, workload),
      .kv_capacity_tokens = machine.kv_capacity_tokens(),
      .kv_layout = machine.kv_layout(),
      .max_model_len = machine.max_model_len(),
      .fidelity = scenario.fidelity,
      .check_invariants = checks,
      .finished_turns = hooks.finished_turns,
      .handover = handover ? &*handover : nullptr};
  std::optional<InstanceParts> decoding;
  if (decode) {
    decoding = instance;
    decoding->cost = &decode->cost();
    decoding->policy = &decode->policy();
    decoding->serving = decode_scenario(whole).serving;
    decoding->keeping = keeping_of(*decode, workload);
    decoding->kv_capacity_tokens = decode->kv_capacity_tokens();
    decoding->handover = nullptr;
  }
  Fleet fleet({.world = world.get(),
               .options = scenario.fleet,
               .seed = static_cast<uint64_t>(scenario.seed),
               .ranks = static_cast<std::size_t>(scenario.serving.data_parallel_size),
               .in_lockstep = ranks_in_lockstep(scenario) > 1,
               .stores = stores,
               .shared = shared_or_none,
               .make_restorer =
                   [&](std::size_t node) {
                     return make_restorer(buffered ? Fidelity::layer : scenario.fidelity, world->node(node),
                                          machine.idle_rates(), observer_of(node), hooks.on_restore_activity);
                   },
               .instance = instance,
               .decode = std::move(decoding)});
  bool is_too_long = false;
  world->run([&](double now_s) {
    const double next_s = fleet.advance(now_s);
    is_too_long = std::max(now_s, std::isinf(next_s) ? 0 : next_s) > kLongestRun_s;
    return is_too_long ? -1 : next_s;
  });
  if (is_too_long) {
    throw InputError((scenario.file.empty() ? "" : scenario.file + ": ") +
                     "the last turn would end after more than 300 years of simulated time; use a faster "
                     "machine, shorter turns or earlier arrivals");
  }

  RunFacts facts = facts_of(scenario, workload, machine, decode.get());
  if (calls) facts.calls = calls_of(asked, workload);
  facts.duration_s = fleet.ended_s();
  RunResult result = recorder.finish(facts);
  if (checks) check_finished_run(whole, asked, machine, result);
  return result;
}

}  // namespace kvcap
