// Launch lines in tests: what they set, and how they are refused.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "launch/launch_line.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap::launch_lines {

using Texts = std::vector<std::string>;

inline Scenario scenario_of(const LaunchLine& read, const Texts& more = {}) {
  Texts overrides = {"serving={}", "policy={}", "hardware=h100-sxm-8x-s3"};
  overrides.insert(overrides.end(), read.overrides.begin(), read.overrides.end());
  Texts all = overrides;
  all.insert(all.end(), more.begin(), more.end());
  const Scenario first = parse_scenario(sample_scenario(), "chat.json", all);
  const Texts defaults = defaults_on(read, first.hardware);
  overrides.insert(overrides.end(), defaults.begin(), defaults.end());
  overrides.insert(overrides.end(), more.begin(), more.end());
  return parse_scenario(sample_scenario(), "chat.json", overrides);
}
inline Scenario scenario_of(const std::string& line, const Texts& more = {}) {
  return scenario_of(read_launch_line(line), more);
}

inline std::string error_of(const std::string& line, const Texts& ignored = {}) {
  try {
    read_launch_line(line, ignored);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// The value of a field that the line sets; empty where it leaves it alone.
inline std::string value_of(const LaunchLine& line, const std::string& path) {
  std::string value;
  for (const std::string& one : line.overrides) {
    if (one.starts_with(path + "=")) value = one.substr(path.size() + 1);
  }
  return value;
}
inline std::string value_of(const std::string& line, const std::string& path) {
  return value_of(read_launch_line(line), path);
}

inline bool has_note(const LaunchLine& line, const std::string& part) {
  return std::any_of(line.notes.begin(), line.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}
inline bool has_note(const std::string& line, const std::string& part) {
  const Texts notes = read_launch_line(line).notes;
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace kvcap::launch_lines
