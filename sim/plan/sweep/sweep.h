// Sweep: many scenarios described by one file: a base scenario, and axes that set fields of it. A point of
// the sweep takes one row of every axis; the last axis changes fastest. This class runs no simulation.
// Format: scenarios/results.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenario/load.h"

namespace kvcap {

// Limits of each simulation of a sweep; 0: none.
struct SweepLimits {
  double timeout_s = 0;
  int64_t memory_bytes = 0;
};

// One axis of a sweep. The settings in a row are applied together. Each field of `grid` in the file is an
// axis of its own; `zip`, `points` and `sample` are one axis each.
struct SweepAxis {
  std::vector<std::vector<Override>> rows;
};

class Sweep {
 public:
  Sweep(std::string file, std::string base_text, std::string base_file, std::vector<SweepAxis> axes,
        SweepLimits limits, std::vector<Override> set = {});

  // Returns the number of points, duplicates included.
  std::size_t size() const { return size_; }
  const std::string& file() const { return file_; }
  const SweepLimits& limits() const { return limits_; }
  // Returns the swept fields, in the order of the file.
  const std::vector<std::string>& paths() const { return paths_; }
  // Returns the value of each of paths() at a point, as JSON; "" for a path that the point does not set.
  std::vector<std::string> values(std::size_t point) const;
  // Returns the scenario of a point. Throws InputError that names the sweep's file and the setting.
  Scenario scenario(std::size_t point) const;

 private:
  std::vector<const Override*> settings(std::size_t point) const;

  std::string file_, base_text_, base_file_;
  std::vector<SweepAxis> axes_;
  SweepLimits limits_;
  std::vector<Override> set_;  // applied to every point; not a column of the results
  std::vector<std::string> paths_;
  std::size_t size_ = 1;
};

// Reads a sweep file (schema kvcap.sweep/1). Throws InputError for errors of the sweep itself; does not
// resolve its scenarios. `set`: changes "path=value" of every point, which must not name a swept field.
Sweep load_sweep(const std::string& path, const std::vector<std::string>& set = {});
Sweep parse_sweep(const std::string& text, const std::string& file, const std::vector<std::string>& set = {});

// Returns the fields of a sweep as a JSON Schema for editors.
std::string sweep_json_schema();

}  // namespace kvcap
