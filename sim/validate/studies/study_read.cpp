// Reads studies from JSON.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/embedded.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/read_fields.h"
#include "base/text/joined.h"
#include "scenario/data_files.h"
#include "scenario/json.h"
#include "validate/studies/figures.h"
#include "validate/studies/study.h"
#include "validate/studies/study_rows.h"

namespace kvcap {
namespace {

constexpr std::string_view kStudySchema = "kvcap.study/1";
constexpr std::string_view kStudyFolder = "scenarios/studies/";
constexpr std::string_view kStudyKeys[] = {
    "schema",   "notes",  "suite",  "source", "promised", "scenario", "set",  "inside",  "tolerance", "fits",
    "settings", "tables", "checks", "each",   "summary",  "group",    "slow", "kernels", "seeds"};
constexpr std::string_view kCheckKeys[] = {
    "id",    "what",      "unit",      "source",  "scenario", "set",    "each",      "rows",   "by",
    "value", "summary",   "reference", "at_most", "holds",    "inside", "tolerance", "points", "promised",
    "role",  "fitted_to", "reason",    "judged",  "family",   "group",  "seeds",     "curve"};
constexpr std::string_view kContextKeys[] = {"count", "tokens", "new_tokens", "output_tokens"};
constexpr std::string_view kRangeKeys[] = {"from", "to"};
constexpr std::string_view kCurveKeys[] = {"figure", "series", "x", "x_axis", "y_axis"};
constexpr std::string_view kCurveXKeys[] = {"value"};
constexpr std::string_view kRowsKeys[] = {"csv", "where", "if", "set"};
constexpr std::string_view kTurnsKeys[] = {"from_s",     "to_s",          "from_session",
                                           "to_session", "answered_by_s", "node"};
// In the order of Summary.
constexpr std::string_view kSummaries[] = {"none",     "mean",         "interval",
                                           "farthest", "median_error", "worst_error"};

// A part of the file, with its place for messages.
class Part {
 public:
  Part(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  const Json& json() const { return json_; }
  std::string place() const { return place_; }
  [[noreturn]] void fail(const std::string& allowed) const {
    throw InputError(place_ + ": found " + shown(json_) + ", allowed: " + allowed);
  }
  void know(std::span<const std::string_view> keys) const {
    if (!json_.is_object()) fail("an object");
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      throw InputError(place_ + ": found the field \"" + key + "\", allowed: " + joined(keys) +
                       suggestion(key, keys));
    }
  }
  bool has(std::string_view key) const { return json_.contains(key); }
  Part at(std::string_view key) const {
    if (!has(key)) throw InputError(inside(key) + ": missing, required");
    return {json_.at(key), inside(key)};
  }
  std::vector<Part> items() const {
    if (!json_.is_array()) fail("an array");
    std::vector<Part> parts;
    for (std::size_t i = 0; i < json_.size(); ++i) parts.emplace_back(json_[i], inside(std::to_string(i)));
    return parts;
  }
  // Returns the items of a list, or a single value as a list of one.
  std::vector<Part> items_or_one() const { return json_.is_array() ? items() : std::vector<Part>{*this}; }

  std::string text() const {
    if (!json_.is_string() || json_.get_ref<const std::string&>().empty()) fail("a string");
    return json_.get<std::string>();
  }
  // Returns the text with which a table's cell is compared; for a number, the text as written.
  std::string cell() const {
    if (json_.is_structured() || json_.is_null()) fail("a text or a number");
    return json_.is_string() ? json_.get<std::string>() : json_.dump();
  }
  std::string text(std::string_view key, const std::string& absent) const {
    return has(key) ? at(key).text() : absent;
  }
  double number(double least) const {
    if (!json_.is_number() || !(json_.get<double>() >= least)) {
      fail(std::isinf(least) ? "a number" : "a number of at least " + shown(Json(least)));
    }
    return json_.get<double>();
  }
  bool flag() const {
    if (!json_.is_boolean()) fail("true or false");
    return json_.get<bool>();
  }
  // Returns the index of the text in `allowed`.
  std::size_t one_of(std::span<const std::string_view> allowed) const {
    const auto found = std::find(allowed.begin(), allowed.end(), text());
    if (found == allowed.end()) fail(joined(allowed) + suggestion(text(), allowed));
    return static_cast<std::size_t>(found - allowed.begin());
  }

