// Recorder: collects what happens during a simulation and returns a RunResult at its end. It has no clock:
// callers pass the times. Warm-up turns are recorded, but excluded from latencies and hits.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/resource.h"
#include "base/tier.h"
#include "metrics/calls.h"
#include "metrics/result.h"

namespace kvcap {

// Quantities that are constant between events and whose means over time form a series. The levels of requests
// come first, then the bytes stored in each tier.
enum class Level : uint8_t { waiting, running, kv_tokens, stored };
inline constexpr std::size_t kRequestLevels = static_cast<std::size_t>(Level::stored);
inline constexpr std::size_t kLevelCount = kRequestLevels + kTiers.size();
constexpr Level stored_in(Tier tier) { return static_cast<Level>(kRequestLevels + index(tier)); }
std::string level_name(std::size_t level);

// Mean tokens per turn.
struct MeanTurn {
  double prompt_tokens = 0, output_tokens = 0;
  double computed_tokens = 0;  // prompt tokens that were computed
};

// What the summary of a finished run needs to know about the scenario: prices, targets, texts.
struct RunFacts {
  std::string scenario_name, scenario_json, policy, policy_summary, hardware_provenance, quality_note;
  bool is_bound = false;
  std::vector<std::string> notes;
  double slo_ttft_ms = -1, slo_tpot_ms = -1;  // negative: no target
  double stored_bytes_per_token = 0;
  bool routes_by_beliefs = false;  // true: the routing index may be stale
  double reserved_bytes = 0;       // KV memory that a sequence reserves when it is admitted; 0: it grows
  int64_t replicas = 1;            // engines of the fleet; the fields below are totals over all of them
  int64_t prefill_replicas = 0;    // engines that compute prompts for the others; 0: every engine does both
  bool shared_remote = false;
  double gpu_usd_per_hour = 0;  // all GPUs of the profile; NaN: not known
  int64_t gpus = 1;             // number of GPUs
  // Number of GPUs that work in lockstep as a group; the seconds that busy() and reused() record are seconds
  // of such a group. gpus_per_decoding_group: the same for nodes that only decode.
  int64_t gpus_per_group = 1, gpus_per_decoding_group = 1;
  bool gpus_are_bought = false;
  PerTier tier_usd_per_hour{};  // provisioned capacity; NaN: not known
  PerTier tier_free_bytes{};    // provisioned bytes that the GPUs' rent includes
  PerTier tier_bytes{};         // provisioned capacity in bytes
  // True: the tier bills the peak of the stored bytes, not the provisioned capacity.
  std::array<bool, kTiers.size()> bills_filled{};
  std::array<bool, kTiers.size()> machine_has{};  // whether the machine has the tier
  double remote_usd_per_request = 0;
  int64_t kv_capacity_tokens = 0;
  std::optional<int64_t> max_model_len;  // the engine refuses longer turns
  bool cuts_warmup = false;        // excludes the turns before the cut that MSER finds, in addition to those
                                   // marked as warm-up
  bool cuts_unsteady = false;      // excludes turns that arrive outside the steady window
  bool rates_over_run = false;     // rates, utilizations and prices cover the run, not the steady window
  double offered_turns_per_s = 0;  // mean rate; 0 in a closed loop, where the offered load equals the served
                                   // load
  // Returns the seconds per turn of a fully loaded node; empty: not known.
  std::function<double(const MeanTurn&)> gpu_s_of_turn;
  // Returns the seconds that an idle engine takes to prefill the prompt tokens that the turn had to compute;
  // empty: not known.
  std::function<double(const TurnRecord&)> idle_prefill_s;
  bool closed_loop = false;        // a session begins when another one has ended
  bool rate_varies = false;        // the rate of sessions changes over time, by the trace or by the scenario
  double duration_s = 0;           // first arrival (time 0) to the end of the last session
  double ssd_endurance_bytes = 0;  // sum over all devices; 0: not stated
  double ssd_purchase_usd = 0;     // sum over all devices; 0: rented
  double ssd_replacement_usd = 0;  // sum over all rented devices, if bought new; 0: not stated
  // Watts per GPU; negative: not stated, so no energy is counted.
  double gpu_idle_w = -1, gpu_busy_w = -1;
  PerTier tier_w{};         // watts of the provisioned capacity
  double usd_per_kwh = -1;  // negative: not stated
  double pue = 1;
  bool names_tier(Tier tier) const { return !tier_row(tier).table || machine_has[index(tier)]; }
  std::vector<CallOfTurn> calls;  // one per session if a turn consists of several calls; otherwise empty
};

class TraceEvents;

class Recorder {
 public:
  // `trace`: if not null, also receives busy times and levels; must outlive the Recorder. `prefill_nodes`:
  // the first nodes, this many, only prefill, and the others decode; 0: every node does both.
  explicit Recorder(int64_t expected_turns, TraceEvents* trace = nullptr, std::size_t prefill_nodes = 0);
  ~Recorder();

