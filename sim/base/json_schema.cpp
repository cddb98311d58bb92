#include "base/json_schema.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

class SchemaFields : public FieldVisitor {
 public:
  SchemaFields() {
    const Json texts = {{"type", "array"}, {"items", {{"type", "string"}}}};
    properties_["notes"] = {{"anyOf", {{{"type", "string"}}, texts}}};
  }

  Json json() const {
    Json object = {{"type", "object"}, {"properties", properties_}, {"additionalProperties", false}};
    if (!required_.empty()) object["required"] = required_;
    if (!conditions_.empty()) object["allOf"] = conditions_;
    return object;
  }

  void schema(std::string_view value, bool required) override {
    properties_["schema"] = {{"const", value}};
    if (required) required_.push_back("schema");
  }
  void needs(std::string_view name, std::string_view value, std::string_view needed) override {
    const Json chosen = {{"properties", {{name, {{"const", value}}}}}, {"required", {name}}};
    const Json given = {{"minItems", 1}, {"minLength", 1}, {"not", {{"type", "null"}}}};
    const Json demanded = {{"properties", {{needed, given}}}, {"required", {needed}}};
    conditions_.push_back({{"if", chosen}, {"then", demanded}});
  }
  void integer(std::string_view name, int64_t& value, bool* present, const FieldSpec& spec) override {
    put_number(name, "integer", value, present, spec);
  }
  void number(std::string_view name, double& value, bool* present, const FieldSpec& spec) override {
    put_number(name, "number", json_number(value), present, spec);
  }
  void flag(std::string_view name, bool& value, bool* present, const FieldSpec& spec) override {
    put(name, {{"type", "boolean"}}, value, present, spec);
  }
  void text(std::string_view name, std::string& value, bool* present, const FieldSpec& spec) override {
    Json property = {{"type", "string"}};
    if (!spec.allowed.empty()) {
      property["enum"] = Json::array();
      for (std::string_view one : spec.allowed) property["enum"].push_back(one);
    }
    put(name, std::move(property), value, present, spec);
  }
  void object(std::string_view name, bool* present, const FieldSpec& spec,
              const Describe& describe) override {
    SchemaFields inner;
    describe(inner);
    Json property = inner.json();
    if (!spec.reference.empty()) {
      Json forms = {{{"type", "string"}}, std::move(property)};
      // Accepts any Hugging Face config.json; its fields are not described here.
      const Json either = {{{"required", {"model_type"}}}, {{"required", {"architectures"}}}};
      if (spec.reference == "model") forms.push_back({{"type", "object"}, {"anyOf", either}});
      property = {{"anyOf", std::move(forms)}};
    }
    if (!spec.shorthand.empty()) {
      const Json number = property["properties"][std::string(spec.shorthand)];
      property = {{"anyOf", {number, std::move(property)}}};
    }
    put(name, std::move(property), nullptr, present, spec);
  }
  void list(std::string_view name, std::size_t, bool* present, const FieldSpec& spec,
            const DescribeItem& describe_item) override {
    SchemaFields inner;
    describe_item(inner, 0);
    put(name, {{"type", "array"}, {"items", inner.json()}}, nullptr, present, spec);
  }

  void json_value(std::string_view name, Json&, bool* present, const FieldSpec& spec) override {
    put(name, Json::object(), nullptr, present, spec);
  }
  void members(std::string_view name, bool is_list, bool* present, const FieldSpec& spec,
               const DescribeMember& describe_member) override {
    SchemaFields inner;
    describe_member(inner, "0");
    const Json& item = inner.properties_["0"];
    Json property = is_list ? Json{{"type", "array"}, {"items", item}, {"minItems", spec.least}}
                            : Json{{"type", "object"}, {"additionalProperties", item}};
    put(name, std::move(property), nullptr, present, spec);
  }

 private:
  void put_number(std::string_view name, const char* type, Json value, bool* present, const FieldSpec& spec) {
    Json property = {{"type", type}};
    if (spec.integers.empty()) {
      property["minimum"] = json_number(spec.min);
      property[spec.below_max ? "exclusiveMaximum" : "maximum"] = json_number(spec.max);
    }
    for (int64_t one : spec.integers) property["enum"].push_back(one);
    put(name, std::move(property), std::move(value), present, spec);
  }
  void put(std::string_view name, Json property, Json value, const bool* present, const FieldSpec& spec) {
    std::string text(spec.meaning);
    if (!spec.unit.empty()) text += " [" + std::string(spec.unit) + "]";
    if (const std::string absent = default_text(spec); !absent.empty()) text += "; absent: " + absent;
    if (spec.required) required_.push_back(name);
    if (!spec.required && present == nullptr && !value.is_null() && value != "")
      property["default"] = std::move(value);
    if (present != nullptr) property = {{"anyOf", {{{"type", "null"}}, std::move(property)}}};
    if (!text.empty()) property["description"] = text;
    properties_[std::string(name)] = std::move(property);
  }

  Json properties_ = Json::object();
  Json required_ = Json::array();
  Json conditions_ = Json::array();
};

}  // namespace

Json json_number(double value) {
  if (value == std::floor(value) && std::abs(value) <= kMaxInteger) return static_cast<int64_t>(value);
  return value;
}

std::string json_schema(std::string_view title, const FieldVisitor::Describe& describe) {
  SchemaFields fields;
  describe(fields);
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}};
  schema.update(fields.json());
  return schema.dump(2) + "\n";
}

}  // namespace kvcap
