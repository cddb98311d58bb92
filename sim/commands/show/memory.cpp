#include "commands/show/memory.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/print.h"
#include "commands/question.h"
#include "cost/cost_model.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "scenario/load.h"
#include "scenario/pools.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kTokens = 1024;  // tokens of a context; capacities do not depend on it
constexpr std::size_t kMemoryColumns = 80, kNameColumns = 31, kSourceColumns = 37;

// Loads the scenario. With only --model and --hardware: the engine as installed, as every command asks about
// without a file.
Scenario scenario_of(const ShowMemoryArgs& args) {
  if (args.scenario.empty() && (args.model.empty() || args.hardware.empty())) {
    throw InputError("show memory: found " +
                     std::string(args.model.empty() ? (args.hardware.empty() ? "nothing" : "no --model")
                                                    : "no --hardware") +
                     ", allowed: a scenario, or --model and --hardware");
  }
  QuestionArgs asked;
  asked.file = args.scenario;
  asked.model = args.model;
  asked.hardware = args.hardware;
  asked.engine = args.engine;
  asked.gpus = args.gpus;
  asked.set = args.overrides;
  if (asked.file.empty()) asked.workload = "chat";
  return Question(asked, {.needs_load = false}).load();
}

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

struct MemoryRow {
  std::string name, number, source;
};

void print_row(const MemoryRow& row) {
  const std::vector<std::string> lines = wrap(row.source, kSourceColumns);
  print_format("%-*s %8s%s%s\n", static_cast<int>(kNameColumns), row.name.c_str(), row.number.c_str(),
               lines.empty() ? "" : "  ", lines.empty() ? "" : lines.front().c_str());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    print_format("%*s%s\n", static_cast<int>(kNameColumns + 11), "", lines[i].c_str());
  }
}

void print_wrapped(const std::string& text) {
  for (const std::string& line : wrap(text, kMemoryColumns)) print_format("%s\n", line.c_str());
}

std::string gib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", bytes / kGiB);
  return text;
}

std::string share_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", share);
  return text;
}

std::string source_text(const MemoryTerm& term) {
  return std::string(name(term.source)) + ": " + term.detail;
}

struct Server {
  std::string role;  // "all", "prefill" or "decode"
  int64_t kv_capacity_tokens = 0;
  std::string refusal;  // why no run can start it; empty: it can
};

struct Shown {
  const Scenario& scenario;
  KvCapacityModel model;
  GpuMemory memory;
  bool knows_driver = false;
  int64_t restarted_tokens = 0;    // KV tokens after a restart with compiled kernels
  std::vector<std::string> notes;  // profile's notes on the memory fields used here: measured, assumed
  std::vector<Server> servers;
};

bool begins_with_field(const std::string& note) {
  for (const std::string_view field : {"reported_memory_bytes", "context_bytes", "fused_all_reduce_bytes"}) {
    if (note.starts_with(std::string(field) + ":")) return true;
  }
  return false;
}

// Returns the notes of a catalogue profile on its memory fields.
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

