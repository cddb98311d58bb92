#include "commands/question.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/field_visitor.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/units.h"
#include "commands/command_line.h"
#include "commands/output.h"
#include "launch/stack_tiers.h"
#include "policy/table.h"
#include "run/engine_memory.h"
#include "scenario/servers.h"
#include "workload/generators/agents.h"
#include "workload/sources_table.h"

namespace kvcap {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCommandLine = "the command line";

Override option(const std::string& name, const std::string& value, std::string path, const Json& json) {
  return {std::move(path), json.dump(), std::string(name).append(" ").append(value), {}};
}

// Returns the workload source of --workload: a generator's name, or a file whose format is detected from its
// beginning.
Json source_of(const QuestionArgs& args) {
  const std::string& workload = args.workload;
  std::vector<std::string_view> generators;
  for (const SourceRow& row : source_table()) {
    if (row.is_generated) generators.push_back(row.name);
  }
  if (std::find(generators.begin(), generators.end(), workload) != generators.end()) {
    return {{"kind", workload}};
  }
  if (!std::filesystem::exists(workload)) {
    throw InputError("--workload: found \"" + workload + "\", allowed: " + joined(generators) +
                     ", or a file" + suggestion(workload, generators));
  }
  if (!args.columns.empty()) return {{"kind", "csv"}, {"path", workload}, {"columns", args.columns}};
  return {{"kind", guess_source(workload).name}, {"path", workload}};
}

// True iff the source is a file in a format that may contain arrival times.
bool has_arrivals(const Json& source) {
  return source.contains("path") && source_row(source.at("kind").get<std::string>()).has_arrivals;
}

// Returns the sizes of one tier.
std::vector<Storage::Size> sizes_of(Tier tier, const std::string& list) {
  std::vector<Storage::Size> sizes;
  if (list.empty()) return sizes;
  for (const std::string& text : list_items(list)) {
    const std::optional<double> bytes = number_with_unit(text, UnitOf::bytes);
    // A size without a unit would be read as bytes, which is hardly ever meant.
    const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
    if (!bytes || !(*bytes >= 0) || !has_unit) {
      throw InputError(
          "--" + std::string(name(tier)) + ": found \"" + text +
          "\", allowed: a size such as 250GB or 2TiB, or 0GB for none, several separated by commas");
    }
    sizes.push_back({tier, *bytes, text});
  }
  return sizes;
}

std::vector<Storage> combinations(const QuestionArgs& args) {
  std::vector<Storage> all;
  for (const auto& [tier, list] : {std::pair(Tier::dram, args.dram), std::pair(Tier::ssd, args.ssd)}) {
    const std::vector<Storage::Size> sizes = sizes_of(tier, list);
    if (sizes.empty()) continue;
    if (all.empty()) all.emplace_back();
    std::vector<Storage> finer;
    for (const Storage& one : all) {
      for (const Storage::Size& size : sizes) finer.emplace_back(one).sizes.push_back(size);
    }
    all = std::move(finer);
  }
  return all;
}

Stack stack_of(EngineKind engine) {
  const auto found = std::find(std::begin(kStackNames), std::end(kStackNames),
                               kEngineNames[static_cast<std::size_t>(engine)]);
  return static_cast<Stack>(found - std::begin(kStackNames));
}

// Returns the value to write for a field: if `given` is a text, such as "4TB", the field's value in the
// resolved scenario, otherwise `given`.
Json resolved_value(const Json& resolved, const Json::json_pointer& place, const Json& given) {
  return given.is_string() && resolved.contains(place) ? resolved.at(place) : given;
}

Json::json_pointer pointer_of(std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  return Json::json_pointer("/" + path);
}

// Sets a field in the text of a scenario. A model or hardware is written in full if an override changes a
// part of it.
void write_override(const Override& override, const Json& resolved, Json& written) {
  const std::string first = override.path.substr(0, override.path.find('.'));
  const bool is_part = first != override.path;
  if ((first == "model" || first == "hardware") && is_part) {
    written[first] = resolved.at(first);
    return;
  }
  if (is_part && written.contains(first) && written[first].is_string()) {
    written[first] = Json{{"name", written[first]}};
  }
  Json value = Json::parse(override.value, nullptr, false);
  if (value.is_discarded()) value = override.value;
  const Json::json_pointer place = pointer_of(override.path);
  written[place] = is_part ? resolved_value(resolved, place, value) : value;
}

}  // namespace

