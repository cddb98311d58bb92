#include "scenario/load.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "base/embedded.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/read_fields.h"
#include "base/text/joined.h"
#include "base/text/note.h"
#include "engine/versions/engines.h"
#include "engine/versions/host_times.h"
#include "policy/table.h"
#include "scenario/check.h"
#include "scenario/data_files.h"
#include "scenario/json.h"
#include "scenario/moved_defaults.h"
#include "scenario/pools.h"
#include "spec/tiers.h"
#include "workload/sources_table.h"

namespace kvcap {

namespace {

// Returns "chat" for "scenarios/chat.json"; empty for a part of a file and for other extensions.
std::string name_of(const std::filesystem::path& file) {
  return file.extension() == ".json" ? file.stem().string() : "";
}

Overrides overrides_of(const std::vector<std::string>& arguments) {
  Overrides overrides;
  for (const std::string& argument : arguments) overrides.push_back(override_of(argument));
  return overrides;
}

// Uses the stand-in for the missing file `written`. A stand-in is session JSONL, whatever the kind of the
// real file.
void take_stand_in(Scenario& scenario, const std::string& written, const Places& places) {
  SourceOptions& source = scenario.workload.source;
  const std::string field = "workload.source.stand_in";
  const std::optional<std::string> file = find_data(source.stand_in, places.folder(field));
  if (!file) {
    throw InputError(places.at(field) + ": found \"" + source.stand_in + "\", " +
                     missing_data(source.stand_in));
  }
  scenario.notes.push_back("STAND-IN DATA: " + written + " does not exist, " + source.stand_in +
                           " is read instead; these results are not those of the real data (workload.source."
                           "stand_in; scenarios/data.md)");
  source.kind = source_table().front().name;
  source.path = *file;
  source.stands_in = true;
  source.token_counts.clear();
  source.columns.clear();
  source.hash_ids.clear();
}

// True for "demo", false for "demo.json" and for "scenarios/demo".
bool is_word(const std::string& path) { return path.find_first_of("./#") == std::string::npos; }

// Returns the shipped file scenarios/NAME.json.
const EmbeddedFile& shipped_scenario(const std::string& name) {
  constexpr std::string_view kFolder = "scenarios/", kEnd = ".json";
  std::vector<std::string_view> names;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(kFolder) || !file.path.ends_with(kEnd)) continue;
    const std::string_view stem =
        file.path.substr(kFolder.size(), file.path.size() - kFolder.size() - kEnd.size());
    if (stem == name) return file;
    if (stem.find('/') == std::string_view::npos) names.push_back(stem);
  }
  refuse_field("scenario", name, "a file, " + joined(names) + suggestion(name, names));
}

// Resolves paths relative to the file in which they are written.
void follow_paths(Scenario& scenario, const Places& places) {
  SourceOptions& source = scenario.workload.source;
  const auto follow = [&](const std::string& field, std::string& path) {
    if (path.empty()) return;
    const std::optional<std::string> file = find_data(path, places.folder(field));
    std::error_code ignored;
    const bool is_there = file && std::filesystem::exists(*file, ignored);
    if (!is_there && !source.stand_in.empty()) return take_stand_in(scenario, path, places);
    if (!file) throw InputError(places.at(field) + ": found \"" + path + "\", " + missing_data(path));
    path = *file;
  };
  follow("workload.source.path", source.path);
  if (source.stands_in) return;
  follow("workload.source.token_counts", source.token_counts);
  follow("workload.source.hash_ids", source.hash_ids);
}

// Returns the host tiers that billing.unsized_tiers names.
std::vector<Tier> named_unsized(const Scenario& scenario, const Places& places) {
  std::vector<Tier> named;
  std::istringstream names(scenario.billing.unsized_tiers.value_or(""));
  for (std::string one; std::getline(names, one, ',');) {
    const auto found = std::find(kHostNames.begin(), kHostNames.end(), one);
    if (found == kHostNames.end()) {
      throw InputError(places.at("billing.unsized_tiers") + ": found \"" + one + "\", allowed: " +
                       joined(kHostNames) + ", separated by commas" + suggestion(one, kHostNames));
    }
    named.push_back(kHostTiers[static_cast<std::size_t>(found - kHostNames.begin())]);
  }
  return named;
}

