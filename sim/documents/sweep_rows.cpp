#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "documents/items.h"
#include "documents/kind.h"
#include "metrics/quantity.h"
#include "metrics/statistics/quantiles.h"
#include "text/titles.h"

namespace kvcap {
namespace {

struct SettingColumn {
  std::string name;
  const Json* values = nullptr;
};

// True iff some turns of the row's run were rejected or failed.
bool leaves_unanswered(const Json& columns, std::size_t row) {
  const auto has = [&](const char* what) {
    const Json& counts = list_of(columns, what);
    return row < counts.size() && number_or_nan(counts[row]) > 0;
  };
  return has("rejected") || has("failed");
}

// Returns the rows that have a value of the metric, are not saturated and answered every turn.
std::vector<std::size_t> good_rows(const Json& sweep, const Json& values) {
  const Json& columns = value_of(sweep, "columns");
  const Json& verdicts = list_of(columns, "stable.verdict");
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_saturated = i < verdicts.size() && verdicts[i] == "saturated";
    if (!is_saturated && !leaves_unanswered(columns, i) && values[i].is_number()) rows.push_back(i);
  }
  return rows;
}

std::string value_of_field(const std::string& path, const Json& value) {
  return field_text(path, text_or_json(value));
}

std::string point_text(const std::vector<SettingColumn>& parameters, std::size_t row) {
  std::vector<std::string> parts;
  for (const SettingColumn& one : parameters)
    if (row < one.values->size())
      parts.push_back(change_title(one.name + "=" + text_or_json((*one.values)[row])));
  return parts.empty() ? "the only point" : joined(parts);
}

// The parameters that a user chooses, and the points of one load: choices are compared under the same load.
struct SameLoad {
  std::vector<SettingColumn> choices;
  std::string load;  // "session rate 0.4 sessions/s"; "": the sweep has one load
  std::vector<std::size_t> rows;
};

// Returns the values of the parameters at a row; of those that are not numbers 0.
std::vector<double> numbers_at(const std::vector<SettingColumn>& parameters, std::size_t row) {
  std::vector<double> numbers;
  for (const SettingColumn& one : parameters) {
    const bool is_number = row < one.values->size() && (*one.values)[row].is_number();
    numbers.push_back(is_number ? (*one.values)[row].get<double>() : 0);
  }
  return numbers;
}

// Returns the rows of the load that most points serve, of equals the heaviest; all rows if the sweep varies
// nothing but the load.
SameLoad at_same_load(const std::vector<SettingColumn>& parameters, const std::vector<std::size_t>& rows) {
  SameLoad same{.rows = rows};
  std::vector<SettingColumn> loads;
  for (const SettingColumn& one : parameters)
    (one.name.starts_with("workload.") ? loads : same.choices).push_back(one);
  if (same.choices.empty() || loads.empty()) return {parameters, "", rows};
  std::map<std::string, std::vector<std::size_t>> by_load;
  for (std::size_t row : rows) by_load[point_text(loads, row)].push_back(row);
  const auto most = std::max_element(by_load.begin(), by_load.end(), [&](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return numbers_at(loads, a.second.front()) < numbers_at(loads, b.second.front());
  });
  if (most == by_load.end()) return same;
  same.rows = most->second;
  if (by_load.size() > 1) same.load = most->first;
  return same;
}

// Returns "At session rate 0.4 sessions/s, " before a clause, "The " where the sweep has one load.
std::string beginning(const SameLoad& same, std::string_view of_one_load) {
  return same.load.empty() ? std::string(of_one_load) : "At " + same.load + ", ";
}

std::string best_text(const Json& sweep, const std::vector<SettingColumn>& parameters,
                      const Quantity& metric) {
  const Json& values = list_of(value_of(sweep, "columns"), metric.name);
  const SameLoad same = at_same_load(parameters, good_rows(sweep, values));
  const std::vector<std::size_t>& rows = same.rows;
  if (rows.empty()) return "";
  const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return values[a].get<double>() < values[b].get<double>();
  });
  const auto at = [&](std::size_t row) {
    return fmt::format("{} ({})", metric_text(metric.name, values[row].get<double>()),
                       point_text(same.choices, row));
  };
  const std::string begin = beginning(same, "The ") + (same.load.empty() ? "" : "the ");
  if (*most == *least) return fmt::format("{}lowest {} is {}.", begin, metric.title, at(*least));
  return fmt::format("{}lowest {} is {}, the highest {}.", begin, metric.title, at(*least), at(*most));
}

