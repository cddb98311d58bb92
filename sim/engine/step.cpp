// Steps of an Instance: how long a plan takes, and what it yields.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "engine/instance.h"

namespace kvcap {

// ---- the next step ----

double Instance::start_step(double now_s) {
  if (plan_step(now_s) != Plan::step) return idle_until_s(now_s);
  begin_step(now_s);
  return end_of_step(now_s);
}

double Instance::idle_until_s(double now_s) const {
  if (gpu_waits_until_s_ > now_s + 1e-9) return std::min(gpu_waits_until_s_, next_event_s());
  return next_event_s();
}

Instance::Plan Instance::plan_step(double now_s) {
  if (gpu_waits_until_s_ > now_s + 1e-9 || blocking_loads_ > 0) return Plan::blocked;
  std::swap(current_, following_);
  following_.clear();
  current_.keep([&](const Slice& slice) { return scheduler_.computes(slice); });
  if (engine_.speculation) current_.settle();
  waits_for_fetch_ = may_be_passed_ = false;
  passed_until_s_ = std::numeric_limits<double>::infinity();
  // If all running requests have been preempted, others may fit.
  do {
    if (current_.empty()) scheduler_.plan(current_);
  } while (current_.empty() && current_.preempted);
  // A load that has just started may block all requests.
  if (blocking_loads_ > 0) {
    withdraw();
    return Plan::blocked;
  }
  return current_.empty() ? Plan::nothing : Plan::step;
}

void Instance::begin_step(double now_s) {
  step_.running = true;
  step_.start_s = now_s;
  step_.progress_s = parts_.restorer->progress_s(now_s);
  time_step();
  if (pushes()) begin_pushes();
}

// Sets the duration of the step, and how many such steps may follow if no event occurs.
void Instance::time_step() {
  step_.steps = step_.most_steps = 1;
  step_.skipped = 0;
  step_.ends_with_step = 0;
  step_.copies = 0;
  if (current_.empty()) return time_empty_step();
  const bool async = serving_.async_scheduling;
  const double host = host_s(current_.slices.size());
  int64_t most = std::numeric_limits<int64_t>::max();
  step_.copies = copies_due(most);
  const double copies_s = static_cast<double>(step_.copies) * kv_buffer_.copy_s;
  if (!current_.decodes_only() || engine_.speculation) {
    step_.gpu_s = mixed_step_s(current_) + copies_s;
    step_.gpu_s += drafter_s();
    step_.work_s = step_time_.step_s(step_.gpu_s, host) + step_time_.draft_step_s();
    if (async) scheduler_.plan(following_);
    return;
  }
  step_.gpu_run = step_time_.decode(current_.decoding, current_.context_tokens, copies_s);
  step_.run = async ? step_.gpu_run.at_least(host) : step_.gpu_run.longer_by(host);
  // This must precede the next plan, which may preempt some of these requests.
  if (parts_.fidelity == Fidelity::layer || engine_.cost->placement().ranks > 1) most = 1;
  for (const Slice& slice : current_.slices) {
    const Request& request = *slice.request;
    if (std::abs(request.last_token_s - step_.start_s) > kResolution_s) most = 1;
    // Other requests may hit generated tokens as soon as they fill a block.
    if (request.named && serving_.cache_generated && !request.text.answer.empty()) most = 1;
    // A save must be issued with the step that fills it: later it would meet other saves in the write queue.
    most = std::min(most, cache_.tokens_before_save(request));
  }
  if (async) scheduler_.plan(following_);
  step_.most_steps = most_steps_alike(most);
  step_.gpu_s = step_.gpu_run.sum_s(1);
  step_.work_s = step_.run.sum_s(1);
}

// Returns how many steps, including the current one, compute one token of each of the same sequences.
int64_t Instance::most_steps_alike(int64_t at_most) {
  if (at_most <= 1 || current_.preempted) return 1;
  const bool async = serving_.async_scheduling;
  if (!async) return 1 + scheduler_.most_steps(current_, false, at_most - 1);
  const bool alike = following_.decodes_only() && following_.decoding == current_.decoding &&
                     !following_.preempted && !following_.admitted;
  if (!alike) return 1;
  int64_t left = at_most;  // steps until the first sequence ends
  for (const Slice& slice : current_.slices) {
    left = std::min(left, slice.request->output_tokens - slice.request->generated);
  }
  if (left < 2) return 1;
  const int64_t repeated = scheduler_.most_steps(current_, true, left - 2);
  if (repeated < left - 2 || left == at_most) return 1 + repeated;
  step_.ends_with_step = left;
  return left;
}

double Instance::mixed_step_s(const StepPlan& plan) {
  chunks_.clear();
  decodes_ = {.sequences = plan.decoding + plan.lost.sequences,
              .context_tokens = plan.context_tokens + plan.lost.context_tokens,
              .drafts = plan.drafts + plan.lost.drafts};
  for (const Slice& slice : plan.slices) {
    if (!slice.decode) step_time_.add_slice(slice.tokens, slice.first, chunks_, decodes_);
  }
  return step_time_.mixed_s(chunks_, decodes_, plan.sampled + plan.drafts + plan.lost.rows());
}

// Returns the GPU seconds of a plan without prompts.
double Instance::decode_step_s(const StepPlan& plan) {
  if (!engine_.speculation) return step_time_.decode(plan.decoding, plan.context_tokens).sum_s(1);
  const double verify_s = step_time_.mixed_s(
      {}, {.sequences = plan.decoding, .context_tokens = plan.context_tokens, .drafts = plan.drafts},
      plan.decoding + plan.drafts);
  decodes_ = {.sequences = plan.decoding, .context_tokens = plan.context_tokens, .drafts = plan.drafts};
  chunks_.clear();
  return verify_s + drafter_s();
}

// ---- drafts ----

// Returns how many tokens a yielding slice yields. Constant from the end of the previous step on.
int64_t Instance::tokens_of(const Slice& slice) const {
  if (slice.drafts == 0) return 1;
  const Request& request = *slice.request;
  return engine_.speculation->tokens(request.arrival.session, request.arrival.turn, request.generated,
                                     slice.drafts);
}

// Returns how many sequences copy their windows in the next step (at most one copy per step each). The number
// is the same in each of the next `for_steps` steps, which this reduces.
int64_t Instance::copies_due(int64_t& for_steps) const {
  const int64_t every = kv_buffer_.copy_every_tokens;
  if (every <= 1) return every * current_.decoding;
  int64_t copies = 0;
  for (const Slice& slice : current_.slices) {
    if (!slice.decode) continue;
    const int64_t before = every - tokens_of(slice) - (slice.first - slice.request->prompt_end) % every;
    if (before <= 0) ++copies;
    for_steps = std::min(for_steps, std::max<int64_t>(before, 1));
  }
  return copies;
}

// ---- the clock ----

// Returns the end of the step as known now. A run of decode steps ends with the step during which an event
// occurs, but not before the step in progress. If restorations may still take GPU time, that step is known
// only when the event occurs.
double Instance::end_of_step(double now_s) {
  const Restorer& restorer = *parts_.restorer;
  double event_s = std::numeric_limits<double>::infinity();
  if (step_.most_steps > 1) {
    event_s = next_event_s();
    step_.steps = step_.most_steps;
    if (!std::isinf(event_s)) {
      const double until_s = restorer.progress_s(std::max(event_s, now_s)) - step_.progress_s;
      step_.steps = std::max(step_.skipped + 1, step_.run.steps_to_reach(until_s - 1e-9, step_.most_steps));
      if (event_s <= now_s + kResolution_s) step_.most_steps = step_.steps;
    }
    step_.work_s = step_.run.sum_s(step_.steps);
    step_.gpu_s = step_.gpu_run.sum_s(step_.steps);
  }
  const double end_s = restorer.when(step_.progress_s + step_.work_s);
  const bool uncertain = event_s > now_s + kResolution_s && event_s < end_s && restorer.may_surprise();
  return uncertain ? event_s : end_s;
}

// ---- runs of steps ----

void Instance::catch_up(double now_s) {
  if (!in_long_run()) return;
  const double done_s = parts_.restorer->progress_s(now_s) - step_.progress_s;
  skip_before(step_.run.steps_to_reach(done_s - 1e-9, step_.most_steps));
}

// Counts the run's steps before `step` (the first is 1).
void Instance::skip_before(int64_t step) {
  const bool ends = step == step_.ends_with_step;
  const int64_t steps = step - (ends ? 2 : 1) - step_.skipped;
  if (steps > 0) {
    std::function<void(int64_t)> begins;
    if (parts_.fleet.evicted) begins = [this](int64_t of_them) { evicting_step_ = step_.skipped + of_them; };
    scheduler_.skip(current_, serving_.async_scheduling ? &following_ : nullptr, steps, begins);
    step_.skipped += steps;
  }
  if (ends && step_.skipped == step - 2) {
    // The last step but one, and the plan made when the last one begins.
    for (const Slice& slice : current_.slices) {
      scheduler_.finish(slice);
      save_progress(*slice.request);
    }
    std::swap(current_, following_);
    evicting_step_ = ++step_.skipped;
    scheduler_.plan(following_);
  }
  evicting_step_.reset();
}

// Returns a callback that reports evictions to the fleet, at the time of the step that takes the blocks.
std::function<void(Key, int64_t)> Instance::report_evictions() {
  if (!parts_.fleet.evicted) return nullptr;
  return [this](Key part, int64_t first_token) {
    const double at_s =
        evicting_step_ ? step_.start_s + step_.run.sum_s(*evicting_step_) : parts_.node->now_s();
    parts_.fleet.evicted(part, first_token, at_s);
  };
}

// ---- finishing ----

void Instance::finish_step(double now_s) {
  step_.running = false;
  record_busy(Resource::gpu, step_.gpu_s, step_.start_s, now_s);
  record_collectives(now_s);
  const auto copies = static_cast<double>(step_.copies * step_.steps);
  if (copies > 0) {
    parts_.recorder->copied(copies * kv_buffer_.copy_bytes, copies * kv_buffer_.copy_s);
  }
  record_gaps(now_s);
  skip_before(step_.steps);
  take_returned();
  finish_slices(now_s);
  current_.clear();
}

void Instance::finish_slices(double now_s) {
  for (const Slice& slice : current_.slices) {
    Request& request = *slice.request;
    const int64_t tokens = tokens_of(slice);
    const int64_t yielded = scheduler_.finish(slice, tokens);
    if (slice.drafts > 0 && yielded > 0) parts_.recorder->drafted(slice.drafts, tokens - 1);
    save_progress(request);
    if (request.handover) request.handover->computed(request.computed);
    if (yielded == 0) continue;
    token(request, now_s, !slice.decode);
    if (!Scheduler::ended(request)) continue;
    if (engine_.speculation) following_.lose(request);
    complete(request, now_s);
  }
}

void Instance::record_collectives(double now_s) {
  if (engine_.cost->tensor_parallel_size() == 1) return;
  int64_t rows = 0;
  for (const Slice& slice : current_.slices) rows += slice.tokens;
  const ModelSpec& model = engine_.cost->model();
  const double bytes = static_cast<double>(rows) * model.hidden_bytes_per_token_layer();
  const double one_step_s =
      2 * static_cast<double>(model.num_hidden_layers) * engine_.cost->all_reduce_s(bytes);
  // Collectives are parts of steps, so they take no longer.
  const double collectives_s = one_step_s * static_cast<double>(step_.steps);
  record_busy(Resource::nvlink, std::min(collectives_s, now_s - step_.start_s), step_.start_s, now_s);
}

// Records the gaps between tokens of decoding requests; token() records those after prompts.
void Instance::record_gaps(double now_s) {
  int64_t steady = 0;
  for (const Slice& slice : current_.slices) {
    const Request& request = *slice.request;
    if (!slice.decode || request.record.warmup) continue;
    if (std::abs(request.last_token_s - step_.start_s) > kResolution_s) {
      parts_.recorder->inter_token(std::max(0.0, now_s - request.last_token_s), 1);
    } else {
      ++steady;
    }
  }
  if (steady == 0) return;
  if (step_.steps == 1) {
    parts_.recorder->inter_token(now_s - step_.start_s, steady);
    return;
  }
  // The computation of restorations delays the last step of the run.
  const double held_up_s = now_s - step_.start_s - step_.work_s;
  const bool smooth = held_up_s < 1e-6;
  int64_t left = smooth ? step_.steps : step_.steps - 1;
  for (const Ramp& ramp : step_.run.ramps()) {
    const int64_t here = std::min(left, ramp.steps);
    if (here > 0) parts_.recorder->inter_token_run(ramp.first_s, ramp.growth_s, here, steady);
    left -= here;
  }
  if (!smooth) {
    const double last_s = step_.work_s - step_.run.sum_s(step_.steps - 1);
    parts_.recorder->inter_token(last_s + held_up_s, steady);
  }
}

// Notes a token of the answer: the first, or with `counts_gap` one after a recomputed prompt.
void Instance::token(Request& request, double now_s, bool counts_gap) {
  if (request.generated == 1) {
    if (parts_.fleet.stored) parts_.fleet.stored(request.text.prompt);
    request.record.ttft_s = now_s - request.record.arrival_s;
    request.record.service_ttft_s = now_s - request.admitted_s;
    if (request.handed_over_s >= 0) {
      request.record.first_step_s = static_cast<float>(now_s - request.handed_over_s);
    }
    if (!parts_.workload->piece_begin.empty()) {
      forecast_.record_next_uses(request.arrival, request.text.prompt, now_s);
      const bool saved_by_step =
          keeping_.save_at == SaveAt::step && engine_.policy->traits().reuse == Reuse::stored;
      if (!saved_by_step) save(cache_.keep(request.text.prompt, request, now_s), request);
    }
  } else if (counts_gap && !request.record.warmup) {
    parts_.recorder->inter_token(now_s - request.last_token_s, 1);
  }
  request.last_token_s = now_s;
}

}  // namespace kvcap
