// Checks of a scenario's sections: whether fields fit together, after each has been read on its own. Checks
// throw InputError. Checks that take a mutable scenario may add notes about allowed but unusual settings.
#pragma once

#include <string>
#include <string_view>

#include "base/input_error.h"
#include "base/places.h"
#include "scenario/check.h"
#include "scenario/scenario.h"

namespace kvcap {

[[noreturn]] inline void fail(const Places& places, std::string_view path, const std::string& found,
                              const std::string& allowed) {
  throw InputError(places.at(path) + ": found " + found + ", allowed: " + allowed);
}

// Checks the policy's rules for layers that keep a window or a state.
void check_group_rules(const Scenario& scenario, const Places& places);
// `path`: the field of the size.
void check_tensor_parallel_size(const Scenario& scenario, int64_t size, const std::string& path,
                                const Places& places);
void check_serving(Scenario& scenario, const Places& places);
void check_speculative(Scenario& scenario, const Places& places);
void check_policy(const Scenario& scenario, const Places& places);
void check_workload(Scenario& scenario, const Places& places);
void check_fleet(const Scenario& scenario, const Places& places);
void check_disaggregation(const Scenario& scenario, const Places& places);
// Adds a note for each bandwidth that has no effect because the measured curve ends far below it.
void note_unreached(Scenario& scenario);

}  // namespace kvcap
