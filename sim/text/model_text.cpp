#include "text/model_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "metrics/quantity.h"
#include "text/comparison.h"

namespace kvcap {
namespace {

constexpr std::size_t kNameWidth = 10, kSettingWidth = 22;
constexpr const char* kModelRows[] = {"mean_ttft_ms", "p99_ttft_ms", "p99_itl_ms",
                                      "cost.usd_per_million_output_tokens"};

std::string cell(const RunResult& result, const char* metric) {
  for (const ModelInterval& one : result.model_intervals) {
    if (one.name != metric || (one.low == 0 && one.high == 0)) continue;
    return format_number(one.low) + ".." + format_number(one.high);
  }
  return std::string(kUnknown);
}

// Adds blocks of as many columns as fit next to each other.
void add_table(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
               std::string& page) {
  std::size_t width = 12;
  for (std::size_t i = 0; i < results.size(); ++i) {
    width = std::max(width, std::min<std::size_t>(labels[i].size(), kTextColumns - kSettingWidth - 2));
    for (const char* metric : kModelRows) width = std::max(width, cell(results[i], metric).size());
  }
  width += 2;
  const std::size_t most = std::max<std::size_t>(1, (kTextColumns - kSettingWidth) / width);
  for (std::size_t first = 0; first < results.size(); first += most) {
    const std::size_t last = std::min(results.size(), first + most);
    page += '\n' + std::string(kSettingWidth, ' ');
    for (std::size_t i = first; i < last; ++i) {
      const std::string& label = labels[i];
      page += right_aligned(label.size() + 2 > width ? "..." + label.substr(label.size() + 5 - width) : label,
                            width);
    }
    page += '\n';
    for (const char* metric : kModelRows) {
      const Quantity& row = *find_quantity(metric);
      std::string line =
          left_aligned(row.title, kNameWidth) + right_aligned(row.unit.symbol, kSettingWidth - kNameWidth);
      bool any = false;
      for (std::size_t i = first; i < last; ++i) {
        const std::string text = cell(results[i], metric);
        any = any || text != kUnknown;
        line += right_aligned(text, width);
      }
      if (any) page += line + '\n';
    }
  }
}

void add_sentence(const std::string& text, std::string& page, std::string_view indent = "") {
  for (const std::string& line : wrap(text, kTextColumns, indent)) page += line + '\n';
}

std::string ranking_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const ModelReport& report) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < results.size(); ++i) settings.push_back({labels[i], &results[i]});
  const Comparison all(std::move(settings), {});
  const std::optional<Setting> best = all.least("mean_ttft_ms");
  if (!best) return "";
  std::vector<std::string> beaten;
  for (const Setting& other : all.eligible()) {
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
    add_sentence("No model intervals: plausible machines would take more turns than the runs (--draws 32).",
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
