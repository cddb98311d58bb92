#include "metrics/quantity.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/resource.h"
#include "base/tier.h"

namespace kvcap {
namespace {

constexpr Unit kNone{""};
constexpr Unit kMs{"ms"};
constexpr Unit kSeconds{"s"};
constexpr Unit kPercent{"%", 100};
constexpr Unit kTokens{"tokens"};
constexpr Unit kTokensPerS{"tokens/s"};
constexpr Unit kTurns{"turns"};
constexpr Unit kRequestsPerS{"requests/s"};
constexpr Unit kGb{"GB", 1e-9};
constexpr Unit kGbPerS{"GB/s", 1e-9};
constexpr Unit kKibPerToken{"KiB/token", 1.0 / 1024};
constexpr Unit kUsd{"$"};
constexpr Unit kUsdPerHour{"$/h"};
constexpr Unit kUsdPerMillion{"$/M tokens"};

using enum Better;
using enum QuantityKind;
using enum Visibility;

// A row with <tier>, <resource> or <statistic> in its name stands for one row per tier, resource or
// statistic. Of these, the ones in `members` have the visibility `shown`; the others are details. Tables show
// the rows in this order.
struct Row {
  std::string_view name, title;
  Unit unit;
  Better better = neither;
  QuantityKind kind = metric;
  Visibility shown = details;
  std::string_view members = {};
  bool is_real_only = false;
};

constexpr Row kRows[] = {
    {"duration", "duration", kSeconds, less},
    {"completed", "completed turns", kTurns, more},
    {"rejected", "rejected turns", kTurns, less, metric, alarm},
    {"failed", "failed turns", kTurns, less, metric, alarm},
    {"abandoned", "abandoned turns", kTurns, less, metric, overview},
    {"truncated", "truncated turns", kTurns, less, metric, alarm},
    {"rejected_share", "rejected", kPercent, less},
    {"failed_share", "failed", kPercent, less},
    {"truncated_share", "truncated", kPercent, less},
    {"stable", "stable", kNone, more},
    {"stable.verdict", "stable", kNone, neither, text, overview},
    {"stable.reason", "why", kNone, neither, text},
    {"offered_bound_by", "bottleneck of the offered load", kNone, neither, text},
    {"total_input_tokens", "prompt tokens", kTokens},
    {"total_output_tokens", "output tokens", kTokens},
    {"wasted_prompt_tokens", "wasted prompt tokens", kTokens, less},
    {"wasted_output_tokens", "wasted output tokens", kTokens, less},
    {"request_throughput", "throughput", kRequestsPerS, more},
    {"output_throughput", "output", kTokensPerS, more, metric, headline},
    {"total_token_throughput", "prompts and output", kTokensPerS, more},
    {"request_goodput", "goodput", kRequestsPerS, more, metric, target},
    {"rates.from_s", "rates from", kSeconds},
    {"rates.to_s", "rates to", kSeconds},
    {"rates.steady", "rates cover a steady window", kNone},

    {"<statistic>_ttft_ms", "<statistic> TTFT", kMs, less, metric, everywhere, "mean p99"},
    {"<statistic>_service_ttft_ms", "<statistic> TTFT without the queue", kMs, less},
    {"<statistic>_cold_ttft_ms", "<statistic> TTFT of first turns", kMs, less},
    {"<statistic>_warm_ttft_ms", "<statistic> TTFT of later turns", kMs, less, metric, known, "mean"},
    {"<statistic>_tpot_ms", "<statistic> TPOT", kMs, less, metric, overview, "mean"},
    {"<statistic>_itl_ms", "<statistic> ITL", kMs, less, metric, everywhere, "p99"},
    {"<statistic>_e2el_ms", "<statistic> E2EL", kMs, less, metric, headline, "mean"},
    {"<statistic>_queue_ms", "<statistic> queueing", kMs, less},
    {"<statistic>_restore_ms", "<statistic> restoration", kMs, less},
    {"mean_service_ttft_with_history_ms", "mean TTFT with history, without the queue", kMs, less},

    {"token_hit_rate", "token hit rate", kPercent, more, metric, everywhere},
    {"request_hit_rate", "request hit rate", kPercent, more},
    {"hit_tokens.<tier>", "hit tokens from <tier>", kTokens, more},
    {"used_tokens.<tier>", "tokens used from <tier>", kTokens},
    {"stored_bytes_per_token", "stored", kKibPerToken, neither, metric, everywhere, {}, true},
    {"peak_stored_bytes.<tier>", "peak stored in <tier>", kGb},
    {"read_bytes.<tier>", "read from <tier>", kGb},
    {"written_bytes.<tier>", "written to <tier>", kGb},

    {"offered_load", "offered load", kPercent, neither, metric, everywhere},
    {"utilization.<resource>", "<resource> busy", kPercent},
    {"bound_by", "busiest resource", kNone, neither, text, overview},
    {"bottleneck.<resource>", "busiest is <resource>", kPercent},
    {"bottleneck.none", "nothing is busy", kPercent},
    {"kv_capacity_tokens", "KV capacity", kTokens},
    {"peak_kv_tokens", "peak KV in use", kTokens},
    {"preemptions", "preemptions", kNone, less},
    {"retried", "retried turns", kTurns, less, metric, overview},
    {"saves_refused", "saves refused", kNone, less},
    {"saves_waiting_bytes", "peak waiting to be saved", kGb, less},
    {"routing.imbalance", "busiest node over mean node", kNone},
    {"routing.believed_tokens", "tokens that the router expected", kTokens},
    {"routing.found_tokens", "tokens that the router found", kTokens},
    {"reloaded_tokens", "tokens loaded again", kTokens, less},
    {"reloaded_bytes", "bytes loaded again", kGb, less},

    {"disaggregation.transfers", "KV transfers", kNone},
    {"disaggregation.transfers_given_up", "KV transfers given up", kNone, less},
    {"disaggregation.transfer_bytes", "KV transferred", kGb},
    {"disaggregation.mean_transfer_ms", "mean KV transfer", kMs, less, metric, alarm},
    {"disaggregation.transfer_share_of_ttft", "KV transfers' share of TTFT", kPercent, less, metric, alarm},
    {"disaggregation.prefill_gpu_utilization", "prefill GPUs busy", kPercent, neither, metric, alarm},
    {"disaggregation.decode_gpu_utilization", "decode GPUs busy", kPercent, neither, metric, alarm},

    {"kv_buffer.reserved_bytes", "KV reserved per sequence", kGb},
    {"kv_buffer.copied_bytes", "KV copied", kGb, less},
    {"kv_buffer.copied_bytes_per_output_token", "KV copied per output token", kKibPerToken, less},
    {"kv_buffer.copy_ms_per_output_token", "copy time per output token", {"ms/token"}, less},

    {"speculation.drafts", "drafts", kNone},
    {"speculation.draft_tokens", "drafted tokens", kTokens},
    {"speculation.accepted_tokens", "accepted tokens", kTokens, more},
    {"speculation.mean_acceptance_length", "mean acceptance length", kTokens, more, metric, known},
    {"speculation.acceptance_rate", "acceptance rate", kPercent, more},

    {"ttft_breakdown_ms.retries", "retries", kMs, less},
    {"ttft_breakdown_ms.api", "API server", kMs, less},
    {"ttft_breakdown_ms.queue", "queue", kMs, less},
    {"ttft_breakdown_ms.lookup", "lookup", kMs, less},
    {"ttft_breakdown_ms.load", "load", kMs, less},
    {"ttft_breakdown_ms.restore_compute", "restore compute", kMs, less},
    {"ttft_breakdown_ms.decode_queue", "decode queue", kMs, less},
    {"ttft_breakdown_ms.transfer", "transfer", kMs, less},
    {"ttft_breakdown_ms.first_step", "first step", kMs, less},
    {"ttft_breakdown_ms.prefill", "prefill", kMs, less},
    {"mean_batching_ms", "mean prefill delay from batching", kMs, less},

    {"billed_bytes.<tier>", "billed <tier>", kGb},
    {"cost.gpu_usd", "cost of GPUs", kUsd, less},
    {"cost.<host>_usd", "cost of <host>", kUsd, less},
    {"cost.total_usd", "total cost", kUsd, less},
    {"cost.usd_per_hour", "cost per hour", kUsdPerHour, less, metric, overview, {}, true},
    {"cost.usd_per_million_output_tokens", "cost", kUsdPerMillion, less, metric, everywhere, {}, true},
    {"cost.usd_per_million_tokens", "cost of prompts and output", kUsdPerMillion, less},
    {"cost.ssd_wear_usd", "cost of SSD wear", kUsd, less},
    {"cost.energy_usd", "cost of energy", kUsd, less},
    {"cost.storage_usd", "cost of storage", kUsd, less},
    {"cost.storage_usd_per_hit", "storage", {"$/M hits", 1e6}, less, metric, known, {}, true},
    {"cost.usd_per_gpu_hour", "price of a GPU", kUsdPerHour, less},
    {"cost.usd_per_saved_gpu_hour", "storage cost of a saved GPU hour", kUsd, less},
    {"saved_gpu_hours", "GPU hours saved", {"h"}, more},
    {"energy.kwh", "energy", {"kWh"}, less},
    {"energy.joules_per_output_token", "energy", {"J/token"}, less, metric, known, {}, true},
    {"ssd_writes.bytes_per_day", "SSD writes", {"TB/day", 1e-12}, less},
    {"ssd_writes.rated_share", "SSD writes over rated writes", kPercent, less},
    {"ssd_writes.lifetime_years", "SSD lifetime", {"years"}, more},
    {"warmup.detected_turns", "warm-up turns", kTurns},
    {"warmup.left_out_turns", "turns excluded as warm-up", kTurns},
    {"warmup.method", "warm-up detector", kNone, neither, text},

    {"ttft_ms", "TTFT", kMs, less, distribution},
    {"service_ttft_ms", "TTFT without the queue", kMs, less, distribution},
    {"cold_ttft_ms", "TTFT of first turns (cold)", kMs, less, distribution},
    {"warm_ttft_ms", "TTFT of later turns (warm)", kMs, less, distribution},
    {"tpot_ms", "time per output token of a turn", kMs, less, distribution},
    {"itl_ms", "gap between tokens (ITL)", kMs, less, distribution},
    {"e2el_ms", "end to end", kMs, less, distribution},
    {"queue_ms", "waiting for admission", kMs, less, distribution},
    {"restore_ms", "restoration", kMs, less, distribution},

    {"time_s", "simulated time", kSeconds, neither, series},
    {"waiting", "turns waiting for admission", kTurns, less, series},
    {"running", "turns in service", kTurns, neither, series},
    {"kv_tokens", "tokens in KV blocks", kTokens, neither, series},
    {"stored_bytes_<tier>", "stored in <tier>", kGb, neither, series},
    {"<resource>_utilization", "<resource>", kPercent, neither, series},
};

using Member = std::pair<std::string_view, std::string_view>;  // word in names, word in titles
constexpr std::array<Member, 6> kStatistics = {{{"mean", "mean"},
                                                {"median", "median"},
                                                {"std", "std. dev. of"},
                                                {"p90", "p90"},
                                                {"p95", "p95"},
                                                {"p99", "p99"}}};

std::vector<Member> members_of(std::string_view family) {
  if (family == "statistic") return {kStatistics.begin(), kStatistics.end()};
  std::vector<Member> members;
  for (const TierRow& one : kTierRows) {
    if (family == "tier" || (family == "host" && one.tier != Tier::hbm))
      members.emplace_back(one.name, one.title);
  }
  if (family == "resource")
    for (const ResourceRow& one : kResources) members.emplace_back(one.name, one.title);
  return members;
}

std::string with(std::string_view text, std::string_view place, std::string_view member) {
  std::string filled(text);
  const std::size_t at = filled.find(place);
  return at == std::string::npos ? filled : filled.replace(at, place.size(), member);
}

bool has_word(std::string_view words, std::string_view word) {
  return (" " + std::string(words) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

std::vector<Quantity> all_rows() {
  std::vector<Quantity> all;
  for (const Row& row : kRows) {
    const auto add = [&](std::string name, std::string title, Visibility shown) {
      all.push_back(
          {std::move(name), std::move(title), row.unit, row.better, row.kind, shown, row.is_real_only});
    };
    const std::size_t from = row.name.find('<');
    if (from == std::string_view::npos) {
      add(std::string(row.name), std::string(row.title), row.shown);
      continue;
    }
    const std::string_view place = row.name.substr(from, row.name.find('>') + 1 - from);
    for (const auto& [name, title] : members_of(place.substr(1, place.size() - 2)))
      add(with(row.name, place, name), with(row.title, place, title),
          has_word(row.members, name) ? row.shown : details);
  }
  return all;
}

constexpr UnitEnding kEndings[] = {
    {"bytes_per_s", kGbPerS},
    {"bytes_per_day", {"TB/day", 1e-12}},
    {"bytes_per_token", kKibPerToken},
    {"bytes", kGb},
    {"usd_per_hour", kUsdPerHour},
    {"usd_per_gb_hour", {"$/GB/h"}},
    {"usd_per_kwh", {"$/kWh"}},
    {"usd", kUsd},
    {"sessions_per_s", {"sessions/s"}},
    {"requests_per_s", kRequestsPerS},
    {"per_s", {"1/s"}},
    {"_ms", kMs},
    {"_s", kSeconds},
    {"tokens", kTokens},
    {"flops", {"TFLOP", 1e-12}},
    {"watts", {"W"}},
    {"utilization", kPercent},
    {"share", kPercent},
    {"_rate", kPercent},
    {"_ratio", kPercent},
};

}  // namespace

const std::vector<Quantity>& quantities() {
  static const std::vector<Quantity> all = all_rows();
  return all;
}

const Quantity* find_quantity(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const Quantity*> map;
    for (const Quantity& quantity : quantities()) map.emplace(quantity.name, &quantity);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

std::vector<const Quantity*> headline_metrics() {
  std::vector<const Quantity*> metrics;
  for (const Quantity& one : quantities())
    if (one.shown == headline || one.shown == everywhere) metrics.push_back(&one);
  return metrics;
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Quantity& quantity : quantities())
    if (quantity.kind == metric) names.push_back(quantity.name);
  return names;
}

std::span<const UnitEnding> unit_endings() { return kEndings; }

}  // namespace kvcap
