// Parses the user's mapping of the columns of a CSV or JSONL log to fields:
// "arrival=timestamp,input=usage.prompt_tokens,output=usage.completion_tokens,ttft=t:ms".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "workload/logs/log_time.h"

namespace kvcap {

// Index into LogColumns.
using LogField = std::size_t;
inline constexpr LogField kArrival = 0, kInput = 1, kOutput = 2, kSession = 3, kTtft = 4, kE2el = 5,
                          kPrompt = 6, kId = 7, kLogFields = 8;

struct MappedColumn {
  std::string name;              // empty: the log has no such column
  std::optional<TimeUnit> unit;  // unit given after the name, as in "t:ms"; times only
};
using LogColumns = std::array<MappedColumn, kLogFields>;

// Throws InputError naming workload.source.columns.
LogColumns parse_log_columns(const std::string& text);

}  // namespace kvcap
