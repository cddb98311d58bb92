#include <charconv>
#include <cmath>

#include "base/float_values.h"
#include "base/plain_text.h"
#include "report/json_values.h"
#include "report/read_result.h"
#include "report/text_views.h"

namespace kvcap {
namespace {

// RFC 4180: quotes around what has a comma or a quote. What a spreadsheet would take for a
// formula begins with an apostrophe.
std::string cell(std::string_view text) {
  std::string safe = plain_line(text);
  if (!safe.empty() && std::string_view("=+-@").find(safe.front()) != std::string_view::npos)
    safe.insert(0, "'");
  if (safe.find_first_of(",\"") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (char c : safe) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Shortest digits that read back as the same double; "" for what is no number.
std::string digits(double value) {
  if (!std::isfinite(value)) return "";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

class Rows {
 public:
  void add(const std::string& input, const std::string& setting, const std::string& metric, double value,
           double half_width = kNaN) {
    if (std::isnan(value)) return;
    text_ += cell(input) + ',' + cell(setting) + ',' + cell(metric) + ',' + digits(value) + ',' +
             digits(half_width) + '\n';
  }
  // Every number of an object, with dotted names; those of a list by their place.
  void add_all(const std::string& input, const std::string& setting, const Json& value,
               const std::string& name) {
    if (value.is_number()) {
      add(input, setting, name, value.get<double>());
    } else if (value.is_boolean()) {
      add(input, setting, name, value.get<bool>() ? 1 : 0);
    } else if (value.is_object() || value.is_array()) {
      for (const auto& [key, item] : value.items())  // of a list: its places
        add_all(input, setting, item, name.empty() ? key : std::string(name).append(".").append(key));
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_ = "input,setting,metric,value,half_width\n";
};

void add_result(const std::string& input, const Json& json, Rows& rows) {
  const RunResult result = read_result(json);
  const std::string& setting = result.setting.empty() ? result.policy : result.setting;
  for (const Metric& metric : result.metrics) {
    double half_width = kNaN;
    for (const Interval& interval : result.intervals)
      if (interval.name == metric.name) half_width = interval.half_width;
    rows.add(input, setting, metric.name, result.number(metric.name), half_width);
  }
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : " ") + text_or_json(item);
  return text;
}

void add_compare(const ReportInput& input, Rows& rows) {
  for (const Json& result : list_of(input.content, "results")) add_result(input.name, result, rows);
  for (const Difference& one : read_differences(input.content))
    rows.add(input.name, one.setting + " - " + one.against, one.metric, one.difference, one.half_width);
}

void add_plan(const ReportInput& input, Rows& rows) {
  for (const Json& candidate : list_of(input.content, "judged")) {
    const Json& metrics = value_of(candidate, "metrics");
    if (!metrics.is_object()) continue;
    for (const auto& [name, value] : metrics.items()) {
      const Json& interval = value_of(value, "interval");
      const bool has_interval = interval.is_array() && interval.size() == 2;
      rows.add(input.name, joined(list_of(candidate, "changes")), name, number_of(value, "mean"),
               has_interval ? (number_or_nan(interval[1]) - number_or_nan(interval[0])) / 2 : kNaN);
    }
  }
}

void add_break_even(const ReportInput& input, Rows& rows) {
  const std::string across = text_of(input.content, "across"), down = text_of(input.content, "down");
  for (const Json& cell : list_of(input.content, "cells")) {
    std::string place = across;
    place.append("=").append(text_of(cell, "across")).append(" ").append(down);
    place.append("=").append(text_of(cell, "down")).append(" ");
    for (const Json& one : list_of(cell, "policies")) {
      const std::string setting = place + text_of(one, "policy");
      for (const char* metric : {"ttft_s", "closed_form_ttft_s"})
        rows.add(input.name, setting, metric, number_of(one, metric));
    }
  }
}

void add_sweep(const ReportInput& input, Rows& rows) {
  const Json& columns = value_of(input.content, "columns");
  for (std::size_t i = 0; i < list_of(columns, "status").size(); ++i) {
    std::string point;
    for (const Json& parameter : list_of(input.content, "parameters")) {
      const std::string name = text_or_json(parameter);
      const Json& values = list_of(columns, name);
      if (i < values.size()) point += (point.empty() ? "" : " ") + name + "=" + text_or_json(values[i]);
    }
    for (const Json& metric : list_of(input.content, "metrics")) {
      const Json& values = list_of(columns, text_or_json(metric));
      if (i < values.size()) rows.add(input.name, point, text_or_json(metric), number_or_nan(values[i]));
    }
  }
}

// Loads of the curve are settings: "requests_per_s=2".
void add_capacity(const ReportInput& input, Rows& rows) {
  const Json& capacity = value_of(input.content, "capacity");
  const std::string unit = text_of(input.content, "unit");
  rows.add(input.name, "", "capacity." + unit, number_of(capacity, "mean"));
  const Json& interval = list_of(capacity, "interval");
  for (std::size_t i = 0; i < interval.size() && i < 2; ++i)
    rows.add(input.name, "", "capacity." + unit + (i == 0 ? ".from" : ".to"), number_or_nan(interval[i]));
  for (const Json& point : list_of(input.content, "curve")) {
    const Json& metrics = value_of(point, "metrics");
    if (!metrics.is_object()) continue;
    for (const auto& [name, value] : metrics.items())
      rows.add(input.name, unit + "=" + text_of(point, unit), name, number_or_nan(value),
               number_of(value_of(point, "half_widths"), name));
  }
}

// The numbers of every item of a list, which `name` tells apart.
void add_list(const ReportInput& input, const char* list, const char* name, Rows& rows) {
  for (const Json& item : list_of(input.content, list)) {
    if (!item.is_object()) continue;
    for (const auto& [key, value] : item.items())
      if (key != "timeline") rows.add_all(input.name, text_of(item, name), value, key);
  }
}

}  // namespace

std::string report_csv(const Report& report) {
  Rows rows;
  for (const ReportInput& input : report.inputs) {
    const std::string schema = input.schema();
    if (schema == "kvcap.result/1") add_result(input.name, input.content, rows);
    if (schema == "kvcap.compare/1") add_compare(input, rows);
    if (schema == "kvcap.restore/1") add_list(input, "policies", "policy", rows);
    if (schema == "kvcap.sweep_rows/1") add_sweep(input, rows);
    if (schema == "kvcap.plan_result/1") add_plan(input, rows);
    if (schema == "kvcap.break_even/1") add_break_even(input, rows);
    if (schema == "kvcap.capacity/1") add_capacity(input, rows);
    if (schema == "kvcap.validation/1") add_list(input, "checks", "id", rows);
    if (schema == "kvcap.trace_stats/1") rows.add_all(input.name, "", input.content, "");
  }
  return rows.take();
}

}  // namespace kvcap
