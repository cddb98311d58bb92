// Samples: the parts of a result that pair it with another result of the same workload, so that what chance
// does to both cancels in their difference. RunResult::samples holds "turns" first, the turns of every run.
// Each further entry belongs to a metric: with several runs its value in each of them, with one run the
// errors that consecutive stretches of its turns add to it (metrics/statistics/batch_means.h).
#pragma once

#include <string_view>
#include <vector>

#include "metrics/result.h"
#include "metrics/statistics/batch_means.h"

namespace kvcap {

// Returns the samples of one run. REQUIRES: `turns` in order of arrival, which a setting changes little, so
// that the same stretches of two runs hold nearly the same turns.
NamedSeries samples_of_turns(const std::vector<TurnRecord>& turns);
// Returns the samples of at least two runs: the values of headline and compared metrics.
NamedSeries samples_of_runs(const std::vector<RunResult>& runs);

// Returns the half-width of the 95 % interval of setting - against; NaN where their samples do not pair.
// REQUIRES: both ran the same workload with the same seed.
double paired_half_width(const NamedSeries& against, const NamedSeries& setting, std::string_view metric);

}  // namespace kvcap
