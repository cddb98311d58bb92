// Checks `policy`: its form, its tiers, and layers that keep a window or a state.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/text/joined.h"
#include "policy/group_rules.h"
#include "policy/table.h"
#include "scenario/checks/checks.h"
#include "scenario/fields.h"
#include "scenario/pools.h"
#include "spec/tiers.h"

namespace kvcap {
namespace {

// Returns the server's capacity of a tier for one engine instance; nullopt if it has no such tier.
std::optional<double> available_bytes(const Scenario& scenario, Tier tier) {
  const HardwareProfile& hardware = scenario.hardware;
  if (tier == Tier::hbm) {
    return hardware.gpu.memory_bytes * static_cast<double>(scenario.serving.gpus());
  }
  const std::optional<TierFacts> facts = tier_facts(hardware, tier);
  if (facts) return facts->capacity_bytes;
  return std::nullopt;
}

std::string tiers_of(const Scenario& scenario) {
  std::string names;
  for (Tier tier : kTiers) {
    if (!available_bytes(scenario, tier)) continue;
    names += (names.empty() ? "" : ", ") + std::string(name(tier));
  }
  return names;
}

bool keeps_every_token(const ModelSpec& model) {
  const std::vector<LayerGroup> groups = model.groups();
  return std::all_of(groups.begin(), groups.end(), [](const LayerGroup& group) { return group.keeps_all(); });
}

void check_tiers(const Scenario& scenario, const Places& places) {
  const std::vector<TierOptions> none;
  const std::vector<TierOptions>& tiers = scenario.policy.tiers ? *scenario.policy.tiers : none;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    const std::string path = below("policy.tiers", std::to_string(i));
    const Tier tier = tiers[i].kind;
    const std::string quoted = "\"" + std::string(name(tier)) + "\"";
    for (std::size_t j = 0; j < i; ++j) {
      if (tiers[j].kind == tier) fail(places, below(path, "kind"), quoted + " twice", "each tier once");
    }
    if (i > 0 && tier < tiers[i - 1].kind) {
      fail(places, below(path, "kind"), quoted + " after \"" + std::string(name(tiers[i - 1].kind)) + "\"",
           "tiers from near to far: " + joined(kTierNames));
    }
    if (tiers[i].exclusive && tier != Tier::hbm) {
      fail(places, below(path, "exclusive"), "true for " + quoted, "false; true for hbm");
    }
    if (tiers[i].exclusive && with_preset(scenario.policy).keep == Keep::hidden) {
      fail(places, below(path, "exclusive"), "true with policy.keep \"hidden\"",
           "false; true with \"kv\" (the GPU has no hidden states)");
    }
    if (tier == Tier::hbm && !keeps_every_token(scenario.model)) {
      fail(places, below(path, "kind"), quoted,
           "host tiers for a model whose layers keep a window or a state (use serving.prefix_caching for the "
           "GPU)");
    }
    const std::optional<double> available = available_bytes(scenario, tier);
    if (!available)
      fail(places, below(path, "kind"), quoted, tiers_of(scenario) + " (what the hardware has)");
    const int sizes = tiers[i].capacity_bytes.has_value() + tiers[i].capacity_per_gpu_bytes.has_value() +
                      tiers[i].capacity_over_gpu.has_value();
    if (sizes > 1) {
      fail(places, path, "several sizes", "one of capacity_bytes, capacity_per_gpu_bytes, capacity_over_gpu");
    }
    if (tiers[i].capacity_over_gpu && tier == Tier::hbm) {
      fail(places, below(path, "capacity_over_gpu"),
           number_text(*tiers[i].capacity_over_gpu) + " for " + quoted, "host tiers");
    }
    if (tiers[i].capacity_bytes && *tiers[i].capacity_bytes > *available) {
      fail(places, below(path, "capacity_bytes"), number_text(*tiers[i].capacity_bytes),
           "at most " + number_text(*available) + " (what the hardware has" +
               (tier == Tier::hbm ? ")"
                                  : "; hardware." + std::string(name(tier)) + ".capacity_bytes sets it)"));
    }
  }
}

// Checks that policy.keep and policy.restore fit together; the error names policy.restore if the user set it,
// else policy.keep.
void check_form(const Scenario& scenario, const Places& places) {
  const PolicyOptions options = with_preset(scenario.policy);
  const Keep keep = *options.keep;
  const Restore restore = *options.restore;
  if (goes_together(keep, restore)) return;
  std::string keeps, restores;
  const auto add = [](std::string& list, std::string_view one) {
    list += (list.empty() ? "" : ", ") + std::string(one);
  };
  for (const RestoreRow& row : restore_table()) {
    for (Keep one : row.keeps) {
      if (row.restore == restore) add(keeps, name(one));
      if (one == keep) add(restores, name(row.restore));
    }
  }
  const auto quoted = [](std::string_view one) { return "\"" + std::string(one) + "\""; };
  const std::string kept = quoted(name(keep)), restored = quoted(name(restore));
  const std::string allowed =
      "with keep " + kept + " restore: " + restores + "; with restore " + restored + " keep: " + keeps;
  if (scenario.policy.restore) {
    fail(places, "policy.restore", restored + " with keep " + kept, allowed);
  } else {
    fail(places, "policy.keep", kept + " with restore " + restored, allowed);
  }
}

// Rejects layer-wise preloading of blocks that span all layers.
void check_layout(const Scenario& scenario, const Places& places) {
  const PolicyOptions options = with_preset(scenario.policy);
  if (options.block_layout != BlockLayout::cross_layer || options.restore != Restore::load) return;
  if (options.preload.value_or(Preload::none) != Preload::layerwise) return;
  fail(places, "policy.block_layout", "\"cross_layer\" with preload \"layerwise\"",
       "layer; cross_layer with preload \"none\" (a block of all layers cannot be loaded layer by layer)");
}

// Checks the options that save_at "eviction" requires. The GPU evicts only cached KV.
void check_victims(const Scenario& scenario, const Places& places) {
  const PolicyOptions options = with_preset(scenario.policy);
  if (options.save_at != SaveAt::eviction || !stores(options)) return;
  if (options.keep == Keep::hidden) {
    fail(places, "policy.save_at", "\"eviction\" with keep \"hidden\"",
         "turn_end, step; eviction with keep \"kv\" (the GPU does not cache hidden states)");
  }
  if (!scenario.serving.prefix_caching) {
    fail(places, "policy.save_at", "\"eviction\" with serving.prefix_caching false",
         "turn_end, step; eviction with prefix_caching true (without it the GPU has nothing to evict)");
  }
  const auto beside = [&](const char* field, const char* found, const char* allowed) {
    fail(places, field, std::string(found) + " with save_at \"eviction\"", allowed);
  };
  // The KV of an evicted block includes its position in the text, and a text whose beginning is dropped is a
  // new text.
  if (options.decoupled_positions.value_or(false)) beside("policy.decoupled_positions", "true", "false");
  if (options.retention.value_or(1) < 1) beside("policy.retention", "less than 1", "1");
  // Evicted KV waits in a bounded buffer.
  if (options.write_queue_s == 0.0) beside("policy.write_queue_s", "0", "more than 0");
  if (options.save == SaveMode::blocking) beside("policy.save", "\"blocking\"", "\"background\"");
  if (options.chunk_tokens || options.match == Match::chunk) {
    fail(places, "policy.save_at", "\"eviction\" with chunks",
         "turn_end, step; eviction with match prefix or session and without chunk_tokens");
  }
}

}  // namespace

void check_group_rules(const Scenario& scenario, const Places& places) {
  const std::optional<GroupRefusal> refused = refusal(with_preset(scenario.policy), scenario.model);
  if (refused) fail(places, below("policy", refused->field), refused->found, refused->allowed);
}

void check_policy(const Scenario& scenario, const Places& places) {
  check_form(scenario, places);
  check_victims(scenario, places);
  check_layout(scenario, places);
  check_tiers(prefill_scenario(scenario), places);  // nodes that only decode have no tiers
}

}  // namespace kvcap
