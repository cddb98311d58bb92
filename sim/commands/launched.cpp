#include "commands/launched.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/plain_text.h"
#include "base/text/print.h"
#include "base/text/width.h"
#include "commands/command_line.h"
#include "launch/deployment.h"
#include "launch/values.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "scenario/load.h"
#include "scenario/model_files.h"

namespace kvcap {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFromHelp =
    "an engine's launch line to start from, on the scenario's hardware and workload: "
    "'vllm serve Qwen/Qwen3-32B -tp 2 --kv-offloading-size 100'; or a manifest with one: deployment.yaml, "
    "values.yaml#NAME";

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names = list_items(list);
  for (std::string& name : names) name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  std::erase(names, "");
  return names;
}

std::string path_of(const std::string& change) { return change.substr(0, change.find('=')); }
std::string value_of(const std::string& change) { return change.substr(change.find('=') + 1); }

// Returns the flag of the launch line that sets this field or a field inside it; "" if none does.
std::string flag_of(const LaunchLine& line, const std::string& path) {
  for (const TakenFlag& one : line.flags) {
    for (const std::string& field : one.fields) {
      if (field == path || field.starts_with(path + ".")) return one.place + one.flag;
    }
  }
  return "";
}

// Returns overrides for fields that the launch line sets. Each names its flag, for error messages.
Overrides placed(const LaunchLine& line, const std::vector<std::string>& fields) {
  Overrides overrides;
  for (const std::string& one : fields) {
    Override& field = overrides.emplace_back(override_of(one));
    const std::string flag = flag_of(line, field.path);
    field.place = "--from: " + (flag.empty() ? "" : flag + ": ") + one;
  }
  return overrides;
}

// Loads the scenario with the fields that the launch line sets.
Scenario load_launched(const std::function<Scenario(const Overrides&)>& load, const LaunchLine& line,
                       const std::vector<std::string>& launched, const Overrides& given) {
  try {
    return load(with_line(placed(line, launched), given));
  } catch (const InputError& error) {
    if (std::string(error.what()).find("found \"remote\"") == std::string::npos) throw;
    throw InputError(
        "--from: the launch line uses a remote store, but the hardware has none; describe it: --set "
        "'hardware.remote={\"capacity_bytes\": 1e12, \"bandwidth_bytes_per_s\": 5e10}'");
  }
}

// Returns the KV capacity of an engine whose launch line asks for `tokens`. SGLang and TensorRT-LLM take what
// fits (model_runner.py, init_memory_pool; kv_cache_config.max_tokens), and vLLM takes the blocks as they
// are. Throws InputError if nothing fits, or vLLM's blocks do not fit beside the weights.
int64_t granted_tokens(const LaunchLine& line, const std::string& flag, const Scenario& scenario,
                       int64_t tokens) {
  const GpuMemory memory = planned_memory(scenario);
  if (line.engine != Stack::vllm) {
    if (memory.tokens < 1) throw InputError("--from: " + no_room_for_kv(scenario, memory));
    return std::min(tokens, memory.tokens);
  }
  const double room = scenario.hardware.gpu.memory_bytes - memory.weight_bytes;
  const KvLayout layout = kv_layout(scenario);
  const double bytes = static_cast<double>(layout.blocks_of(tokens)) * memory.block_bytes;
  if (bytes <= room) return tokens;
  throw InputError("--from: " + flag + ": found " + std::to_string(layout.blocks_of(tokens)) +
                   " blocks, which are " + format_number(bytes / 1e9) + " GB, allowed: at most the " +
                   format_number(room / 1e9) + " GB that the weights of " + scenario.model.name +
                   " leave of a GPU");
}

