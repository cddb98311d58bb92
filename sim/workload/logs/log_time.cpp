#include "workload/logs/log_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <sstream>

namespace kvcap {
namespace {

struct UnitRow {
  std::string_view name;
  std::string_view words;
  int64_t ns = 0;
};
constexpr std::array<UnitRow, 4> kUnits = {  // in the order of TimeUnit
    UnitRow{"s", "seconds", 1'000'000'000}, UnitRow{"ms", "milliseconds", 1'000'000},
    UnitRow{"us", "microseconds", 1'000}, UnitRow{"ns", "nanoseconds", 1}};

const UnitRow& row_of(TimeUnit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

struct Ending {
  std::string_view text;
  TimeUnit unit;
};
constexpr Ending kEndings[] = {
    {"_s", TimeUnit::s},
    {"_sec", TimeUnit::s},
    {"_secs", TimeUnit::s},
    {"_seconds", TimeUnit::s},
    {"(s)", TimeUnit::s},
    {"_ms", TimeUnit::ms},
    {"_msec", TimeUnit::ms},
    {"_millis", TimeUnit::ms},
    {"_milliseconds", TimeUnit::ms},
    {"(ms)", TimeUnit::ms},
    {"_us", TimeUnit::us},
    {"_micros", TimeUnit::us},
    {"_microseconds", TimeUnit::us},
    {"_ns", TimeUnit::ns},
    {"_nanos", TimeUnit::ns},
    {"_nanoseconds", TimeUnit::ns},
    {"unixnano", TimeUnit::ns},
    {"unix_nano", TimeUnit::ns},
};

// Endings of names such as elapsedMs.
constexpr Ending kCamelEndings[] = {
    {"Sec", TimeUnit::s},     {"Secs", TimeUnit::s},          {"Seconds", TimeUnit::s},
    {"Ms", TimeUnit::ms},     {"MS", TimeUnit::ms},           {"Msec", TimeUnit::ms},
    {"Millis", TimeUnit::ms}, {"Milliseconds", TimeUnit::ms}, {"Us", TimeUnit::us},
    {"Micros", TimeUnit::us}, {"Microseconds", TimeUnit::us}, {"Ns", TimeUnit::ns},
    {"Nanos", TimeUnit::ns},  {"Nanoseconds", TimeUnit::ns},
};

bool ends_with_word(std::string_view name, std::string_view word) {
  if (!name.ends_with(word) || name.size() == word.size()) return false;
  const char before = name[name.size() - word.size() - 1];
  return (before >= 'a' && before <= 'z') || (before >= '0' && before <= '9');
}

// Returns the number that the `count` characters from `at` spell; -1 if they are not all digits.
int64_t digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return -1;
  int64_t number = 0;
  for (char one : text.substr(at, count)) {
    if (one < '0' || one > '9') return -1;
    number = number * 10 + (one - '0');
  }
  return number;
}

// Parses the whole text as a number; nullopt if it is anything else.
template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Removes "Z", "UTC", "+01", "+0100" or "+01:00" from the end of a time and returns seconds east of UTC.
// nullopt for an invalid offset.
std::optional<int64_t> take_offset_s(std::string_view& text) {
  constexpr std::size_t kDateAndTime = 19;
  if (text.size() <= kDateAndTime) return 0;
  for (std::string_view utc : {"Z", "z", " UTC"}) {
    if (!text.ends_with(utc)) continue;
    text.remove_suffix(utc.size());
    return 0;
  }
  const std::size_t sign = text.find_last_of("+-");
  if (sign == std::string_view::npos || sign < kDateAndTime) return 0;
  const std::string_view offset = text.substr(sign + 1);
  const bool colon = offset.size() == 5 && offset[2] == ':';
  if (offset.size() != 2 && offset.size() != 4 && !colon) return std::nullopt;
  const int64_t hours = digits(offset, 0, 2),
                minutes = offset.size() == 2 ? 0 : digits(offset, colon ? 3 : 2, 2);
  if (hours < 0 || hours > 18 || minutes < 0 || minutes > 59) return std::nullopt;
  const int64_t seconds = (hours * 60 + minutes) * 60;
  const bool west = text[sign] == '-';
  text = text.substr(0, sign);
  if (text.ends_with(' ')) text.remove_suffix(1);
  return west ? -seconds : seconds;
}

}  // namespace

double seconds_in(TimeUnit unit) { return static_cast<double>(row_of(unit).ns) / 1e9; }

std::optional<TimeUnit> unit_of_name(std::string_view column) {
  for (const Ending& ending : kCamelEndings) {
    if (ends_with_word(column, ending.text)) return ending.unit;
  }
  std::string name(column);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char one) { return static_cast<char>(std::tolower(one)); });
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.text)) return ending.unit;
  }
  return std::nullopt;
}

