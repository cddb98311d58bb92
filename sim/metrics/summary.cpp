#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "base/float_values.h"
#include "base/text/format.h"
#include "metrics/asked_turns.h"
#include "metrics/cost.h"
#include "metrics/counted_turns.h"
#include "metrics/recorded.h"
#include "metrics/statistics/quantiles.h"
#include "metrics/statistics/stability.h"
#include "metrics/turn_curves.h"
#include "metrics/turn_means.h"

namespace kvcap {
namespace {

constexpr int kSeriesBins = 200;
// If generating the answers alone takes more than this multiple of the available GPU time, the machine cannot
// serve the load, whatever the error of the machine model.
constexpr double kSurelyTooMuch = 1.5;
// Below this offered load, a growing number of waiting requests does not show an overload while the run still
// fills.
constexpr double kSurelyServed = 0.9;
// Largest share of failed turns at which a load counts as served. A 99th percentile ignores 1 %, too.
constexpr double kMostFailed = 0.01;
// Number of parts of a window, for the busiest resource in each part.
constexpr int kBottleneckParts = 1000;
// Most turns whose prefill is compared with that on an idle engine; more turns are sampled evenly.
constexpr std::size_t kMostIdlePrefills = 4096;

// Number of latencies that results list before the inter-token latency.
constexpr std::size_t kBeforeItl = 5;

double last_session_begins_s(const std::vector<TurnRecord>& turns) {
  double last_s = 0;
  for (const TurnRecord& turn : turns) {
    if (turn.turn == 0) last_s = std::max(last_s, turn.arrival_s);
  }
  return last_s;
}

// Adds the groups of metrics to the result, in the order in which they are written.
class Summary {
 public:
  Summary(const Recorded& recorded, const RunFacts& facts, const Settling& settling, const Window& steady)
      : recorded_(recorded), facts_(facts), settling_(settling), steady_(steady) {
    window_ = window_of_rates();
  }

  RunResult summarise() {
    count_tokens();
    for (std::size_t i = 0; i < turn_means().size(); ++i) {
      if (i == kBeforeItl) add_distribution("itl_ms", recorded_.gaps.describe_ms());
      if (!turn_means()[i].latency.empty()) add_latency(turn_means()[i]);
    }
    add_hits();
    add_tiers();
    add_utilization();
    add_disaggregation();
    add_kv_buffer();
    add_speculation();
    add_breakdown();
    add_cost();
    add_warmup();
    result_.intervals = batch_intervals(recorded_.turns);
    add_series();
    result_.by_history = by_history(recorded_.turns);
    return std::move(result_);
  }

 private:
  void add(std::string name, MetricValue value) {
    result_.metrics.push_back({std::move(name), std::move(value)});
  }

  template <class Value>
  void add_tiers(const std::string& name, const std::array<Value, kTierCount>& values) {
    for (Tier tier : kTiers)
      if (facts_.names_tier(tier)) add(name + "." + std::string(kvcap::name(tier)), values[index(tier)]);
  }

  // Adds totals over the run, and rates over the window of the rates.
  void count_tokens() {
    int64_t completed = 0, rejected = 0, failed = 0, truncated = 0;
    for (const TurnRecord& turn : recorded_.turns) {
      truncated += turn.truncated;
      rejected += turn.rejected;
      failed += turn.failed;
      if (!turn.answered()) continue;
      ++completed;
      served_.input_tokens += static_cast<double>(turn.history_tokens) + turn.input_tokens;
      served_.output_tokens += turn.output_tokens;
      served_.hit_turns += turn.hit_tokens > 0;
    }
    const Stability stability = judge();
    add("duration", facts_.duration_s);
    add("completed", completed);
    add("rejected", rejected);
    add("failed", failed);
    add("abandoned", recorded_.abandoned);
    add("truncated", truncated);
    const auto all = static_cast<double>(recorded_.turns.size());
    add("rejected_share", static_cast<double>(rejected) / all);
    add("failed_share", static_cast<double>(failed) / all);
    add("truncated_share", static_cast<double>(truncated) / all);
    add("stable.verdict", std::string(name(stability.verdict)));
    add("stable.reason", stability.reason);
    add_offered_load();
    add("total_input_tokens", static_cast<int64_t>(served_.input_tokens));
    add("total_output_tokens", static_cast<int64_t>(served_.output_tokens));
    add("wasted_prompt_tokens", recorded_.wasted_prompt_tokens);
    add("wasted_output_tokens", recorded_.wasted_output_tokens);
    add_rates();
  }

