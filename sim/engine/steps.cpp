#include "engine/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace kvcap {

Steps::Steps(const InstanceParts& parts, Scheduler& scheduler, const ContextCache& cache, StepCallbacks on)
    : parts_(parts),
      engine_(*parts.engine),
      serving_(*engine_.serving),
      step_time_(*engine_.step_time),
      kv_buffer_(engine_.policy->traits().kv_buffer),
      scheduler_(scheduler),
      cache_(cache),
      on_(std::move(on)),
      pipeline_(*engine_.cost, serving_.pipeline_parallel_size) {}

// ---- the next step ----

bool Steps::plan() {
  std::swap(current_, following_);
  following_.clear();
  current_.keep([&](const Slice& slice) { return scheduler_.computes(slice); });
  if (engine_.speculation) current_.settle();
  const bool waited_for_loads = engine_.keeping->load == LoadMode::blocking && !current_.empty();
  if (waited_for_loads && !throttles(step_number_)) scheduler_.add_restored(current_);
  // If all running requests have been preempted, others may fit.
  do {
    if (current_.empty()) scheduler_.plan(current_, throttles(step_number_));
    if (current_.preempted) drop_preempted();
  } while (current_.empty() && current_.preempted);
  if (current_.empty() && throttles(step_number_)) scheduler_.plan(current_);  // nothing decodes after all
  return !current_.empty();
}

void Steps::withdraw() {
  if (!current_.empty()) std::swap(current_, following_);
}

void Steps::begin(double now_s) {
  step_.running = true;
  step_.start_s = now_s;
  step_.progress_s = parts_.restorer->progress_s(now_s);
  ++step_number_;
  time_step();
}

// Ranks in lockstep begin their steps together, so their step numbers agree.
bool Steps::throttles(int64_t number) const {
  return engine_.cost->placement().ranks > 1 && number % serving_.prefill_schedule_interval != 0;
}

// True iff a later step may compute prompts that this one had to defer.
bool Steps::defers_prompts() const {
  return engine_.cost->placement().ranks > 1 && serving_.prefill_schedule_interval > 1 &&
         scheduler_.waiting().size() + scheduler_.running().size() > current_.slices.size();
}

// Sets the duration of the step, and how many such steps may follow if no event occurs.
void Steps::time_step() {
  step_.steps = step_.most_steps = 1;
  step_.skipped = 0;
  step_.ends_with_step = 0;
  step_.copies = 0;
  step_.own_run.reset();
  const double host = step_time_.host_s(current_.slices.size(), scheduler_.waiting().size());
  if (current_.empty()) return time_empty_step(host);
  if (pipeline_.stages() > 1) return time_stage(host);
  int64_t most = std::numeric_limits<int64_t>::max();
  step_.copies = copies_due(most);
  const double copies_s = static_cast<double>(step_.copies) * kv_buffer_.copy_s;
  if (current_.decodes_only() && !engine_.speculation) return time_run(host, copies_s, most);
  step_.gpu_s = mixed_step_s(current_) + copies_s;
  step_.gpu_s += drafter_s();
  step_.work_s = step_time_.step_s(step_.gpu_s, host) + step_time_.draft_step_s();
  if (plans_ahead()) scheduler_.plan(following_, throttles(step_number_));
}

// Times the step of a rank without work, which all steps of the other ranks are like.
void Steps::time_empty_step(double host_s) {
  step_.gpu_s = step_time_.mixed_s({}, 1, 1, 0);
  step_.work_s = step_time_.step_s(step_.gpu_s, host_s);
  step_.gpu_run = DecodeRun::steady(step_.gpu_s);
  step_.run = DecodeRun::steady(step_.work_s);
  const bool is_single = parts_.fidelity == Fidelity::layer || pipeline_.stages() > 1 || defers_prompts();
  if (!is_single) step_.most_steps = on_.most_steps();
}

// Times the step in the first stage.
void Steps::time_stage(double host_s) {
  step_.gpu_s = pipeline_.first_s(mixed_step_s(current_) - engine_.cost->head_s(current_.sampled));
  step_.work_s = step_time_.step_s(step_.gpu_s, host_s);
}

