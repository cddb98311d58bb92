#include "serve/form.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/embedded.h"
#include "base/field_visitor.h"
#include "base/tier.h"
#include "engine/options.h"
#include "policy/table.h"
#include "scenario/field_entries.h"
#include "scenario/load.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr FormInput kInputs[] = {
    {"scenario", "", "", "Start from", "Scenario", "scenarios",
     "a scenario whose values fill the form; none: the engine as installed, with the inputs below"},
    {"model", "--model", "model", "Model and machine", "Model", "models",
     "a name of the catalogue, or a path"},
    {"gpu", "--gpu", "hardware", "Model and machine", "GPU or server", "hardware",
     "a profile of the catalogue, or a path"},
    {"gpus", "--gpus", "serving.tensor_parallel_size", "Model and machine", "GPUs of one engine", "",
     "by tensor parallelism"},
    {"engine", "--engine", "serving.engine", "Model and machine", "Engine", "engines",
     "with or without its version: vllm@0.19"},
    {"workload", "--workload", "workload.source.kind", "Workload", "Workload", "workloads",
     "a generator, or the path of a trace"},
    {"rate", "--rate", "workload.arrivals.requests_per_s", "Workload", "Request rate", "",
     "of a Poisson process"},
    {"concurrency", "--concurrency", "workload.arrivals.concurrency", "Workload", "Active sessions", "",
     "in place of a rate"},
    {"workload.sessions", "", "workload.sessions", "Workload", "Sessions", "", ""},
    {"slo.ttft_ms", "", "slo.ttft_ms", "Targets", "p99 TTFT", "", ""},
    {"slo.tpot_ms", "", "slo.tpot_ms", "Targets", "p99 TPOT", "", ""},
    {"dram", "--dram", "", "Tiers", "DRAM for KV", "", "such as 250GB; several are compared: 0GB,100GB"},
    {"ssd", "--ssd", "", "Tiers", "SSD for KV", "", "such as 4TB; several are compared: 0TB,4TB"},
    {"policies", "--policies", "policy.name", "Policies", "Policies", "policies", ""},
    {"replications", "", "replications", "Runs", "Replications", "", "seeds, for intervals"},
    {"draws", "--draws", "", "Runs", "Plausible machines", "",
     "draws of the measured errors, for model intervals; auto, or 0 for none"},
};

// Returns [{"name", "summary"}] for the rows for which `is` holds.
template <typename Rows, typename Is>
Json named(const Rows& rows, Is is) {
  Json list = Json::array();
  for (const auto& row : rows) {
    if (is(row)) list.push_back({{"name", row.name}, {"summary", row.summary}});
  }
  return list;
}

// Returns a summary of a catalogue entry: the GPUs of a hardware profile, the Hugging Face name of a model.
std::string summary_of(Catalogue which, const CatalogueEntry& entry) {
  const Json file = Json::parse(entry.text);
  if (which == Catalogue::hardware) {
    const Json& gpu = file.at("gpu");
    return std::to_string(gpu.value("count", 1)) + "x " + gpu.value("name", "");
  }
  return file.value("hugging_face", "");
}

Json entries_of(Catalogue which) {
  Json list = Json::array();
  for (const CatalogueEntry& entry : catalogue(which)) {
    list.push_back({{"name", entry.name}, {"summary", summary_of(which, entry)}});
  }
  return list;
}

Json scenario_entries(const std::vector<std::string>& scenarios) {
  Json list = Json::array({{{"name", ""}, {"summary", "none"}}});
  for (const std::string& name : scenarios) list.push_back({{"name", name}, {"summary", ""}});
  return list;
}

Json names_only(std::span<const std::string_view> names) {
  Json list = Json::array();
  for (const std::string_view name : names) list.push_back({{"name", name}, {"summary", ""}});
  return list;
}

// Returns the unit of a field as people read it: "requests/s" for "1/s".
std::string unit_of(const FieldEntry& entry) {
  constexpr std::string_view kPerSecond = "_per_s";
  const std::string name = entry.path.substr(entry.path.rfind('.') + 1);
  if (entry.unit != "1/s" || !name.ends_with(kPerSecond)) return entry.unit;
  return name.substr(0, name.size() - kPerSecond.size()) + "/s";
}

Json field_json(const FieldEntry& entry) {
  constexpr const char* kKinds[] = {"number", "text", "flag", "object", "list"};
  return {{"path", entry.path},     {"kind", kKinds[static_cast<std::size_t>(entry.kind)]},
          {"values", entry.values}, {"unit", unit_of(entry)},
          {"usual", entry.usual},   {"meaning", entry.meaning},
          {"words", entry.words}};
}

