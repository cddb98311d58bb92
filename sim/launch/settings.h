// The settings of a launch line, one for each of its flags that sets a field, and the overrides of a scenario
// that they come to together.
#pragma once

#include <span>
#include <string>

#include "launch/launch_line.h"

namespace kvcap {

struct FlagSetting {
  const FlagRow* row = nullptr;  // how the flag is read
  std::string flag, value;       // as the line or a file spells them
  bool is_negated = false;       // --no-enable-prefix-caching
  std::size_t taken = 0;         // which of LaunchLine::flags
};

// Adds the overrides and notes of all settings to the line, and names its model. Throws InputError.
void apply_settings(std::span<const FlagSetting> settings, LaunchLine& line);

}  // namespace kvcap
