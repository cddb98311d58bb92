#include "run/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "base/input_error.h"
#include "base/text/format.h"
#include "des/world.h"
#include "engine/prompt.h"
#include "engine/sessions.h"
#include "fleet/fleet.h"
#include "metrics/recorder.h"
#include "metrics/statistics/quantiles.h"
#include "metrics/turn_means.h"
#include "run/facts.h"
#include "run/finished_run.h"
#include "run/ranks.h"
#include "run/setup.h"

namespace kvcap {
namespace {

#ifdef KVCAP_CHECK_ALWAYS
constexpr bool kCheckAlways = true;
#else
constexpr bool kCheckAlways = false;
#endif

// Latest time in scenarios and traces; up to this time, doubles resolve microseconds.
constexpr double kLongestRun_s = 1e10;

// Fills the stores as if the system had run for a long time (a warm start). Contexts are stored in order of
// their sessions, each on its home node. Parts of prompts are stored on every node, in descending order of
// their scores over all turns (by default, their number of uses).
void preload(const Setup& setup, std::span<Store> stores) {
  const Workload& workload = setup.workload;
  const Machine& machine = setup.engine.machine;
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    const Key key = context_text(workload, static_cast<uint32_t>(i));
    const int64_t tokens = workload.sessions[i].context_tokens;
    Store& store = stores[home_of(workload.context_key(i), stores.size())];
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
  const int64_t chunk_tokens = setup.engine.keeping.chunk_tokens;
  for (std::size_t turn = 0; turn < workload.turns.size(); ++turn) {
    for (const Part& part : pieces_of(workload, turn, machine.match(), chunk_tokens).prompt) {
      const auto [found, is_new] = place.try_emplace(part.key, parts.size());
      if (is_new) parts.push_back({part, 0});
      const PartUse use = machine.policy().use({part.node_tokens, part.first_token, part.tokens});
      parts[found->second].score += machine.policy().weight(use);
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Used& a, const Used& b) { return a.score > b.score; });
  for (Store& store : stores) {
    for (const Used& part : parts) store.preload(part.item.key, part.item.tokens, part.item.shared);
  }
}

std::vector<Store> stores_of(const Setup& setup, Store* shared) {
  std::vector<Store> stores;
  for (std::size_t node = 0; node < setup.nodes; ++node) {
    if (node < setup.storing_nodes) {
      stores.emplace_back(setup.own_tiers, setup.store, shared);
    } else {
      stores.emplace_back(std::vector<StoreTier>(), setup.store, nullptr);
    }
  }
  if (setup.workload.warm_start) preload(setup, std::span(stores).first(setup.storing_nodes));
  return stores;
}

// Returns the pool of nodes that `engines` engines form.
PoolParts pool_of(const EngineSetup& setup, std::size_t engines) {
  const auto ranks = static_cast<std::size_t>(setup.scenario.serving.data_parallel_size);
  return {.engine = &setup.model,
          .nodes = engines / ranks,
          .ranks = ranks,
          .in_lockstep = ranks_in_lockstep(setup.scenario) > 1};
}

// Returns a note on the TTFTs of each priority; empty if there is only one.
std::string ttft_by_priority(const Workload& asked, std::span<const TurnRecord> turns) {
  std::map<int, std::vector<double>> ttfts_ms;
  for (const TurnRecord& turn : turns) {
    if (is_measured(turn)) ttfts_ms[asked.sessions[turn.session].priority].push_back(1e3 * turn.ttft_s);
  }
  if (ttfts_ms.size() < 2) return "";
  std::string text;
  for (auto& [priority, values_ms] : ttfts_ms) {
    const Distribution ttft_ms = describe(values_ms);
    text += (text.empty() ? "TTFT by priority: " : "; ") + std::to_string(priority) + ": mean " +
            format_ms(ttft_ms.mean) + ", p99 " + format_ms(ttft_ms.p99) + " (" +
            format_count(std::ssize(values_ms), "turn") + ")";
  }
  return text;
}

}  // namespace

RunResult simulate(const Scenario& scenario, const Workload& asked, const SimulateHooks& hooks) {
  const bool checks = kCheckAlways || hooks.check_invariants;
  const Setup setup(scenario, asked);
  const Machine& machine = setup.engine.machine;
  Recorder recorder(static_cast<int64_t>(setup.workload.turns.size()), hooks.trace,
                    setup.decode ? setup.storing_nodes : 0);
  Store shared(setup.shared_tiers, setup.store);
  Store* const shared_or_none = setup.shared_tiers.empty() ? nullptr : &shared;
  std::vector<Store> stores = stores_of(setup, shared_or_none);
  const auto observer_of = [&recorder](std::size_t node) -> LinkObserver {
    return [&recorder, node](Resource resource, double busy_s, double from_s, double to_s) {
      recorder.busy(resource, busy_s, from_s, to_s, node);
    };
  };
  std::vector<NodeParts> nodes;
  for (std::size_t node = 0; node < setup.nodes; ++node) {
    const EngineSetup& engine = node < setup.storing_nodes ? setup.engine : *setup.decode;
    nodes.push_back({.hardware = &engine.machine.hardware(),
                     .gpus = engine.scenario.serving.gpus(),
                     .observer = observer_of(node)});
  }
  const std::unique_ptr<World> world =
      make_simgrid_world(std::move(nodes), scenario.fleet.shared_remote, setup.interconnect);
  std::vector<PoolParts> pools = {pool_of(setup.engine, setup.storing_nodes)};
  if (setup.decode) pools.push_back(pool_of(*setup.decode, setup.nodes - setup.storing_nodes));
  // There is no closed form for buffered loads: their layers are simulated.
  const Fidelity restores = machine.buffers_loads() ? Fidelity::layer : scenario.fidelity;
  Fleet fleet({.world = world.get(),
               .options = scenario.fleet,
               .seed = static_cast<uint64_t>(scenario.seed),
               .pools = std::move(pools),
               .stores = stores,
               .shared = shared_or_none,
               .make_restorer =
                   [&](std::size_t node) {
                     return make_restorer(restores, world->node(node), machine.idle_rates(),
                                          observer_of(node), hooks.on_restore_activity);
                   },
               .instance = {.engine = &setup.engine.model,
                            .workload = &setup.workload,
                            .recorder = &recorder,
                            .fidelity = scenario.fidelity,
                            .check_invariants = checks,
                            .finished_turns = hooks.finished_turns,
                            .handover = setup.handover ? &*setup.handover : nullptr}});
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
  RunResult result = recorder.finish(facts_of(setup, fleet.ended_s()));
  if (checks) check_finished_run(scenario, asked, machine, result);
  const std::string by_priority = ttft_by_priority(asked, result.turns);
  if (!by_priority.empty()) result.notes.push_back(by_priority);
  return result;
}

}  // namespace kvcap
