#include "launch/stack_tiers.h"

#include <nlohmann/json.hpp>

namespace kvcap {
namespace {

constexpr std::string_view kMooncakeStore = "mooncake_store";

// vLLM's secondary tiers never evict: docs/features/kv_offloading_usage.md@0078e9d.
constexpr TierOptions kKept = {.eviction = EvictionKind::none};

// In the order of distance from the GPU.
const StackTier kStackTiers[] = {
    {"vllm_offload", "dram", true},
    {"vllm_offload", "ssd", false, kKept},
    {"vllm_offload", "remote", false, kKept},
    {"vllm_offload", kMooncakeStore, false, mooncake_store()},
    {"lmcache", "dram", true, {.capacity_per_gpu_bytes = 5368709120}},
    {"lmcache", "ssd", true},
    {"lmcache", "remote", false},
    {"lmcache", kMooncakeStore, false, mooncake_store()},
    {"kvbm", "dram", true},
    {"kvbm", "ssd", true, {.after_uses = 2}},  // its filter by frequency: kvbm-guide.md@04521f4
    {"hicache", "dram", true, {.capacity_over_gpu = 2}},
    {"hicache", "ssd", false},
    {"hicache", "remote", false},
    {"hicache", kMooncakeStore, false, mooncake_store()},
    {"trtllm_offload", "dram", true},
};

}  // namespace

const StackTier* stack_tier(std::string_view policy, std::string_view kind) {
  for (const StackTier& one : kStackTiers) {
    if (one.policy == policy && one.kind == kind) return &one;
  }
  return nullptr;
}

std::string_view kind_name(const TierOptions& tier) {
  const bool is_store = tier.kind == Tier::remote && tier.eviction == EvictionKind::sharded_lru;
  return is_store ? kMooncakeStore : name(tier.kind);
}

std::string tier_json(const StackTier& tier, const std::map<std::string, std::string>& members) {
  nlohmann::ordered_json json = {{"kind", tier.kind}};
  const TierOptions& own = tier.options;
  // The kind of Mooncake Store says its options.
  if (own.eviction && tier.kind != kMooncakeStore) json["eviction"] = eviction_row(*own.eviction).name;
  if (own.after_uses != 1) json["after_uses"] = own.after_uses;
  const bool is_sized = members.contains("capacity_bytes") || members.contains("capacity_over_gpu");
  if (own.capacity_per_gpu_bytes && !is_sized) json["capacity_per_gpu_bytes"] = *own.capacity_per_gpu_bytes;
  if (own.capacity_over_gpu && !is_sized) json["capacity_over_gpu"] = *own.capacity_over_gpu;
  for (const auto& [key, text] : members) json[key] = nlohmann::ordered_json::parse(text);
  return json.dump();
}

}  // namespace kvcap