  // Adds the rates of the work inside the window. A turn counts when its answer is complete, its prompt at
  // the first token, and its output tokens are spread evenly from the first to the last token.
  void add_rates() {
    double completed = 0, good = 0;
    for (const TurnRecord& turn : recorded_.turns) {
      if (!turn.answered()) continue;
      const double first_s = turn.arrival_s + turn.ttft_s, last_s = turn.arrival_s + turn.e2el_s;
      if (window_.has(first_s))
        in_window_.input_tokens += static_cast<double>(turn.history_tokens) + turn.input_tokens;
      in_window_.output_tokens += window_.share(first_s, last_s) * turn.output_tokens;
      if (!window_.has(last_s)) continue;
      ++completed;
      good += meets_targets(turn);
    }
    const bool has_target = facts_.slo_ttft_ms >= 0 || facts_.slo_tpot_ms >= 0;
    const double length_s = window_.length_s();
    add("request_throughput", completed / length_s);
    add("output_throughput", in_window_.output_tokens / length_s);
    add("total_token_throughput", (in_window_.input_tokens + in_window_.output_tokens) / length_s);
    add("request_goodput", has_target ? good / length_s : kNaN);
    add("rates.from_s", window_.from_s);
    add("rates.to_s", window_.to_s);
    add("rates.steady", static_cast<int64_t>(steady_.is_steady));
  }

  bool meets_targets(const TurnRecord& turn) const {
    if (facts_.slo_ttft_ms >= 0 && 1e3 * turn.ttft_s > facts_.slo_ttft_ms) return false;
    return facts_.slo_tpot_ms < 0 || !has_tpot(turn) || 1e3 * tpot_s(turn) <= facts_.slo_tpot_ms;
  }

  struct Offered {
    double load = kNaN;
    std::string bound = "none";
  };

  // Returns the offered load of the busiest resource: the work that arrives per second, whether it is served
  // or not, divided by the work that the resource can do per second. For GPUs, the work of a turn is
  // gpu_s_of_turn plus the computation of restorations; for a link, the mean work per turn in this run.
  Offered offered() const {
    const AskedTurns asked(recorded_, facts_);
    const double served = asked.worth_of_work(), servable = asked.servable();
    Offered found;
    if (servable == 0 || !(facts_.offered_turns_per_s > 0) || !facts_.gpu_s_of_turn) return found;
    const double turns_per_s =
        facts_.offered_turns_per_s * servable / static_cast<double>(recorded_.turns.size());
    const auto nodes = static_cast<double>(facts_.replicas);
    const double restore_s = served > 0 ? recorded_.restore_compute_s / served : 0;
    const double gpu_s = facts_.gpu_s_of_turn(asked.mean()) + restore_s;
    found = {turns_per_s * gpu_s / nodes, std::string(kResourceNames[index(Resource::gpu)])};
    for (std::size_t i = 0; i < kResourceCount && served > 0; ++i) {
      if (i == index(Resource::gpu)) continue;
      const double busy_s = recorded_.busy[i].integral(facts_.duration_s) / links_of(i);
      const double of_link = turns_per_s * busy_s / served;
      if (of_link > found.load) found = {of_link, std::string(kResourceNames[i])};
    }
    return found;
  }

  void add_offered_load() {
    const Offered found = offered();
    add("offered_load", found.load);
    add("offered_bound_by", found.bound);
  }