std::string Storage::label() const {
  return joined(sizes, " ",
                [](const Size& one) { return std::string(kvcap::name(one.tier)) + "=" + one.text; });
}

void add_question(Command& command, QuestionArgs& args, const char* file, const char* meaning,
                  bool can_save) {
  command.value(file, args.file, std::string(meaning) + "; without a file, use the options below");
  command.value("--model", args.model, "model: a name of kvcap show models or of Hugging Face, or a path");
  command.value("--gpu,--hardware", args.hardware, "GPU or server: a name of kvcap show hardware, or a path");
  command.value("--gpus", args.gpus, "GPUs of one engine (tensor parallel size)").within(1, 1024);
  command.value("--engine", args.engine, "vllm, sglang or trtllm; with its version: vllm@0.19");
  command.value("--workload", args.workload, "chat, agents, rag, ..., or a trace file");
  command.value("--columns", args.columns, "columns of a CSV: arrival=timestamp,input=prompt_tokens,...");
  command.value("--rate", args.requests_per_s, "requests per second, with Poisson arrivals");
  command.value("--concurrency", args.concurrency, "sessions that are active at once, in place of --rate")
      .within(1, 1000000);
  command.value("--dram", args.dram, "DRAM for KV: 250GB; compare and plan take several: 0GB,100GB");
  command.value("--ssd", args.ssd, "SSD for KV: 4TB");
  if (can_save) command.value("--save", args.save, "file to write the scenario of this command to");
  add_from(command, args.from);
  command.repeated(
      "--set", args.set,
      "override a field: path=value, e.g. workload.think_time.mean_s=40s; several: --set a=1 --set b=2");
}

// Returns the given size of the tier in bytes; nullopt if none is given.
static std::optional<double> size_of(const Storage& storage, Tier tier) {
  for (const Storage::Size& one : storage.sizes) {
    if (one.tier == tier) return one.bytes;
  }
  return std::nullopt;
}

// Returns a tier of this policy as JSON: the options that the policy's serving stack gives the tier, and the
// size if one is given.
static std::string sized_tier(std::string_view policy, Tier tier, std::optional<double> bytes) {
  const TierOptions* own = stack_tier(policy, name(tier));
  std::map<std::string, std::string> members;
  if (bytes) members["capacity_bytes"] = Json(*bytes).dump();
  return tier_json(own ? *own : TierOptions{.kind = tier}, members);
}

Overrides storing(std::string_view policy, const Storage& storage, const std::string& place,
                  const std::vector<Tier>& chosen) {
  const std::span<const std::string_view> names = policy_names();
  if (std::find(names.begin(), names.end(), policy) == names.end()) return {};  // refused when it is loaded
  if (!stores(with_preset({.name = std::string(policy)}))) return {};
  const PolicyRow& row = policy_row(policy);
  std::vector<std::string> tiers;
  bool is_sized = false;
  for (Tier tier : chosen) {
    const std::optional<double> bytes = size_of(storage, tier);
    is_sized = is_sized || bytes;
    tiers.push_back(bytes ? sized_tier(policy, tier, bytes) : Json{{"kind", name(tier)}}.dump());
  }
  for (Tier tier : chosen.empty() ? std::span<const Tier>(kHostTiers) : std::span<const Tier>()) {
    const std::optional<double> bytes = size_of(storage, tier);
    const bool is_default = std::any_of(row.tiers.begin(), row.tiers.end(),
                                        [tier](const TierOptions& one) { return one.kind == tier; });
    const bool takes_size = bytes && (stack_tier(policy, name(tier)) != nullptr || row.tiers.empty());
    is_sized = is_sized || takes_size;
    if (takes_size || is_default) {
      tiers.push_back(sized_tier(policy, tier, takes_size ? bytes : std::nullopt));
    }
  }
  if (!is_sized) return {};
  return {{"policy.tiers", "[" + joined(tiers) + "]", place, {}}};
}

