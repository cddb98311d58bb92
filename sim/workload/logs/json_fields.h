// What readers of JSON logs take from an object: numbers by their keys, with errors that name them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "workload/logs/log_time.h"

namespace kvcap {

// The value at a key, or at keys with dots between them, of which some may have dots of their own; null where
// there is none, or null itself.
const nlohmann::json* find_dotted(const nlohmann::json& object, std::string_view path);
// The same, which may be JSON's null.
const nlohmann::json* find_dotted_or_null(const nlohmann::json& object, std::string_view path);

// All of these throw BadRowError where there is something else.
// An integer from `least` to kMaxTokens; required.
uint32_t tokens_at(const nlohmann::json& object, std::string_view path, int64_t least = 1);
// A number or the text of one, since 1970 or the log's zero; nothing where there is none.
std::optional<int64_t> time_ns_at(const nlohmann::json& object, std::string_view path, TimeUnit unit);
// In seconds; NaN where there is none.
double duration_s_at(const nlohmann::json& object, std::string_view path, TimeUnit unit);
// A string, or an integer as text; empty where there is none.
std::string name_at(const nlohmann::json& object, std::string_view path);

}  // namespace kvcap
