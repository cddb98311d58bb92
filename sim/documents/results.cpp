#include "documents/results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/float_values.h"
#include "base/text/joined.h"
#include "documents/kind.h"
#include "metrics/quantity.h"
#include "metrics/samples.h"
#include "text/result_sentences.h"
#include "text/result_table.h"

namespace kvcap {
namespace {

// Adds the metrics in nested objects under dotted names: {"cost": {"total_usd": 1}} becomes "cost.total_usd".
void add_metrics(const Json& object, const std::string& prefix, std::vector<Metric>& metrics) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) {
      add_metrics(value, name + ".", metrics);
    } else if (value.is_boolean()) {
      metrics.push_back({name, value.get<bool>()});
    } else if (value.is_string()) {
      metrics.push_back({name, value.get<std::string>()});
    } else if (value.is_number_integer() && value <= std::numeric_limits<int64_t>::max()) {
      metrics.push_back({name, value.get<int64_t>()});
    } else {
      metrics.push_back({name, number_or_nan(value)});
    }
  }
}

void add_series(const Json& object, NamedSeries& series) {
  if (!object.is_object()) return;
  for (const auto& [name, list] : object.items()) {
    std::vector<double> values;
    if (list.is_array())
      for (const Json& value : list) values.push_back(number_or_nan(value));
    series.emplace_back(name, std::move(values));
  }
}

std::string unique_label(const std::string& wanted, const std::vector<std::string>& taken) {
  std::string label = wanted;
  for (int n = 2; std::find(taken.begin(), taken.end(), label) != taken.end(); ++n)
    label = wanted + " (" + std::to_string(n) + ")";
  return label;
}

void add_result(const Json& json, ResultGroup& group) {
  RunResult result = read_result(json);
  group.labels.push_back(unique_label(result.setting.empty() ? result.policy : result.setting, group.labels));
  group.results.push_back(std::move(result));
}

}  // namespace

RunResult read_result(const Json& json) {
  RunResult result;
  const Json& scenario = value_of(json, "scenario");
  result.scenario_name = text_of(scenario, "name");
  if (scenario.is_object()) result.scenario_json = scenario.dump();
  result.setting = text_of(json, "setting");
  result.policy = text_of(json, "policy");
  result.policy_summary = text_of(json, "policy_summary");
  const Json& bound = value_of(json, "is_bound");
  result.is_bound = bound.is_boolean() ? bound.get<bool>() : result.policy == "ideal";
  if (const Json& metrics = value_of(json, "metrics"); metrics.is_object())
    add_metrics(metrics, "", result.metrics);
  const Json& slo = value_of(scenario, "slo");
  const auto bound_ms = [&slo](const char* key) {
    const double most = number_of(slo, key);
    return std::isnan(most) ? -1 : most;
  };
  result.slo_ttft_ms = bound_ms("ttft_ms");
  result.slo_tpot_ms = bound_ms("tpot_ms");
  add_series(value_of(json, "distributions"), result.distributions);
  add_series(value_of(json, "series"), result.series);
  if (const Json& intervals = value_of(json, "intervals"); intervals.is_object()) {
    for (const auto& [name, interval] : intervals.items())
      result.intervals.push_back({name, number_of(interval, "mean"), number_of(interval, "half_width")});
  }
  add_series(value_of(json, "samples"), result.samples);
  for (const Json& note : list_of(json, "notes")) result.notes.push_back(text_or_json(note));
  result.quality_note = text_of(json, "quality_note");
  result.hardware_provenance = text_of(value_of(json, "provenance"), "hardware");
  return result;
}

namespace {

void add_differences(const Json& list, std::vector<Difference>& differences) {
  for (const Json& one : list) {
    const Json& interval = value_of(one, "interval");
    Difference difference{text_of(one, "setting"), text_of(one, "against"), text_of(one, "metric"),
                          number_of(one, "difference"), std::numeric_limits<double>::quiet_NaN()};
    if (interval.is_array() && interval.size() == 2)
      difference.half_width = (number_or_nan(interval[1]) - number_or_nan(interval[0])) / 2;
    differences.push_back(std::move(difference));
  }
}

}  // namespace

std::vector<Difference> read_differences(const Json& compare) {
  std::vector<Difference> differences;
  add_differences(list_of(compare, "differences"), differences);
  add_differences(list_of(compare, "pairs"), differences);
  return differences;
}

Comparison comparison_of(const ResultGroup& group) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < group.results.size(); ++i)
    settings.push_back({group.labels[i], &group.results[i]});
  return {std::move(settings), group.differences};
}

std::vector<ResultGroup> result_groups(const std::vector<ReportDocument>& documents, bool is_before) {
  std::vector<ResultGroup> groups;
  std::map<std::string, std::size_t> of_scenario;  // group of a scenario's single results
  for (const ReportDocument& document : documents) {
    if (document.is_before != is_before) continue;
    if (document.schema() == "kvcap.compare/1") {
      ResultGroup& group = groups.emplace_back(ResultGroup{.name = document.name});
      for (const Json& result : document.content["results"]) add_result(result, group);
      group.differences = read_differences(document.content);
    } else if (document.schema() == "kvcap.result/1") {
      std::string scenario = text_of(value_of(document.content, "scenario"), "name");
      if (scenario.empty()) scenario = document.name;
      const auto [place, is_new] = of_scenario.try_emplace(scenario, groups.size());
      if (is_new) groups.push_back({.name = document.name});
      add_result(document.content, groups[place->second]);
    }
  }
  return groups;
}

