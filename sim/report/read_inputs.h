// Reads the files and folders whose documents a report shows.
#pragma once

#include <string>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

inline constexpr int64_t kMostInputBytes = 200'000'000;

// Reads documents from paths, each of which is a JSON file, the results.sqlite of a sweep, or a folder. In a
// folder and its subfolders, reads all documents that a report can show, except the results of the single
// settings of a comparison, which compare.json contains. Other files in a folder, and links that lead outside
// it, are skipped, with a message in `skipped`. Throws InputError for a path that cannot be read or that
// contains nothing to show.
std::vector<ReportDocument> read_inputs(const std::vector<std::string>& after,
                                        const std::vector<std::string>& before,
                                        std::vector<std::string>& skipped);

// Parses one document and replaces invalid UTF-8. `place`: the name of the document in error messages.
Json read_document(std::string text, const std::string& place);

// Returns the rows in the results file of a sweep as a kvcap.sweep_rows/1 document. Does not change the file.
Json read_sweep_rows(const std::string& path);

}  // namespace kvcap