  // True iff so many turns end while sessions still begin that this part of the run is representative, even
  // if a few sessions last for days.
  bool is_served_while_sessions_begin() const {
    // A rate over 2,000 answers has a standard error of some 2 %.
    constexpr double kEnough = 0.25, kLeastTurns = 2000;
    double all = 0, inside = 0;
    for (const TurnRecord& turn : recorded_.turns) {
      if (!turn.answered()) continue;
      ++all;
      inside += steady_.has(turn.arrival_s + turn.e2el_s);
    }
    return !facts_.closed_loop && steady_.to_s > 0 && inside >= kLeastTurns && inside >= kEnough * all;
  }

  // Returns the window over which rates are computed. If there is no steady window and the machine falls
  // behind, the window ends when the last session begins, because afterwards the machine only works off a
  // long queue.
  Window window_of_rates() const {
    if (facts_.rates_over_run) return {0, facts_.duration_s};
    if (steady_.is_steady || is_served_while_sessions_begin()) return steady_;
    const double last_begin_s = last_session_begins_s(recorded_.turns);
    const bool falls_behind = last_begin_s > 0 && judge().verdict == Verdict::saturated;
    return {0, falls_behind ? last_begin_s : facts_.duration_s};
  }

  // Judges whether the load is served. If clients give up, no queue grows at any offered load, so the share
  // of failed turns decides.
  Stability judge() const {
    const double failed = failed_share();
    if (failed > kMostFailed) {
      return {Verdict::saturated, std::string(kClientsGiveUp) + " " + format_percent(failed) +
                                      " of the turns for good; a load counts as served only if at most " +
                                      format_percent(kMostFailed) + " fail"};
    }
    if (facts_.closed_loop)
      return {Verdict::stable, "in a closed loop a session begins when another ends, so no queue can grow"};
    const Stability found =
        judge_stability(recorded_[Level::waiting].series, recorded_[Level::running].series, steady_,
                        chance_of(recorded_.turns, steady_, facts_.rate_varies));
    if (found.verdict == Verdict::saturated && !steady_.is_filled && offered().load < kSurelyServed)
      return {Verdict::undecided, "waiting requests grow while the run fills, but the offered load is only " +
                                      format_percent(offered().load) + ": run longer"};
    if (found.verdict != Verdict::undecided || facts_.rate_varies || facts_.rates_over_run) return found;
    const double answers = generation_load();
    if (!(answers > kSurelyTooMuch)) return found;
    return {Verdict::saturated,
            "generating the answers alone takes " + format_percent(answers) + " of the available GPU time"};
  }

  // Returns the share of the GPUs' time that generating the answers takes, without any prefill; NaN if not
  // known.
  double generation_load() const {
    const AskedTurns asked(recorded_, facts_);
    if (!(asked.answered() > 0) || !facts_.gpu_s_of_turn) return kNaN;
    MeanTurn mean = asked.mean();
    mean.computed_tokens = 0;
    return facts_.offered_turns_per_s * facts_.gpu_s_of_turn(mean) / static_cast<double>(facts_.replicas);
  }

  // Returns the share of failed turns among those that arrive inside the steady window, or among all turns if
  // there is no steady window.
  double failed_share() const {
    double failed = 0, sent = 0;
    for (const TurnRecord& turn : recorded_.turns) {
      if (steady_.is_steady && !steady_.has(turn.arrival_s)) continue;
      ++sent;
      failed += turn.failed;
    }
    return sent > 0 ? failed / sent : 0;
  }

  void add_latency(const TurnMean& mean) {
    std::vector<double> values_ms;
    values_ms.reserve(recorded_.turns.size());
    for (const TurnRecord& turn : recorded_.turns) {
      if (!is_measured(turn)) continue;
      if (const Stretches::Sums sums = mean.of(turn); sums.weight > 0) values_ms.push_back(sums.value);
    }
    add_distribution(std::string(mean.latency), describe(values_ms));
  }

  void add_distribution(const std::string& name, Distribution distribution) {
    add("mean_" + name, distribution.mean);
    add("median_" + name, distribution.median);
    add("std_" + name, distribution.std);
    add("p90_" + name, distribution.p90);
    add("p95_" + name, distribution.p95);
    add("p99_" + name, distribution.p99);
    result_.distributions.emplace_back(name, std::move(distribution.quantiles));
  }

