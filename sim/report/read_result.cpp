#include "report/read_result.h"

#include <algorithm>
#include <map>

#include "report/json_values.h"

namespace kvcap {
namespace {

// {"cost": {"total_usd": 1}} becomes "cost.total_usd".
void add_metrics(const Json& object, const std::string& prefix, std::vector<Metric>& metrics) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_object()) {
      add_metrics(value, name + ".", metrics);
    } else if (value.is_boolean()) {
      metrics.push_back({name, value.get<bool>()});
    } else if (value.is_string()) {
      metrics.push_back({name, value.get<std::string>()});
    } else if (value.is_number_integer()) {
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
  add_series(value_of(json, "distributions"), result.distributions);
  add_series(value_of(json, "series"), result.series);
  if (const Json& intervals = value_of(json, "intervals"); intervals.is_object()) {
    for (const auto& [name, interval] : intervals.items())
      result.intervals.push_back({name, number_of(interval, "mean"), number_of(interval, "half_width")});
  }
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

std::vector<ResultGroup> result_groups(const std::vector<ReportInput>& inputs, bool is_before) {
  std::vector<ResultGroup> groups;
  std::map<std::string, std::size_t> of_scenario;  // where the single results of a scenario are
  for (const ReportInput& input : inputs) {
    if (input.is_before != is_before) continue;
    if (input.schema() == "kvcap.compare/1") {
      ResultGroup& group = groups.emplace_back(ResultGroup{.name = input.name});
      for (const Json& result : input.content["results"]) add_result(result, group);
      group.differences = read_differences(input.content);
    } else if (input.schema() == "kvcap.result/1") {
      std::string scenario = text_of(value_of(input.content, "scenario"), "name");
      if (scenario.empty()) scenario = input.name;
      const auto [place, is_new] = of_scenario.try_emplace(scenario, groups.size());
      if (is_new) groups.push_back({.name = input.name});
      add_result(input.content, groups[place->second]);
    }
  }
  return groups;
}

}  // namespace kvcap
