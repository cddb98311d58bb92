#include "workload/generators/tables.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/embedded.h"

namespace kvcap {

namespace {

std::string_view embedded_text(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return file.text;
  }
  KVCAP_BUG("a generator's tables are not embedded");
}

}  // namespace

Table::Table(std::string_view path) : Table(nlohmann::json::parse(embedded_text(path), nullptr, false)) {}

Table::Table(const nlohmann::json& object) : object_(std::make_shared<nlohmann::json>(object)) {
  KVCAP_CHECK(object.is_object());
}

const nlohmann::json& Table::at(std::string_view key) const {
  const auto found = object_->find(key);
  KVCAP_CHECK(found != object_->end());
  return *found;
}

void Table::get(std::string_view key, std::string& value) const {
  KVCAP_CHECK(at(key).is_string());
  value = at(key).get<std::string>();
}

void Table::get(std::string_view key, std::vector<double>& value) const {
  value.clear();
  for (const nlohmann::json& one : at(key)) {
    KVCAP_CHECK(one.is_number());
    value.push_back(one.get<double>());
  }
}

double Table::number(std::string_view key) const {
  const nlohmann::json& value = at(key);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  KVCAP_CHECK(value.is_number());
  return value.get<double>();
}

Table Table::table(std::string_view key) const { return Table(at(key)); }

std::vector<Table> Table::tables(std::string_view key) const {
  std::vector<Table> tables;
  for (const nlohmann::json& one : at(key)) tables.push_back(Table(one));
  return tables;
}

double interpolated(const std::vector<double>& probabilities, const std::vector<double>& values, double p) {
  const auto above = std::upper_bound(probabilities.begin(), probabilities.end() - 1, p);
  const auto i = static_cast<std::size_t>(above - probabilities.begin());
  const double part = (p - probabilities[i - 1]) / (probabilities[i] - probabilities[i - 1]);
  return values[i - 1] + part * (values[i] - values[i - 1]);
}

int64_t table_quantile(const std::vector<double>& probabilities, const std::vector<double>& values,
                       double p) {
  return std::max<int64_t>(1, std::llround(interpolated(probabilities, values, p)));
}

}  // namespace kvcap