// Times a run of at most `most` equal decode steps.
void Steps::time_run(double host_s, double copies_s, int64_t most) {
  const bool async = plans_ahead();
  step_.gpu_run = step_time_.decode(current_.decoding, current_.context_tokens, copies_s);
  step_.run = async ? step_.gpu_run.at_least(host_s) : step_.gpu_run.longer_by(host_s);
  // This must precede the next plan, which may preempt some of these requests.
  if (parts_.fidelity == Fidelity::layer || defers_prompts()) most = 1;
  for (const Slice& slice : current_.slices) {
    const Request& request = *slice.request;
    if (std::abs(request.last_token_s - step_.start_s) > kTimeResolution_s) most = 1;
    // Other requests may hit generated tokens as soon as they fill a block.
    if (request.named && serving_.cache_generated && !request.text.answer.empty()) most = 1;
    // A save must be issued with the step that completes its tokens: if it were issued later, other saves
    // might be in the write queue by then.
    most = std::min(most, cache_.tokens_before_save(request));
  }
  if (async) scheduler_.plan(following_, throttles(step_number_));
  step_.most_steps = most_steps_alike(std::min(most, on_.most_steps()));
  step_.gpu_s = step_.gpu_run.sum_s(1);
  step_.work_s = step_.run.sum_s(1);
}

