#include "base/read_fields.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/units.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

// Collects the names of a table's fields.
class KeyNames : public FieldVisitor {
 public:
  std::vector<std::string_view> names;
  std::string_view own_schema;

  void schema(std::string_view value, bool) override {
    names.push_back("schema");
    own_schema = value;
  }
  void needs(std::string_view, std::string_view, std::string_view) override {}
  void integer(std::string_view n, int64_t&, bool*, const FieldSpec&) override { names.push_back(n); }
  void number(std::string_view n, double&, bool*, const FieldSpec&) override { names.push_back(n); }
  void flag(std::string_view n, bool&, bool*, const FieldSpec&) override { names.push_back(n); }
  void text(std::string_view n, std::string&, bool*, const FieldSpec&) override { names.push_back(n); }
  void object(std::string_view n, bool*, const FieldSpec&, const Describe&) override { names.push_back(n); }
  void list(std::string_view n, std::size_t, bool*, const FieldSpec&, const DescribeItem&) override {
    names.push_back(n);
  }
  void json_value(std::string_view n, Json&, bool*, const FieldSpec&) override { names.push_back(n); }
  void members(std::string_view n, bool, bool*, const FieldSpec&, const DescribeMember&) override {
    names.push_back(n);
  }
};

class ReadFields : public FieldVisitor {
 public:
  // Reads `json` with `describe`, which is called twice: to collect the keys, then to read the values.
  static void read(const Json& json, const std::string& path, const Places& places,
                   std::vector<std::string>& notes, const Describe& describe) {
    ReadFields reader(json, path, places, notes);
    if (!json.is_object()) reader.fail(path, json, "an object");
    reader.take_notes();
    KeyNames known;
    describe(known);
    reader.check_schema(known.own_schema);
    reader.refuse_unknown_keys(known.names);
    describe(reader);
  }

  void schema(std::string_view value, bool required) override {
    if (!required || json_.contains("schema")) return;
    throw InputError(at("schema") + ": missing, required: \"" + std::string(value) + "\"");
  }

  void needs(std::string_view name, std::string_view value, std::string_view needed) override {
    const auto chosen = json_.find(name);
    if (chosen == json_.end() || *chosen != value) return;
    const auto found = json_.find(needed);
    const bool empty_text =
        found != json_.end() && found->is_string() && found->get_ref<const std::string&>().empty();
    if (found != json_.end() && !found->empty() && !empty_text) return;
    throw InputError(at(needed) + ": missing, required where " + std::string(name) + " is \"" +
                     std::string(value) + "\"");
  }

  void integer(std::string_view name, int64_t& value, bool* present, const FieldSpec& spec) override {
    const Json* found = find(name, spec, present);
    if (!found) return;
    const double number = number_of(*found, name);
    const bool whole = std::isfinite(number) && number == std::floor(number);  // 4e12 is an integer
    const bool listed = spec.integers.empty() ||
                        std::find(spec.integers.begin(), spec.integers.end(), number) != spec.integers.end();
    if (!whole || !listed || !in_range(number, spec)) {
      fail(below(path_, name), *found, allowed_integers(spec));
    }
    value = static_cast<int64_t>(number);
  }

  void number(std::string_view name, double& value, bool* present, const FieldSpec& spec) override {
    const Json* found = find(name, spec, present);
    if (!found) return;
    const double number = number_of(*found, name);
    if (!std::isfinite(number) || !in_range(number, spec)) {
      fail(below(path_, name), *found, allowed_numbers(spec));
    }
    value = number;
  }

  void flag(std::string_view name, bool& value, bool* present, const FieldSpec& spec) override {
    const Json* found = find(name, spec, present);
    if (!found) return;
    if (!found->is_boolean()) fail(below(path_, name), *found, "true or false");
    value = found->get<bool>();
  }

  void text(std::string_view name, std::string& value, bool* present, const FieldSpec& spec) override {
    const Json* found = find(name, spec, present);
    if (!found) return;
    const std::string allowed = spec.allowed.empty() ? "a string" : joined(spec.allowed);
    // --set name=2024 sets a text that looks like a number.
    const std::string* text = places_.text(below(path_, name));
    if (text && found->is_number() && spec.allowed.empty()) {
      value = *text;
      return;
    }
    if (!found->is_string()) fail(below(path_, name), *found, allowed);
    const auto& chosen = found->get_ref<const std::string&>();
    const bool listed = std::find(spec.allowed.begin(), spec.allowed.end(), chosen) != spec.allowed.end();
    if (!spec.allowed.empty() && !listed) {
      fail(below(path_, name), *found, allowed + suggestion(chosen, spec.allowed));
    }
    value = chosen;
  }

  void object(std::string_view name, bool* present, const FieldSpec& spec,
              const Describe& describe) override {
    const Json* found = find(name, spec, present);
    if (!found) return;
    if (!found->is_object() && !spec.reference.empty()) {
      fail(below(path_, name), *found, "a name, a path or an object");
    }
    const bool is_short = !spec.shorthand.empty() && found->is_number();
    if (!spec.shorthand.empty() && !is_short && !found->is_object()) {
      fail(below(path_, name), *found, "an object or its " + std::string(spec.shorthand));
    }
    const Json whole = is_short ? Json{{spec.shorthand, *found}} : Json();
    read(is_short ? whole : *found, below(path_, name), places_, notes_, describe);
  }