// Returns a sentence about the parameter whose values change the median of the metric by the largest ratio.
std::string strongest_text(const Json& sweep, const std::vector<SettingColumn>& parameters,
                           const Quantity& metric) {
  const Json& values = list_of(value_of(sweep, "columns"), metric.name);
  const SameLoad same = at_same_load(parameters, good_rows(sweep, values));
  double greatest = kNoticeable;
  std::string text;
  for (const SettingColumn& parameter : same.choices) {
    std::map<std::string, std::vector<double>> by_value;
    for (std::size_t row : same.rows)
      if (row < parameter.values->size())
        by_value[value_of_field(parameter.name, (*parameter.values)[row])].push_back(
            values[row].get<double>());
    std::vector<std::pair<double, std::string>> medians;
    medians.reserve(by_value.size());
    for (auto& [value, numbers] : by_value) medians.emplace_back(describe(numbers).median, value);
    if (medians.size() < 2) continue;
    const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
    const double ratio = high->first / low->first;
    if (!(ratio > greatest) || !std::isfinite(ratio)) continue;
    greatest = ratio;
    text =
        fmt::format("{}{} depends most on the {}: its median is {} at {} and {} at {}.", beginning(same, ""),
                    metric.title, field_title(parameter.name), metric_text(metric.name, low->first),
                    low->second, metric_text(metric.name, high->first), high->second);
  }
  return text;
}

std::vector<std::string> sweep_sentences(const Json& sweep) {
  const Json& columns = value_of(sweep, "columns");
  std::vector<SettingColumn> parameters;
  for (const std::string& name : texts_of(list_of(sweep, "parameters")))
    parameters.push_back({name, &list_of(columns, name)});
  std::map<std::string, int64_t> statuses;
  for (const std::string& status : texts_of(list_of(columns, "status"))) ++statuses[status];
  const double total = number_of(sweep, "total_rows"), rows = number_of(sweep, "rows");
  std::string counts;
  for (const auto& [status, count] : statuses)
    if (status != "ok") counts += ", " + format_count(count) + " " + status;
  std::string points =
      format_count(statuses["ok"]) + " of " + format_count(std::llround(rows)) + " points ran" + counts;
  if (total > rows)
    points += " (shown: " + format_count(std::llround(rows)) + " of " + format_count(std::llround(total)) +
              ", evenly spaced)";
  int64_t overloaded = 0;
  for (const Json& verdict : list_of(columns, "stable.verdict")) overloaded += verdict == "saturated";
  int64_t unanswering = 0;
  const std::size_t points_shown = list_of(columns, "rejected").size();
  for (std::size_t row = 0; row < points_shown; ++row) unanswering += leaves_unanswered(columns, row);
  if (unanswering > 0)
    points +=
        "; " + format_count(unanswering) + " leave turns unanswered, and these sentences leave them out, too";
  std::vector<std::string> said;
  const double replications = number_of(value_of(sweep, "base"), "replications");
  const std::string chance = replications > 1 ? "" : " One run a point, so small differences may be chance.";
  const Quantity& ttft = *find_quantity("p99_ttft_ms");
  const Quantity& cost = *find_quantity("cost.usd_per_million_output_tokens");
  // The cost of a token falls with the load: it ranks choices, not loads.
  const bool has_choices = std::any_of(parameters.begin(), parameters.end(), [](const SettingColumn& one) {
    return !one.name.starts_with("workload.");
  });
  for (std::string text : {strongest_text(sweep, parameters, ttft), best_text(sweep, parameters, ttft),
                           has_choices ? best_text(sweep, parameters, cost) : ""}) {
    if (!text.empty()) said.push_back(std::move(text));
  }
  said.push_back(points + "." + chance);
  // The sentence on saturated points comes first.
  if (overloaded > 0)
    said.insert(said.begin(),
                fmt::format("{} of {} points cannot serve their rate: charts and tables show them, "
                            "these sentences leave them out.",
                            format_count(overloaded), format_count(std::llround(rows))));
  return said;
}

