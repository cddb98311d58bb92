// Files that are JSON documents rather than lines: results of benchmarks, exports of spans.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "workload/logs/rows.h"

namespace kvcap {

// All JSON values of a file, plain or gzip: one, or several after each other. Python's NaN and Infinity are
// null. Members of these names are left out wherever they stand, for texts can be most of a file. Throws
// InputError for what is no JSON.
std::vector<nlohmann::json> read_json_documents(const std::string& path,
                                                const std::vector<std::string_view>& left_out = {});
// The same, one after the other.
void for_each_json_document(const std::string& path, const std::vector<std::string_view>& left_out,
                            const std::function<void(const nlohmann::json&)>& take);

// Calls `take` with each entry of an array of the document and its index until it returns false. `path`: of
// the array, as messages name it ("benchmarks.0.requests"). Bad entries as bad rows (rows.h).
BadRows for_each_entry(const std::string& file, const std::string& path, const nlohmann::json& array,
                       BadRow on_bad_row, const std::function<bool(const nlohmann::json&, int64_t)>& take);

}  // namespace kvcap
