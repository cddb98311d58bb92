// Computes the RunFacts of a run, which the summary of a finished run needs in addition to the recorded data.
#pragma once

#include "metrics/recorder.h"
#include "run/setup.h"

namespace kvcap {

// Functions in the result refer to `setup`, which must outlive it.
RunFacts facts_of(const Setup& setup, double duration_s);

}  // namespace kvcap
