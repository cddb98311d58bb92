// Instance: one engine, as a passive state machine. A fleet owns the clock and calls finish() and proceed();
// both return the time of the next call.
//
// A turn arrives, waits and is admitted. Its context is restored if tiers hold more tokens of the context
// than the GPU. The GPU computes its prompt in slices and then a token per step, and its context is saved.
// Four classes do this: Admissions, Steps, Saves and Handovers. A Scheduler chooses what a step computes, and
// a ContextCache tracks contexts. The instance itself handles arrivals, answers and clients that give up, and
// reports them to these classes.
//
// A run of decode steps that no event interrupts is simulated in one call (steps.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "engine/admissions.h"
#include "engine/api_server.h"
#include "engine/context_cache.h"
#include "engine/deadlines.h"
#include "engine/forecast.h"
#include "engine/handover/handovers.h"
#include "engine/instance_parts.h"
#include "engine/request.h"
#include "engine/saves.h"
#include "engine/scheduler/scheduler.h"
#include "engine/steps.h"

namespace kvcap {

// State of an engine that a router may use.
struct EngineFacts {
  int64_t waiting = 0;         // turns that have not been admitted yet
  double held_share = 0;       // share of the KV blocks held by requests
  int64_t held_tokens = 0;     // KV tokens held by requests
  int64_t prefill_tokens = 0;  // prompt tokens that have not been computed yet
  int64_t decode_tokens = 0;   // tokens of decoding sequences
};

class Instance {
 public:
  explicit Instance(const InstanceParts& parts);

  // Ends the step if it is over; otherwise returns the time at which it ends.
  std::optional<double> finish(double now_s);
  // Admits requests and starts the next step. Returns the time of the next call; infinity if only a wake-up
  // leads to one.
  double proceed(double now_s);

  // Ranks that share experts step together: a common step begins when all have ended the previous one. The
  // fleet calls prepare() on all ranks. If one has a step to compute and none is blocked, it calls begin() on
  // each, otherwise steps().withdraw(); then it calls settle() on all.
  enum class Plan : uint8_t { nothing, blocked, step };  // blocked: the engine waits for a load or a save
  std::optional<double> busy_until_s(double now_s);      // the end of the running step, if any
  Plan prepare(double now_s);
  void begin(double now_s, int64_t rows_of_others);
  // Returns the time of the next event that may cut a run of steps short.
  double next_event_s() const;
  // True iff restorations take no GPU time from its steps.
  bool has_whole_gpu() const { return parts_.restorer->pending_compute_s() == 0; }
  // Does the remaining work of the current time. Returns the time of the next call.
  double settle(double now_s);
  Steps& steps() { return steps_; }

  // Takes a turn that has arrived; it queues behind the earlier ones.
  void take(const Arrival& arrival);
  // Takes a turn whose prompt is computed on another node (handover/handovers.h).
  void take_over(const Arrival& arrival, const std::shared_ptr<Handover>& handover);
  // True iff a sequence of `tokens` tokens can ever run here.
  bool fits(int64_t tokens) const;
  // Fails the node, which loses all turns and their state. Returns the turns whose clients still wait; the
  // caller routes them to other nodes. REQUIRES: no further calls.
  std::vector<Arrival> fail(double now_s);
  // Called when `node`, which computed prompts for this one, has failed: requests that wait for its KV end
  // between two steps. Returns their turns, except those whose prompts were not computed yet.
  std::vector<Arrival> lose_prompts_of(std::size_t node, double now_s);

  // Returns the prompt tokens that this node stores, in the prefix cache or in its own tiers.
  std::array<int64_t, kTiers.size()> found_tokens(const TurnText& text) const {
    return cache_.found_tokens(text);
  }
  EngineFacts facts() const;

  // For checks. turns() counts the turns that wait or are served; pins() counts the pins on the parts of
  // their prompts. check_ended() aborts unless everything has been released; it requires that every session
  // has ended.
  int64_t turns() const {
    return static_cast<int64_t>(scheduler_.requests() + api_server_.requests().size());
  }
  int64_t waiting() const {  // turns that are not admitted yet
    return static_cast<int64_t>(scheduler_.waiting().size() + api_server_.requests().size()) -
           scheduler_.restored_waiting();
  }
  // Returns the number of turns in the engine's queue, not counting those that its API server processes.
  int64_t queued() const {
    return static_cast<int64_t>(scheduler_.waiting().size()) - scheduler_.restored_waiting();
  }
  double held_share() const {
    return static_cast<double>(cache_.pool().held()) / static_cast<double>(cache_.pool().total());
  }
  int64_t pins() const;
  void check_ended() const;
  void record_levels(double now_s);
  double held_tokens() const;
  double tokens_of(int64_t blocks) const;

 private:
  // arrival
  void arrive(const Arrival& arrival);
  void add(RequestPtr request, double from_s);
  RequestPtr request_of(const Arrival& arrival, std::vector<Cut>* cuts) const;
  bool fits_at_all(const Request& request) const;
  bool may_wait() const;
  void refuse(Request& request);
  void cut_fronts(const Arrival& arrival, const std::vector<Cut>& cuts);
  void join(double now_s);
  void take_restored(double now_s);
  bool heeds_newcomers() const;

  // steps
  std::function<void(Request&)> report_progress();
  Plan plan_step(double now_s);
  void begin_step(double now_s);
  double end_of_step(double now_s);
  double idle_until_s(double now_s) const;
  void look_around(double now_s);
  void clear_up(double now_s);

  // answers and ends of turns (turn_ends.cpp)
  void token(Request& request, double now_s, bool after_prompt);
  void complete(Request& request, double now_s);
  void hand_over(Request& request);
  void release(const Request& request);
  void drop_leaving(double now_s);
  bool may_leave(const Request& request) const {
    return request.phase != RequestPhase::loading && !steps_.computes(request);
  }
  void drop(Request& request, double now_s);
  void note_abandoned(Request& request, double now_s);
  int64_t prompt_tokens_computed(Request& request) const;

  void record_level(Level which, double value, double now_s);
  // Aborts if an invariant is broken (invariants.cpp).
  void check(double now_s);
  void check_requests() const;

  InstanceParts parts_;
  const EngineModel& engine_;
  const ServingOptions& serving_;
  const KeepingOptions& keeping_;
  Arrivals& arrivals_;
  Forecast forecast_;
  ContextCache cache_;
  ApiServer api_server_;
  Scheduler scheduler_;
  Steps steps_;
  Saves saves_;
  Handovers handovers_;
  Admissions admissions_;
  int64_t arrived_ = 0, completed_ = 0, refused_ = 0, dropped_ = 0;
  double newcomer_s_ = std::numeric_limits<double>::infinity();  // time of the first unprocessed arrival

  Deadlines deadlines_;
  std::vector<Request*> leaving_;  // abandoned or lost requests that have not left yet, in order
  double recorded_s_ = 0;          // time of the last recorded levels
  int64_t recorded_waiting_ = 0;   // turns that waited at recorded_s_, plus arrivals since
  double checked_s_ = 0, checked_progress_s_ = 0;  // at the last check()
};

}  // namespace kvcap
