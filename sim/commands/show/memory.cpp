#include "commands/show/memory.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/input_error.h"
#include "base/text/format.h"
#include "base/text/print.h"
#include "commands/question.h"
#include "run/engine_memory.h"
#include "whatif/memory_use.h"

namespace kvcap {
namespace {

constexpr std::size_t kMemoryColumns = 80, kNameColumns = 31, kSourceColumns = 37;

// Loads the scenario. If only --model and --hardware are given, the scenario describes the engine as
// installed, as for every command without a scenario file.
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

void print_rest(const MemoryUse& use) {
  const GpuMemory& memory = use.memory;
  print_format("\nFrom the %s GiB that the share leaves:\n",
               gib(memory.reported_bytes - memory.share_bytes).c_str());
  for (const MemoryTerm& term : memory.terms) {
    if (!term.charged) print_row({"  " + term.name, gib(term.bytes), source_text(term)});
  }
  if (memory.free_bytes() < memory.share_bytes) {
    print_format("\n%s", ("The engine would not start: only " + gib(memory.free_bytes()) +
                          " GiB are free, and it asks for " + gib(memory.share_bytes) + ".\n")
                             .c_str());
  }
}

// Returns "1,234 blocks of 16 tokens, 128 KiB a token" or, if layers differ, "304 blocks of 8.2 MiB, which 4
// groups of layers share (16 tokens a block in 1, 32 tokens in 3)".
std::string blocks_text(const MemoryUse& use, const KvLayout& layout) {
  const GpuMemory& memory = use.memory;
  const int64_t block_size = use.scenario.serving.block_tokens();
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

void print_servers(const MemoryUse& use) {
  for (const MemoryServer& server : use.servers) {
    const std::string tokens = format_count(server.kv_capacity_tokens, "token");
    if (!server.refusal.empty()) {
      print_wrapped("A run refuses this: " + server.refusal);
    } else if (server.role == "prefill") {
      print_wrapped("A prefill node has " + tokens + " for requests.");
    } else if (server.role == "decode") {
      print_wrapped("A decode node has " + tokens + " for requests.");
    } else if (server.kv_capacity_tokens != kv_capacity_tokens(use.scenario)) {
      print_wrapped("Requests have " + tokens + " of them; the hbm tier of policy.tiers takes the rest.");
    }
  }
}

void print_tokens(const MemoryUse& use) {
  const GpuMemory& memory = use.memory;
  const ServingOptions& serving = use.scenario.serving;
  const auto gpus = serving.gpus();
  const KvLayout layout = kv_layout(use.scenario);
  const std::string text = format_count(memory.tokens, "token") + ": " + blocks_text(use, layout) +
                           (gpus > 1 ? " on each of " + format_count(gpus) + " GPUs" : "") + ".";
  print_format("\n");
  print_wrapped("KV capacity: " + text);
  if (!layout.is_plain()) {
    const int64_t longest = serving.max_model_len.value_or(use.scenario.model.max_position_embeddings);
    const int64_t blocks =
        layout.most_blocks(longest, serving.max_num_batched_tokens, serving.recurrent_checkpoints);
    print_wrapped("A sequence of " + format_count(longest, "token") + " holds up to " +
                  format_count(blocks, "block") + ": " +
                  format_number(static_cast<double>(memory.blocks) / static_cast<double>(blocks)) +
                  " of them at once.");
  }
  if (use.model == KvCapacityModel::engine && use.restarted_tokens > memory.tokens) {
    print_format("%s\n", ("After a restart, with its kernels already compiled: " +
                          format_count(use.restarted_tokens) + " tokens.")
                             .c_str());
  }
  if (serving.kv_capacity_tokens) {
    print_format("%s\n", ("Used instead, because serving.kv_capacity_tokens sets it: " +
                          format_count(*serving.kv_capacity_tokens) + " tokens.")
                             .c_str());
  }
  print_servers(use);
}

std::string planner(const MemoryUse& use) {
  switch (use.model) {
    case KvCapacityModel::engine:
      return "as vLLM " + use.scenario.serving.engine_version + " plans it";
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

void print_text(const MemoryUse& use) {
  const Scenario& scenario = use.scenario;
  const ServingOptions& serving = scenario.serving;
  const GpuMemory& memory = use.memory;
  const bool is_engine = use.model == KvCapacityModel::engine;
  const bool is_of_free = use.model == KvCapacityModel::share_of_free;
  print_wrapped(scenario.model.name + ", " + format_count(serving.gpus()) + "x " +
                scenario.hardware.gpu.name + ": memory of one GPU, " + planner(use));
  print_format("\n");
  print_row({"", "GiB", "where it comes from"});
  const bool is_reported = use.model != KvCapacityModel::simple && use.knows_driver;
  print_row({is_reported ? "memory that the driver reports" : "memory", gib(memory.reported_bytes),
             memory_source(use)});
  if (!is_engine) print_terms(memory, false);
  if (!is_of_free) {
    print_row({"x gpu_memory_utilization " + share_text(serving.gpu_memory_utilization),
               gib(memory.share_bytes), "serving: the engine's share"});
  }
  print_terms(memory, true);
  print_row({"= KV cache", gib(memory.kv_bytes), ""});
  print_tokens(use);
  if (is_engine) {
    print_rest(use);
    print_format("\n");
    print_wrapped("engine: measured on H100, carried over to other GPUs (sim/cost/engine_memory.h)");
    for (const std::string& note : use.notes) print_wrapped(note);
  }
}

}  // namespace

void show_memory(const ShowMemoryArgs& args) {
  const Scenario scenario = scenario_of(args);
  const MemoryUse use = memory_use(scenario);
  if (args.json) {
    print_format("%s\n", memory_json(use).c_str());
  } else {
    print_text(use);
  }
}

}  // namespace kvcap
