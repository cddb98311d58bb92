#include "engine/scheduler/scheduler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/check.h"

namespace kvcap {
namespace {

template <class List>
RequestPtr take_from(List& list, const Request& request) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const RequestPtr& one) { return one.get() == &request; });
  KVCAP_CHECK(found != list.end());
  RequestPtr taken = std::move(*found);
  list.erase(found);
  return taken;
}

}  // namespace

Scheduler::Scheduler(const ServingOptions& serving, const SequenceTokens& tokens, KvPool& pool,
                     Admitter& admitter)
    : serving_(serving),
      tokens_(tokens),
      pool_(pool),
      admitter_(admitter),
      output_share_(serving.reserved_output_share) {}

void Scheduler::add(RequestPtr request) {
  if (has_priorities()) return insert_in_order(std::move(request));
  waiting_.push_back(std::move(request));
}

// REQUIRES: has_priorities().
void Scheduler::insert_in_order(RequestPtr request) {
  const auto behind =
      std::upper_bound(waiting_.begin(), waiting_.end(), request->number,
                       [](Order number, const RequestPtr& one) { return number < one->number; });
  waiting_.insert(behind, std::move(request));
}

int64_t Scheduler::blocks_needed(int64_t tokens) const {
  return pool_.most_blocks(std::max({tokens, tokens_.least_tokens, int64_t{0}}));
}

int64_t Scheduler::with_lookahead(int64_t tokens) const {
  return std::min(tokens + tokens_.lookahead_tokens, std::max(tokens, tokens_.max_model_len));
}

// The last token is never computed. But drafts after it may be, and also the drafts of one more step if that
// step is planned before the end is known.
int64_t Scheduler::most_slots(int64_t tokens) const {
  if (tokens_.draft_tokens == 0) return tokens - 1;
  const int64_t drafts = (serving_.async_scheduling ? 2 : 1) * tokens_.draft_tokens;
  return std::min(tokens - 1 + drafts + tokens_.lookahead_tokens, std::max(tokens, tokens_.max_model_len));
}

// Returns the number of planned tokens in blocks, not counting drafts: if drafts are rejected, the tokens
// before them are needed again.
int64_t Scheduler::in_pool(const Request& request) {
  return std::max<int64_t>(0, request.planned - request.drafts_ahead - request.free_tokens);
}

// Returns how many of the first `tokens` tokens of the sequence need blocks.
int64_t Scheduler::in_blocks(const Request& request, int64_t tokens) const {
  return std::max({tokens - request.free_tokens, tokens_.least_tokens, int64_t{0}});
}

// Returns how many tokens after `planned` a step with `budget` tokens left computes; 0 if the slice cannot
// reach the next block end at which it must stop.
int64_t Scheduler::slice_tokens(const Request& request, int64_t planned, int64_t budget) const {
  const int64_t known = request.known_tokens() + request.ahead;
  const int64_t not_in_blocks = request.free_tokens;
  return pool_.cut_slice(planned - not_in_blocks, known - not_in_blocks,
                         std::min(known - planned, serving_.slice_budget(budget)));
}

// Returns the tokens of a prompt's first slice. SGLang cuts it at the end of a block.
int64_t Scheduler::first_slice(const Request& request, int64_t there, int64_t budget) const {
  const bool is_cut = reserves_share() && whole_blocks(request.known_tokens() - there) > budget;
  if (is_cut && serving_.chunked_prefill) budget -= budget % pool_.unit_tokens();
  return slice_tokens(request, there, budget);
}

// Returns how many drafts follow the one token that the request decodes.
int64_t Scheduler::draft_tokens(const Request& request, int64_t budget) const {
  if (tokens_.draft_tokens == 0) return 0;
  // No sequence grows beyond max_model_len, and its last token is not computed.
  const int64_t in_sequence = tokens_.max_model_len - 1 - (request.planned + 1);
  const int64_t drafted = request.drafted < 0 ? tokens_.draft_tokens : request.drafted;
  return std::max<int64_t>(0, std::min({drafted, serving_.slice_budget(budget) - 1, in_sequence}));
}

