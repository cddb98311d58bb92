// Lists the table of fields as entries, and as text for --help.
#include <algorithm>

#include "base/places.h"
#include "base/text/joined.h"
#include "policy/keys.h"
#include "policy/table.h"
#include "scenario/field_entries.h"
#include "scenario/fields.h"
#include "scenario/json.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

class ListFields : public FieldVisitor {
 public:
  ListFields(std::string path, std::vector<FieldEntry>& entries)
      : path_(std::move(path)), entries_(entries) {}

  void schema(std::string_view value, bool required) override {
    add("schema", FieldKind::text, "\"" + std::string(value) + "\"", required ? "required" : "", {});
  }
  void needs(std::string_view, std::string_view, std::string_view) override {}
  void integer(std::string_view name, int64_t& value, bool* present, const FieldSpec& spec) override {
    add(name, FieldKind::number, allowed_integers(spec), usual(std::to_string(value), present, spec), spec);
  }
  void number(std::string_view name, double& value, bool* present, const FieldSpec& spec) override {
    add(name, FieldKind::number, allowed_numbers(spec), usual(number_text(value), present, spec), spec);
  }
  void flag(std::string_view name, bool& value, bool* present, const FieldSpec& spec) override {
    add(name, FieldKind::flag, "true or false", usual(value ? "true" : "false", present, spec), spec);
    entries_.back().words = {"true", "false"};
  }
  void text(std::string_view name, std::string& value, bool* present, const FieldSpec& spec) override {
    const std::string allowed = spec.allowed.empty() ? "a string" : joined(spec.allowed);
    add(name, FieldKind::text, allowed, value.empty() && !spec.required ? "" : usual(value, present, spec),
        spec);
    entries_.back().words.assign(spec.allowed.begin(), spec.allowed.end());
  }
  void object(std::string_view name, bool*, const FieldSpec& spec, const Describe& describe) override {
    std::string what = "an object";
    if (!spec.reference.empty()) what = "a " + std::string(spec.reference) + ": a name, a path or an object";
    if (!spec.shorthand.empty()) what += " or its " + std::string(spec.shorthand);
    add(name, FieldKind::object, what, spec.required ? "required" : absent(spec), spec);
    ListFields inner(below(path_, name), entries_);
    describe(inner);
  }
  void list(std::string_view name, std::size_t, bool*, const FieldSpec& spec,
            const DescribeItem& describe_item) override {
    add(name, FieldKind::list, "an array", absent(spec), spec);
    ListFields inner(below(below(path_, name), "0"), entries_);
    describe_item(inner, 0);
  }

  void values(std::string_view name, std::size_t, bool*, const FieldSpec& spec,
              const DescribeMember&) override {
    add(name, FieldKind::list, "an array, each " + allowed_numbers(spec), absent(spec), spec);
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
  void add(std::string_view name, FieldKind kind, const std::string& values, const std::string& usual_value,
           const FieldSpec& spec) {
    entries_.push_back({.path = below(path_, name),
                        .kind = kind,
                        .values = values,
                        .unit = std::string(spec.unit),
                        .usual = usual_value,
                        .meaning = std::string(spec.meaning),
                        .words = {}});
  }

  const std::string path_;
  std::vector<FieldEntry>& entries_;
};

// Returns one line of help: "a number from 1e-06 to 1000000 [1/s], default 0.1: offered rate".
std::string line_of(const FieldEntry& entry) {
  std::string text = entry.values;
  if (!entry.unit.empty()) text += " [" + entry.unit + "]";
  if (!entry.usual.empty()) text += ", " + entry.usual;
  if (!entry.meaning.empty()) text += ": " + entry.meaning;
  return text;
}

bool is_index(const std::string& part) {
  return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
}

// Returns the path with every index replaced by "0".
std::string with_first_items(const std::string& path) {
  std::string first;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    first += (begin > 0 ? "." : "") + (is_index(part) ? std::string("0") : part);
    begin = end + 1;
  }
  return first;
}

}  // namespace

const std::vector<FieldEntry>& field_entries() {
  static const std::vector<FieldEntry> all = [] {
    Scenario scenario;
    std::vector<FieldEntry> entries;
    ListFields fields("", entries);
    describe(fields, scenario);
    return entries;
  }();
  return all;
}

const FieldEntry* field_entry(const std::string& path) {
  const std::string first = with_first_items(path);
  const std::vector<FieldEntry>& all = field_entries();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const FieldEntry& entry) { return entry.path == first; });
  return found == all.end() ? nullptr : &*found;
}

const std::vector<FieldHelp>& scenario_fields() {
  static const std::vector<FieldHelp> all = [] {
    std::vector<FieldHelp> lines;
    for (const FieldEntry& entry : field_entries()) lines.push_back({entry.path, line_of(entry)});
    return lines;
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
