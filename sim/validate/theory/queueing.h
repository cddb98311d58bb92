// The parts of the suite `queueing`, for whoever wants only some.
#pragma once

#include <vector>

#include "validate/check.h"
#include "validate/suites.h"
#include "validate/theory/reduced.h"

namespace kvcap {

// How long requests wait for a server: M/D/1, M/M/1, M/M/4, Little's law.
std::vector<Experiment> waiting_experiments(const SuiteOptions& options);
// How long loads wait for a link: M/D/1.
std::vector<Experiment> link_experiments(const SuiteOptions& options);
// How often references with Zipf popularities are found: LRU, FIFO, a TTL.
std::vector<Experiment> reference_experiments(const SuiteOptions& options);
// How loads share links, first come first served and max-min, and overlap with computation, as a flow shop.
std::vector<Check> transfer_checks();

}  // namespace kvcap
