// Points of a sweep: their keys, their rows of results, and the cache of finished points.
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
  std::string error;            // one line: why the metrics are missing
  std::string scenario_json;    // resolved scenario
  std::vector<Metric> metrics;  // means over all replications; the members below cover all replications, too
  std::vector<Interval> intervals;
  std::vector<std::string> notes;
  std::string quality_note;
};

// Returns the metrics that every result has, in order. Only the types of their values have a meaning.
std::vector<Metric> metric_columns();

// Computes the key of a point: SHA-256 of its resolved scenario and of the contents of its files.
class PointKeys {
 public:
  // Throws InputError for a file that cannot be read.
  std::string key(const Scenario& scenario);

 private:
  std::map<std::string, std::string> digests_;  // digests of files, by path
};

// Returns "kvcap 0.2.0 3fa94c0d1b2e": the version and the start of the build id, or of the executable's
// SHA-256 if it has no build id. Results of two builds are not mixed.
const std::string& program_build();

// A cache of finished points of all sweeps, one file each in a folder per build: DIR/BUILD/3f/3fa9... . Any
// number of processes on any number of machines may share it.
class PointCache {
 public:
  // An empty folder switches the cache off.
  explicit PointCache(std::string folder);
  // Returns false if the point is not stored.
  bool find(const std::string& key, RunResult& result) const;
  void keep(const std::string& key, const RunResult& result) const;

 private:
  std::string file(const std::string& key) const;
  std::string folder_;
};

}  // namespace kvcap
