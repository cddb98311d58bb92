// Journal: a file of measured samples, one JSON line per point, written as they are measured. A resumed run
// reads it and does not measure its points again.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "calibration/measure.h"

namespace kvcap::calibration {

class Journal {
 public:
  // `identity` describes the machine and the run. A journal with another identity, or of a finished run, is
  // overwritten. Throws std::system_error if the file cannot be written. `minima`: the result of a sample is
  // its minimum instead of its median.
  Journal(std::filesystem::path path, const std::string& identity, bool minima = false);

  int64_t resumed() const { return resumed_; }  // points of an earlier run
  // Returns the sample with this key from the file, or calls `measure` and adds its result.
  Sample sample(const std::string& key, const std::function<Sample()>& measure);
  bool has(const std::string& key) const { return samples_.contains(key); }
  const std::map<std::string, Sample>& samples() const { return samples_; }
  // Marks the run as finished: the next run overwrites the journal.
  void finish();

 private:
  void write_line(const std::string& line);

  std::filesystem::path path_;
  bool minima_;
  std::ofstream file_;
  std::map<std::string, Sample> samples_;
  int64_t resumed_ = 0;
};

}  // namespace kvcap::calibration
