// Rewrites a profile's file with changed values. Only this file and kvcap-calibrate write hwprofiles/*.json.
#include <cmath>

#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

// Writes 989e12 as 989000000000000 and drops members that are null.
Json tidy(const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (number == std::floor(number) && std::abs(number) <= kMaxInteger) return static_cast<int64_t>(number);
  }
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(tidy(item));
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [key, member] : value.items()) {
    if (!member.is_null()) object[key] = tidy(member);
  }
  return object;
}

void patch(Json& file, const Json& before, const Json& after) {
  for (const auto& [key, value] : after.items()) {
    const auto old = before.find(key);
    if (old != before.end() && *old == value) continue;
    if (value.is_object() && old != before.end() && old->is_object() && file.contains(key)) {
      patch(file[key], *old, value);
    } else {
      file[key] = value;
    }
  }
}

}  // namespace

std::string hardware_file_with(const std::string& name_or_path, const HardwareProfile& changed,
                               const std::vector<std::string>& notes) {
  Json file = resolve_hardware(name_or_path).json;
  patch(file, write_hardware(load_hardware(name_or_path)), write_hardware(changed));
  Json all = notes;
  const Json old = file.value("notes", Json::array());
  for (const Json& note : old.is_array() ? old : Json::array({old})) all.push_back(note);
  file["notes"] = std::move(all);
  return tidy(file).dump(2) + "\n";
}

}  // namespace kvcap
