// What the readers of lines share: a row is good, or bad with a reason that names the field.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "workload/source.h"

namespace kvcap {

// What is wrong with a row, without the row's place.
struct BadRowError {
  std::string reason;
  std::size_t column = 0;  // from 1; 0: of the whole line
};

inline constexpr int64_t kMaxTokens = 10'000'000;
inline constexpr double kMaxArrival_s = 1e10;  // 300 years: seconds, not nanoseconds, since 1970

// A value as messages show it: short.
std::string shown_in_row(const nlohmann::json& value);
// "turns.0: found 4, allowed: an object"
[[noreturn]] void bad_value(const std::string& path, const nlohmann::json& found, const std::string& allowed);
void refuse_unknown_keys(const nlohmann::json& object, std::span<const std::string_view> known,
                         const std::string& path);
const nlohmann::json& required(const nlohmann::json& object, const char* key, const std::string& path);
// An integer from `least` to kMaxTokens.
uint32_t token_count(const nlohmann::json& value, const std::string& path, int64_t least);

// Calls `take` with every line of a file, plain or gzip, and its number from 1, until `take` returns false;
// blank lines are passed over. A line for which `take` throws BadRowError is an InputError with its place,
// or with `skip` counted in the result.
struct BadRows {
  int64_t count = 0;
  std::string first;  // with its place
};
// Counts a bad row, or throws it. `error`: with its place.
void count_bad_row(const std::string& error, BadRow on_bad_row, BadRows& bad);
BadRows for_each_line(const std::string& path, BadRow on_bad_row,
                      const std::function<bool(std::string_view, int64_t)>& take);

// The same with the lines' JSON objects; a line that is none is a bad row.
BadRows for_each_row(const std::string& path, BadRow on_bad_row,
                     const std::function<bool(const nlohmann::json&, int64_t)>& take);

// "1 request", "2 requests".
std::string count_of(int64_t number, std::string_view noun);
// Notes what is left out, if anything: "2 requests without output tokens are left out".
void note_left_out(int64_t number, std::string_view noun, std::string_view which, Source& source);

// Requests of a benchmark that are no part of its measurement.
struct LeftOut {
  int64_t warm_up = 0, cool_down = 0, cancelled = 0, failed = 0;

  // "2 warm-up and 3 failed requests are left out"; empty where there are none.
  std::string text() const;
};

// Adds what was skipped to the source's notes. Throws InputError for a source without sessions.
void report_bad_rows(const std::string& path, const BadRows& bad, Source& source);

}  // namespace kvcap
