// Converts the settings of a launch line to overrides of a scenario. Each setting is a flag that sets a
// field.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launch/launch_line.h"

namespace kvcap {

struct FlagSetting {
  const FlagRow* row = nullptr;  // describes how the flag is read
  std::string flag, value;       // as written on the line or in a file
  bool is_negated = false;       // --no-enable-prefix-caching
  std::size_t taken = 0;         // index in LaunchLine::flags
};

// True iff this connector of vLLM moves KV between servers that compute prompts and servers that decode.
bool moves_between_servers(std::string_view connector);

// Adds the overrides and notes of all settings to the line, and sets its model. Throws InputError if a value
// is not allowed.
void apply_settings(std::span<const FlagSetting> settings, LaunchLine& line);

}  // namespace kvcap