  // Counts each turn once, at its first admission.
  void add_hits() {
    int64_t measured = 0, prompt_tokens = 0, hit_turns = 0, all_hit_tokens = 0, with_history = 0;
    double service_s = 0;
    std::array<int64_t, kTiers.size()> hit_tokens{}, used_tokens{};
    for (const TurnRecord& turn : recorded_.turns) {
      if (!is_measured(turn)) continue;
      ++measured;
      prompt_tokens += int64_t{turn.history_tokens} + turn.input_tokens;
      hit_turns += turn.hit_tokens > 0;
      all_hit_tokens += turn.hit_tokens;
      for (Tier tier : kTiers) {
        hit_tokens[index(tier)] += turn.tier_hit_tokens[index(tier)];
        used_tokens[index(tier)] += turn.tier_used_tokens[index(tier)];
      }
      with_history += turn.history_tokens > 0;
      service_s += turn.history_tokens > 0 ? turn.service_ttft_s : 0;
    }
    // Minus the value under the policy `ideal`, this is the time that restorations add.
    add("mean_service_ttft_with_history_ms", 1e3 * service_s / static_cast<double>(with_history));
    add("token_hit_rate", static_cast<double>(all_hit_tokens) / static_cast<double>(prompt_tokens));
    add("request_hit_rate", static_cast<double>(hit_turns) / static_cast<double>(measured));
    add_tiers("hit_tokens", hit_tokens);
    add_tiers("used_tokens", used_tokens);
  }

  void add_tiers() {
    add("stored_bytes_per_token", facts_.stored_bytes_per_token);
    PerTier peaks{};
    for (Tier tier : kTiers) peaks[index(tier)] = recorded_[stored_in(tier)].peak;
    add_tiers("peak_stored_bytes", peaks);
    add_tiers("read_bytes", recorded_.read_bytes);
    add_tiers("written_bytes", recorded_.written_bytes);
  }

  void add_utilization() {
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      if (!is_named(i)) continue;
      // Saves may continue after the last session has ended; no window contains that work.
      const double busy_s = recorded_.busy[i].integral(window_.from_s, window_.to_s) / links_of(i);
      // The work of a transfer is spread evenly over its time, so the window may contain slightly more work
      // of the transfers at its edges than was really done inside it.
      const double utilization = window_.length_s() > 0 ? std::min(1.0, busy_s / window_.length_s()) : 0;
      add("utilization." + std::string(kResourceNames[i]), utilization);
    }
    add_bottleneck();
    add("kv_capacity_tokens", facts_.kv_capacity_tokens);
    add("peak_kv_tokens", static_cast<int64_t>(std::llround(recorded_[Level::kv_tokens].peak)));
    add("preemptions", recorded_.preemptions);
    add("retried", recorded_.retried);
    add("saves_refused", recorded_.saves_refused);
    add("saves_waiting_bytes", recorded_.peak_waiting_save_bytes);
    add("routing.imbalance", imbalance());
    if (facts_.routes_by_beliefs) {
      add("routing.believed_tokens", recorded_.believed_tokens);
      add("routing.found_tokens", recorded_.there_tokens);
    }
    add("reloaded_tokens", recorded_.reloaded_tokens);
    add("reloaded_bytes", recorded_.reloaded_bytes);
  }

