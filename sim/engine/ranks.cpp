// Steps of an Instance that is one of several ranks in lockstep because they share experts. A common step
// begins when all ranks have ended the previous one and lasts as long as on the slowest rank. Ranks without
// work compute one row (vLLM's dummy batch), which passes every layer and belongs to no request. Waiting
// ranks wait inside the exchange, so their GPUs count as busy.
#include <algorithm>

#include "base/check.h"
#include "engine/instance.h"

namespace kvcap {

std::optional<double> Instance::busy_until_s(double now_s) {
  if (!step_.running) return std::nullopt;
  return end_of_step(now_s);
}

Instance::Plan Instance::prepare(double now_s) {
  look_around(now_s);
  return plan_step(now_s);
}

int64_t Instance::rows() const {
  int64_t rows = current_.lost.rows();
  for (const Slice& slice : current_.slices) rows += slice.tokens;
  return std::max<int64_t>(1, rows);
}

double Instance::begin(double now_s, int64_t rows_of_others) {
  step_time_.set_tokens_of_others(rows_of_others);
  begin_step(now_s);
  return step_.work_s;
}

void Instance::wait_for_slowest(double work_s) {
  KVCAP_CHECK(step_.running && step_.steps == 1 && work_s >= step_.work_s);
  step_.gpu_s += work_s - step_.work_s;
  step_.work_s = work_s;
}

// Keeps the plan for the next step.
void Instance::withdraw() {
  if (!current_.empty()) std::swap(current_, following_);
}

double Instance::settle(double now_s) {
  const double next_s = step_.running ? end_of_step(now_s) : idle_until_s(now_s);
  clear_up(now_s);
  return next_s;
}

// Sets the duration of the step of a rank without work.
void Instance::time_empty_step() {
  step_.gpu_s = step_time_.mixed_s({}, 1, 1, 0);
  step_.work_s = step_time_.step_s(step_.gpu_s, host_s(0));
}

}  // namespace kvcap
