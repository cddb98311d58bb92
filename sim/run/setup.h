// Setup: everything that a run derives from its scenario and workload. Each value is derived once.
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

// The properties that all engines of one kind share: their scenario, their Machine, and the EngineModel.
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
  // Both arguments outlive the Setup. Throws InputError like simulate().
  Setup(const Scenario& scenario_of_fleet, const Workload& asked_workload);

  const Scenario& scenario;
  const Workload& asked;
  const EngineSetup engine;             // for nodes that compute prompts (all, without disaggregation)
  std::optional<EngineSetup> decode;    // for nodes that only decode
  const std::optional<Workload> calls;  // `asked` divided into calls, if a turn takes several model calls
  const Workload& workload;             // the workload to serve: `calls` or `asked`
  const std::size_t nodes, storing_nodes;
  std::optional<HandoverPlan> handover;
  std::optional<Interconnect> interconnect;
  StoreOptions store;
  std::vector<StoreTier> own_tiers, shared_tiers;  // tiers of each storing node; tiers that these share
};

}  // namespace kvcap
