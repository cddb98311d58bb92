// Admissions: admits an engine's waiting requests and restores their contexts.
//
// It looks up the prompt of a waiting request in the GPU's prefix cache and in the tiers. The request may
// wait for a prefetch, for a load that another request has started, or for the index of a remote tier. If the
// tiers hold more of its history than the prefix cache, its context is restored concurrently with the steps
// of other requests.
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

// The components of an engine that Admissions uses; they outlive it.
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

  // Forgets the reasons for which requests waited while the last step was planned.
  void begin_planning() { waits_for_fetch_ = may_be_passed_ = false; }
  // True iff some waiting request may be overtaken by requests behind it.
  bool may_be_passed() const { return may_be_passed_; }
  // True while a load blocks the whole engine.
  bool is_blocking() const { return blocking_loads_ > 0; }

  // next_event_s() returns the time of the earliest known event after which a waiting request may be
  // admitted. begin_round() discards the events that were known before.
  void begin_round() { retry_s_ = std::numeric_limits<double>::infinity(); }
  double next_event_s() const;
  // Called when a prefetch has ended, and when blocks for which requests may wait have been freed.
  void fetched();
  void blocks_freed(bool in_run);

  // Ends the next restoration that has finished by `now_s` and has been reported to the scheduler. Returns
  // its request, or nullptr if there is none.
  Request* take_restored(double now_s);

  // Time is divided into rounds. A round ends with each step; finished loads are then reported to the
  // scheduler, and the results of lookups become available. While no step can run, rounds take no time:
  // pass_round() begins the next round, or returns false if no request waits for one.
  void end_rounds(int64_t rounds) { rounds_ += rounds; }
  bool pass_round();
  // Returns the number of rounds until a load is reported or the result of a lookup is available; the largest
  // int64_t if neither is pending.
  int64_t next_round() const;
  // Records the GPU time that the unfinished restorations of a failed node have used.
  void fail(double now_s) const;

  // Abort if an invariant is broken (invariants.cpp).
  void check() const;
  void check_ended() const;

 private:
  struct Restored {
    double time_s = 0;
    uint64_t order = 0;
    Request* request = nullptr;
    bool blocks = false;  // the load blocks the whole engine
    RestoreTimes times = {};
    bool first = false;    // the request's first restoration
    int64_t reported = 0;  // the round in which the end is reported
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
  // Set while a step is planned: waits_for_fetch_ if some request waits for a prefetch, may_be_passed_ if
  // some waiting request may be overtaken.
  bool waits_for_fetch_ = false, may_be_passed_ = false;
  double retry_s_ = std::numeric_limits<double>::infinity();
  int64_t blocking_loads_ = 0;      // restorations that block the whole engine
  std::vector<Restored> restored_;  // heap of restorations whose end is known
  uint64_t restorations_ = 0;
  std::deque<Restored> unreported_;  // finished restorations that are not reported yet, in order
  int64_t rounds_ = 0;
  int64_t lookup_round_ = -1;  // the last round in which a lookup in farther tiers began
  StepPlan outlook_;           // scratch
};

}  // namespace kvcap