 private:
  std::string inside(std::string_view key) const {
    return place_ + (place_.find(": ") == std::string::npos ? ": " : ".") + std::string(key);
  }

  const Json& json_;
  std::string place_;
};

// Returns the value in the syntax of --set: texts without quotes, other values as JSON. A text that is itself
// JSON keeps its quotes.
std::string change_text(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return Json::parse(text, nullptr, false).is_discarded() ? text : value.dump();
}

// Finds the data files of a study.
struct DataFiles {
  std::string data_folder;  // replaces $KVCAP_DATA, if given
  std::filesystem::path study_folder;

  std::string in_folder(const std::string& written) const {
    if (data_folder.empty() || !written.starts_with(kDataPrefix)) return written;
    return data_folder + "/" + written.substr(kDataPrefix.size());
  }
  // Returns the path of a file; nothing if it does not exist.
  std::optional<std::string> existing(const std::string& written) const {
    const std::string named = in_folder(written);
    const std::optional<std::string> path = named == written ? find_data(written, study_folder) : named;
    return path && std::filesystem::exists(*path) ? path : std::nullopt;
  }
};

class Reader {
 public:
  Reader(Study& study, const StudyOptions& options)
      : study_(study),
        options_(options),
        data_{options.data_folder, std::filesystem::path(study.file).parent_path()} {}

  void read(const Part& part) {
    part.know(kStudyKeys);
    study_.suite = part.text("suite", std::filesystem::path(study_.file).stem().string());
    source_ = part.text("source", "");
    study_.is_slow = part.has("slow") && part.at("slow").flag();
    promised_ = !part.has("promised") || part.at("promised").flag();
    if (part.has("inside")) inside_ = part.at("inside").number(0);
    if (part.has("tolerance")) tolerance_ = part.at("tolerance").number(0);
    if (part.has("fits")) {
      for (const auto& [name, value] : part.at("fits").json().items()) {
        for (const Part& one : part.at("fits").at(name).items_or_one()) fits_[name].push_back(one.text());
      }
    }
    if (part.has("settings")) {
      if (!part.at("settings").json().is_object()) part.at("settings").fail("an object");
      for (const auto& [name, value] : part.at("settings").json().items()) {
        name_setting(name, part.at("settings").at(name));
      }
    }
    if (part.has("tables")) {
      for (const auto& [name, value] : part.at("tables").json().items()) {
        tables_[name] = rows_of(part.at("tables").at(name));
      }
    }
    study_.setting = setting_of(part);
    if (part.has("each")) each_ = settings_of(part, "each");
    if (part.has("seeds")) each_ = seeds_of(part.at("seeds"));
    if (part.has("summary")) summary_ = summary_of(part.at("summary"));
    group_ = part.text("group", "");
    if (part.has("kernels")) {
      study_.kernels = read_fields<KernelSets>(part.at("kernels").json(), study_.file, "kernels");
      study_.kernel_path = [finder = data_](const std::string& written) {
        return finder.existing(written).value_or(finder.in_folder(written));
      };
      if (!part.has("checks")) return;
    }
    for (const Part& one : part.at("checks").items()) study_.checks.push_back(check_of(one));
    if (study_.checks.empty()) part.at("checks").fail("at least one check");
  }

 private:
  void name_setting(const std::string& name, const Part& part) {
    if (begins_a_figure(name)) {
      throw InputError(part.place() + ": " + name +
                       " already names a metric or a group of figures; choose another name");
    }
    study_.settings[name] = setting(part);
  }

