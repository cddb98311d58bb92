// The fields of `policy`; the policy's own keys are rows of policy/key_table.h.
#include "policy/key_table.h"
#include "policy/table.h"
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static std::string_view eviction_meaning() {
  static const std::string text = [] {
    std::string summaries = "eviction order, by what a full tier evicts first. ";
    for (const EvictionRow& row : kEvictions) {
      if (&row != kEvictions.begin()) summaries += "; ";
      summaries += std::string(row.name) + ": " + std::string(row.summary);
    }
    return summaries;
  }();
  return text;
}

static void describe(FieldVisitor& v, TierOptions& o) {
  std::string kind(name(o.kind));
  v.field("kind", kind,
          {.meaning = "tier; mooncake_store: remote with Mooncake Store's defaults",
           .required = true,
           .allowed = kTierKindNames});
  for (Tier tier : kTiers) {
    if (name(tier) == kind) o.kind = tier;
  }
  if (kind == kTierKindNames.back()) o = mooncake_store();
  v.field(
      "capacity_bytes", o.capacity_bytes,
      not_negative("capacity for stored state; 0: there is no such tier", "bytes", "that of the hardware"));
  v.field("capacity_per_gpu_bytes", o.capacity_per_gpu_bytes,
          positive_or_absent("capacity per GPU of the engine, in place of capacity_bytes", "bytes",
                             "from capacity_bytes"));
  v.field("capacity_over_gpu", o.capacity_over_gpu,
          {.meaning = "capacity over the size of the engine's KV cache, in place of capacity_bytes",
           .min = 1e-3,
           .max = 1e6,
           .absent = "from capacity_bytes"});
  v.field("eviction", o.eviction,
          {.meaning = eviction_meaning(),
           .absent = "the policy's",
           .fallback = name_of(kPolicyDefaults.eviction)});
  v.field("free_fraction", o.free_fraction,
          {.meaning = "share of the capacity that background eviction keeps free",
           .min = 0,
           .max = 1,
           .below_max = true});
  v.field("evict_at", o.evict_at,
          {.meaning = "share of the capacity above which evict_share of it is evicted at once",
           .min = kMinShare,
           .max = 1,
           .absent = "evictions only make room"});
  v.field("evict_share", o.evict_share, share("share of the capacity that is evicted above evict_at"));
  v.field("lease_s", o.lease_s, not_negative("time after a read during which a context is not evicted", "s"));
  v.field("soft_pin_s", o.soft_pin_s,
          not_negative("time after the last use during which contexts that sessions share (documents, "
                       "pieces) are evicted last",
                       "s"));
  v.field("after_uses", o.after_uses,
          {.meaning =
               "uses of a context before it enters from a nearer tier, including the turn that computes it",
           .min = 1,
           .max = kMaxCount});
  v.field("replicas", o.replicas, {.meaning = "copies of stored state", .min = 1, .max = 100});
  v.field("exclusive", o.exclusive,
          {.meaning = "hbm: contexts here take no room in the first host tier if a farther tier has them"});
}

void describe(FieldVisitor& v, PolicyOptions& o) {
  v.field("name", o.name, {.meaning = "preset of all other keys", .allowed = policy_names()});
  for_each_policy_key([&](const auto& key) { v.field(key.name, o.*key.value, key.spec); });
}

}  // namespace kvcap