// Returns overrides for the sizes that the launch line gives in bytes or blocks, and for the maximum sequence
// length if the line leaves it to the engine.
std::vector<std::string> sizes_on(const LaunchLine& line, const Scenario& scenario) {
  std::vector<std::string> sizes;
  const KvLayout layout = kv_layout(scenario);
  std::optional<int64_t> kv_tokens = scenario.serving.kv_capacity_tokens;
  if (line.kv_bytes) {
    const double room = scenario.hardware.gpu.memory_bytes - planned_memory(scenario).weight_bytes;
    if (*line.kv_bytes > room) {
      throw InputError("--from: --kv-cache-memory-bytes: found " + format_number(*line.kv_bytes / 1e9) +
                       " GB, allowed: at most the " + format_number(room / 1e9) + " GB that the weights of " +
                       scenario.model.name + " leave of a GPU");
    }
    const int64_t layers = scenario.model.num_hidden_layers;
    const std::vector<PipelineStage> stages =
        pipeline_stages(layers, scenario.serving.pipeline_parallel_size);
    const auto most = std::ranges::max_element(stages, {}, &PipelineStage::layers);
    const double block_bytes =
        layout.block_bytes() * static_cast<double>(most->layers) / static_cast<double>(layers);
    kv_tokens = layout.tokens_of(static_cast<int64_t>(*line.kv_bytes / block_bytes));
    sizes.push_back("serving.kv_capacity_tokens=" + std::to_string(*kv_tokens));
  }
  const std::string flag = flag_of(line, "serving.kv_capacity_tokens");
  if (kv_tokens && !flag.empty() && !line.kv_bytes) {
    const int64_t granted = granted_tokens(line, flag, scenario, *kv_tokens);
    if (granted < *kv_tokens) sizes.push_back("serving.kv_capacity_tokens=" + std::to_string(granted));
    kv_tokens = granted;
  }
  if (line.host_blocks) {
    // A block is divided among the ranks; each data parallel rank has its own blocks.
    const int64_t block = scenario.policy.chunk_tokens.value_or(scenario.serving.block_tokens());
    const double bytes =
        static_cast<double>(*line.host_blocks * block * scenario.serving.data_parallel_size) *
        scenario.model.kv_bytes_per_token();
    sizes.push_back("policy.tiers.0.capacity_bytes=" + Json(bytes).dump());
  }
  if (line.has_longest_that_fits) {
    const int64_t tokens = longest_that_fits(scenario, kv_tokens);
    if (tokens > 0) sizes.push_back("serving.max_model_len=" + std::to_string(tokens));
  }
  return sizes;
}

Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(text) : json;
}

// Returns the value of a field that the table of flags names; null if the line does not set it.
Json field_value(const Launched& launched, const std::string& field) {
  constexpr std::string_view kTiers = "policy.tiers.";
  if (field == "model") return launched.line.model;  // the catalogue's name, not the one on the line
  Json found, tiers;
  for (const std::string& one : launched.overrides) {
    if (path_of(one) == field) found = parsed(value_of(one));
    if (path_of(one) == "policy.tiers") tiers = parsed(value_of(one));
    if (path_of(one) == "policy.tiers.0.capacity_bytes" && tiers.is_array() && !tiers.empty())
      tiers[0]["capacity_bytes"] = parsed(value_of(one));
  }
  if (!field.starts_with(kTiers) || !tiers.is_array()) return found;
  const std::string place = field.substr(kTiers.size());
  const std::string kind = place.substr(0, place.find('.')), key = place.substr(place.find('.') + 1);
  for (const Json& tier : tiers) {
    if (tier.at("kind") == kind && tier.contains(key)) return tier.at(key);
  }
  return found;
}

std::string shown_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  const bool is_whole = value.is_number_float() && value.get<double>() == std::floor(value.get<double>()) &&
                        value.get<double>() < 1e15;
  return is_whole ? integer_json(value.get<double>()) : value.dump();
}

// Shortens a long flag to its beginning and end.
std::string short_name(const std::string& flag) {
  constexpr std::size_t kLongest = 50, kHead = 20, kTail = 27;
  if (flag.size() <= kLongest) return flag;
  return flag.substr(0, kHead) + "..." + flag.substr(flag.size() - kTail);
}

// Returns the flag with which a note begins, such as "--max-num-seqs"; "" if there is none.
std::string flag_of_note(const LaunchLine& line, const std::string& note) {
  for (const TakenFlag& one : line.flags) {
    const std::string placed = one.place + one.flag;
    if (note.starts_with(placed + " ") || note.starts_with(placed + ":")) return one.flag;
  }
  return "";
}

}  // namespace

void add_from(Command& command, FromArgs& args) {
  command.value("--from", args.line, kFromHelp);
  command.value("--ignore-flags", args.ignored,
                "flags of the line to ignore even though they affect the answer: enforce-eager,enable-lora");
}

std::optional<LaunchLine> line_of(const FromArgs& args) {
  if (!args.line.empty()) return read_from(args.line, names_of(args.ignored));
  if (!args.ignored.empty()) throw InputError("--ignore-flags: found without --from, allowed: with --from");
  return {};
}

