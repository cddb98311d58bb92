// What a report is made of: published JSON documents as they are, and sentences computed from them. The page,
// the Markdown and the CSV are three views of it.
//
// "schema": "kvcap.report/1", which the page of report/ reads:
//
//   {"schema", "title", "kvcap_version",
//    "inputs": [{"name": short and unique, "path": as given, "side": "after" | "before", "content": {...}}],
//    "quantities": {"names": {name: {"title", "unit", "scale", "better"}}, "endings", "headlines"},
//    "takeaways": {"overview": [sentence...], and the same: "latency", "cache", "resources",
//                  "restoration", "sweep", "plan", "capacity", "validation", "changes"}}
//
// A content is a document of one of the kinds of documents/kind.h. `quantities` is the table of
// metrics/quantity.h. No key is ever renamed; keys may be added.
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

// "kvcap.report/1" on one line, in ASCII.
std::string report_json(const Report& report);

// The page with the report in its place: the element <script type="application/json" id="kvcap-data">, which
// is empty in `page`. Nothing that a name or a text holds can end that element. REQUIRES: it is there, once.
std::string report_html(std::string_view page, const Report& report);

}  // namespace kvcap
