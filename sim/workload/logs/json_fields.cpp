#include "workload/logs/json_fields.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "workload/logs/rows.h"

namespace kvcap {

using Json = nlohmann::json;

const Json* find_dotted_or_null(const Json& object, std::string_view path) {
  if (!object.is_object()) return nullptr;
  const auto here = object.find(path);
  if (here != object.end()) return &*here;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    const auto inside = object.find(path.substr(0, dot));
    if (inside == object.end()) continue;
    if (const Json* found = find_dotted_or_null(*inside, path.substr(dot + 1))) return found;
  }
  return nullptr;
}

const Json* find_dotted(const Json& object, std::string_view path) {
  const Json* found = find_dotted_or_null(object, path);
  return found && !found->is_null() ? found : nullptr;
}

uint32_t tokens_at(const Json& object, std::string_view path, int64_t least) {
  const Json* value = find_dotted(object, path);
  if (!value) throw BadRowError{std::string(path) + ": missing, required"};
  return token_count(*value, std::string(path), least);
}

std::optional<int64_t> time_ns_at(const Json& object, std::string_view path, TimeUnit unit) {
  const Json* value = find_dotted(object, path);
  if (!value) return std::nullopt;
  const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
  const std::optional<int64_t> time_ns = parse_time_ns(text, unit);
  if (!time_ns) bad_value(std::string(path), *value, "a time of at least 0");
  return time_ns;
}

double duration_s_at(const Json& object, std::string_view path, TimeUnit unit) {
  const std::optional<int64_t> time_ns = time_ns_at(object, path, unit);
  return time_ns ? static_cast<double>(*time_ns) / 1e9 : NAN;
}

std::string name_at(const Json& object, std::string_view path) {
  const Json* value = find_dotted(object, path);
  if (!value) return "";
  if (value->is_string()) return value->get<std::string>();
  if (!value->is_number_integer()) bad_value(std::string(path), *value, "a string or an integer");
  return value->dump();
}

}  // namespace kvcap
