#include "observe/observation.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "observe/growth.h"

namespace kvcap {
namespace {

double or_zero(double value) { return std::isnan(value) ? 0 : value; }

// Returns the number of requests that have arrived: finished, running and waiting.
double arrived(const Snapshot& snapshot) {
  return snapshot[Counter::requests] + or_zero(snapshot[Gauge::running]) + or_zero(snapshot[Gauge::waiting]);
}

void add_gauges(Observation& total, const std::vector<Snapshot>& samples) {
  for (std::size_t i = 0; i < total.gauges.size(); ++i) {
    double sum = 0, most = 0, count = 0;
    for (const Snapshot& one : samples) {
      if (std::isnan(one.gauges[i])) continue;
      sum += one.gauges[i];
      most = count == 0 ? one.gauges[i] : std::max(most, one.gauges[i]);
      ++count;
    }
    total.gauges[i] = {count > 0 ? sum / count : kNaN, count > 0 ? most : kNaN};
  }
}

// Returns the first impossible value of each metric.
std::vector<std::string> refused_values(const std::vector<Snapshot>& samples) {
  std::map<std::string, std::string> first;
  for (const Snapshot& one : samples) first.insert(one.refused.begin(), one.refused.end());
  std::vector<std::string> texts;
  for (const auto& [figure, text] : first) texts.push_back(text);
  return texts;
}

void note(Observation& total, const ObservedLog& log, const Growth& growth) {
  total.notes = log.notes;
  const auto add = [&](const std::string& text) { total.notes.push_back(text); };
  if (total.engines > 1) {
    add("the address exports the metrics of " + std::to_string(total.engines) +
        " engines: counts and capacities are sums over them, shares are means");
  }
  if (total.models.size() > 1) {
    add("metrics are summed over several models: " + joined(total.models));
  }
  if (total.restarts > 0) {
    add("counters were reset " + format_count(total.restarts, "time") +
        (growth.first_restart().empty() ? "" : " (" + growth.first_restart() + ")") +
        ": the server restarted, or several servers answer in turn at this address");
  }
  if (!growth.shrunk().empty()) {
    add("counters fell without a restart; these intervals are not summed: " + first_few(growth.shrunk()));
  }
  if (const std::vector<std::string> refused = refused_values(log.samples); !refused.empty()) {
    add("impossible values are not summed: " + first_few(refused));
  }
  if (total.failed > 0) {
    add(format_count(total.failed, "scrape") + " failed; the last one: " + log.failures.back().reason);
  }
  if (log.samples.size() == 1) {
    add(std::isnan(total.duration_s)
            ? "there is only one scrape, and the server does not export its start time, so rates are unknown"
            : "there is only one scrape, so figures cover the time since the server started");
  }
  const Snapshot &first = log.samples.front(), &last = log.samples.back();
  if (first.kv_capacity_tokens() != last.kv_capacity_tokens() && !std::isnan(last.kv_capacity_tokens())) {
    add("the KV capacity changed from " + format_number(first.kv_capacity_tokens()) + " to " +
        format_number(last.kv_capacity_tokens()) + " tokens; the last value is used");
  }
}

}  // namespace

double mean_of(const Buckets& buckets) { return buckets.count() > 0 ? buckets.sum / buckets.count() : kNaN; }

QuantileRange quantile_of(const Buckets& buckets, double q) {
  const double rank = q * buckets.count();
  std::size_t i = 0;
  // Finds the first bucket that has values and reaches the rank.
  while (i + 1 < buckets.counts.size() && (buckets.counts[i] < rank || buckets.counts[i] <= 0)) ++i;
  const double below = i == 0 ? 0 : buckets.counts[i - 1];
  QuantileRange range{.low = i == 0 ? 0 : buckets.bounds[i - 1], .high = buckets.bounds[i]};
  const double inside = buckets.counts[i] - below;
  range.value = std::isinf(range.high) || inside <= 0
                    ? range.low
                    : range.low + (range.high - range.low) * std::clamp((rank - below) / inside, 0.0, 1.0);
  return range;
}

QuantileRange quantile_of(const Buckets& buckets, double q, double margin) {
  QuantileRange range = quantile_of(buckets, q);
  range.low = quantile_of(buckets, std::max(0.0, q - margin)).low;
  range.high = quantile_of(buckets, std::min(1.0, q + margin)).high;
  return range;
}

Observation observation_of(const ObservedLog& log) {
  const Snapshot &first = log.samples.front(), &last = log.samples.back();
  Observation total;
  total.engine = last.engine;
  total.address = log.address;
  total.models.assign(last.models.begin(), last.models.end());
  total.config = last.config;
  total.engines = last.engines;
  total.scrapes = std::ssize(log.samples);
  total.failed = std::ssize(log.failures);
  total.block_size = last.block_size();
  total.kv_capacity_tokens = last.kv_capacity_tokens();
  total.from_unix_s = first.unix_s;
  total.duration_s = last.unix_s - first.unix_s;
  total.requests_before = log.samples.size() > 1 ? or_zero(first[Counter::requests]) : 0;
  Growth growth;
  if (log.samples.size() == 1) {
    growth.add_since_start(last);
    total.from_unix_s = last.started_s.value_or(last.unix_s);
    total.duration_s = last.started_s && *last.started_s < last.unix_s ? last.unix_s - *last.started_s : kNaN;
  }
  growth.begin(first);
  for (std::size_t i = 1; i < log.samples.size(); ++i) {
    const Snapshot &before = log.samples[i - 1], &after = log.samples[i];
    const bool is_new = growth.add(after);
    const double requests = arrived(after) - (is_new ? 0 : arrived(before));
    if (after.unix_s > before.unix_s && !std::isnan(requests)) {
      total.arrivals.push_back(
          {before.unix_s - first.unix_s, after.unix_s - first.unix_s, std::max(0.0, requests)});
    }
  }
  total.counters = growth.counters();
  total.spreads = growth.spreads();
  total.restarts = growth.restarts();
  add_gauges(total, log.samples);
  note(total, log, growth);
  return total;
}

double Observation::requests_per_s() const {
  return duration_s > 0 ? (*this)[Counter::requests] / duration_s : kNaN;
}

double Observation::mean_prompt_tokens() const {
  const Buckets& exact = (*this)[Spread::prompt_tokens];
  return exact.count() > 0 ? mean_of(exact) : (*this)[Counter::prompt_tokens] / (*this)[Counter::requests];
}

double Observation::mean_output_tokens() const {
  const Buckets& exact = (*this)[Spread::output_tokens];
  return exact.count() > 0 ? mean_of(exact) : (*this)[Counter::output_tokens] / (*this)[Counter::requests];
}

double Observation::hit_rate(Counter tier) const {
  const double queried = (*this)[Counter::queried_tokens];
  return queried > 0 ? (*this)[tier] / queried : kNaN;
}

double Observation::token_hit_rate() const {
  double total = kNaN;
  for (const Counter tier : {Counter::hbm_hit_tokens, Counter::host_hit_tokens, Counter::storage_hit_tokens,
                             Counter::external_hit_tokens}) {
    const double share = hit_rate(tier);
    if (!std::isnan(share)) total = or_zero(total) + share;
  }
  // Without counters, uses the engine's hit rate of recent requests.
  return std::isnan(total) ? (*this)[Gauge::hit_rate].mean : total;
}

double Observation::tokens_per_draft() const {
  const double drafts = (*this)[Counter::drafts];
  return drafts > 0 ? (*this)[Counter::draft_tokens] / drafts : kNaN;
}

double Observation::mean_acceptance_length() const {
  const double drafts = (*this)[Counter::drafts];
  return drafts > 0 ? 1 + (*this)[Counter::accepted_tokens] / drafts
                    : (*this)[Gauge::mean_acceptance_length].mean;
}

std::vector<double> Observation::acceptance_by_position() const {
  constexpr double kRounding = 0.01;  // counters are not read at the same instant
  const double drafts = (*this)[Counter::drafts];
  std::vector<double> shares;
  double accepted_tokens = 0;
  for (std::size_t i = 0; drafts > 0 && i < kDraftPositions; ++i) {
    const double accepted = counters[static_cast<std::size_t>(Counter::accepted_at_1) + i];
    if (std::isnan(accepted)) break;
    shares.push_back(std::min(accepted / drafts, shares.empty() ? 1 : shares.back()));
    accepted_tokens += accepted;
  }
  const auto positions = static_cast<double>(shares.size());
  const bool are_all = tokens_per_draft() <= positions * (1 + kRounding) &&
                       accepted_tokens >= (*this)[Counter::accepted_tokens] * (1 - kRounding);
  return are_all ? shares : std::vector<double>();
}

double Observation::drafting_share() const {
  // The first token of each answer comes with its prompt; a step that drafts yields one token more than it
  // accepts.
  const double steps =
      (*this)[Counter::output_tokens] - (*this)[Counter::requests] - (*this)[Counter::accepted_tokens];
  return steps > 0 ? std::min(1.0, (*this)[Counter::drafts] / steps) : kNaN;
}

std::string utc_text(double unix_s) {
  const auto seconds = static_cast<std::time_t>(std::clamp(unix_s, 0.0, 2.5e11));
  std::tm parts{};
  char text[40] = "";
  if (gmtime_r(&seconds, &parts)) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

}  // namespace kvcap
