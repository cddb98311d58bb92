#include "report/report_data.h"

#include <string_view>

#include "base/check.h"
#include "metrics/quantity.h"
#include "report/changes.h"
#include "report/takeaways.h"

namespace kvcap {
namespace {

constexpr std::string_view kPlace = R"(<script type="application/json" id="kvcap-data"></script>)";
constexpr std::string_view kEndOfPlace = "</script>";

// Escapes the HTML characters < > & of an ASCII JSON text as JSON escapes; they occur only in strings.
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

// Returns the table of quantities in the page's format.
Json quantities_json() {
  Json names = Json::object(), endings = Json::array(), headlines = Json::array(), overview = Json::array();
  for (const Quantity& one : quantities()) {
    names[one.name] = {{"title", one.title},
                       {"unit", one.unit.symbol},
                       {"scale", one.unit.scale},
                       {"better", one.better == Better::more   ? 1
                                  : one.better == Better::less ? -1
                                                               : 0}};
  }
  for (const Quantity& one : quantities())
    if (one.shown >= Visibility::overview) overview.push_back(one.name);
  for (const auto& [ending, unit] : unit_endings())
    endings.push_back({{"ending", ending}, {"unit", unit.symbol}, {"scale", unit.scale}});
  for (const Quantity* metric : headline_metrics()) headlines.push_back(metric->name);
  return {{"names", names}, {"endings", endings}, {"headlines", headlines}, {"overview", overview}};
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
    told.push_back(
        {{"input", one.input}, {"setting", one.setting}, {"metric", one.metric}, {"tells", one.can_tell()}});
  }
  Json pages = Json::object();
  for (const auto& [page, sentences] : takeaways(report.inputs)) pages[page] = sentences;
  const Json data = {{"schema", "kvcap.report/1"},
                     {"title", report.title},
                     {"kvcap_version", KVCAP_VERSION},
                     {"inputs", inputs},
                     {"quantities", quantities_json()},
                     {"takeaways", pages},
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
