// Converts times and durations of logs to nanoseconds: dates, or numbers of some unit since 1970 or since the
// log's own zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap {

enum class TimeUnit : uint8_t { s, ms, us, ns };

double seconds_in(TimeUnit unit);  // length of the unit

// Returns the unit in a column's name, as in "arrival_ms", "elapsedMs", "startTimeUnixNano"; nullopt if the
// name has none.
std::optional<TimeUnit> unit_of_name(std::string_view column);

// Returns a unit in a column's name that TimeUnit lacks: "min" in "latency_min", "parsecs" in "took
// (parsecs)"; empty if there is none.
std::string_view other_unit_of_name(std::string_view column);

// Parses "2023-11-16T18:15:46.68+01:00" into nanoseconds since 1970: T or a blank, up to nine decimals or
// none, and Z, an offset or nothing (UTC). Returns nullopt for any other text and for years outside 1970 to
// 2200.
std::optional<int64_t> parse_date_ns(std::string_view text);

// Parses a number of `unit` into nanoseconds; nullopt if it is not a number from 0 to kMaxLogTime_s.
std::optional<int64_t> parse_time_ns(std::string_view text, TimeUnit unit);

inline constexpr double kMaxLogTime_s = 9e9;  // 285 years: the range of 64 bits of nanoseconds
// A time of at least this much counts from 1970, because no log's own zero is 31 years before its first row.
inline constexpr int64_t kFirstEpoch_ns = 1'000'000'000'000'000'000;

// Clock that reads the arrivals of one log. The first row determines the form of the times; all other rows
// must have the same form.
class LogClock {
 public:
  // `unit`: given by the user or the format. Otherwise the column's name decides, else the size of the
  // numbers: about 1.7e9 means seconds since 1970, 1.7e12 milliseconds, and so on; below 1e9, seconds since
  // the log's zero.
  explicit LogClock(std::string_view column, std::optional<TimeUnit> unit = {});

  // Returns the time in ns; nullopt if `text` does not have the log's form, which allowed() then describes.
  std::optional<int64_t> read_ns(std::string_view text);
  std::string allowed() const;

  // Returns a note on how numbers were interpreted; empty if the log states the unit or no row was read.
  std::string note() const;

 private:
  bool guess(std::string_view text);

  std::string column_;
  std::optional<TimeUnit> unit_;
  bool is_date_ = false;
  bool is_guessed_ = false;
  bool since_1970_ = false;
  bool is_decided_ = false;
};

}  // namespace kvcap