// Sets the number of drafts of each request that gets a token from the step. The step prepares the drafts;
// the requests' next slices verify them.
void Scheduler::prepare_drafts(const StepPlan& step) const {
  if (!tokens_.drafts_of_batch || step.empty()) return;
  const int64_t drafted = tokens_.drafts_of_batch(std::ssize(step.slices));
  for (const Slice& slice : step.slices) {
    if (slice.yields) slice.request->drafted = drafted;
  }
}

// ---- planning ----

void Scheduler::plan(StepPlan& step, bool throttles) {
  step.clear();
  lacks_blocks_ = false;
  pool_.expire();
  if (reserves_share()) begin_pass();
  int64_t budget = serving_.max_num_batched_tokens;
  const bool mixes = serving_.schedule == StepOrder::mixed;
  if (reserves_share() && mixes) budget -= ended_;
  const bool defers = throttles && !left_waiting_ && decodes_something();
  plan_running(step, budget, mixes, !defers);
  if (!step.preempted && !defers) {
    plan_waiting(step, budget);
    left_waiting_ = !waiting_.empty();
  }
  if (!mixes && step.empty()) plan_running(step, budget, true, false);
  if (reserves_share()) end_pass(step);
  prepare_drafts(step);
}

void Scheduler::add_restored(StepPlan& step) {
  if (restored_waiting_ == 0 || step.preempted) return;
  if (serving_.schedule == StepOrder::prefill_first && step.decoding > 0) return;
  int64_t budget = serving_.max_num_batched_tokens;
  for (const Slice& slice : step.slices) budget -= slice.tokens;
  if (reserves_share()) count_reserves();
  plan_waiting(step, budget, true);
  prepare_drafts(step);
}

bool Scheduler::decodes_something() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const RequestPtr& one) { return one->planned >= one->prompt_end; });
}

bool Scheduler::is_decode(const Request& request, int64_t tokens) {
  return tokens == 1 && request.planned >= request.prompt_end;
}

void Scheduler::add_slice(StepPlan& step, Request& request, int64_t tokens, int64_t drafts) {
  // Written in place: copying a record of small fields that were just written stalls the processor.
  Slice& slice = step.slices.emplace_back();
  slice.request = &request;
  slice.tokens = tokens + drafts;
  slice.first = request.planned;
  slice.drafts = drafts;
  slice.decode = is_decode(request, tokens);
  request.planned += tokens;
  slice.yields = request.planned == request.known_tokens() + request.ahead &&
                 request.generated + request.ahead - request.drafts_ahead < request.output_tokens;
  request.planned += drafts;
  if (slice.decode) {
    ++step.decoding;
    step.context_tokens += request.planned;
    step.drafts += drafts;
  }
  if (slice.yields) {
    request.ahead += 1 + drafts;
    request.drafts_ahead += drafts;
    ++step.sampled;
  }
}

// Plans the running requests: with `decodes`, those that decode; with `prompts`, those whose prompts are not
// completely computed.
void Scheduler::plan_running(StepPlan& step, int64_t& budget, bool decodes, bool prompts) {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Request& request = *running_[i];
    if (request.given_up || (serving_.pipeline_parallel_size > 1 && request.ahead > 0)) continue;
    const int64_t left = request.known_tokens() + request.ahead - request.planned;
    const int64_t tokens = slice_tokens(request, request.planned, budget);
    // Number of answer tokens that are certain after the planned steps, even if all drafts of the previous
    // step are rejected.
    const int64_t sure = request.generated + request.ahead - request.drafts_ahead;
    if (tokens <= 0 || sure >= request.output_tokens) continue;
    // If the previous step's drafts are accepted, the sequence may become too long: the request waits for
    // that step to end.
    if (request.drafts_ahead > 0 && request.planned + tokens >= tokens_.max_model_len) continue;
    const bool is_decoding = is_decode(request, left);
    if (!(is_decoding ? decodes : prompts)) continue;
    const int64_t drafts = is_decoding ? draft_tokens(request, budget) : 0;
    if (!make_room(step, budget, i, request.planned + tokens + drafts)) {
      if (!reserves_share()) return;
      --i;  // those after it go on
      continue;
    }
    add_slice(step, request, tokens, drafts);
    charge(step.slices.back(), budget);
  }
}