  // Reads a name, an object of fields, or a list of these, applied in order.
  StudySetting setting(const Part& part) const {
    if (part.json().is_array()) {
      StudySetting all;
      for (const Part& one : part.items()) all = all.with(setting(one));
      return all;
    }
    if (part.json().is_string()) {
      const auto found = study_.settings.find(part.text());
      if (found == study_.settings.end()) part.fail("the name of a setting" + nearest(part.text()));
      return found->second;
    }
    if (!part.json().is_object()) part.fail("the name of a setting, an object of fields, or a list of them");
    StudySetting one;
    for (const auto& [key, value] : part.json().items()) {
      if (key == "scenario") {
        one.scenario = scenario(part.at(key), one.missing);
      } else if (key == "contexts") {
        one.contexts = contexts(part.at(key));
      } else if (key == "turns") {
        part.at(key).know(kTurnsKeys);
        for (const auto& [bound, number] : value.items()) one.turns[bound] = part.at(key).at(bound).number(0);
      } else if (key == "workload") {
        one.workload = with_data_folder(value, one.missing).dump();
      } else if (key != "quick") {
        one.changes.push_back(key + "=" + change_text(with_data_folder(value, one.missing)));
      }
    }
    return options_.quick && part.has("quick") ? one.with(setting(part.at("quick"))) : one;
  }

  Json with_data_folder(const Json& value, std::string& missing) const {
    Json changed = value;
    if (value.is_structured()) {
      for (Json& item : changed) item = with_data_folder(item, missing);
      return changed;
    }
    if (!value.is_string() || !value.get_ref<const std::string&>().starts_with(kDataPrefix)) return value;
    const std::optional<std::string> path = data_.existing(value);
    if (!path) missing = data_.in_folder(value);
    return path ? Json(std::filesystem::absolute(*path).string()) : value;
  }

  std::string nearest(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const auto& [known, value] : study_.settings) names.push_back(known);
    return suggestion(name, names);
  }

  std::string scenario(const Part& part, std::string& missing) const {
    if (part.json().is_object()) {
      return with_data_folder(part.json(), missing).dump();
    }
    const std::filesystem::path path = std::filesystem::path(study_.file).parent_path() / part.text();
    return path.lexically_normal().string();
  }

  static std::map<std::string, int64_t> contexts(const Part& part) {
    part.know(kContextKeys);
    std::map<std::string, int64_t> fields;
    for (const auto& [key, value] : part.json().items()) {
      if (!value.is_number_integer()) part.at(key).fail("an integer");
      fields[key] = std::llround(part.at(key).number(0));
      constexpr int64_t kMost = 1'000'000'000;
      if (fields[key] > kMost) part.at(key).fail("an integer from 0 to 1000000000");
    }
    return fields;
  }

  // Reads the changes of a study or a check.
  StudySetting setting_of(const Part& part) const {
    StudySetting changed;
    if (part.has("scenario")) changed.scenario = scenario(part.at("scenario"), changed.missing);
    return part.has("set") ? changed.with(setting(part.at("set"))) : changed;
  }

  // The selected rows of a table.
  struct Table {
    std::string missing;  // its file, if it does not exist
    std::vector<StudySetting> rows;
  };
  Table rows_of(const Part& part) const {
    part.know(kRowsKeys);
    const std::string written = part.at("csv").text();
    const std::optional<std::string> path = data_.existing(written);
    if (!path && !written.starts_with(kDataPrefix)) part.at("csv").fail("a file that exists");
    if (!path) return {.missing = data_.in_folder(written), .rows = {}};
    std::vector<StudySetting> list;
    for (const TableRow& row : rows_of_table(*path)) {
      std::optional<Json> filled;
      try {
        if (is_wanted(part, row)) {
          filled = part.has("set") ? filled_in(part.at("set").json(), row) : Json::object();
        }
      } catch (const InputError& error) {
        // Errors in the study already name their place; errors in a row do not.
        const std::string what = error.what();
        throw InputError(what.starts_with(part.place()) ? what : part.place() + ": " + what);
      }
      if (!filled) continue;
      list.push_back(setting({*filled, part.place() + ".set"}));
      list.back().row = row;
    }
    if (list.empty()) part.fail("conditions that at least one row meets");
    return {.missing = {}, .rows = std::move(list)};
  }

