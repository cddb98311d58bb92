// kvcap show: prints the catalogue, with the source of each number, and descriptions of fields, flags and
// files.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/print.h"
#include "base/text/python_numbers.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/efficiency_plot.h"
#include "commands/model_options.h"
#include "commands/show/fields.h"
#include "commands/show/flags.h"
#include "commands/show/memory.h"
#include "commands/show/model.h"
#include "commands/show/support.h"
#include "cost/peer_collectives.h"
#include "cost/prices.h"
#include "engine/options.h"
#include "plan/plan.h"
#include "plan/sweep/sweep.h"
#include "policy/table.h"
#include "scenario/load.h"
#include "scenario/model_files.h"
#include "spec/engine_version.h"
#include "spec/tiers.h"
#include "validate/studies/study.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

struct ShowArgs {
  std::string what;
  std::string name;
  bool json = false;
  ShowMemoryArgs memory;
};

struct Entry {
  std::string name;
  std::string summary;
  Json details;
};

std::string text_or(const Json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

// Returns the text up to the first of these characters, to shorten it for a list.
std::string beginning(const std::string& text, std::string_view marks) {
  return text.substr(0, text.find_first_of(marks));
}

// Returns each value of policy.restore with its effect and the state that it needs: "restore: project (keep:
// ...): ...".
Json ways_to_restore() {
  Json ways = Json::array();
  for (const RestoreRow& row : restore_table()) {
    const std::string keeps = joined(row.keeps, " or ", [](Keep keep) { return name(keep); });
    ways.push_back("restore: " + std::string(name(row.restore)) + " (keep: " + keeps +
                   "): " + std::string(row.summary));
  }
  return ways;
}

// Returns the version in the value of --engine, e.g. 0.19 in "vllm@0.19", or the newest known version if none
// is given; nullopt for an engine other than vLLM.
std::optional<EngineVersion> vllm_version(const std::string& engine) {
  const std::size_t at = engine.find('@');
  const std::string name = engine.substr(0, at);
  if (!name.empty() && std::ranges::find(kEngineNames, name) == std::end(kEngineNames)) {
    throw InputError("--engine: found \"" + name + "\", allowed: " + joined(kEngineNames) +
                     suggestion(name, {std::begin(kEngineNames), std::end(kEngineNames)}));
  }
  if (!name.empty() && name != name_of(EngineKind::vllm)) return {};
  if (at == std::string::npos) return kNewestVllm;
  const std::optional<EngineVersion> version = parse_engine_version(engine.substr(at + 1));
  if (!version) throw InputError("--engine: found \"" + engine + "\", allowed: a version, as in vllm@0.19");
  return std::min(*version, kNewestVllm);
}

// Returns an entry per policy. `vllm`: the vLLM version that each preset is compared with; nullopt: no
// comparison.
std::vector<Entry> policies(std::optional<EngineVersion> vllm) {
  std::vector<Entry> entries;
  for (const PolicyRow& row : policy_table()) {
    Json details = {{"name", row.name},       {"summary", row.summary},
                    {"keep", name(row.keep)}, {"restore", name(row.restore)},
                    {"keeps", row.keeps},     {"restores", row.restores},
                    {"when", row.wins},       {"options", policy_options_help(row.name)}};
    if (!row.leaves_out.empty()) details["not_modelled"] = row.leaves_out;
    if (!row.read_from.empty()) details["read_from"] = row.read_from;
    const std::string older = vllm ? older_preset_text(row, *vllm) : "";
    if (!older.empty()) details["assumed"] = older;
    if (!row.accuracy.empty()) details["accuracy"] = row.accuracy;
    if (const std::vector<std::string> flags = policy_flag_lines(row.name); !flags.empty()) {
      details["flags"] = flags;
    }
    details["ways_to_restore"] = ways_to_restore();
    entries.push_back({std::string(row.name), std::string(row.summary), std::move(details)});
  }
  return entries;
}

std::vector<Entry> files(Catalogue which) {
  std::vector<Entry> entries;
  for (const CatalogueEntry& file : catalogue(which)) {
    Json details = Json::parse(file.text);
    std::string summary;
    if (which == Catalogue::models) summary = sizes_summary(load_model(std::string(file.name)));
    if (which == Catalogue::hardware) {
      summary = std::to_string(details["gpu"]["count"].get<int64_t>()) + "x " +
                text_or(details["gpu"], "name") + " (" + text_or(details["provenance"], "kind") + ": " +
                beginning(text_or(details["provenance"], "source"), ",;(") + ")";
    }
    entries.push_back({std::string(file.name), summary, std::move(details)});
  }
  return entries;
}

// Returns the values of workload.source.kind: file formats, then generators, with their distributions if they
// have any.
std::vector<Entry> workloads() {
  std::vector<Entry> formats, generators;
  const std::vector<Entry> fitted = files(Catalogue::workloads);
  for (const SourceRow& row : source_table()) {
    if (!row.is_generated) {
      const Json details = {{"name", row.name}, {"summary", row.summary}, {"format", "traces/README.md"}};
      formats.push_back({std::string(row.name), std::string(row.summary), details});
      continue;
    }
    const auto found =
        std::find_if(fitted.begin(), fitted.end(), [&](const Entry& one) { return one.name == row.name; });
    const std::string summary = "generator: " + std::string(row.summary);
    generators.push_back(
        {std::string(row.name), summary,
         found == fitted.end() ? Json({{"name", row.name}, {"summary", row.summary}}) : found->details});
  }
  std::move(generators.begin(), generators.end(), std::back_inserter(formats));
  return formats;
}

// A subject of kvcap show, with a line that describes it.
struct Topic {
  std::string_view name, line;
};
constexpr Topic kTopics[] = {
    {"policies", "policies, and when each of them pays"},
    {"models", "models of the catalogue with their sizes"},
    {"hardware", "machines, and where each of their numbers comes from"},
    {"workloads", "formats of traces, and generators"},
    {"fields", "fields of a scenario, for --set; with a name: those whose path contains it"},
    {"flags", "which field each flag of vLLM, SGLang, TensorRT-LLM, LMCache and Dynamo sets"},
    {"memory", "where the memory of one GPU goes; with the name of a scenario, or --model and --hardware"},
    {"support", "what predicted times are based on, for each GPU and engine; with the name of a model"},
    {"schema", "JSON Schemas of files, for editors; with a name: scenario, plan, sweep, study, ..."},
};

std::vector<Entry> all_topics() {
  std::vector<Entry> entries;
  for (const Topic& one : kTopics) entries.push_back({std::string(one.name), std::string(one.line), {}});
  return entries;
}

std::vector<Entry> entries_of(const ShowArgs& args) {
  const std::string& what = args.what;
  if (what == "policies") return policies(vllm_version(args.memory.engine));
  if (what == "models") return files(Catalogue::models);
  if (what == "hardware") return files(Catalogue::hardware);
  if (what == "workloads") return workloads();
  std::vector<std::string_view> names;
  for (const Topic& one : kTopics) names.push_back(one.name);
  throw InputError("show: found \"" + what + "\", allowed: " + joined(names, ", ") + suggestion(what, names));
}

// Longer lists are printed as their number of entries; --json prints them in full.
constexpr std::size_t kLongList = 20;

std::string value_text(const Json& value) {
  return plain_line(value.is_string() ? value.get<std::string>() : value.dump());
}

void print_lines(const Json& value, const std::string& indent) {
  for (const auto& [key, item] : value.items()) {
    const std::string head = indent + plain_line(key) + ":";
    if (item.is_object()) {
      print(head + "\n");
      print_lines(item, indent + "  ");
    } else if (item.is_array() && !item.empty() && item.front().is_string()) {
      print(head + "\n");
      for (const Json& line : item) print(indent + "  - " + value_text(line) + "\n");
    } else if (item.is_array() && item.size() > kLongList) {
      print(head + " " + std::to_string(item.size()) + " entries (--json prints them)\n");
    } else {
      print(head + " " + value_text(item) + "\n");
    }
  }
}

void show_all(const std::vector<Entry>& entries, bool json) {
  Json list = Json::array();
  for (const Entry& entry : entries) {
    list.push_back({{"name", entry.name}, {"summary", entry.summary}});
    if (entry.details.contains("assumed")) list.back()["assumed"] = entry.details["assumed"];
    if (!json) print(left_aligned(entry.name, 28) + " " + entry.summary + "\n");
  }
  for (const Json& entry : json ? Json::array() : list) {
    if (entry.contains("assumed")) print("\n" + wrapped({"assumed: " + entry["assumed"].get<std::string>()}));
  }
  if (json) print_format("%s\n", list.dump(2).c_str());
}

// Returns "Cost of all hardware per hour: 5.04 $ (GPUs 3.90, dram 1.10, ssd 0.04)", rented or written off; ""
// if the GPUs have no price.
std::string hour_text(const HardwareProfile& hardware) {
  constexpr double kHour_s = 3600;
  const double gpus = static_cast<double>(hardware.gpu.count) * gpu_usd_per_hour(hardware);
  if (gpus == 0) return "";
  std::string parts = "GPUs " + format_number(gpus);
  double total = gpus;
  for (Tier tier : kHostTiers) {
    const std::optional<TierFacts> facts = tier_facts(hardware, tier);
    if (!facts) continue;
    const double usd = store_usd(hardware, tier, facts->capacity_bytes, kHour_s);
    total += usd;
    parts += ", " + std::string(name(tier)) + " " + format_number(usd);
  }
  return "Cost of all hardware per hour: " + format_number(total) + " $ (" + parts + ")\n\n";
}

// Returns "Collectives: PCIe (hardware.peer direct), measured".
std::string collectives_text(const HardwareProfile& hardware) {
  return "Collectives: " + link_text(hardware) +
         (has_own_collectives(hardware) ? ", measured\n\n" : ", not measured\n\n");
}

void print_entry(const Entry& entry, const ShowArgs& args) {
  const bool is_model = args.what == "models";
  if (args.json) {
    Json details = entry.details;
    if (is_model) details["sizes"] = sizes_json(load_model(args.name));
    print_format("%s\n", details.dump(2).c_str());
    return;
  }
  print_lines(entry.details, "");
  if (is_model) print_format("\n%s", sizes_text(load_model(args.name)).c_str());
  if (args.what != "hardware") return;
  const HardwareProfile hardware = load_hardware(args.name);
  print_format("\n%s%s%s", hour_text(hardware).c_str(), collectives_text(hardware).c_str(),
               efficiency_plot(hardware.gpu).c_str());
}

// Returns an entry with the contents of a user's file. Throws InputError if the file is not valid.
Entry file_entry(const ShowArgs& args) {
  if (args.what == "hardware") load_hardware(args.name);
  if (args.what == "models") load_model(args.name);
  return {args.name, "", Json::parse(with_nulls_for_python_numbers(read_text(args.name)))};
}

// Returns the catalogue entry or the file that a model's name stands for.
std::string model_of_name(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_regular_file(name, ignored)) return name;
  if (fs::is_regular_file(fs::path(name) / "config.json", ignored)) return name + "/config.json";
  if (const auto known = known_model(name)) return std::string(*known);
  const auto cached = cached_config(name);
  return cached ? cached->string() : name;
}

