// Parses a YAML file that a launch line names into keys, values and lines. Nested keys are dotted
// ("kv_cache_config.dtype"), like members of JSON flags (flags.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct YamlEntry {
  std::string key;
  std::vector<std::string> values;  // several for a list
  bool is_boolean = false;          // `values` is "true" or "false"
  int line = 0;                     // line of the key, from 1
};

// Returns the entries in the order of the file; keys without a value are omitted. Throws InputError
// ("file:line: ...") if the text is not YAML, not a mapping, or too large for a configuration.
std::vector<YamlEntry> parse_yaml(std::string_view text, const std::string& file);

}  // namespace kvcap
