#include "text/observation_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text/format.h"
#include "base/text/plain_text.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;
constexpr double kQuantiles[] = {0.5, 0.9, 0.99};

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string row(const std::string& name, const std::string& unit, const std::string& value) {
  return padded(name, 16) + padded(unit, 6) + value + "\n";
}

// Returns "52 (40..60)": a quantile and the bounds of its bucket.
std::string quantile_text(const Buckets& buckets, double q, double scale) {
  const QuantileRange range = quantile_of(buckets, q);
  if (std::isinf(range.high)) return "above " + format_number(scale * range.low);
  return format_number(scale * range.value) + " (" + format_number(scale * range.low) + ".." +
         format_number(scale * range.high) + ")";
}

std::string spread_row(const std::string& name, const Buckets& buckets) {
  if (!(buckets.count() > 0)) return row(name, "ms", "-");
  std::string text = "mean " + format_number(1e3 * mean_of(buckets));
  for (const double q : kQuantiles)
    text += "   p" + std::to_string(std::lround(100 * q)) + " " + quantile_text(buckets, q, 1e3);
  return row(name, "ms", text);
}

std::string tokens_text(double total, double mean) {
  return format_number(total) + "   mean of a request " + format_number(mean);
}

std::string gauge_text(const GaugeSummary& gauge, double scale = 1) {
  if (std::isnan(gauge.mean)) return "-";
  return "mean " + format_number(scale * gauge.mean) + "   most " + format_number(scale * gauge.most);
}

std::string hits_text(const Observation& o) {
  std::string text = format_number(100 * o.token_hit_rate());
  std::string tiers;
  const std::pair<Counter, const char*> kTierNames[] = {{Counter::hbm_hit_tokens, "GPU"},
                                                        {Counter::host_hit_tokens, "host"},
                                                        {Counter::storage_hit_tokens, "storage"},
                                                        {Counter::external_hit_tokens, "external"}};
  for (const auto& [tier, name] : kTierNames) {
    if (std::isnan(o.hit_rate(tier))) continue;
    tiers += (tiers.empty() ? "   " : ", ") + std::string(name) + " " + format_number(100 * o.hit_rate(tier));
  }
  return text + tiers;
}

std::string capacity_text(const Observation& o) {
  if (std::isnan(o.kv_capacity_tokens)) return "-";
  std::string text = format_count(std::llround(o.kv_capacity_tokens)) + " tokens";
  const double blocks = o[Gauge::blocks].mean;
  if (!std::isnan(blocks) && !std::isnan(o.block_size)) {
    text +=
        "   " + format_count(std::llround(blocks)) + " blocks of " + format_count(std::llround(o.block_size));
  }
  return text;
}

// Returns "22.0 GB loaded at 26.7 GB/s, 5.00 GB saved".
std::string offload_text(const Observation& o) {
  const auto gb = [](double bytes) { return format_number(1e-9 * bytes) + " GB"; };
  std::string text = gb(o[Counter::loaded_bytes]) + " loaded";
  if (o[Counter::load_s] > 0) text += " at " + gb(o[Counter::loaded_bytes] / o[Counter::load_s]) + "/s";
  return text + ", " + gb(o[Counter::saved_bytes]) + " saved";
}

// Returns "2.20 tokens per step   3.00 drafted, accepted by position 0.700, 0.300, 0.200".
std::string speculation_text(const Observation& o) {
  std::string text = format_number(o.mean_acceptance_length()) + " tokens per step";
  if (std::isnan(o.tokens_per_draft())) return text;
  text += "   " + format_number(o.tokens_per_draft()) + " drafted";
  const std::vector<double> shares = o.acceptance_by_position();
  for (std::size_t i = 0; i < shares.size(); ++i)
    text += (i == 0 ? ", accepted by position " : ", ") + format_number(shares[i]);
  return text;
}

std::string duration_text(double seconds) {
  if (std::isnan(seconds)) return "an unknown time";
  if (seconds < 120) return format_number(seconds) + " s";
  if (seconds < 7200) return format_number(seconds / 60) + " min";
  return format_number(seconds / 3600) + " h";
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json speculation_of(const Observation& o) {
  if (std::isnan(o.mean_acceptance_length())) return nullptr;
  return {{"tokens_per_draft", number(o.tokens_per_draft())},
          {"mean_acceptance_length", o.mean_acceptance_length()},
          {"acceptance_by_position", o.acceptance_by_position()},
          {"drafting_share", number(o.drafting_share())}};
}

Json quantiles_of(const Buckets& buckets) {
  if (!(buckets.count() > 0)) return nullptr;
  Json object = {{"count", buckets.count()}, {"mean", number(mean_of(buckets))}};
  for (const double q : kQuantiles) {
    const QuantileRange range = quantile_of(buckets, q);
    object["p" + std::to_string(std::lround(100 * q))] = {
        {"value", number(range.value)}, {"low", number(range.low)}, {"high", number(range.high)}};
  }
  return object;
}

}  // namespace

