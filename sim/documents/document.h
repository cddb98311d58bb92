// ReportDocument: one JSON document that kvcap wrote, as input of a report.
//
// Other programs may have changed it, so its values are read by base/text/json_values.h.
#pragma once

#include <string>

#include "base/text/json_values.h"

namespace kvcap {

// All texts are valid UTF-8.
struct ReportDocument {
  std::string name;  // short and unique
  std::string path;  // path as given
  bool is_before = false;
  Json content;

  // "kvcap.compare/1"
  std::string schema() const { return content.at("schema").get<std::string>(); }
};

}  // namespace kvcap
