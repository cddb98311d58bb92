// An engine on a World that is simple enough to follow by hand.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "engine/instance.h"
#include "engine/step_time.h"
#include "fleet/fleet.h"
#include "laws/machines.h"
#include "unit/fake_world.h"

namespace kvcap::served_workload {

using laws::one_turn;
using laws::scenario;

// One turn per entry, all without history, arriving at their times.
struct Ask {
  double arrival_s;
  uint32_t input_tokens, output_tokens;
};
inline Workload asks(const std::vector<Ask>& list) {
  Workload workload;
  for (const Ask& ask : list) {
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
    workload.turns.push_back({ask.input_tokens, ask.output_tokens, ask.arrival_s});
  }
  return workload;
}

class Engine {
 public:
  Engine(const Scenario& scenario, const Workload& workload, World& world, const KeepingOptions& keeping = {})
      : machine_(scenario, workload),
        step_time_(machine_.step_time(scenario.serving)),
        store_(machine_.tiers()),
        recorder_(static_cast<int64_t>(workload.turns.size())) {
    const LinkObserver observer = [](Resource, double, double, double) {};
    if (workload.warm_start) {
      for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
        const Key key = context_text(workload, static_cast<uint32_t>(i));
        const int64_t tokens = workload.sessions[i].context_tokens;
        if (tokens > 0 && !store_.find(key)) store_.preload(key, tokens);
      }
    }
    const EngineModel model{
        .serving = &scenario.serving,
        .keeping = &keeping,
        .cost = &machine_.cost(),
        .step_time = &step_time_,
        .policy = &machine_.policy(),
        .route = [this](Tier from, Tier to) -> const Route& { return machine_.route(from, to); },
        .kv_layout = &machine_.kv_layout(),
        .kv_capacity_tokens = machine_.kv_capacity_tokens(),
        .max_model_len = machine_.max_model_len()};
    Fleet fleet({.world = &world,
                 .pools = {{.engine = &model}},
                 .stores = {&store_, 1},
                 .make_restorer =
                     [&](std::size_t) {
                       return make_restorer(scenario.fidelity, world.node(0), machine_.idle_rates(), observer,
                                            nullptr);
                     },
                 .instance = {.engine = &model,
                              .workload = &workload,
                              .recorder = &recorder_,
                              .fidelity = scenario.fidelity,
                              .check_invariants = true}});
    world.run([&](double now_s) { return fleet.advance(now_s); });
    RunFacts facts;
    facts.scenario_json = "{}";
    facts.duration_s = fleet.ended_s();
    result = recorder_.finish(facts);
  }

  RunResult result;
  const CostModel& cost() const { return machine_.cost(); }
  // To write so many tokens to the SSD.
  double save_s(int64_t tokens) const {
    const Policy& policy = machine_.policy();
    const Route& route = machine_.route(Tier::hbm, Tier::ssd);
    return route.latency_s +
           route.seconds(static_cast<double>(tokens) * policy.traits().stored_bytes_per_token,
                         policy.save_requests(tokens));
  }

 private:
  Machine machine_;
  StepTime step_time_;
  Store store_;
  Recorder recorder_;
};

inline Engine serve(const Scenario& scenario, const Workload& workload, const KeepingOptions& keeping = {}) {
  FakeWorld world;
  return Engine(scenario, workload, world, keeping);
}

// An engine of today: a prefix cache, and steps that are planned ahead where a test says so.
inline Scenario caching(const std::string& policy, int64_t kv_tokens = 0) {
  Scenario result = scenario(policy);
  result.serving.prefix_caching = true;
  if (kv_tokens > 0) result.serving.kv_capacity_tokens = kv_tokens;
  return result;
}

}  // namespace kvcap::served_workload
