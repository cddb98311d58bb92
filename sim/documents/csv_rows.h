// Rows of CSV: input, setting, metric, value and half the width of its 95 % interval.
#pragma once

#include <string>

#include "base/float_values.h"
#include "documents/document.h"

namespace kvcap {

// All digits; "" for what is no number.
class CsvRows {
 public:
  // Nothing for a value that is NaN.
  void add(const std::string& input, const std::string& setting, const std::string& metric, double value,
           double half_width = kNaN);
  // Every number of an object, with dotted names; those of a list by their place.
  void add_all(const std::string& input, const std::string& setting, const Json& value,
               const std::string& name);
  // The numbers of every item of a list, which `key` tells apart.
  void add_list(const ReportDocument& document, const char* list, const char* key);
  std::string take() { return std::move(text_); }

 private:
  std::string text_ = "input,setting,metric,value,half_width\n";
};

}  // namespace kvcap