bool is_file_of_user(const ShowArgs& args) {
  return (args.what == "hardware" || args.what == "models") && std::filesystem::is_regular_file(args.name);
}

void show_one(const std::vector<Entry>& entries, ShowArgs args) {
  if (args.what == "models") args.name = model_of_name(args.name);
  std::vector<std::string_view> names;
  std::string allowed;
  for (const Entry& entry : entries) {
    if (entry.name == args.name) {
      print_entry(entry, args);
      return;
    }
    names.push_back(entry.name);
    allowed += (allowed.empty() ? "" : ", ") + entry.name;
  }
  if (is_file_of_user(args)) {
    print_entry(file_entry(args), args);
    return;
  }
  constexpr std::size_t kFewNames = 100;
  if (names.size() > kFewNames)
    allowed = "one of the " + std::to_string(names.size()) + " of kvcap show " + args.what;
  throw InputError("show " + args.what + ": found \"" + args.name + "\", allowed: " + allowed +
                   (args.what == "models" ? fetch_hint(args.name) : "") + suggestion(args.name, names));
}

void refuse_memory_options(const ShowArgs& args) {
  const ShowMemoryArgs& memory = args.memory;
  const char* given = !memory.overrides.empty()  ? "--set"
                      : !memory.model.empty()    ? "--model"
                      : !memory.hardware.empty() ? "--hardware"
                      : memory.gpus              ? "--gpus"
                                                 : nullptr;
  if (given) throw InputError("show " + args.what + ": found " + given + ", allowed: only with memory");
  if (memory.engine.empty() || args.what == "policies") return;
  throw InputError("show " + args.what + ": found --engine, allowed: with memory or policies");
}