void sweep_markdown(const ReportDocument& document, MarkdownPage& page) {
  const Json& columns = value_of(document.content, "columns");
  std::vector<const char*> metrics = {"mean_ttft_ms", "p99_ttft_ms"};
  for (const char* alarm : {"rejected", "failed", "truncated"}) {
    const Json& counts = list_of(columns, alarm);
    if (std::any_of(counts.begin(), counts.end(), [](const Json& one) { return number_or_nan(one) > 0; }))
      metrics.push_back(alarm);
  }
  metrics.insert(metrics.end(), {"token_hit_rate", "cost.usd_per_million_output_tokens"});
  Cells titles;
  std::vector<Cells> rows(list_of(columns, "status").size());
  const auto add = [&](const std::string& title, const std::string& name, const auto& text) {
    titles.push_back(title);
    const Json& values = list_of(columns, name);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].push_back(text(i < values.size() ? values[i] : Json()));
  };
  for (const std::string& name : texts_of(list_of(document.content, "parameters")))
    add(field_title(name), name, [&](const Json& value) { return value_of_field(name, value); });
  add("status", "status", [](const Json& value) { return text_or_json(value); });
  const std::size_t parameters = titles.size();
  for (const char* metric : metrics) {
    add(column_title(metric), metric,
        [&](const Json& value) { return number_in_unit(metric, number_or_nan(value)); });
  }
  page.heading(2, document.name);
  page.table(titles, rows, parameters);
}

void sweep_csv(const ReportDocument& document, CsvRows& rows) {
  const Json& columns = value_of(document.content, "columns");
  for (std::size_t i = 0; i < list_of(columns, "status").size(); ++i) {
    std::string point;
    for (const Json& parameter : list_of(document.content, "parameters")) {
      const std::string name = text_or_json(parameter);
      const Json& values = list_of(columns, name);
      if (i < values.size()) point += (point.empty() ? "" : " ") + name + "=" + text_or_json(values[i]);
    }
    for (const Json& metric : list_of(document.content, "metrics")) {
      const Json& values = list_of(columns, text_or_json(metric));
      if (i < values.size()) rows.add(document.name, point, text_or_json(metric), number_or_nan(values[i]));
    }
  }
}

// Returns a key made of row i's values of all parameters.
std::string point_key(const Json& sweep, const Json& parameters, std::size_t i) {
  std::string key;
  for (const Json& parameter : parameters) {
    const Json& column = list_of(value_of(sweep, "columns"), text_or_json(parameter));
    key += i < column.size() ? column[i].dump() + "\n" : "\n";
  }
  return key;
}

void sweep_changes(const ReportDocument& then, const ReportDocument& now, std::vector<Change>& changes) {
  const Json& parameters = list_of(now.content, "parameters");
  std::map<std::string, std::size_t> old;
  const auto rows = [](const ReportDocument& sweep) {
    return list_of(value_of(sweep.content, "columns"), "status").size();
  };
  for (std::size_t i = 0; i < rows(then); ++i) old.try_emplace(point_key(then.content, parameters, i), i);
  for (const Quantity* metric : headline_metrics()) {
    const Json& was = list_of(value_of(then.content, "columns"), metric->name);
    const Json& is = list_of(value_of(now.content, "columns"), metric->name);
    std::vector<double> before, after;
    for (std::size_t i = 0; i < std::min(rows(now), is.size()); ++i) {
      const auto match = old.find(point_key(now.content, parameters, i));
      if (match == old.end() || match->second >= was.size()) continue;
      const double a = number_or_nan(was[match->second]), b = number_or_nan(is[i]);
      if (std::isnan(a) || std::isnan(b)) continue;
      before.push_back(metric->unit.scale * a);
      after.push_back(metric->unit.scale * b);
    }
    if (before.empty()) continue;
    const std::string points = "median of " + format_count(std::ssize(before)) + " points";
    changes.push_back({now.name, points, metric->name, metric->title, std::string(metric->unit.symbol),
                       describe(before).median, describe(after).median, kNaN});
  }
}

}  // namespace

const DocumentKind kSweepRowsDocument = {.schema = "kvcap.sweep_rows/1",
                                         .page = "sweep",
                                         .is_file = false,
                                         .add_csv = sweep_csv,
                                         .add_markdown = sweep_markdown,
                                         .sentences = sweep_sentences,
                                         .key = name_of,
                                         .add_changes = sweep_changes};

}  // namespace kvcap
