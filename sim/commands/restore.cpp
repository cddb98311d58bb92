// kvcap restore: restores one context on an idle machine with each policy. The simulation runs layer by
// layer; its time is printed with that of the closed form.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/model_options.h"
#include "commands/output.h"
#include "documents/kind.h"
#include "plan/workers.h"
#include "policy/group_rules.h"
#include "policy/table.h"
#include "run/lone_restore.h"
#include "run/machine.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "workload/generators/stored_contexts.h"

namespace kvcap {
namespace {

struct RestoreArgs {
  std::string model, hardware;
  int64_t tokens = 0;
  int64_t new_tokens = 64;
  std::string policy = "all";
  std::string tier;
  std::vector<std::string> overrides;
  std::string out;
  bool json = false;
};

constexpr auto kPreferredTiers = [] {
  std::array<Tier, kHostTiers.size()> tiers = kHostTiers;
  std::rotate(tiers.begin(), std::find(tiers.begin(), tiers.end(), Tier::ssd),
              std::find(tiers.begin(), tiers.end(), Tier::ssd) + 1);
  return tiers;
}();

Tier choose_tier(const RestoreArgs& args, const HardwareProfile& hardware) {
  std::string allowed;
  for (Tier tier : kPreferredTiers) {
    if (!has_tier(hardware, tier)) continue;
    if (args.tier.empty() || args.tier == name(tier)) return tier;
    allowed += (allowed.empty() ? "" : ", ") + std::string(name(tier));
  }
  throw InputError("--tier: found \"" + (args.tier.empty() ? "none" : args.tier) + "\", allowed on " +
                   hardware.name + ": " +
                   (allowed.empty() ? "nothing (the profile has no host tier)" : allowed));
}

StoredContexts contexts_of(const RestoreArgs& args) {
  return {.count = 1, .tokens = args.tokens, .new_tokens = args.new_tokens};
}

// Returns a scenario with one context, whose state is in one tier with room for it, simulated layer by layer.
Scenario scenario_for(const RestoreArgs& args, const std::string& policy) {
  const Json text = {
      {"schema", "kvcap.scenario/1"},
      {"name", "restore"},
      {"model", args.model},
      {"hardware", args.hardware},
      {"serving", {{"host_times", "none"}, {"max_num_batched_tokens", args.tokens + args.new_tokens}}},
      {"workload", {{"source", {{"kind", "chat"}}}}},
      {"policy", {{"name", policy}}},
      {"fidelity", "layer"}};
  for (const std::string& change : args.overrides) {
    if (change.starts_with("policy.name=") || change.starts_with("policy.tiers") ||
        change.starts_with("policy=")) {
      throw InputError("--set " + change +
                       ": restore takes the policy from --policy and the tier from --tier");
    }
  }
  Scenario scenario =
      parse_scenario(text.dump(-1, ' ', false, Json::error_handler_t::replace), "restore", args.overrides);
  // Does not check whether the context fits; policy_entry() does.
  make_room(contexts_of(args), choose_tier(args, scenario.hardware), scenario);
  return scenario;
}

const char* bound_of(const Restoration& restoration, const Machine& machine, Tier tier, double prefill_s) {
  const double io_s = total_load_s(restoration, tier, machine.route(tier, Tier::hbm));
  const double compute_s = restoration.total_compute_s() - (restoration.fused ? prefill_s : 0);
  if (std::abs(io_s - compute_s) <= 0.05 * std::max(io_s, compute_s)) return "balanced";
  return io_s > compute_s ? "io" : "compute";
}

double restore_flops(const Restoration& restoration, const CostModel& cost) {
  double flops = 0;
  for (const LayerWork& work : restoration.work) {
    flops += static_cast<double>(work.layers) *
             (cost.project_kv_layer_flops(work.projected_tokens) + cost.prefill_layer_flops(work.recomputed));
  }
  return flops;
}

Json policy_entry(const RestoreArgs& args, const std::string& policy) {
  const Scenario scenario = scenario_for(args, policy);
  const Tier tier = scenario.policy.tiers->front().kind;
  const Machine machine(scenario, args.tokens, args.tokens);

  for (const StoreTier& store : machine.tiers()) {
    const double bytes = static_cast<double>(args.tokens) * store.bytes_per_token;
    if (bytes <= store.capacity_bytes) continue;
    throw InputError("--tokens: found " + std::to_string(args.tokens) +
                     ", allowed: a context that fits the tier " + std::string(name(tier)) + " as " + policy +
                     " keeps it, up to " +
                     std::to_string(static_cast<int64_t>(store.capacity_bytes / store.bytes_per_token)));
  }
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
  const LoneRestore alone = lone_restore(machine, contexts_of(args), tier);
  const Restoration& restoration = alone.restoration;
  const double prefill_s = alone.prefill_s;
  double flops = 0;
  const char* bound = "balanced";
  if (!restoration.empty()) {
    flops = restore_flops(restoration, machine.cost());
    bound = bound_of(restoration, machine, tier, prefill_s);
  } else if (machine.policy().traits().reuse != Reuse::everything) {
    const PrefillChunk whole{args.tokens + args.new_tokens, 0};
    const PrefillChunk suffix{args.new_tokens, args.tokens};
    flops = static_cast<double>(scenario.model.num_hidden_layers) *
            (machine.cost().prefill_layer_flops(whole) - machine.cost().prefill_layer_flops(suffix));
    bound = "compute";
  }
  if (!restoration.fused) {
    timeline.push_back({{"stream", "compute"},
                        {"layer", -1},
                        {"what", "prefill of all layers"},
                        {"start_s", static_cast<double>(turn.restore_s)},
                        {"end_s", turn.ttft_s}});
  }
  Schedule schedule = machine.policy().schedule(args.tokens, tier);
  if (machine.policy().traits().reuse == Reuse::stored && restoration.empty()) {
    schedule = {.recompute_layers = scenario.model.num_hidden_layers};  // computed in the steps of the new
                                                                        // tokens
  }
  Json entry = {{"policy", policy},
                {"restore_s", turn.ttft_s - prefill_s},
                {"prefill_s", prefill_s},
                {"ttft_s", turn.ttft_s},
                {"closed_form_restore_s", alone.restore_s},
                {"schedule",
                 {{"hidden_layers", schedule.hidden_layers},
                  {"kv_layers", schedule.kv_layers},
                  {"recompute_layers", schedule.recompute_layers}}},
                {"stored_bytes_per_token", machine.policy().traits().stored_bytes_per_token},
                {"read_bytes", restoration.total_bytes()[index(tier)]},
                {"restore_flops", flops},
                {"bound", bound},
                {"timeline", timeline}};
  if (schedule.hidden_tokens >= 0) entry["schedule"]["hidden_tokens"] = schedule.hidden_tokens;
  entry["notes"] = machine.policy().traits().notes;
  if (machine.options().ideal_load.value_or(false)) {
    entry["notes"].push_back(policy + ": loads take no time (policy.ideal_load)");
  }
  return entry;
}

// Returns a note if the weights do not fit; restore gives times for such a GPU, but run refuses it.
std::vector<std::string> memory_notes(const Scenario& scenario) {
  const auto gpus = static_cast<double>(scenario.serving.tensor_parallel_size);
  const double memory_gb = gpus * scenario.hardware.gpu.memory_bytes / 1e9;
  const double weights_gb = scenario.model.weight_bytes() / 1e9;
  if (weights_gb < memory_gb) return {};
  return {"weights of " + format_number(weights_gb) + " GB do not fit a GPU memory of " +
          format_number(memory_gb) + " GB: run refuses this machine"};
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

// Removes the policies that do not support the model. Returns a note with their names.
std::vector<std::string> leave_out_refusing(const Scenario& scenario, std::vector<std::string>& policies) {
  std::string names;
  std::erase_if(policies, [&](const std::string& policy) {
    PolicyOptions options = scenario.policy;
    options.name = policy;
    const bool refuses = refusal(with_preset(options), scenario.model).has_value();
    if (refuses) names += (names.empty() ? "" : ", ") + policy;
    return refuses;
  });
  if (names.empty()) return {};
  return {"left out, since they do not serve layers that keep a window or a state: " + names +
          " (--policy with one of them says why)"};
}

void print_table(const Json& report) {
  print_format("%s on %s: %lld tokens of context on %s, %lld new tokens, idle machine\n\n",
               message_line(report["model"].get<std::string>()).c_str(),
               message_line(report["hardware"].get<std::string>()).c_str(), report["tokens"].get<long long>(),
               report["tier"].get<std::string>().c_str(), report["new_tokens"].get<long long>());
  print_format("%-17s %9s %9s %12s %21s %10s %10s\n", "", "restore", "TTFT", "closed form", "layers",
               "stored", "bottleneck");
  print_format("%-17s %9s %9s %12s %21s %10s\n", "", "ms", "ms", "ms", "hidden/KV/recomputed", "KiB/token");
  for (const Json& entry : report["policies"]) {
    const Json& schedule = entry["schedule"];
    char layers[60];
    std::snprintf(layers, sizeof layers, "%lld/%lld/%lld", schedule["hidden_layers"].get<long long>(),
                  schedule["kv_layers"].get<long long>(), schedule["recompute_layers"].get<long long>());
    print_format("%-17s %9.2f %9.2f %12.2f %21s %10.1f %10s\n", entry["policy"].get<std::string>().c_str(),
                 1e3 * entry["restore_s"].get<double>(), 1e3 * entry["ttft_s"].get<double>(),
                 1e3 * entry["closed_form_restore_s"].get<double>(), layers,
                 entry["stored_bytes_per_token"].get<double>() / 1024,
                 entry["bound"].get<std::string>().c_str());
  }
  print("\n" + wrapped(document_sentences(report)));
  for (const Json& note : report["notes"]) print("note: " + plain_line(note.get<std::string>()) + "\n");
  for (const Json& entry : report["policies"]) {
    for (const Json& note : entry["notes"]) print("note: " + plain_line(note.get<std::string>()) + "\n");
  }
}

void restore(const RestoreArgs& args) {
  if (args.tokens < 1 || args.tokens > 100'000'000)
    throw InputError("--tokens: found " + std::to_string(args.tokens) + ", allowed: 1 to 100000000");
  if (args.new_tokens < 1 || args.new_tokens > 100'000'000)
    throw InputError("--new-tokens: found " + std::to_string(args.new_tokens) + ", allowed: 1 to 100000000");
  std::vector<std::string> policies = policies_of(args);
  // Loads the scenario once, to find bad input before anything runs.
  const Scenario scenario = scenario_for(args, policies.front());
  const Tier tier = scenario.policy.tiers->front().kind;
  std::vector<std::string> notes = memory_notes(scenario);
  if (args.policy == "all") {
    const std::vector<std::string> left_out = leave_out_refusing(scenario, policies);
    notes.insert(notes.end(), left_out.begin(), left_out.end());
  }
  const MadeFolders made = prepare_folder(args.out);
  if (!args.out.empty()) {
    refuse_to_replace_in("--out", args.out, std::vector<std::string>{"restore.json"},
                         std::vector<std::string>{args.model, args.hardware});
  }
  const std::vector<std::string> entries = run_in_workers(
      policies.size(),
      [&](std::size_t i, std::atomic<int64_t>&) { return policy_entry(args, policies[i]).dump(); });

  Json report = {{"schema", "kvcap.restore/1"},        {"model", scenario.model.name},
                 {"hardware", scenario.hardware.name}, {"tokens", args.tokens},
                 {"new_tokens", args.new_tokens},      {"tier", name(tier)},
                 {"policies", Json::array()},          {"notes", std::move(notes)}};
  for (const std::string& entry : entries) report["policies"].push_back(Json::parse(entry));
  if (!args.out.empty()) write_file(args.out + "/restore.json", report.dump(2) + "\n");
  if (args.json) {
    print_format("%s\n", report.dump(2).c_str());
  } else {
    print_table(report);
  }
}

}  // namespace

void add_restore(CLI::App& app) {
  auto args = std::make_shared<RestoreArgs>();
  Command command(app, "restore", "how long each policy takes to restore one context");
  command.value("--model", args->model, "catalogue name or file").required();
  command.value("--hardware", args->hardware, "catalogue name or file").required();
  command.value("--tokens", args->tokens, "tokens of context").required();
  command.value("--new-tokens", args->new_tokens, "tokens prefilled on top").with_default();
  command.value("--policy", args->policy, "a policy, or all").with_default();
  command.value("--tier", args->tier, listed(kHostNames, " or ") + "; default: ssd where there is one");
  command.repeated("--set", args->overrides, "override a field: path=value, e.g. policy.split=paper");
  declare_model_options(command);
  command.value("--out", args->out, "folder for restore.json");
  command.flag("--json", args->json, "print everything, timelines too, as JSON");
  command.footer("Example: kvcap restore --model llama-2-7b --hardware a100-40g-4x-pm9a3 --tokens 4096");
  command.runs([args] { restore(*args); });
}

}  // namespace kvcap