// A kind of file that users write.
struct FileSchema {
  std::string_view name, line;
  std::string (*schema)();
};
constexpr FileSchema kFileSchemas[] = {
    {"scenario", "a simulation: kvcap run, compare, capacity", scenario_json_schema},
    {"plan", "a search for hardware: kvcap plan", plan_json_schema},
    {"sweep", "many scenarios: kvcap sweep", sweep_json_schema},
    {"study", "checks against references: kvcap validate", study_json_schema},
    {"prices", "your prices: --prices", prices_json_schema},
    {"hardware", "a machine: --gpu, hardware", hardware_json_schema},
    {"model", "a model: --model, model", model_json_schema},
};

void show_schema(const ShowArgs& args) {
  std::vector<Entry> entries;
  std::vector<std::string_view> names;
  for (const FileSchema& one : kFileSchemas) {
    if (one.name == args.name) return print(one.schema());
    entries.push_back({std::string(one.name), std::string(one.line), {}});
    names.push_back(one.name);
  }
  if (args.name.empty()) return show_all(entries, args.json);
  throw InputError("show schema: found \"" + args.name + "\", allowed: " + joined(names) +
                   suggestion(args.name, names));
}

void show(const ShowArgs& args) {
  if (args.what == "memory") {
    ShowMemoryArgs memory = args.memory;
    memory.scenario = args.name;
    memory.json = args.json;
    show_memory(memory);
    return;
  }
  refuse_memory_options(args);
  if (args.what.empty()) {
    show_all(all_topics(), args.json);
    return;
  }
  if (args.what == "flags") {
    show_flags(args.name, args.json);
    return;
  }
  if (args.what == "fields") {
    show_fields(args.name, args.json);
    return;
  }
  if (args.what == "support") {
    show_support(args.name.empty() ? "" : model_of_name(args.name), args.json);
    return;
  }
  if (args.what == "schema") {
    show_schema(args);
    return;
  }
  const std::vector<Entry> entries = entries_of(args);
  if (args.name.empty()) {
    show_all(entries, args.json);
  } else {
    show_one(entries, args);
  }
}

}  // namespace