void declare_emit(Command& command, std::string& emit, const std::string& what) {
  command
      .value("--emit", emit,
             "print only the deployment of " + what +
                 ": the launch line, Helm values of vLLM's production stack (helm) or of llm-d, or a "
                 "DynamoGraphDeployment")
      .one_of(std::vector<std::string>(std::begin(kDeploymentForms), std::end(kDeploymentForms)));
}

// Returns the line's overrides, but with the model's name as written on the line, because several checkpoints
// share a catalogue entry.
static std::vector<std::string> overrides_of(const LaunchLine& line) {
  std::vector<std::string> overrides = line.overrides;
  const auto model = std::find(overrides.begin(), overrides.end(), "model=" + line.model);
  if (model == overrides.end()) return overrides;
  const std::string& written = line.written_model;
  std::error_code ignored;
  const bool is_file = std::filesystem::exists(written, ignored);
  if (!is_file && (known_model(written) || cached_config(written))) {
    *model = "model=" + written;
  } else {
    overrides.insert(model + 1, "model.hugging_face=" + Json(written).dump());
  }
  return overrides;
}

Launched launched(const FromArgs& args, std::optional<LaunchLine> read, const Overrides& given,
                  const std::function<Scenario(const Overrides&)>& load) {
  if (!read) return {};
  Launched launched{.text = args.line, .line = std::move(*read), .overrides = {}, .defaults = {}};
  for (const std::string& note : launched.line.notes) tell("kvcap: --from: " + note);
  // The line replaces the scenario's serving and policy sections.
  std::vector<std::string>& overrides = launched.overrides = {"serving={}", "policy={}"};
  const std::vector<std::string> of_line = overrides_of(launched.line);
  overrides.insert(overrides.end(), of_line.begin(), of_line.end());
  const Scenario first = load_launched(load, launched.line, overrides, given);
  launched.defaults = defaults_on(launched.line, first.hardware);
  overrides.insert(overrides.end(), launched.defaults.begin(), launched.defaults.end());
  const LaunchLine& line = launched.line;
  const bool has_sizes = line.kv_bytes || line.host_blocks || line.has_longest_that_fits ||
                         !flag_of(line, "serving.kv_capacity_tokens").empty();
  if (!has_sizes) return launched;
  const std::vector<std::string> sizes = sizes_on(line, load_launched(load, line, overrides, given));
  overrides.insert(overrides.end(), sizes.begin(), sizes.end());
  load_launched(load, line, overrides, given);
  return launched;
}

void add_notes(const Launched& launched, Scenario& scenario) {
  for (const std::string& note : launched.line.notes) scenario.notes.push_back("--from: " + note);
  for (const std::string& flag : launched.line.left_out)
    scenario.notes.push_back("--from: " + flag + " is left out (--ignore-flags)");
}

std::string launched_text(const Launched& launched) {
  if (!launched.is_given()) return "";
  const LaunchLine& line = launched.line;
  std::size_t width = 0;
  std::vector<std::pair<std::string, std::string>> rows;
  std::string unused;
  for (const TakenFlag& one : line.flags) {
    const std::string flag = short_name(one.flag) + (one.value.empty() ? "" : " " + beginning(one.value, 40));
    std::string fields;
    for (const std::string& field : one.fields) {
      const Json value = field_value(launched, field);
      if (!value.is_null()) fields += (fields.empty() ? "" : ", ") + field + " = " + shown_value(value);
    }
    if (fields.empty()) {
      unused += (unused.empty() ? "" : ", ") + short_name(one.flag);
    } else {
      rows.emplace_back(flag, fields);
      width = std::max(width, flag.size());
    }
  }
  const std::string source = line.source.empty() ? "the launch line" : plain_line(line.source);
  std::string text = "\nRead from " + source + " (" + std::string(name(line.engine)) + "):\n";
  for (const auto& [flag, fields] : rows) {
    const std::string indent(width + 4, ' ');
    std::string begin = "  " + flag + std::string(width - flag.size() + 2, ' ');
    for (const std::string& one : wrap(fields, std::max<std::size_t>(text_columns() - indent.size(), 30))) {
      text += begin + one + "\n";
      begin = indent;
    }
  }
  const auto list = [&](const std::string& title, const std::string& words) {
    if (words.empty()) return;
    for (const std::string& one : wrap(title + words, text_columns() - 2, "  ")) text += "  " + one + "\n";
  };
  list("without effect here: ", unused);
  std::string defaults, left_out;
  for (const std::string& one : launched.defaults)
    defaults += (defaults.empty() ? "" : ", ") + path_of(one) + " = " + value_of(one);
  for (const std::string& one : line.left_out) left_out += (left_out.empty() ? "" : ", ") + one;
  list("the engine's defaults on these GPUs: ", defaults);
  list("left out (--ignore-flags): ", left_out);
  for (const std::string& note : line.notes) list("warning: ", note);
  return text;
}

