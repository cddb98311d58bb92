// The literal engine's requests as a workload of the simulator, and the simulator's step times as the literal
// engine's: what both need to run the same.
#pragma once

#include <span>
#include <string>

#include "engine/speculation/speculation.h"
#include "engine/step_time.h"
#include "reference/literal_engine.h"
#include "workload/workload.h"

namespace kvcap::reference {

// One session with one turn per request, in the order of the requests, which is that of their arrivals. Equal
// keys of pieces are the same whole text, so a text is cut into pieces wherever some prompt leaves it.
Workload to_workload(std::span<const Request> requests);

// The same as a file of `source: sessions` with `arrivals: trace`.
std::string to_sessions_jsonl(std::span<const Request> requests);

// The slices' time on the GPU, and that of drafting. REQUIRES: step_time and speculation outlive it.
GpuTime gpu_time(const StepTime& step_time, const Speculation* speculation = nullptr);

}  // namespace kvcap::reference
