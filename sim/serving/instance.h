// Instance: one engine that serves turns with continuous batching, as a passive machine: somebody else owns
// the clock and calls advance(); it answers when it wants to be called again.
//
// A turn waits (first come first served), is admitted when KV memory for its prompt is free, is restored (its
// history comes back as the policy says, beside the steps of others), prefills what is left in chunks of the
// step's token budget, decodes one token a step, and leaves its context to the store. A step serves all
// decoding sequences first and fills the budget with prompt chunks. When memory runs out the sequence
// admitted last is preempted: its KV is dropped and it starts over, at the head of the queue.
//
// Runs of decode steps that nothing can interrupt are one call (request fidelity).
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "base/fidelity.h"
#include "cost/cost_model.h"
#include "des/world.h"
#include "metrics/recorder.h"
#include "policy/policy.h"
#include "serving/arrivals.h"
#include "serving/forecast.h"
#include "serving/keeping.h"
#include "serving/kv_blocks.h"
#include "serving/options.h"
#include "serving/prompt.h"
#include "serving/restorer.h"
#include "serving/sessions.h"
#include "serving/step_time.h"
#include "state/node_store.h"
#include "workload/workload.h"

namespace kvcap {

// What an instance of a fleet tells of. Empty functions: it serves alone.
struct Fleetmate {
  std::size_t number = 0;
  std::function<void(const Arrival&)> ended;    // the turn was answered or refused
  std::function<void(Key key)> lost_its_front;  // what other nodes have of the context is void
};

// What an instance works with; all outlive it.
struct InstanceParts {
  const Workload* workload = nullptr;
  const CostModel* cost = nullptr;
  const Policy* policy = nullptr;
  Sessions* sessions = nullptr;
  NodeStore* store = nullptr;
  Node* node = nullptr;
  std::function<void()> wake;  // calls advance() as soon as the current callback returns
  Restorer* restorer = nullptr;
  Recorder* recorder = nullptr;
  std::function<const Route&(Tier from, Tier to)> route;
  ServingOptions serving;
  KeepingOptions keeping;
  int64_t kv_capacity_tokens = 0;
  int64_t max_model_len = 0;
  Fidelity fidelity = Fidelity::request;
  bool check_invariants = false;                   // after every call of advance()
  std::atomic<int64_t>* finished_turns = nullptr;  // for a progress bar
  // One of several nodes, or one that fails: turns are given to it, and it tells. Else it takes all arrivals.
  Fleetmate fleetmate;
};

class Instance {
 public:
  explicit Instance(const InstanceParts& parts);

  // Does what is due at `now_s`. Returns when to call again (infinity: when woken), negative once every
  // session has ended.
  double advance(double now_s);
  // Its two halves: ends the step that is over, unless one goes on, of which it returns the end; then admits
  // and starts the next.
  std::optional<double> finish(double now_s);
  double proceed(double now_s);

  // Of a fleet. A turn has come, to be served after those before it.
  void take(const Arrival& arrival);
  // The node is lost, and with it all turns and what was done for them: returns them, for others. Nothing may
  // be called after.
  std::vector<Arrival> fail(double now_s);

  // When the last session ended. REQUIRES: advance() has returned a negative number.
  double ended_s() const { return ended_s_; }

  // For those who check: turns that are waiting or served, and pins of what their prompts reuse.
  // check_ended() aborts unless everything was given back. REQUIRES: every session has ended.
  int64_t turns() const { return static_cast<int64_t>(waiting_.size() + admitted_.size()); }
  int64_t pins() const;
  void check_ended() const;

 private:
  // Two dates closer than this are one: the World resolves no finer.
  static constexpr double kResolution_s = 2e-9;

  struct Request {
    Arrival arrival;
    std::vector<Part> prompt;  // what of it can be reused: its history in parts
    std::vector<Part> answer;  // pieces that its answer completes
    TurnRecord record;
    Order number = 0;  // in order of arrival
    double admitted_s = -1;
    double restored_s = 0;
    int64_t history_tokens = 0;
    int64_t input_tokens = 0;
    int64_t output_tokens = 0;
    int64_t free_tokens = 0;    // of its KV that take no room here: ideal's history, contexts in the hbm tier
    int64_t cached_tokens = 0;  // KV on the GPU
    int64_t unused_tokens = 0;  // of its history, found and not important: they take no part
    int64_t decodes_from = 0;   // of them, those that were there when it began to decode
    int64_t generated = 0;
    int64_t blocks = 0;
    double last_token_s = 0;
    bool gap_open = false;  // its next token's gap is not the step's length
    bool fused = false;     // restoration prefills the new tokens as well
    // Tokens to compute before the next one can be sampled.
    int64_t prompt_tokens() const { return history_tokens - unused_tokens + input_tokens + generated; }
    int64_t resident_tokens() const { return cached_tokens - free_tokens; }
  };
  using RequestPtr = std::unique_ptr<Request>;
  struct Restored {
    double time_s = 0;
    uint64_t order = 0;
    Request* request = nullptr;
    bool operator<(const Restored& other) const {
      return time_s != other.time_s ? time_s > other.time_s : order > other.order;
    }
  };
  struct Chunk {
    Request* request = nullptr;
    int64_t tokens = 0;
  };
  struct Step {
    bool running = false;
    double start_s = 0;
    double progress_s = 0;  // of the GPU, when it began
    double work_s = 0;
    int64_t steps = 1;
    int64_t most_steps = 1;
    std::vector<Chunk> chunks;
    DecodeRun run;       // of decode-only steps
    int64_t copies = 0;  // of KV windows, in each step
  };