// Returns how many steps, including the current one, compute one token for each of the same sequences.
int64_t Steps::most_steps_alike(int64_t at_most) {
  if (at_most <= 1 || current_.preempted) return 1;
  const bool async = plans_ahead();
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

double Steps::mixed_step_s(const StepPlan& plan) {
  chunks_.clear();
  decodes_ = {.sequences = plan.decoding + plan.lost.sequences,
              .context_tokens = plan.context_tokens + plan.lost.context_tokens,
              .drafts = plan.drafts + plan.lost.drafts};
  for (const Slice& slice : plan.slices) {
    if (!slice.decode) step_time_.add_slice(slice.tokens, slice.first, chunks_, decodes_);
  }
  return step_time_.mixed_s(chunks_, decodes_, plan.sampled + plan.drafts + plan.lost.rows());
}

double Steps::decode_step_s(const StepPlan& plan) {
  if (!engine_.speculation) return step_time_.decode(plan.decoding, plan.context_tokens).sum_s(1);
  const double verify_s = step_time_.mixed_s(
      {}, {.sequences = plan.decoding, .context_tokens = plan.context_tokens, .drafts = plan.drafts},
      plan.decoding + plan.drafts);
  decodes_ = {.sequences = plan.decoding, .context_tokens = plan.context_tokens, .drafts = plan.drafts};
  chunks_.clear();
  return verify_s + drafter_s();
}

// ---- drafts ----

// Returns how many tokens a yielding slice yields. The number is fixed once the previous step has ended.
int64_t Steps::tokens_of(const Slice& slice) const {
  if (slice.drafts == 0) return 1;
  const Request& request = *slice.request;
  return engine_.speculation->tokens(request.arrival.session, request.arrival.turn, request.generated,
                                     slice.drafts);
}

// Returns how many sequences copy their windows in the next step (at most one copy per step each). Reduces
// `for_steps` to the number of steps, from this one on, that copy as many.
int64_t Steps::copies_due(int64_t& for_steps) const {
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

// A run of decode steps ends with the step during which an event occurs, but not before the step in progress.
// If restorations may still take GPU time, that step is known only when the event occurs.
double Steps::end_s(double now_s, double event_s) {
  const Restorer& restorer = *parts_.restorer;
  if (step_.most_steps == 1) return restorer.when(step_.progress_s + step_.work_s);
  step_.steps = step_.most_steps;
  if (!std::isinf(event_s)) {
    const double until_s = restorer.progress_s(std::max(event_s, now_s)) - step_.progress_s;
    step_.steps = std::max(step_.skipped + 1, step_.run.steps_to_reach(until_s - 1e-9, step_.most_steps));
    if (event_s <= now_s + kTimeResolution_s) step_.most_steps = step_.steps;
  }
  set_steps(step_.steps);
  const double end_s = restorer.when(step_.progress_s + step_.work_s);
  const bool uncertain = event_s > now_s + kTimeResolution_s && event_s < end_s && restorer.may_surprise();
  return uncertain ? event_s : end_s;
}

void Steps::wake() const {
  if (!step_.running || in_long_run()) parts_.wake();
}

double Steps::first_layer_end_s() const {
  return step_.start_s + step_.work_s / static_cast<double>(engine_.cost->model().num_hidden_layers);
}

// ---- stages ----

void Steps::pass_on(double now_s) {
  const double head_s = engine_.cost->head_s(current_.sampled);
  const double layers_s = mixed_step_s(current_) - head_s;
  Batch batch{.plan = std::move(current_), .start_s = step_.start_s};
  batch.gpu_s = (layers_s + head_s) / static_cast<double>(pipeline_.stages());
  int64_t rows = 0;
  for (const Slice& slice : batch.plan.slices) rows += slice.tokens;
  batch.end_s = pipeline_.pass(now_s, layers_s, head_s, rows);
  batches_.push_back(std::move(batch));
  current_.clear();
}

// Drops the slices of preempted requests whose ends have no effect.
void Steps::drop_preempted() {
  for (Batch& batch : batches_) {
    batch.plan.keep([&](const Slice& slice) { return slice.yields || scheduler_.computes(slice); });
  }
}

double Steps::next_landing_s() const {
  return batches_.empty() ? std::numeric_limits<double>::infinity() : batches_.front().end_s;
}

int64_t Steps::land(double now_s) {
  int64_t landed = 0;
  for (; next_landing_s() <= now_s + kTimeResolution_s; ++landed) {
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    parts_.recorder->busy(Resource::gpu, batch.gpu_s, batch.start_s, now_s, parts_.number);
    record_gaps(batch);
    end_slices(batch.plan, now_s);
  }
  return landed;
}

// ---- ranks in lockstep ----

int64_t Steps::rows() const {
  int64_t rows = current_.lost.rows();
  for (const Slice& slice : current_.slices) rows += slice.tokens;
  return std::max<int64_t>(1, rows);
}

// A single step that is not one of decodes has no run.
DecodeRun Steps::durations() const {
  return step_.most_steps > 1 ? step_.run : DecodeRun::steady(step_.work_s);
}

void Steps::wait_for_slowest(const DecodeRun& slowest, int64_t most_steps) {
  KVCAP_CHECK(step_.running && step_.steps == 1 && most_steps <= step_.most_steps);
  if (most_steps == 1) {
    const double work_s = slowest.sum_s(1);
    step_.gpu_s += work_s - step_.work_s;
    step_.work_s = work_s;
  } else {
    step_.own_run = std::exchange(step_.run, slowest);
    set_steps(most_steps);
  }
  step_.most_steps = most_steps;
}

void Steps::keep_pace(const Steps& other) {
  step_.most_steps = other.step_.most_steps;
  set_steps(other.step_.steps);
}

// ---- runs of steps ----

// Sets how many steps the run has, and so how long it takes.
void Steps::set_steps(int64_t steps) {
  step_.steps = steps;
  step_.work_s = step_.run.sum_s(steps);
  step_.gpu_s = step_.gpu_run.sum_s(steps);
  if (step_.own_run) step_.gpu_s += step_.work_s - step_.own_run->sum_s(steps);
}

void Steps::catch_up(double now_s) {
  if (!in_long_run()) return;
  const double done_s = parts_.restorer->progress_s(now_s) - step_.progress_s;
  skip_before(step_.run.steps_to_reach(done_s - 1e-9, step_.most_steps));
}

// Restorations that compute delay the steps, so none of them ends earlier than without.
double Steps::quiet_until_s() const {
  if (!in_long_run()) return std::numeric_limits<double>::infinity();
  int64_t quiet = step_.most_steps;
  if (step_.ends_with_step > 0) quiet = step_.ends_with_step - 1;
  for (const Slice& slice : current_.slices) {
    quiet = std::min(quiet, step_.skipped + 1 + scheduler_.steps_before_blocks(*slice.request));
  }
  return step_.start_s + step_.run.sum_s(quiet);
}

// Counts the run's steps before `step` (the first is 1).
void Steps::skip_before(int64_t step) {
  const bool ends = step == step_.ends_with_step;
  const int64_t steps = step - (ends ? 2 : 1) - step_.skipped;
  if (steps > 0) {
    std::function<void(int64_t)> begins;
    if (parts_.fleet.evicted || cache_.pool().has_durations())
      begins = [this](int64_t of_them) { evicting_step_ = step_.skipped + of_them; };
    if (!current_.empty()) scheduler_.skip(current_, plans_ahead() ? &following_ : nullptr, steps, begins);
    step_.skipped += steps;
  }
  if (ends && step_.skipped == step - 2) {
    // Ends the last step but one and makes the plan that is due when the last step begins.
    for (const Slice& slice : current_.slices) {
      scheduler_.finish(slice);
      if (on_.computed) on_.computed(*slice.request);
    }
    std::swap(current_, following_);
    evicting_step_ = ++step_.skipped;
    scheduler_.plan(following_, throttles(step_number_ + step_.skipped));
  }
  evicting_step_.reset();
}

bool Steps::computes(const Request& request) const {
  const auto is_in = [&request](const StepPlan& plan) {
    return std::any_of(plan.slices.begin(), plan.slices.end(),
                       [&](const Slice& slice) { return slice.request == &request; });
  };
  return is_in(current_) || is_in(following_) ||
         std::any_of(batches_.begin(), batches_.end(), [&](const Batch& batch) { return is_in(batch.plan); });
}

double Steps::eviction_s() const {
  return evicting_step_ ? step_.start_s + step_.run.sum_s(*evicting_step_) : parts_.node->now_s();
}

// ---- finishing ----

int64_t Steps::end(double now_s) {
  step_.running = false;
  record_collectives(now_s);
  if (pipeline_.stages() > 1) {
    pass_on(now_s);
    return 0;
  }
  record_busy(Resource::gpu, step_.gpu_s, now_s);
  const auto copies = static_cast<double>(step_.copies * step_.steps);
  if (copies > 0) {
    parts_.recorder->copied(copies * kv_buffer_.copy_bytes, copies * kv_buffer_.copy_s);
  }
  record_gaps(now_s);
  skip_before(step_.steps);
  step_number_ += step_.steps - 1;
  return step_.steps;
}

void Steps::end_slices(double now_s) { end_slices(current_, now_s); }

void Steps::end_slices(StepPlan& plan, double now_s) {
  for (const Slice& slice : plan.slices) {
    Request& request = *slice.request;
    const int64_t tokens = tokens_of(slice);
    const int64_t yielded = scheduler_.finish(slice, tokens);
    if (slice.drafts > 0 && yielded > 0) parts_.recorder->drafted(slice.drafts, tokens - 1);
    if (on_.computed) on_.computed(request);
    if (yielded == 0) continue;
    if (engine_.speculation && Scheduler::ended(request)) following_.lose(request);
    on_.yielded(request, now_s, !slice.decode);
  }
  plan.clear();
}

void Steps::fail(double now_s) const {
  for (const Batch& batch : batches_) {
    const double share = (now_s - batch.start_s) / (batch.end_s - batch.start_s);
    parts_.recorder->busy(Resource::gpu, share * batch.gpu_s, batch.start_s, now_s, parts_.number);
  }
  if (!step_.running) return;
  const double done_s = parts_.restorer->progress_s(now_s) - step_.progress_s;
  record_busy(Resource::gpu, std::clamp(done_s, 0.0, step_.gpu_s), now_s);
}

// ---- records ----

void Steps::record_busy(Resource which, double busy_s, double to_s) const {
  parts_.recorder->busy(which, busy_s, step_.start_s, to_s, parts_.number);
}

void Steps::record_collectives(double now_s) const {
  if (engine_.cost->tensor_parallel_size() == 1) return;
  int64_t rows = 0;
  for (const Slice& slice : current_.slices) rows += slice.tokens;
  const ModelSpec& model = engine_.cost->model();
  const double bytes = static_cast<double>(rows) * model.hidden_bytes_per_token_layer();
  const double one_step_s = 2 * static_cast<double>(model.num_hidden_layers) *
                            engine_.cost->all_reduce_s(bytes) / static_cast<double>(pipeline_.stages());
  // Collectives are parts of steps, so they take no longer than the steps.
  const double collectives_s = one_step_s * static_cast<double>(step_.steps);
  record_busy(Resource::nvlink, std::min(collectives_s, now_s - step_.start_s), now_s);
}

void Steps::record_gaps(const Batch& batch) const {
  for (const Slice& slice : batch.plan.slices) {
    const Request& request = *slice.request;
    if (request.record.warmup || !slice.decode) continue;
    parts_.recorder->inter_token(std::max(0.0, batch.end_s - request.last_token_s), 1);
  }
}

// Records the gaps between tokens of decoding requests. Instance::token() records those after prompt slices.
void Steps::record_gaps(double now_s) const {
  int64_t steady = 0;
  for (const Slice& slice : current_.slices) {
    const Request& request = *slice.request;
    if (!slice.decode || request.record.warmup) continue;
    if (std::abs(request.last_token_s - step_.start_s) > kTimeResolution_s) {
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

}  // namespace kvcap
