// Scheduler: chooses the requests that the next step computes, and the tokens of each. It has no clock.
//
// Continuous batching with chunked prefill, as in vLLM V1 (vllm/v1/core/sched/scheduler.py):
//
//   - Running requests come first, in order of admission: each gets its next token or its next slice of the
//     prompt. Then waiting requests are admitted in order while the token budget and sequence slots last. The
//     first request that does not fit blocks the following ones.
//   - An admitted request holds the cached blocks of its prompt; its whole prompt must fit the free and
//     evictable blocks (Admission). The Scheduler asks its Admitter, except for requests whose contexts are
//     already restored. Prompt blocks are named as soon as a step is planned that fills them, so other
//     requests of this step find them.
//   - When no block is left, the request admitted last is preempted: its blocks stay cached until their room
//     is needed, and it moves to the head of the queue. A step with a preemption admits no request.
//   - With SchedulingPolicy::priority the queue is in order of Request::number, and the running request with
//     the largest one is preempted. If the step already computes it, it drops out of the step, which can then
//     use its tokens. If it is the request that lacks a block, the step computes no request after it.
//   - A plan may be made while the previous step runs (asynchronous scheduling): it assumes the tokens that
//     this step will yield, and no request gets a slot beyond its last token.
//   - If tokens are drafted (speculation/speculation.h), a decode also computes the drafts after its token. A
//     plan made while the previous step runs assumes that all drafts of that step are accepted; finish()
//     takes rejected ones back. No slot beyond the longest sequence is taken.
//   - Admission::reserve_share is SGLang's PrefillAdder, with what SGLang does besides (reserved_share.cpp).
//   - Contexts are restored from the tiers concurrently with steps. A request being restored holds blocks for
//     the loaded tokens, takes no sequence slot, is not preempted and does not block following requests.
//
// skip() counts the tokens and blocks of many identical decode steps at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "cost/step_work.h"
#include "engine/options.h"
#include "engine/request.h"
#include "state/kv_pool.h"

namespace kvcap {

// Tokens of one request in one step (a prefill slice or a decode).
struct Slice {
  Request* request = nullptr;
  int64_t tokens = 0;
  int64_t first = 0;    // tokens of the sequence that precede the slice
  int64_t drafts = 0;   // how many of the slice's last tokens are drafts
  bool decode = false;  // one sampled token and its drafts
  bool yields = false;  // a token is sampled at the end
};

struct StepPlan {
  std::vector<Slice> slices;
  int64_t decoding = 0;        // slices that decode
  int64_t context_tokens = 0;  // tokens of decoding sequences, including the new tokens
  int64_t drafts = 0;
  int64_t sampled = 0;
  Decodes lost;  // decodes that are computed although their requests ended after the step was planned
  bool preempted = false;
  bool admitted = false;

  bool empty() const { return slices.empty(); }
  bool decodes_only() const { return decoding == static_cast<int64_t>(slices.size()); }
  void clear();
  // Drops the slices for which `keeps` returns false.
  template <class Keeps>
  void keep(Keeps keeps) {
    if (std::erase_if(slices, [&](const Slice& slice) { return !keeps(slice); }) == 0) return;
    count();
  }
  // settle(): all earlier steps are done, so slices begin at the ends of their sequences. lose(): `ended` has
  // ended, so its planned tokens are computed in vain.
  void settle();
  void lose(const Request& ended);

