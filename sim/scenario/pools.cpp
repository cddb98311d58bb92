#include "scenario/pools.h"

#include <algorithm>
#include <cmath>

namespace kvcap {
namespace {

// Returns the part of a node that has `gpus` of its GPUs and a proportional part of its DRAM, SSDs and NIC
// bandwidth.
HardwareProfile part_of(HardwareProfile hardware, int64_t gpus) {
  const double part = static_cast<double>(gpus) / static_cast<double>(hardware.gpu.count);
  const auto part_of_count = [part](int64_t count) {
    // The tolerance absorbs rounding errors of whole numbers.
    return std::max<int64_t>(1, std::llround(std::floor(part * static_cast<double>(count) + 1e-9)));
  };
  const auto scale = [part](std::optional<double>& included_bytes) {
    if (included_bytes) *included_bytes *= part;
  };
  hardware.gpu.count = gpus;
  if (hardware.dram) {
    hardware.dram->capacity_bytes *= part;
    hardware.dram->power_w *= part;
    scale(hardware.dram->included_bytes);
  }
  if (hardware.ssd) {
    hardware.ssd->count = part_of_count(hardware.ssd->count);
    scale(hardware.ssd->included_bytes);
  }
  for (std::optional<Devices>& devices : hardware.devices) {
    if (devices) devices->count = part_of_count(devices->count);
  }
  if (hardware.nic) hardware.nic->bandwidth_bytes_per_s *= part;
  return hardware;
}

Scenario with_pool(Scenario scenario, const PoolOptions& pool) {
  ServingOptions& serving = scenario.serving;
  serving.max_num_seqs = pool.max_num_seqs.value_or(serving.max_num_seqs);
  serving.max_num_batched_tokens = pool.max_num_batched_tokens.value_or(serving.max_num_batched_tokens);
  if (!pool.tensor_parallel_size && !pool.data_parallel_size) return scenario;
  serving.tensor_parallel_size = pool.tensor_parallel_size.value_or(serving.tensor_parallel_size);
  serving.data_parallel_size = pool.data_parallel_size.value_or(serving.data_parallel_size);
  scenario.hardware = part_of(scenario.hardware, serving.gpus() * serving.data_parallel_size);
  return scenario;
}

}  // namespace

Scenario prefill_scenario(const Scenario& scenario) {
  const std::optional<DisaggregationOptions>& disaggregation = scenario.fleet.disaggregation;
  if (!disaggregation) return scenario;
  Scenario result = with_pool(scenario, disaggregation->prefill);
  // Prevents a deadlock: a prompt with blocks reserved on a decode node must not wait for blocks of another
  // prompt, which may itself wait for a reservation.
  if (disaggregation->transfer == KvTransfer::push) result.serving.admission = Admission::reserve_output;
  return result;
}

// Turns are refused on arrival, so only the prefill nodes have a queue limit.
Scenario decode_scenario(const Scenario& scenario) {
  Scenario result = with_pool(scenario, scenario.fleet.disaggregation->decode);
  result.policy = {.name = "recompute",
                   .tiers = std::vector<TierOptions>(),
                   .polled_loads = scenario.serving.engine == EngineKind::vllm};
  result.serving.max_queued_turns = result.serving.max_num_queued_reqs = std::nullopt;
  return result;
}

}  // namespace kvcap
