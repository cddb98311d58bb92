// What has been measured, one JSON line a point, written as it is measured. It is the raw material behind a
// profile, and a run that was stopped goes on from it: a point that it holds is not measured again.
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
  // `identity` says what was measured and how; a journal of another identity, or of a run that ended, is
  // begun anew. Throws std::system_error where the file cannot be written.
  // `minima`: the time that speaks is the minimum of a sample and not its median.
  Journal(std::filesystem::path path, const std::string& identity, bool minima = false);

  int64_t resumed() const { return resumed_; }  // points that an earlier run measured
  // The sample of this key: from the file, else `measure`d now and added.
  Sample sample(const std::string& key, const std::function<Sample()>& measure);
  bool has(const std::string& key) const { return samples_.contains(key); }
  const std::map<std::string, Sample>& samples() const { return samples_; }
  // The run is over: the next one begins anew.
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
