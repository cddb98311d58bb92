// Setup: everything that a run derives from its scenario and workload; each value is derived once.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "des/world.h"
#include "engine/engine_model.h"
#include "engine/handover/handover.h"
#include "run/machine.h"
#include "scenario/scenario.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// What engines of one kind share: their scenario, the machine of each, and the EngineModel.
struct EngineSetup {
  EngineSetup(Scenario scenario_of_kind, const Workload& workload);
  EngineSetup(const EngineSetup&) = delete;  // `model` refers to the other members
  EngineSetup& operator=(const EngineSetup&) = delete;

  const Scenario scenario;
  const Machine machine;
  const KeepingOptions keeping;
  const StepTime step_time;
  EngineModel model;
};

struct Setup {
  // Both arguments outlive it. Throws InputError like simulate().
  Setup(const Scenario& scenario_of_fleet, const Workload& asked_workload);

  const Scenario& scenario;
  const Workload& asked;
  const EngineSetup engine;             // of the nodes that compute prompts (without disaggregation, all)
  std::optional<EngineSetup> decode;    // of the nodes that only decode
  const std::optional<Workload> calls;  // `asked`, if the policy divides its turns into several model calls
  const Workload& workload;             // the workload to serve: `calls` or `asked`
  const std::size_t nodes, storing_nodes;
  std::optional<HandoverPlan> handover;
  std::optional<Interconnect> interconnect;
  StoreOptions store;
  std::vector<StoreTier> own_tiers, shared_tiers;  // of each storing node; shared by all of them
};

}  // namespace kvcap