 private:
  void count();
};

// Result of an attempt to admit a waiting request.
enum class Outcome : uint8_t {
  runs,             // the request holds its cached blocks and may run
  loads,            // the context is being restored; the request takes no slot
  computes_beside,  // fused: the restoration also computes the prompt; takes a slot
  passes,           // the request waits, but others may overtake it
  waits,            // the request waits, and so do those after it
};

// Result of an admission; the Scheduler takes the blocks.
struct Admitted {
  Outcome outcome = Outcome::waits;
  int64_t held_tokens = 0;   // tokens in cached blocks that the request holds
  int64_t tokens = 0;        // tokens that the request has once its restoration has ended
  int64_t block_tokens = 0;  // tokens that the restored context needs blocks for
};

// Cached parts of a request's prompt.
struct Found {
  KvHits gpu;               // cached blocks
  int64_t load_tokens = 0;  // tokens on the GPU once the tiers' tokens are loaded; 0: nothing to load
};
// True iff there is room for the found tokens and the rest of the prompt.
using Fits = std::function<bool(const Found&)>;

// Admits requests for a Scheduler: finds their contexts, and restores them.
class Admitter {
 public:
  virtual ~Admitter() = default;
  // Admits a queued request if it need not wait for its context and there is room for it (`fits`, called with
  // the found parts of the context). Starts the restoration of the context if one is needed.
  virtual Admitted admit(Request& request, const Fits& fits) = 0;
  // Notes that the request has lost its blocks and starts over at the head of the queue.
  virtual void preempted(Request& request) = 0;
};

// Limits of a sequence, and tokens that it needs in addition to its prompt and answer.
struct SequenceTokens {
  int64_t least_tokens = 0;  // KV tokens that a sequence reserves (KvBuffer::reserved_tokens)
  int64_t draft_tokens = 0;  // maximum number of drafts per decode
  // Returns the drafts per decode that a step prepares, by its number of slices; null: draft_tokens.
  std::function<int64_t(int64_t)> drafts_of_batch = nullptr;
  int64_t lookahead_tokens = 0;  // slots that a drafter writes after the drafts
  // Tokens of the longest sequence; limits drafts and lookahead. REQUIRES: no sequence is longer.
  int64_t max_model_len = std::numeric_limits<int64_t>::max();
};

class Scheduler {
 public:
  // All arguments but `tokens` outlive it.
  Scheduler(const ServingOptions& serving, const SequenceTokens& tokens, KvPool& pool, Admitter& admitter);

  // Adds the request to the queue.
  void add(RequestPtr request);
  // Plans the next step. `throttles`: defer all prompts if a running request decodes, unless the last plan
  // that could admit requests left some waiting.
  void plan(StepPlan& step, bool throttles = false);
  // Adds restored requests to a plan while there is room; their contexts were loaded before the planned step
  // begins.
  void add_restored(StepPlan& step);
  // Repeats every slice of `step`, and of the `following` plan if there is one, `steps` more times. Calls
  // `begins` with the number of a step, from 1 on, before the blocks of that step are taken. REQUIRES: all
  // slices decode, and most_steps() allows it.
  void skip(StepPlan& step, StepPlan* following, int64_t steps,
            const std::function<void(int64_t)>& begins = nullptr);
  // Returns how many times the slices of a decode-only step can be repeated before a request ends or is
  // preempted. REQUIRES: no other request can hit the generated tokens.
  int64_t most_steps(const StepPlan& step, bool has_following, int64_t at_most) const;

  // Returns for how many further steps a decoding request neither takes nor releases blocks, or fewer.
  int64_t steps_before_blocks(const Request& request) const {
    return pool_.steps_before_change(request.holding, in_pool(request));
  }

  // Ends one slice of a step. If the slice yields, its request gets `tokens` tokens, but not beyond its end.
  // Returns their number; if not 0, ended() may be true. REQUIRES: 1 <= tokens <= 1 + slice.drafts.
  int64_t finish(const Slice& slice, int64_t tokens = 1);
  static bool ended(const Request& request) { return request.generated == request.output_tokens; }
  // Removes the request and releases its blocks unless the caller has taken them.
  RequestPtr remove(Request& request);
  // False: the slice will not be computed because its request has ended or was preempted.
  bool computes(const Slice& slice) const { return slice.request->phase == RequestPhase::running; }

  // Notes that the context of a loading request has arrived. The request waits again, at its old place in the
  // queue.
  void loaded(Request& request);
  // Notes that a restoration has computed the request's prompt and first token.
  void computed_beside(Request& request);

  const std::deque<RequestPtr>& waiting() const { return waiting_; }
  const std::vector<RequestPtr>& running() const { return running_; }
  const std::vector<RequestPtr>& loading() const { return loading_; }
  std::size_t admitted() const { return running_.size() + loading_.size(); }
  // True iff the last plan left a request waiting for free blocks.
  bool lacks_blocks() const { return lacks_blocks_; }
  int64_t restored_waiting() const { return restored_waiting_; }
  // Returns the share of running answers that an admission reserves (Admission::reserve_share).
  double output_share() const { return output_share_; }
  std::size_t requests() const { return admitted() + waiting_.size(); }
  bool slot_is_free() const {
    return std::ssize(running_) + computing_beside_ + ended_ < serving_.max_num_seqs;
  }
  // Plans the next step as if no request were admitted.
  void outlook(StepPlan& step) const;
  // Returns the maximum number of blocks that a sequence of `tokens` tokens holds at any time.
  int64_t blocks_needed(int64_t tokens) const;
  // Returns the maximum number of token slots of a request whose final sequence has `tokens` tokens.
  int64_t most_slots(int64_t tokens) const;
  // Returns all holdings of requests, for checks of the pool.
  std::vector<const KvHolding*> holdings() const;

