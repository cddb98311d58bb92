#include "text/result_table.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "base/check.h"
#include "base/text/format.h"
#include "base/text/plain_text.h"
#include "base/text/utf8.h"
#include "metrics/quantity.h"
#include "text/sentences.h"

namespace kvcap {
namespace {

constexpr std::size_t kTableColumns = 100;
constexpr std::size_t kMetricWidth = 16;
constexpr std::size_t kUnitWidth = 10;
constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastCellWidth = 12;
constexpr std::size_t kLines = 24;  // height of a terminal; optional rows are left out if the page is longer

struct TableRow {
  const char* name;
  const char* metric;
  bool is_real_only;  // not meaningful for a bound, which cannot be built
  bool is_essential;
  bool is_alarm = false;  // shown whenever it is not 0

  Unit unit() const { return find_quantity(metric)->unit; }
};
constexpr TableRow kTableRows[] = {
    {"TTFT mean", "mean_ttft_ms", false, true},
    {"     p50", "median_ttft_ms", false, false},
    {"     p99", "p99_ttft_ms", false, true},
    {"warm TTFT mean", "mean_warm_ttft_ms", false, false},
    {"ITL  p99", "p99_itl_ms", false, true},
    {"E2E  mean", "mean_e2el_ms", false, false},
    {"acceptance", "speculation.mean_acceptance_length", false, false},
    {"rejected", "rejected", false, false, true},
    {"failed", "failed", false, false, true},
    {"truncated", "truncated", false, false, true},
    {"token hit rate", "token_hit_rate", false, true},
    {"stored", "stored_bytes_per_token", true, true},
    {"GPU busy", "utilization.gpu", false, true},
    {"   prefill", "disaggregation.prefill_gpu_utilization", false, false, true},
    {"   decode", "disaggregation.decode_gpu_utilization", false, false, true},
    {"KV transfer", "disaggregation.mean_transfer_ms", false, false, true},
    {"transfer/TTFT", "disaggregation.transfer_share_of_ttft", false, false, true},
    {"cost", "cost.usd_per_million_output_tokens", true, true},
    {"storage", "cost.storage_usd_per_hit", true, false},
    {"energy", "energy.joules_per_output_token", true, false},
};

std::string cell(const RunResult& result, const TableRow& row) {
  if (row.is_real_only && result.is_bound) return "-";
  const double scale = row.unit().scale;
  double half_width = std::numeric_limits<double>::quiet_NaN();
  for (const Interval& interval : result.intervals)
    if (interval.name == row.metric) half_width = interval.half_width * scale;
  // A value that is equal in every replication has no interval.
  if (half_width == 0) half_width = std::numeric_limits<double>::quiet_NaN();
  return format_interval(result.number(row.metric) * scale, half_width);
}

// Keeps the end of a long label, which distinguishes settings of one path: "hardware.ssd.count=8".
std::string shortened(const std::string& setting) {
  const std::string label = plain_line(setting);
  const std::size_t most = kTableColumns - kMetricWidth - kUnitWidth - kGap;
  return label.size() <= most ? label : valid_utf8("..." + label.substr(label.size() - (most - 3)));
}

// True iff some setting has a nonzero value; prices and powers that no profile states are NaN.
bool is_known(const std::vector<Setting>& settings, const TableRow& row) {
  return std::any_of(settings.begin(), settings.end(), [&row](const Setting& setting) {
    return !(row.is_real_only && setting.result->is_bound) && setting.result->number(row.metric) != 0 &&
           !std::isnan(setting.result->number(row.metric));
  });
}

bool is_shown(const std::vector<Setting>& settings, const TableRow& row, bool is_short) {
  return row.is_essential || ((row.is_alarm || !is_short) && is_known(settings, row));
}

using Lines = std::vector<std::string>;

// Adds one block of columns [first, last).
void add_block(const std::vector<Setting>& settings, std::size_t first, std::size_t last,
               std::size_t cell_width, bool is_short, Lines& lines) {
  std::string heading(kMetricWidth + kUnitWidth, ' ');
  for (std::size_t i = first; i < last; ++i)
    heading += right_aligned(shortened(settings[i].label), cell_width);
  lines.push_back(heading);
  for (const TableRow& row : kTableRows) {
    if (!is_shown(settings, row, is_short)) continue;
    std::string line = left_aligned(row.name, kMetricWidth) + right_aligned(row.unit().symbol, kUnitWidth);
    for (std::size_t i = first; i < last; ++i)
      line += right_aligned(cell(*settings[i].result, row), cell_width);
    lines.push_back(line);
  }
}

// Makes all columns equally wide, in blocks of as many columns as fit next to each other.
Lines table_lines(const std::vector<Setting>& settings, bool is_short) {
  std::size_t widest = kLeastCellWidth;
  for (const Setting& setting : settings) {
    widest = std::max(widest, shortened(setting.label).size());
    for (const TableRow& row : kTableRows) {
      if (is_shown(settings, row, is_short)) widest = std::max(widest, cell(*setting.result, row).size());
    }
  }
  const std::size_t cell_width = widest + kGap;
  const std::size_t columns_per_block =
      std::max<std::size_t>(1, (kTableColumns - kMetricWidth - kUnitWidth) / cell_width);
  Lines lines;
  for (std::size_t first = 0; first < settings.size(); first += columns_per_block) {
    if (first > 0) lines.emplace_back();
    add_block(settings, first, std::min(settings.size(), first + columns_per_block), cell_width, is_short,
              lines);
  }
  return lines;
}

// Returns "recompute = ...", one entry per policy in the order of the columns, with its quality note.
Lines legend_lines(const std::vector<Setting>& settings) {
  std::vector<std::string> seen;
  Lines lines;
  for (const Setting& setting : settings) {
    const std::string& policy = setting.result->policy;
    if (std::find(seen.begin(), seen.end(), policy) != seen.end()) continue;
    seen.push_back(policy);
    std::string text = policy + " = " + setting.result->policy_summary;
    if (!setting.result->quality_note.empty()) text += "; " + setting.result->quality_note;
    for (std::string& line : wrap(text, kTableColumns, "    ")) lines.push_back(std::move(line));
  }
  return lines;
}

Lines sentence_lines(const std::vector<Setting>& settings, const std::vector<Difference>& differences) {
  Lines lines;
  for (const std::string& paragraph : sentences(settings, differences))
    for (std::string& line : wrap(paragraph, kTableColumns)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

std::vector<ResultRow> result_rows(const std::vector<RunResult>& results) {
  std::vector<ResultRow> rows;
  std::string_view head;  // "TTFT" for the rows below "TTFT mean", whose names omit it
  for (const TableRow& row : kTableRows) {
    std::string name = row.name;
    if (name.front() == ' ') {
      name = std::string(head) + " " + name.substr(name.find_first_not_of(' '));
    } else {
      head = std::string_view(row.name).substr(0, name.find(' '));
      name.erase(std::unique(name.begin(), name.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                 name.end());
    }
    ResultRow& shown = rows.emplace_back(ResultRow{std::move(name), std::string(row.unit().symbol), {}});
    for (const RunResult& result : results) shown.cells.push_back(cell(result, row));
  }
  return rows;
}

std::string result_table(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const std::vector<Difference>& differences, std::string_view header) {
  KVCAP_CHECK(labels.size() == results.size());
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < results.size(); ++i) settings.push_back({labels[i], &results[i]});

  const Lines head = wrap(header, kTableColumns);
  const Lines legend = legend_lines(settings);
  const Lines text = sentence_lines(settings, differences);
  Lines table = table_lines(settings, false);
  if (head.size() + table.size() + legend.size() + text.size() + 3 > kLines)
    table = table_lines(settings, true);

  std::string page;
  for (const Lines* section : std::initializer_list<const Lines*>{&head, &table, &legend, &text}) {
    if (section->empty()) continue;
    if (!page.empty()) page += '\n';
    for (const std::string& line : *section) page += line + '\n';
  }
  return page;
}

}  // namespace kvcap
