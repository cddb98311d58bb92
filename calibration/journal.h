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
  // kept under another name (kept()). Throws std::system_error if the file cannot be written. `minima`: the
  // result of a sample is its minimum instead of its median.
  Journal(std::filesystem::path path, const std::string& identity, bool minima = false);

  int64_t resumed() const { return resumed_; }  // points of an earlier run
  // Where the journal of another run lies that had this name: PATH.1, PATH.2, ...; empty if there was none.
  const std::filesystem::path& kept() const { return kept_; }
  // Returns the sample with this key from the file, or calls `measure` and adds its result.
  Sample sample(const std::string& key, const std::function<Sample()>& measure);
  bool has(const std::string& key) const { return samples_.contains(key); }
  const std::map<std::string, Sample>& samples() const { return samples_; }
  // Marks the run as finished: the next run measures anew.
  void finish();

 private:
  void write_line(const std::string& line);

  void keep_other();

  std::filesystem::path path_, kept_;
  bool minima_;
  std::ofstream file_;
  std::map<std::string, Sample> samples_;
  int64_t resumed_ = 0;
};

// Says on stderr where the journal of another run is kept, if there was one.
void tell_kept(const Journal& journal);

}  // namespace kvcap::calibration
