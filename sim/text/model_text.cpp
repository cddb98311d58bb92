#include "text/model_text.h"

#include <algorithm>
#include <cmath>

#include "base/text/format.h"

namespace kvcap {
namespace {

constexpr std::size_t kModelColumns = 100;
constexpr std::size_t kSettingWidth = 26;
struct ModelRow {
  const char* name;
  const char* metric;
};
constexpr ModelRow kModelRows[] = {{"TTFT mean             ms", "mean_ttft_ms"},
                                   {"     p99              ms", "p99_ttft_ms"},
                                   {"ITL  p99              ms", "p99_itl_ms"},
                                   {"cost          $/M tokens", "cost.usd_per_million_output_tokens"}};

std::string cell(const RunResult& result, const char* metric) {
  for (const ModelInterval& one : result.model_intervals) {
    if (one.name != metric || (one.low == 0 && one.high == 0)) continue;
    return format_number(one.low) + ".." + format_number(one.high);
  }
  return "-";
}

// Adds blocks of as many columns as fit next to each other.
void add_table(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
               std::string& page) {
  std::size_t width = 12;
  for (std::size_t i = 0; i < results.size(); ++i) {
    width = std::max(width, std::min<std::size_t>(labels[i].size(), kModelColumns - kSettingWidth - 2));
    for (const ModelRow& row : kModelRows) width = std::max(width, cell(results[i], row.metric).size());
  }
  width += 2;
  const std::size_t most = std::max<std::size_t>(1, (kModelColumns - kSettingWidth) / width);
  for (std::size_t first = 0; first < results.size(); first += most) {
    const std::size_t last = std::min(results.size(), first + most);
    page += '\n' + std::string(kSettingWidth, ' ');
    for (std::size_t i = first; i < last; ++i) {
      const std::string& label = labels[i];
      page += right_aligned(label.size() + 2 > width ? "..." + label.substr(label.size() + 5 - width) : label,
                            width);
    }
    page += '\n';
    for (const ModelRow& row : kModelRows) {
      std::string line = row.name;
      line.resize(kSettingWidth, ' ');
      bool any = false;
      for (std::size_t i = first; i < last; ++i) {
        const std::string text = cell(results[i], row.metric);
        any = any || text != "-";
        line += right_aligned(text, width);
      }
      if (any) page += line + '\n';
    }
  }
}

void add_sentence(const std::string& text, std::string& page, std::string_view indent = "") {
  for (const std::string& line : wrap(text, kModelColumns, indent)) page += line + '\n';
}

std::string ranking_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const ModelReport& report) {
  const std::size_t best = best_of(results);
  std::string text;
  for (std::size_t i = 0; i < results.size() && best < results.size(); ++i) {
    if (i == best || !can_win(results[i])) continue;
    for (const Ranking& one : report.rankings) {
      if (one.setting != labels[best] || one.against != labels[i] || one.metric != "mean_ttft_ms") continue;
      text += (text.empty() ? labels[best] + " beats " : ", ") + labels[i] + " in " +
              machines_text(one.share, report.draws);
    }
  }
  return text.empty() ? "" : text + " consistent with what was measured (mean TTFT).";
}

}  // namespace

std::string machines_text(double share, int64_t draws) {
  if (share == 1) return "all " + std::to_string(draws) + " drawn machines";
  if (share == 0) return "none of " + std::to_string(draws) + " drawn machines";
  return std::to_string(std::lround(100 * share)) + " % of machines";
}

std::string model_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                       const ModelReport& report) {
  if (report.draws == 0) return "";
  std::string page = "\n";
  std::string head = "80 % of " + std::to_string(report.draws) +
                     " machines that are consistent with what was measured lie in (model intervals";
  if (report.is_shortened) head += "; from runs of " + format_count(report.sessions, "session");
  add_sentence(head + "):", page);
  add_table(labels, results, page);
  const std::string ranking = ranking_text(labels, results, report);
  if (!ranking.empty()) {
    page += '\n';
    add_sentence(ranking, page);
  }
  for (const auto& [setting, machines] : report.saturated) {
    add_sentence(setting + " is saturated in " + std::to_string(machines) + " of " +
                     std::to_string(report.draws) + ".",
                 page);
  }
  if (!report.outside.empty()) {
    page += "Outside of validation, so that the intervals say nothing of it or rest on an assumption:\n";
    for (const std::string& one : report.outside) add_sentence("  " + one + ".", page, "    ");
  }
  return page;
}

}  // namespace kvcap