// Returns the host tiers whose hardware has the size of a profile in the catalogue or a file: neither the
// scenario nor --set gives the size or the number of devices. The inline hardware of a result names them.
std::vector<Tier> profile_sized_tiers(const Scenario& scenario, const Places& places) {
  const std::vector<Tier> named = named_unsized(scenario, places);
  std::vector<Tier> tiers;
  for (Tier tier : kHostTiers) {
    if (!has_tier(scenario.hardware, tier)) continue;
    const std::string part = "hardware." + std::string(name(tier));
    const bool is_listed = std::find(named.begin(), named.end(), tier) != named.end();
    const auto is_of_profile = [&](const char* key) {
      const std::string field = part + key;
      return places.is_reference(field) || (is_listed && !places.is_override(field));
    };
    if (is_of_profile(".capacity_bytes") && (!has_count(tier) || is_of_profile(".count")))
      tiers.push_back(tier);
  }
  return tiers;
}

std::string names_of_tiers(const std::vector<Tier>& tiers) {
  return joined(tiers, ",", [](Tier tier) { return std::string(name(tier)); });
}

// Sets defaults that depend on the engine's version and the GPU.
void settle_engine(Scenario& scenario, const Document& document) {
  ServingOptions& serving = scenario.serving;
  const std::optional<EngineVersion> version = parse_engine_version(serving.engine_version);
  if (!version) return;
  const auto given = document.json.find("serving");
  const auto is_open = [&](const char* key) {
    return given == document.json.end() || !given->contains(key) || given->at(key).is_null();
  };
  if (serving.host_times == HostTimes::engine) {
    const HostTimeRow& times = host_times_of(serving.engine, *version);
    const auto take = [&](const char* key, double ServingOptions::*to, double HostTimeRow::*from) {
      if (is_open(key)) serving.*to = times.*from;
    };
    take("request_overhead_s", &ServingOptions::request_overhead_s, &HostTimeRow::request_overhead_s);
    take("request_overhead_s_per_token", &ServingOptions::request_overhead_s_per_token,
         &HostTimeRow::request_overhead_s_per_token);
    take("step_overhead_s", &ServingOptions::step_overhead_s, &HostTimeRow::step_overhead_s);
    const bool by_layer = scenario.policy.name == "lmcache" && scenario.policy.load == LoadMode::layerwise;
    if (by_layer && serving.engine == EngineKind::vllm && is_open("step_overhead_s")) {
      serving.step_overhead_s += piecewise_graphs_s(*version, scenario.model.num_hidden_layers);
    }
    take("step_overhead_per_sequence_s", &ServingOptions::step_overhead_per_sequence_s,
         &HostTimeRow::step_overhead_per_sequence_s);
    take("waiting_overhead_s", &ServingOptions::waiting_overhead_s, &HostTimeRow::waiting_overhead_s);
    if (!serving.sampling) serving.sampling = default_sampling(serving.engine, scenario.model);
  }
  if (serving.sampling && !serving.sampling->method) {
    serving.sampling->method = sampler_of(serving.engine, *version);
  }
  if (serving.engine != EngineKind::vllm) return;
  const VllmDefaults defaults = vllm_defaults(*version, scenario.hardware.gpu);
  if (is_open("max_num_batched_tokens")) serving.max_num_batched_tokens = defaults.max_num_batched_tokens;
  // vLLM limits its default of max_num_seqs in the same way.
  if (is_open("max_num_seqs")) {
    serving.max_num_seqs = std::min(serving.max_num_seqs, serving.max_num_batched_tokens);
  }
  if (is_open("gpu_memory_utilization")) serving.gpu_memory_utilization = defaults.gpu_memory_utilization;
  if (is_open("one_token_slices")) serving.one_token_slices = defaults.one_token_slices;
  if (is_open("mixed_attention")) {
    serving.mixed_attention =
        mixed_attention_of(serving.attention_backend.value_or(defaults.attention_backend));
  }
  if (is_open("async_scheduling")) serving.async_scheduling = defaults.async_scheduling;
}

// Returns a note if the policy was modelled on an older vLLM than the simulated one; else an empty text.
std::string older_preset_text(const Scenario& scenario) {
  const std::optional<EngineVersion> version = parse_engine_version(scenario.serving.engine_version);
  if (scenario.serving.engine != EngineKind::vllm || !version) return "";
  return older_preset_text(policy_row(scenario.policy.name), std::min(*version, kNewestVllm));
}

