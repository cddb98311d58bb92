// Sweep: many scenarios in one file: a base, and axes along which fields of it are set. A point takes one
// row of every axis; the last axis changes fastest. Nothing runs here. Format: scenarios/README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenario/load.h"

namespace kvcap {

// What each simulation of a sweep may take; 0: anything.
struct SweepLimits {
  double timeout_s = 0;
  int64_t memory_bytes = 0;
};

// Rows of settings that are made together: the values of one field of `grid` are an axis, and so is all of
// `zip`, of `points` and of `sample`.
struct SweepAxis {
  std::vector<std::vector<Override>> rows;
};

class Sweep {
 public:
  Sweep(std::string file, std::string base_text, std::string base_file, std::vector<SweepAxis> axes,
        SweepLimits limits, std::vector<Override> set = {});

  // Points, identical ones counted each time.
  std::size_t size() const { return size_; }
  const std::string& file() const { return file_; }
  const SweepLimits& limits() const { return limits_; }
  // Fields that are set, in order of the file.
  const std::vector<std::string>& paths() const { return paths_; }
  // The values (JSON) of paths() at a point, "" where this point leaves a path as the base has it.
  std::vector<std::string> values(std::size_t point) const;
  // The point as a scenario. Throws InputError that names the sweep's file and the setting.
  Scenario scenario(std::size_t point) const;

 private:
  std::vector<const Override*> settings(std::size_t point) const;

  std::string file_, base_text_, base_file_;
  std::vector<SweepAxis> axes_;
  SweepLimits limits_;
  std::vector<Override> set_;  // of every point, and no column of the results
  std::vector<std::string> paths_;
  std::size_t size_ = 1;
};

// Reads a file of "schema": "kvcap.sweep/1". Throws InputError; the scenarios have not been looked at yet.
// `set`: "path=value", of every point; no field that the sweep sets.
Sweep load_sweep(const std::string& path, const std::vector<std::string>& set = {});
Sweep parse_sweep(const std::string& text, const std::string& file, const std::vector<std::string>& set = {});

}  // namespace kvcap
