#include "launch/stack_tiers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "launch/flags/flags.h"
#include "policy/table.h"

namespace kvcap {
namespace {

constexpr std::string_view kMooncakeStore = "mooncake_store";

}  // namespace

const TierOptions* stack_tier(std::string_view policy, std::string_view kind) {
  const PolicyRow& row = policy_row(policy);
  for (const std::span<const TierOptions> tiers : {row.tiers, row.other_tiers}) {
    const auto found =
        std::find_if(tiers.begin(), tiers.end(), [&](const auto& one) { return kind_name(one) == kind; });
    if (found != tiers.end()) return &*found;
  }
  return nullptr;
}

bool has_size_flag(std::string_view policy, std::string_view kind) {
  const std::string field = "policy.tiers." + std::string(kind) + ".capacity_bytes";
  const std::vector<const FlagRow*> rows = flags_of_policy(policy);
  return std::any_of(rows.begin(), rows.end(), [&](const FlagRow* row) { return row->field == field; });
}

std::string_view kind_name(const TierOptions& tier) {
  const bool is_store = tier.kind == Tier::remote && tier.eviction == EvictionKind::sharded_lru;
  return is_store ? kMooncakeStore : name(tier.kind);
}

std::string tier_json(const TierOptions& own, const std::map<std::string, std::string>& members) {
  const std::string_view kind = kind_name(own);
  nlohmann::ordered_json json = {{"kind", kind}};
  // The kind of Mooncake Store implies its options.
  if (own.eviction && kind != kMooncakeStore) json["eviction"] = eviction_row(*own.eviction).name;
  if (own.evict_at && kind != kMooncakeStore) {
    json["evict_at"] = *own.evict_at;
    json["evict_share"] = own.evict_share;
  }
  if (own.after_uses != 1) json["after_uses"] = own.after_uses;
  const bool is_sized = members.contains("capacity_bytes") || members.contains("capacity_over_gpu");
  if (own.capacity_per_gpu_bytes && !is_sized) json["capacity_per_gpu_bytes"] = *own.capacity_per_gpu_bytes;
  if (own.capacity_over_gpu && !is_sized) json["capacity_over_gpu"] = *own.capacity_over_gpu;
  for (const auto& [key, text] : members) json[key] = nlohmann::ordered_json::parse(text);
  return json.dump();
}

}  // namespace kvcap
