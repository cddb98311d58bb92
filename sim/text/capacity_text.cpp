#include "text/capacity_text.h"

#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "base/text/width.h"
#include "metrics/quantity.h"
#include "metrics/statistics/percentile_share.h"

namespace kvcap {
namespace {

// Returns the goodput if there are targets, otherwise the throughput, in requests/s.
double served_per_s(const LoadPoint& one) {
  const double goodput = one.metric("request_goodput").mean;
  return std::isnan(goodput) ? one.metric("request_throughput").mean : goodput;
}

double column_value(const CapacityColumn& column, const LoadPoint& at) {
  const double over = column.over.empty() ? 1 : at.metric(column.over).mean;
  return column.unit.scale * at.metric(column.metric).mean / over;
}

// Returns the remark on a load: whether it is saturated, misses a target or lies inside the capacity's
// interval; "" if it meets every target. A single seed has no interval, so its values alone decide.
std::string mark_of(const LoadPoint& one, const CapacityAnswer& answer) {
  const Verdict stability = one.stability();
  const bool is_one = one.runs.size() == 1;
  if (is_one && stability == Verdict::undecided) return " undecided";
  if (!is_one && one.load > answer.sure && one.load < answer.beyond) return " unclear";
  if (stability == Verdict::saturated) return " saturated";
  return one.missed.empty() ? "" : " misses";
}

CapacityColumn column_of(const std::string& metric, const char* title = nullptr) {
  const Quantity& row = *find_quantity(metric);
  return {.metric = metric, .title = title ? title : row.title, .unit = row.unit};
}

}  // namespace

std::vector<CapacityColumn> capacity_columns(const std::vector<std::string>& targets) {
  std::vector<CapacityColumn> columns = {column_of("mean_ttft_ms"), column_of("p99_ttft_ms"),
                                         column_of("p99_tpot_ms")};
  for (const std::string& target : targets) {
    const auto latency = [](const std::string& metric) { return metric.substr(metric.find('_') + 1); };
    const bool has_it = std::any_of(columns.begin(), columns.end(),
                                    [&](const CapacityColumn& one) { return one.metric == target; });
    const auto same = std::find_if(columns.begin() + 1, columns.end(), [&](const CapacityColumn& one) {
      return one.metric.starts_with("p99_") && latency(one.metric) == latency(target);
    });
    if (has_it || !target.ends_with("_ms")) continue;
    if (same == columns.end()) {
      columns.push_back(column_of(target));
    } else {
      *same = column_of(target);
    }
  }
  // A target on a percentile is judged by the share of all turns beyond its bound, so that share gets a
  // column. The mean of the seeds' percentiles does not show it.
  const auto latency_of = [](const std::string& metric) { return metric.substr(metric.find('_')); };
  const auto is_alone = [&](const std::string& target) {
    return std::count_if(targets.begin(), targets.end(), [&](const std::string& other) {
             return allowed_share(other) && latency_of(other) == latency_of(target);
           }) == 1;
  };
  for (const std::string& target : targets) {
    if (!allowed_share(target)) continue;
    const std::string title = find_quantity(target)->title;
    columns.push_back({.metric = beyond_share_name(target),
                       .title = "late " + (is_alone(target) ? title.substr(title.find(' ') + 1) : title),
                       .unit = find_quantity("token_hit_rate")->unit});
  }
  for (const char* share : {"rejected_share", "failed_share", "truncated_share"}) {
    columns.push_back(column_of(share));
    columns.back().is_alarm = true;
  }
  columns.push_back(column_of("token_hit_rate", "hits"));
  columns.push_back({.metric = "peak_kv_tokens",
                     .title = "peak KV",
                     .unit = find_quantity("token_hit_rate")->unit,
                     .over = "kv_capacity_tokens"});
  columns.push_back(column_of("preemptions", "preempted"));
  columns.back().is_alarm = true;
  columns.push_back(column_of("output_throughput"));
  columns.push_back(column_of("request_goodput"));
  return columns;
}

std::string curve_text(const CapacityQuestion& question, const CapacityAnswer& answer) {
  constexpr std::size_t kWidth = 10, kLongestMark = 11, kLeastBar = 4;
  std::vector<std::string> targets;
  for (const Target& one : question.meet) targets.push_back(one.metric);
  std::vector<CapacityColumn> columns = capacity_columns(targets);
  // The goodput needs no column: the bar and the number in front of the bar show it.
  columns.pop_back();
  std::erase_if(columns, [&](const CapacityColumn& one) {
    return one.is_alarm && std::none_of(answer.curve.begin(), answer.curve.end(),
                                        [&](const LoadPoint& at) { return at.metric(one.metric).mean > 0; });
  });
  const auto taken = [&] { return kWidth * (columns.size() + 2) + 2 + kLongestMark; };
  if (taken() > text_columns()) columns.erase(columns.begin());
  const std::size_t left = text_columns() - std::min(text_columns(), taken());
  const double bar = left < kLeastBar ? 0 : static_cast<double>(std::min<std::size_t>(20, left));
  double most = 0;
  for (const LoadPoint& one : answer.curve) most = std::max(most, served_per_s(one));
  std::string names = right_aligned(question.closed_loop ? "sessions" : "requests", kWidth);
  std::string units = right_aligned(question.closed_loop ? "active" : "/s", kWidth);
  for (const CapacityColumn& one : columns) {
    names += right_aligned(one.title, kWidth);
    units += right_aligned(one.unit.symbol, kWidth);
  }
  std::string text =
      names + right_aligned("good", kWidth) + '\n' + units + right_aligned("/s", kWidth) + '\n';
  for (const LoadPoint& one : answer.curve) {
    text += right_aligned(format_number(one.load), kWidth);
    for (const CapacityColumn& column : columns)
      text += right_aligned(format_number(column_value(column, one)), kWidth);
    text += right_aligned(format_number(served_per_s(one)), kWidth) + "  ";
    text += std::string(static_cast<std::size_t>(std::lround(most > 0 ? bar * served_per_s(one) / most : 0)),
                        '#');
    text += mark_of(one, answer) + '\n';
  }
  return text;
}

}  // namespace kvcap
