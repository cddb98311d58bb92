// ReportDocument: a JSON document written by kvcap, as an input of a report.
//
// Other programs may have changed the document, so read its values with the functions of
// base/text/json_values.h, which accept missing and mistyped values.
#pragma once

#include <string>

#include "base/text/json_values.h"

namespace kvcap {

// All texts are valid UTF-8.
struct ReportDocument {
  std::string name;  // short and unique
  std::string path;  // as given
  bool is_before = false;
  Json content;

  // Returns the schema: "kvcap.compare/1".
  std::string schema() const { return content.at("schema").get<std::string>(); }
};

}  // namespace kvcap