  void turn(const TurnRecord& record);
  // Adds `count` inter-token latencies of gap_s each.
  void inter_token(double gap_s, int64_t count);
  // Adds the inter-token latencies of consecutive decode steps i = 0 .. steps-1: step i lasted first_s + i *
  // growth_s and generated `sequences` tokens.
  void inter_token_run(double first_s, double growth_s, int64_t steps, int64_t sequences);
  // Sets a level of one node. The recorded level is the sum over nodes.
  void level(Level which, double value, double now_s, std::size_t node = 0);
  // Adds `busy_s` seconds of a node's work, spread evenly over [from_s, to_s].
  void busy(Resource which, double busy_s, double from_s, double to_s, std::size_t node = 0);
  void read(Tier tier, double bytes, double requests, double now_s);
  void wrote(Tier tier, double bytes, double requests, double now_s);
  // Adds a routed prompt: how many of its tokens the router expects on the chosen node, and how many are
  // stored there.
  void believed(int64_t tokens, int64_t there_tokens);
  void preempted();
  // A step verified `draft_tokens` drafted tokens of one sequence and accepted `accepted` of them.
  void drafted(int64_t draft_tokens, int64_t accepted);
  // Adds a repeated load of a request's hit tokens. The load is repeated because a preemption discarded the
  // request's KV.
  void reloaded(Tier tier, int64_t tokens, double bytes, double requests, double now_s);
  // Adds a hit. `prefill_s`: how long the prefill of the hit tokens would have taken. `restore_s`: how long
  // the restoration computed. `in_prefill`: that computation is part of the turn's prefill. Both are seconds
  // of one tensor-parallel group.
  void reused(double prefill_s, double restore_s, bool in_prefill = false);
  // A turn starts over on another node because its node failed.
  void retried();
  // A client gave up an attempt of a turn.
  void abandoned();
  // An engine drops an attempt that its client gave up, and which has spent `inside_s` in the engine.
  void dropped(double inside_s);
  // The tokens that an engine computed and generated for an abandoned attempt were wasted.
  void wasted(int64_t prompt_tokens, int64_t output_tokens);
  // A save or a demotion was refused because a write queue was full.
  void refused_save();
  // The number of bytes that wait in write queues changes by `bytes`.
  void waiting_saves(double bytes);
  // A prompt's KV was transferred to another node, which took `seconds` from the first byte to the last.
  void handed_over(double bytes, double seconds);
  // A prompt's KV expired before a decode node fetched it.
  void gave_up_handover();
  // KV was copied within its buffers.
  void copied(double bytes, double seconds);

  RunResult finish(const RunFacts& facts);

 private:
  struct State;
  std::unique_ptr<State> state_;
  TraceEvents* trace_;
  std::size_t prefill_nodes_;
};

// Combines replications of one scenario. Numbers become means with 95 % intervals (Student t); a verdict on
// which the runs differ becomes undecided; distributions are averaged quantile by quantile; history bins are
// averaged, weighted by their turns. Series and turns are those of the first run. A single run is returned
// unchanged, with the intervals from its batches.
RunResult combine_replications(std::vector<RunResult> runs);

// The paired difference `setting` - `against` in one metric. Pairs are replications with equal seeds or, if
// each setting has one run of the same workload, batches of the turns that both served. Settings are named
// after their policies; callers rename them if settings differ in something else.
struct Difference {
  std::string setting, against, metric;
  double difference = 0;
  double half_width = 0;  // NaN: not known from one run
  IntervalMethod method = IntervalMethod::replications;
  int64_t n = 0;  // replications or batches
};
// Returns the metrics that paired_differences() compares.
const std::vector<std::string>& compared_metrics();
std::vector<Difference> paired_differences(const std::vector<RunResult>& against,
                                           const std::vector<RunResult>& setting);

}  // namespace kvcap
