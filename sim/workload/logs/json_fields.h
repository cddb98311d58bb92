// Reads numbers, times and names from JSON objects of logs; errors name the key.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "workload/logs/log_time.h"

namespace kvcap {

// Returns the value at a key or at a dotted path, whose keys may themselves contain dots; null if it is
// missing or JSON's null.
const nlohmann::json* find_dotted(const nlohmann::json& object, std::string_view path);
// Like find_dotted, but returns JSON's null as a value; nullptr if the value is missing.
const nlohmann::json* find_dotted_or_null(const nlohmann::json& object, std::string_view path);

// Returns a required integer from `least` to kMaxTokens. Throws BadRowError for any other value.
uint32_t tokens_at(const nlohmann::json& object, std::string_view path, int64_t least = 1);
// Returns a time in ns since 1970 or since the log's zero, given as a number or as its text; nullopt if it is
// missing. Throws BadRowError for any other value.
std::optional<int64_t> time_ns_at(const nlohmann::json& object, std::string_view path, TimeUnit unit);
// Returns a duration in seconds; NaN if missing. Throws BadRowError for any other value.
double duration_s_at(const nlohmann::json& object, std::string_view path, TimeUnit unit);
// Returns a string, or an integer as text; an empty text if it is missing. Throws BadRowError for any other
// value.
std::string name_at(const nlohmann::json& object, std::string_view path);

}  // namespace kvcap
