// Results as the simulator hands them out, from their JSON: what the sentences and tables of metrics/ take.
#pragma once

#include <string>
#include <vector>

#include "documents/change.h"
#include "documents/document.h"
#include "documents/markdown_page.h"
#include "metrics/recorder.h"
#include "metrics/result.h"

namespace kvcap {

// Results that may be compared: those of one compare.json, or single ones of scenarios of one name.
struct ResultGroup {
  std::string name;                 // of the input, or of the first of several
  std::vector<std::string> labels;  // one a result, all different
  std::vector<RunResult> results;
  std::vector<Difference> differences;
};

// Of one side, in order.
std::vector<ResultGroup> result_groups(const std::vector<ReportDocument>& inputs, bool is_before);

// From "kvcap.result/1"; without turns. What is missing stays empty.
RunResult read_result(const Json& json);
// From "kvcap.compare/1": those against its first setting, and those between the others.
std::vector<Difference> read_differences(const Json& compare);

// The table that a terminal shows and the notes, as Markdown.
void add_results(const ResultGroup& group, MarkdownPage& page);

// Of what both sides have, matched by scenario and setting.
void add_result_changes(const std::vector<ReportDocument>& documents, std::vector<Change>& changes);

}  // namespace kvcap
