// Admissions: how an engine's waiting requests are admitted, and how their contexts are restored.
//
// A waiting request is looked up in the GPU and the tiers. It may wait for a prefetch, for the load of
// another request, or for the index of a remote tier. If tiers hold more of its history than the GPU's prefix
// cache, it is restored concurrently with other requests' steps.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "engine/api_server.h"
#include "engine/context_cache.h"
#include "engine/forecast.h"
#include "engine/handover/handovers.h"
#include "engine/instance_parts.h"
#include "engine/saves.h"
#include "engine/scheduler/scheduler.h"
#include "engine/steps.h"

namespace kvcap {

// The parts of an engine that an admission uses; all outlive it.
struct AdmissionParts {
  const InstanceParts& parts;
  const ApiServer& api_server;
  const Scheduler& scheduler;
  ContextCache& cache;
  Forecast& forecast;
  Steps& steps;
  Saves& saves;
  const Handovers& handovers;
};

class Admissions : public Admitter {
 public:
  explicit Admissions(const AdmissionParts& engine);

  // ---- for the scheduler ----

  Admitted admit(Request& request, const Fits& fits) override;
  void preempted(Request& request) override;

  // ---- for the engine ----

  // Forgets what the requests waited for during the last planning.
  void begin_planning() { waits_for_fetch_ = may_be_passed_ = false; }
  // True iff requests may pass one that waits.
  bool may_be_passed() const { return may_be_passed_; }
  // True while a load blocks the whole engine.
  bool is_blocking() const { return blocking_loads_ > 0; }

  // Forgets the events so far. next_event_s() returns the time of the first event after which a waiting
  // request may be admitted.
  void begin_round() { retry_s_ = std::numeric_limits<double>::infinity(); }
  double next_event_s() const;
  // Notes that a prefetch has ended, or that blocks are free for which requests may wait.
  void fetched();
  void blocks_freed(bool in_run);

  // Ends the next restoration that is over by `now_s` and reported. Returns its request; nullptr: there is
  // none.
  Request* take_restored(double now_s);

  // Rounds: ends of steps, with which ends of loads are reported and lookups are answered. Without work for a
  // step, rounds take no time: pass_round() begins the next one, and returns false if nothing waits for it.
  void end_rounds(int64_t rounds) { rounds_ += rounds; }
  bool pass_round();
  // Returns after how many rounds something happens; unlimited if nothing waits.
  int64_t next_round() const;
  // Records what the unfinished restorations of a failed node have computed.
  void fail(double now_s) const;

  // Abort if an invariant is broken (invariants.cpp).
  void check() const;
  void check_ended() const;

 private:
  struct Restored {
    double time_s = 0;
    uint64_t order = 0;
    Request* request = nullptr;
    bool blocks = false;  // it blocks the whole engine
    RestoreTimes times = {};
    bool first = false;    // of its request
    int64_t reported = 0;  // the round of its report
    bool operator<(const Restored& other) const {
      return time_s != other.time_s ? time_s > other.time_s : order > other.order;
    }
  };

  Admitted pass();
  bool waits_for_index(Request& request);
  bool waits_for_prefetch(Request& request);
  bool is_prefetching(Request& request);
  bool waits_for_lookup(Request& request);
  Request* end(const Restored& restored);
  void record_hits(Request& request, const FoundParts& found, int64_t resident) const;
  Admitted receive(Request& request, const FoundContext& found);
  Admitted restore(Request& request, const FoundContext& context, bool first);
  Context context_of(const Request& request, const FoundParts& found, int64_t resident);
  void start(Request& request, Restoration restoration, int64_t tokens, bool first);
  double add_token(const Request& request, Restoration& restoration, int64_t cached) const;
  void record_reads(const std::vector<Hit>& hits, const Restoration& restoration, bool first) const;
  void count_reuse(const Request& request, int64_t tokens, const Restoration& restoration) const;
  void leave_out(Request& request, const Restoration& restoration, bool first) const;
  bool computes_prompts() const;
  EngineLoad engine_load(const Request& but);
  void push(Restored restored);
  void record_computed(const RestoreTimes& times, double until_s) const;

  const InstanceParts& parts_;
  const EngineModel& engine_;
  const ServingOptions& serving_;
  const KeepingOptions& keeping_;
  const ApiServer& api_server_;
  const Scheduler& scheduler_;
  ContextCache& cache_;
  Forecast& forecast_;
  Steps& steps_;
  Saves& saves_;
  const Handovers& handovers_;
  const int64_t report_steps_;  // rounds from the end of a load to its report
  // During the last planning: a request waits for a prefetch; a request waits while others may pass it.
  bool waits_for_fetch_ = false, may_be_passed_ = false;
  double retry_s_ = std::numeric_limits<double>::infinity();
  int64_t blocking_loads_ = 0;      // restorations that block the whole engine
  std::vector<Restored> restored_;  // heap of restorations whose end is known
  uint64_t restorations_ = 0;
  std::deque<Restored> unreported_;  // restorations that are over, in order
  int64_t rounds_ = 0;
  int64_t lookup_round_ = -1;  // the last round in which a lookup in farther tiers began
  StepPlan outlook_;           // scratch
};

}  // namespace kvcap
