// The table of fields as text for --help.
#include "base/places.h"
#include "base/text/joined.h"
#include "policy/keys.h"
#include "policy/table.h"
#include "scenario/fields.h"
#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

class HelpFields : public FieldVisitor {
 public:
  HelpFields(std::string path, std::vector<FieldHelp>& fields) : path_(std::move(path)), fields_(fields) {}

  void schema(std::string_view value, bool required) override {
    line("schema", "\"" + std::string(value) + "\"", required ? "required" : "", {});
  }
  void needs(std::string_view, std::string_view, std::string_view) override {}
  void integer(std::string_view name, int64_t& value, bool* present, const FieldSpec& spec) override {
    line(name, allowed_integers(spec), usual(std::to_string(value), present, spec), spec);
  }
  void number(std::string_view name, double& value, bool* present, const FieldSpec& spec) override {
    line(name, allowed_numbers(spec), usual(number_text(value), present, spec), spec);
  }
  void flag(std::string_view name, bool& value, bool* present, const FieldSpec& spec) override {
    line(name, "true or false", usual(value ? "true" : "false", present, spec), spec);
  }
  void text(std::string_view name, std::string& value, bool* present, const FieldSpec& spec) override {
    const std::string allowed = spec.allowed.empty() ? "a string" : joined(spec.allowed);
    line(name, allowed, value.empty() && !spec.required ? "" : usual(value, present, spec), spec);
  }
  void object(std::string_view name, bool*, const FieldSpec& spec, const Describe& describe) override {
    std::string what = "an object";
    if (!spec.reference.empty()) what = "a " + std::string(spec.reference) + ": a name, a path or an object";
    if (!spec.shorthand.empty()) what += " or its " + std::string(spec.shorthand);
    line(name, what, spec.required ? "required" : absent(spec), spec);
    HelpFields inner(below(path_, name), fields_);
    describe(inner);
  }
  void list(std::string_view name, std::size_t, bool*, const FieldSpec& spec,
            const DescribeItem& describe_item) override {
    line(name, "an array", absent(spec), spec);
    HelpFields inner(below(below(path_, name), "0"), fields_);
    describe_item(inner, 0);
  }

  void values(std::string_view name, std::size_t, bool*, const FieldSpec& spec,
              const DescribeMember&) override {
    line(name, "an array, each " + allowed_numbers(spec), absent(spec), spec);
  }

 private:
  static std::string absent(const FieldSpec& spec) {
    const std::string text = default_text(spec);
    return text.empty() ? "" : "default: " + text;
  }
  static std::string usual(const std::string& value, const bool* present, const FieldSpec& spec) {
    if (spec.required) return "required";
    return present ? absent(spec) : "default " + value;
  }
  void line(std::string_view name, const std::string& allowed, const std::string& usual_value,
            const FieldSpec& spec) {
    std::string text = allowed;
    if (!spec.unit.empty()) text += " [" + std::string(spec.unit) + "]";
    if (!usual_value.empty()) text += ", " + usual_value;
    if (!spec.meaning.empty()) text += ": " + std::string(spec.meaning);
    fields_.push_back({below(path_, name), std::move(text)});
  }

  const std::string path_;
  std::vector<FieldHelp>& fields_;
};

}  // namespace

const std::vector<FieldHelp>& scenario_fields() {
  static const std::vector<FieldHelp> all = [] {
    Scenario scenario;
    std::vector<FieldHelp> rows;
    HelpFields fields("", rows);
    describe(fields, scenario);
    return rows;
  }();
  return all;
}

std::vector<std::string> policy_options_help(std::string_view policy) {
  Scenario scenario;
  scenario.policy = with_preset({.name = std::string(policy)});
  const Json preset = write_scenario(scenario)["policy"];
  const std::vector<std::string_view> heard = heard_keys(scenario.policy);
  std::vector<std::string> lines;
  for (const FieldHelp& field : scenario_fields()) {
    for (std::string_view key : heard) {
      if (field.path != below("policy", key)) continue;
      const Json& value = preset[std::string(key)];
      const std::string here =
          value.is_null() ? "" : "; here " + (value.is_string() ? value.get<std::string>() : value.dump());
      lines.push_back(std::string(key) + ": " + field.text + here);
    }
  }
  return lines;
}

}  // namespace kvcap
