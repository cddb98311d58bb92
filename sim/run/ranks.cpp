#include "run/ranks.h"

namespace kvcap {
int64_t engines(const Scenario& scenario) {
  const std::optional<DisaggregationOptions>& disaggregation = scenario.fleet.disaggregation;
  const int64_t ranks = scenario.serving.data_parallel_size;
  if (!disaggregation) return scenario.fleet.replicas * ranks;
  const int64_t decoding = scenario.fleet.replicas - disaggregation->prefill_replicas;
  return storing_engines(scenario) + decoding * disaggregation->decode.data_parallel_size.value_or(ranks);
}

int64_t storing_engines(const Scenario& scenario) {
  const std::optional<DisaggregationOptions>& disaggregation = scenario.fleet.disaggregation;
  if (!disaggregation) return engines(scenario);
  const int64_t ranks = scenario.serving.data_parallel_size;
  return disaggregation->prefill_replicas * disaggregation->prefill.data_parallel_size.value_or(ranks);
}

int64_t ranks_in_lockstep(const Scenario& scenario) { return expert_placement(scenario).ranks; }

ExpertPlacement expert_placement(const Scenario& scenario) {
  if (!scenario.model.experts) return {};
  const ServingOptions& serving = scenario.serving;
  return {.ranks = serving.data_parallel_size,
          .expert_parallel = serving.expert_parallel,
          .exchange = serving.expert_exchange,
          .imbalance = serving.expert_imbalance};
}

double rank_bytes(const Scenario& scenario, Tier tier, double bytes) {
  const bool is_shared = scenario.fleet.shared_remote && tier == Tier::remote;
  return is_shared ? bytes : bytes / static_cast<double>(scenario.serving.data_parallel_size);
}

HardwareProfile share_of_rank(const Scenario& scenario) {
  HardwareProfile hardware = scenario.hardware;
  const auto ranks = static_cast<double>(scenario.serving.data_parallel_size);
  if (ranks == 1) return hardware;
  if (hardware.dram) {
    hardware.dram->capacity_bytes /= ranks;
    hardware.dram->bandwidth_bytes_per_s /= ranks;
  }
  const auto slower = [ranks](auto& curve) {
    for (auto& point : curve) point.bytes_per_s /= ranks;
  };
  if (hardware.ssd) {
    hardware.ssd->capacity_bytes /= ranks;
    hardware.ssd->read_bandwidth_bytes_per_s /= ranks;
    hardware.ssd->write_bandwidth_bytes_per_s /= ranks;
    slower(hardware.ssd->read_curve);
    slower(hardware.ssd->write_curve);
  }
  for (std::optional<Devices>& part : hardware.devices) {
    if (!part) continue;
    part->capacity_bytes /= ranks;
    part->read_bandwidth_bytes_per_s /= ranks;
    part->write_bandwidth_bytes_per_s /= ranks;
  }
  if (hardware.nic) hardware.nic->bandwidth_bytes_per_s /= ranks;
  if (hardware.remote && !scenario.fleet.shared_remote) {
    hardware.remote->capacity_bytes /= ranks;
    hardware.remote->bandwidth_bytes_per_s /= ranks;
    slower(hardware.remote->curve);
  }
  return hardware;
}

}  // namespace kvcap
