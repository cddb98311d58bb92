// Steps: plans the steps of one engine and determines how long they take and when they end.
//
// A run of decode steps that no event interrupts is one step here (request fidelity), also on ranks in
// lockstep. If drafts are verified, each step is its own, because its number of tokens per sequence is
// random.
//
// Under pipeline parallelism, a step here is a step of the first stage. When it ends, its batch passes on to
// the other stages; land() ends the batch. As in vLLM V1 (engine/core.py, step_with_batch_queue) there are at
// most as many batches as stages, and a sequence whose token is awaited is in no other batch.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "engine/context_cache.h"
#include "engine/instance_parts.h"
#include "engine/pipeline.h"
#include "engine/scheduler/scheduler.h"
#include "engine/step_time.h"

namespace kvcap {

// Callbacks of Steps. computed (may be null): a request has more computed tokens. yielded: it also has more
// known tokens; after_prompt: they follow a slice of a prompt. A run of steps reports only its end.
// most_steps: how many steps a run may have.
struct StepCallbacks {
  std::function<void(Request& request)> computed;
  std::function<void(Request& request, double now_s, bool after_prompt)> yielded;
  std::function<int64_t()> most_steps;
};

class Steps {
 public:
  // All references outlive it.
  Steps(const InstanceParts& parts, Scheduler& scheduler, const ContextCache& cache, StepCallbacks on);

  // Plans the next step unless there is a plan for it already. Returns false if there is nothing to compute.
  bool plan();
  // Keeps the plan for the next step.
  void withdraw();
  // Begins the planned step. Without a plan, begins the step of one row that an idle rank computes together
  // with the other ranks.
  void begin(double now_s);
  // Returns the end of the step as known now. `event_s`: time of the next event that cuts a run short.
  // REQUIRES: is_running().
  double end_s(double now_s, double event_s);
  // Ends the step or run of steps: end() records its time and returns its number of steps; then end_slices()
  // yields its tokens.
  int64_t end(double now_s);
  void end_slices(double now_s);
  // Pipeline parallelism: ends the batches that have left the last stage by `now_s`, and returns their
  // number.
  int64_t land(double now_s);
  // Returns the time at which the next batch leaves the last stage; infinity if there is none.
  double next_landing_s() const;
  // has_batches(): some batch has left the first stage but not the last. is_full(): as many batches as there
  // are stages have done so.
  bool has_batches() const { return !batches_.empty(); }
  bool is_full() const { return std::ssize(batches_) == pipeline_.stages() && pipeline_.stages() > 1; }
  // Counts the steps of the current run that have ended by `now_s`.
  void catch_up(double now_s);
  // Records the GPU time that the unfinished step of a failed node has used.
  void fail(double now_s) const;

  // Ranks in lockstep: the rows of the plan, at least the one of a rank without work; those of other ranks;
  // the durations of the steps and how many may follow each other on this rank alone; and those of all ranks,
  // whose steps are as long as the slowest's. keep_pace(): ends the run with the step that another rank ends
  // it with.
  int64_t rows() const;
  void set_rows_of_others(int64_t rows) { step_time_.set_tokens_of_others(rows); }
  DecodeRun durations() const;
  int64_t most_steps() const { return step_.most_steps; }
  void wait_for_slowest(const DecodeRun& slowest, int64_t most_steps);
  void keep_pace(const Steps& other);

  bool is_running() const { return step_.running; }
  // True during a run of decode steps that an event may cut short.
  bool in_long_run() const { return step_.running && step_.most_steps > 1; }
  // Returns a time up to which the run's steps neither take nor release blocks; infinity: no run.
  double quiet_until_s() const;
  // Called on an event: wakes the engine, unless a single step runs, whose end handles the event.
  void wake() const;
  const StepPlan& current() const { return current_; }
  // Returns the end of the first layer of the step if nothing delays it.
  double first_layer_end_s() const;
  // True iff a step that runs or is planned computes the request.
  bool computes(const Request& request) const;
  // Returns the simulated time of evictions that happen now: that of the step that takes the evicted blocks.
  // A run takes the blocks of all its steps only afterwards.
  double eviction_s() const;

  // Return the GPU seconds of a plan, and of its decodes alone.
  double plan_s(const StepPlan& plan) { return mixed_step_s(plan) + drafter_s(); }
  double decode_step_s(const StepPlan& plan);

  // Aborts if an invariant is broken (invariants.cpp).
  void check(double now_s) const;

 private:
  struct Step {
    bool running = false;
    double start_s = 0;
    double progress_s = 0;  // Restorer::progress_s at the step's beginning
    double work_s = 0;      // duration, without delays by the computation of restorations
    double gpu_s = 0;       // part of work_s in which the GPU computes
    int64_t steps = 1;
    int64_t most_steps = 1;
    int64_t skipped = 0;  // ended steps that skip_before() has counted
    // Asynchronous scheduling: the step of the run with which a request ends unless the run is cut short; 0:
    // none. The next step is planned when this one begins.
    int64_t ends_with_step = 0;
    DecodeRun run, gpu_run;  // durations of decode-only steps
    // Ranks in lockstep: the durations on this rank alone; it waits for the rest.
    std::optional<DecodeRun> own_run;
    int64_t copies = 0;  // copies of KV windows per step
  };

  // A batch that has left the first stage.
  struct Batch {
    StepPlan plan;
    double start_s = 0, end_s = 0;
    double gpu_s = 0;  // mean over the stages
  };

  void time_step();
  void time_empty_step(double host_s);
  void set_steps(int64_t steps);
  void time_stage(double host_s);
  void pass_on(double now_s);
  void drop_preempted();
  void end_slices(StepPlan& plan, double now_s);
  bool plans_ahead() const { return serving_.async_scheduling && pipeline_.stages() == 1; }
  void time_run(double host_s, double copies_s, int64_t most);
  double mixed_step_s(const StepPlan& plan);
  bool throttles(int64_t number) const;
  bool defers_prompts() const;
  double drafter_s() const { return step_time_.drafter_s(chunks_, decodes_); }
  int64_t tokens_of(const Slice& slice) const;
  int64_t copies_due(int64_t& for_steps) const;
  int64_t most_steps_alike(int64_t at_most);
  void skip_before(int64_t step);
  void record_gaps(const Batch& batch) const;
  void record_busy(Resource which, double busy_s, double to_s) const;
  void record_collectives(double now_s) const;
  void record_gaps(double now_s) const;

  const InstanceParts& parts_;
  const EngineModel& engine_;
  const ServingOptions& serving_;
  StepTime step_time_;
  KvBuffer kv_buffer_;
  Scheduler& scheduler_;
  const ContextCache& cache_;
  StepCallbacks on_;
  Pipeline pipeline_;
  std::deque<Batch> batches_;  // in the order of their ends
  StepPlan current_, following_;
  Step step_;
  int64_t step_number_ = 0;               // number of the step that begins next
  std::optional<int64_t> evicting_step_;  // step of the run that causes the current evictions
  std::vector<PrefillChunk> chunks_;      // scratch: avoids an allocation per step
  Decodes decodes_;                       // scratch, with chunks_
};

}  // namespace kvcap
