// Keys of a YAML file with their values and lines, for files that a launch line names. Objects are dotted
// ("kv_cache_config.dtype"), as members of JSON flags are (flags.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct YamlEntry {
  std::string key;
  std::vector<std::string> values;  // several of a list
  bool is_boolean = false;          // values has "true" or "false"
  int line = 0;                     // of the key, from 1
};

// The file's entries in their order; keys without a value have none. Throws InputError, which begins with
// "file:line: ", for what is no YAML, no mapping, or larger than a configuration.
std::vector<YamlEntry> parse_yaml(std::string_view text, const std::string& file);

}  // namespace kvcap
