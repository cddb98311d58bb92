#include "soak/policy_generator.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "policy/table.h"
#include "spec/tiers.h"

namespace kvcap::soak {
namespace {

class PolicyGenerator {
 public:
  PolicyGenerator(Dice& dice, const Scenario& known, int64_t kv_tokens, Json& serving)
      : dice_(dice), known_(known), kv_tokens_(kv_tokens), serving_(serving) {}

  Json policy() {
    Json policy;
    policy["name"] = dice_.pick(policy_names());
    if (dice_.chance(0.5)) {
      const RestoreRow& row = restore_table()[dice_.which(restore_table().size())];
      policy["keep"] = name(dice_.pick(row.keeps));
      policy["restore"] = name(row.restore);
    }
    PolicyOptions options;
    options.name = policy["name"].get<std::string>();
    if (policy.contains("keep")) {
      const auto at = [](const auto& names, const Json& one) {
        return std::find(names.begin(), names.end(), one.get<std::string>()) - names.begin();
      };
      options.keep = static_cast<Keep>(at(kKeepNames, policy["keep"]));
      options.restore = static_cast<Restore>(at(kRestoreNames, policy["restore"]));
    }
    options = with_preset(options);
    const std::vector<Tier> hosts = host_tiers();
    // A policy without a host tier cannot keep anything in one.
    if (stores(options) && hosts.empty()) {
      policy["keep"] = "none";
      policy["restore"] = "recompute";
      options.keep = Keep::none;
    }
    if (dice_.chance(0.85)) policy["tiers"] = tiers(hosts, options);
    add_keys(policy);
    if (policy.value("save_at", "") == "eviction" && !may_save_victims(policy, options)) {
      policy["save_at"] = "step";
    }
    if (policy.value("restore", std::string(name(*options.restore))) == "copy") fit_windows(policy);
    return policy;
  }

 private:
  std::vector<Tier> host_tiers() const {
    std::vector<Tier> tiers;
    for (Tier tier : kHostTiers) {
      if (has_tier(known_.hardware, tier)) tiers.push_back(tier);
    }
    return tiers;
  }

  double available_bytes(Tier tier) const { return tier_facts(known_.hardware, tier)->capacity_bytes; }

  Json tiers(const std::vector<Tier>& hosts, const PolicyOptions& options) {
    Json tiers = Json::array();
    if (dice_.chance(0.3)) {
      Json hbm = {{"kind", "hbm"}};
      const double kv_bytes = known_.model.kv_bytes_per_token();
      if (dice_.chance(0.7)) {
        const double bytes = kv_bytes * dice_.spread(1, 0.7 * static_cast<double>(kv_tokens_));
        hbm["capacity_bytes"] = std::min(bytes, 0.5 * known_.hardware.gpu.memory_bytes);
      }
      if (options.keep != Keep::hidden && dice_.chance(0.4)) hbm["exclusive"] = true;
      tiers.push_back(common(hbm));
    }
    const std::size_t needed = hosts.empty() ? 0 : dice_.which(hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      if (i != needed && dice_.chance(0.4)) continue;
      Json tier = {{"kind", name(hosts[i])}};
      const double most_bytes = available_bytes(hosts[i]);
      if (dice_.chance(0.8)) {
        // From less than a token to more than is ever needed.
        const double bytes = dice_.chance(0.1) ? dice_.spread(1, 1e6) : dice_.spread(1e7, 1e12);
        tier["capacity_bytes"] = std::min(bytes, most_bytes);
      }
      tiers.push_back(common(tier));
    }
    return tiers;
  }

  Json common(Json tier) {
    if (dice_.chance(0.6)) tier["eviction"] = dice_.pick(kEvictionNames);
    if (dice_.chance(0.3)) tier["free_fraction"] = dice_.within(0, 0.9);
    if (dice_.chance(0.15)) tier["evict_at"] = dice_.within(0.3, 1);
    if (dice_.chance(0.15)) tier["evict_share"] = dice_.spread(0.001, 1);
    if (dice_.chance(0.15)) tier["lease_s"] = dice_.spread(0.01, 100);
    if (dice_.chance(0.15)) tier["soft_pin_s"] = dice_.spread(0.1, 1000);
    if (dice_.chance(0.15)) tier["after_uses"] = dice_.chance(0.5) ? 2 : 3;
    return tier;
  }

