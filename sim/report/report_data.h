// What a report is made of: published JSON documents as they are, and sentences computed from them. The page,
// the Markdown and the CSV are three views of it.
//
// "schema": "kvcap.report/1", which the page of report/ reads:
//
//   {"schema", "title", "kvcap_version",
//    "inputs": [{"name": short and unique, "path": as given, "side": "after" | "before", "content": {...}}],
//    "takeaways": {"overview": [sentence...], and the same: "latency", "cache", "resources",
//                  "restoration", "sweep", "plan", "capacity", "validation", "changes"}}
//
// A content is a document of one of these schemas:
//   kvcap.result/1, kvcap.compare/1      kvcap run and compare
//   kvcap.restore/1                      kvcap restore --json
//   kvcap.plan_result/1                  kvcap plan --json
//   kvcap.break_even/1                   kvcap plan --break-even --json
//   kvcap.capacity/1                     kvcap capacity --json
//   kvcap.validation/1                   kvcap validate --json
//   kvcap.trace_stats/1                  kvcap trace stats --json
//   kvcap.sweep_rows/1                   made here from the results.sqlite of kvcap sweep:
//     {"schema", "name", "parameters": [paths that vary], "metrics": [names], "rows": N, "total_rows": M,
//      "columns": {path, metric or "status": [N values]}, "base": resolved scenario of the first row}
//     N is at most kMostSweepRows: evenly thinned beyond. What failed has null metrics; its status is
//     "failed" or "timeout", and "missing" where nothing has run yet.
//
// No key is ever renamed; keys may be added.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

using Json = nlohmann::ordered_json;

inline constexpr int64_t kMostSweepRows = 2000;

// One document. All texts are valid UTF-8.
struct ReportInput {
  std::string name;
  std::string path;
  bool is_before = false;
  Json content;

  // "kvcap.compare/1"
  std::string schema() const { return content.at("schema").get<std::string>(); }
};

struct Report {
  std::string title;
  std::vector<ReportInput> inputs;
};

// "kvcap.report/1" on one line, in ASCII.
std::string report_json(const Report& report);

// The page with the report in its place: the element <script type="application/json" id="kvcap-data">, which
// is empty in `page`. Nothing that a name or a text holds can end that element. REQUIRES: it is there, once.
std::string report_html(std::string_view page, const Report& report);

}  // namespace kvcap