// Returns the KV tokens of each server of a run, after the part of a tier in HBM.
std::vector<Server> servers_of(const Scenario& scenario) {
  std::vector<Server> servers;
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

std::string memory_source(const Shown& shown) {
  if (shown.model == KvCapacityModel::simple) return "datasheet: gpu.memory_bytes";
  if (shown.knows_driver) return "profile: gpu.reported_memory_bytes";
  return "datasheet: gpu.memory_bytes; drivers report 1 to 3 % less";
}

void print_rest(const Shown& shown) {
  const GpuMemory& memory = shown.memory;
  print_format("\nFrom the %s GiB that the share leaves:\n",
               gib(memory.reported_bytes - memory.share_bytes).c_str());
  for (const MemoryTerm& term : memory.terms) {
    if (!term.charged) print_row({"  " + term.name, gib(term.bytes), source_text(term)});
  }
  if (memory.free_bytes() < memory.share_bytes) {
    print_format("\n%s", ("The engine would not start: " + gib(memory.free_bytes()) +
                          " GiB are free then, it asks for " + gib(memory.share_bytes) + ".\n")
                             .c_str());
  }
}

// Returns "1,234 blocks of 16 tokens, 128 KiB a token"; if layers differ: "304 blocks of 8.2 MiB, which 4
// groups of layers share (16 tokens a block in 1, 32 tokens in 3)".
std::string blocks_text(const Shown& shown, const KvLayout& layout) {
  const GpuMemory& memory = shown.memory;
  const int64_t block_size = shown.scenario.serving.block_tokens();
  std::string text = format_count(memory.blocks, "block") + " of ";
  if (layout.is_plain()) {
    const double token_kib = memory.block_bytes / static_cast<double>(block_size) / 1024;
    return text + format_count(block_size, "token") + ", " + format_number(token_kib) + " KiB a token";
  }
  std::map<int64_t, int64_t> groups;  // key: tokens per block
  for (const KvGroup& group : layout.groups) ++groups[group.block_tokens];
  text += format_number(memory.block_bytes / 1024 / 1024) + " MiB, which " +
          format_count(std::ssize(layout.groups), "group") + " of layers share (";
  for (const auto& [tokens, count] : groups) {
    text += (tokens == groups.begin()->first ? "" : ", ") + format_count(tokens, "token") + " a block in " +
            format_count(count);
  }
  return text + ")";
}

void print_servers(const Shown& shown) {
  for (const Server& server : shown.servers) {
    const std::string tokens = format_count(server.kv_capacity_tokens, "token");
    if (!server.refusal.empty()) {
      print_wrapped("A run refuses this: " + server.refusal);
    } else if (server.role == "prefill") {
      print_wrapped("A node that computes prompts has " + tokens + " for requests.");
    } else if (server.role == "decode") {
      print_wrapped("A node that decodes has " + tokens + " for requests.");
    } else if (server.kv_capacity_tokens != kv_capacity_tokens(shown.scenario)) {
      print_wrapped("Requests have " + tokens + " of them; the hbm tier of policy.tiers takes the rest.");
    }
  }
}

void print_tokens(const Shown& shown) {
  const GpuMemory& memory = shown.memory;
  const ServingOptions& serving = shown.scenario.serving;
  const auto gpus = serving.gpus();
  const KvLayout layout = kv_layout(shown.scenario);
  const std::string text = format_count(memory.tokens, "token") + ": " + blocks_text(shown, layout) +
                           (gpus > 1 ? " on each of " + format_count(gpus) + " GPUs" : "") + ".";
  print_format("\n");
  print_wrapped("KV capacity: " + text);
  if (!layout.is_plain()) {
    const int64_t longest = serving.max_model_len.value_or(shown.scenario.model.max_position_embeddings);
    const int64_t blocks =
        layout.most_blocks(longest, serving.max_num_batched_tokens, serving.recurrent_checkpoints);
    print_wrapped("A sequence of " + format_count(longest, "token") + " holds up to " +
                  format_count(blocks, "block") + ": " +
                  format_number(static_cast<double>(memory.blocks) / static_cast<double>(blocks)) +
                  " of them at once.");
  }
  if (shown.model == KvCapacityModel::engine && shown.restarted_tokens > memory.tokens) {
    print_format(
        "%s\n", ("Started again, with kernels compiled: " + format_count(shown.restarted_tokens) + " tokens.")
                    .c_str());
  }
  if (serving.kv_capacity_tokens) {
    print_format("%s\n", ("Given, and used: " + format_count(*serving.kv_capacity_tokens) +
                          " tokens (serving.kv_capacity_tokens).")
                             .c_str());
  }
  print_servers(shown);
}

std::string planner(const Shown& shown) {
  switch (shown.model) {
    case KvCapacityModel::engine:
      return "as vLLM " + shown.scenario.serving.engine_version + " plans it";
    case KvCapacityModel::static_share:
      return "as SGLang plans it";
    case KvCapacityModel::share_of_free:
      return "as TensorRT-LLM plans it";
    case KvCapacityModel::simple:
      break;
  }
  return "by weights and shapes alone";
}

void print_terms(const GpuMemory& memory, bool charged) {
  for (const MemoryTerm& term : memory.terms) {
    if (term.charged == charged) print_row({"- " + term.name, gib(term.bytes), source_text(term)});
  }
}

void print_text(const Shown& shown) {
  const Scenario& scenario = shown.scenario;
  const ServingOptions& serving = scenario.serving;
  const GpuMemory& memory = shown.memory;
  const bool is_engine = shown.model == KvCapacityModel::engine;
  const bool is_of_free = shown.model == KvCapacityModel::share_of_free;
  print_wrapped(scenario.model.name + ", " + format_count(serving.gpus()) + "x " +
                scenario.hardware.gpu.name + ": memory of one GPU, " + planner(shown));
  print_format("\n");
  print_row({"", "GiB", "where it comes from"});
  const bool is_reported = shown.model != KvCapacityModel::simple && shown.knows_driver;
  print_row({is_reported ? "memory that the driver reports" : "memory", gib(memory.reported_bytes),
             memory_source(shown)});
  if (!is_engine) print_terms(memory, false);
  if (!is_of_free) {
    print_row({"x gpu_memory_utilization " + share_text(serving.gpu_memory_utilization),
               gib(memory.share_bytes), "serving: the engine's share"});
  }
  print_terms(memory, true);
  print_row({"= KV cache", gib(memory.kv_bytes), ""});
  print_tokens(shown);
  if (is_engine) {
    print_rest(shown);
    print_format("\n");
    print_wrapped("engine: measured on H100, carried over to other GPUs (sim/cost/engine_memory.h)");
    for (const std::string& note : shown.notes) print_wrapped(note);
  }
}

Json json_of(const Shown& shown) {
  const Scenario& scenario = shown.scenario;
  const ServingOptions& serving = scenario.serving;
  const GpuMemory& memory = shown.memory;
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
               {"kv_capacity_model", kKvCapacityModelNames[static_cast<std::size_t>(shown.model)]},
               {"engine_version", serving.engine_version},
               {"memory_bytes", memory.reported_bytes},
               {"memory_source", memory_source(shown)},
               {"gpu_memory_utilization", serving.gpu_memory_utilization},
               {"share_bytes", memory.share_bytes},
               {"terms", std::move(terms)},
               {"kv_bytes", memory.kv_bytes},
               {"block_bytes", memory.block_bytes},
               {"block_size", serving.block_size},
               {"blocks", memory.blocks},
               {"kv_capacity_tokens", memory.tokens}};
  for (const Server& server : shown.servers) {
    Json one = {{"role", server.role}};
    if (server.refusal.empty()) {
      one["kv_capacity_tokens"] = server.kv_capacity_tokens;
    } else {
      one["refusal"] = server.refusal;
    }
    json["servers"].push_back(one);
  }
  if (shown.model == KvCapacityModel::engine) {
    json["restarted_kv_capacity_tokens"] = shown.restarted_tokens;
    json["profile_notes"] = shown.notes;
  }
  if (serving.kv_capacity_tokens) json["given_kv_capacity_tokens"] = *serving.kv_capacity_tokens;
  return json;
}

}  // namespace

void show_memory(const ShowMemoryArgs& args) {
  const Scenario scenario = scenario_of(args);
  const KvCapacityModel model = kv_capacity_model(scenario);
  Shown shown = {.scenario = scenario,
                 .model = model,
                 .memory = planned_memory(scenario),
                 .knows_driver = scenario.hardware.gpu.reported_memory_bytes.has_value(),
                 .servers = servers_of(scenario)};
  if (model == KvCapacityModel::engine) {
    shown.restarted_tokens = restarted_tokens(scenario);
    shown.notes = notes_of(scenario);
  }
  if (args.json) {
    print_format("%s\n", json_of(shown).dump(2).c_str());
  } else {
    print_text(shown);
  }
}

}  // namespace kvcap
