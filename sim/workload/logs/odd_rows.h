// Rows that are well formed and cannot be true: the same request twice, an answer that ended before it began,
// a date far from all others. They are left out, counted, and told with their places. All readers use this.
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

// Where a row stands in its file: a line, from 1, or an entry of a list that OddRows knows.
struct RowPlace {
  int64_t number = 0;
  uint32_t list = 0;
};

// No log has a longer gap between requests: a date beyond one is wrong.
inline constexpr double kLongestGap_s = 365.0 * 86400;

struct DateRange {
  double first_s = 0, last_s = 0;
};
// The range without such a gap that more than half of the dates lie in; nothing where all do. Throws
// InputError where there is none.
std::optional<DateRange> range_of_dates(const std::string& path, std::vector<double> dates_s);

class OddRows {
 public:
  // Rows that follow stand in a list of the file: "benchmarks.0.requests.successful.".
  void enter_list(std::string prefix) { lists_.push_back(std::move(prefix)); }
  RowPlace place(int64_t number) const { return {number, static_cast<uint32_t>(lists_.size()) - 1}; }

  // Whether the row is to be left out. `content`: of all that is read of it. `is_named`: it has an id, or
  // something else that no two rows have.
  bool is_repeated(Key content, bool is_named, RowPlace place);
  // Whether what was measured cannot be.
  bool is_impossible(const MeasuredTimes& times, RowPlace place);
  void count_distant(RowPlace place) { add(Kind::distant, place); }

  // Adds the counts and what is to be said to the source. Throws InputError where most of the times that were
  // measured are impossible.
  void tell(const std::string& path, Source& source) const;

 private:
  enum class Kind : uint8_t { repeated, impossible, distant, alike };  // alike: repeated, but not named
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
  std::string first_impossible_;  // what is wrong with it
};

}  // namespace kvcap
