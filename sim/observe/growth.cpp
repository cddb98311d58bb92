#include "observe/growth.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/text/format.h"
#include "observe/engine_metrics.h"

namespace kvcap {
namespace {

double zero_if_unknown(double value) { return std::isnan(value) ? 0 : value; }

// Returns the engine's newest name for the metric.
template <class Meter>
std::string metric_name(std::span<const EngineMetric<Meter>> rows, ObservedEngine engine, std::size_t which) {
  for (const EngineMetric<Meter>& row : rows) {
    if (row.engine != engine || static_cast<std::size_t>(row.meter) != which) continue;
    const std::string label = row.value.empty() ? "" : fmt::format("{{{}=\"{}\"}}", row.label, row.value);
    return std::string(row.name) + label;
  }
  return "";
}

std::string fall_text(const std::string& name, double before, double after) {
  return name + " from " + format_number(before) + " to " + format_number(after);
}

bool are_alike(const Buckets& before, const Buckets& after) {
  return !before.empty() && before.bounds == after.bounds;
}

// Returns a text about a number that fell between two histograms with the same bounds; empty if none fell.
std::string fall_of(const std::string& name, const Buckets& before, const Buckets& after) {
  for (std::size_t i = after.counts.size(); i-- > 0;) {
    if (after.counts[i] < before.counts[i])
      return fall_text(name + "_bucket", before.counts[i], after.counts[i]);
  }
  return after.sum < before.sum ? fall_text(name + "_sum", before.sum, after.sum) : "";
}

void add_buckets(Buckets& total, const Buckets* before, const Buckets& after) {
  if (total.bounds != after.bounds) {
    total = {.bounds = after.bounds, .counts = std::vector<double>(after.counts.size(), 0.0)};
  }
  // A bucket that recovers from a fall may grow by more than the number of new values.
  const double all = after.count() - (before ? before->count() : 0);
  for (std::size_t i = 0; i < after.counts.size(); ++i)
    total.counts[i] += std::min(all, after.counts[i] - (before ? before->counts[i] : 0));
  for (std::size_t i = 1; i < total.counts.size(); ++i)
    total.counts[i] = std::max(total.counts[i], total.counts[i - 1]);
  total.sum += after.sum - (before ? before->sum : 0);
}

}  // namespace

Growth::Growth() {
  counters_.fill(std::numeric_limits<double>::quiet_NaN());
  last_.counters.fill(std::numeric_limits<double>::quiet_NaN());
}

void Growth::begin(const Snapshot& first) { see(first); }

void Growth::add_since_start(const Snapshot& only) {
  add_counters(only);
  add_spreads(only);
}

bool Growth::add(const Snapshot& after) {
  const std::vector<std::string> fallen = falls(after);
  const bool is_new = has_restarted(after, fallen.size());
  if (is_new) {
    last_ = {};
    if (restarts_++ == 0 && !fallen.empty()) first_restart_ = fallen.front();
  } else {
    shrunk_.insert(shrunk_.end(), fallen.begin(), fallen.end());
  }
  add_counters(after);
  add_spreads(after);
  see(after);
  return is_new;
}

void Growth::see(const Snapshot& snapshot) {
  for (std::size_t i = 0; i < last_.counters.size(); ++i) {
    if (!std::isnan(snapshot.counters[i])) last_.counters[i] = snapshot.counters[i];
    last_.refused_counters[i] = snapshot.has_refused(static_cast<Counter>(i));
  }
  for (std::size_t i = 0; i < last_.spreads.size(); ++i) {
    if (!snapshot.spreads[i].empty()) last_.spreads[i] = snapshot.spreads[i];
    last_.refused_spreads[i] = snapshot.has_refused(static_cast<Spread>(i));
  }
  if (snapshot.started_s) last_.started_s = snapshot.started_s;
}

std::vector<std::string> Growth::falls(const Snapshot& after) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < last_.counters.size(); ++i) {
    if (after.counters[i] < last_.counters[i])
      texts.push_back(
          fall_text(metric_name(counter_metrics(), after.engine, i), last_.counters[i], after.counters[i]));
  }
  for (std::size_t i = 0; i < last_.spreads.size(); ++i) {
    if (after.spreads[i].empty() || !are_alike(last_.spreads[i], after.spreads[i])) continue;
    const std::string text =
        fall_of(metric_name(spread_metrics(), after.engine, i), last_.spreads[i], after.spreads[i]);
    if (!text.empty()) texts.push_back(text);
  }
  return texts;
}

// Compares start times if the server exports them. Otherwise a restart is assumed if most counters above 0
// fell; after a restart, a counter rarely exceeds its old value within one interval.
bool Growth::has_restarted(const Snapshot& after, std::size_t falls) const {
  if (last_.started_s && after.started_s) return std::abs(*after.started_s - *last_.started_s) > 0.5;
  std::size_t above_0 = 0;
  for (std::size_t i = 0; i < last_.counters.size(); ++i)
    above_0 += last_.counters[i] > 0 && !std::isnan(after.counters[i]);
  for (std::size_t i = 0; i < last_.spreads.size(); ++i)
    above_0 += last_.spreads[i].count() > 0 && are_alike(last_.spreads[i], after.spreads[i]);
  return 2 * falls > above_0;
}

void Growth::add_counters(const Snapshot& after) {
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const double before = last_.counters[i], now = after.counters[i];
    const bool has_begun = !std::isnan(before) || !last_.refused_counters[i];
    if (std::isnan(now) || now < before || !has_begun) continue;
    counters_[i] = zero_if_unknown(counters_[i]) + now - zero_if_unknown(before);
  }
}

// Adds the growth of each histogram. If its bounds changed or there was none before, all its counts are new.
void Growth::add_spreads(const Snapshot& after) {
  for (std::size_t i = 0; i < spreads_.size(); ++i) {
    const Buckets &before = last_.spreads[i], &now = after.spreads[i];
    const bool has_begun = !before.empty() || !last_.refused_spreads[i];
    const bool continues = are_alike(before, now);
    if (now.empty() || !has_begun || (continues && !fall_of("", before, now).empty())) continue;
    add_buckets(spreads_[i], continues ? &before : nullptr, now);
  }
}

}  // namespace kvcap
