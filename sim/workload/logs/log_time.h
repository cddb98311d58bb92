// When a request of a log arrived and how long it took, in whatever form the log's writer chose: dates, or
// numbers of some unit since 1970 or since the log's own zero. All of them become nanoseconds here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap {

enum class TimeUnit : uint8_t { s, ms, us, ns };

double seconds_in(TimeUnit unit);  // in one of it

// What a column's name says of its unit: "arrival_ms", "elapsedMs", "startTimeUnixNano"; nothing where it
// says nothing.
std::optional<TimeUnit> unit_of_name(std::string_view column);

// A unit in a column's name that is none of these: "min" of "latency_min", "parsecs" of "took (parsecs)";
// empty where there is none.
std::string_view other_unit_of_name(std::string_view column);

// "2023-11-16T18:15:46.68+01:00" with T or a blank, up to nine decimals or none, and Z, an offset or nothing
// (UTC), in nanoseconds since 1970; nothing where it is no such time between 1970 and 2200.
std::optional<int64_t> parse_date_ns(std::string_view text);

// A number of `unit` as nanoseconds; nothing where it is no number or not between 0 and kMaxLogTime_s.
std::optional<int64_t> parse_time_ns(std::string_view text, TimeUnit unit);

inline constexpr double kMaxLogTime_s = 9e9;  // 285 years: what 64 bits of nanoseconds hold
// Later times count from 1970, not from the log's own zero (which nobody sets 31 years before its first row).
inline constexpr int64_t kFirstEpoch_ns = 1'000'000'000'000'000'000;

// The arrivals of one log. The first row decides what its times are; all others have to be alike.
class LogClock {
 public:
  // `unit`: what the user or the format says; else the column's name decides, else the size of the numbers:
  // some 1.7e9 are seconds since 1970, 1.7e12 milliseconds, and so on; below 1e9 seconds since the log's
  // zero.
  explicit LogClock(std::string_view column, std::optional<TimeUnit> unit = {});

  // Nothing where `text` is no such time: `allowed` then says what is.
  std::optional<int64_t> read_ns(std::string_view text);
  std::string allowed() const;

  // What the numbers were taken for; empty where the log itself says it, or no row was read.
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
