#include "whatif/lone_context.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/input_error.h"
#include "policy/group_rules.h"
#include "policy/table.h"
#include "scenario/load.h"
#include "scenario/servers.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kPreferredTiers = [] {
  std::array<Tier, kHostTiers.size()> tiers = kHostTiers;
  std::rotate(tiers.begin(), std::find(tiers.begin(), tiers.end(), Tier::ssd),
              std::find(tiers.begin(), tiers.end(), Tier::ssd) + 1);
  return tiers;
}();

Tier choose_tier(const LoneContext& asked, const HardwareProfile& hardware) {
  std::string allowed;
  for (Tier tier : kPreferredTiers) {
    if (!has_tier(hardware, tier)) continue;
    if (asked.tier.empty() || asked.tier == name(tier)) return tier;
    allowed += (allowed.empty() ? "" : ", ") + std::string(name(tier));
  }
  throw InputError("--tier: found \"" + (asked.tier.empty() ? "none" : asked.tier) + "\", allowed on " +
                   hardware.name + ": " +
                   (allowed.empty() ? "nothing (the profile has no host tier)" : allowed));
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

// True iff the policy is a bound that cannot be built: it keeps everything on the GPU, or loads take no time.
bool is_bound(const Machine& machine) {
  return machine.policy().traits().reuse == Reuse::everything || machine.options().ideal_load.value_or(false);
}

// Returns the extra FLOPs of computing the whole context instead of only its new tokens.
double recompute_flops(const LoneContext& asked, const Machine& machine) {
  const PrefillChunk whole{asked.tokens + asked.new_tokens, 0};
  const PrefillChunk suffix{asked.new_tokens, asked.tokens};
  return static_cast<double>(machine.cost().model().num_hidden_layers) *
         (machine.cost().prefill_layer_flops(whole) - machine.cost().prefill_layer_flops(suffix));
}

// Returns how many layers are restored from hidden states, from KV and by recomputation.
Json schedule_json(const LoneContext& asked, const Machine& machine, Tier tier,
                   const Restoration& restoration) {
  Schedule schedule = machine.policy().schedule(asked.tokens, tier);
  if (machine.policy().traits().reuse == Reuse::stored && restoration.empty()) {
    // The context is computed in the same steps as the new tokens.
    schedule = {.recompute_layers = machine.cost().model().num_hidden_layers};
  }
  Json json = {{"hidden_layers", schedule.hidden_layers},
               {"kv_layers", schedule.kv_layers},
               {"recompute_layers", schedule.recompute_layers}};
  if (schedule.hidden_tokens >= 0) json["hidden_tokens"] = schedule.hidden_tokens;
  return json;
}

}  // namespace

StoredContexts contexts_of(const LoneContext& asked) {
  return {.count = 1, .tokens = asked.tokens, .new_tokens = asked.new_tokens};
}

Scenario machine_scenario(const LoneContext& asked, const std::string& policy,
                          std::optional<int64_t> step_tokens) {
  Json text = {{"schema", "kvcap.scenario/1"},
               {"name", "restore"},
               {"model", asked.model},
               {"hardware", asked.gpus ? server_of(load_hardware(asked.hardware), asked.hardware, *asked.gpus)
                                       : asked.hardware},
               {"serving", {{"host_times", "none"}, {"tensor_parallel_size", asked.gpus.value_or(1)}}},
               {"workload", {{"source", {{"kind", "chat"}}}}},
               {"policy", {{"name", policy}}},
               {"fidelity", "layer"}};
  for (const std::string& change : asked.overrides) {
    if (change.starts_with("policy.name=") || change.starts_with("policy.tiers") ||
        change.starts_with("policy=")) {
      throw InputError("--set " + change +
                       ": restore takes the policy from --policy and the tier from --tier");
    }
  }
  if (step_tokens) text["serving"]["max_num_batched_tokens"] = *step_tokens;
  return parse_scenario(text.dump(-1, ' ', false, Json::error_handler_t::replace), "restore",
                        asked.overrides);
}

Scenario lone_scenario(const LoneContext& asked, const std::string& policy) {
  Scenario scenario = machine_scenario(asked, policy, asked.tokens + asked.new_tokens);
  // This makes room on the GPU only. require_room() checks whether the context fits the tier.
  make_room(contexts_of(asked), choose_tier(asked, scenario.hardware), scenario);
  return scenario;
}

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

void require_room(const LoneContext& asked, const Machine& machine, const std::string& policy) {
  for (const StoreTier& store : machine.tiers()) {
    const double bytes = static_cast<double>(asked.tokens) * store.bytes_per_token;
    if (bytes <= store.capacity_bytes) continue;
    throw InputError("--tokens: found " + std::to_string(asked.tokens) +
                     ", allowed: a context that fits the tier " + std::string(name(store.kind)) + " as " +
                     policy + " stores it, at most " +
                     std::to_string(static_cast<int64_t>(store.capacity_bytes / store.bytes_per_token)));
  }
}

Json closed_form_entry(const LoneContext& asked, const Machine& machine, const Scenario& scenario) {
  const std::string& policy = scenario.policy.name;
  const Tier tier = scenario.policy.tiers->front().kind;
  const LoneRestore alone = lone_restore(machine, scenario.serving, contexts_of(asked), tier);
  const Restoration& restoration = alone.restoration;
  double flops = 0;
  const char* bound = "balanced";
  if (!restoration.empty()) {
    flops = restore_flops(restoration, machine.cost());
    bound = bound_of(restoration, machine, tier, machine.cost().prefill_s({asked.new_tokens, asked.tokens}));
  } else if (machine.policy().traits().reuse != Reuse::everything) {
    flops = recompute_flops(asked, machine);
    bound = "compute";
  }
  Json entry = {{"policy", policy},
                {"prefill_s", alone.prefill_s},
                {"closed_form_restore_s", alone.restore_s},
                {"schedule", schedule_json(asked, machine, tier, restoration)},
                {"stored_bytes_per_token", machine.policy().traits().stored_bytes_per_token},
                {"read_bytes", restoration.total_bytes()[index(tier)]},
                {"restore_flops", flops},
                {"bound", bound},
                {"is_bound", is_bound(machine)},
                {"quality_note", machine.quality_note().empty() ? Json() : Json(machine.quality_note())},
                {"notes", machine.policy().traits().notes}};
  if (machine.options().ideal_load.value_or(false)) {
    entry["notes"].push_back(policy + ": loads take no time (policy.ideal_load)");
  }
  return entry;
}

}  // namespace kvcap
