// Report: the data of kvcap report, i.e. JSON documents of kvcap, unchanged, and sentences computed from
// them. The page, Markdown and CSV are three views of a report.
//
// The page of report/ reads the report as kvcap.report/1:
//
//   {"schema", "title", "kvcap_version",
//    "inputs": [{"name": short and unique, "path": as given, "side": "after" | "before", "content": {...}}],
//    "quantities": {"names": {name: {"title", "unit", "scale", "better"}}, "endings", "headlines",
//    "overview"},
//    "takeaways": {"overview": [sentence...], and lists of sentences for "latency", "cache", "resources",
//                  "restoration", "sweep", "plan", "capacity", "validation", "changes"},
//    "titles": {path, "path=value" or step: the title to show instead},
//    "assumptions": [{"input", "lines": at most six, "more": how many are left out}],
//    "changes": [{"input", "setting", "metric", "tells": whether the runs show the change,
//                 "half_width": of its interval in the unit on screen, or null}]}
//
// "content" is a document of one of the kinds in documents/kind.h. "quantities" is the table of
// metrics/quantity.h. Keys may be added but are never renamed.
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

// Returns the report as kvcap.report/1 on one line, in ASCII.
std::string report_json(const Report& report);

// Returns the page with the report inserted into the element <script type="application/json"
// id="kvcap-data">, which is empty in `page`. Names and texts are escaped, so they cannot end that element.
// REQUIRES: `page` contains the element once.
std::string report_html(std::string_view page, const Report& report);

}  // namespace kvcap