// Returns a note if the engine's version is outside the range of versions that were examined.
std::vector<std::string> notes_of_version(const ServingOptions& serving) {
  const std::optional<EngineVersion> version = parse_engine_version(serving.engine_version);
  if (serving.engine != EngineKind::vllm || !version) return {};
  const std::string name = "vLLM " + serving.engine_version;
  const auto note = [&](EngineVersion taken, const char* why) {
    const std::string other = std::to_string(taken.major) + "." + std::to_string(taken.minor);
    return std::vector{noted(NoteKind::other_version, name + " as " + other + ", " + why)};
  };
  if (*version > kNewestVllm) return note(kNewestVllm, "the newest that was examined");
  if (*version < kOldestVllm)
    return note(kOldestVllm, "since its V0 engine, which plans KV capacity differently, is not simulated");
  return {};
}

// If the user sets only the GPU's memory_bytes, scales the profile's reported_memory_bytes in proportion.
void scale_reported_memory(Scenario& scenario, const Document& document) {
  Gpu& gpu = scenario.hardware.gpu;
  const auto is_of_profile = [&](const char* key) {
    return document.places.is_reference("hardware.gpu." + std::string(key));
  };
  if (!gpu.reported_memory_bytes || document.profile_memory_bytes <= 0) return;
  if (is_of_profile("memory_bytes") || !is_of_profile("reported_memory_bytes")) return;
  *gpu.reported_memory_bytes *= gpu.memory_bytes / document.profile_memory_bytes;
}

// Removes tiers of 0 bytes, so that a range of sizes may begin at 0. If no tier remains, the policy becomes
// recompute.
void drop_empty_tiers(Scenario& scenario) {
  if (!scenario.policy.tiers) return;
  const auto is_empty = [](const TierOptions& tier) { return tier.capacity_bytes == 0.0; };
  if (std::erase_if(*scenario.policy.tiers, is_empty) == 0 || !scenario.policy.tiers->empty()) return;
  scenario.notes.push_back("the policy is recompute, because the tiers of " + scenario.policy.name +
                           " have no capacity");
  scenario.policy = {.name = "recompute"};
}

// Sets the tiers that the policy's name implies, and converts sizes per GPU to bytes.
void settle_tiers(Scenario& scenario) {
  drop_empty_tiers(scenario);
  PolicyOptions& policy = scenario.policy;
  const bool is_preset = !policy.tiers;
  if (is_preset) {
    policy.tiers = preset_tiers(policy.name, [&](Tier tier) { return has_tier(scenario.hardware, tier); });
  }
  if (!policy.tiers) return;
  const ServingOptions serving = prefill_scenario(scenario).serving;  // only prefill nodes have tiers
  const auto gpus = static_cast<double>(serving.gpus() * serving.data_parallel_size);
  for (TierOptions& tier : *policy.tiers) {
    if (!tier.capacity_per_gpu_bytes || tier.capacity_bytes) continue;
    double bytes = gpus * *std::exchange(tier.capacity_per_gpu_bytes, std::nullopt);
    // A default is limited to the available capacity.
    if (is_preset) bytes = std::min(bytes, tier_facts(scenario.hardware, tier.kind)->capacity_bytes);
    tier.capacity_bytes = bytes;
  }
}

// Replaces the think-time distribution "auto" if the kind of the source determines it. "auto" remains for
// kinds whose files may or may not contain think times.
void settle_think_times(WorkloadOptions& workload) {
  if (workload.think_time.distribution != ThinkDistribution::automatic) return;
  const ThinkTimes said = source_row(workload.source.kind).think_times;
  if (said == ThinkTimes::none) workload.think_time.distribution = ThinkDistribution::constant;
  if (said == ThinkTimes::all) workload.think_time.distribution = ThinkDistribution::recorded;
}

}  // namespace

Scenario parse_scenario(std::string_view text, const std::string& file,
                        const std::vector<std::string>& overrides) {
  return parse_scenario_with(text, file, overrides_of(overrides));
}

