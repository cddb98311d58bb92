// The restoration of one context on an idle machine, by names of the catalogue: what kvcap restore and the
// page of kvcap whatif ask about.
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
  std::optional<int64_t> gpus;  // of one engine, by tensor parallelism
  int64_t tokens = 0;
  int64_t new_tokens = 64;
  std::string tier;  // empty: ssd where there is one, else the tier nearest to the GPU
  std::vector<std::string> overrides;
};

StoredContexts contexts_of(const LoneContext& asked);

// Returns a scenario of the machine; `step_tokens`: the tokens of the engine's largest step, if not its
// default. Throws InputError.
Scenario machine_scenario(const LoneContext& asked, const std::string& policy,
                          std::optional<int64_t> step_tokens);
// Returns a scenario with one context, whose state is in one tier with room for it, simulated layer by layer.
// Throws InputError.
Scenario lone_scenario(const LoneContext& asked, const std::string& policy);

// Removes the policies that do not support the scenario's model. Returns a note with their names.
std::vector<std::string> leave_out_refusing(const Scenario& scenario, std::vector<std::string>& policies);

// Throws InputError if the context does not fit the machine's tiers as the policy keeps it.
void require_room(const LoneContext& asked, const Machine& machine, const std::string& policy);

// Returns the closed form of a restoration as a member of "policies" of kvcap.restore/1, without what only a
// simulation knows: restore_s, ttft_s and timeline.
nlohmann::ordered_json closed_form_entry(const LoneContext& asked, const Machine& machine,
                                         const std::string& policy, Tier tier);

}  // namespace kvcap
