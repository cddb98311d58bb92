// Reads study files and builds Study objects from them.
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
#include "validate/studies/study_file.h"
#include "validate/studies/study_rows.h"

namespace kvcap {
namespace {

constexpr std::string_view kStudyFolder = "scenarios/studies/";

// A value in the file that may have several forms, and its place in the file for error messages.
class Part {
 public:
  Part(const Json& json, std::string file, std::string path)
      : json_(json), file_(std::move(file)), path_(std::move(path)) {}

  const Json& json() const { return json_; }
  std::string place() const { return file_ + ": " + path_; }
  [[noreturn]] void fail(const std::string& allowed) const { refuse_field(place(), json_, allowed); }
  Part at(const std::string& key) const { return {json_.at(key), file_, below(path_, key)}; }
  std::vector<Part> items() const {
    if (!json_.is_array()) fail("an array");
    std::vector<Part> parts;
    for (std::size_t i = 0; i < json_.size(); ++i)
      parts.emplace_back(json_[i], file_, below(path_, std::to_string(i)));
    return parts;
  }
  // Returns the items of a list, or a single value as a list of one.
  std::vector<Part> items_or_one() const { return json_.is_array() ? items() : std::vector<Part>{*this}; }

  std::string text() const {
    if (!json_.is_string() || json_.get_ref<const std::string&>().empty()) fail("a string");
    return json_.get<std::string>();
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const Part& one : items_or_one()) all.push_back(one.text());
    return all;
  }
  // Returns the text to compare with a cell of a table: the string, or a number as written in the file.
  std::string cell() const {
    if (json_.is_structured() || json_.is_null()) fail("a text or a number");
    return json_.is_string() ? json_.get<std::string>() : json_.dump();
  }
  double number() const {
    if (!json_.is_number()) fail("a number");
    return json_.get<double>();
  }
  // Reads an object of type T, whose fields describe() lists.
  template <class T>
  T fields() const {
    return read_fields<T>(json_, file_, path_);
  }

 private:
  const Json& json_;
  std::string file_, path_;
};

// Returns the value in the syntax of --set: strings without quotes, other values as JSON. A string that is
// itself valid JSON, such as "12", keeps its quotes.
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
  Reader(Study& study, const StudyFile& file, const StudyOptions& options)
      : study_(study),
        file_(file),
        options_(options),
        data_{options.data_folder, std::filesystem::path(study.file).parent_path()} {}

  void read() {
    study_.suite = file_.suite.value_or(std::filesystem::path(study_.file).stem().string());
    study_.is_slow = file_.slow;
    for (const auto& [name, value] : file_.settings) name_setting(name, value);
    for (const auto& [name, table] : file_.tables) tables_[name] = rows_of(table, below("tables", name));
    study_.setting = setting_of(file_, "");
    if (file_.kernels) {
      study_.kernels = *file_.kernels;
      study_.kernel_path = [finder = data_](const std::string& written) {
        return finder.existing(written).value_or(finder.in_folder(written));
      };
    }
    if (!file_.checks && !file_.kernels) throw InputError(study_.file + ": checks: missing, required");
    if (!file_.checks) return;
    for (std::size_t i = 0; i < file_.checks->size(); ++i) {
      study_.checks.push_back(check_of((*file_.checks)[i], below("checks", std::to_string(i))));
    }
  }

 private:
  // The settings of a check. If they need a data file that does not exist, `missing` names it.
  struct Cases {
    std::string missing;
    std::vector<StudySetting> settings;
  };

  Part part(const Json& json, const std::string& path) const { return {json, study_.file, path}; }
  Part part(const std::optional<Json>& json, const std::string& object, const std::string& key) const {
    if (!json) throw InputError(study_.file + ": " + below(object, key) + ": missing, required");
    return part(*json, below(object, key));
  }

  void name_setting(const std::string& name, const Json& value) {
    const Part written = part(value, below("settings", name));
    if (begins_a_figure(name)) {
      throw InputError(written.place() + ": " + name +
                       " already names a metric or a group of figures; choose another name");
    }
    study_.settings[name] = setting(written);
  }

