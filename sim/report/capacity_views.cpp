#include "report/capacity_views.h"

#include <algorithm>
#include <cmath>

#include "metrics/format.h"
#include "report/json_values.h"

namespace kvcap {
namespace {

struct ViewColumn {
  const char* head;
  const char* metric;
  double scale = 1;
  bool is_alarm = false;  // shown where it is not 0
};
constexpr ViewColumn kColumns[] = {
    {"mean TTFT ms", "mean_ttft_ms"},         {"p99 TTFT ms", "p99_ttft_ms"},
    {"p99 TPOT ms", "p99_tpot_ms"},           {"rejected %", "rejected_share", 100, true},
    {"failed %", "failed_share", 100, true},  {"truncated %", "truncated_share", 100, true},
    {"output tokens/s", "output_throughput"}, {"goodput requests/s", "request_goodput"}};

double metric_of(const Json& point, const char* metric) {
  return number_of(value_of(point, "metrics"), metric);
}

bool is_closed_loop(const Json& capacity) { return text_of(capacity, "unit") == "concurrency"; }

std::string targets_text(const Json& capacity) {
  std::string text;
  const Json& meet = value_of(capacity, "meet");
  if (!meet.is_object()) return text;
  for (const auto& [metric, bounds] : meet.items()) {
    std::string one = metric;
    if (const double min = number_of(bounds, "min"); !std::isnan(min))
      one = format_number(min) + " <= " + one;
    if (const double max = number_of(bounds, "max"); !std::isnan(max)) one += " <= " + format_number(max);
    text += (text.empty() ? "" : ", ") + one;
  }
  return text;
}

std::string interval_text(const Json& capacity) {
  const Json& interval = list_of(value_of(capacity, "capacity"), "interval");
  if (interval.size() != 2) return "";
  const double low = number_or_nan(interval[0]), high = number_or_nan(interval[1]);
  return " (95 % interval " + format_number(low) +
         (std::isnan(high) ? " or more" : " to " + format_number(high)) + ")";
}

}  // namespace

std::vector<std::string> capacity_sentences(const Json& capacity) {
  const double load = number_of(value_of(capacity, "capacity"), "mean");
  const std::string policy = text_of(capacity, "policy"), limit = text_of(capacity, "limit");
  if (!(load > 0)) return {"No load meets " + targets_text(capacity) + ": the least misses " + limit + "."};
  const std::string unit = is_closed_loop(capacity) ? " active sessions" : " requests/s";
  std::vector<std::string> said = {policy + " serves " + format_number(load) + unit + " within " +
                                   targets_text(capacity) + interval_text(capacity) + "; " +
                                   (limit.empty() ? "more was not tried." : "more misses " + limit + ".")};
  const Json& curve = list_of(capacity, "curve");
  if (curve.empty()) return said;
  const Json& last = curve.back();
  const double at = number_of(last, is_closed_loop(capacity) ? "concurrency" : "requests_per_s");
  if (const double p99_ms = metric_of(last, "p99_ttft_ms"); at > load && !std::isnan(p99_ms)) {
    const double good = metric_of(last, "request_goodput");
    said.push_back("At " + format_number(at) + unit + " p99 TTFT is " + format_number(p99_ms) + " ms" +
                   (std::isnan(good) ? "" : " and " + format_number(good) + " requests/s meet the slo") +
                   ".");
  }
  for (const char* what : {"rejected", "failed", "truncated"}) {
    const auto most = std::max_element(curve.begin(), curve.end(), [what](const Json& a, const Json& b) {
      return !(metric_of(a, what) >= metric_of(b, what));
    });
    const double share = metric_of(*most, (std::string(what) + "_share").c_str());
    if (!(share > 0)) continue;
    said.push_back("Up to " + format_percent(share) + " of the turns " +
                   (std::string_view(what) == "failed" ? "fail." : "are " + std::string(what) + "."));
  }
  return said;
}

CapacityTable capacity_table(const Json& capacity) {
  const Json& curve = list_of(capacity, "curve");
  std::vector<ViewColumn> columns;
  for (const ViewColumn& one : kColumns) {
    const bool happens = std::any_of(curve.begin(), curve.end(),
                                     [&](const Json& point) { return metric_of(point, one.metric) > 0; });
    if (!one.is_alarm || happens) columns.push_back(one);
  }
  const bool closed_loop = is_closed_loop(capacity);
  CapacityTable table;
  table.head = {closed_loop ? "active sessions" : "requests/s"};
  for (const ViewColumn& one : columns) table.head.emplace_back(one.head);
  table.head.emplace_back("misses");
  for (const Json& point : curve) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(format_number(number_of(point, closed_loop ? "concurrency" : "requests_per_s")));
    for (const ViewColumn& one : columns)
      row.push_back(format_number(one.scale * metric_of(point, one.metric)));
    const std::string missed = text_of(point, "missed");
    const std::string stable = text_of(point, "stable");
    row.push_back(stable == "stable" || stable.empty() ? missed : stable);
  }
  return table;
}

}  // namespace kvcap
