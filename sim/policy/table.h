// The tables of policies and restorations. A policy combines the form in which contexts are kept, their
// restoration, the tiers, and the condition for a hit. A policy's name is a preset of all four, which options
// can override. The table of restorations lists the forms that each restoration can use.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "spec/engine_version.h"

namespace kvcap {

struct PolicyRow {
  std::string_view name;
  std::string_view summary;   // one line
  std::string_view keeps;     // the form in which a context is kept
  std::string_view restores;  // how a context is restored
  std::string_view wins;      // situations in which the policy is, and is not, the right choice
  Keep keep;
  Restore restore;
  // Sets the other options that the name implies and the scenario does not set.
  void (*preset)(PolicyOptions& options);
  std::string_view leaves_out = {};  // features of the paper's system or of the stack that are not modelled
  std::span<const TierOptions> tiers = {};        // default of policy.tiers; empty: all tiers of the profile
  std::span<const TierOptions> other_tiers = {};  // tiers that options of a stack can add
  // For production stacks only: the files with commits, or the versions, from which its facts were read; its
  // errors in comparison with published runs (from scenarios/reference/accuracy.md); and, for a stack that is
  // part of vLLM, the version of the files in `read_from`.
  std::string_view read_from = {};
  std::string_view accuracy = {};
  std::optional<EngineVersion> read_version = {};
};

struct RestoreRow {
  Restore restore;
  std::string_view summary;     // one line
  std::span<const Keep> keeps;  // forms from which contexts can be restored
  // Sets the options that the restoration needs and that are not set.
  void (*preset)(PolicyOptions& options);
  std::unique_ptr<Policy> (*make)(const PolicyInputs&);
  bool plans = false;  // the stored form depends on the tiers that are expected to serve hits
};

std::span<const PolicyRow> policy_table();
std::span<const std::string_view> policy_names();
const PolicyRow& policy_row(std::string_view name);
std::span<const RestoreRow> restore_table();  // in the order of the enumeration
const RestoreRow& restore_row(Restore restore);

// Returns the options completed by the preset of the policy's name. REQUIRES: the name is in the table.
PolicyOptions with_preset(PolicyOptions options);

// The functions below REQUIRE that the options have their preset.

// True iff this restoration can use the kept form.
bool goes_together(Keep keep, Restore restore);
// Returns those tiers of the preset that the machine has, or nullopt if the preset uses all tiers.
std::optional<std::vector<TierOptions>> preset_tiers(std::string_view name,
                                                     const std::function<bool(Tier)>& has);
// True iff contexts are kept in host tiers.
bool stores(const PolicyOptions& options);
// If `version` is newer than the one from which the row was read, returns a text such as "vllm_offload works
// in vLLM 0.30 as in 0.25, the version that it was read from"; else "".
std::string older_preset_text(const PolicyRow& row, EngineVersion version);
// Returns the summary of the preset, followed by the options that replace its form and restoration, if any.
std::string policy_summary(const PolicyOptions& options);
// Describes the known loss of answer quality due to state that the policy does not use and to its kind of
// hits; empty if there is none.
std::string quality_note(const PolicyOptions& options, const Policy& policy);
// Returns the policy. REQUIRES: goes_together(). Throws InputError if the policy stores contexts and there is
// no host tier.
std::unique_ptr<Policy> make_policy(const PolicyInputs& inputs);

// Each of these functions is in its own file.
std::unique_ptr<Policy> make_recompute(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_ideal(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_kv_offload(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_hcache(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_cacheblend(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_hyperinfer(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_adaptive(const PolicyInputs& inputs);
std::unique_ptr<Policy> make_npu_buffers(const PolicyInputs& inputs);

}  // namespace kvcap
