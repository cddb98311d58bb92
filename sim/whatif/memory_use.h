// MemoryUse: how a scenario's engine uses the memory of one GPU, term by term, and how many KV tokens fit in
// the rest. kvcap show memory and the page of kvcap whatif print it.
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
  std::string refusal;  // why a run cannot start this server; empty: it can
};

struct MemoryUse {
  const Scenario& scenario;  // must outlive this object
  KvCapacityModel model;
  GpuMemory memory;
  bool knows_driver = false;
  int64_t restarted_tokens = 0;    // KV tokens after a restart with compiled kernels
  std::vector<std::string> notes;  // the profile's notes on the memory fields used: measured, assumed
  std::vector<MemoryServer> servers;
};

// Returns how the scenario's engine uses the memory.
MemoryUse memory_use(const Scenario& scenario);

const char* name(TermSource source);
// Returns the source of the GPU's memory size.
std::string memory_source(const MemoryUse& use);
// Returns the use as a kvcap.memory/1 document.
std::string memory_json(const MemoryUse& use);

}  // namespace kvcap
