// The facts about a finished run that its summary needs beside what was recorded.
#pragma once

#include "metrics/recorder.h"
#include "run/setup.h"

namespace kvcap {

// Functions among the facts refer to `setup`.
RunFacts facts_of(const Setup& setup, double duration_s);

}  // namespace kvcap
