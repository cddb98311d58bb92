#include "text/model_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/width.h"
#include "metrics/quantity.h"
#include "text/comparison.h"
#include "text/setting_grid.h"

namespace kvcap {
namespace {

constexpr const char* kModelRows[] = {"mean_ttft_ms", "p99_ttft_ms", "p99_itl_ms",
                                      "cost.usd_per_million_output_tokens"};

// Returns "low..high" for a metric; "-" if there is no interval, or if the metric is a cost and the setting
// is a bound that cannot be built.
std::string cell(const RunResult& result, const char* metric) {
  if (find_quantity(metric)->is_real_only && result.is_bound) return std::string(kUnknown);
  for (const ModelInterval& one : result.model_intervals) {
    if (one.name != metric || (one.low == 0 && one.high == 0)) continue;
    return format_number(one.low) + ".." + format_number(one.high);
  }
  return std::string(kUnknown);
}

// Adds a table of the metrics for which at least one setting has an interval.
void add_table(const std::vector<std::string>& settings, const std::vector<RunResult>& results,
               std::string& page) {
  SettingGrid grid{settings, {}};
  for (const char* metric : kModelRows) {
    const Quantity& row = *find_quantity(metric);
    std::vector<std::string> cells;
    for (const RunResult& result : results) cells.push_back(cell(result, metric));
    if (std::any_of(cells.begin(), cells.end(), [](const std::string& text) { return text != kUnknown; }))
      grid.rows.push_back({row.title, row.title, std::string(row.unit.symbol), std::move(cells)});
  }
  page += '\n';
  for (const std::string& line : grid_lines(grid, table_columns())) page += line + '\n';
}

void add_sentence(const std::string& text, std::string& page, std::string_view indent = "") {
  for (const std::string& line : wrap(text, text_columns(), indent)) page += line + '\n';
}

std::string ranking_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const ModelReport& report) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < results.size(); ++i) settings.push_back({labels[i], &results[i]});
  const Comparison all(std::move(settings), {});
  const std::optional<Setting> best = all.least("mean_ttft_ms");
  if (!best) return "";
  std::vector<std::string> beaten;
  const double most_ms = best->result->number("mean_ttft_ms") / (1 - kNoticeableShare);
  for (const Setting& other : all.eligible()) {
    if (other.result->number("mean_ttft_ms") <= most_ms) continue;  // too close to be called slower
    for (const Ranking& one : report.rankings) {
      if (one.setting != best->label || one.against != other.label || one.metric != "mean_ttft_ms") continue;
      beaten.push_back(other.label + " on " + machines_text(one.share, report.draws));
    }
  }
  return beaten.empty() ? "" : fmt::format("By mean TTFT, {} beats {}.", best->label, listed(beaten));
}

}  // namespace

std::string machines_text(double share, int64_t draws) {
  if (share == 1) return fmt::format("all {} plausible machines", draws);
  if (share == 0) return fmt::format("none of {} plausible machines", draws);
  return fmt::format("{} % of {} plausible machines", std::lround(100 * share), draws);
}

std::string model_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                       const ModelReport& report, bool is_brief) {
  std::string page = "\n";
  if (report.is_too_long) {
    add_sentence(
        "No model intervals: runs on plausible machines would take longer than these runs; --draws 32 adds "
        "them.",
        page);
    return page;
  }
  if (report.draws == 0) return "";
  add_sentence(
      fmt::format("Model intervals: 80 % of {} plausible machines, which agree with the measurements, "
                  "lie within{}:",
                  report.draws,
                  report.is_shortened
                      ? fmt::format(" (from runs of {})", format_count(report.sessions, "session"))
                      : ""),
      page);
  add_table(labels, results, page);
  if (const std::string ranking = ranking_text(labels, results, report); !ranking.empty()) {
    page += '\n';
    add_sentence(ranking, page);
  }
  for (const auto& [setting, machines] : report.saturated)
    add_sentence(fmt::format("{} is saturated on {} of {}.", setting, machines, report.draws), page);
  if (!is_brief && !report.outside.empty()) {
    page += "Not validated; the intervals assume:\n";
    for (const std::string& one : report.outside) add_sentence("  " + one + ".", page, "    ");
  }
  return page;
}

}  // namespace kvcap
