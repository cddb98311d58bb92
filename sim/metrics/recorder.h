// Recorder: facts in while the simulation runs, a RunResult out at its end. It draws no conclusions while
// time passes and knows no clock; every call carries its times. Warm-up turns are recorded and left out of
// the metrics.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/resource.h"
#include "base/tier.h"
#include "metrics/calls.h"
#include "metrics/result.h"

namespace kvcap {

// Piecewise-constant quantities whose mean over time makes a series.
// After those of requests come the bytes stored in each tier.
enum class Level : uint8_t { waiting, running, kv_tokens, stored };
inline constexpr std::size_t kRequestLevels = static_cast<std::size_t>(Level::stored);
inline constexpr std::size_t kLevelCount = kRequestLevels + kTiers.size();
constexpr Level stored_in(Tier tier) { return static_cast<Level>(kRequestLevels + index(tier)); }
std::string level_name(std::size_t level);

// Means over turns.
struct MeanTurn {
  double prompt_tokens = 0, output_tokens = 0;
  double computed_tokens = 0;  // of the prompt
};

// What the finished run needs besides the facts: prices, targets, texts.
struct RunFacts {
  std::string scenario_name, scenario_json, policy, policy_summary, hardware_provenance, quality_note;
  bool is_bound = false;
  std::vector<std::string> notes;
  double slo_ttft_ms = -1, slo_tpot_ms = -1;  // negative: no target
  double stored_bytes_per_token = 0;
  bool routes_by_beliefs = false;  // by an index that may be wrong
  double reserved_bytes = 0;       // KV memory that a sequence takes when it is admitted; 0: it grows
  int64_t replicas = 1;            // engines of the fleet; what follows is of all of them together
  int64_t prefill_replicas = 0;    // of them, those that compute prompts for the others; 0: all do both
  bool shared_remote = false;
  double gpu_usd_per_hour = 0;  // all GPUs of the profile
  int64_t gpus = 1;             // how many that are
  int64_t gpus_per_group = 1;   // that work in lockstep: what `busy` and `reused` count the seconds of
  bool gpus_are_bought = false;
  PerTier tier_usd_per_hour{};  // provisioned capacity
  PerTier tier_bytes{};         // the same in bytes
  // True: of the provisioned bytes only those are billed that the run fills at most.
  std::array<bool, kTiers.size()> bills_filled{};
  std::array<bool, kTiers.size()> machine_has{};  // tiers, of those that are not named everywhere
  double remote_usd_per_request = 0;
  int64_t kv_capacity_tokens = 0;
  bool cuts_warmup = false;        // what MSER finds is left out, beside the turns that are marked
  bool cuts_unsteady = false;      // turns that arrive outside of the steady window are left out too
  bool rates_over_run = false;     // rates, utilizations and prices cover the run, not the steady window
  double offered_turns_per_s = 0;  // on average; 0 in a closed loop, which offers what is served
  std::function<double(const MeanTurn&)>
      gpu_s_of_turn;  // of a full node (run/offered_load.h); empty: not known
  // Of the part of its prompt that a turn did not find (run/idle_prefill.h); empty: not known.
  std::function<double(const TurnRecord&)> idle_prefill_s;
  bool closed_loop = false;        // a session begins when another has ended
  bool rate_varies = false;        // with the time: by the trace or by what the scenario says
  double duration_s = 0;           // first arrival (time 0) to the end of the last session
  double ssd_endurance_bytes = 0;  // of all devices; 0 = not stated
  double ssd_purchase_usd = 0;     // of all devices; 0 = rented
  double ssd_replacement_usd = 0;  // of all rented devices, were they new; 0 = not stated
  // Watts of one GPU; negative: not stated, so that no energy is counted.
  double gpu_idle_w = -1, gpu_busy_w = -1;
  PerTier tier_w{};         // of the provisioned capacity
  double usd_per_kwh = -1;  // negative: not stated
  double pue = 1;
  bool names_tier(Tier tier) const { return !tier_row(tier).table || machine_has[index(tier)]; }
  std::vector<CallOfTurn> calls;  // of the sessions, where turns are several calls; else empty
};

class TraceEvents;

class Recorder {
 public:
  // `trace`, if any, gets what is busy and the levels as well, and outlives it.
  // The first `prefill_nodes` nodes compute prompts for the others; 0: every node does both.
  explicit Recorder(int64_t expected_turns, TraceEvents* trace = nullptr, std::size_t prefill_nodes = 0);
  ~Recorder();

