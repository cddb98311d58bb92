// Table: quantiles and statistics of a generator, read from a JSON file embedded in the binary.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kvcap {

// An object of an embedded JSON file. A missing file or entry, or an entry of another type, is a bug and
// aborts the program.
class Table {
 public:
  // `path`: path in the source tree, e.g. "traces/chat.json".
  explicit Table(std::string_view path);

  template <class Number>
  requires std::is_arithmetic_v<Number>
  void get(std::string_view key, Number& value) const { value = static_cast<Number>(number(key)); }
  void get(std::string_view key, std::string& value) const;
  void get(std::string_view key, std::vector<double>& value) const;
  double number(std::string_view key) const;  // a boolean is 0 or 1
  Table table(std::string_view key) const;
  std::vector<Table> tables(std::string_view key) const;

 private:
  explicit Table(const nlohmann::json& object);
  const nlohmann::json& at(std::string_view key) const;

  std::shared_ptr<const nlohmann::json> object_;
};

// Returns the value at probability p, linear between the table's points. REQUIRES: probabilities ascend from
// 0 to 1, one per value.
double interpolated(const std::vector<double>& probabilities, const std::vector<double>& values, double p);

// Returns the interpolated value in tokens, at least one. REQUIRES: probabilities ascend from 0 to 1, one per
// value.
int64_t table_quantile(const std::vector<double>& probabilities, const std::vector<double>& values, double p);

}  // namespace kvcap