void add_show(CLI::App& app) {
  auto args = std::make_shared<ShowArgs>();
  Command command(
      app, "show",
      "the catalogue: policies, models, hardware, workloads; fields, flags; where GPU memory goes");
  command.value(
      "what", args->what,
      "policies, models, hardware or workloads; fields: fields of a scenario; flags: which field each "
      "flag of vLLM, SGLang, TensorRT-LLM, LMCache and Dynamo sets; memory: where the memory of one "
      "GPU goes, term by term; support: what a model's predicted times are based on, for each GPU and "
      "engine; schema: the JSON Schema of a kind of file, for editors; default: list these subjects");
  command.value("name", args->name,
                "one entry, or the path of a model or hardware file: everything about it, and where "
                "each number comes from; default: list all entries. For fields: a path or a part of it; for "
                "memory: a scenario file; for support: a model; for schema: a kind of file");
  command.value("--model", args->memory.model, "memory: the model, in place of the scenario's");
  command.value("--hardware", args->memory.hardware, "memory: the hardware, in place of the scenario's");
  command.value("--gpus", args->memory.gpus, "memory: GPUs of the tensor-parallel group");
  command.value("--engine", args->memory.engine,
                "memory, policies: vllm, sglang or trtllm; with its version: vllm@0.19");
  command.repeated("--set", args->memory.overrides, "memory: override a field: path=value");
  declare_model_options(command);
  command.flag("--json", args->json, "print JSON");
  command.footer("Example: kvcap show memory --model llama-3.1-8b --hardware rtx-4090");
  command.runs([args] { show(*args); });
}

}  // namespace kvcap