  void list(std::string_view name, std::size_t, bool* present, const FieldSpec& spec,
            const DescribeItem& describe_item) override {
    const Json* found = find(name, spec, present);
    if (!found) return;
    check_shape(name, *found, found->is_array(), spec, "an array");
    for (std::size_t i = 0; i < found->size(); ++i) {
      read((*found)[i], below(below(path_, name), std::to_string(i)), places_, notes_,
           [&](FieldVisitor& visitor) { describe_item(visitor, i); });
    }
  }

  void json_value(std::string_view name, Json& value, bool* present, const FieldSpec& spec) override {
    if (const Json* found = find(name, spec, present)) value = *found;
  }

  void members(std::string_view name, bool is_list, bool* present, const FieldSpec& spec,
               const DescribeMember& describe_member) override {
    const Json* found = find(name, spec, present);
    if (!found) return;
    const bool is_right = is_list ? found->is_array() : found->is_object();
    check_shape(name, *found, is_right, spec, is_list ? "an array" : "an object");
    ReadFields reader(*found, below(path_, name), places_, notes_);
    if (!is_list) reader.take_notes();
    for (const auto& [key, value] : found->items()) {
      if (is_list || key != "notes") describe_member(reader, key);
    }
  }

 private:
  ReadFields(const Json& json, const std::string& path, const Places& places, std::vector<std::string>& notes)
      : json_(json), path_(path), places_(places), notes_(notes) {}

  static bool in_range(double number, const FieldSpec& spec) {
    return number >= spec.min && (spec.below_max ? number < spec.max : number <= spec.max);
  }

  // Returns the number, or NaN. Units are allowed only in --set; files contain plain numbers, as their schema
  // demands.
  double number_of(const Json& found, std::string_view name) const {
    if (found.is_number()) return found.get<double>();
    if (!found.is_string() || !places_.is_override(below(path_, name))) return NAN;
    return number_with_unit(found.get_ref<const std::string&>(), unit_of(name)).value_or(NAN);
  }

  std::string at(std::string_view name) const { return places_.at(below(path_, name)); }

  [[noreturn]] void fail(std::string_view path, const Json& found, const std::string& allowed) const {
    refuse_field(places_.at(path), found, allowed);
  }
  void check_shape(std::string_view name, const Json& found, bool is_right, const FieldSpec& spec,
                   const char* usual) const {
    const std::size_t notes = found.is_object() && found.contains("notes") ? 1 : 0;
    if (is_right && found.size() - notes >= spec.least) return;
    fail(below(path_, name), found, std::string(spec.shape.empty() ? usual : spec.shape));
  }

  // Returns the value under `name`, or null if the field keeps its default or has no value.
  const Json* find(std::string_view name, const FieldSpec& spec, bool* present) const {
    if (json_.is_array()) return &json_[std::stoul(std::string(name))];
    const auto found = json_.find(name);
    if (found == json_.end()) {
      if (spec.required) throw InputError(at(name) + ": missing, required");
      return nullptr;
    }
    if (present) *present = !found->is_null();
    return present && found->is_null() ? nullptr : &*found;
  }

  // Runs first, because all keys of another kind of file would be unknown.
  void check_schema(std::string_view own) const {
    const auto found = json_.find("schema");
    if (own.empty() || found == json_.end() || *found == own) return;
    throw InputError(at("schema") + ": found " + shown(*found) + ", this version supports \"" +
                     std::string(own) + "\"" + other_reader(*found));
  }

  void refuse_unknown_keys(std::vector<std::string_view> known) const {
    known.push_back("notes");
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string near = suggestion(key, known);
      throw InputError(at(key) + ": unknown key" + (near.empty() ? ", allowed: " + joined(known) : near));
    }
  }

  // Checks the notes of an object. Only the scenario's own notes are kept, not those of the files that it
  // refers to.
  void take_notes() {
    const auto found = json_.find("notes");
    if (found == json_.end()) return;
    const auto is_text = [](const Json& one) { return one.is_string(); };
    const bool valid =
        found->is_string() || (found->is_array() && std::all_of(found->begin(), found->end(), is_text));
    if (!valid) fail(below(path_, "notes"), *found, "a string or an array of strings");
    if (places_.is_reference(path_)) return;
    if (found->is_string()) {
      notes_.push_back(found->get<std::string>());
    } else {
      for (const Json& one : *found) notes_.push_back(one.get<std::string>());
    }
  }

  const Json& json_;
  const std::string path_;
  const Places& places_;
  std::vector<std::string>& notes_;
};

}  // namespace

void read_fields(const Json& json, const Places& places, std::vector<std::string>& notes,
                 const FieldVisitor::Describe& describe, const std::string& path) {
  ReadFields::read(json, path, places, notes, describe);
}

void refuse_field(const std::string& place, const Json& found, const std::string& allowed) {
  throw InputError(place + ": found " + shown(found) + ", allowed: " + allowed);
}

std::string other_reader(const Json& schema) {
  for (const char* kind : {"sweep", "plan"}) {
    if (schema == std::string("kvcap.") + kind + "/1") {
      return std::string("; kvcap ") + kind + " takes such a file";
    }
  }
  return schema == "kvcap.scenario/1" ? "; kvcap run takes such a file" : "";
}

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_number_float()) return number_text(value.get<double>());
  return beginning(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace kvcap
