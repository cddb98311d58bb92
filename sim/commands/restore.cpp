// kvcap restore: computes how long each policy takes to restore one context on an idle machine. Simulates the
// restoration layer by layer, and prints the simulated time together with that of the closed form.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/print.h"
#include "base/text/units.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/model_options.h"
#include "commands/output.h"
#include "commands/question.h"
#include "documents/kind.h"
#include "plan/workers.h"
#include "policy/table.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "run/simulate.h"
#include "text/restore_text.h"
#include "whatif/lone_context.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {
namespace {

struct RestoreArgs : LoneContext {
  std::string lengths;  // text of --tokens; LoneContext::tokens is the length that is being restored
  std::string policy = "all";
  std::string out;
  bool json = false;
};

Json policy_entry(const RestoreArgs& args, const std::string& policy) {
  const Scenario scenario = lone_scenario(args, policy);
  const Tier tier = scenario.policy.tiers->front().kind;
  const Machine machine(scenario, args.tokens, args.tokens);
  require_room(args, machine, policy);
  Json timeline = Json::array();
  SimulateHooks hooks;
  hooks.on_restore_activity = [&timeline](const RestoreActivity& activity) {
    const bool computes = activity.stream == "compute";
    timeline.push_back(
        {{"stream", computes ? "compute" : "io"},
         {"layer", activity.layer},
         {"what", (computes ? "compute " : "load from " + std::string(activity.stream) + ": ") +
                      std::string(name(activity.form))},
         {"start_s", activity.start_s},
         {"end_s", activity.end_s}});
  };
  const RunResult result = simulate(scenario, requests_at_once(contexts_of(args)), hooks);
  const TurnRecord& turn = result.turns.front();
  const LoneRestore alone = lone_restore(machine, scenario.serving, contexts_of(args), tier);
  if (!alone.restoration.fused) {
    timeline.push_back({{"stream", "compute"},
                        {"layer", -1},
                        {"what", "prefill of all layers"},
                        {"start_s", static_cast<double>(turn.restore_s)},
                        {"end_s", turn.ttft_s}});
  }
  Json entry = {{"policy", policy},
                {"restore_s", turn.ttft_s - alone.prefill_s},
                {"prefill_s", alone.prefill_s},
                {"ttft_s", turn.ttft_s}};
  const Json closed_form = closed_form_entry(args, machine, scenario);
  for (const auto& [key, value] : closed_form.items()) {
    if (key == "notes") entry["timeline"] = timeline;
    entry[key] = value;
  }
  return entry;
}

// Returns a note if the weights do not fit. kvcap restore computes times for such a machine, but kvcap run
// refuses it.
std::vector<std::string> memory_notes(const Scenario& scenario) {
  const auto gpus = static_cast<double>(scenario.serving.gpus());
  const double memory_gb = gpus * scenario.hardware.gpu.memory_bytes / 1e9;
  const double weights_gb = scenario.model.weight_bytes() / 1e9;
  if (weights_gb < memory_gb) return {};
  return {"weights of " + format_number(weights_gb) + " GB do not fit a GPU memory of " +
          format_number(memory_gb) + " GB: run refuses this machine; --gpus takes more GPUs"};
}

// Returns a note that names the limits that the longest context exceeds: the model's positions or the GPU's
// memory.
std::vector<std::string> limit_notes(const RestoreArgs& args, const std::vector<int64_t>& lengths) {
  const Scenario scenario = machine_scenario(args, args.policy == "all" ? "ideal" : args.policy, {});
  const int64_t tokens = *std::max_element(lengths.begin(), lengths.end()) + args.new_tokens;
  const int64_t window = scenario.serving.max_model_len.value_or(scenario.model.max_position_embeddings);
  const int64_t room = longest_sequence(scenario, kv_capacity_tokens(scenario));
  std::vector<std::string> limits;
  if (tokens > window) limits.push_back("the model's " + format_count(window) + " positions");
  if (tokens > room && room > 0) {
    limits.push_back("the " + format_count(room) + " tokens of KV that the GPU memory holds");
  }
  if (limits.empty()) return {};
  return {format_count(tokens) + " tokens exceed " + listed(limits) +
          ": times beyond that are as if there were room, and run refuses or truncates such contexts"};
}

std::vector<std::string> policies_of(const RestoreArgs& args) {
  const std::span<const std::string_view> names = policy_names();
  if (args.policy == "all") return {names.begin(), names.end()};
  if (std::find(names.begin(), names.end(), args.policy) != names.end()) return {args.policy};
  std::string allowed;
  for (std::string_view one : names) allowed += ", " + std::string(one);
  throw InputError("--policy: found \"" + args.policy + "\", allowed: all" + allowed +
                   suggestion(args.policy, names));
}

constexpr int64_t kMostTokens = 100'000'000;

// Returns the lengths of --tokens: "4096", "4k,16k,64k".
std::vector<int64_t> lengths_of(const std::string& text) {
  std::vector<int64_t> lengths;
  for (const std::string& one : distinct_items("--tokens", text)) {
    const std::optional<double> tokens = number_with_unit(one, UnitOf::count);
    if (!tokens || *tokens < 1 || *tokens > kMostTokens || *tokens != std::floor(*tokens)) {
      throw InputError("--tokens: found \"" + one + "\", allowed: 1 to " + std::to_string(kMostTokens) +
                       ", several with commas: 4k,16k");
    }
    lengths.push_back(static_cast<int64_t>(*tokens));
    constexpr std::size_t kMost = 16;
    if (lengths.size() > kMost) throw InputError("--tokens: found more than 16 lengths, allowed: at most 16");
  }
  return lengths;
}

// Returns the kvcap.restore/1 document of a context of this length, with an entry per policy.
Json restore_document(const RestoreArgs& args, int64_t tokens, const std::vector<std::string>& policies,
                      const std::vector<std::string>& notes) {
  RestoreArgs one = args;
  one.tokens = tokens;
  const std::vector<std::string> entries = run_in_workers(
      policies.size(),
      [&](std::size_t i, std::atomic<int64_t>&) { return policy_entry(one, policies[i]).dump(); });
  const Scenario scenario = lone_scenario(one, policies.front());
  Json document = {{"schema", "kvcap.restore/1"},        {"model", scenario.model.name},
                   {"hardware", scenario.hardware.name}, {"tokens", tokens},
                   {"new_tokens", args.new_tokens},      {"tier", name(scenario.policy.tiers->front().kind)},
                   {"policies", Json::array()},          {"notes", notes}};
  for (const std::string& entry : entries) document["policies"].push_back(Json::parse(entry));
  return document;
}

std::string page_of(const std::vector<Json>& documents) {
  std::vector<std::string> sentences;
  for (const Json& document : documents) {
    std::vector<std::string> all = document_sentences(document);
    if (documents.size() > 1) all.resize(std::min<std::size_t>(all.size(), 1));
    sentences.insert(sentences.end(), all.begin(), all.end());
  }
  return restore_table(documents) + "\n" + wrapped(sentences) + restore_notes(documents);
}

// Returns the files of --out: restore.json, or restore-4096.json for each of several lengths.
std::vector<std::string> file_names(const std::vector<int64_t>& lengths) {
  if (lengths.size() == 1) return {"restore.json"};
  std::vector<std::string> names;
  for (const int64_t tokens : lengths) names.push_back("restore-" + std::to_string(tokens) + ".json");
  return names;
}

void restore(RestoreArgs args) {
  const std::vector<int64_t> lengths = lengths_of(args.lengths);
  args.tokens = lengths.front();
  if (args.new_tokens < 1 || args.new_tokens > kMostTokens) {
    throw InputError("--new-tokens: found " + std::to_string(args.new_tokens) + ", allowed: 1 to " +
                     std::to_string(kMostTokens));
  }
  std::vector<std::string> policies = policies_of(args);
  // Loading the scenario here finds bad input before anything runs.
  const Scenario scenario = lone_scenario(args, policies.front());
  std::vector<std::string> notes = memory_notes(scenario);
  for (std::string& note : limit_notes(args, lengths)) notes.push_back(std::move(note));
  if (args.policy == "all") {
    const std::vector<std::string> left_out = leave_out_refusing(scenario, policies);
    notes.insert(notes.end(), left_out.begin(), left_out.end());
  }
  const std::vector<std::string> names = file_names(lengths);
  const MadeFolders made = prepare_folder(args.out);
  if (!args.out.empty())
    refuse_to_replace_in("--out", args.out, names, std::vector<std::string>{args.model, args.hardware});

  std::vector<Json> documents;
  for (const int64_t tokens : lengths) documents.push_back(restore_document(args, tokens, policies, notes));
  for (std::size_t i = 0; i < names.size() && !args.out.empty(); ++i)
    write_file(args.out + "/" + names[i], documents[i].dump(2) + "\n");
  if (args.json) {
    print((documents.size() == 1 ? documents.front() : Json(documents)).dump(2) + "\n");
  } else {
    print(page_of(documents));
  }
}

}  // namespace

void add_restore(CLI::App& app) {
  auto args = std::make_shared<RestoreArgs>();
  Command command(app, "restore", "compute how long each policy takes to restore one context");
  command.value("--model", args->model, "catalogue name or file").required();
  command.value("--hardware,--gpu", args->hardware, "catalogue name or file").required();
  command.value("--gpus", args->gpus, "GPUs of one engine (tensor parallel size)").within(1, 1024);
  command.value("--tokens", args->lengths, "tokens of context, or several lengths: 4k,16k,64k").required();
  command.value("--new-tokens", args->new_tokens, "new tokens to prefill after the context").with_default();
  command.value("--policy", args->policy, "a policy, or all").with_default();
  command.value("--tier", args->tier, listed(kHostNames, " or ") + "; default: ssd if the hardware has one");
  command.repeated("--set", args->overrides, "override a field: path=value, e.g. policy.split=paper");
  declare_model_options(command);
  command.value("--out", args->out, "folder for restore.json");
  command.flag("--json", args->json, "print everything, including timelines, as JSON");
  command.footer("Example: kvcap restore --model llama-2-7b --hardware a100-40g-4x-pm9a3 --tokens 4096");
  command.runs([args] { restore(*args); });
}

}  // namespace kvcap
