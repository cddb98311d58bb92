// The table of policies: a name is a preset that every option may override.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "policy/policy.h"

namespace kvcap {

struct PolicyRow {
  std::string_view name;
  std::string_view summary;                // one line
  std::string_view keeps;                  // what is kept of a context
  std::string_view restores;               // how it comes back
  std::string_view wins;                   // when it is the right choice, and when not
  std::string_view options;                // the keys it listens to, with defaults
  bool stores;                             // needs a host tier
  void (*preset)(PolicyOptions& options);  // fills in what the name stands for and the scenario leaves open
  std::unique_ptr<Policy> (*make)(const PolicyInputs&);
};

std::span<const PolicyRow> policy_table();
std::span<const std::string_view> policy_names();
bool policy_stores(std::string_view name);
std::string_view policy_summary(std::string_view name);
// The options with all that the policy's name stands for. REQUIRES: the name is in the table.
PolicyOptions with_preset(PolicyOptions options);
// REQUIRES: the options have their preset. Throws InputError when the policy stores contexts and there is no
// host tier.
std::unique_ptr<Policy> make_policy(const PolicyInputs& inputs);

// One file each.
std::unique_ptr<Policy> make_recompute(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_ideal(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_kv_offload(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_hcache(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_cacheblend(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_hyperinfer(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_adaptive(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_npu_buffers(const PolicyInputs& inputs);

}  // namespace kvcap
