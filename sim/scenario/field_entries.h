// FieldEntry: a row of the table of fields, in parts: for forms and, joined to a line, for help.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvcap {

enum class FieldKind : uint8_t { number, text, flag, object, list };

struct FieldEntry {
  std::string path;  // "workload.arrivals.sessions_per_s"; the first item of a list is "0"
  FieldKind kind = FieldKind::text;
  std::string values;              // "a number from 1e-06 to 1000000"
  std::string unit;                // "1/s"; empty: none
  std::string usual;               // "default 0.1", "required"; empty: no default
  std::string meaning;             // "offered rate"
  std::vector<std::string> words;  // all allowed values; empty: not a list of words
};

// Returns the fields of a scenario, those of an object after it.
const std::vector<FieldEntry>& field_entries();
// Returns the row of a path, with any index in the place of "0"; null: no such field.
const FieldEntry* field_entry(const std::string& path);

}  // namespace kvcap