  // Adds how often each resource is the bottleneck. In each part of the window, the utilization of the
  // busiest resource counts for that resource, and the rest of the part for "none".
  void add_bottleneck() {
    std::array<std::vector<double>, kResourceCount> busy;
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      if (recorded_.busy[i].is_zero() || !(window_.length_s() > 0)) continue;
      busy[i] = recorded_.busy[i].means(kBottleneckParts, window_.from_s, window_.to_s);
    }
    std::array<double, kResourceCount> shares{};
    double none = 1;
    for (std::size_t part = 0; part < kBottleneckParts; ++part) {
      std::size_t busiest = 0;
      double most = 0;
      for (std::size_t i = 0; i < kResourceCount; ++i) {
        const double utilization = busy[i].empty() ? 0 : std::min(1.0, busy[i][part] / links_of(i));
        if (utilization <= most) continue;
        most = utilization;
        busiest = i;
      }
      shares[busiest] += most / kBottleneckParts;
      none -= most / kBottleneckParts;
    }
    const auto greatest = std::max_element(shares.begin(), shares.end());
    const auto which = static_cast<std::size_t>(greatest - shares.begin());
    add("bound_by", std::string(*greatest > 0 ? kResourceNames[which] : "none"));
    for (std::size_t i = 0; i < kResourceCount; ++i)
      if (is_named(i)) add("bottleneck." + std::string(kResourceNames[i]), shares[i]);
    add("bottleneck.none", std::max(0.0, none));
  }

  bool is_disaggregated() const { return facts_.prefill_replicas > 0; }

  // True iff results contain the resource: NICs only if nodes exchange KV, and devices only of tiers that the
  // machine has.
  bool is_named(std::size_t resource) const {
    if (resource == index(Resource::nic)) return is_disaggregated();
    return std::none_of(kTierRows.begin(), kTierRows.end(), [&](const TierRow& one) {
      return !facts_.names_tier(one.tier) && (index(one.read) == resource || index(one.write) == resource);
    });
  }

  // Returns the number of instances of a resource: one per node, or a single one for a shared remote store.
  // Nodes that only decode have no tiers below the GPU.
  double links_of(std::size_t resource) const {
    const bool is_shared = facts_.shared_remote && resource == index(Resource::remote);
    if (is_shared) return 1;
    const bool is_of_all = resource == index(Resource::gpu) || resource == index(Resource::nvlink) ||
                           resource == index(Resource::nic);
    return static_cast<double>(is_disaggregated() && !is_of_all ? facts_.prefill_replicas : facts_.replicas);
  }

  // Adds totals of transfers over the whole run, shares of TTFT over measured turns, and utilizations over
  // the window.
  void add_disaggregation() {
    if (!is_disaggregated()) return;
    double ttft_s = 0, transfer_s = 0;
    for (const TurnRecord& turn : recorded_.turns) {
      if (!is_measured(turn)) continue;
      ttft_s += turn.ttft_s;
      transfer_s += turn.transfer_s;
    }
    const auto handovers = static_cast<double>(recorded_.handovers);
    add("disaggregation.transfers", recorded_.handovers);
    add("disaggregation.transfers_given_up", recorded_.handovers_given_up);
    add("disaggregation.transfer_bytes", recorded_.handover_bytes);
    add("disaggregation.mean_transfer_ms", handovers > 0 ? 1e3 * recorded_.handover_s / handovers : kNaN);
    add("disaggregation.transfer_share_of_ttft", ttft_s > 0 ? transfer_s / ttft_s : kNaN);
    const double prefill_s = recorded_.prefill_gpu_busy.integral(window_.from_s, window_.to_s);
    const double all_s = recorded_.busy[index(Resource::gpu)].integral(window_.from_s, window_.to_s);
    const auto prefill_nodes = static_cast<double>(facts_.prefill_replicas);
    const double decode_nodes = static_cast<double>(facts_.replicas) - prefill_nodes;
    const auto share = [this](double busy_s, double nodes) {
      return window_.length_s() > 0 ? std::clamp(busy_s / nodes / window_.length_s(), 0.0, 1.0) : 0;
    };
    add("disaggregation.prefill_gpu_utilization", share(prefill_s, prefill_nodes));
    add("disaggregation.decode_gpu_utilization", share(all_s - prefill_s, decode_nodes));
  }

  // Returns the GPU time of the busiest node divided by the mean over nodes.
  double imbalance() const {
    double sum_s = 0, most_s = 0;
    for (double busy_s : recorded_.gpu_busy_s) {
      sum_s += busy_s;
      most_s = std::max(most_s, busy_s);
    }
    return sum_s > 0 ? most_s * static_cast<double>(facts_.replicas) / sum_s : kNaN;
  }

