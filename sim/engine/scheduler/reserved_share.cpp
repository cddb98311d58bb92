// Admission::reserve_share: SGLang's PrefillAdder (schedule_policy.py@00550cd, prefill_budget.py@036da26),
// and what its scheduler does besides (scheduler.py@0003215, schedule_batch.py@fd3907e):
//
//   - A prompt is admitted if its tokens, its answer (as far as kMostReservedTokens) and one block are fewer
//     than the free tokens that are not reserved: for prompts of the same step as much, and for each running
//     request a share of the rest of its answer. Prompts are charged in whole blocks.
//   - The share falls with every decode step to kLeastOfShare of its first value, in kStepsOfFall steps. A
//     retraction sets it to the share of the running requests' answers that will be generated after
//     kStepsAfterPreemption more steps; an idle engine has the first value again.
//   - After a request did not fit, none is admitted until one has ended or was retracted. An ended request
//     keeps its slot until a step decodes.
//   - If decodes lack blocks, the request with the fewest generated tokens is retracted, of equal ones that
//     with the longest prompt. It goes to the end of the queue, and the blocks of its answer have no names.
//
// For models whose layer groups differ (windows, recurrent layers), a request is admitted if its prompt and the
// share of its answer fit into free blocks, and blocks of answers get their names while they decode.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/check.h"
#include "engine/scheduler/scheduler.h"