std::string_view other_unit_of_name(std::string_view column) {
  if (unit_of_name(column)) return {};
  const std::size_t bracket = column.rfind('(');
  if (column.ends_with(')') && bracket != std::string_view::npos && bracket > 0)
    return column.substr(bracket + 1, column.size() - bracket - 2);
  for (std::string_view unit :
       {"min", "mins", "minutes", "h", "hr", "hrs", "hours", "days", "weeks", "ps", "cs"}) {
    const bool ends = column.ends_with(unit) && column.size() > unit.size() + 1;
    if (ends && column[column.size() - unit.size() - 1] == '_')
      return column.substr(column.size() - unit.size());
  }
  return {};
}

std::optional<int64_t> parse_date_ns(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd dd:dd:dd";
  const std::optional<int64_t> offset_s = take_offset_s(text);
  if (!offset_s || text.size() < kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool parts = kForm[i] == ' ' && (text[i] == 'T' || text[i] == 't');
    if (kForm[i] == 'd' ? digits(text, i, 1) < 0 : text[i] != kForm[i] && !parts) return std::nullopt;
  }
  using namespace std::chrono;
  const year_month_day date{year(static_cast<int>(digits(text, 0, 4))),
                            month(static_cast<unsigned>(digits(text, 5, 2))),
                            day(static_cast<unsigned>(digits(text, 8, 2)))};
  const int64_t hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  if (date.year() < year(1970) || date.year() > year(2200)) return std::nullopt;
  const int64_t days = sys_days(date).time_since_epoch().count();
  const int64_t time_ns = (((days * 24 + hour) * 60 + minute) * 60 + second - *offset_s) * 1'000'000'000;
  if (text.size() == kForm.size()) return time_ns;
  const std::size_t decimals = text.size() - kForm.size() - 1;
  const char point = text[kForm.size()];
  if ((point != '.' && point != ',') || decimals < 1 || decimals > 9) return std::nullopt;
  int64_t fraction = digits(text, kForm.size() + 1, decimals);
  if (fraction < 0) return std::nullopt;
  for (std::size_t i = decimals; i < 9; ++i) fraction *= 10;
  return time_ns + fraction;
}

std::optional<int64_t> parse_time_ns(std::string_view text, TimeUnit unit) {
  // long double's 64-bit mantissa holds nanoseconds since 1970; a double rounds them to a quarter of a
  // microsecond.
  const auto number = number_of<long double>(text);
  if (!number) return std::nullopt;
  const long double time_ns = *number * static_cast<long double>(row_of(unit).ns);
  if (!(time_ns >= 0 && time_ns <= kMaxLogTime_s * 1e9)) return std::nullopt;
  return std::llround(time_ns);
}

LogClock::LogClock(std::string_view column, std::optional<TimeUnit> unit)
    : column_(column), unit_(unit ? unit : unit_of_name(column)) {}

// Determines the form of the log's times from the first one. Returns false if `text` is not a valid time.
bool LogClock::guess(std::string_view text) {
  is_date_ = parse_date_ns(text).has_value();
  if (is_date_ || unit_) return true;
  const auto found = number_of<double>(text);
  if (!found || !(*found >= 0)) return false;
  const double number = *found;
  constexpr double kEpoch_s = 1e9, kUnitsApart = 1e3;
  is_guessed_ = true;
  since_1970_ = number >= kEpoch_s;
  unit_ = TimeUnit::s;
  if (!since_1970_) return true;
  double least = kEpoch_s;
  for (TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
    unit_ = unit;
    if (number >= least && number < 10 * least) return true;
    least *= kUnitsApart;
  }
  unit_.reset();  // between the ranges of the units
  return false;
}

std::optional<int64_t> LogClock::read_ns(std::string_view text) {
  if (!is_decided_ && !guess(text)) return std::nullopt;
  const std::optional<int64_t> time_ns = is_date_ ? parse_date_ns(text) : parse_time_ns(text, *unit_);
  if (!time_ns || (is_guessed_ && since_1970_ != (*time_ns >= kFirstEpoch_ns))) return std::nullopt;
  is_decided_ = true;
  return time_ns;
}

std::string LogClock::allowed() const {
  std::string date = "a date such as 2023-11-16T18:15:46.68Z";
  if (is_date_) return date;
  if (!unit_) return date + ", seconds from 0, or seconds, ms, us or ns since 1970 (NAME:ms gives the unit)";
  const std::string unit(row_of(*unit_).name);
  if (is_guessed_) {
    const std::string since = since_1970_ ? " since 1970" : " from 0 to 1e9";
    return "a number of " + unit + since + ", as in the first row (NAME:ms gives another unit)";
  }
  std::ostringstream text;
  text << "a number of " << unit << " from 0 to "
       << kMaxLogTime_s * 1e9 / static_cast<double>(row_of(*unit_).ns);
  return text.str();
}

std::string LogClock::note() const {
  if (!is_decided_ || !is_guessed_) return "";
  const std::string words(row_of(*unit_).words);
  return "times in " + column_ + " are read as " + words +
         (since_1970_ ? " since 1970, by their size" : " since the log's own zero: no unit is given");
}

}  // namespace kvcap
