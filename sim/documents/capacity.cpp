#include <algorithm>
#include <cmath>
#include <span>

#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "documents/items.h"
#include "documents/kind.h"
#include "metrics/quantity.h"
#include "text/capacity_text.h"
#include "text/result_sentences.h"
#include "text/sentence.h"
#include "text/titles.h"

namespace kvcap {
namespace {

constexpr DocumentPart kCapacityParts[] = {{"capacity", Json::value_t::object},
                                           {"curve", Json::value_t::array}};

double metric_of(const Json& point, const char* metric) {
  return number_of(value_of(point, "metrics"), metric);
}

double cell_of(const CapacityColumn& column, const Json& point) {
  const double over = column.over.empty() ? 1 : metric_of(point, column.over.c_str());
  return column.unit.scale * metric_of(point, column.metric.c_str()) / over;
}

std::vector<std::string> target_metrics(const Json& capacity) {
  std::vector<std::string> metrics;
  const Json& meet = value_of(capacity, "meet");
  if (!meet.is_object()) return metrics;
  for (const auto& [metric, bounds] : meet.items()) metrics.push_back(metric);
  return metrics;
}

bool is_closed_loop(const Json& capacity) { return text_of(capacity, "unit") == "concurrency"; }

double load_of(const Json& capacity) { return number_of(value_of(capacity, "capacity"), "mean"); }

// ---- sentences ----

struct CapacitySubject {
  const Json& json;
  const char* unserved = "";  // rejected, failed or truncated

