// Generates the JSON Schema of a table of fields, with which editors check files, and formats numbers for
// JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/field_visitor.h"

namespace kvcap {

// Returns the JSON Schema of the files that this table describes.
std::string json_schema(std::string_view title, const FieldVisitor::Describe& describe);

// Returns whole numbers as integers, so that 4e12 is written as 4000000000000.
nlohmann::ordered_json json_number(double value);

}  // namespace kvcap