  void add_kv_buffer() {
    const auto per_token = [&](double total) {
      return served_.output_tokens > 0 ? total / served_.output_tokens : kNaN;
    };
    add("kv_buffer.reserved_bytes", facts_.reserved_bytes);
    add("kv_buffer.copied_bytes", recorded_.copied_bytes);
    add("kv_buffer.copied_bytes_per_output_token", per_token(recorded_.copied_bytes));
    add("kv_buffer.copy_ms_per_output_token", per_token(1e3 * recorded_.copied_s));
  }

  // Adds speculation metrics, counted as in vLLM: a draft is the drafted tokens of one sequence in one step.
  void add_speculation() {
    const auto drafts = static_cast<double>(recorded_.drafts);
    const auto draft_tokens = static_cast<double>(recorded_.draft_tokens);
    const auto accepted = static_cast<double>(recorded_.accepted_tokens);
    add("speculation.drafts", recorded_.drafts);
    add("speculation.draft_tokens", recorded_.draft_tokens);
    add("speculation.accepted_tokens", recorded_.accepted_tokens);
    add("speculation.mean_acceptance_length", drafts > 0 ? 1 + accepted / drafts : kNaN);
    add("speculation.acceptance_rate", draft_tokens > 0 ? accepted / draft_tokens : kNaN);
  }

  // Adds the parts of the mean TTFT. Only exposed times count, i.e. those that delay the first token. "queue"
  // is the wait in the queue after the API server. "prefill" is the rest, so that the parts sum to
  // mean_ttft_ms.
  void add_breakdown() {
    double count = 0, retries = 0, api = 0, queue = 0, lookup = 0, load = 0, restore_compute = 0;
    double decode_queue = 0, transfer = 0, first_step = 0;
    for (const TurnRecord& turn : recorded_.turns) {
      if (!is_measured(turn)) continue;
      ++count;
      retries += turn.earlier_s;
      api += turn.api_s;
      queue += queue_s(turn);
      lookup += turn.lookup_s;
      load += turn.load_s;
      restore_compute += turn.restore_compute_s;
      decode_queue += turn.decode_queue_s;
      transfer += turn.transfer_s;
      first_step += turn.first_step_s;
    }
    const double ms = 1e3 / count;
    add("ttft_breakdown_ms.retries", retries * ms);
    add("ttft_breakdown_ms.api", api * ms);
    add("ttft_breakdown_ms.queue", queue * ms);
    add("ttft_breakdown_ms.lookup", lookup * ms);
    add("ttft_breakdown_ms.load", load * ms);
    add("ttft_breakdown_ms.restore_compute", restore_compute * ms);
    if (is_disaggregated()) {
      add("ttft_breakdown_ms.decode_queue", decode_queue * ms);
      add("ttft_breakdown_ms.transfer", transfer * ms);
      add("ttft_breakdown_ms.first_step", first_step * ms);
    }
    // At least 0: the parts are floats, and the rounding error of a long part may exceed a short prefill.
    add("ttft_breakdown_ms.prefill", std::max(0.0, result_.number("mean_ttft_ms") - retries * ms -
                                                       (api + queue + lookup + load + restore_compute) * ms -
                                                       (decode_queue + transfer + first_step) * ms));
    add("mean_batching_ms", facts_.idle_prefill_s ? 1e3 * mean_batching_s() : kNaN);
  }

  // Returns how much longer prefills last than on an idle engine, not counting the computation of
  // restorations inside prefills. A prefill that overlaps with loading may be shorter than on an idle engine
  // and then counts as 0, so for policies that restore within prefills the result is a lower bound.
  double mean_batching_s() const {
    std::vector<const TurnRecord*> measured;
    double served = 0;
    for (const TurnRecord& turn : recorded_.turns) {
      served += turn.answered();
      if (is_measured(turn)) measured.push_back(&turn);
    }
    const std::size_t every = (measured.size() + kMostIdlePrefills - 1) / kMostIdlePrefills;
    double sum_s = 0, count = 0;
    for (std::size_t i = 0; i < measured.size(); i += every) {
      const TurnRecord& turn = *measured[i];
      const double restored_s = turn.lookup_s + turn.load_s + turn.restore_compute_s;
      const double handed_over_s = turn.decode_queue_s + turn.transfer_s + turn.first_step_s;
      const double prefill_s = turn.ttft_s - before_service_s(turn) - restored_s - handed_over_s;
      sum_s += std::max(0.0, prefill_s - facts_.idle_prefill_s(turn));
      ++count;
    }
    return std::max(0.0, sum_s / count - recorded_.restored_in_prefills_s / served);
  }