  void add_keys(Json& policy) {
    const auto add = [&](const char* key, auto value) {
      if (dice_.chance(0.15)) policy[key] = value();
    };
    const auto yes_or_no = [&] { return dice_.chance(0.5); };
    add("eviction", [&] { return dice_.pick(kEvictionNames); });
    add("match", [&] { return dice_.pick(kMatchNames); });
    add("look_ahead", yes_or_no);
    add("inclusive", yes_or_no);
    add("write", [&] { return dice_.pick(kWriteModeNames); });
    add("ttl_s", [&] { return dice_.spread(0.01, 1000); });
    add("decoupled_positions", yes_or_no);
    add("retention", [&] { return dice_.spread(0.01, 1); });
    add("chunk_tokens", [&] { return dice_.tokens(16, 4096); });
    add("identification", yes_or_no);
    add("threshold_exponent", [&] { return dice_.within(0, 3); });
    add("reorder", yes_or_no);
    add("prefetch", yes_or_no);
    add("score", [&] { return dice_.pick(kScoreNames); });
    add("stored_bits", [&] { return dice_.pick(kStoredBits); });
    add("unbounded", yes_or_no);
    add("ideal_load", yes_or_no);
    add("recompute_ratio", [&] { return dice_.within(0, 1); });
    add("full_layers", [&] { return dice_.between(0, 60); });
    add("partial_efficiency", [&] { return dice_.spread(0.05, 1); });
    add("calls", [&] { return dice_.pick(kCallsNames); });
    add("map_tokens", [&] { return dice_.tokens(1, 200); });
    add("preload", [&] { return dice_.pick(kPreloadNames); });
    add("read_buffer_layers", [&] { return dice_.between(1, 50); });
    add("save", [&] { return dice_.pick(kSaveModeNames); });
    add_paths(policy);
    if (dice_.chance(0.2)) {
      // Only whole contexts are restored in blocks of all layers.
      const bool whole =
          policy["name"] == "kv_offload" && !policy.contains("preload") && !policy.contains("load");
      policy["block_layout"] = whole ? dice_.pick(kBlockLayoutNames) : kBlockLayoutNames[0];
    }
    add("split", [&] { return dice_.pick(kSplitNames); });
    add("split_tokens", [&] { return dice_.tokens(1, 20000); });
    add("store_hidden_for_recomputed", yes_or_no);
    if (dice_.chance(0.1)) {
      const int64_t layers = known_.model.num_hidden_layers;
      const int64_t recomputed = dice_.between(0, layers);
      policy["recomputed_layers"] = recomputed;
      policy["kv_layers"] = dice_.between(0, layers - recomputed);
    }
  }

  // Adds options of when state is saved and how it is restored.
  void add_paths(Json& policy) {
    const auto add = [&](const char* key, auto value) {
      if (dice_.chance(0.3)) policy[key] = value();
    };
    const auto yes_or_no = [&] { return dice_.chance(0.5); };
    add("load", [&] { return dice_.pick(kLoadModeNames); });
    add("save_at", [&] { return dice_.pick(kSaveAtNames); });
    add("eviction_unit", [&] { return dice_.pick(kEvictionUnitNames); });
    add("save_generated", yes_or_no);
    add("store_after_hits", [&] { return dice_.between(0, 3); });
    add("store_once", yes_or_no);
    add("checkpoint_tokens", [&] { return dice_.between(1, 4096); });
    add("write_queue_s", [&] { return dice_.chance(0.3) ? 0 : dice_.spread(1e-4, 10); });
    add("prefetch_on_arrival", [&] { return dice_.pick(kPrefetchOnArrivalNames); });
    add("polled_loads", yes_or_no);
    add("prefetch_min_tokens", [&] { return dice_.between(1, 2000); });
    add("prefetch_capacity_share", [&] { return dice_.chance(0.3) ? 0 : dice_.spread(1e-3, 1); });
    add("prefetch_timeout_s", [&] { return dice_.chance(0.2) ? 0 : dice_.spread(1e-3, 10); });
  }

  // True iff the policy stores KV under the names of its GPU blocks.
  bool may_save_victims(const Json& policy, const PolicyOptions& options) const {
    const bool kv = policy.value("keep", std::string(name(*options.keep))) == "kv";
    const bool chunks = policy.contains("chunk_tokens") || options.chunk_tokens ||
                        policy.value("match", "") == "chunk" || options.match == Match::chunk;
    const bool cuts = policy.value("decoupled_positions", options.decoupled_positions.value_or(false)) ||
                      policy.value("retention", options.retention.value_or(1)) < 1;
    const bool waits = policy.value("write_queue_s", 1.0) == 0 || policy.value("save", "") == "blocking";
    return kv && !chunks && !cuts && !waits && serving_.value("prefix_caching", true);
  }

  // A static graph reserves its whole window for every sequence.
  void fit_windows(Json& policy) {
    Json& length = serving_["max_model_len"];
    length = std::min<int64_t>(dice_.tokens(300, 8000), kv_tokens_ / 5);
    if (dice_.chance(0.4)) policy["reserved_windows"] = dice_.within(1, 2);
    // State kept on the GPU between turns takes room from them.
    if (policy.contains("tiers")) {
      for (Json& tier : policy["tiers"]) {
        if (tier["kind"] != "hbm") continue;
        tier["capacity_bytes"] =
            known_.model.kv_bytes_per_token() * dice_.spread(1, 0.4 * static_cast<double>(kv_tokens_));
      }
    }
  }

  Dice& dice_;
  const Scenario& known_;
  int64_t kv_tokens_;
  Json& serving_;
};

}  // namespace

Json policy_json(Dice& dice, const Scenario& known, int64_t kv_tokens, Json& serving) {
  return PolicyGenerator(dice, known, kv_tokens, serving).policy();
}

}  // namespace kvcap::soak
