// Copies the host times of the engine that was measured on the machine from the profile to the scenario, with
// a note. Values that the scenario sets are kept.
#include <array>

#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

constexpr std::array kHostTimes = {"step_overhead_s", "step_overhead_per_sequence_s", "request_overhead_s"};

// Returns the member `key`; null if it is missing or `object` is not an object.
Json member(const Json& object, const char* key) {
  return object.is_object() ? object.value(key, Json()) : Json();
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : ""; }

}  // namespace

void take_engine(Document& document) {
  const Json engine = member(member(document.json, "hardware"), "engine");
  if (!engine.is_object()) return;
  Json& serving = document.json["serving"];
  if (serving.is_null()) serving = Json::object();
  if (!serving.is_object()) return;  // rejected later, when fields are read
  std::string taken;
  for (const char* key : kHostTimes) {
    const Json time = member(engine, key);
    if (!time.is_number() || serving.contains(key)) continue;
    serving[key] = time;
    taken += (taken.empty() ? "serving." : ", serving.") + std::string(key) + " " +
             number_text(1e3 * time.get<double>()) + " ms";
  }
  if (taken.empty()) return;
  const std::string name = text_of(member(engine, "name")), version = text_of(member(engine, "version"));
  document.notes.push_back(
      taken + ": from the hardware profile, measured with " +
      (name.empty() ? "an unnamed engine" : name + (version.empty() ? "" : " " + version)));
}

}  // namespace kvcap
