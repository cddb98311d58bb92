// Report: published JSON documents without changes, and sentences computed from them. The page, the Markdown
// and the CSV are three views of it.
//
// "schema": "kvcap.report/1", which the page of report/ reads:
//
//   {"schema", "title", "kvcap_version",
//    "inputs": [{"name": short and unique, "path": as given, "side": "after" | "before", "content": {...}}],
//    "quantities": {"names": {name: {"title", "unit", "scale", "better"}}, "endings", "headlines",
//    "overview"},
//    "takeaways": {"overview": [sentence...], and lists of sentences for "latency", "cache", "resources",
//                  "restoration", "sweep", "plan", "capacity", "validation", "changes"},
//    "titles": {path, "path=value" or step: what people read instead},
//    "assumptions": [{"input", "lines": at most six, "more": how many are left out}],
//    "changes": [{"input", "setting", "metric", "tells": whether the runs tell the change,
//                 "half_width": of its interval in the unit on screen, or null}]}
//
// A content is a document of one of the kinds of documents/kind.h. `quantities` is the table of
// metrics/quantity.h. Keys are never renamed; keys may be added.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "documents/document.h"

namespace kvcap {

inline constexpr int64_t kMostSweepRows = 2000;

struct Report {
  std::string title;
  std::vector<ReportDocument> inputs;
};

// Returns "kvcap.report/1" on one line, in ASCII.
std::string report_json(const Report& report);

// Returns the page with the report inserted into the element <script type="application/json"
// id="kvcap-data">, which is empty in `page`. Names and texts are escaped, so they cannot end that element.
// REQUIRES: `page` contains the element once.
std::string report_html(std::string_view page, const Report& report);

}  // namespace kvcap