Json launched_json(const Launched& launched) {
  if (!launched.is_given()) return nullptr;
  const LaunchLine& line = launched.line;
  Json flags = Json::array(), fields = Json::object(), defaults = Json::object(), warnings = Json::array();
  for (const TakenFlag& one : line.flags) {
    Json own = Json::object();
    for (const std::string& field : one.fields) {
      const Json value = field_value(launched, field);
      if (!value.is_null()) own[field] = value;
    }
    flags.push_back(
        {{"flag", one.flag}, {"value", one.value.empty() ? Json() : Json(one.value)}, {"fields", own}});
  }
  for (const std::string& one : launched.overrides) {
    if (one != "serving={}" && one != "policy={}") fields[path_of(one)] = parsed(value_of(one));
  }
  for (const std::string& one : launched.defaults) defaults[path_of(one)] = parsed(value_of(one));
  for (const std::string& note : line.notes) {
    const std::string flag = flag_of_note(line, note);
    warnings.push_back({{"flag", flag.empty() ? Json() : Json(flag)}, {"text", note}});
  }
  for (const std::string& flag : line.left_out) {
    warnings.push_back({{"flag", flag}, {"text", flag + " is left out (--ignore-flags)"}});
  }
  return {{"line", launched.text}, {"engine", name(line.engine)}, {"flags", flags},      {"fields", fields},
          {"defaults", defaults},  {"ignored", line.left_out},    {"warnings", warnings}};
}

Overrides with_line(const Overrides& line, const Overrides& given) {
  Overrides all;
  const auto is_whole = [](const Override& one) { return one.path == "hardware"; };
  std::copy_if(given.begin(), given.end(), std::back_inserter(all), is_whole);
  all.insert(all.end(), line.begin(), line.end());
  std::remove_copy_if(given.begin(), given.end(), std::back_inserter(all), is_whole);
  return all;
}

Overrides launched_overrides(const Launched& launched) { return placed(launched.line, launched.overrides); }

std::vector<std::string> policies_of(EngineKind engine) {
  switch (engine) {
    case EngineKind::sglang:
      return {"recompute", "hicache"};
    case EngineKind::trtllm:
      return {"recompute", "trtllm_offload"};
    case EngineKind::vllm:
      break;
  }
  return {"recompute", "vllm_offload", "lmcache"};
}

Overrides overrides_beside(std::string_view policy, const std::vector<std::string>& given) {
  Overrides overrides = {override_of("policy={}"), override_of("policy.name=" + std::string(policy))};
  for (const std::string& one : given) {
    const bool is_own = one.starts_with("policy.name=") || one.starts_with("policy.tiers");
    if (one.starts_with("policy.") && !is_own) overrides.push_back(override_of(one));
  }
  return overrides;
}

// Returns a remark if `flags` contain dotted keys, which TensorRT-LLM reads from a YAML file; "" otherwise.
static const char* place_of_keys(const std::string& flags) {
  const bool has_keys = flags.find("--extra_llm_api_options.") != std::string::npos;
  return has_keys ? " (dotted names are keys of the YAML file that --extra_llm_api_options names)" : "";
}

std::string launch_text(const Scenario& scenario) {
  const std::string line = launch_line_of(scenario);
  return line.empty() ? "" : "Launch: " + line + place_of_keys(line) + "\n";
}

std::string flags_line(const std::string& label, const Scenario& from, const Scenario& to) {
  const std::string_view engine = kEngineNames[static_cast<std::size_t>(to.serving.engine)];
  if (launch_line_of(to).empty())
    return "  " + label + ": no flag of " + std::string(engine) + " does this\n";
  const std::string flags = changed_flags(from, to);
  return "  " + label + ": " + (flags.empty() ? "the same flags" : flags + place_of_keys(flags)) + "\n";
}

}  // namespace kvcap
