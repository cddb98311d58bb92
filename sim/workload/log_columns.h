// Which column of a CSV or JSONL log holds what, as its user says:
// "arrival=timestamp,input=usage.prompt_tokens,output=usage.completion_tokens,session=conversation_id,ttft=t:ms".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "workload/log_time.h"

namespace kvcap {

enum LogField : std::size_t { kArrival, kInput, kOutput, kSession, kTtft, kE2el, kPrompt, kId, kLogFields };

struct MappedColumn {
  std::string name;              // empty: the log has none
  std::optional<TimeUnit> unit;  // ":ms" after the name; of times only
};
using LogColumns = std::array<MappedColumn, kLogFields>;

// Throws InputError that names workload.source.columns.
LogColumns parse_log_columns(const std::string& text);

}  // namespace kvcap