Json input_json(const FormInput& input) {
  const FieldEntry* entry = input.field.empty() ? nullptr : field_entry(std::string(input.field));
  std::string hint(input.hint);
  if (hint.empty() && entry) hint = entry->meaning;
  // A title such as "GPUs of one engine" already contains the unit.
  const bool has_unit =
      entry && input.choices.empty() && input.title.find(entry->unit) == std::string_view::npos;
  return {{"name", input.name},
          {"group", input.group},
          {"title", input.title},
          {"choices", input.choices},
          {"hint", hint},
          {"unit", has_unit ? unit_of(*entry) : std::string()},
          {"kind", entry && entry->kind == FieldKind::number ? "number" : "text"}};
}

// Returns a size in the format of --dram: "4TB".
std::string size_text(double bytes) {
  constexpr double kTB = 1e12, kGB = 1e9;
  return bytes >= kTB ? number_text(bytes / kTB) + "TB" : number_text(bytes / kGB) + "GB";
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

// Adds the values of the fields below `path`. For a list, adds only the values of its first item.
void add_fields(const Json& json, const std::string& path, Json& values) {
  const auto add = [&](const std::string& key, const Json& value) {
    add_fields(value, path.empty() ? key : path + "." + key, values);
  };
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) add(key, value);
  } else if (json.is_array()) {
    if (!json.empty()) add("0", json.front());
  } else if (!json.is_null() && field_entry(path)) {
    values[path] = text_of(json);
  }
}

// Sets the values of the inputs that are options of the command, from the scenario and its fields.
void add_options(const Scenario& scenario, const Json& fields, Json& values, Json& hints) {
  values["model"] = scenario.model.name;
  values["gpu"] = scenario.hardware.name;
  for (const char* name : {"gpus", "engine", "workload", "rate", "concurrency"}) {
    const std::string field(form_input(name)->field);
    if (fields.contains(field)) values[name] = fields[field];
  }
  const char* sessions_per_s = "workload.arrivals.sessions_per_s";
  if (!values.contains("rate") && fields.contains(sessions_per_s)) {
    hints["rate"] = fields[sessions_per_s].get<std::string>() + " sessions/s";
  }
  for (const auto& [name, tier] : {std::pair("dram", Tier::dram), std::pair("ssd", Tier::ssd)}) {
    hints[name] = "as in the scenario";
    if (!scenario.policy.tiers) continue;
    for (const TierOptions& one : *scenario.policy.tiers) {
      if (one.kind == tier && one.capacity_bytes) hints[name] = size_text(*one.capacity_bytes);
    }
  }
}

}  // namespace

std::span<const FormInput> form_inputs() { return kInputs; }

const FormInput* form_input(std::string_view name) {
  const auto* found = std::find_if(std::begin(kInputs), std::end(kInputs),
                                   [name](const FormInput& input) { return input.name == name; });
  return found == std::end(kInputs) ? nullptr : found;
}

std::vector<std::string> shipped_scenarios() {
  constexpr std::string_view kFolder = "scenarios/", kEnd = ".json";
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kFolder) || !file.path.ends_with(kEnd)) continue;
    const std::string_view name =
        file.path.substr(kFolder.size(), file.path.size() - kFolder.size() - kEnd.size());
    if (name.find('/') == std::string_view::npos) names.emplace_back(name);
  }
  return names;
}

std::string form_json(const std::vector<std::string>& scenarios) {
  const std::vector<std::string> shipped = shipped_scenarios();
  const bool has_own =
      !scenarios.empty() && std::find(shipped.begin(), shipped.end(), scenarios.front()) == shipped.end();
  const auto any = [](const auto&) { return true; };
  Json inputs = Json::array(), fields = Json::array();
  for (const FormInput& input : kInputs) inputs.push_back(input_json(input));
  for (const FieldEntry& entry : field_entries()) fields.push_back(field_json(entry));
  return Json{{"version", KVCAP_VERSION},
              {"start", has_own ? scenarios.front() : "demo"},
              {"inputs", inputs},
              {"choices",
               {{"scenarios", scenario_entries(scenarios)},
                {"models", entries_of(Catalogue::models)},
                {"hardware", entries_of(Catalogue::hardware)},
                {"engines", names_only(kEngineNames)},
                {"workloads", named(source_table(), [](const SourceRow& row) { return row.is_generated; })},
                {"policies", named(policy_table(), any)}}},
              {"fields", fields}}
      .dump();
}

std::string scenario_values_json(const std::string& name) {
  Json values = Json::object(), hints = Json::object();
  values["draws"] = "auto";
  std::string policy = "recompute";
  if (!name.empty()) {
    const Scenario scenario = load_scenario(name, {});
    Json fields = Json::object();
    add_fields(Json::parse(scenario.resolved_json), "", fields);
    add_options(scenario, fields, values, hints);
    policy = scenario.policy.name;
    values.update(fields);
  }
  return Json{{"values", values}, {"hints", hints}, {"policy", policy}}.dump();
}

}  // namespace kvcap