// Takes blocks for the first `tokens` tokens of the running request at `place`, and preempts others until
// they are free. `place` follows the request. Returns false if the request has been preempted itself.
bool Scheduler::make_room(StepPlan& step, int64_t& budget, std::size_t& place, int64_t tokens) {
  while (!grow(*running_[place], tokens)) {
    const std::size_t preempted = victim();
    preempt(preempted, step, budget);
    if (preempted == place) return false;
    if (preempted < place) --place;
  }
  return true;
}

void Scheduler::plan_waiting(StepPlan& step, int64_t& budget, bool only_restored) {
  bool blocked = only_restored || is_full_;
  bool tries = budget > 0 || reserves_share();  // SGLang asks for the first one's room before its budget
  std::size_t place = 0;
  while (place < waiting_.size() && tries && slot_is_free()) {
    // A restored request already holds blocks and may pass requests that hold none.
    if (blocked && restored_waiting_ == 0) break;
    if ((blocked && !waiting_[place]->restored) || !admit(place, step, budget, blocked)) ++place;
    tries = budget > 0;
  }
  const bool lacks_slots = place < waiting_.size() && tries && !slot_is_free();
  if (reserves_share() && !only_restored && (lacks_blocks_ || lacks_slots)) is_full_ = true;
}

// Admits the request if possible. Returns true iff it has left the queue.
bool Scheduler::admit(std::size_t place, StepPlan& step, int64_t& budget, bool& blocked) {
  Request& request = *waiting_[place];
  if (request.orphans > 0) {  // pipeline parallelism: its last token is still being computed
    blocked = true;
    return false;
  }
  const bool is_first = step.decodes_only();
  const auto fit = [&](const Found& found) { return fits(request, found, budget, is_first); };
  Admitted admitted;
  if (!request.restored) {
    admitted = admitter_.admit(request, std::ref(fit));
  } else if (fit({})) {
    admitted.outcome = Outcome::runs;
    --restored_waiting_;
  }
  if (admitted.outcome == Outcome::waits) blocked = true;
  if (admitted.outcome >= Outcome::passes) return false;
  RequestPtr owned = std::move(waiting_[place]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  step.admitted = true;
  const int64_t free = pool_.free();
  if (!request.restored) {
    pool_.hold(request.chain, admitted.held_tokens, request.holding);
    request.planned = request.computed = admitted.tokens;
  }
  if (admitted.outcome != Outcome::runs) {
    pool_.take_loaded(in_blocks(request, admitted.block_tokens), request.holding);
    request.phase = RequestPhase::loading;
    if (admitted.outcome == Outcome::computes_beside) ++computing_beside_;
    loading_.push_back(std::move(owned));
    open_tokens_ -= (free - pool_.free()) * pool_.unit_tokens();
    if (reserves_share()) offset_tokens_ += static_cast<double>(reserve_of_restored(request));
    return true;
  }
  request.phase = RequestPhase::running;
  request.prompt_end = request.known_tokens();
  running_.push_back(std::move(owned));
  open_tokens_ -= (free - pool_.free()) * pool_.unit_tokens();
  const int64_t tokens = first_slice(request, request.planned, budget);
  if (tokens == 0 && request.known_tokens() > request.planned) return true;
  KVCAP_CHECK(grow(request, request.planned + tokens));
  add_slice(step, request, tokens, 0);
  charge(step.slices.back(), budget);
  if (reserves_share() && pool_.is_plain() && unreserved_tokens() <= 0) lacks_blocks_ = blocked = true;
  return true;
}

// True iff there are blocks for the request and, if it runs at once, `budget` for its first slice.
bool Scheduler::fits(const Request& request, const Found& found, int64_t budget, bool is_first) {
  if (!has_room(request, found)) {
    lacks_blocks_ = true;
    return false;
  }
  if (budget <= 0) return false;
  const int64_t there = request.restored ? request.planned : found.gpu.tokens + request.free_tokens;
  const int64_t left = request.known_tokens() - there;
  if (found.load_tokens > 0 || left <= 0) return true;
  bool is_whole = serving_.slice_budget(left) <= budget;
  if (reserves_share()) is_whole = left <= budget && (is_first || whole_blocks(left) < budget);
  return (serving_.chunked_prefill || is_whole) && first_slice(request, there, budget) > 0;
}

bool Scheduler::has_room(const Request& request, const Found& found) const {
  if (reserves_share() && pool_.is_plain()) return has_reserve(request, found);
  int64_t free = pool_.free() - found.gpu.unheld;
  if (serving_.watermark > 0 && !running_.empty()) {
    free -= static_cast<int64_t>(serving_.watermark * static_cast<double>(pool_.total()));
  }
  int64_t tokens = with_lookahead(request.known_tokens());
  // A request with a loaded context is not preempted until it runs, so its prompt must fit as a whole. While
  // there are such requests, all others must fit as a whole, too: a request with blocks for only its first
  // slice might be preempted endlessly.
  bool owes = found.load_tokens > 0 || (serving_.admission == Admission::chunk && parks());
  if (serving_.admission == Admission::chunk && !owes) {
    const int64_t held = pool_.tokens(request.holding) + found.gpu.tokens;
    const int64_t there = std::max(held + request.free_tokens, request.planned);
    tokens = std::min(tokens, with_lookahead(there + serving_.slice_budget(serving_.max_num_batched_tokens)));
  } else if (reserves_output()) {
    tokens = reserved_tokens(request);
    owes = true;
  }
  const int64_t needed = pool_.owed_blocks(request.holding, found.gpu.tokens, in_blocks(request, tokens));
  if (needed > free) return false;
  return !owes || needed + found.gpu.shared <= free - owed_blocks(&request) - pool_.shared();
}

// Returns how many more blocks requests that hold blocks will need to compute their prompts (or, if answers
// are reserved, until they end). `but`: a request to leave out, or nullptr.
int64_t Scheduler::owed_blocks(const Request* but) const {
  int64_t owed = 0;
  const auto add = [&](const Request& request) {
    if (&request == but) return;
    int64_t tokens = with_lookahead(request.known_tokens());
    if (reserves_output()) tokens = reserved_tokens(request);
    owed += std::max<int64_t>(0, pool_.owed_blocks(request.holding, 0, in_blocks(request, tokens)));
  };
  for (const RequestPtr& request : running_) add(*request);
  for (const RequestPtr& request : loading_) add(*request);
  if (restored_waiting_ == 0) return owed;
  for (const RequestPtr& request : waiting_) {
    if (request->restored) add(*request);
  }
  return owed;
}

// Returns how many blocks are missing for the request's first `tokens` tokens.
int64_t Scheduler::missing_blocks(const Request& request, int64_t tokens) const {
  return pool_.missing_blocks(request.holding, in_blocks(request, tokens));
}

// Takes blocks for the first `tokens` tokens of the sequence. Returns false if there is no room.
bool Scheduler::grow(Request& request, int64_t tokens) {
  const int64_t computed = in_pool(request);
  if (!pool_.grow(computed, in_blocks(request, with_lookahead(tokens)), request.holding)) return false;
  name_blocks(request, tokens);
  return true;
}

// Names prompt blocks as soon as a plan fills them, and blocks of generated tokens when these are known.
void Scheduler::name_blocks(Request& request, int64_t tokens) {
  if (!request.named || !pool_.names_more(request.holding, tokens)) return;
  pool_.name(request.chain, std::min(tokens, nameable_tokens(request)), request.holding,
             request.prompt_tokens());
}

// SGLang names the blocks of an answer when it ends, or with the prompt after a retraction.
int64_t Scheduler::nameable_tokens(const Request& request) const {
  if (!serving_.cache_generated) return request.prompt_tokens();
  if (names_answers_at_end() && !ended(request)) return std::max(request.prompt_tokens(), request.prompt_end);
  return request.known_tokens();
}

// Returns the place of the running request that is preempted first.
std::size_t Scheduler::victim() const {
  if (!has_priorities()) return reserves_share() ? shortest_answer() : running_.size() - 1;
  const auto last =
      std::max_element(running_.begin(), running_.end(),
                       [](const RequestPtr& a, const RequestPtr& b) { return a->number < b->number; });
  return static_cast<std::size_t>(last - running_.begin());
}

// Preempts the running request at `place`, and removes it from `step`.
void Scheduler::preempt(std::size_t place, StepPlan& step, int64_t& budget) {
  RequestPtr victim = std::move(running_[place]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
  step.preempted = true;
  for (const Slice& slice : step.slices) {
    if (slice.request != victim.get()) continue;
    budget += slice.tokens;
    if (!slice.yields) continue;
    victim->ahead -= 1 + slice.drafts;
    victim->drafts_ahead -= slice.drafts;
  }
  step.keep([&](const Slice& slice) { return slice.request != victim.get(); });
  if (reserves_share()) note_preemption();
  pool_.give_back(victim->holding);
  victim->orphans += victim->ahead - victim->drafts_ahead;
  victim->planned = victim->computed = victim->ahead = victim->drafts_ahead = 0;
  victim->free_tokens = victim->unused_tokens = 0;
  victim->restored = victim->fused = false;
  victim->phase = RequestPhase::waiting;
  admitter_.preempted(*victim);
  if (has_priorities()) return insert_in_order(std::move(victim));
  if (reserves_share()) return waiting_.push_back(std::move(victim));
  waiting_.push_front(std::move(victim));
}

void Scheduler::outlook(StepPlan& step) const {
  step.clear();
  int64_t budget = serving_.max_num_batched_tokens;
  for (const RequestPtr& request : running_) {
    if (request->given_up || (serving_.pipeline_parallel_size > 1 && request->ahead > 0)) continue;
    const int64_t left = request->known_tokens() + request->ahead - request->planned;
    const int64_t tokens = std::min(left, serving_.slice_budget(budget));
    const int64_t sure = request->generated + request->ahead - request->drafts_ahead;
    if (tokens <= 0 || sure >= request->output_tokens) continue;
    Slice slice{.request = request.get(), .tokens = tokens, .first = request->planned};
    slice.decode = is_decode(*request, tokens);
    slice.yields = tokens == left;
    if (slice.decode) {
      slice.drafts = left == 1 ? draft_tokens(*request, budget) : 0;
      slice.tokens += slice.drafts;
      ++step.decoding;
      step.drafts += slice.drafts;
      step.context_tokens += slice.first + slice.tokens;
    }
    step.sampled += slice.yields;
    step.slices.push_back(slice);
    budget -= slice.tokens;
  }
}

// ---- repeated steps ----

int64_t Scheduler::most_steps(const StepPlan& step, bool has_following, int64_t at_most) const {
  for (const Slice& slice : step.slices) {
    const Request& request = *slice.request;
    at_most = std::min(at_most, request.output_tokens - request.generated - (has_following ? 2 : 1));
    // A waiting request may need a block that a window drops.
    if (lacks_blocks_) {
      at_most = std::min(at_most, pool_.steps_before_drop(request.holding, in_pool(request)));
    }
  }
  const auto fit = [&](int64_t steps) {
    int64_t needed = 0;
    for (const Slice& slice : step.slices) {
      needed += missing_blocks(*slice.request, slice.request->planned + steps);
    }
    return needed <= pool_.free();
  };
  // The next plan tries again to admit.
  if (ended_wait_ && !waiting_.empty()) return 0;
  if (at_most <= 0) return 0;
  if (fit(at_most)) return at_most;
  int64_t low = 0;
  int64_t high = at_most;
  while (low + 1 < high) {
    const int64_t middle = low + (high - low) / 2;
    (fit(middle) ? low : high) = middle;
  }
  return low;
}

void Scheduler::skip(StepPlan& step, StepPlan* following, int64_t steps,
                     const std::function<void(int64_t)>& begins) {
  growths_.clear();
  note_decodes(steps);
  for (const Slice& slice : step.slices) {
    Request& request = *slice.request;
    KvGrowth growth{&request.holding, in_pool(request)};
    if (request.named) {
      growth.chain = request.chain;
      growth.nameable = nameable_tokens(request);
      if (serving_.cache_generated && !names_answers_at_end()) growth.nameable += steps;
      growth.prompt_tokens = request.prompt_tokens();
    }
    growths_.push_back(growth);
  }
  pool_.grow_by_steps(growths_, steps, begins);
  for (Slice& slice : step.slices) {
    Request& request = *slice.request;
    request.generated += steps;
    request.computed += steps;
    request.planned += steps;
    slice.first += steps;
    name_blocks(request, request.planned);
  }
  step.context_tokens += steps * step.decoding;
  if (!following) return;
  for (Slice& slice : following->slices) slice.first += steps;
  following->context_tokens += steps * following->decoding;
}

// ---- ends of slices ----

int64_t Scheduler::finish(const Slice& slice, int64_t tokens) {
  Request& request = *slice.request;
  const int64_t yielded = std::min(tokens, request.output_tokens - request.generated);
  if (request.orphans > 0) {  // preempted while the step ran
    if (!slice.yields) return 0;
    --request.orphans;
    request.generated += yielded;
    return yielded;
  }
  if (request.phase != RequestPhase::running) return 0;
  request.computed += slice.tokens - slice.drafts;
  if (request.computed < request.known_tokens()) return 0;
  // Takes back drafts that were rejected or lie beyond the end of the answer.
  request.ahead -= 1 + slice.drafts;
  request.drafts_ahead -= slice.drafts;
  request.planned -= 1 + slice.drafts - yielded;
  request.computed += yielded - 1;
  request.generated += yielded;
  name_blocks(request, request.planned);
  return yielded;
}

RequestPtr Scheduler::remove(Request& request) {
  pool_.give_back(request.holding);
  if (reserves_share()) note_end(request);
  if (request.phase == RequestPhase::running) return take_from(running_, request);
  KVCAP_CHECK(request.phase == RequestPhase::waiting);
  if (request.restored) --restored_waiting_;
  return take_from(waiting_, request);
}

// ---- restored contexts ----

void Scheduler::loaded(Request& request) {
  RequestPtr owned = take_from(loading_, request);
  request.phase = RequestPhase::waiting;
  request.restored = true;
  ++restored_waiting_;
  name_blocks(request, request.computed);
  const auto behind = std::find_if(waiting_.begin(), waiting_.end(),
                                   [&](const RequestPtr& one) { return one->number > request.number; });
  waiting_.insert(behind, std::move(owned));
}

void Scheduler::computed_beside(Request& request) {
  RequestPtr owned = take_from(loading_, request);
  --computing_beside_;
  request.phase = RequestPhase::running;
  request.restored = true;
  request.prompt_end = request.known_tokens();
  ++request.generated;
  name_blocks(request, request.planned);
  running_.push_back(std::move(owned));
}

}  // namespace kvcap
