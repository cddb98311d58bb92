#include "text/result_table.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/float_values.h"
#include "base/text/format.h"
#include "base/text/width.h"
#include "metrics/quantity.h"
#include "text/result_sentences.h"
#include "text/setting_grid.h"

namespace kvcap {
namespace {

constexpr std::size_t kLines = 28;  // fits most terminals; a longer page leaves optional rows out

std::string cell(const RunResult& result, const Quantity& row) {
  if (row.is_real_only && result.is_bound) return "-";
  if (row.kind == QuantityKind::text) return std::string(result.text(row.name));
  const double scale = row.unit.scale;
  double half_width = kNaN;
  for (const Interval& interval : result.intervals)
    if (interval.name == row.name) half_width = interval.half_width * scale;
  const double value = result.number(row.name) * scale;
  // A value that is the same in every replication, apart from rounding, has no interval.
  const bool is_equal = half_width <= 1e-9 * std::abs(value);
  return format_interval(value, is_equal ? kNaN : half_width);
}

// True iff some setting has a text or a nonzero value; prices and powers that no profile states are NaN.
bool is_known(const std::vector<RunResult>& results, const Quantity& row) {
  return std::any_of(results.begin(), results.end(), [&row](const RunResult& result) {
    const double value = result.number(row.name);
    return !(row.is_real_only && result.is_bound) &&
           ((value != 0 && !std::isnan(value)) || !result.text(row.name).empty());
  });
}

bool has_number(const std::vector<RunResult>& results, const Quantity& row) {
  return std::any_of(results.begin(), results.end(),
                     [&row](const RunResult& result) { return !std::isnan(result.number(row.name)); });
}

// Returns the rows whose visibility is at least `least`, and those of the metrics in `asked`.
std::vector<const Quantity*> rows_of(const std::vector<RunResult>& results, Visibility least,
                                     const std::vector<std::string>& asked = {}) {
  std::vector<const Quantity*> rows;
  for (const Quantity& row : quantities()) {
    const bool is_shown =
        row.shown >= least && (row.shown == Visibility::everywhere || is_known(results, row) ||
                               (row.shown == Visibility::target && has_number(results, row)));
    if (is_shown || std::find(asked.begin(), asked.end(), row.name) != asked.end()) rows.push_back(&row);
  }
  return rows;
}

// Returns the labels of the rows. The name of a latency is written only once: "TTFT mean", "     p99".
std::vector<std::string> row_labels(const std::vector<const Quantity*>& rows) {
  constexpr std::size_t kLatencyWidth = 5;
  std::vector<std::string> labels;
  std::string latency;
  for (const Quantity* row : rows) {
    const std::size_t space = row->title.find(' ');
    constexpr std::string_view kBegin[] = {"mean_", "median_", "p90_", "p95_", "p99_"};
    const bool is_statistic =
        std::any_of(std::begin(kBegin), std::end(kBegin),
                    [row](std::string_view begin) { return row->name.starts_with(begin); }) &&
        row->title.find(' ', space + 1) == std::string::npos;
    const std::string above = std::exchange(latency, is_statistic ? row->title.substr(space + 1) : "");
    labels.push_back(!is_statistic ? row->title
                                   : left_aligned(latency == above ? "" : latency, kLatencyWidth) +
                                         row->title.substr(0, space));
  }
  return labels;
}

using Lines = std::vector<std::string>;

Lines table_lines(const std::vector<std::string>& settings, const std::vector<RunResult>& results,
                  Visibility least, const std::vector<std::string>& asked) {
  const std::vector<const Quantity*> rows = rows_of(results, least, asked);
  const std::vector<std::string> labels = row_labels(rows);
  SettingGrid grid{settings, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    grid.rows.push_back({rows[i]->title, labels[i], std::string(rows[i]->unit.symbol), {}});
    for (const RunResult& result : results) grid.rows.back().cells.push_back(cell(result, *rows[i]));
  }
  return grid_lines(grid, table_columns());
}

// Returns "recompute = ...", one entry per policy in the order of the columns, with its quality note.
Lines legend_lines(const std::vector<RunResult>& results) {
  std::vector<std::string> seen;
  Lines lines;
  for (const RunResult& result : results) {
    if (std::find(seen.begin(), seen.end(), result.policy) != seen.end()) continue;
    seen.push_back(result.policy);
    std::string text = result.policy + " = " + result.policy_summary;
    if (!result.quality_note.empty()) text += "; " + result.quality_note;
    for (std::string& line : wrap(text, text_columns(), "    ")) lines.push_back(std::move(line));
  }
  return lines;
}

Lines note_lines(const Comparison& all) {
  Lines lines;
  std::vector<std::string> notes = detail_notes(all);
  for (std::string& note : outdated_notes(all)) notes.push_back(std::move(note));
  for (const std::string& note : notes) {
    if (lines.empty()) lines.emplace_back("Notes:");
    for (std::string& line : wrap("  " + note + ".", text_columns(), "    "))
      lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<ResultRow> result_rows(const std::vector<RunResult>& results) {
  std::vector<ResultRow> shown;
  for (const Quantity* row : rows_of(results, Visibility::overview)) {
    shown.push_back({row->title, std::string(row->unit.symbol), {}});
    for (const RunResult& result : results) shown.back().cells.push_back(cell(result, *row));
  }
  return shown;
}

std::string result_table(const std::vector<std::string>& labels, const std::vector<RunResult>& results,
                         const std::vector<Difference>& differences, std::string_view header,
                         const TableOptions& options) {
  KVCAP_CHECK(labels.size() == results.size());
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < results.size(); ++i) settings.push_back({labels[i], &results[i]});

  const Comparison all(settings, differences);
  const Lines head = wrap(header, text_columns()),
              legend = options.is_brief ? Lines() : legend_lines(results);
  Lines text, notes;
  for (const std::string& paragraph :
       options.is_brief ? brief_sentences(all, options.assumptions) : sentences(all))
    for (std::string& line : wrap(paragraph, text_columns())) text.push_back(std::move(line));
  if (!options.is_brief) notes = note_lines(all);
  Lines table = table_lines(labels, results, Visibility::known, options.metrics);
  if (head.size() + table.size() + legend.size() + text.size() + 3 > kLines)
    table = table_lines(labels, results, Visibility::everywhere, options.metrics);

  std::string page;
  for (const Lines* section : std::initializer_list<const Lines*>{&head, &table, &legend, &text, &notes}) {
    if (section->empty()) continue;
    if (!page.empty()) page += '\n';
    for (const std::string& line : *section) page += line + '\n';
  }
  return page;
}

}  // namespace kvcap
