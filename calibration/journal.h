// Journal: a file of measured samples, one JSON line per point, written as they are measured. A resumed run
// reads it and does not measure its points again.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "calibration/measure.h"

namespace kvcap::calibration {

// Thrown where the next point would be measured after the time given; the same call continues there.
class BudgetSpent : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Journal {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `identity` describes the machine and the run. A journal with another identity, or of a finished run, is
  // kept under another name (kept()). Throws std::system_error if the file cannot be written. `minima`: the
  // result of a sample is its minimum instead of its median.
  Journal(std::filesystem::path path, const std::string& identity, bool minima = false);

  int64_t resumed() const { return resumed_; }  // points of an earlier run
  // Where the journal of another run lies that had this name: PATH.1, PATH.2, ...; empty if there was none.
  const std::filesystem::path& kept() const { return kept_; }
  // From this time on sample() measures no more points; at least one is measured.
  void stop_at(std::optional<Time> time) { stop_at_ = time; }
  // Returns the sample with this key from the file, or calls `measure` and adds its result. Throws
  // BudgetSpent if the point is not in the file and there is no time left.
  Sample sample(const std::string& key, const std::function<Sample()>& measure);
  bool has(const std::string& key) const { return samples_.contains(key); }
  const std::map<std::string, Sample>& samples() const { return samples_; }
  // Returns when the samples were measured: "on 2026-11-28" or "from 2026-11-20 to 2026-11-28"; empty if
  // there are none.
  std::string dates() const;
  // Marks the run as finished: the next run measures anew.
  void finish();

 private:
  void write_line(const std::string& line);
  void keep_other();
  void add_date(const std::string& date);

  std::filesystem::path path_, kept_;
  bool minima_;
  std::ofstream file_;
  std::map<std::string, Sample> samples_;
  std::string first_date_, last_date_;
  std::optional<Time> stop_at_;
  int64_t resumed_ = 0;
};

// Returns the time at which a call that started now has spent its budget.
std::optional<Journal::Time> end_of(std::optional<double> budget_s);

// Says on stderr where the journal of another run is kept, if there was one.
void tell_kept(const Journal& journal);

}  // namespace kvcap::calibration