namespace kvcap {
namespace {

constexpr int64_t kMostReservedTokens = 4096;
constexpr double kLeastOfShare = 0.14;
constexpr double kStepsOfFall = 600;
constexpr int64_t kStepsAfterPreemption = 20;

int64_t rest_of_answer(const Request& request) {
  return std::min(request.output_tokens - request.generated, kMostReservedTokens);
}

}  // namespace

int64_t Scheduler::whole_blocks(int64_t tokens) const {
  const int64_t block = pool_.unit_tokens();
  return (tokens + block - 1) / block * block;
}

// Before a plan. SGLang resets batch_is_full when a batch loses a request: the prefill batch its cut prompt,
// the running batch (end_pass()) those that have ended. Passes without a batch take no time.
void Scheduler::begin_pass() {
  ended_wait_ = false;
  if (cut_a_prompt_) is_full_ = false;
  if (running_.empty() && (is_full_ || ended_ >= serving_.max_num_seqs)) {
    is_full_ = false;
    ended_ = 0;
  }
  count_reserves();
}

// Counts free tokens, and what requests reserve of them before any prompt is admitted.
void Scheduler::count_reserves() {
  open_tokens_ = pool_.free() * pool_.unit_tokens();
  offset_tokens_ = 0;
  double answers = 0;
  for (const RequestPtr& request : running_) {
    if (request->planned < request->prompt_end) continue;
    answers += static_cast<double>(rest_of_answer(*request)) * output_share_;
    if (serving_.schedule == StepOrder::mixed) ++offset_tokens_;
  }
  if (serving_.schedule == StepOrder::mixed) offset_tokens_ += static_cast<double>(ended_);
  offset_tokens_ += answers;
  for (const RequestPtr& request : loading_) {
    offset_tokens_ += static_cast<double>(reserve_of_restored(*request));
  }
  if (restored_waiting_ == 0) return;
  for (const RequestPtr& request : waiting_) {
    if (request->restored) offset_tokens_ += static_cast<double>(reserve_of_restored(*request));
  }
}

// After a plan. A step that decodes drops ended requests; without prompts, it also ends the wait for them.
void Scheduler::end_pass(const StepPlan& step) {
  const bool has_prompts = !step.decodes_only();
  cut_a_prompt_ = std::any_of(step.slices.begin(), step.slices.end(),
                              [](const Slice& slice) { return !slice.decode && !slice.yields; });
  had_prompts_ = has_prompts;
  if (has_prompts && serving_.schedule == StepOrder::prefill_first) return;
  const bool shrank = step.preempted || ended_ > 0;
  ended_ = 0;
  if (has_prompts) return;
  if (shrank) {
    ended_wait_ = is_full_;
    is_full_ = false;
  }
  if (!step.preempted && !step.empty()) note_decodes(1);
}

// Returns the tokens that a request with a restored context still needs, beyond its blocks.
int64_t Scheduler::reserve_of_restored(const Request& request) const {
  const int64_t prompt = in_blocks(request, with_lookahead(request.known_tokens()));
  return std::max<int64_t>(0, prompt - pool_.tokens(request.holding)) + rest_of_answer(request) +
         pool_.unit_tokens();
}

// PrefillAdder.add_one_req: true iff what the request needs is unreserved.
bool Scheduler::has_reserve(const Request& request, const Found& found) const {
  const int64_t prompt = in_blocks(request, with_lookahead(request.known_tokens()));
  const int64_t blocks = pool_.owed_blocks(request.holding, found.gpu.tokens, prompt);
  if (blocks > pool_.free() - found.gpu.unheld) return false;
  if (admitted() == 0) return true;  // SGLang would wait forever
  double unreserved = unreserved_tokens() - static_cast<double>(found.gpu.unheld * pool_.unit_tokens());
  int64_t needed = prompt - found.gpu.tokens + rest_of_answer(request) + pool_.unit_tokens();
  if (request.restored) {
    needed = reserve_of_restored(request);
    unreserved += static_cast<double>(needed);
  }
  return static_cast<double>(needed) < unreserved;
}

// Reserves what the slice needs: a cut prompt reserves no answer. Prompts take whole blocks of the budget.
void Scheduler::charge(const Slice& slice, int64_t& budget) {
  if (!reserves_share() || slice.decode) {
    budget -= slice.tokens;
    return;
  }
  const int64_t prompt = whole_blocks(slice.tokens);
  const int64_t answer = slice.yields ? std::min(slice.request->output_tokens, kMostReservedTokens) : 0;
  offset_tokens_ += static_cast<double>(prompt + pool_.unit_tokens() + answer);
  budget -= prompt;
}

// ---- the share of answers ----

void Scheduler::note_decodes(int64_t steps) {
  if (!reserves_share()) return;
  const double first = serving_.reserved_output_share, least = kLeastOfShare * first;
  for (; steps > 0 && output_share_ > least; --steps) {
    output_share_ = std::max(least, output_share_ - (first - least) / kStepsOfFall);
  }
}

void Scheduler::note_preemption() {
  int64_t generated = 0, answers = 0;
  for (const RequestPtr& request : running_) {
    generated += request->generated + kStepsAfterPreemption;
    answers += request->output_tokens;
  }
  output_share_ = std::min(1.0, static_cast<double>(generated) / static_cast<double>(answers + 1));
}

// Notes that a request leaves. One that ends with its prompt's step was not yet among those that decode.
void Scheduler::note_end(const Request& request) {
  if (request.phase == RequestPhase::running) {
    const bool with_prompt = request.known_tokens() <= request.prompt_end + 1;
    if (with_prompt || (had_prompts_ && serving_.schedule == StepOrder::mixed)) {
      is_full_ = false;
    } else {
      ++ended_;
    }
  }
  if (requests() > 1) return;
  output_share_ = serving_.reserved_output_share;
  is_full_ = false;
  ended_ = 0;
}

// Returns the KV tokens that a request has with what admission reserves for it: under reserve_output, and under
// reserve_share for models whose layer groups differ.
int64_t Scheduler::reserved_tokens(const Request& request) const {
  const int64_t all = request.prompt_tokens() + request.output_tokens;
  if (serving_.admission == Admission::reserve_output) return most_slots(all);
  const double share = request.phase == RequestPhase::waiting && !request.restored ? 1 : output_share_;
  const auto reserved = static_cast<int64_t>(std::ceil(share * static_cast<double>(rest_of_answer(request))));
  return std::min(with_lookahead(request.known_tokens() + reserved), most_slots(all));
}

std::size_t Scheduler::shortest_answer() const {
  const auto rank = [](const Request& request) {
    return std::tuple(request.planned >= request.prompt_end, -request.generated, request.prompt_tokens());
  };
  std::size_t place = 0;
  for (std::size_t i = 1; i < running_.size(); ++i) {
    if (rank(*running_[i]) >= rank(*running_[place])) place = i;
  }
  return place;
}

}  // namespace kvcap
