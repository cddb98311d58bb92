#include "metrics/model_report.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "metrics/format.h"
#include "metrics/statistics/quantiles.h"

namespace kvcap {
namespace {

constexpr std::size_t kModelColumns = 100;
constexpr std::size_t kSettingWidth = 26;
constexpr const char* kRanked[] = {"mean_ttft_ms", "p99_ttft_ms", "cost.usd_per_million_output_tokens"};

struct ModelRow {
  const char* name;
  const char* metric;
};
constexpr ModelRow kModelRows[] = {{"TTFT mean             ms", "mean_ttft_ms"},
                                   {"     p99              ms", "p99_ttft_ms"},
                                   {"ITL  p99              ms", "p99_itl_ms"},
                                   {"cost          $/M tokens", "cost.usd_per_million_output_tokens"}};

// A machine that could not run the scenario has no turns.
bool has_run(const RunResult& result) { return result.turn_count > 0; }

bool is_a_share(const std::string& metric) {
  return metric == "token_hit_rate" || metric.starts_with("utilization.");
}

std::string cell(const RunResult& result, const char* metric) {
  for (const ModelInterval& one : result.model_intervals) {
    if (one.name != metric || (one.low == 0 && one.high == 0)) continue;
    return format_number(one.low) + ".." + format_number(one.high);
  }
  return "-";
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// Columns that fit side by side; the rest in further blocks.
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
      page +=
          padded(label.size() + 2 > width ? "..." + label.substr(label.size() + 5 - width) : label, width);
    }
    page += '\n';
    for (const ModelRow& row : kModelRows) {
      std::string line = row.name;
      line.resize(kSettingWidth, ' ');
      bool any = false;
      for (std::size_t i = first; i < last; ++i) {
        const std::string text = cell(results[i], row.metric);
        any = any || text != "-";
        line += padded(text, width);
      }
      if (any) page += line + '\n';
    }
  }
}

void add_sentence(const std::string& text, std::string& page, std::string_view indent = "") {
  for (const std::string& line : wrap(text, kModelColumns, indent)) page += line + '\n';
}

// Of what somebody could build.
bool can_win(const RunResult& result) { return !result.is_bound && result.policy != "ideal"; }

// With the least mean TTFT; results.size() where there is none.
std::size_t best_of(const std::vector<RunResult>& results) {
  std::size_t best = results.size();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double value = results[i].number("mean_ttft_ms");
    if (!can_win(results[i]) || std::isnan(value)) continue;
    if (best == results.size() || value < results[best].number("mean_ttft_ms")) best = i;
  }
  return best;
}

std::string ranking_text(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const ModelReport& report) {
  const std::size_t best = best_of(results);
  std::string text;
  for (std::size_t i = 0; i < results.size() && best < results.size(); ++i) {
    if (i == best || !can_win(results[i])) continue;
    for (const Ranking& one : report.rankings) {
      if (one.setting != labels[best] || one.against != labels[i] || one.metric != kRanked[0]) continue;
      text += (text.empty() ? labels[best] + " beats " : ", ") + labels[i] + " in " +
              machines_text(one.share, report.draws);
    }
  }
  return text.empty() ? "" : text + " consistent with what was measured (mean TTFT).";
}

}  // namespace

const std::vector<std::string>& model_metrics() {
  static const std::vector<std::string> metrics = [] {
    std::vector<std::string> names;
    for (const char* latency : {"ttft_ms", "service_ttft_ms", "itl_ms", "tpot_ms", "e2el_ms"}) {
      for (const char* statistic : {"mean_", "median_", "p90_", "p99_"}) {
        names.push_back(std::string(statistic) + latency);
      }
    }
    for (const char* name : {"token_hit_rate", "output_throughput", "request_throughput", "request_goodput",
                             "utilization.gpu", "cost.usd_per_hour", "cost.usd_per_million_output_tokens"}) {
      names.emplace_back(name);
    }
    return names;
  }();
  return metrics;
}

std::vector<ModelInterval> model_intervals(const RunResult& result, const RunResult& nominal,
                                           const std::vector<RunResult>& drawn) {
  std::vector<ModelInterval> intervals;
  for (const std::string& metric : model_metrics()) {
    const double value = result.number(metric), reference = nominal.number(metric);
    if (!std::isfinite(value) || !std::isfinite(reference) || reference <= 0) continue;
    std::vector<double> ratios;
    for (const RunResult& one : drawn) {
      if (has_run(one) && std::isfinite(one.number(metric))) ratios.push_back(one.number(metric) / reference);
    }
    if (ratios.empty()) continue;
    std::sort(ratios.begin(), ratios.end());
    const double most = is_a_share(metric) ? 1 : std::numeric_limits<double>::infinity();
    intervals.push_back({metric, std::min(most, value * quantile_of_sorted(ratios, (1 - kModelShare) / 2)),
                         std::min(most, value * quantile_of_sorted(ratios, (1 + kModelShare) / 2)),
                         static_cast<int64_t>(ratios.size())});
  }
  return intervals;
}

double on_machine(double value, double nominal, double drawn) {
  return nominal > 0 && value > 0 ? value * drawn / nominal : value + drawn - nominal;
}

std::vector<Ranking> rankings(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                              const std::vector<RunResult>& nominal,
                              const std::vector<std::vector<RunResult>>& drawn) {
  const auto value = [&](std::size_t s, std::size_t d, const char* metric) {
    return on_machine(results[s].number(metric), nominal[s].number(metric), drawn[s][d].number(metric));
  };
  KVCAP_CHECK(labels.size() == drawn.size());
  std::vector<Ranking> all;
  for (std::size_t a = 0; a < drawn.size(); ++a) {
    for (std::size_t b = 0; b < drawn.size(); ++b) {
      if (a == b) continue;
      for (const char* metric : kRanked) {
        double wins = 0, machines = 0;
        for (std::size_t d = 0; d < drawn[a].size(); ++d) {
          const double one = value(a, d, metric), other = value(b, d, metric);
          const bool one_runs = has_run(drawn[a][d]) && !std::isnan(one);
          const bool other_runs = has_run(drawn[b][d]) && !std::isnan(other);
          if (!one_runs && !other_runs) continue;
          ++machines;
          if (one_runs && (!other_runs || one < other)) {
            wins += 1;
          } else if (one_runs && one == other) {
            wins += 0.5;
          }
        }
        if (machines > 0) all.push_back({labels[a], labels[b], metric, wins / machines});
      }
    }
  }
  return all;
}

std::string reversed_ranking(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                             const std::vector<RunResult>& nominal, int64_t sessions) {
  const std::size_t best = best_of(results);
  std::string others;
  for (std::size_t i = 0; i < results.size() && best < results.size(); ++i) {
    if (!can_win(results[i])) continue;
    if (nominal[i].number("mean_ttft_ms") < nominal[best].number("mean_ttft_ms")) {
      others += (others.empty() ? "" : ", ") + labels[i];
    }
  }
  if (others.empty()) return "";
  return "runs of " + format_count(sessions, "session") + " put " + others + " before " + labels[best] +
         ", whole runs do not: what machines change in short runs need not be what they change in whole ones";
}

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
