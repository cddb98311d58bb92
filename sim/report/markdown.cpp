#include <algorithm>
#include <map>

#include "base/float_values.h"
#include "base/plain_text.h"
#include "metrics/format.h"
#include "metrics/write.h"
#include "report/capacity_views.h"
#include "report/changes.h"
#include "report/json_values.h"
#include "report/read_result.h"
#include "report/takeaways.h"
#include "report/text_views.h"

namespace kvcap {
namespace {

constexpr std::size_t kMostRows = 50;
constexpr std::size_t kMostParts = 3;  // of a check's numbers

// Text as Markdown shows it: nothing in it makes a cell, a line, a tag or a link.
std::string plain(std::string_view text) {
  std::string safe;
  for (char c : plain_line(text)) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      if (std::string_view("|\\`*_[]").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

using Cells = std::vector<std::string>;

class Page {
 public:
  void heading(int level, const std::string& text) {
    if (!text_.empty()) text_ += '\n';
    text_ += std::string(static_cast<std::size_t>(level), '#') + " " + plain(text) + "\n\n";
  }
  void list(const std::vector<std::string>& items) {
    for (const std::string& item : items) text_ += "- " + plain(item) + "\n";
  }
  void line(const std::string& text) { text_ += plain(text) + "\n"; }
  // The first `texts` columns are read from the left, the others are numbers.
  void table(const Cells& head, const std::vector<Cells>& rows, std::size_t texts) {
    row(head);
    for (std::size_t i = 0; i < head.size(); ++i) text_ += i < texts ? "| --- " : "| ---: ";
    text_ += "|\n";
    for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i) row(rows[i]);
    if (rows.size() > kMostRows)
      text_ += "\n" + format_count(std::ssize(rows) - static_cast<int64_t>(kMostRows)) +
               " more rows are in the formats csv and html.\n";
  }
  std::string take() { return std::move(text_); }

 private:
  void row(const Cells& cells) {
    for (const std::string& cell : cells) text_ += "| " + plain(cell) + " ";
    text_ += "|\n";
  }

  std::string text_;
};

std::string ms(const Json& object, std::string_view key) {
  return format_number(1e3 * number_of(object, key));
}

void add_results(Page& page, const ResultGroup& group) {
  page.heading(2, group.name);
  Cells head = {"", ""};
  head.insert(head.end(), group.labels.begin(), group.labels.end());
  std::vector<Cells> rows;
  for (const ResultRow& row : result_rows(group.results)) {
    Cells& cells = rows.emplace_back(Cells{row.name, row.unit});
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
  }
  page.table(head, rows, 2);
}

// What the answer rests on, each note once; a note of some settings names them.
void add_notes(Page& page, const ResultGroup& group) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> labels;
  for (std::size_t i = 0; i < group.results.size(); ++i) {
    for (const std::string& note : group.results[i].notes) {
      if (labels[note].empty()) order.push_back(note);
      labels[note].push_back(group.labels[i]);
    }
  }
  if (order.empty()) return;
  page.heading(3, "Notes");
  for (std::string& note : order) {
    const std::vector<std::string>& of = labels[note];
    if (of.size() == group.results.size()) continue;
    std::string names;
    for (const std::string& label : of) names += (names.empty() ? "" : ", ") + label;
    note = names + ": " + note;
  }
  page.list(order);
}

// Of documents without notes: how their launch line was read.
void add_warnings(Page& page, const Json& document) {
  std::vector<std::string> texts;
  for (const Json& warning : list_of(document, "warnings")) texts.push_back(text_of(warning, "text"));
  if (texts.empty()) return;
  page.heading(3, "Notes");
  page.list(texts);
}

void add_restore(Page& page, const ReportInput& input) {
  const Json& restore = input.content;
  page.heading(2, input.name + ": " + text_of(restore, "tokens") + " tokens of " + text_of(restore, "model") +
                      " from " + text_of(restore, "tier") + " on " + text_of(restore, "hardware"));
  std::vector<Cells> rows;
  for (const Json& entry : list_of(restore, "policies")) {
    const Json& schedule = value_of(entry, "schedule");
    rows.push_back({text_of(entry, "policy"), ms(entry, "restore_s"), ms(entry, "ttft_s"),
                    ms(entry, "closed_form_restore_s"),
                    text_of(schedule, "hidden_layers") + "/" + text_of(schedule, "kv_layers") + "/" +
                        text_of(schedule, "recompute_layers"),
                    format_number(number_of(entry, "stored_bytes_per_token") / 1024),
                    text_of(entry, "bound")});
  }
  page.table({"policy", "restore ms", "TTFT ms", "closed form ms", "layers hidden/KV/recomputed",
              "stored KiB/token", "bound by"},
             rows, 1);
}

void add_sweep(Page& page, const ReportInput& input) {
  const Json& columns = value_of(input.content, "columns");
  std::vector<const char*> metrics = {"mean_ttft_ms", "p99_ttft_ms"};
  for (const char* alarm : {"rejected", "failed", "truncated"}) {
    const Json& counts = list_of(columns, alarm);
    if (std::any_of(counts.begin(), counts.end(), [](const Json& one) { return number_or_nan(one) > 0; }))
      metrics.push_back(alarm);
  }
  metrics.insert(metrics.end(), {"token_hit_rate", "cost.usd_per_million_output_tokens"});
  Cells names;
  for (const Json& name : list_of(input.content, "parameters")) names.push_back(text_or_json(name));
  const std::size_t parameters = names.size() + 1;
  names.push_back("status");
  for (const char* metric : metrics) names.emplace_back(metric);
  std::vector<Cells> rows(list_of(columns, "status").size());
  for (std::size_t c = 0; c < names.size(); ++c) {
    const Json& values = list_of(columns, names[c]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Json& value = i < values.size() ? values[i] : Json();
      rows[i].push_back(c < parameters ? text_or_json(value) : format_number(number_or_nan(value)));
    }
  }
  page.heading(2, input.name);
  page.table(names, rows, parameters);
}

std::string changes_text(const Json& candidate) {
  std::string text;
  for (const Json& change : list_of(candidate, "changes"))
    text += (text.empty() ? "" : " ") + text_or_json(change);
  return text;
}

void add_plan(Page& page, const ReportInput& input) {
  const std::string objective = text_of(input.content, "minimize");
  page.heading(2, input.name);
  std::vector<Cells> rows;
  for (const Json& candidate : list_of(input.content, "front")) {
    const Json& metrics = value_of(candidate, "metrics");
    rows.push_back({changes_text(candidate), text_of(candidate, "verdict"),
                    format_number(number_of(value_of(metrics, objective), "mean")),
                    format_number(number_of(value_of(metrics, "p99_ttft_ms"), "mean"))});
  }
  page.table({"configuration", "targets", objective, "p99_ttft_ms"}, rows, 2);
}

void add_break_even(Page& page, const ReportInput& input) {
  const Json& map = input.content;
  page.heading(2, input.name);
  Cells head = {text_of(map, "down") + " \\ " + text_of(map, "across")};
  std::vector<Cells> rows;
  std::map<std::string, std::size_t> columns, places;
  for (const Json& cell : list_of(map, "cells")) {
    const std::string across = text_of(cell, "across"), down = text_of(cell, "down");
    if (columns.try_emplace(across, head.size()).second) head.push_back(across);
    if (places.try_emplace(down, rows.size()).second) rows.push_back({down});
    Cells& row = rows[places[down]];
    row.resize(std::max(row.size(), columns[across] + 1));
    row[columns[across]] = text_of(cell, "winner");
  }
  for (Cells& row : rows) row.resize(head.size());
  page.table(head, rows, head.size());
}

void add_capacity(Page& page, const ReportInput& input) {
  page.heading(2, input.name);
  const CapacityTable table = capacity_table(input.content);
  page.table(table.head, table.rows, 0);
}

// A number or a list of them.
std::string numbers_text(const Json& value) {
  if (!value.is_array()) return format_number(number_or_nan(value));
  std::string text;
  for (std::size_t i = 0; i < value.size() && i < kMostParts; ++i)
    text += (i > 0 ? " / " : "") + format_number(number_or_nan(value[i]));
  return value.size() > kMostParts ? text + " / ..." : text;
}

void add_validation(Page& page, const ReportInput& input) {
  page.heading(2, input.name);
  std::vector<Cells> rows;
  constexpr const char* kVerdicts[] = {"inside", "near", "outside", "not comparable"};
  if (const Json& summary = value_of(input.content, "summary"); summary.is_object()) {
    for (const auto& [suite, counts] : summary.items()) {
      Cells& row = rows.emplace_back(Cells{suite, text_of(counts, "worst")});
      for (const char* verdict : kVerdicts) row.push_back(text_of(counts, verdict));
    }
  }
  page.table({"suite", "farthest off", "inside", "near", "outside", "not comparable"}, rows, 2);
  std::vector<Cells> outside;
  for (const Json& check : list_of(input.content, "checks")) {
    if (text_of(check, "verdict") != "outside") continue;
    outside.push_back({text_of(check, "id"), text_of(check, "reason"),
                       numbers_text(value_of(check, "simulated")), numbers_text(value_of(check, "reference")),
                       format_percent(number_of(check, "error"))});
  }
  if (outside.empty()) return;
  page.heading(3, "Outside");
  page.table({"number", "why", "simulated", "reference", "error"}, outside, 2);
}

void add_trace(Page& page, const ReportInput& input) {
  page.heading(2, input.name);
  std::vector<Cells> rows;
  for (const auto& [name, value] : input.content.items())
    if (value.is_number()) rows.push_back({name, format_number(value.get<double>())});
  page.table({"figure", "value"}, rows, 1);
}

void add_changes(Page& page, const Report& report) {
  std::vector<Cells> rows;
  for (const Change& change : changes(report.inputs)) {
    if (change.is_same()) continue;
    rows.push_back({change.input + ", " + change.setting, change.what, change.unit,
                    format_number(change.before), format_number(change.after),
                    format_interval(change.difference(), change.half_width > 0 ? change.half_width : kNaN),
                    change.can_tell() ? "" : "cannot tell"});
  }
  if (rows.empty()) return;
  page.heading(2, "Before and after");
  page.table({"setting", "figure", "unit", "before", "after", "difference", ""}, rows, 3);
}

void add_input(Page& page, const ReportInput& input) {
  const std::string schema = input.schema();
  if (schema == "kvcap.restore/1") add_restore(page, input);
  if (schema == "kvcap.sweep_rows/1") add_sweep(page, input);
  if (schema == "kvcap.plan_result/1") add_plan(page, input);
  if (schema == "kvcap.break_even/1") add_break_even(page, input);
  if (schema == "kvcap.capacity/1") add_capacity(page, input);
  if (schema == "kvcap.validation/1") add_validation(page, input);
  if (schema == "kvcap.trace_stats/1") add_trace(page, input);
  if (schema == "kvcap.plan_result/1" || schema == "kvcap.capacity/1") add_warnings(page, input.content);
}

}  // namespace

std::string report_markdown(const Report& report) {
  Page page;
  page.heading(1, report.title);
  // What the overview says need not be said again by its own page.
  std::vector<std::string> said;
  for (const auto& [name, sentences] : takeaways(report.inputs)) {
    for (const std::string& sentence : sentences) {
      const auto repeats = [&](const std::string& one) { return one.find(sentence) != std::string::npos; };
      if (std::none_of(said.begin(), said.end(), repeats)) said.push_back(sentence);
    }
  }
  page.list(said);
  add_changes(page, report);
  for (const ResultGroup& group : result_groups(report.inputs, false)) {
    add_results(page, group);
    add_notes(page, group);
  }
  for (const ReportInput& input : report.inputs)
    if (!input.is_before) add_input(page, input);
  return page.take();
}

}  // namespace kvcap
