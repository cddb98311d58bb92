// JSON Schemas of tables of fields, for editors; and numbers as JSON writes them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/field_visitor.h"

namespace kvcap {

// Returns the JSON Schema of files with this table.
std::string json_schema(std::string_view title, const FieldVisitor::Describe& describe);

// Writes 4e12 as 4000000000000.
nlohmann::ordered_json json_number(double value);

}  // namespace kvcap
