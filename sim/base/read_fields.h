// Reads JSON into structs along their tables of fields (base/field_visitor.h). Unknown keys, values of a
// wrong type or out of range and missing ones are told here alone: an InputError with the place, what was
// found, what is allowed and the nearest name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/field_visitor.h"
#include "base/places.h"

namespace kvcap {

// `notes` gets those of the file's objects.
void read_fields(const nlohmann::ordered_json& json, const Places& places, std::vector<std::string>& notes,
                 const FieldVisitor::Describe& describe, const std::string& path = "");

// A file, a line of one, or what stands in it at `path`: `place` begins the messages.
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

// For what no row says: "place: found ..., allowed: ...".
[[noreturn]] void refuse_field(const std::string& place, const nlohmann::ordered_json& found,
                               const std::string& allowed);

// Where a file is of another kind than its reader's: "; kvcap sweep takes such a file", else "".
std::string other_reader(const nlohmann::ordered_json& schema);
// A value as messages show it: short, on one line, objects and arrays by their kind.
std::string shown(const nlohmann::ordered_json& value);

}  // namespace kvcap
