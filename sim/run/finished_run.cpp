#include "run/finished_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/invariants.h"
#include "run/ranks.h"

namespace kvcap {
namespace {

constexpr double kRounding = 1e-6;    // relative, for long sums
constexpr double kRounding_s = 1e-5;  // absolute, because parts of a TTFT are stored as floats

bool close(double a, double b) { return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b)); }
bool at_most(double a, double b) { return a <= b + kRounding * std::abs(b); }

class FinishedRun {
 public:
  FinishedRun(const Scenario& scenario, const Workload& workload, const Machine& machine,
              const RunResult& result)
      : scenario_(scenario), workload_(workload), machine_(machine), result_(result) {}

  void check() const {
    check_turns();
    for (const TurnRecord& turn : result_.turns) check_turn(turn);
    check_reads();
    check_fullness();
    check_series();
    // A turn that is refused after the failure of its node has waited, but this wait is not recorded.
    const bool refused_late = !scenario_.fleet.failures.empty() && result_.number("rejected") > 0;
    // A turn is on two nodes at once if its decode node reserves blocks before the prompt is computed, or if
    // it starts over before it has left its decode node.
    const std::optional<DisaggregationOptions>& disaggregation = scenario_.fleet.disaggregation;
    const bool is_on_two =
        disaggregation && (disaggregation->transfer == KvTransfer::push || !scenario_.fleet.failures.empty());
    if (!divided() && !refused_late && !is_on_two) check_littles_law();
  }

 private:
  // True iff turns are divided into several calls; a turn's times then cover only the calls that it waits
  // for.
  bool divided() const { return machine_.options().calls.value_or(Calls::single) != Calls::single; }
  double metric(std::string_view group, Tier tier) const {
    return result_.number(std::string(group) + "." + std::string(name(tier)));
  }

  void check_turns() const {
    KVCAP_INVARIANT("INV-TURNS", result_.turns.size() == workload_.turns.size());
    std::vector<std::pair<uint32_t, uint32_t>> turns;
    int64_t rejected = 0, failed = 0, retries = 0, abandoned = 0;
    for (const TurnRecord& turn : result_.turns) {
      turns.emplace_back(turn.session, turn.turn);
      rejected += turn.rejected;
      failed += turn.failed;
      retries += turn.retries;
      abandoned += turn.abandoned;
    }
    std::sort(turns.begin(), turns.end());
    KVCAP_INVARIANT("INV-TURNS", std::adjacent_find(turns.begin(), turns.end()) == turns.end());
    KVCAP_INVARIANT("INV-TURNS", result_.number("rejected") == static_cast<double>(rejected));
    KVCAP_INVARIANT("INV-TURNS", result_.number("failed") == static_cast<double>(failed));
    KVCAP_INVARIANT("INV-TURNS", result_.number("completed") + static_cast<double>(rejected + failed) ==
                                     static_cast<double>(workload_.turns.size()));
    KVCAP_INVARIANT("INV-TURNS", result_.number("abandoned") == static_cast<double>(abandoned));
    // A node may have failed during an attempt that was abandoned later.
    const double retried = result_.number("retried");
    KVCAP_INVARIANT("INV-TURNS", divided() || retried == static_cast<double>(retries) ||
                                     (abandoned > 0 && retried > static_cast<double>(retries)));
  }

  void check_turn(const TurnRecord& turn) const {
    KVCAP_INVARIANT("INV-TIMES", turn.arrival_s >= 0);
    KVCAP_INVARIANT("INV-HITS", turn.hit_tokens <= turn.history_tokens);
    KVCAP_INVARIANT("INV-HITS", std::accumulate(turn.tier_hit_tokens.begin(), turn.tier_hit_tokens.end(),
                                                uint32_t{0}) == turn.hit_tokens);
    for (Tier tier : kTiers) {
      KVCAP_INVARIANT("INV-HITS", turn.tier_used_tokens[index(tier)] <= turn.tier_hit_tokens[index(tier)]);
    }
    KVCAP_INVARIANT("INV-NODES", turn.node < engines(scenario_));
    if (!turn.answered()) return;
    KVCAP_INVARIANT("INV-TIMES",
                    turn.service_ttft_s >= 0 && turn.ttft_s >= turn.service_ttft_s - kRounding_s);
    KVCAP_INVARIANT("INV-TIMES", turn.e2el_s >= turn.ttft_s - kRounding_s);
    KVCAP_INVARIANT("INV-TIMES", turn.arrival_s + turn.e2el_s <= result_.number("duration") + kRounding_s);
    KVCAP_INVARIANT("INV-TIMES", turn.lookup_s >= 0 && turn.load_s >= 0 && turn.restore_compute_s >= 0);
    KVCAP_INVARIANT("INV-TIMES", turn.decode_queue_s >= 0 && turn.transfer_s >= 0 && turn.first_step_s >= 0);
    if (divided()) return;
    const double parts_s = double{turn.lookup_s} + turn.load_s + turn.restore_compute_s +
                           turn.decode_queue_s + turn.transfer_s + turn.first_step_s;
    KVCAP_INVARIANT("INV-TIMES", parts_s <= turn.service_ttft_s * (1 + kRounding) + kRounding_s);
  }

