// Scheduler: which requests the next step computes, and how many tokens of each. It has no clock.
//
// Continuous batching with chunked prefill, as vLLM V1 does it (vllm/v1/core/sched/scheduler.py):
//
//   - Requests that run come first, in the order of their admission: each gets its next token or its next
//     slice of the prompt. Then waiting requests are admitted in order while the token budget and sequence
//     slots last. The first that does not fit blocks those behind it.
//   - A request that is admitted holds what the prefix cache has of its prompt; its whole prompt must fit
//     what is free or can be evicted (Admission). Its blocks have names as soon as they are scheduled to be
//     full, so that requests of the same step find them.
//   - When no block is left the request admitted last is preempted: its blocks stay cached while nobody needs
//     them, and it goes to the head of the queue. A step that preempts admits nobody.
//   - A plan may be made while the step before still runs (asynchronous scheduling): it counts on the tokens
//     that this step will yield, and nobody gets a slot beyond its last token.
//   - Where tokens are drafted (speculation.h) a decode computes the drafts behind its token as well. A plan
//   made
//     while the step before runs counts on all of that step's drafts; finish() takes back those that it
//     rejects. Slots beyond the longest sequence are never taken.
//   - A context that comes back from the tiers is loaded beside the steps. Its request holds blocks for what
//     is loaded, takes no sequence slot, is not preempted and does not block those behind it.
//
// Tokens and blocks of decode steps that are planned alike can be counted many steps at a time (skip()).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "cost/cost_model.h"
#include "serving/options.h"
#include "serving/request.h"
#include "state/kv_pool.h"

namespace kvcap {

// The tokens of one request that one step computes.
struct Slice {
  Request* request = nullptr;
  int64_t tokens = 0;
  int64_t first = 0;    // tokens of its sequence before them
  int64_t drafts = 0;   // of the tokens, the last ones
  bool decode = false;  // one token and its drafts, after one that was sampled
  bool yields = false;  // a token is sampled at its end
};

struct StepPlan {
  std::vector<Slice> slices;
  int64_t decoding = 0;        // slices that decode
  int64_t context_tokens = 0;  // of the sequences that decode, the new tokens included
  int64_t drafts = 0;
  int64_t sampled = 0;
  Decodes lost;  // computed for requests that ended after it was planned
  bool preempted = false;
  bool admitted = false;

  bool empty() const { return slices.empty(); }
  bool decodes_only() const { return decoding == static_cast<int64_t>(slices.size()); }
  void clear();
  // Drops slices that will not be computed any more.
  template <class Keeps>
  void keep(Keeps keeps) {
    if (std::erase_if(slices, [&](const Slice& slice) { return !keeps(slice); }) == 0) return;
    count();
  }
  // All steps before are done: slices begin where their sequences end, and what was planned of `ended` is
  // computed for nothing.
  void settle();
  void lose(const Request& ended);

