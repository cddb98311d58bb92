// Writes scenarios and profiles as JSON, and the table of fields as JSON Schemas.
#include "base/json_schema.h"
#include "scenario/fields.h"
#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

class WriteFields : public FieldVisitor {
 public:
  Json json = Json::object();

  void schema(std::string_view value, bool) override { json["schema"] = value; }
  void needs(std::string_view, std::string_view, std::string_view) override {}
  void integer(std::string_view name, int64_t& value, bool* present, const FieldSpec&) override {
    put(name, present, value);
  }
  void number(std::string_view name, double& value, bool* present, const FieldSpec&) override {
    put(name, present, json_number(value));
  }
  void flag(std::string_view name, bool& value, bool* present, const FieldSpec&) override {
    put(name, present, value);
  }
  void text(std::string_view name, std::string& value, bool* present, const FieldSpec&) override {
    put(name, present, value);
  }
  void object(std::string_view name, bool* present, const FieldSpec&, const Describe& describe) override {
    if (present && !*present) return put(name, present, nullptr);
    WriteFields inner;
    describe(inner);
    put(name, present, std::move(inner.json));
  }
  void list(std::string_view name, std::size_t size, bool* present, const FieldSpec&,
            const DescribeItem& describe_item) override {
    Json items = Json::array();
    for (std::size_t i = 0; i < size; ++i) {
      WriteFields inner;
      describe_item(inner, i);
      items.push_back(std::move(inner.json));
    }
    put(name, present, std::move(items));
  }

  void values(std::string_view name, std::size_t size, bool* present, const FieldSpec&,
              const DescribeMember& describe_value) override {
    WriteFields inner;
    for (std::size_t i = 0; i < size; ++i) describe_value(inner, std::to_string(i));
    Json items = Json::array();
    for (Json& item : inner.json) items.push_back(std::move(item));
    put(name, present, std::move(items));
  }

 private:
  void put(std::string_view name, const bool* present, Json value) {
    json[std::string(name)] = present && !*present ? Json(nullptr) : std::move(value);
  }
};

}  // namespace

Json write_scenario(const Scenario& scenario) {
  Scenario copy = scenario;
  WriteFields writer;
  describe(writer, copy);
  writer.json["notes"] = scenario.notes;
  return writer.json;
}

Json write_hardware(const HardwareProfile& hardware) {
  HardwareProfile copy = hardware;
  WriteFields writer;
  describe(writer, copy);
  return writer.json;
}

std::string scenario_json_schema() {
  Scenario scenario;
  return json_schema(kScenarioSchema, [&](FieldVisitor& v) { describe(v, scenario); });
}

std::string hardware_json_schema() {
  HardwareProfile hardware;
  return json_schema(kHardwareSchema, [&](FieldVisitor& v) { describe(v, hardware); });
}

std::string model_json_schema() {
  ModelSpec model;
  return json_schema(kModelSchema, [&](FieldVisitor& v) { describe(v, model); });
}

}  // namespace kvcap
