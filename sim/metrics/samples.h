// Samples: what a result stores so that it can later be paired with another result of the same workload;
// random variation common to both then cancels in their difference. The first entry of RunResult::samples is
// "turns", the number of turns of every run. Each further entry belongs to a metric. If there are several
// runs, the entry contains the value of the metric in each run; with a single run, the errors that
// consecutive stretches of turns add to the metric (metrics/statistics/batch_means.h).
#pragma once

#include <string_view>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/batch_means.h"

namespace kvcap {

// Returns the samples of one run. REQUIRES: `turns` are in order of arrival. Settings change this order
// little, so that the same stretches of two runs contain nearly the same turns.
NamedSeries samples_of_turns(const std::vector<TurnRecord>& turns);
// Returns the samples of at least two runs: the values of headline and compared metrics.
NamedSeries samples_of_runs(const std::vector<RunResult>& runs);

// Returns the half-width of the 95 % interval of setting - against; NaN if their samples cannot be paired.
// REQUIRES: both ran the same workload with the same seed.
double paired_half_width(const NamedSeries& against, const NamedSeries& setting, std::string_view metric);

}  // namespace kvcap
