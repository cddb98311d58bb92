// The parts of the suite `queueing`, for callers that need only some of them.
#pragma once

#include <vector>

#include "validate/check.h"
#include "validate/suites.h"
#include "validate/theory/reduced.h"

namespace kvcap {

// Returns experiments on requests that wait for a server: M/D/1, M/M/1, M/M/4, Little's law.
std::vector<Experiment> waiting_experiments(const SuiteOptions& options);
// Returns experiments on loads that wait for a link: M/D/1.
std::vector<Experiment> link_experiments(const SuiteOptions& options);
// Returns experiments on the hit rates of references with Zipf popularities: LRU, FIFO, a TTL.
std::vector<Experiment> reference_experiments(const SuiteOptions& options);
// Returns checks of loads that share links (first come first served and max-min) and overlap with computation
// (flow shop).
std::vector<Check> transfer_checks();

}  // namespace kvcap