  // Returns one setting per seed, with the seed as row.seed and further numbers as row.NAME.
  std::vector<StudySetting> seeds_of(const Part& part) const {
    std::map<std::string, double> numbers;
    const auto read = [&numbers](const Part& from) {
      for (const auto& [name, value] : from.json().items()) {
        if (name != "quick") numbers[name] = from.at(name).number(0);
      }
    };
    part.at("count").number(1);
    read(part);
    if (options_.quick && part.has("quick")) read(part.at("quick"));
    std::vector<StudySetting> list;
    for (double seed = 1; seed <= numbers.at("count"); ++seed) {
      list.emplace_back();
      for (const auto& [name, number] : numbers) list.back().row[name] = Json(number).dump();
      list.back().row["seed"] = Json(seed).dump();
    }
    return list;
  }

  // Returns the settings of a check in order, or the first of their files that does not exist.
  Table cases_of(const Part& part) const {
    Table all;
    if (part.has("seeds")) return {.missing = {}, .rows = seeds_of(part.at("seeds"))};
    if (!part.has("rows"))
      return {.missing = {}, .rows = part.has("each") ? settings_of(part, "each") : each_};
    for (const Part& name : part.at("rows").items_or_one()) {
      const auto table = tables_.find(name.text());
      if (table == tables_.end()) name.fail("the name of a table");
      if (!table->second.missing.empty()) return table->second;
      all.rows.insert(all.rows.end(), table->second.rows.begin(), table->second.rows.end());
    }
    return all;
  }

  static bool is_wanted(const Part& part, const TableRow& row) {
    if (part.has("where")) {
      for (const auto& [column, value] : part.at("where").json().items()) {
        const auto found = row.find(column);
        if (found == row.end()) column_number(row, column);
        bool is_one = false;
        for (const Part& allowed : part.at("where").at(column).items_or_one()) {
          is_one |= allowed.cell() == found->second;
        }
        if (!is_one) return false;
      }
    }
    return !part.has("if") || meets(part.at("if").text(), row);
  }

  std::vector<StudySetting> settings_of(const Part& part, std::string_view key) const {
    if (!part.has(key)) return {{}};
    std::vector<StudySetting> list;
    for (const Part& one : part.at(key).items()) list.push_back(setting(one));
    if (list.empty()) part.at(key).fail("at least one setting");
    return list;
  }

  std::vector<std::string> fitted_to(const Part& part) const {
    std::vector<std::string> all;
    if (!part.has("fitted_to")) return all;
    for (const Part& one : part.at("fitted_to").items_or_one()) {
      const auto known = fits_.find(one.text());
      if (known == fits_.end()) {
        all.push_back(one.text());
      } else {
        all.insert(all.end(), known->second.begin(), known->second.end());
      }
    }
    return all;
  }

  static void read_reference(const Part& part, StudyCheck& one) {
    if (part.json().is_object()) {
      part.know(kRangeKeys);
      one.check.claim = Claim::range;
      one.check.reference = {part.at("from").number(-INFINITY), part.at("to").number(-INFINITY)};
      return;
    }
    for (const Part& each : part.items_or_one()) {
      if (each.json().is_string()) {
        one.references.push_back(each.text());
      } else {
        one.check.reference.push_back(each.number(-INFINITY));
      }
    }
    if (!one.references.empty() && !one.check.reference.empty())
      part.fail("numbers or expressions, not both");
  }

  static Summary summary_of(const Part& part) { return static_cast<Summary>(part.one_of(kSummaries)); }

  // Reads the tolerances of a number, its role, its tuned parameters and a reason.
  void read_terms(const Part& part, Check& check) const {
    const bool is_share = part.has("points") && part.at("points").flag();
    check.absolute = is_share;
    check.exact_tolerance = part.has("inside") ? part.at("inside").number(0) : is_share ? 0.01 : inside_;
    check.tolerance = part.has("tolerance") ? part.at("tolerance").number(0) : is_share ? 0.05 : tolerance_;
    check.promised = part.has("promised") ? part.at("promised").flag() : promised_;
    if (part.has("role")) check.role = static_cast<Role>(part.at("role").one_of(kRoleNames));
    check.tuned = fitted_to(part);
    check.reason = part.text("reason", "");
  }

