// CsvRows: builds CSV rows with the columns input, setting, metric, value and half_width (half the width of
// the value's 95 % interval).
#pragma once

#include <string>

#include "base/float_values.h"
#include "base/text/json_values.h"

namespace kvcap {

// Numbers are written with all digits; a number that is not finite is an empty cell.
class CsvRows {
 public:
  // Adds a row; none if `value` is NaN.
  void add(const std::string& input, const std::string& setting, const std::string& metric, double value,
           double half_width = kNaN);
  // Adds every number in a JSON value, under the dotted path to it. In a list, the key is the position.
  void add_all(const std::string& input, const std::string& setting, const Json& value,
               const std::string& name);
  // Adds the numbers of every item of a list. `key`: the key whose value identifies an item.
  void add_list(const std::string& input, const Json& list, const char* key);
  std::string take() { return std::move(text_); }

 private:
  std::string text_ = "input,setting,metric,value,half_width\n";
};

}  // namespace kvcap
