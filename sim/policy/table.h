// The tables of policies. A policy is what is kept x how it comes back x where it may lie x what counts as
// the same; a name is a preset of all four, and every option may override it. What is kept and how it comes
// back have to go together, which the table of restorations says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace kvcap {

struct PolicyRow {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view keeps;     // what is kept of a context
  std::string_view restores;  // how it comes back
  std::string_view wins;      // when it is the right choice, and when not
  Keep keep;
  Restore restore;
  // Fills in what else the name stands for and the scenario leaves open.
  void (*preset)(PolicyOptions& options);
  std::string_view leaves_out = {};               // of the paper's system, or of the stack
  std::span<const TierOptions> tiers = {};        // unless the scenario names them; empty: all of the profile
  std::span<const TierOptions> other_tiers = {};  // that the flags of a stack can add, with its options
};

struct RestoreRow {
  Restore restore;
  std::string_view summary;     // one line
  std::span<const Keep> keeps;  // what can come back so
  // Fills in what it needs and nobody has set.
  void (*preset)(PolicyOptions& options);
  std::unique_ptr<Policy> (*make)(const PolicyInputs&);
  bool plans = false;  // what is stored depends on the tiers that are expected to serve hits
};

std::span<const PolicyRow> policy_table();
std::span<const std::string_view> policy_names();
const PolicyRow& policy_row(std::string_view name);
std::span<const RestoreRow> restore_table();  // in the order of the enumeration
const RestoreRow& restore_row(Restore restore);

// The options with all that the policy's name stands for. REQUIRES: the name is in the table.
PolicyOptions with_preset(PolicyOptions options);

// The functions below REQUIRE that the options have their preset.

// Whether what is kept can come back so.
bool goes_together(Keep keep, Restore restore);
// The tiers that the name stands for, of those that the machine has. Nothing: every one.
std::optional<std::vector<TierOptions>> preset_tiers(std::string_view name,
                                                     const std::function<bool(Tier)>& has);
// Whether contexts are kept in host tiers.
bool stores(const PolicyOptions& options);
// The name's line, and what the options have in place of its form and restoration.
std::string policy_summary(const PolicyOptions& options);
// What is known of how answers suffer, from what the policy leaves out and from what counts as the same.
std::string quality_note(const PolicyOptions& options, const Policy& policy);
// REQUIRES: what is kept can come back so. Throws InputError when the policy stores contexts and there is no
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
