// Reads JSON into structs as their tables of fields describe (base/field_visitor.h). An unknown or missing
// key, or a value of a wrong type or out of range, throws InputError with the place, what was found, what is
// allowed and the nearest name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/field_visitor.h"
#include "base/places.h"

namespace kvcap {

// Appends the notes of the file's objects to `notes`.
void read_fields(const nlohmann::ordered_json& json, const Places& places, std::vector<std::string>& notes,
                 const FieldVisitor::Describe& describe, const std::string& path = "");

// Reads a T from the JSON of a file, of a line of a file, or of the value at `path` in a file. Messages begin
// with `place`.
template <class T>
T read_fields(const nlohmann::ordered_json& json, const std::string& place, const std::string& path = "") {
  T value;
  Places places;
  places.add_file("", place, {}, false);
  std::vector<std::string> notes;
  read_fields(
      json, places, notes, [&value](FieldVisitor& visitor) { describe(visitor, value); }, path);
  return value;
}

// Throws InputError for rules that tables cannot express: "place: found ..., allowed: ...".
[[noreturn]] void refuse_field(const std::string& place, const nlohmann::ordered_json& found,
                               const std::string& allowed);

// Returns "; kvcap sweep takes such a file" if `schema` belongs to another command's file, else "".
std::string other_reader(const nlohmann::ordered_json& schema);
// Returns a value as messages show it: short and on one line. Objects and arrays are shown as "an object" and
// "an array".
std::string shown(const nlohmann::ordered_json& value);

}  // namespace kvcap
