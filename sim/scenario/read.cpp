// Parses JSON text, and reads JSON into option structs by means of the table of fields.
#include "base/read_fields.h"
#include "base/text/json_document.h"
#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

template <class T>
T read_file_of(const Document& document) {
  T value;
  std::vector<std::string> notes;
  read_fields(document.json, document.places, notes,
              [&value](FieldVisitor& visitor) { describe(visitor, value); });
  return value;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& file) { return read_json<Json>(text, file); }

Scenario read_scenario(const Document& document) {
  Scenario scenario;
  std::vector<std::string> notes;
  read_fields(document.json, document.places, notes,
              [&scenario](FieldVisitor& visitor) { describe(visitor, scenario); });
  scenario.notes = std::move(notes);
  return scenario;
}

ModelSpec read_model(const Document& document) { return read_file_of<ModelSpec>(document); }

HardwareProfile read_hardware(const Document& document) { return read_file_of<HardwareProfile>(document); }

}  // namespace kvcap
