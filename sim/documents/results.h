// Reads results from their JSON, for the sentences and tables of text/.
#pragma once

#include <string>
#include <vector>

#include "documents/change.h"
#include "documents/document.h"
#include "metrics/quantity.h"
#include "metrics/recorder.h"
#include "metrics/result.h"
#include "text/comparison.h"
#include "text/markdown_page.h"

namespace kvcap {

// A group of results that are shown side by side: those of one compare.json, or single results of scenarios
// with the same name.
struct ResultGroup {
  std::string name;                 // name of the input, or of the first one if there are several
  std::vector<std::string> labels;  // one per result, all different
  std::vector<RunResult> results;
  std::vector<Difference> differences;
};

// Returns the groups of one side (before or after), in the order of the inputs.
std::vector<ResultGroup> result_groups(const std::vector<ReportDocument>& inputs, bool is_before);

// Returns the facts that sentences about a group state. REQUIRES: the group outlives the returned object.
Comparison comparison_of(const ResultGroup& group);

// Reads a kvcap.result/1 document except its list of turns. Missing values stay empty.
RunResult read_result(const Json& json);
// Reads the differences between settings in a kvcap.compare/1 document: from the first setting, and between
// the others.
std::vector<Difference> read_differences(const Json& compare);

// Adds the table of a group of results and their notes as Markdown.
void add_results(const ResultGroup& group, MarkdownPage& page);

// Adds the changes of these metrics for results that both sides have, matched by scenario and setting.
void add_result_changes(const std::vector<ReportDocument>& documents,
                        const std::vector<const Quantity*>& metrics, std::vector<Change>& changes);

}  // namespace kvcap