  static std::vector<std::string> texts_of(const Part& part) {
    std::vector<std::string> texts;
    for (const Part& one : part.items_or_one()) texts.push_back(one.text());
    return texts;
  }

  // Requires that the length of the list divides the count of the check's numbers.
  static void divides(const Part& part, std::size_t items, const StudyCheck& one) {
    if (items > 0 && one.numbers() % items == 0) return;
    throw InputError(part.place() + ": found " + std::to_string(items) +
                     " items, allowed: a count that divides " + std::to_string(one.numbers()) +
                     ", the count of the check's numbers");
  }

  static void read_curve(const Part& part, StudyCheck& one) {
    part.know(kCurveKeys);
    StudyCurve& curve = one.curve;
    one.check.x_axis = part.at("x_axis").text();
    curve.figures = texts_of(part.at("figure"));
    curve.y_axes = part.has("y_axis") ? texts_of(part.at("y_axis")) : std::vector{one.check.what};
    for (const Part& name : part.at("series").items_or_one()) {
      curve.series.push_back(name.json().is_null() ? "" : name.text());
    }
    const Part x = part.at("x");
    if (x.json().is_object()) {
      x.know(kCurveXKeys);
      curve.x_value = x.at("value").text();
    } else {
      for (const Part& item : x.items_or_one()) {
        if (item.json().is_string()) {
          curve.x.emplace_back(item.text());
        } else {
          curve.x.emplace_back(item.number(-INFINITY));
        }
      }
      divides(x, curve.x.size(), one);
    }
    divides(part.at("figure"), curve.figures.size(), one);
    divides(part.at("series"), curve.series.size(), one);
    if (part.has("y_axis")) divides(part.at("y_axis"), curve.y_axes.size(), one);
  }

  StudyCheck check_of(const Part& part) const {
    part.know(kCheckKeys);
    StudyCheck one;
    one.place = part.place();
    one.setting = study_.setting.with(setting_of(part));
    Check& check = one.check;
    check.id = part.at("id").text();
    check.suite = study_.suite;
    check.what = part.text("what", check.id) + (part.has("unit") ? ", " + part.at("unit").text() : "");
    check.source = part.text("source", source_);
    one.group = part.text("group", group_);
    read_terms(part, check);
    const Table cases = cases_of(part);
    std::string missing = cases.missing;
    for (const StudySetting& outer : cases.rows) {
      for (const StudySetting& inner : settings_of(part, "by")) one.each.push_back(outer.with(inner));
    }
    for (const StudySetting& each : one.each) {
      if (const StudySetting all = one.setting.with(each); !all.missing.empty()) missing = all.missing;
    }
    if (!missing.empty() && part.has("value")) {
      check.reason = "no " + missing + " (--data)";
      return one;
    }
    if (part.has("reference")) read_reference(part.at("reference"), one);
    if (!part.has("value")) {
      if (check.reason.empty()) part.at("value");
      return one;
    }
    for (const Part& value : part.at("value").items_or_one()) one.values.push_back(value.text());
    if (part.has("judged")) one.judged = part.at("judged").flag();
    one.family = part.text("family", "");
    one.summary = part.has("summary") ? summary_of(part.at("summary")) : summary_;
    if (part.has("curve")) read_curve(part.at("curve"), one);
    if (part.has("holds")) {
      if (one.summary >= Summary::median_error) {
        if (part.has("summary")) part.at("summary").fail("none or mean together with holds");
        one.summary = Summary::none;
      }
      one.holds = part.at("holds").text();
      check.claim = Claim::order;
      return one;
    }
    const bool is_error = one.summary >= Summary::median_error;
    if (is_error || !part.has("at_most")) part.at("reference");
    if (!is_error && part.has("at_most") && part.has("reference")) {
      part.at("at_most").fail("a reference or at_most, or both with a summary of errors");
    }
    if (is_error || part.has("at_most")) {
      check.claim = Claim::at_most;
      if (one.judged) one.most = part.at("at_most").number(0);
    }
    return one;
  }

