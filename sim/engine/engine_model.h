// EngineModel: the properties that all engines of one kind share, such as the model's cost, how contexts are
// kept, and the memory for KV. Everything that it refers to outlives the engines.
#pragma once

#include <cstdint>
#include <functional>

#include "cost/cost_model.h"
#include "engine/keeping.h"
#include "engine/options.h"
#include "engine/speculation/speculation.h"
#include "engine/step_time.h"
#include "policy/policy.h"
#include "state/kv_pool.h"

namespace kvcap {

struct EngineModel {
  const ServingOptions* serving = nullptr;
  const KeepingOptions* keeping = nullptr;
  const CostModel* cost = nullptr;
  const StepTime* step_time = nullptr;
  const Speculation* speculation = nullptr;  // null: a step yields one token per sequence
  const Policy* policy = nullptr;
  std::function<const Route&(Tier from, Tier to)> route;
  const KvLayout* kv_layout = nullptr;
  int64_t kv_capacity_tokens = 0;
  int64_t max_model_len = 0;  // longest sequence, in tokens
};

}  // namespace kvcap
