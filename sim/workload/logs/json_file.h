// Reads files that consist of JSON documents instead of lines: results of benchmarks, exports of spans.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "workload/logs/rows.h"

namespace kvcap {

// Returns all JSON values of a plain or gzip file: one or several in sequence. Python's NaN and Infinity are
// read as null. Members named in `left_out` are dropped at every depth, because the texts of requests can
// make up most of a file. Throws InputError for invalid JSON.
std::vector<nlohmann::json> read_json_documents(const std::string& path,
                                                const std::vector<std::string_view>& left_out = {});
// Calls `take` with each JSON value of a file, read as read_json_documents reads them.
void for_each_json_document(const std::string& path, const std::vector<std::string_view>& left_out,
                            const std::function<void(const nlohmann::json&)>& take);

// Calls `take` with each entry of an array and its index until it returns false. `path` names the array in
// messages ("benchmarks.0.requests"). Bad entries are handled like bad rows (rows.h).
BadRows for_each_entry(const std::string& file, const std::string& path, const nlohmann::json& array,
                       BadRow on_bad_row, const std::function<bool(const nlohmann::json&, int64_t)>& take);

}  // namespace kvcap
