#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "documents/kind.h"
#include "metrics/quantity.h"

namespace kvcap {
namespace {

constexpr DocumentPart kCapacityParts[] = {{"capacity", Json::value_t::object},
                                           {"curve", Json::value_t::array}};

struct ViewColumn {
  const char* metric;
  bool is_alarm = false;  // shown only if it is not 0

  Unit unit() const { return find_quantity(metric)->unit; }
  std::string head() const { return find_quantity(metric)->title + " " + std::string(unit().symbol); }
};
constexpr ViewColumn kColumns[] = {
    {"mean_ttft_ms"},       {"p99_ttft_ms"},           {"p99_tpot_ms"},       {"rejected_share", true},
    {"failed_share", true}, {"truncated_share", true}, {"output_throughput"}, {"request_goodput"}};

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

// Adds one row per load of the curve; columns of rejected, failed and truncated turns only if there are such
// turns.
void capacity_markdown(const ReportDocument& document, MarkdownPage& page) {
  const Json& capacity = document.content;
  const Json& curve = list_of(capacity, "curve");
  std::vector<ViewColumn> columns;
  for (const ViewColumn& one : kColumns) {
    const bool happens = std::any_of(curve.begin(), curve.end(),
                                     [&](const Json& point) { return metric_of(point, one.metric) > 0; });
    if (!one.is_alarm || happens) columns.push_back(one);
  }
  const bool closed_loop = is_closed_loop(capacity);
  Cells head = {closed_loop ? "active sessions" : "requests/s"};
  for (const ViewColumn& one : columns) head.push_back(one.head());
  head.emplace_back("misses");
  std::vector<Cells> rows;
  for (const Json& point : curve) {
    Cells& row = rows.emplace_back();
    row.push_back(format_number(number_of(point, closed_loop ? "concurrency" : "requests_per_s")));
    for (const ViewColumn& one : columns)
      row.push_back(format_number(one.unit().scale * metric_of(point, one.metric)));
    const std::string missed = text_of(point, "missed");
    const std::string stable = text_of(point, "stable");
    row.push_back(stable == "stable" || stable.empty() ? missed : stable);
  }
  page.heading(2, document.name);
  page.table(head, rows, 0);
}

void capacity_csv(const ReportDocument& document, CsvRows& rows) {
  const Json& capacity = value_of(document.content, "capacity");
  const std::string unit = text_of(document.content, "unit");
  rows.add(document.name, "", "capacity." + unit, number_of(capacity, "mean"));
  const Json& interval = list_of(capacity, "interval");
  for (std::size_t i = 0; i < interval.size() && i < 2; ++i)
    rows.add(document.name, "", "capacity." + unit + (i == 0 ? ".from" : ".to"), number_or_nan(interval[i]));
  for (const Json& point : list_of(document.content, "curve")) {
    const Json& metrics = value_of(point, "metrics");
    if (!metrics.is_object()) continue;
    for (const auto& [name, value] : metrics.items())
      rows.add(document.name, unit + "=" + text_of(point, unit), name, number_or_nan(value),
               number_of(value_of(point, "half_widths"), name));
  }
}

}  // namespace

const DocumentKind kCapacityDocument = {.schema = "kvcap.capacity/1",
                                        .page = "capacity",
                                        .parts = kCapacityParts,
                                        .add_csv = capacity_csv,
                                        .add_markdown = capacity_markdown,
                                        .sentences = capacity_sentences};

}  // namespace kvcap
