// Reads the files and folders that a report is made from.
#pragma once

#include <string>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

inline constexpr int64_t kMostInputBytes = 200'000'000;

// Reads paths: a JSON file, the results.sqlite of a sweep, or a folder. From a folder and its subfolders it
// reads all documents that a report can show, except the results of a comparison's settings (compare.json
// contains them) and links that lead outside the folder. Other files in a folder are left out and named in
// `skipped`. Throws InputError for paths that cannot be read or shown.
std::vector<ReportDocument> read_inputs(const std::vector<std::string>& after,
                                        const std::vector<std::string>& before,
                                        std::vector<std::string>& skipped);

// Parses one document, which error messages call `place`. Invalid UTF-8 is replaced.
Json read_document(std::string text, const std::string& place);

// Returns a kvcap.sweep_rows/1 document from the results file of a sweep, which is not changed.
Json read_sweep_rows(const std::string& path);

}  // namespace kvcap
