// Files and folders to the documents of a report.
#pragma once

#include <string>
#include <vector>

#include "report/report_data.h"

namespace kvcap {

inline constexpr int64_t kMostInputBytes = 200'000'000;

// A path is a JSON file, the results.sqlite of a sweep, or a folder. Of a folder everything that a report
// can show is taken, in subfolders too; not the results of a comparison's settings, which compare.json
// holds, and nothing that a link leads to outside of it. What has no schema that a report knows is left
// out there and named in `skipped`. Throws InputError for what cannot be read or shown.
std::vector<ReportDocument> read_inputs(const std::vector<std::string>& after,
                                        const std::vector<std::string>& before,
                                        std::vector<std::string>& skipped);

// One document from its text; `place` is what messages call it. Invalid UTF-8 is replaced.
Json read_document(std::string text, const std::string& place);

// "kvcap.sweep_rows/1" from the results file of a sweep, which is left as it is.
Json read_sweep_rows(const std::string& path);

}  // namespace kvcap
