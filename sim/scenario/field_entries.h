// FieldEntry: the description of one field of a scenario, in parts. Forms show the parts separately; help
// texts join them into one line.
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

// Returns all fields of a scenario; the fields of an object follow the object.
const std::vector<FieldEntry>& field_entries();
// Returns the entry of the field at `path`, which may have any index where the entry has "0"; null if there
// is no such field.
const FieldEntry* field_entry(const std::string& path);

}  // namespace kvcap