  bool alone() const { return !parts_.fleetmate.ended; }
  void take_arrivals(double now_s);
  void arrive(const Arrival& arrival);
  bool take_history(Request& request);
  bool take_pieces(Request& request);
  bool fits_at_all(const Request& request) const;
  bool may_wait() const;
  void refuse(Request& request);
  void cut_front(const Request& request, Key key, int64_t tokens);

  void admit(double now_s);
  bool try_admit(double now_s);
  Found find(const Request& request) const;
  void weigh(const Request& request);
  Context context_of(const Request& request, const Found& found) const;
  void restore(Request& request, const Found& found, double now_s);
  void count_reuse(const Request& request, int64_t tokens, const Restoration& restoration);
  void leave_out(Request& request, const Restoration& restoration, bool first);
  EngineLoad engine_load();
  void take_restored(double now_s);

  double start_step(double now_s);
  void plan_chunks();
  void secure_blocks();
  void preempt();
  double mixed_step_s();
  int64_t blocks_needed(int64_t tokens) const;
  int64_t copies_due(int64_t& for_steps) const;
  bool blocks_for(int64_t steps) const;
  int64_t most_steps_in_memory(int64_t at_most) const;
  double end_of_step(double now_s);
  // Of decode steps that an event may end.
  bool in_long_run() const { return step_.running && step_.chunks.empty() && step_.steps > 1; }
  void finish_step(double now_s);
  void record_collectives(double now_s);
  void record_gaps(double now_s);
  void finish_decoding(double now_s);
  void finish_chunks(double now_s);
  void first_token(Request& request, double now_s);
  void start_decoding(Request& request);
  void complete(Request& request, double now_s);
  void keep_context(const Request& request, double now_s);
  void keep(const std::vector<Part>& parts, double now_s);
  void pin(const Request& request);
  void unpin(const Request& request);
  void perform(std::vector<Move> moves);
  double save_s(const Move& move) const;
  double requests_of(const Move& move) const;

  double next_event_s() const;
  void release(Request& request);
  void record_level(Level which, double value, double now_s);
  void record_busy(Resource which, double busy_s, double from_s, double to_s);
  void record_levels(double now_s);
  // Aborts when an invariant is broken (invariants.cpp).
  void check(double now_s);
  void check_requests() const;
  void check_step(double now_s) const;

  InstanceParts parts_;
  StepTime step_time_;
  KvBuffer kv_buffer_;
  Arrivals& arrivals_;
  Forecast forecast_;
  KvBlocks blocks_;
  int64_t watermark_blocks_;
  int64_t arrived_ = 0, completed_ = 0, refused_ = 0;
  double newcomer_s_ = std::numeric_limits<double>::infinity();  // when one came that nobody has looked at
  double gpu_waits_until_s_ = 0;

  std::deque<RequestPtr> waiting_;
  bool waits_for_fetch_ = false;                                // the first of waiting_
  double fetched_s_ = std::numeric_limits<double>::infinity();  // when it no longer had to
  std::vector<RequestPtr> admitted_;                            // in order of admission
  std::vector<Request*> prefilling_;                            // in order of restoration
  std::vector<Request*> decoding_;
  std::vector<Restored> restored_;  // a heap: restorations with a known end
  uint64_t restorations_ = 0;
  int64_t decoding_context_tokens_ = 0;  // the sum of their cached_tokens
  Step step_;
  std::vector<PrefillChunk> chunks_;  // scratch of start_step and finish_step: no allocation a step
  std::vector<Request*> decoded_;
  double ended_s_ = 0;
  double recorded_s_ = 0;                          // when the levels were last
  double checked_s_ = 0, checked_progress_s_ = 0;  // at the last check()
};

}  // namespace kvcap
