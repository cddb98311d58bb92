// The use of one GPU's memory by a scenario's engine, term by term, and the KV tokens that are left: what
// kvcap show memory and the page of kvcap whatif show.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/gpu_memory.h"
#include "scenario/scenario.h"
#include "spec/kv_capacity_model.h"

namespace kvcap {

struct MemoryServer {
  std::string role;  // "all", "prefill" or "decode"
  int64_t kv_capacity_tokens = 0;
  std::string refusal;  // why no run can start it; empty: it can
};

struct MemoryUse {
  const Scenario& scenario;  // outlives this
  KvCapacityModel model;
  GpuMemory memory;
  bool knows_driver = false;
  int64_t restarted_tokens = 0;    // KV tokens after a restart with compiled kernels
  std::vector<std::string> notes;  // profile's notes on the memory fields used here: measured, assumed
  std::vector<MemoryServer> servers;
};

// Servers that no run can start have a refusal.
MemoryUse memory_use(const Scenario& scenario);

const char* name(TermSource source);
// Returns where the GPU's memory size comes from.
std::string memory_source(const MemoryUse& use);
// Returns the use as JSON of the schema kvcap.memory/1.
std::string memory_json(const MemoryUse& use);

}  // namespace kvcap
