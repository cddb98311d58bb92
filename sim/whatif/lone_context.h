// LoneContext: one context to restore on an idle machine. kvcap restore and the page of kvcap whatif compute
// how long its restoration takes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "run/lone_restore.h"

namespace kvcap {

struct LoneContext {
  std::string model, hardware;  // names or paths
  std::optional<int64_t> gpus;  // tensor parallel size
  int64_t tokens = 0;
  int64_t new_tokens = 64;
  std::string tier;  // empty: ssd if the hardware has one, otherwise the tier nearest to the GPU
  std::vector<std::string> overrides;
};

StoredContexts contexts_of(const LoneContext& asked);

// Returns a scenario with the model, hardware and overrides of `asked` and with this policy. `step_tokens`:
// the tokens of the engine's largest step; nullopt: its default. Throws InputError.
Scenario machine_scenario(const LoneContext& asked, const std::string& policy,
                          std::optional<int64_t> step_tokens);
// Returns a scenario that restores the context from one tier and simulates the restoration layer by layer.
// The scenario has room for the context on the GPU even if the hardware does not; require_room() checks the
// tier. Throws InputError.
Scenario lone_scenario(const LoneContext& asked, const std::string& policy);

// Removes the policies that do not support the scenario's model. Returns a note that names the removed
// policies; empty if none is removed.
std::vector<std::string> leave_out_refusing(const Scenario& scenario, std::vector<std::string>& policies);

// Throws InputError if the context, in the form in which the policy stores it, does not fit the machine's
// tiers.
void require_room(const LoneContext& asked, const Machine& machine, const std::string& policy);

// Returns the closed form of a restoration as a member of "policies" of kvcap.restore/1, without the members
// that need a simulation: restore_s, ttft_s and timeline. `scenario`: from lone_scenario().
nlohmann::ordered_json closed_form_entry(const LoneContext& asked, const Machine& machine,
                                         const Scenario& scenario);

}  // namespace kvcap