 private:
  void count();
};

// What becomes of a waiting request whose turn has come.
enum class Lookup : uint8_t {
  computes,         // it holds what the GPU has, and joins the running requests
  loads,            // its context is being loaded; it takes no slot
  computes_beside,  // its restoration computes its prompt as well; it takes a slot
  passes,           // it waits for something, and others may pass it
  waits,            // it waits for something, and so do those behind it
};

// What is there of a request's prompt.
struct Found {
  KvHits gpu;               // of the prefix cache
  int64_t load_tokens = 0;  // tokens on the GPU once the tiers have given what they have; 0: nothing to load
};

// Looks requests up for a Scheduler: where their contexts lie, and how they come back.
class Admissions {
 public:
  virtual ~Admissions() = default;
  // Looks the request up. `computes`: it may be admitted now, as far as `found` says.
  virtual Lookup look_up(Request& request, Found& found) = 0;
  // The request is admitted and holds what the prefix cache has of it. Starts its restoration where it has
  // one (`loads`, `computes_beside`).
  virtual Lookup admit(Request& request) = 0;
  // The request has lost its blocks, and starts over at the head of the queue.
  virtual void preempted(Request& request) = 0;
};

struct SchedulerOptions {
  int64_t max_num_seqs = 256;
  int64_t max_num_batched_tokens = 2048;
  bool chunked_prefill = true;  // false: a request is admitted where its whole prompt is in the budget
  int64_t least_tokens = 0;     // of KV that a sequence reserves (KvBuffer::reserved_tokens)
  Admission admission = Admission::full_prompt;
  double reserved_output_share = 0.7;  // Admission::reserve_share, before any step
  double watermark = 0;                // share of the blocks that admissions leave free while others run
  StepOrder schedule = StepOrder::mixed;
  bool cache_generated = true;
  int64_t draft_tokens = 0;      // behind each decode
  int64_t lookahead_tokens = 0;  // slots that a drafter writes behind them
  // Tokens of the longest sequence, which bounds drafts and lookahead. REQUIRES: no sequence is longer.
  int64_t max_model_len = std::numeric_limits<int64_t>::max();
  bool plans_ahead = false;  // a step is planned while the one before runs
};

class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, KvPool& pool, Admissions& admissions);

  // Joins the queue.
  void add(RequestPtr request);
  // A step: what it computes is planned from now on.
  void plan(StepPlan& step);
  // Every slice of `step` is done `steps` times more, as is every slice of the plan that follows it, if any.
  // `begins`: called with the number of a step, from 1 on, before the blocks of its plan are taken.
  // REQUIRES: all of them decode, and most_steps() allows it.
  void skip(StepPlan& step, StepPlan* following, int64_t steps,
            const std::function<void(int64_t)>& begins = nullptr);
  // How often the slices of a step that decodes only can be repeated, if nothing happens: nobody ends, and
  // nobody is preempted. REQUIRES: nobody else can find what they generate.
  int64_t most_steps(const StepPlan& step, bool has_following, int64_t at_most) const;

  // One slice of a step is done; if it yields, then `tokens` tokens, but none beyond the request's end.
  // Returns how many it yielded: ended() may hold if any. REQUIRES: 1 <= tokens <= 1 + slice.drafts.
  int64_t finish(const Slice& slice, int64_t tokens = 1);
  static bool ended(const Request& request) { return request.generated == request.output_tokens; }
  // The request leaves. Its blocks are given back, unless the caller has taken them.
  RequestPtr remove(Request& request);
  // False: the slice will not be computed, since its request has ended or was preempted.
  bool computes(const Slice& slice) const { return slice.request->phase == RequestPhase::running; }

  // The context of a request that loads has arrived. It goes on waiting, at its place in the queue.
  void loaded(Request& request);
  // A restoration has computed the request's prompt, and its first token is known.
  void computed_beside(Request& request);
  // The request takes the blocks that it lacks for its first `tokens` tokens. REQUIRES: they are free.
  void take_blocks(Request& request, int64_t tokens);

  const std::deque<RequestPtr>& waiting() const { return waiting_; }
  const std::vector<RequestPtr>& running() const { return running_; }
  const std::vector<RequestPtr>& loading() const { return loading_; }
  std::size_t admitted() const { return running_.size() + loading_.size(); }
  // Somebody was kept waiting by the last plan for want of free blocks.
  bool lacks_blocks() const { return lacks_blocks_; }
  int64_t restored_waiting() const { return restored_waiting_; }
  // Of the answers under way the share that an admission reserves (Admission::reserve_share).
  double output_share() const { return output_share_; }
  std::size_t requests() const { return admitted() + waiting_.size(); }
  bool slot_is_free() const {
    return static_cast<int64_t>(running_.size()) + computing_beside_ < options_.max_num_seqs;
  }
  // What the next step would compute if nobody were admitted.
  void outlook(StepPlan& step) const;
  // The most blocks that a sequence with so many tokens holds at a time.
  int64_t blocks_needed(int64_t tokens) const;
  // Tokens for which a request may come to hold slots whose sequence has `tokens` at its end.
  int64_t most_slots(int64_t tokens) const;
  // All blocks that requests hold, for who checks the pool.
  std::vector<const KvHolding*> holdings() const;

  // Aborts when an invariant is broken.
  void check() const;

 private:
  void plan_running(StepPlan& step, int64_t& budget, bool decodes, bool prompts);
  void plan_waiting(StepPlan& step, int64_t& budget);
  bool admit(std::size_t place, StepPlan& step, int64_t& budget, bool& blocked);
  bool fits(const Request& request, const Found& found) const;
  // Some request holds blocks and is not running.
  bool parks() const { return !loading_.empty() || restored_waiting_ > 0; }
  int64_t reserved_tokens(const Request& request) const;
  void note_decodes(int64_t steps);
  int64_t owed_blocks(const Request* but = nullptr) const;
  int64_t missing_blocks(const Request& request, int64_t tokens) const;
  static int64_t in_pool(const Request& request);
  int64_t in_blocks(const Request& request, int64_t tokens) const;
  int64_t slice_tokens(const Request& request, int64_t planned, int64_t budget) const;
  int64_t draft_tokens(const Request& request, int64_t budget) const;
  int64_t with_lookahead(int64_t tokens) const;
  bool grow(Request& request, int64_t tokens);
  void name_blocks(Request& request, int64_t tokens);
  void preempt();
  void add_slice(StepPlan& step, Request& request, int64_t tokens, int64_t drafts);
  bool reserves_output() const {
    return options_.admission == Admission::reserve_output || options_.admission == Admission::reserve_share;
  }
  static bool is_decode(const Request& request, int64_t tokens);
  void check_room() const;

  SchedulerOptions options_;
  KvPool& pool_;
  Admissions& admissions_;
  std::deque<RequestPtr> waiting_;
  std::vector<RequestPtr> running_;  // in order of admission
  std::vector<RequestPtr> loading_;
  std::vector<KvGrowth> growths_;  // of skip()
  double output_share_;
  int64_t computing_beside_ = 0;  // of loading_: those that take a sequence slot
  bool lacks_blocks_ = false;
  int64_t restored_waiting_ = 0;  // of waiting_: those whose contexts have come back
};

}  // namespace kvcap
