#include "report/report_data.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "documents/results.h"
#include "metrics/quantity.h"
#include "report/changes.h"
#include "report/takeaways.h"
#include "text/assumed_lines.h"
#include "text/titles.h"

namespace kvcap {
namespace {

constexpr std::string_view kPlace = R"(<script type="application/json" id="kvcap-data"></script>)";
constexpr std::string_view kEndOfPlace = "</script>";

// Replaces the characters <, > and & of an ASCII JSON text by JSON escapes, so that HTML does not interpret
// them. In JSON they occur only inside strings.
std::string script_text(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else if (c == '>') {
      text += "\\u003e";
    } else if (c == '&') {
      text += "\\u0026";
    } else {
      text += c;
    }
  }
  return text;
}

// Returns the table of quantities in the format that the page reads.
Json quantities_json() {
  Json names = Json::object(), endings = Json::array(), headlines = Json::array(), overview = Json::array();
  for (const Quantity& one : quantities()) {
    names[one.name] = {{"title", one.title},
                       {"unit", one.unit.symbol},
                       {"scale", one.unit.scale},
                       {"better", one.better == Better::more   ? 1
                                  : one.better == Better::less ? -1
                                                               : 0}};
    if (one.is_real_only) names[one.name]["real_only"] = true;
  }
  for (const Quantity& one : quantities())
    if (one.shown >= Visibility::overview) overview.push_back(one.name);
  for (const auto& [ending, unit] : unit_endings())
    endings.push_back({{"ending", ending}, {"unit", unit.symbol}, {"scale", unit.scale}});
  for (const Quantity* metric : headline_metrics()) headlines.push_back(metric->name);
  return {{"names", names}, {"endings", endings}, {"headlines", headlines}, {"overview", overview}};
}

// Adds titles for the fields and changes that a document names by their paths.
void add_titles(const Json& value, Json& titles) {
  const auto add = [&](const std::string& raw, const std::string& title) {
    if (raw != title) titles[raw] = title;
  };
  const auto add_change = [&](const std::string& change) {
    const std::string path = change.substr(0, change.find('='));
    add(path, field_title(path));
    add(change, change_title(change));
  };
  if (value.is_array()) {
    for (const Json& one : value)
      if (one.is_structured()) add_titles(one, titles);
    return;
  }
  for (const auto& [key, one] : value.items()) {
    if (key == "parameters") {
      for (const std::string& path : texts_of(one)) add(path, field_title(path));
    } else if (key == "changes" || key == "best") {
      for (const std::string& change : texts_of(one)) add_change(change);
    } else if (one.is_string() && (key == "across" || key == "down")) {
      add(one.get<std::string>(), field_title(one.get<std::string>()));
    } else if (one.is_string() && key == "what") {
      add(one.get<std::string>(), typeset(step_text(one.get<std::string>())));
    } else if (one.is_structured()) {
      add_titles(one, titles);
    }
  }
}

Json titles_json(const std::vector<ReportDocument>& inputs) {
  constexpr std::array<std::string_view, 3> kNaming = {"kvcap.plan_result/1", "kvcap.sweep_rows/1",
                                                       "kvcap.break_even/1"};
  Json titles = Json::object();
  for (const ReportDocument& input : inputs) {
    if (std::find(kNaming.begin(), kNaming.end(), input.schema()) == kNaming.end()) continue;
    Json content = input.content;
    content.erase("columns");  // the values of a sweep; "parameters" already has their names
    add_titles(content, titles);
  }
  return titles;
}

Json assumed_json(const std::string& input, const std::vector<std::string>& notes) {
  auto [lines, more] = assumed_lines(notes);
  for (std::string& line : lines) line = typeset(without_paths(line));
  return {{"input", input}, {"lines", lines}, {"more", more}};
}

Json assumptions_json(const std::vector<ReportDocument>& inputs) {
  Json all = Json::array();
  for (const ResultGroup& group : result_groups(inputs, false)) {
    std::vector<std::string> notes;
    for (const RunResult& one : group.results) notes.insert(notes.end(), one.notes.begin(), one.notes.end());
    all.push_back(assumed_json(group.name, notes));
  }
  for (const ReportDocument& input : inputs) {
    const std::string schema = input.schema();
    if (input.is_before || (schema != "kvcap.plan_result/1" && schema != "kvcap.capacity/1")) continue;
    all.push_back(assumed_json(input.name, texts_of(list_of(input.content, "notes"))));
  }
  return all;
}

}  // namespace

std::string report_json(const Report& report) {
  Json inputs = Json::array();
  for (const ReportDocument& input : report.inputs) {
    inputs.push_back({{"name", input.name},
                      {"path", input.path},
                      {"side", input.is_before ? "before" : "after"},
                      {"content", input.content}});
  }
  Json told = Json::array();
  for (const Change& one : changes(report.inputs)) {
    told.push_back({{"input", one.input},
                    {"setting", one.setting},
                    {"metric", one.metric},
                    {"tells", one.can_tell()},
                    {"half_width", one.half_width}});
  }
  Json pages = Json::object();
  for (const auto& [page, sentences] : takeaways(report.inputs)) pages[page] = sentences;
  const Json data = {{"schema", "kvcap.report/1"},
                     {"title", report.title},
                     {"kvcap_version", KVCAP_VERSION},
                     {"inputs", inputs},
                     {"quantities", quantities_json()},
                     {"takeaways", pages},
                     {"titles", titles_json(report.inputs)},
                     {"assumptions", assumptions_json(report.inputs)},
                     {"changes", told}};
  constexpr bool kAscii = true;
  return data.dump(-1, ' ', kAscii, Json::error_handler_t::replace) + "\n";
}

std::string report_html(std::string_view page, const Report& report) {
  const std::size_t place = page.find(kPlace);
  KVCAP_CHECK(place != std::string_view::npos);
  KVCAP_CHECK(page.find(kPlace, place + 1) == std::string_view::npos);
  const std::size_t end = place + kPlace.size() - kEndOfPlace.size();
  std::string data = report_json(report);
  data.pop_back();
  std::string html(page.substr(0, end));
  html += script_text(data);
  html += page.substr(end);
  return html;
}

}  // namespace kvcap
