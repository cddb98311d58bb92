// Reads files row by row, and reports errors in a row with the name of the field.
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

// Error in a row, without the row's position.
struct BadRowError {
  std::string reason;
  std::size_t column = 0;  // from 1; 0: the whole line
};

inline constexpr int64_t kMaxTokens = 10'000'000;
inline constexpr double kMaxArrival_s = 1e10;  // 300 years; larger times since 1970 are not in seconds

// Returns a value shortened for messages.
std::string shown_in_row(const nlohmann::json& value);
// Throws BadRowError: "turns.0: found 4, allowed: an object".
[[noreturn]] void bad_value(const std::string& path, const nlohmann::json& found, const std::string& allowed);
void refuse_unknown_keys(const nlohmann::json& object, std::span<const std::string_view> known,
                         const std::string& path);
const nlohmann::json& required(const nlohmann::json& object, const char* key, const std::string& path);
// Returns an integer from `least` to kMaxTokens. Throws BadRowError for any other value.
uint32_t token_count(const nlohmann::json& value, const std::string& path, int64_t least);

// Number of bad rows that were skipped, and the first of them.
struct BadRows {
  int64_t count = 0;
  std::string first;  // message with its position
};
// Counts a bad row, or throws InputError if `on_bad_row` is error. `error`: the message, including the
// position.
void count_bad_row(const std::string& error, BadRow on_bad_row, BadRows& bad);
// Calls `take` with every line of a plain or gzip file and its number, from 1, until `take` returns false.
// Blank lines are skipped. A BadRowError that `take` throws becomes an InputError with the line's position
// or, if `on_bad_row` is skip, is counted in the result.
BadRows for_each_line(const std::string& path, BadRow on_bad_row,
                      const std::function<bool(std::string_view, int64_t)>& take);

// Calls `take` with the JSON object of every line and the line's number; a line that is not an object is a
// bad row.
BadRows for_each_row(const std::string& path, BadRow on_bad_row,
                     const std::function<bool(const nlohmann::json&, int64_t)>& take);

// Returns "1 request", "2 requests".
std::string count_of(int64_t number, std::string_view noun);
// Adds a note if `number` > 0: "2 requests without output tokens are left out".
void note_left_out(int64_t number, std::string_view noun, std::string_view which, Source& source);

// Counts of a benchmark's requests that are not part of its measurement.
struct LeftOut {
  int64_t warm_up = 0, cool_down = 0, cancelled = 0, failed = 0;

  // Returns "2 warm-up and 3 failed requests are left out"; empty if all counts are 0.
  std::string text() const;
};

// Adds the skipped rows to the source's notes. Throws InputError for a source without sessions.
void report_bad_rows(const std::string& path, const BadRows& bad, Source& source);

}  // namespace kvcap
