// The fields of `policy`; the policy's own keys are rows of policy/key_table.h.
#include "policy/key_table.h"
#include "policy/table.h"
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static std::string_view eviction_meaning() {
  static const std::string text = [] {
    std::string summaries = "what leaves a full tier first. ";
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
          {.meaning = "which tier; mooncake_store: remote, with Mooncake Store's defaults",
           .required = true,
           .allowed = kTierKindNames});
  for (Tier tier : kTiers) {
    if (name(tier) == kind) o.kind = tier;
  }
  if (kind == kTierKindNames.back()) o = mooncake_store();
  v.field("capacity_bytes", o.capacity_bytes,
          positive_or_absent("for stored state", "bytes", "all there is"));
  v.field("capacity_per_gpu_bytes", o.capacity_per_gpu_bytes,
          positive_or_absent("in place of capacity_bytes: so many for each GPU of the engine", "bytes",
                             "capacity_bytes says"));
  v.field("capacity_over_gpu", o.capacity_over_gpu,
          {.meaning = "in place of capacity_bytes: times what the engine's KV blocks hold",
           .min = 1e-3,
           .max = 1e6,
           .absent = "capacity_bytes says"});
  v.field("eviction", o.eviction,
          {.meaning = eviction_meaning(),
           .absent = "the policy's",
           .fallback = name_of(kPolicyDefaults.eviction)});
  v.field("free_fraction", o.free_fraction,
          {.meaning = "share that is kept free by evicting ahead", .min = 0, .max = 1, .below_max = true});
  v.field("evict_at", o.evict_at,
          {.meaning = "share of the capacity beyond which evict_share of it leaves at once",
           .min = kMinShare,
           .max = 1,
           .absent = "what leaves makes room for what comes"});
  v.field("evict_share", o.evict_share, share("of the capacity that leaves then"));
  v.field("lease_s", o.lease_s, not_negative("for which what was read does not leave", "s"));
  v.field("soft_pin_s", o.soft_pin_s,
          not_negative("after its last use for which what several sessions can share (documents, pieces of "
                       "prompts) leaves only when nothing else can",
                       "s"));
  v.field(
      "after_uses", o.after_uses,
      {.meaning = "uses of a context before it enters from a nearer tier; the turn that computes it is one",
       .min = 1,
       .max = kMaxCount});
  v.field("replicas", o.replicas, {.meaning = "copies of what is stored", .min = 1, .max = 100});
  v.field("exclusive", o.exclusive,
          {.meaning = "hbm: what lies here takes no room in the first host tier, if a farther one has it"});
}

void describe(FieldVisitor& v, PolicyOptions& o) {
  v.field("name", o.name, {.meaning = "a preset for all that follows", .allowed = policy_names()});
  for_each_policy_key([&](const auto& key) { v.field(key.name, o.*key.value, key.spec); });
}

}  // namespace kvcap
