// OddRows: finds rows of any format that are well formed but cannot be true: a repeated request, an answer
// that ended before it began, a date far from all others. Such rows are left out, counted and listed with
// their positions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/key_map.h"
#include "workload/source.h"

namespace kvcap {

// Position of a row: a line of the file, from 1, or an index in the list that enter_list() named.
struct RowPlace {
  int64_t number = 0;
  uint32_t list = 0;
};

// Longest plausible gap between requests of a log; dates that are farther apart are wrong.
inline constexpr double kLongestGap_s = 365.0 * 86400;

struct DateRange {
  double first_s = 0, last_s = 0;
};
// Returns the range of dates that has no gap above kLongestGap_s and contains more than half of all dates;
// nullopt if it contains all of them. Throws InputError if no such range exists.
std::optional<DateRange> range_of_dates(const std::string& path, std::vector<double> dates_s);

class OddRows {
 public:
  // Names the list of the file that contains the following rows: "benchmarks.0.requests.successful.".
  void enter_list(std::string prefix) { lists_.push_back(std::move(prefix)); }
  RowPlace place(int64_t number) const { return {number, static_cast<uint32_t>(lists_.size()) - 1}; }

  // True iff the row repeats an earlier one and must be left out. `content`: hash of all values that are read
  // from the row. `is_named`: the row has an id, or another value that is unique to it.
  bool is_repeated(Key content, bool is_named, RowPlace place);
  // True iff the measured times are impossible.
  bool is_impossible(const MeasuredTimes& times, RowPlace place);
  void count_distant(RowPlace place) { add(Kind::distant, place); }

  // Adds the counts, notes and warnings to the source. Throws InputError if most measured times are
  // impossible.
  void tell(const std::string& path, Source& source) const;

 private:
  // alike: equal to an earlier row, but without an id
  enum class Kind : uint8_t { repeated, impossible, distant, alike };
  struct Found {
    int64_t count = 0;
    std::vector<RowPlace> first;
  };

  void add(Kind kind, RowPlace place);
  const Found& found(Kind kind) const { return found_[static_cast<std::size_t>(kind)]; }
  std::string places(Kind kind) const;

  std::vector<std::string> lists_ = {"line "};
  KeySet contents_;
  std::array<Found, 4> found_;
  int64_t measured_ = 0;
  std::string first_impossible_;  // reason why the first impossible row is impossible
};

}  // namespace kvcap