std::string observation_table(const Observation& o) {
  std::string head(kObservedEngineNames[static_cast<std::size_t>(o.engine)]);
  for (const std::string& model : o.models) head += "   " + message_line(model);
  head += "   " + duration_text(o.duration_s) + " from " + utc_text(o.from_unix_s) + ", " +
          format_count(o.scrapes, "scrape");
  std::string text;
  for (const std::string& line : wrap(head, kColumns, "  ")) text += line + "\n";
  text += "\n";
  text += row("requests", "",
              format_number(o[Counter::requests]) + "   " + format_number(o.requests_per_s()) + " /s");
  text += row("prompt tokens", "", tokens_text(o[Counter::prompt_tokens], o.mean_prompt_tokens()));
  text += row("output tokens", "", tokens_text(o[Counter::output_tokens], o.mean_output_tokens()));
  text += row("token hit rate", "%", hits_text(o));
  if (!std::isnan(o[Counter::loaded_bytes])) text += row("offload", "", offload_text(o));
  if (!std::isnan(o.mean_acceptance_length())) text += row("speculation", "", speculation_text(o));
  text += row("KV usage", "%", gauge_text(o[Gauge::kv_usage], 100));
  text += row("running", "", gauge_text(o[Gauge::running]));
  text += row("waiting", "", gauge_text(o[Gauge::waiting]));
  text += row("preemptions", "", format_number(o[Counter::preemptions]));
  text += spread_row("TTFT", o[Spread::ttft_s]) + spread_row("ITL", o[Spread::itl_s]) +
          spread_row("end to end", o[Spread::e2el_s]) + spread_row("queue", o[Spread::queue_s]);
  text += row("KV capacity", "", capacity_text(o));
  for (const std::string& one : o.notes) {
    for (const std::string& line : wrap("Note: " + one + ".", kColumns, "  ")) text += line + "\n";
  }
  return text;
}

std::string observation_json(const Observation& o) {
  Json object = {{"schema", "kvcap.observation/1"},
                 {"engine", kObservedEngineNames[static_cast<std::size_t>(o.engine)]},
                 {"address", o.address},
                 {"models", o.models},
                 {"engines", o.engines},
                 {"from_unix_s", number(o.from_unix_s)},
                 {"duration_s", number(o.duration_s)},
                 {"scrapes", o.scrapes},
                 {"failed_scrapes", o.failed},
                 {"restarts", o.restarts},
                 {"requests_per_s", number(o.requests_per_s())},
                 {"mean_prompt_tokens", number(o.mean_prompt_tokens())},
                 {"mean_output_tokens", number(o.mean_output_tokens())},
                 {"token_hit_rate", number(o.token_hit_rate())},
                 {"hit_rates",
                  {{"hbm", number(o.hit_rate(Counter::hbm_hit_tokens))},
                   {"host", number(o.hit_rate(Counter::host_hit_tokens))},
                   {"storage", number(o.hit_rate(Counter::storage_hit_tokens))},
                   {"external", number(o.hit_rate(Counter::external_hit_tokens))}}},
                 {"speculation", speculation_of(o)},
                 {"block_size", number(o.block_size)},
                 {"num_gpu_blocks", number(o[Gauge::blocks].mean)},
                 {"kv_capacity_tokens", number(o.kv_capacity_tokens)},
                 {"counters", Json::object()},
                 {"gauges", Json::object()},
                 {"histograms", Json::object()},
                 {"config", o.config},
                 {"notes", o.notes}};
  for (std::size_t i = 0; i < o.counters.size(); ++i)
    object["counters"][std::string(kCounterNames[i])] = number(o.counters[i]);
  for (std::size_t i = 0; i < o.gauges.size(); ++i) {
    object["gauges"][std::string(kGaugeNames[i])] = {{"mean", number(o.gauges[i].mean)},
                                                     {"most", number(o.gauges[i].most)}};
  }
  for (std::size_t i = 0; i < o.spreads.size(); ++i)
    object["histograms"][std::string(kSpreadNames[i])] = quantiles_of(o.spreads[i]);
  return object.dump(2) + "\n";
}

}  // namespace kvcap
