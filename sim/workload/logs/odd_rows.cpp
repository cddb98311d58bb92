#include "workload/logs/odd_rows.h"

#include <algorithm>
#include <cmath>

#include "base/input_error.h"
#include "workload/logs/rows.h"

namespace kvcap {
namespace {

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g s", seconds);
  return text;
}

// Returns the reason why the times are impossible; empty if they are possible.
std::string contradiction_in(const MeasuredTimes& times) {
  if (times.ttft_s < 0) return "the first token comes " + seconds_text(-times.ttft_s) + " before the arrival";
  if (times.e2el_s < 0) return "the end comes " + seconds_text(-times.e2el_s) + " before the arrival";
  constexpr double kRounding_s = 1e-3;  // some logs round one of the two times
  if (!(times.ttft_s > times.e2el_s + kRounding_s)) return "";
  return "a TTFT of " + seconds_text(times.ttft_s) + " is above the end-to-end latency of " +
         seconds_text(times.e2el_s);
}

std::string years_text(double seconds) {
  constexpr double kYear_s = 365.25 * 86400;
  return std::to_string(std::llround(seconds / kYear_s)) + " years";
}

std::string rows_left_out(int64_t count) {
  return count_of(count, "row") + (count == 1 ? " is" : " are") + " left out: ";
}

}  // namespace

std::optional<DateRange> range_of_dates(const std::string& path, std::vector<double> dates_s) {
  if (dates_s.empty()) return std::nullopt;
  std::sort(dates_s.begin(), dates_s.end());
  DateRange most{dates_s.front(), dates_s.front()};
  std::size_t count = 0;
  double longest_gap_s = 0;
  for (std::size_t begin = 0, end = 0; begin < dates_s.size(); begin = end) {
    for (end = begin + 1; end < dates_s.size() && dates_s[end] - dates_s[end - 1] <= kLongestGap_s;) ++end;
    if (end - begin > count) most = {dates_s[begin], dates_s[end - 1]};
    count = std::max(count, end - begin);
    if (end < dates_s.size()) longest_gap_s = std::max(longest_gap_s, dates_s[end] - dates_s[end - 1]);
  }
  if (count == dates_s.size()) return std::nullopt;
  if (2 * count > dates_s.size()) return most;
  throw InputError(path + ": found dates that are " + years_text(longest_gap_s) +
                   " apart, with no year that contains most of them, allowed: gaps of at most a year");
}

void OddRows::add(Kind kind, RowPlace place) {
  constexpr std::size_t kMostShown = 5;
  Found& found = found_[static_cast<std::size_t>(kind)];
  ++found.count;
  if (found.first.size() < kMostShown) found.first.push_back(place);
}

bool OddRows::is_repeated(Key content, bool is_named, RowPlace place) {
  if (contents_.insert(content)) return false;
  add(is_named ? Kind::repeated : Kind::alike, place);
  return is_named;
}

bool OddRows::is_impossible(const MeasuredTimes& times, RowPlace place) {
  measured_ += !std::isnan(times.ttft_s) || !std::isnan(times.e2el_s);
  const std::string why = contradiction_in(times);
  if (why.empty()) return false;
  if (first_impossible_.empty()) first_impossible_ = why;
  add(Kind::impossible, place);
  return true;
}

// Returns "line 3, line 8 and 2 more".
std::string OddRows::places(Kind kind) const {
  const Found& all = found(kind);
  std::string text;
  for (const RowPlace& one : all.first) {
    text += (text.empty() ? "" : ", ") + lists_[one.list] + std::to_string(one.number);
  }
  const int64_t more = all.count - std::ssize(all.first);
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

void OddRows::tell(const std::string& path, Source& source) const {
  source.odd_rows = {.repeated = found(Kind::repeated).count,
                     .impossible_times = found(Kind::impossible).count,
                     .distant_dates = found(Kind::distant).count};
  const auto say = [&](const std::string& note) {
    source.notes.push_back(note);
    source.warnings.push_back(path + ": " + note);
  };
  const OddRowCounts& counts = source.odd_rows;
  if (2 * counts.impossible_times > measured_) {
    throw InputError(path + ": " + std::to_string(counts.impossible_times) + " of " +
                     count_of(measured_, "request") + " have impossible times (" + places(Kind::impossible) +
                     "); in the first " + first_impossible_ +
                     ", allowed: at most half of them (are the columns swapped?)");
  }
  if (counts.repeated > 0)
    say(rows_left_out(counts.repeated) + "an earlier row is the same (" + places(Kind::repeated) + ")");
  if (counts.impossible_times > 0) {
    say(rows_left_out(counts.impossible_times) + "the times are impossible (" + places(Kind::impossible) +
        "); in the first " + first_impossible_);
  }
  if (counts.distant_dates > 0) {
    say(rows_left_out(counts.distant_dates) + "the date is more than a year from those of the other rows (" +
        places(Kind::distant) + ")");
  }
  if (const int64_t alike = found(Kind::alike).count; alike > 0) {
    source.notes.push_back(count_of(alike, "row") + (alike == 1 ? " is" : " are") +
                           " the same as an earlier one but read anyway, because nothing in such a row "
                           "identifies its request (" +
                           places(Kind::alike) + ")");
  }
}

}  // namespace kvcap