  // Reads a setting: the name of a setting, an object of fields, or a list of these, which are applied in
  // order.
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
        one.contexts = part.at(key).fields<StudyContexts>().fields;
      } else if (key == "turns") {
        one.turns = part.at(key).fields<StudyTurns>().bounds;
      } else if (key == "workload") {
        one.workload = with_data_folder(value, one.missing).dump();
      } else if (key != "quick") {
        one.changes.push_back(key + "=" + change_text(with_data_folder(value, one.missing)));
      }
    }
    const bool is_quick = options_.quick && part.json().contains("quick");
    return is_quick ? one.with(setting(part.at("quick"))) : one;
  }

  std::vector<StudySetting> settings(const Part& part) const {
    std::vector<StudySetting> list;
    for (const Part& one : part.items()) list.push_back(setting(one));
    if (list.empty()) part.fail("at least one setting");
    return list;
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
    if (part.json().is_object()) return with_data_folder(part.json(), missing).dump();
    const std::filesystem::path path = std::filesystem::path(study_.file).parent_path() / part.text();
    return path.lexically_normal().string();
  }

  // Returns the changes that the terms of a study or of a check make to a setting.
  StudySetting setting_of(const StudyTerms& terms, const std::string& path) const {
    StudySetting changed;
    if (terms.scenario) {
      changed.scenario = scenario(part(*terms.scenario, below(path, "scenario")), changed.missing);
    }
    return terms.set ? changed.with(setting(part(*terms.set, below(path, "set")))) : changed;
  }

  Cases rows_of(const StudyTableFile& table, const std::string& path) const {
    const std::string place = study_.file + ": " + path;
    const std::optional<std::string> csv = data_.existing(table.csv);
    if (!csv && !table.csv.starts_with(kDataPrefix))
      refuse_field(place + ".csv", table.csv, "a file that exists");
    if (!csv) return {.missing = data_.in_folder(table.csv), .settings = {}};
    Cases cases;
    for (const TableRow& row : rows_of_table(*csv)) {
      std::optional<Json> filled;
      try {
        if (is_wanted(table, path, row)) filled = table.set ? filled_in(*table.set, row) : Json::object();
      } catch (const InputError& error) {
        // Errors in the study already name their place; errors in a row do not.
        const std::string what = error.what();
        throw InputError(what.starts_with(place) ? what : place + ": " + what);
      }
      if (!filled) continue;
      cases.settings.push_back(setting(part(*filled, below(path, "set"))));
      cases.settings.back().row = row;
    }
    if (cases.settings.empty()) refuse_field(place, Json::object(), "conditions that at least one row meets");
    return cases;
  }

  bool is_wanted(const StudyTableFile& table, const std::string& path, const TableRow& row) const {
    for (const auto& [column, value] : table.where) {
      const auto found = row.find(column);
      if (found == row.end()) column_number(row, column);
      const std::vector<Part> allowed = part(value, below(path, below("where", column))).items_or_one();
      const bool is_one = std::any_of(allowed.begin(), allowed.end(),
                                      [&](const Part& one) { return one.cell() == found->second; });
      if (!is_one) return false;
    }
    return table.condition.empty() || meets(table.condition, row);
  }

  // Returns one setting per seed, with the seed as row.seed and further numbers as row.NAME.
  std::vector<StudySetting> seeds_of(const Part& part) const {
    std::map<std::string, double> numbers = {{"count", 0}};
    const auto read = [&numbers](const Part& from) {
      for (const auto& [name, value] : from.json().items()) {
        if (name != "quick") numbers[name] = from.at(name).number();
      }
    };
    if (!part.json().is_object()) part.fail("an object with count");
    read(part);
    if (options_.quick && part.json().contains("quick")) read(part.at("quick"));
    if (!(numbers["count"] >= 1)) part.fail("a count of at least 1");
    std::vector<StudySetting> list;
    for (double seed = 1; seed <= numbers["count"]; ++seed) {
      list.emplace_back();
      for (const auto& [name, number] : numbers) list.back().row[name] = Json(number).dump();
      list.back().row["seed"] = Json(seed).dump();
    }
    return list;
  }

  // Returns the settings of a check in order, not yet combined with the settings of `by`.
  Cases cases_of(const StudyCheckFile& check, const std::string& path) const {
    if (check.seeds) return {.missing = {}, .settings = seeds_of(part(check.seeds, path, "seeds"))};
    if (check.rows) {
      Cases all;
      for (const Part& name : part(check.rows, path, "rows").items_or_one()) {
        const auto table = tables_.find(name.text());
        if (table == tables_.end()) name.fail("the name of a table");
        const Cases& rows = table->second;
        if (!rows.missing.empty()) return rows;
        all.settings.insert(all.settings.end(), rows.settings.begin(), rows.settings.end());
      }
      return all;
    }
    if (check.each) return {.missing = {}, .settings = settings(part(check.each, path, "each"))};
    if (file_.seeds) return {.missing = {}, .settings = seeds_of(part(file_.seeds, "", "seeds"))};
    if (file_.each) return {.missing = {}, .settings = settings(part(file_.each, "", "each"))};
    return {.missing = {}, .settings = {{}}};
  }

  std::vector<std::string> fitted_to(const StudyCheckFile& check, const std::string& path) const {
    std::vector<std::string> all;
    if (!check.fitted_to) return all;
    for (const std::string& name : part(check.fitted_to, path, "fitted_to").texts()) {
      const auto known = std::find_if(file_.fits.begin(), file_.fits.end(),
                                      [&](const auto& fit) { return fit.first == name; });
      if (known == file_.fits.end()) {
        all.push_back(name);
      } else {
        for (const std::string& one : part(known->second, below("fits", name)).texts()) all.push_back(one);
      }
    }
    return all;
  }

  static void read_reference(const Part& part, StudyCheck& one) {
    if (part.json().is_object()) {
      const auto range = part.fields<StudyRange>();
      one.check.claim = Claim::range;
      one.check.reference = {range.from, range.to};
      return;
    }
    for (const Part& each : part.items_or_one()) {
      if (each.json().is_string()) {
        one.references.push_back(each.text());
      } else {
        one.check.reference.push_back(each.number());
      }
    }
    if (!one.references.empty() && !one.check.reference.empty())
      part.fail("numbers or expressions, not both");
  }

  // Sets the tolerances, the role, the tuned parameters and the reason of a check.
  void set_terms(const StudyCheckFile& from, const std::string& path, Check& check) const {
    const auto either = [](const auto& own, const auto& of_study, const auto& absent) {
      return own.value_or(of_study.value_or(absent));
    };
    constexpr double kInside = 0.02, kNear = 0.1, kInsidePoints = 0.01, kNearPoints = 0.05;
    check.absolute = from.points;
    check.exact_tolerance =
        from.points ? from.inside.value_or(kInsidePoints) : either(from.inside, file_.inside, kInside);
    check.tolerance =
        from.points ? from.tolerance.value_or(kNearPoints) : either(from.tolerance, file_.tolerance, kNear);
    check.promised = either(from.promised, file_.promised, true);
    check.source = either(from.source, file_.source, std::string());
    check.role = from.role;
    check.tuned = fitted_to(from, path);
    check.reason = from.reason;
  }

  // Requires that the length of the list divides the count of the check's numbers.
  static void divides(const Part& part, std::size_t items, const StudyCheck& one) {
    if (items > 0 && one.numbers() % items == 0) return;
    throw InputError(part.place() + ": found " + std::to_string(items) +
                     " items, allowed: a count that divides " + std::to_string(one.numbers()) +
                     ", the count of the check's numbers");
  }

  void read_curve(const StudyCurveFile& from, const std::string& path, StudyCheck& one) const {
    StudyCurve& curve = one.curve;
    one.check.x_axis = from.x_axis;
    const Part figure = part(from.figure, below(path, "figure"));
    const Part series = part(from.series, below(path, "series"));
    curve.figures = figure.texts();
    curve.y_axes = {one.check.what};
    for (const Part& name : series.items_or_one()) {
      curve.series.push_back(name.json().is_null() ? "" : name.text());
    }
    if (const Part x = part(from.x, below(path, "x")); x.json().is_object()) {
      curve.x_value = x.fields<StudyValue>().value;
    } else {
      for (const Part& item : x.items_or_one()) {
        if (item.json().is_string()) {
          curve.x.emplace_back(item.text());
        } else {
          curve.x.emplace_back(item.number());
        }
      }
      divides(x, curve.x.size(), one);
    }
    divides(figure, curve.figures.size(), one);
    divides(series, curve.series.size(), one);
    if (!from.y_axis) return;
    const Part y_axis = part(from.y_axis, path, "y_axis");
    curve.y_axes = y_axis.texts();
    divides(y_axis, curve.y_axes.size(), one);
  }

  // Sets the claim of a check whose numbers are compared with references or a limit.
  void set_claim(const StudyCheckFile& from, const std::string& path, StudyCheck& one) const {
    const bool is_error = one.summary >= Summary::median_error;
    if (!from.holds.empty()) {
      if (is_error && from.summary) {
        refuse_field(study_.file + ": " + below(path, "summary"), name_of(*from.summary),
                     "none or mean together with holds");
      }
      if (is_error) one.summary = Summary::none;
      one.holds = from.holds;
      one.check.claim = Claim::order;
      return;
    }
    if (is_error || !from.at_most) part(from.reference, path, "reference");
    if (!is_error && from.at_most && from.reference) {
      refuse_field(study_.file + ": " + below(path, "at_most"), *from.at_most,
                   "a reference or at_most, or both with a summary of errors");
    }
    if (!is_error && !from.at_most) return;
    one.check.claim = Claim::at_most;
    if (one.judged && !from.at_most)
      throw InputError(study_.file + ": " + below(path, "at_most") + ": missing, required");
    one.most = from.at_most.value_or(0);
  }

  StudyCheck check_of(const StudyCheckFile& from, const std::string& path) const {
    StudyCheck one;
    one.place = study_.file + ": " + path;
    one.setting = study_.setting.with(setting_of(from, path));
    Check& check = one.check;
    check.id = from.id;
    check.suite = study_.suite;
    check.what = from.what.value_or(from.id) + (from.unit.empty() ? "" : ", " + from.unit);
    one.group = from.group.value_or(file_.group.value_or(""));
    set_terms(from, path, check);
    const Cases cases = cases_of(from, path);
    const std::vector<StudySetting> inner =
        from.by ? settings(part(from.by, path, "by")) : std::vector<StudySetting>{{}};
    std::string missing = cases.missing;
    for (const StudySetting& outer : cases.settings) {
      for (const StudySetting& by : inner) {
        one.each.push_back(outer.with(by));
        if (const StudySetting all = one.setting.with(one.each.back()); !all.missing.empty())
          missing = all.missing;
      }
    }
    if (!missing.empty() && from.value) {
      check.reason = "no " + missing + " (--data)";
      return one;
    }
    if (from.reference) read_reference(part(from.reference, path, "reference"), one);
    if (!from.value) {
      if (check.reason.empty()) part(from.value, path, "value");
      return one;
    }
    one.values = part(from.value, path, "value").texts();
    one.judged = from.judged;
    one.family = from.family;
    one.summary = from.summary.value_or(file_.summary.value_or(Summary::none));
    if (from.curve) read_curve(*from.curve, below(path, "curve"), one);
    set_claim(from, path, one);
    return one;
  }

  Study& study_;
  const StudyFile& file_;
  const StudyOptions& options_;
  const DataFiles data_;
  std::map<std::string, Cases> tables_;
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
  Study study{.file = file, .is_shipped = is_shipped, .setting = {}, .settings = {}, .checks = {}};
  const auto written = read_fields<StudyFile>(parse_json(text, file), file);
  Reader(study, written, options).read();
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

}  // namespace kvcap
