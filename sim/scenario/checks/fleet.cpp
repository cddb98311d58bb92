// Checks `fleet`: nodes and their failures.
#include "scenario/checks/checks.h"
#include "scenario/fields.h"

namespace kvcap {

void check_fleet(const Scenario& scenario, const Places& places) {
  const FleetOptions& fleet = scenario.fleet;
  if (fleet.shared_remote && !scenario.hardware.remote) {
    fail(places, "fleet.shared_remote", "true", "false (the hardware has no remote tier)");
  }
  for (std::size_t i = 0; i < fleet.failures.size(); ++i) {
    const NodeFailure& one = fleet.failures[i];
    const std::string path = below("fleet.failures", std::to_string(i));
    if (one.replica >= fleet.replicas) {
      fail(places, below(path, "replica"), std::to_string(one.replica),
           "less than fleet.replicas = " + std::to_string(fleet.replicas));
    }
    for (std::size_t j = 0; j < fleet.failures.size(); ++j) {
      const NodeFailure& other = fleet.failures[j];
      if (j == i || other.replica != one.replica || other.at_s > one.at_s) continue;
      const double back_s = other.at_s + other.down_s;
      if (one.at_s < back_s && (other.at_s < one.at_s || j < i)) {
        fail(places, below(path, "at_s"), number_text(one.at_s),
             "from " + number_text(back_s) + " on (replica " + std::to_string(one.replica) +
                 " is down until then)");
      }
    }
  }
}

}  // namespace kvcap