namespace {

// Adds each note once. A note that only some of the settings have begins with their names.
void add_notes(const ResultGroup& group, MarkdownPage& page) {
  std::vector<std::string> notes;
  std::map<std::string, std::vector<std::string>> labels;
  for (std::size_t i = 0; i < group.results.size(); ++i) {
    for (const std::string& note : group.results[i].notes) {
      if (!assumptions({note}).empty()) continue;  // already among the sentences
      if (labels[note].empty()) notes.push_back(note);
      labels[note].push_back(group.labels[i]);
    }
  }
  if (notes.empty()) return;
  page.heading(3, "Notes");
  for (std::string& note : notes) {
    const std::vector<std::string>& of = labels[note];
    if (of.size() < group.results.size()) note = joined(of) + ": " + note;
  }
  page.list(notes);
}

}  // namespace

void add_results(const ResultGroup& group, MarkdownPage& page) {
  page.heading(2, group.name);
  Cells head = {"", ""};
  head.insert(head.end(), group.labels.begin(), group.labels.end());
  std::vector<Cells> rows;
  for (const ResultRow& row : result_rows(group.results)) {
    Cells& cells = rows.emplace_back(Cells{row.name, row.unit});
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
  }
  page.table(head, rows, 2);
  add_notes(group, page);
}

namespace {

struct Found {
  std::string input;
  const RunResult* result;
};
using Results = std::map<std::pair<std::string, std::string>, Found>;  // by scenario and label

Results by_setting(const std::vector<ResultGroup>& groups) {
  Results results;
  for (const ResultGroup& group : groups)
    for (std::size_t i = 0; i < group.results.size(); ++i)
      results.try_emplace({group.results[i].scenario_name, group.labels[i]},
                          Found{group.name, &group.results[i]});
  return results;
}

double half_width(const RunResult& result, std::string_view metric) {
  for (const Interval& interval : result.intervals)
    if (interval.name == metric) return interval.half_width;
  return kNaN;
}

// True iff both results served the same sessions with the same random numbers, judged by seed and workload.
bool is_same_workload(const RunResult& one, const RunResult& other) {
  using Unordered = nlohmann::json;  // another program may have sorted the keys
  const auto parts = [](const RunResult& result) {
    const Unordered scenario = Unordered::parse(result.scenario_json, nullptr, false);
    if (!scenario.is_object()) return std::pair<Unordered, Unordered>();
    return std::pair(scenario.value("seed", Unordered()), scenario.value("workload", Unordered()));
  };
  const auto found = parts(one);
  return !found.second.is_null() && parts(other) == found;
}

constexpr DocumentPart kResultParts[] = {{"policy", Json::value_t::string},
                                         {"metrics", Json::value_t::object}};
constexpr DocumentPart kCompareParts[] = {{"results", Json::value_t::array},
                                          {"differences", Json::value_t::array}};

void add_result_csv(const std::string& input, const Json& json, CsvRows& rows) {
  const RunResult result = read_result(json);
  const std::string& setting = result.setting.empty() ? result.policy : result.setting;
  for (const Metric& metric : result.metrics)
    rows.add(input, setting, metric.name, result.number(metric.name), half_width(result, metric.name));
}

void result_csv(const ReportDocument& document, CsvRows& rows) {
  add_result_csv(document.name, document.content, rows);
}

void compare_csv(const ReportDocument& document, CsvRows& rows) {
  for (const Json& result : list_of(document.content, "results")) add_result_csv(document.name, result, rows);
  for (const Difference& one : read_differences(document.content))
    rows.add(document.name, one.setting + " - " + one.against, one.metric, one.difference, one.half_width);
}

}  // namespace

void add_result_changes(const std::vector<ReportDocument>& documents,
                        const std::vector<const Quantity*>& metrics, std::vector<Change>& changes) {
  const std::vector<ResultGroup> after = result_groups(documents, false),
                                 before = result_groups(documents, true);
  const Results old = by_setting(before);
  const Results all = by_setting(after);
  for (const ResultGroup& group : after) {
    for (std::size_t i = 0; i < group.results.size(); ++i) {
      const RunResult& now = group.results[i];
      auto match = old.find({now.scenario_name, group.labels[i]});
      // If each side has a single result, the two are compared even if their names differ.
      if (match == old.end() && old.size() == 1 && all.size() == 1) match = old.begin();
      if (match == old.end()) continue;
      const RunResult& then = *match->second.result;
      const bool is_paired = is_same_workload(then, now);
      for (const Quantity* metric : metrics) {
        const double a = then.number(metric->name), b = now.number(metric->name);
        if (std::isnan(a) || std::isnan(b)) continue;
        double width = is_paired ? paired_half_width(then.samples, now.samples, metric->name) : kNaN;
        if (std::isnan(width))
          width = std::hypot(half_width(then, metric->name), half_width(now, metric->name));
        const auto& [symbol, scale] = metric->unit;
        changes.push_back({group.name, group.labels[i], metric->name, metric->title, std::string(symbol),
                           scale * a, scale * b, scale * width});
      }
    }
  }
}

const DocumentKind kResultDocument = {
    .schema = "kvcap.result/1", .parts = kResultParts, .add_csv = result_csv};
const DocumentKind kCompareDocument = {.schema = "kvcap.compare/1",
                                       .parts = kCompareParts,
                                       .items = DocumentKind::Items{"results", &kResultDocument},
                                       .add_csv = compare_csv};

}  // namespace kvcap
