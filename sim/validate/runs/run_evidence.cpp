#include "validate/runs/run_evidence.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/tier.h"

namespace kvcap {
namespace {

constexpr double kEvidenceDeviations = 1.96;  // standard deviations of a 95 % interval
constexpr const char* kQuantileNames[] = {"median", "p90", "p99"};

double mean_level(const RunResult& result, std::string_view series) {
  for (const auto& [name, values] : result.series) {
    if (name != series || values.empty()) continue;
    double sum = 0;
    for (const double one : values) sum += one;
    return sum / static_cast<double>(values.size());
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double hit_tokens(const RunResult& result, Tier tier) {
  const double tokens = result.number("hit_tokens." + std::string(name(tier)));
  return std::isnan(tokens) ? 0 : tokens;  // NaN: no machine has the tier
}

// Returns the share of prompt tokens that hit on the GPU or, if `on_the_gpu` is false, in lower tiers.
double hit_rate_of(const RunResult& result, bool on_the_gpu) {
  double all = 0;
  for (const Tier tier : kTiers) all += hit_tokens(result, tier);
  if (!(all > 0)) return 0;
  const double gpu = hit_tokens(result, Tier::hbm);
  return result.number("token_hit_rate") * (on_the_gpu ? gpu : all - gpu) / all;
}

// Returns the sampling error of a quantile, as a difference of probabilities. Counts requests rather than
// tokens, because tokens of one request are not independent.
double margin_of(double q, const Both& requests) {
  return kEvidenceDeviations * std::sqrt(q * (1 - q) * (1 / requests.simulated + 1 / requests.measured));
}

LatencyEvidence latency_of(const Buckets& buckets, const RunResult& result, const std::string& metric,
                           const std::string& of_requests, const Both& requests) {
  LatencyEvidence latency;
  latency.mean_ms.simulated = result.number("mean_" + metric);
  latency.simulated_std_ms = result.number("std_" + of_requests);
  for (std::size_t i = 0; i < latency.simulated_ms.size(); ++i) {
    latency.simulated_ms[i] = result.number(std::string(kQuantileNames[i]) + "_" + metric);
  }
  latency.is_measured = buckets.count() > 0 && requests.measured > 0;
  if (!latency.is_measured) return latency;
  latency.mean_ms.measured = 1e3 * mean_of(buckets);
  for (std::size_t i = 0; i < latency.measured_ms.size(); ++i) {
    const double q = kJudgedQuantiles[i];
    QuantileRange range = quantile_of(buckets, q, margin_of(q, requests));
    latency.measured_ms[i] = {1e3 * range.low, 1e3 * range.high, 1e3 * range.value};
  }
  return latency;
}

std::optional<bool> prefix_caching_of(const Observation& observed) {
  const auto found = observed.config.find("enable_prefix_caching");
  if (found == observed.config.end()) return {};
  if (found->second == "True" || found->second == "true") return true;
  if (found->second == "False" || found->second == "false") return false;
  return {};
}

// Returns the arrival rate until the last arrival. The time in which the last requests are served is left
// out, because nothing arrives in it.
double simulated_arrivals_per_s(const RunResult& result) {
  double last_s = 0;
  for (const TurnRecord& turn : result.turns) last_s = std::max(last_s, turn.arrival_s);
  return last_s > 0 ? static_cast<double>(result.turns.size()) / last_s
                    : std::numeric_limits<double>::quiet_NaN();
}

double measured_arrivals_per_s(const Observation& observed) {
  double requests = 0, last_s = 0;
  for (const ArrivalCount& one : observed.arrivals) {
    requests += one.requests;
    if (one.requests > 0) last_s = one.to_s;
  }
  return last_s > 0 ? requests / last_s : observed.requests_per_s();
}

double lower_hits(const Observation& observed) {
  double total = std::numeric_limits<double>::quiet_NaN();
  for (const Counter tier :
       {Counter::host_hit_tokens, Counter::storage_hit_tokens, Counter::external_hit_tokens}) {
    const double share = observed.hit_rate(tier);
    if (!std::isnan(share)) total = (std::isnan(total) ? 0 : total) + share;
  }
  return total;
}

}  // namespace

bool Both::differs_by(double share) const {
  return known() && std::abs(difference()) > share * std::abs(simulated);
}

RunEvidence evidence_of(const Observation& observed, const RunResult& result, const Scenario& scenario) {
  const double completed = result.number("completed");
  RunEvidence e;
  e.requests = {completed, std::max(observed[Counter::requests], observed[Spread::ttft_s].count())};
  if (std::isnan(e.requests.measured)) e.requests.measured = observed[Spread::ttft_s].count();
  e.arrivals_per_s = {simulated_arrivals_per_s(result), measured_arrivals_per_s(observed)};
  e.prompt_tokens = {result.number("total_input_tokens") / completed, observed.mean_prompt_tokens()};
  e.output_tokens = {result.number("total_output_tokens") / completed, observed.mean_output_tokens()};
  e.token_hit_rate = {result.number("token_hit_rate"), observed.token_hit_rate()};
  e.gpu_hit_rate = {hit_rate_of(result, true), observed.hit_rate(Counter::hbm_hit_tokens)};
  e.lower_hit_rate = {hit_rate_of(result, false), lower_hits(observed)};
  e.kv_capacity_tokens = {result.number("kv_capacity_tokens"), observed.kv_capacity_tokens};
  e.kv_usage = {mean_level(result, "kv_tokens") / e.kv_capacity_tokens.simulated,
                observed[Gauge::kv_usage].mean};
  e.running = {mean_level(result, "running"), observed[Gauge::running].mean};
  e.waiting = {mean_level(result, "waiting"), observed[Gauge::waiting].mean};
  e.preemptions_per_request = {result.number("preemptions") / completed,
                               observed[Counter::preemptions] / observed[Counter::requests]};
  e.measured_prefix_caching = prefix_caching_of(observed);
  e.simulated_prefix_caching = scenario.serving.prefix_caching;
  e.step_overhead_s = scenario.serving.step_overhead_s;
  e.request_overhead_s = scenario.serving.request_overhead_s;
  e.async_scheduling = scenario.serving.async_scheduling;
  e.ttft = latency_of(observed[Spread::ttft_s], result, "ttft_ms", "ttft_ms", e.requests);
  e.itl = latency_of(observed[Spread::itl_s], result, "itl_ms", "tpot_ms", e.requests);
  return e;
}

}  // namespace kvcap