  void turn(const TurnRecord& record);
  // `count` tokens each came gap_s after the one before in their sequences.
  void inter_token(double gap_s, int64_t count);
  // Steps i = 0 .. steps-1 of a decode run lasted first_s + i * growth_s and gave `sequences` tokens each.
  void inter_token_run(double first_s, double growth_s, int64_t steps, int64_t sequences);
  // Of one node of a fleet; the level is the sum over nodes.
  void level(Level which, double value, double now_s, std::size_t node = 0);
  // `busy_s` seconds of work of a node spread evenly over [from_s, to_s].
  void busy(Resource which, double busy_s, double from_s, double to_s, std::size_t node = 0);
  void read(Tier tier, double bytes, double requests, double now_s);
  void wrote(Tier tier, double bytes, double requests, double now_s);
  // A preempted request lost its KV; `tokens` of it were brought back from the store again.
  // Of a prompt that a router sends to a node: tokens that it believes to lie there, and that do.
  void believed(int64_t tokens, int64_t there_tokens);
  void preempted();
  // A step verified `draft_tokens` drafts of one sequence and accepted so many of them.
  void drafted(int64_t draft_tokens, int64_t accepted);
  void reloaded(Tier tier, int64_t tokens, double bytes, double requests, double now_s);
  // Tokens were found whose prefill would have taken prefill_s; bringing them back computed for restore_s,
  // `in_prefill` where that is part of the turn's prefill. Seconds of one tensor-parallel group.
  void reused(double prefill_s, double restore_s, bool in_prefill = false);
  // A turn starts over on another node, for its own has failed.
  void retried();
  // A client gave up an attempt of a turn.
  void abandoned();
  // An engine drops such an attempt after `inside_s`; what it computed and generated for it is lost.
  void dropped(double inside_s);
  void wasted(int64_t prompt_tokens, int64_t output_tokens);
  // A write queue was full: a save or a demotion did not happen.
  void refused_save();
  // Bytes that wait in write queues, over all tiers of a node, changed by so much.
  void waiting_saves(double bytes);
  // A prompt's KV went to another node: `seconds` from its first byte to its last.
  void handed_over(double bytes, double seconds);
  // Nobody fetched a prompt's KV as long as it was kept.
  void gave_up_handover();
  // Windows of KV moved within their buffers.
  void copied(double bytes, double seconds);

  RunResult finish(const RunFacts& facts);

 private:
  struct State;
  std::unique_ptr<State> state_;
  TraceEvents* trace_;
  std::size_t prefill_nodes_;
};

// Replications of one scenario: numbers become means with 95 % intervals (Student t), a verdict on which the
// runs do not agree is undecided, distributions are averaged quantile by quantile, the histories' bins
// weighted by their turns; series and turns are the first run's. A single run is returned as it is, with the
// intervals of its batches.
RunResult combine_replications(std::vector<RunResult> runs);

// Paired differences setting - against, metric by metric: over replications with equal seeds, or with a
// single one over batches of the turns that both have served, where it is the same workload. They are named
// after the policies; where settings differ in something else, the caller names them anew.
struct Difference {
  std::string setting, against, metric;
  double difference = 0;
  double half_width = 0;  // NaN where one run does not tell
  IntervalMethod method = IntervalMethod::replications;
  int64_t n = 0;  // of replications or of batches
};
std::vector<Difference> paired_differences(const std::vector<RunResult>& against,
                                           const std::vector<RunResult>& setting);

}  // namespace kvcap
