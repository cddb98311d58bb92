#include "metrics/samples.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/float_values.h"
#include "metrics/quantity.h"
#include "metrics/recorder.h"
#include "metrics/statistics/intervals.h"
#include "metrics/turn_means.h"

namespace kvcap {
namespace {

constexpr std::size_t kMostStretches = 2 * kFewestStretches;

// Rounds to six digits, which keeps results small.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

bool is_headline(std::string_view metric) {
  const std::vector<const Quantity*> headlines = headline_metrics();
  return std::any_of(headlines.begin(), headlines.end(),
                     [metric](const Quantity* one) { return one->name == metric; });
}

const std::vector<double>* find_samples(const NamedSeries& samples, std::string_view name) {
  const auto found =
      std::find_if(samples.begin(), samples.end(), [name](const auto& one) { return one.first == name; });
  return found == samples.end() ? nullptr : &found->second;
}

}  // namespace

NamedSeries samples_of_turns(const std::vector<TurnRecord>& turns) {
  NamedSeries samples = {{"turns", {static_cast<double>(turns.size())}}};
  for (const TurnMean& mean : turn_means()) {
    if (!is_headline(mean.metric)) continue;
    Stretches stretches(1, kMostStretches);
    std::size_t count = 0;
    for (const TurnRecord& turn : turns) {
      const Stretches::Sums sums = is_measured(turn) ? mean.of(turn) : Stretches::Sums{};
      stretches.add(sums.value, sums.weight);
      count += sums.weight > 0;
    }
    if (count < kFewestStretches) continue;
    std::vector<double> errors = stretches.errors();
    for (double& error : errors) error = rounded(error);
    samples.emplace_back(mean.metric, std::move(errors));
  }
  return samples;
}

NamedSeries samples_of_runs(const std::vector<RunResult>& runs) {
  std::vector<double> turns;
  for (const RunResult& run : runs) turns.push_back(static_cast<double>(run.turn_count));
  NamedSeries samples = {{"turns", std::move(turns)}};
  for (const Quantity& metric : quantities()) {
    const std::vector<std::string>& compared = compared_metrics();
    const bool is_compared = std::find(compared.begin(), compared.end(), metric.name) != compared.end();
    if (metric.kind != QuantityKind::metric || (!is_compared && !is_headline(metric.name))) continue;
    std::vector<double> values;
    for (const RunResult& run : runs) values.push_back(run.number(metric.name));
    if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); })) continue;
    samples.emplace_back(metric.name, std::move(values));
  }
  return samples;
}

double paired_half_width(const NamedSeries& against, const NamedSeries& setting, std::string_view metric) {
  const std::vector<double>*turns = find_samples(against, "turns"), *same = find_samples(setting, "turns");
  if (!turns || !same || turns->empty() || turns->size() != same->size()) return kNaN;
  // Runs with equal seeds can be paired whatever their lengths. Stretches of single runs can be paired only
  // if both runs have the same number of turns.
  if (turns->size() == 1 && *turns != *same) return kNaN;
  const std::vector<double>*before = find_samples(against, metric), *after = find_samples(setting, metric);
  if (!before || !after || before->size() != after->size()) return kNaN;
  std::vector<double> differences;
  for (std::size_t i = 0; i < after->size(); ++i) differences.push_back((*after)[i] - (*before)[i]);
  if (turns->size() == 1) return batch_interval(differences).half_width;
  if (differences.size() != turns->size()) return kNaN;
  return mean_interval(differences).half_width;
}

}  // namespace kvcap