  // Aborts if an invariant is broken.
  void check() const;

 private:
  void plan_running(StepPlan& step, int64_t& budget, bool decodes, bool prompts);
  bool make_room(StepPlan& step, int64_t& budget, std::size_t& place, int64_t tokens);
  void plan_waiting(StepPlan& step, int64_t& budget, bool only_restored = false);
  bool admit(std::size_t place, StepPlan& step, int64_t& budget, bool& blocked);
  bool fits(const Request& request, const Found& found, int64_t budget, bool is_first);
  bool has_room(const Request& request, const Found& found) const;
  // True iff some request holds blocks but is not running.
  bool parks() const { return !loading_.empty() || restored_waiting_ > 0; }
  int64_t reserved_tokens(const Request& request) const;
  // Admission::reserve_share.
  void begin_pass();
  void count_reserves();
  void end_pass(const StepPlan& step);
  bool has_reserve(const Request& request, const Found& found) const;
  int64_t reserve_of_restored(const Request& request) const;
  double unreserved_tokens() const { return static_cast<double>(open_tokens_) - offset_tokens_; }
  void charge(const Slice& slice, int64_t& budget);
  int64_t whole_blocks(int64_t tokens) const;
  void note_decodes(int64_t steps);
  void note_preemption();
  void note_end(const Request& request);
  std::size_t shortest_answer() const;
  int64_t owed_blocks(const Request* but = nullptr) const;
  int64_t missing_blocks(const Request& request, int64_t tokens) const;
  static int64_t in_pool(const Request& request);
  int64_t in_blocks(const Request& request, int64_t tokens) const;
  int64_t slice_tokens(const Request& request, int64_t planned, int64_t budget) const;
  int64_t first_slice(const Request& request, int64_t there, int64_t budget) const;
  int64_t draft_tokens(const Request& request, int64_t budget) const;
  bool decodes_something() const;
  void prepare_drafts(const StepPlan& step) const;
  int64_t with_lookahead(int64_t tokens) const;
  bool grow(Request& request, int64_t tokens);
  void name_blocks(Request& request, int64_t tokens);
  int64_t nameable_tokens(const Request& request) const;
  void preempt(std::size_t place, StepPlan& step, int64_t& budget);
  std::size_t victim() const;
  bool has_priorities() const { return serving_.scheduling_policy == SchedulingPolicy::priority; }
  void insert_in_order(RequestPtr request);
  void add_slice(StepPlan& step, Request& request, int64_t tokens, int64_t drafts);
  bool reserves_share() const { return serving_.admission == Admission::reserve_share; }
  bool names_answers_at_end() const { return reserves_share() && pool_.is_plain(); }
  bool reserves_output() const { return serving_.admission == Admission::reserve_output || reserves_share(); }
  static bool is_decode(const Request& request, int64_t tokens);
  void check_room() const;

  const ServingOptions& serving_;
  SequenceTokens tokens_;
  KvPool& pool_;
  Admitter& admitter_;
  std::deque<RequestPtr> waiting_;
  std::vector<RequestPtr> running_;  // in order of admission
  std::vector<RequestPtr> loading_;
  std::vector<KvGrowth> growths_;  // scratch of skip()
  double output_share_;
  // Admission::reserve_share: tokens in free blocks when the pass began, less the hits of its prompts; what
  // is reserved of them; whether admissions wait for a request to end (batch_is_full); ended requests that
  // hold their slots until a step decodes; and of the last plan, whether it cut a prompt, had prompts, or
  // ended the wait.
  int64_t open_tokens_ = 0;
  double offset_tokens_ = 0;
  bool is_full_ = false;
  int64_t ended_ = 0;
  bool cut_a_prompt_ = false, had_prompts_ = false, ended_wait_ = false;
  int64_t computing_beside_ = 0;  // requests in loading_ that take a sequence slot
  bool lacks_blocks_ = false;
  bool left_waiting_ = false;     // the last plan that could admit requests left some waiting
  int64_t restored_waiting_ = 0;  // requests in waiting_ whose contexts are restored
};

}  // namespace kvcap
