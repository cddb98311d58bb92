// How many nodes serve, and who serves what; as a scenario describes it.
#pragma once

#include <cstdint>
#include <vector>

namespace kvcap {

enum class Routing : uint8_t { round_robin, least_loaded, session_affinity, prefix_aware };

// A node that is lost with all that lies on it, and comes back empty.
struct NodeFailure {
  int64_t replica = 0;  // from 0
  double at_s = 0;
  double down_s = 0;
};

struct FleetOptions {
  int64_t replicas = 1;  // nodes of the hardware profile, each with the whole model
  Routing routing = Routing::session_affinity;
  int64_t load_bound = 8;  // prefix_aware: turns that a node may have beyond the least loaded one
  // The remote tier of the profile is one store behind one link for all nodes; else each node has its own.
  bool shared_remote = false;
  std::vector<NodeFailure> failures;
};

}  // namespace kvcap