  Study& study_;
  const StudyOptions& options_;
  const DataFiles data_;
  std::string source_;
  bool promised_ = true;
  double inside_ = 0.02, tolerance_ = 0.1;
  std::map<std::string, std::vector<std::string>> fits_;
  std::map<std::string, Table> tables_;
  std::vector<StudySetting> each_ = {{}};
  Summary summary_ = Summary::none;
  std::string group_;
};

}  // namespace

std::size_t StudyCheck::numbers() const {
  if (summary == Summary::interval || summary == Summary::farthest) return 1;
  return summary == Summary::mean ? values.size() : values.size() * each.size();
}

StudySetting StudySetting::with(const StudySetting& more) const {
  StudySetting both = *this;
  if (!more.scenario.empty()) both.scenario = more.scenario;
  both.changes.insert(both.changes.end(), more.changes.begin(), more.changes.end());
  for (const auto& [field, value] : more.contexts) both.contexts[field] = value;
  if (!more.missing.empty()) both.missing = more.missing;
  if (!more.workload.empty()) both.workload = more.workload;
  for (const auto& [bound, value] : more.turns) both.turns[bound] = value;
  if (!more.row.empty()) both.row = more.row;
  return both;
}

StoredContexts StudySetting::stored_contexts() const {
  const auto field = [&](const char* name, int64_t absent) {
    const auto found = contexts.find(name);
    return found == contexts.end() ? absent : found->second;
  };
  return {.count = field("count", 0),
          .tokens = field("tokens", 0),
          .new_tokens = field("new_tokens", 1),
          .output_tokens = field("output_tokens", 1)};
}

int64_t StudySetting::tokens() const {
  const auto found = contexts.find("tokens");
  if (found == contexts.end())
    throw InputError("contexts.tokens: missing, required by machine.* and restore_s");
  return found->second;
}

Study read_study(std::string_view text, const std::string& file, bool is_shipped,
                 const StudyOptions& options) {
  const Json json = parse_json(text, file);
  Study study{.file = file, .is_shipped = is_shipped, .setting = {}, .settings = {}, .checks = {}};
  const Part part(json, file);
  if (!json.is_object()) part.fail("an object");
  const Part schema = part.at("schema");
  if (schema.json() != kStudySchema) {
    throw InputError(schema.place() + ": found " + shown(schema.json()) + ", this version supports \"" +
                     std::string(kStudySchema) + "\"" + other_reader(schema.json()));
  }
  Reader(study, options).read(part);
  return study;
}

Study load_study(const std::string& path, const StudyOptions& options) {
  return read_study(read_text(path), path, false, options);
}

std::vector<Study> shipped_studies(std::string_view suite, const StudyOptions& options) {
  std::vector<Study> studies;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kStudyFolder)) continue;
    // Studies of other suites are skipped before their tables are read.
    if (!Json::parse(file.text).value("suite", std::string()).starts_with(suite)) continue;
    Study study = read_study(file.text, std::string(file.path), true, options);
    if (!options.quick || !study.is_slow) studies.push_back(std::move(study));
  }
  return studies;
}

// Contains only the keys; scenarios/studies/README.md describes their values.
std::string study_json_schema() {
  const auto object = [](std::span<const std::string_view> keys, const Json& required) {
    Json properties = Json::object();
    for (std::string_view key : keys) properties[std::string(key)] = Json::object();
    return Json{{"type", "object"},
                {"properties", properties},
                {"additionalProperties", false},
                {"required", required}};
  };
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", kStudySchema}};
  schema.update(object(kStudyKeys, {"schema"}));
  schema["properties"]["schema"] = {{"const", kStudySchema}};
  schema["properties"]["checks"] = {{"type", "array"}, {"items", object(kCheckKeys, {"id"})}};
  return schema.dump(2) + "\n";
}

}  // namespace kvcap
