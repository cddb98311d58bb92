#include "whatif/memory_use.h"

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/input_error.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "scenario/load.h"
#include "scenario/pools.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTokens = 1024;  // any context length: capacities do not depend on it

bool begins_with_field(const std::string& note) {
  for (const std::string_view field : {"reported_memory_bytes", "context_bytes", "fused_all_reduce_bytes"}) {
    if (note.starts_with(std::string(field) + ":")) return true;
  }
  return false;
}

// Returns the notes on memory fields in the catalogue's profile of the hardware; empty for a user's profile.
std::vector<std::string> notes_of(const Scenario& scenario) {
  std::vector<std::string> notes;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    if (entry.name != scenario.hardware.name) continue;
    const Json profile = Json::parse(entry.text);
    for (const char* part : {"gpu", "nvlink"}) {
      if (!profile.contains(part) || !profile[part].contains("notes")) continue;
      if (scenario.serving.tensor_parallel_size == 1 && part == std::string_view("nvlink")) continue;
      for (const Json& note : profile[part]["notes"]) {
        if (begins_with_field(note)) notes.push_back(note);
      }
    }
  }
  return notes;
}

int64_t restarted_tokens(const Scenario& scenario) {
  EngineSettings settings = engine_settings(scenario);
  settings.is_first_start = false;
  return gpu_memory(scenario.model, scenario.hardware, settings).tokens;
}

// Returns the KV tokens that each server of a run has for requests. They exclude the share of an HBM tier.
std::vector<MemoryServer> servers_of(const Scenario& scenario) {
  std::vector<MemoryServer> servers;
  const auto add = [&servers](const char* role, const Scenario& one) {
    try {
      servers.push_back({role, Machine(one, kTokens, kTokens).kv_capacity_tokens(), ""});
    } catch (const InputError& error) {
      servers.push_back({role, 0, error.what()});
    }
  };
  if (!scenario.fleet.disaggregation) {
    add("all", scenario);
  } else {
    add("prefill", prefill_scenario(scenario));
    add("decode", decode_scenario(scenario));
  }
  return servers;
}

}  // namespace

const char* name(TermSource source) {
  switch (source) {
    case TermSource::shapes:
      return "computed";
    case TermSource::profile:
      return "profile";
    case TermSource::engine:
      return "engine";
    case TermSource::fitted:
      return "fitted";
    case TermSource::unknown:
      return "not known";
  }
  return "";
}

std::string memory_source(const MemoryUse& use) {
  if (use.model == KvCapacityModel::simple) return "datasheet: gpu.memory_bytes";
  if (use.knows_driver) return "profile: gpu.reported_memory_bytes";
  return "datasheet: gpu.memory_bytes; drivers report 1 to 3 % less";
}

MemoryUse memory_use(const Scenario& scenario) {
  const KvCapacityModel model = kv_capacity_model(scenario);
  MemoryUse use = {.scenario = scenario,
                   .model = model,
                   .memory = planned_memory(scenario),
                   .knows_driver = scenario.hardware.gpu.reported_memory_bytes.has_value(),
                   .servers = servers_of(scenario)};
  if (model == KvCapacityModel::engine) {
    use.restarted_tokens = restarted_tokens(scenario);
    use.notes = notes_of(scenario);
  }
  return use;
}

std::string memory_json(const MemoryUse& use) {
  const Scenario& scenario = use.scenario;
  const ServingOptions& serving = scenario.serving;
  const GpuMemory& memory = use.memory;
  Json terms = Json::array();
  for (const MemoryTerm& term : memory.terms) {
    terms.push_back({{"name", term.name},
                     {"bytes", term.bytes},
                     {"charged", term.charged},
                     {"source", name(term.source)},
                     {"detail", term.detail}});
  }
  Json json = {{"schema", "kvcap.memory/1"},
               {"model", scenario.model.name},
               {"hardware", scenario.hardware.name},
               {"gpus", serving.gpus()},
               {"kv_capacity_model", kKvCapacityModelNames[static_cast<std::size_t>(use.model)]},
               {"engine_version", serving.engine_version},
               {"memory_bytes", memory.reported_bytes},
               {"memory_source", memory_source(use)},
               {"gpu_memory_utilization", serving.gpu_memory_utilization},
               {"share_bytes", memory.share_bytes},
               {"terms", std::move(terms)},
               {"kv_bytes", memory.kv_bytes},
               {"block_bytes", memory.block_bytes},
               {"block_size", serving.block_size},
               {"blocks", memory.blocks},
               {"kv_capacity_tokens", memory.tokens}};
  for (const MemoryServer& server : use.servers) {
    Json one = {{"role", server.role}};
    if (server.refusal.empty()) {
      one["kv_capacity_tokens"] = server.kv_capacity_tokens;
    } else {
      one["refusal"] = server.refusal;
    }
    json["servers"].push_back(one);
  }
  if (use.model == KvCapacityModel::engine) {
    json["restarted_kv_capacity_tokens"] = use.restarted_tokens;
    json["profile_notes"] = use.notes;
  }
  if (serving.kv_capacity_tokens) json["given_kv_capacity_tokens"] = *serving.kv_capacity_tokens;
  return json.dump(2);
}

}  // namespace kvcap
