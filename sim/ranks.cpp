#include "ranks.h"

#include <string>

namespace kvcap {

Scenario with_ranks_as_nodes(const Scenario& scenario) {
  const int64_t ranks = scenario.serving.experts.data_parallel_size;
  if (ranks == 1) return scenario;
  Scenario result = scenario;
  const double part = 1 / static_cast<double>(ranks);
  HardwareProfile& hardware = result.hardware;
  const auto divide = [part](auto&... amounts) { ((amounts *= part), ...); };
  if (hardware.dram) divide(hardware.dram->capacity_bytes, hardware.dram->bandwidth_bytes_per_s);
  if (hardware.ssd) {
    Ssd& ssd = *hardware.ssd;
    divide(ssd.capacity_bytes, ssd.read_bandwidth_bytes_per_s, ssd.write_bandwidth_bytes_per_s);
    for (SsdPoint& point : ssd.read_curve) divide(point.bytes_per_s);
    for (SsdPoint& point : ssd.write_curve) divide(point.bytes_per_s);
  }
  const bool own_remote = hardware.remote && !scenario.fleet.shared_remote;
  if (own_remote) {
    divide(hardware.remote->capacity_bytes, hardware.remote->bandwidth_bytes_per_s);
    for (RatePoint& point : hardware.remote->curve) divide(point.bytes_per_s);
  }
  if (result.policy.tiers) {
    for (TierOptions& tier : *result.policy.tiers) {
      const bool is_shared = tier.kind == Tier::remote && scenario.fleet.shared_remote;
      if (tier.capacity_bytes && !is_shared) divide(*tier.capacity_bytes);
    }
  }
  result.fleet.replicas *= ranks;
  result.fleet.ranks = ranks;
  result.fleet.in_lockstep = scenario.model.experts.has_value();
  result.notes.push_back(
      std::to_string(ranks) + " data parallel ranks a node, each with a prefix cache of its own and 1/" +
      std::to_string(ranks) + " of the server's DRAM, SSDs and remote link" +
      (result.fleet.in_lockstep ? "; they share experts, and their steps begin and end together" : ""));
  return result;
}

}  // namespace kvcap
