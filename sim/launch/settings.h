// The settings of a launch line, one for each of its flags that sets a field, and the overrides of a scenario
// that they come to together.
#pragma once

#include <span>
#include <string>

#include "launch/launch_line.h"

namespace kvcap {

struct Setting {
  const FlagRow* row = nullptr;  // how the flag is read
  std::string flag, value;       // as the line spells them
  bool is_negated = false;       // --no-enable-prefix-caching
};

// Adds the overrides and notes of all settings to the line, and names its model. Throws InputError.
void apply_settings(std::span<const Setting> settings, LaunchLine& line);

}  // namespace kvcap
