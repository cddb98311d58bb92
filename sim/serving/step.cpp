// The steps of an Instance: what goes into one, how long it lasts, and what is true after it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "serving/instance.h"

namespace kvcap {

// ---- planning ----

double Instance::start_step(double now_s) {
  if (gpu_waits_until_s_ > now_s + 1e-9) return std::min(gpu_waits_until_s_, next_event_s());
  secure_blocks();
  plan_chunks();
  const auto sequences = static_cast<int64_t>(decoding_.size());
  if (sequences == 0 && step_.chunks.empty()) return next_event_s();

  step_.running = true;
  step_.start_s = now_s;
  step_.progress_s = parts_.restorer->progress_s(now_s);
  step_.steps = step_.most_steps = 1;
  int64_t most = std::numeric_limits<int64_t>::max();
  step_.copies = copies_due(most);
  const double copies_s = static_cast<double>(step_.copies) * kv_buffer_.copy_s;
  if (step_.chunks.empty()) {
    step_.run = step_time_.decode(sequences, decoding_context_tokens_ + sequences, copies_s);
    if (parts_.fidelity == Fidelity::request) {
      for (const Request* request : decoding_) {
        most = std::min(most, request->gap_open ? 1 : request->output_tokens - request->generated);
      }
      step_.most_steps = most_steps_in_memory(most);
    }
    step_.work_s = step_.run.sum_s(1);
  } else {
    step_.work_s = mixed_step_s() + copies_s;
  }
  return end_of_step(now_s);
}

// Of the planned chunks beside all sequences that decode.
double Instance::mixed_step_s() {
  const auto sequences = static_cast<int64_t>(decoding_.size());
  chunks_.clear();
  int64_t sampled = sequences;
  for (const Chunk& chunk : step_.chunks) {
    chunks_.push_back({chunk.tokens, chunk.request->cached_tokens});
    if (chunk.request->cached_tokens + chunk.tokens == chunk.request->prompt_tokens()) ++sampled;
  }
  return step_time_.mixed_s(chunks_, sequences, decoding_context_tokens_ + sequences, sampled);
}

// Sequences that copy their windows in the next step; so many in each of at most `for_steps` steps.
int64_t Instance::copies_due(int64_t& for_steps) const {
  const int64_t every = kv_buffer_.copy_every_tokens;
  if (every <= 1) return every * static_cast<int64_t>(decoding_.size());
  int64_t copies = 0;
  for (const Request* request : decoding_) {
    const int64_t before = every - 1 - (request->cached_tokens - request->decodes_from) % every;
    if (before == 0) ++copies;
    for_steps = std::min(for_steps, std::max<int64_t>(before, 1));
  }
  return copies;
}

void Instance::plan_chunks() {
  step_.chunks.clear();
  int64_t budget = parts_.serving.max_num_batched_tokens - static_cast<int64_t>(decoding_.size());
  for (Request* request : prefilling_) {
    if (budget <= 0) break;
    const int64_t tokens = std::min(budget, request->prompt_tokens() - request->cached_tokens);
    step_.chunks.push_back({request, tokens});
    budget -= tokens;
  }
}

// Of a sequence with so many tokens of its own.
int64_t Instance::blocks_needed(int64_t tokens) const {
  return blocks_.needed(std::max(tokens, static_cast<int64_t>(std::ceil(kv_buffer_.reserved_tokens))));
}

// True iff every decoding sequence can grow by `steps` tokens in the blocks that are free.
bool Instance::blocks_for(int64_t steps) const {
  int64_t needed = 0;
  for (const Request* request : decoding_) {
    needed += blocks_needed(request->resident_tokens() + steps) - request->blocks;
  }
  return needed <= blocks_.free();
}

int64_t Instance::most_steps_in_memory(int64_t at_most) const {
  if (blocks_for(at_most)) return at_most;
  int64_t low = 1;  // secured by secure_blocks
  int64_t high = at_most;
  while (low + 1 < high) {
    const int64_t middle = low + (high - low) / 2;
    (blocks_for(middle) ? low : high) = middle;
  }
  return low;
}

void Instance::secure_blocks() {
  while (!decoding_.empty() && !blocks_for(1)) preempt();
}

// The request admitted last, unless it is being restored, starts over at the head of the queue.
void Instance::preempt() {
  for (std::size_t i = admitted_.size(); i-- > 0;) {
    Request& request = *admitted_[i];
    const auto decoding = std::find(decoding_.begin(), decoding_.end(), &request);
    const auto prefilling = std::find(prefilling_.begin(), prefilling_.end(), &request);
    if (decoding != decoding_.end()) {
      decoding_context_tokens_ -= request.cached_tokens;
      decoding_.erase(decoding);
    } else if (prefilling != prefilling_.end()) {
      prefilling_.erase(prefilling);
    } else {
      continue;
    }
    release(request);
    request.cached_tokens = request.free_tokens = request.unused_tokens = 0;
    unpin(request);
    parts_.recorder->preempted();
    forecast_.comes_back(request.prompt, request.number);
    waiting_.push_front(std::move(admitted_[i]));
    admitted_.erase(admitted_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  KVCAP_BUG("no one can be preempted though someone decodes");
}

// ---- the clock ----

// When the step is over, as far as is known now. A run of decode steps ends with the first step that an event
// falls into, but never before the step in progress. Where restorations may still take of the GPU's time,
// only the event itself tells which step that is.
double Instance::end_of_step(double now_s) {
  const Restorer& restorer = *parts_.restorer;
  double event_s = std::numeric_limits<double>::infinity();
  if (step_.most_steps > 1) {
    event_s = next_event_s();
    step_.steps = step_.most_steps;
    if (!std::isinf(event_s)) {
      const double until_s = restorer.progress_s(std::max(event_s, now_s)) - step_.progress_s;
      step_.steps = step_.run.steps_to_reach(until_s - 1e-9, step_.most_steps);
      if (event_s <= now_s + kResolution_s) step_.most_steps = step_.steps;
    }
    step_.work_s = step_.run.sum_s(step_.steps);
  }
  const double end_s = restorer.when(step_.progress_s + step_.work_s);
  const bool uncertain = event_s > now_s + kResolution_s && event_s < end_s && restorer.may_surprise();
  return uncertain ? event_s : end_s;
}

// ---- finishing ----

void Instance::finish_step(double now_s) {
  step_.running = false;
  record_busy(Resource::gpu, step_.work_s, step_.start_s, now_s);
  record_collectives(now_s);
  const auto copies = static_cast<double>(step_.copies * step_.steps);
  if (copies > 0) {
    parts_.recorder->copied(copies * kv_buffer_.copy_bytes, copies * kv_buffer_.copy_s);
  }
  // Sequences that end their prompts here decode from the next step on.
  decoded_.assign(decoding_.begin(), decoding_.end());
  record_gaps(now_s);
  finish_decoding(now_s);
  finish_chunks(now_s);
}

void Instance::record_collectives(double now_s) {
  if (parts_.cost->tensor_parallel_size() == 1) return;
  auto rows = static_cast<int64_t>(decoding_.size());
  for (const Chunk& chunk : step_.chunks) rows += chunk.tokens;
  const ModelSpec& model = parts_.cost->model();
  const double bytes = static_cast<double>(rows) * model.hidden_bytes_per_token_layer();
  const double one_step_s =
      2 * static_cast<double>(model.num_hidden_layers) * parts_.cost->all_reduce_s(bytes);
  record_busy(Resource::nvlink, one_step_s * static_cast<double>(step_.steps), step_.start_s, now_s);
}

void Instance::record_gaps(double now_s) {
  int64_t steady = 0;
  for (Request* request : decoding_) {
    const bool reopened = request->gap_open;
    request->gap_open = false;
    if (request->record.warmup) continue;
    if (reopened) {
      parts_.recorder->inter_token(std::max(0.0, now_s - request->last_token_s), 1);
    } else {
      ++steady;
    }
  }
  if (steady == 0) return;
  if (step_.steps == 1) {
    parts_.recorder->inter_token(now_s - step_.start_s, steady);
    return;
  }
  // What restorations took lengthens the last step of the run.
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

void Instance::finish_decoding(double now_s) {
  for (Request* request : decoded_) {
    request->generated += step_.steps;
    request->cached_tokens += step_.steps;
    decoding_context_tokens_ += step_.steps;
    request->last_token_s = now_s;
    const int64_t grown = blocks_needed(request->resident_tokens()) - request->blocks;
    if (grown > 0) {
      blocks_.take(grown);
      request->blocks += grown;
    }
  }
  std::erase_if(decoding_,
                [](const Request* request) { return request->generated == request->output_tokens; });
  for (Request* request : decoded_) {
    if (request->generated < request->output_tokens) continue;
    decoding_context_tokens_ -= request->cached_tokens;
    complete(*request, now_s);
  }
}

void Instance::finish_chunks(double now_s) {
  for (const Chunk& chunk : step_.chunks) {
    Request& request = *chunk.request;
    request.cached_tokens += chunk.tokens;
    if (request.cached_tokens < request.prompt_tokens()) continue;
    prefilling_.erase(std::find(prefilling_.begin(), prefilling_.end(), &request));
    first_token(request, now_s);
    if (request.generated == request.output_tokens) {
      complete(request, now_s);
    } else {
      start_decoding(request);
    }
  }
}

// The prompt is computed and yields a token: the turn's first, or after a preemption the next.
void Instance::first_token(Request& request, double now_s) {
  if (request.generated == 0) {
    request.record.ttft_s = now_s - request.arrival.time_s;
    request.record.service_ttft_s = now_s - request.admitted_s;
    if (!parts_.workload->piece_begin.empty()) {
      forecast_.foresee(request.arrival, request.prompt, request.answer, now_s);
      keep(request.prompt, now_s);
    }
  } else if (!request.record.warmup) {
    parts_.recorder->inter_token(now_s - request.last_token_s, 1);
  }
  ++request.generated;
  request.last_token_s = now_s;
}

void Instance::start_decoding(Request& request) {
  request.decodes_from = request.cached_tokens;
  decoding_.push_back(&request);
  decoding_context_tokens_ += request.cached_tokens;
}

}  // namespace kvcap