  void add_cost() {
    for (Metric& metric : cost_metrics(recorded_, facts_, served_, window_, in_window_))
      result_.metrics.push_back(std::move(metric));
  }

  void add_warmup() {
    int64_t left_out = 0;
    for (const TurnRecord& turn : recorded_.turns) left_out += turn.warmup;
    add("warmup.detected_turns", settling_.can_tell ? static_cast<double>(settling_.turns) : kNaN);
    add("warmup.left_out_turns", left_out);
    add("warmup.method", settling_.method);
  }

  void add_series() {
    const double duration_s = facts_.duration_s;
    if (!(duration_s > 0)) return;
    std::vector<double> centres_s;
    centres_s.reserve(kSeriesBins);
    for (int bin = 0; bin < kSeriesBins; ++bin) centres_s.push_back(duration_s * (bin + 0.5) / kSeriesBins);
    result_.series.emplace_back("time_s", std::move(centres_s));
    for (std::size_t i = 0; i < kLevelCount; ++i) {
      const RecordedLevel& level = recorded_.levels[i];
      if (i < kRequestLevels || level.peak > 0)
        result_.series.emplace_back(level_name(i), level.series.means(kSeriesBins, duration_s));
    }
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      if (recorded_.busy[i].is_zero()) continue;
      std::vector<double> means = recorded_.busy[i].means(kSeriesBins, duration_s);
      for (double& mean : means) mean /= links_of(i);
      result_.series.emplace_back(std::string(kResourceNames[i]) + "_utilization", std::move(means));
    }
    add_turn_series(recorded_.turns, kSeriesBins, duration_s, result_.series);
  }

  const Recorded& recorded_;
  const RunFacts& facts_;
  const Settling& settling_;
  const Window& steady_;  // window for `stable`, independent of the window of rates
  Window window_;         // window of the rates
  Served served_, in_window_;
  RunResult result_;
};

}  // namespace

RunResult summarise(Recorded recorded, const RunFacts& facts) {
  std::sort(recorded.turns.begin(), recorded.turns.end(), [](const TurnRecord& a, const TurnRecord& b) {
    return std::tie(a.arrival_s, a.session, a.turn) < std::tie(b.arrival_s, b.session, b.turn);
  });
  const Settling settling = settling_of(recorded.turns);
  const std::string said = cut_warmup(settling, facts.cuts_warmup, recorded.turns);
  const Window steady = steady_window(recorded.turns);
  std::string unsteady = facts.cuts_unsteady ? cut_unsteady(steady, recorded.turns) : "";
  RunResult result = Summary(recorded, facts, settling, steady).summarise();
  result.scenario_name = facts.scenario_name;
  result.scenario_json = facts.scenario_json;
  result.policy = facts.policy;
  result.notes = facts.notes;
  for (const std::string& note : {said, unsteady})
    if (!note.empty()) result.notes.push_back(note);
  result.policy_summary = facts.policy_summary;
  result.is_bound = facts.is_bound;
  result.slo_ttft_ms = facts.slo_ttft_ms;
  result.slo_tpot_ms = facts.slo_tpot_ms;
  result.quality_note = facts.quality_note;
  result.hardware_provenance = facts.hardware_provenance;
  result.turn_count = std::ssize(recorded.turns);
  result.session_count = std::count_if(recorded.turns.begin(), recorded.turns.end(),
                                       [](const TurnRecord& turn) { return turn.turn == 0; });
  result.dropped_s = recorded.dropped_s;
  result.turns = std::move(recorded.turns);
  return result;
}

}  // namespace kvcap