  // Checks that found bytes are read at most once, and exactly once if all of them are restored. Skips runs
  // in which failed nodes or abandoned turns cause additional reads. Prefetching tokens that are only guessed
  // to be important may double the reads.
  void check_reads() const {
    if (result_.number("retried") > 0 || result_.number("abandoned") > 0) return;
    const Restore restore = *machine_.options().restore;
    const Split split = machine_.options().split.value_or(Split::best);
    // With a split by tokens, a restoration reads whole tokens of each form, but the stored size is counted
    // as the mean of the forms.
    if (restore == Restore::project && (split == Split::token || split == Split::token_rounded)) return;
    // Windowed layers restore less than was found, and recurrent layers a whole state.
    const bool all = (restore == Restore::load || restore == Restore::copy) && scenario_.model.is_uniform();
    const double state_bytes = scenario_.model.recurrent_state_bytes();
    if (state_bytes > 0 && divided()) return;  // one state per call of a turn
    const double most = restore == Restore::important ? 2 : 1;
    for (Tier tier : kTiers) {
      if (tier == Tier::hbm || !has_tier(scenario_.hardware, tier)) continue;
      double hit_tokens = 0, states_bytes = 0;
      for (const TurnRecord& turn : result_.turns) {
        hit_tokens += turn.tier_hit_tokens[index(tier)];
        states_bytes += turn.tier_hit_tokens[index(tier)] > 0 ? state_bytes : 0;
      }
      const double found_bytes = hit_tokens * machine_.policy().traits().stored_bytes_per_token;
      const double read_bytes = metric("read_bytes", tier);
      KVCAP_INVARIANT("INV-READS", at_most(read_bytes, most * found_bytes + states_bytes));
      KVCAP_INVARIANT("INV-READS", !all || close(read_bytes, found_bytes));
    }
  }

  void check_fullness() const {
    const auto nodes = static_cast<double>(storing_engines(scenario_));
    for (const StoreTier& tier : machine_.tiers()) {
      const bool shared = scenario_.fleet.shared_remote && tier.kind == Tier::remote;
      KVCAP_INVARIANT("INV-FULL", at_most(metric("peak_stored_bytes", tier.kind),
                                          (shared ? 1 : nodes) * tier.capacity_bytes));
    }
    KVCAP_INVARIANT("INV-FULL", result_.number("peak_kv_tokens") <= result_.number("kv_capacity_tokens"));
    for (const Metric& one : result_.metrics) {
      if (!one.name.starts_with("utilization.")) continue;
      const double utilization = std::get<double>(one.value);
      KVCAP_INVARIANT("INV-FULL", utilization >= 0 && at_most(utilization, 1));
    }
  }

  void check_series() const {
    for (const auto& [name, values] : result_.series) {
      for (double value : values) KVCAP_INVARIANT("INV-LEVELS", !(value < 0));
      // Checks the mean over the whole run. A single interval may exceed 1 because work is spread over its
      // duration.
      if (!name.ends_with("_utilization")) continue;
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      KVCAP_INVARIANT("INV-FULL", at_most(sum / static_cast<double>(values.size()), 1));
    }
  }

  // Checks Little's law: mean number of attempts in the system x duration = sum of their times in it. A turn
  // whose last token comes with its restoration is answered immediately but leaves only when the running step
  // ends. Such a turn has one output token or was preempted.
  void check_littles_law() const {
    double inside = 0;
    for (const auto& [name, means] : result_.series) {
      if (name != "waiting" && name != "running") continue;
      inside += std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
    }
    double sum_s = result_.dropped_s, longest_s = 0, leave_late = result_.number("preemptions");
    for (const TurnRecord& turn : result_.turns) {
      if (!turn.answered()) continue;
      sum_s += turn.e2el_s - turn.earlier_s;
      longest_s = std::max(longest_s, turn.e2el_s);
      leave_late += turn.output_tokens == 1 && turn.hit_tokens > 0;
    }
    const double rounding_s = kRounding_s * static_cast<double>(result_.turns.size()) + kRounding * sum_s;
    const double more_s = inside * result_.number("duration") - sum_s;
    KVCAP_INVARIANT("INV-LITTLE", std::abs(more_s) <= rounding_s + leave_late * longest_s);
  }

  const Scenario& scenario_;
  const Workload& workload_;
  const Machine& machine_;
  const RunResult& result_;
};

}  // namespace

void check_finished_run(const Scenario& scenario, const Workload& workload, const Machine& machine,
                        const RunResult& result) {
  FinishedRun(scenario, workload, machine, result).check();
}

}  // namespace kvcap