std::string options_text(const QuestionArgs& args) {
  std::vector<std::string> words;
  const auto add = [&words](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  add("--from", args.from.line);
  add("--ignore-flags", args.from.ignored);
  add("--model", args.model);
  add("--gpu", args.hardware);
  if (args.gpus) add("--gpus", std::to_string(*args.gpus));
  add("--engine", args.engine);
  add("--workload", args.workload);
  add("--columns", args.columns);
  if (args.requests_per_s) add("--rate", number_text(*args.requests_per_s));
  if (args.concurrency) add("--concurrency", std::to_string(*args.concurrency));
  return joined(words, " ", shell_word);
}

Overrides with_set_tiers(Overrides setting, const Overrides& set) {
  const Overrides chosen = setting;
  for (const Override& one : set) {
    const bool is_part = one.path.starts_with("policy.tiers.");
    const std::string path = is_part ? "policy.tiers" : one.path;
    const auto found = std::find_if(chosen.begin(), chosen.end(),
                                    [&path](const Override& other) { return other.path == path; });
    if (found == chosen.end()) continue;
    if (!is_part) {
      throw InputError(
          one.place + ": found with " + found->place + ", which also sets it, allowed: one of them" +
          (path == "policy.tiers" ? "; parts of a tier: policy.tiers.0.capacity_bytes=100GB" : ""));
    }
    setting.push_back(one);
  }
  return setting;
}

// Returns, as JSON, the base scenario of a command that is given by options alone, without a file.
static std::string base_of(const QuestionArgs& args) {
  std::string name = args.model.empty() ? "" : std::filesystem::path(args.model).filename().string();
  name += (name.empty() ? "" : "-") + std::filesystem::path(args.workload).stem().string();
  Json base = {{"schema", "kvcap.scenario/1"},
               {"name", name},
               {"kvcap_version", KVCAP_VERSION},
               {"policy", "recompute"},
               {"workload", Json::object()}};
  if (!args.hardware.empty()) base["hardware"] = args.hardware;
  return base.dump();
}

// Returns the arguments, with --gpus set to the number of GPUs that the launch line uses if the profile of
// --gpu has fewer.
static QuestionArgs with_gpus_of(const std::optional<LaunchLine>& line, QuestionArgs args) {
  if (!line || args.gpus || args.hardware.empty()) return args;
  int64_t gpus = 1;
  for (const std::string& one : line->overrides) {
    for (const std::string_view field : {"serving.tensor_parallel_size=", "serving.pipeline_parallel_size=",
                                         "serving.data_parallel_size="}) {
      if (one.starts_with(field)) gpus *= std::clamp(std::atoll(one.c_str() + field.size()), 1LL, 1024LL);
    }
  }
  const Gpu gpu = load_hardware(args.hardware).gpu;
  if (gpu.count >= gpus) return args;
  if (gpus > gpu.per_server.value_or(gpus)) {
    throw InputError("--from: found an engine on " + std::to_string(gpus) + " GPUs, allowed: at most the " +
                     std::to_string(*gpu.per_server) + " of a server of " + args.hardware +
                     ", because engines on several servers are not simulated; --gpus " +
                     std::to_string(gpus) + " simulates one server with all of them");
  }
  args.gpus = gpus;
  return args;
}

Question::Question(const QuestionArgs& given, const Asker& asker)
    : Question(given, asker, line_of(given.from)) {}

Question::Question(const QuestionArgs& given, const Asker& asker, std::optional<LaunchLine> line)
    : args_(with_gpus_of(line, given)) {
  const QuestionArgs& args = args_;
  storages_ = combinations(args);
  if (asker.plan_base) {
    base_ = *asker.plan_base;
  } else if (!args.file.empty()) {
    base_ = args.file;
  } else {
    base_.path = kCommandLine;
    base_.text = base_of(args);
    base_.command = options_text(args);
    require_options(asker);
  }
  options_ = options(args, asker);
  for (const std::string& one : with_prices(args.prices, args.set)) set_.push_back(override_of(one));
  Overrides all = options_;
  all.insert(all.end(), set_.begin(), set_.end());
  from_ = launched(args.from, std::move(line), all, [&](Overrides overrides) {
    if (asker.chooses) std::erase_if(overrides, [&](const Override& one) { return asker.chooses(one.path); });
    return load_scenario_with(base_, overrides);
  });
  if (asker.chooses) {
    std::erase_if(from_.overrides,
                  [&](const std::string& one) { return asker.chooses(one.substr(0, one.find('='))); });
  }
  if (asker.chooses && asker.chooses("hardware")) {
    // Removes the engine's defaults for one machine, because machine_defaults() gives those for each machine
    // that is searched.
    for (const std::string& one : std::exchange(from_.defaults, {})) std::erase(from_.overrides, one);
    if (from_.line.has_longest_that_fits) {
      std::erase_if(from_.overrides,
                    [](const std::string& one) { return one.starts_with("serving.max_model_len="); });
    }
  }
  if (!has_file()) fill_in(asker);
  if (!asker.has_sizes && !storages_.empty()) store();
}

// Throws InputError for the first missing option of a question without a file.
void Question::require_options(const Asker& asker) const {
  const auto require = [](bool is_given, const std::string& option) {
    if (is_given) return;
    throw InputError("found no scenario file and no " + option +
                     ", allowed: a file, or --model, --gpu, --workload and --rate or --concurrency");
  };
  require(!args_.model.empty() || !args_.from.line.empty(), "--model");
  require(!args_.hardware.empty() || asker.chooses, "--gpu");
  require(!args_.workload.empty(), "--workload");
  const bool has_times = has_arrivals(source_of(args_));
  const bool sets_arrivals = std::any_of(args_.set.begin(), args_.set.end(), [](const std::string& one) {
    return one.starts_with("workload.arrivals");
  });
  require(!asker.needs_load || has_times || sets_arrivals || args_.requests_per_s || args_.concurrency,
          "--rate or --concurrency");
}

// Adds overrides for the hardware and the number of GPUs of one engine. On a larger server,
// tensor_parallel_size alone decides how many of its GPUs are used, unless a file or a launch line sets that
// field.
void Question::add_gpus(const QuestionArgs& args, Overrides& all) const {
  const bool is_named = !args.hardware.empty();
  const HardwareProfile own = is_named ? load_hardware(args.hardware) : load_scenario(base_, {}).hardware;
  const std::string name = is_named ? args.hardware : own.name;
  const std::string server = server_of(own, name, *args.gpus);
  const std::string gpus = std::to_string(*args.gpus);
  if (is_named || server != name) all.push_back(option("--gpu", server, "hardware", server));
  const bool is_share = own.gpu.count >= *args.gpus || server != name;
  if (has_file() || !is_share || !args.from.line.empty()) {
    all.push_back(option("--gpus", gpus, "hardware.gpu.count", *args.gpus));
  }
  if (args.from.line.empty()) {
    all.push_back(option("--gpus", gpus, "serving.tensor_parallel_size", *args.gpus));
  }
}

// Returns the overrides that the options stand for.
Overrides Question::options(const QuestionArgs& args, const Asker& asker) const {
  Overrides all;
  const auto add = [&all](const std::string& name, const std::string& value, const char* path,
                          const Json& json) { all.push_back(option(name, value, path, json)); };
  if (!args.model.empty()) add("--model", args.model, "model", args.model);
  if (args.gpus) {
    add_gpus(args, all);
  } else if (!args.hardware.empty()) {
    add("--gpu", args.hardware, "hardware", args.hardware);
  }
  if (!args.engine.empty()) {
    const std::size_t at = args.engine.find('@');
    add("--engine", args.engine, "serving.engine", args.engine.substr(0, at));
    if (at != std::string::npos)
      add("--engine", args.engine, "serving.engine_version", args.engine.substr(at + 1));
  }
  if (!args.workload.empty()) {
    const Json source = source_of(args);
    add("--workload", args.workload, "workload.source", source);
    // A command without a load, such as a capacity search, chooses the rate itself; 1 is only a placeholder.
    const Json arrivals = asker.needs_load ? Json{{"process", "trace"}} : Json{{"requests_per_s", 1}};
    if (has_arrivals(source)) add("--workload", args.workload, "workload.arrivals", arrivals);
  }
  if (args.requests_per_s && args.concurrency) {
    throw InputError("found --rate and --concurrency, allowed: one of them");
  }
  if (args.requests_per_s) {
    add("--rate", format_number(*args.requests_per_s), "workload.arrivals",
        {{"process", "poisson"}, {"requests_per_s", *args.requests_per_s}});
  }
  if (args.concurrency) {
    add("--concurrency", std::to_string(*args.concurrency), "workload.arrivals",
        {{"process", "closed_loop"}, {"concurrency", *args.concurrency}});
  }
  return all;
}

// Adds the defaults of a question without a file: those that depend on the machine, unless a plan chooses the
// machine, and those of the workload.
void Question::fill_in(const Asker& asker) {
  const auto sets = [this](const std::string& path) {
    const auto is_meant = [&path](const Override& one) { return one.path == path; };
    return std::any_of(set_.begin(), set_.end(), is_meant) ||
           std::any_of(from_.overrides.begin(), from_.overrides.end(),
                       [&path](const std::string& one) { return one.starts_with(path + "="); });
  };
  const auto add = [&](const std::string& path, const std::string& value) {
    options_.push_back({path, value, kCommandLine, {}});
  };
  const Scenario first = load_machine();
  const bool has_machine = !asker.chooses;
  if (has_machine && !from_.is_given()) {
    for (const std::string& one : machine_defaults()(first)) {
      if (!sets(one.substr(0, one.find('=')))) options_.push_back(override_of(one));
    }
  }
  if (has_machine && !sets("serving.max_model_len")) {
    const int64_t tokens = longest_that_fits(load_machine(), first.serving.kv_capacity_tokens);
    if (tokens > 0) {
      add("serving.max_model_len", std::to_string(tokens));
      if (tokens < first.model.max_position_embeddings) {
        notes_.push_back("serving.max_model_len is " + format_count(tokens, "token") +
                         ", the longest sequence that fits; the model's is " +
                         format_count(first.model.max_position_embeddings, "token"));
      }
    }
  }
  // With constant think times all contexts return after the same time, so a cache would hit all of them or
  // none.
  if (args_.workload == "chat" && !sets("workload.think_time.distribution") && !sets("workload.think_time")) {
    add("workload.think_time.distribution", "exponential");
  }
  // A generated workload runs until it reaches the steady state, unless its number of sessions is given.
  const bool is_generated = source_row(source_of(args_).at("kind").get<std::string>()).is_generated;
  if (asker.needs_load && is_generated && !sets("workload.sessions") && !sets("workload.run_length")) {
    add("workload.run_length", "steady");
  }
  if (args_.workload == "agents" && !sets("workload.source.max_prompt_tokens")) {
    const int64_t longest =
        load_machine().serving.max_model_len.value_or(first.model.max_position_embeddings);
    add("workload.source.max_prompt_tokens", std::to_string(agent_prompt_limit(longest)));
  }
}

std::function<std::vector<std::string>(const Scenario&)> Question::machine_defaults() const {
  if (from_.is_given()) {
    return [line = from_.line](const Scenario& one) { return defaults_on(line, one.hardware); };
  }
  return [](const Scenario& one) {
    LaunchLine installed;
    installed.engine = stack_of(one.serving.engine);
    return defaults_on(installed, one.hardware);
  };
}

Overrides Question::overrides() const {
  Overrides given = options_;
  given.insert(given.end(), set_.begin(), set_.end());
  return with_line(launched_overrides(from_), given);
}

Scenario Question::load(const Overrides& more, const std::string& file) const {
  Overrides all = overrides();
  all.insert(all.end(), more.begin(), more.end());
  Scenario scenario = load_scenario_with(file.empty() ? base_ : BaseScenario(file), all);
  add_notes(from_, scenario);
  scenario.notes.insert(scenario.notes.end(), notes_.begin(), notes_.end());
  return scenario;
}

// Loads the scenario without the --set options that change a part of a tier: the policy to run is not chosen
// yet, and the scenario's own may lack that tier.
Scenario Question::load_machine() const {
  Overrides all = overrides();
  std::erase_if(all, [](const Override& one) { return one.path.starts_with("policy.tiers."); });
  return load_scenario_with(base_, all);
}

std::vector<std::string> Question::own_policies() const { return policies_of(load_machine().serving.engine); }

void Question::store() {
  if (storages_.size() > 1) {
    throw InputError(
        "found several sizes of --dram or --ssd, allowed: one of each; kvcap compare takes several");
  }
  const std::string place = "--dram, --ssd";
  const PolicyOptions own = load().policy;
  const std::vector<std::string> policies =
      stores(with_preset(own)) ? std::vector<std::string>{own.name} : own_policies();
  for (const std::string& policy : policies) {
    const Overrides tiers = storing(policy, storages_.front(), place);
    if (tiers.empty()) continue;
    if (policy != own.name) set_.push_back({"policy", Json(policy).dump(), place, {}});
    const Overrides stored = with_set_tiers(tiers, set_);
    set_.insert(set_.end(), stored.begin(), stored.end());
    return;
  }
  throw InputError(place + ": found " + storages_.front().label() + ", and " + joined(policies, " and ") +
                   " cannot store there; another policy: --set policy.name=lmcache");
}

// Returns the text of a scenario file with these overrides. A model or hardware is written as a name unless
// an override changes a part of it.
std::string Question::text_of(const Scenario& scenario, const Overrides& overrides) const {
  const Json resolved = Json::parse(scenario.resolved_json);
  Json written = {{"schema", nullptr},   {"name", nullptr},     {"kvcap_version", nullptr},
                  {"model", nullptr},    {"hardware", nullptr}, {"serving", nullptr},
                  {"workload", nullptr}, {"policy", nullptr}};
  written.update(Json::parse(base_.text));
  for (const Override& one : overrides) write_override(one, resolved, written);
  for (auto one = written.begin(); one != written.end();) {
    one = one->is_null() ? written.erase(one) : std::next(one);
  }
  return written.dump(2) + "\n";
}

std::string Question::text_without_set() const {
  const Overrides overrides = with_line(launched_overrides(from_), options_);
  return text_of(load_scenario_with(base_, overrides), overrides);
}

void Question::save(const Scenario& scenario, const Overrides& more) const {
  if (args_.save.empty()) return;
  Overrides all = overrides();
  all.insert(all.end(), more.begin(), more.end());
  const std::string text =
      has_file() ? Json::parse(scenario.resolved_json).dump(2) + "\n" : text_of(scenario, all);
  if (std::filesystem::is_regular_file(args_.save)) {
    if (read_text(args_.save) == text) return;
    throw InputError("--save: " + args_.save +
                     " already exists with different contents; choose another file or remove it");
  }
  refuse_to_replace("--save", args_.save, files_of(scenario));
  write_file(args_.save, text);
}

}  // namespace kvcap