Scenario parse_scenario_with(std::string_view text, const std::string& file, const Overrides& overrides) {
  const Document document = resolve_scenario(text, file, overrides);
  Scenario scenario = read_scenario(document);
  scale_reported_memory(scenario, document);
  if (scenario.name.empty()) scenario.name = name_of(file);
  scenario.file = file;
  settle_engine(scenario, document);
  ArrivalOptions& arrivals = scenario.workload.arrivals;
  const bool has_rate = arrivals.sessions_per_s || arrivals.requests_per_s || !arrivals.rates.empty();
  if (!has_rate && arrivals.process != ArrivalProcess::closed_loop) {
    arrivals.sessions_per_s = kDefaultSessions_per_s;
  }
  settle_think_times(scenario.workload);
  settle_tiers(scenario);
  scenario.profile_sized = profile_sized_tiers(scenario, document.places);
  scenario.billing.unsized_tiers = names_of_tiers(scenario.profile_sized);
  const std::vector<std::string> moved = notes_of_moved_defaults(scenario, document.json);
  const std::optional<std::string> written_by = std::exchange(scenario.kvcap_version, KVCAP_VERSION);
  scenario.resolved_json = write_scenario(scenario).dump();
  scenario.kvcap_version = written_by;
  const std::vector<std::string> version = notes_of_version(scenario.serving);
  scenario.notes.insert(scenario.notes.end(), version.begin(), version.end());
  if (const std::string older = older_preset_text(scenario); !older.empty()) {
    scenario.notes.push_back(noted(NoteKind::assumption, older));
  }
  scenario.notes.insert(scenario.notes.end(), moved.begin(), moved.end());
  scenario.notes.insert(scenario.notes.end(), document.notes.begin(), document.notes.end());
  scenario.prices_file = document.prices_file;
  scenario.price_sources = price_sources(document);
  check_scenario(scenario, document.places);
  // Comes last, because the resolved scenario keeps the path as written.
  follow_paths(scenario, document.places);
  return scenario;
}

std::vector<Tier> unsized_tiers(const Scenario& scenario) {
  std::vector<Tier> tiers = scenario.profile_sized;
  for (const TierOptions& one : scenario.policy.tiers.value_or(std::vector<TierOptions>())) {
    if (one.capacity_bytes || one.capacity_over_gpu) std::erase(tiers, one.kind);
  }
  return tiers;
}

Scenario load_scenario(const BaseScenario& base, const std::vector<std::string>& overrides) {
  return load_scenario_with(base, overrides_of(overrides));
}

static Scenario load_with_given(const BaseScenario& base, const Overrides& overrides) {
  const std::string& path = base.path;
  if (!base.text.empty()) {
    Scenario scenario = parse_scenario_with(base.text, path, overrides);
    scenario.file.clear();
    return scenario;
  }
  if (is_word(path) && !std::filesystem::exists(path)) {
    const EmbeddedFile& shipped = shipped_scenario(path);
    return parse_scenario_with(shipped.text, std::string(shipped.path), overrides);
  }
  const std::size_t hash = path.rfind('#');
  if (hash == std::string::npos || std::filesystem::exists(path)) {
    return parse_scenario_with(read_text(path), path, overrides);
  }
  const std::string file = path.substr(0, hash), member = path.substr(hash + 1);
  const Json whole = parse_json(read_text(file), file);
  if (!whole.is_object() || !whole.contains(member)) {
    throw InputError(path + ": " + file + " has no member \"" + member + "\"");
  }
  Json scenario = whole[member];
  const bool is_result = whole.value("schema", Json()) == "kvcap.result/1";
  if (is_result && scenario.is_object() && !scenario.contains("kvcap_version")) {
    const Json provenance = whole.value("provenance", Json());
    if (provenance.is_object()) scenario["kvcap_version"] = provenance.value("kvcap_version", Json());
  }
  return parse_scenario_with(scenario.dump(), path, overrides);
}

Scenario load_scenario_with(const BaseScenario& base, const Overrides& overrides) {
  Scenario scenario = load_with_given(base, overrides);
  if (!base.machine_defaults) return scenario;
  Overrides all = overrides;
  // The defaults come before the overrides, which take precedence, but after an override that resets all
  // serving options.
  const auto reset = std::find_if(all.rbegin(), all.rend(), [](const Override& one) {
    return one.path == "serving" && one.value == "{}";
  });
  Overrides added;
  for (const std::string& one : base.machine_defaults(scenario)) added.push_back(override_of(one));
  all.insert(reset.base(), added.begin(), added.end());
  return load_with_given(base, all);
}

ModelSpec load_model(const std::string& name_or_path) {
  const Document document = resolve_model(name_or_path);
  ModelSpec model = read_model(document);
  check_model(model, document.places, "");
  return model;
}

HardwareProfile load_hardware(const std::string& name_or_path) {
  const Document document = resolve_hardware(name_or_path);
  HardwareProfile hardware = read_hardware(document);
  check_hardware(hardware, document.places, "");
  return hardware;
}

}  // namespace kvcap
