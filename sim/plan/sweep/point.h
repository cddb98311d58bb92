// A point of a sweep: what makes two of them the same, and what is left of one that has run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/result.h"
#include "scenario/scenario.h"

namespace kvcap {

enum class PointStatus : uint8_t { ok, failed, timeout };
inline constexpr std::string_view kPointStatusNames[] = {"ok", "failed", "timeout"};

struct PointRow {
  std::string key;
  PointStatus status = PointStatus::ok;
  std::string error;            // in one line why there are no metrics
  std::string scenario_json;    // as resolved
  std::vector<Metric> metrics;  // of all replications together, as all that follows
  std::vector<Interval> intervals;
  std::vector<std::string> notes;
  std::string quality_note;
};

// The numbers and texts of every result, in order, with values of their kind.
std::vector<Metric> metric_columns();

// The key of a point: SHA-256 of its resolved scenario and of the contents of the files that it names.
class PointKeys {
 public:
  // Throws InputError for a file that cannot be read.
  std::string key(const Scenario& scenario);

 private:
  std::map<std::string, std::string> digests_;  // of files, by path
};

// "kvcap 0.2.0 3fa94c0d1b2e": version and the start of the build id, or of the executable's SHA-256 where the
// linker gave it none. Results of two builds are not mixed.
const std::string& program_build();

// Finished points of all sweeps, a file each in a folder of the build: DIR/BUILD/3f/3fa9... . Any number of
// processes, on any number of machines, may share it.
class PointCache {
 public:
  // No folder: finds nothing and keeps nothing.
  explicit PointCache(std::string folder);
  // False when the point is not there.
  bool find(const std::string& key, RunResult& result) const;
  void keep(const std::string& key, const RunResult& result) const;

 private:
  std::string file(const std::string& key) const;
  std::string folder_;
};

}  // namespace kvcap