  double end(std::size_t which) const {
    const Json& interval = list_of(value_of(json, "capacity"), "interval");
    const double value = which < interval.size() ? number_or_nan(interval[which]) : kNaN;
    return std::isfinite(value) ? value : kNaN;
  }
  const Json& last() const { return list_of(json, "curve").back(); }
  double last_load() const {
    return number_of(last(), is_closed_loop(json) ? "concurrency" : "requests_per_s");
  }
  // Returns a metric at the lowest load that was tried.
  double at_least(const std::string& metric) const {
    const Json& attempts = list_of(json, "attempts");
    return attempts.empty() ? kNaN : metric_of(attempts.front(), metric.c_str());
  }
  double least_share() const { return at_least(text_of(json, "limit") + "_share"); }
  // Returns the first target on a latency; p99 TTFT if there is none.
  std::string latency() const {
    for (const std::string& metric : target_metrics(json))
      if (metric.ends_with("_ms") && find_quantity(metric)) return metric;
    return "p99_ttft_ms";
  }
  // Returns the largest share of unserved turns at any load of the curve.
  double most_unserved() const {
    double most = 0;
    for (const Json& point : list_of(json, "curve"))
      most = std::fmax(most, metric_of(point, (std::string(unserved) + "_share").c_str()));
    return most;
  }
};
using CapacitySentence = Sentence<CapacitySubject>;

bool knows(const CapacitySubject& s, std::string_view key) { return !value_of(s.json, key).is_null(); }
std::span<const PlaceOfText<CapacitySubject>> places_of(const CapacitySubject&);

bool is_none(const CapacitySubject& s) { return !(load_of(s.json) > 0); }

bool is_interrupted(const CapacitySubject& s) { return value_of(s.json, "interrupted") == true; }

constexpr CapacitySentence kCapacityVerdict[] = {
    {"Interrupted: {policy} misses {limit title} at each load that was tried; lower ones were not tried.",
     [](const CapacitySubject& s) { return is_interrupted(s) && is_none(s); }},
    {"Interrupted: {policy} serves at least {load} {unit} within {targets}; the search had not ended.",
     is_interrupted},
    {"{policy} meets {targets} at no load: even at the lowest, {least share} of the turns are {limit}, and "
     "none may be; --meet '{limit}_share<=0.01' allows some.",
     [](const CapacitySubject& s) { return is_none(s) && s.least_share() > 0; }},
    {"{policy} meets {targets} at no load: even the lowest misses {limit title}{least value}.", is_none},
    {"{policy} serves {load} {unit} within {targets}{interval}; {more}."},
};
constexpr CapacitySentence kCapacityInterval[] = {
    {" (one seed, so chance is not excluded)",
     [](const CapacitySubject& s) { return value_of(s.json, "seeds") == 1; }},
    {"", [](const CapacitySubject& s) { return std::isnan(s.end(0)); }},
    {" (95 % interval {from} or more{seeds})", [](const CapacitySubject& s) { return std::isnan(s.end(1)); }},
    {" (95 % interval {from} to {to}{seeds})"},
};
constexpr CapacitySentence kMore[] = {
    {"higher loads were not tried",
     [](const CapacitySubject& s) { return text_of(s.json, "limit").empty(); }},
    {"at higher loads, half of the runs or fewer are stable; the targets are not the limit",
     [](const CapacitySubject& s) { return text_of(s.json, "limit") == "stable"; }},
    {"higher loads miss {limit title}"},
};
// What happens at the highest load of the curve.
constexpr CapacitySentence kAbove[] = {
    {"At {last load} {unit} {latency} is {last latency}{last goodput}.",
     [](const CapacitySubject& s) {
       return !is_none(s) && !list_of(s.json, "curve").empty() && s.last_load() > load_of(s.json) &&
              !std::isnan(metric_of(s.last(), s.latency().c_str()));
     }},
};
constexpr CapacitySentence kUnservedTurns[] = {
    {"Up to {unserved share} of the turns fail.",
     [](const CapacitySubject& s) {
       return s.most_unserved() > 0 && s.unserved == std::string_view("failed");
     }},
    {"Up to {unserved share} of the turns are {unserved}.",
     [](const CapacitySubject& s) { return s.most_unserved() > 0; }},
};

// Returns the title of a limit that is a metric, such as "p99 TTFT"; other limits, such as "rejected",
// unchanged.
std::string limit_title(const std::string& limit) {
  return limit.find_first_of("_.") == std::string::npos ? limit : metric_title(limit);
}

// Returns "p99 TTFT <= 500 ms, 50.0 % <= token hit rate".
std::string targets_text(const CapacitySubject& s) {
  std::vector<std::string> targets;
  const Json& meet = value_of(s.json, "meet");
  if (!meet.is_object()) return "";
  for (const auto& [metric, bounds] : meet.items()) {
    const double min = number_of(bounds, "min"), max = number_of(bounds, "max");
    targets.push_back((std::isnan(min) ? "" : metric_text(metric, min, kNaN) + " <= ") +
                      metric_title(metric) +
                      (std::isnan(max) ? "" : " <= " + metric_text(metric, max, kNaN)));
  }
  return joined(targets);
}

const PlaceOfText<CapacitySubject> kCapacityPlaces[] = {
    {"policy", [](const CapacitySubject& s) { return text_of(s.json, "policy"); }},
    {"load", [](const CapacitySubject& s) { return format_number(load_of(s.json)); }},
    {"unit",
     [](const CapacitySubject& s) {
       return std::string(is_closed_loop(s.json) ? "active sessions" : "requests/s");
     }},
    {"targets", targets_text},
    {"limit", [](const CapacitySubject& s) { return text_of(s.json, "limit"); }},
    {"limit title", [](const CapacitySubject& s) { return limit_title(text_of(s.json, "limit")); }},
    {"least share", [](const CapacitySubject& s) { return format_percent(s.least_share()); }},
    {"least value",
     [](const CapacitySubject& s) {
       const std::string limit = text_of(s.json, "limit");
       const Quantity* row = find_quantity(limit);
       const double value = s.at_least(limit);
       if (!row || std::isnan(value)) return std::string();
       return " (" + format_number(row->unit.scale * value) + " " + std::string(row->unit.symbol) +
              ", mean of the seeds)";
     }},
    {"more", [](const CapacitySubject& s) { return first_said(kMore, s); }},
    {"interval", [](const CapacitySubject& s) { return first_said(kCapacityInterval, s); }},
    {"from", [](const CapacitySubject& s) { return format_number(s.end(0)); }},
    {"to", [](const CapacitySubject& s) { return format_number(s.end(1)); }},
    {"seeds",
     [](const CapacitySubject& s) {
       const double seeds = number_of(s.json, "seeds");
       return std::isnan(seeds) ? "" : ", " + format_count(std::llround(seeds), "seed");
     }},
    {"last load", [](const CapacitySubject& s) { return format_number(s.last_load()); }},
    {"latency", [](const CapacitySubject& s) { return find_quantity(s.latency())->title; }},
    {"last latency",
     [](const CapacitySubject& s) { return format_ms(metric_of(s.last(), s.latency().c_str())); }},
    {"last goodput",
     [](const CapacitySubject& s) {
       const double good = metric_of(s.last(), "request_goodput");
       return std::isnan(good)
                  ? ""
                  : " and " + format_number(good) + " requests/s meet the service level objectives";
     }},
    {"unserved", [](const CapacitySubject& s) { return std::string(s.unserved); }},
    {"unserved share", [](const CapacitySubject& s) { return format_percent(s.most_unserved()); }},
};
std::span<const PlaceOfText<CapacitySubject>> places_of(const CapacitySubject&) { return kCapacityPlaces; }

std::vector<std::string> capacity_sentences(const Json& capacity) {
  std::vector<std::string> texts = {
      first_said(kCapacityVerdict, {capacity}),
      quality_text(text_of(capacity, "policy"), text_of(capacity, "quality_note"))};
  std::erase(texts, "");
  if (is_none({capacity})) return texts;
  for (const char* what : {"rejected", "failed", "truncated"})
    texts.push_back(first_said(kUnservedTurns, {capacity, what}));
  texts.push_back(first_said(kAbove, {capacity}));
  std::erase(texts, "");
  return texts;
}

// ---- views ----

// Adds one row per load of the curve. Rejected, failed and truncated turns have columns only if there are
// such turns.
void capacity_markdown(const ReportDocument& document, MarkdownPage& page) {
  const Json& capacity = document.content;
  const Json& curve = list_of(capacity, "curve");
  std::vector<CapacityColumn> columns = capacity_columns(target_metrics(capacity));
  // Documents of earlier versions lack some columns.
  std::erase_if(columns, [&](const CapacityColumn& one) {
    return std::none_of(curve.begin(), curve.end(), [&](const Json& point) {
      const double value = cell_of(one, point);
      return one.is_alarm ? value > 0 : !std::isnan(value);
    });
  });
  const bool closed_loop = is_closed_loop(capacity);
  Cells head = {closed_loop ? "active sessions" : "requests/s"};
  for (const CapacityColumn& one : columns) head.push_back(one.title + " " + std::string(one.unit.symbol));
  head.emplace_back("misses");
  // Without an interval, no load is unclear.
  const CapacitySubject subject{capacity};
  const double beyond = subject.end(1);
  const double sure =
      list_of(value_of(capacity, "capacity"), "interval").empty() ? kInfinity : subject.end(0);
  std::vector<Cells> rows;
  for (const Json& point : curve) {
    Cells& row = rows.emplace_back();
    row.push_back(format_number(number_of(point, closed_loop ? "concurrency" : "requests_per_s")));
    for (const CapacityColumn& one : columns) row.push_back(format_number(cell_of(one, point)));
    const std::string missed = text_of(point, "missed"), stable = text_of(point, "stable");
    const double load = number_of(point, closed_loop ? "concurrency" : "requests_per_s");
    const bool is_unclear = load > sure && !(load >= beyond);
    row.push_back(is_unclear                             ? "unclear"
                  : stable == "stable" || stable.empty() ? metric_title(missed)
                                                         : stable);
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

std::string capacity_key(const Json& capacity) {
  return name_of(capacity) + "\n" + text_of(capacity, "policy");
}

}  // namespace

const DocumentKind kCapacityDocument = {.schema = "kvcap.capacity/1",
                                        .page = "capacity",
                                        .parts = kCapacityParts,
                                        .add_csv = capacity_csv,
                                        .add_markdown = capacity_markdown,
                                        .sentences = capacity_sentences,
                                        .key = capacity_key};

}  // namespace kvcap
