// Converts the settings of a launch line, one per flag that sets a field, to overrides of a scenario.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launch/launch_line.h"

namespace kvcap {

struct FlagSetting {
  const FlagRow* row = nullptr;  // describes how the flag is read
  std::string flag, value;       // as spelled on the line or in a file
  bool is_negated = false;       // --no-enable-prefix-caching
  std::size_t taken = 0;         // index in LaunchLine::flags
};

// True iff this connector of vLLM moves KV between servers that compute prompts and servers that decode.
bool moves_between_servers(std::string_view connector);

// Adds the overrides and notes of all settings to the line, and sets its model. Throws InputError.
void apply_settings(std::span<const FlagSetting> settings, LaunchLine& line);

}  // namespace kvcap
