// Infers the prefix-cache hits of a log that does not show which prompts share text: detects hits from TTFT,
// and builds requests that share as much text. A server computes only the tokens that its prefix cache lacks;
// without this correction, a fit would attribute the hits to faster kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenario/scenario.h"
#include "workload/source.h"
#include "workload/workload.h"

namespace kvcap {

// How prompts share text: not at all; the same share of each prompt (TTFT grows too slowly with the prompt);
// or the same first tokens of all prompts (TTFT is too short by a constant).
enum class SharedText : uint8_t { nothing, share_of_each_prompt, first_tokens_of_all_prompts };

struct PromptHits {
  bool are_unknown = false;  // the log does not show which prompts share text
  SharedText shared = SharedText::nothing;
  std::optional<double> given;  // share of the prompts' tokens, given by the user
  std::string evidence;         // what TTFT shows: a sentence without its full stop

  // True iff the hit share is fitted along with the parameters of engine and machine.
  bool are_fitted() const { return shared != SharedText::nothing && !given; }
};

// True iff the workload shows shared text: pieces, histories or contexts.
bool says_shared_text(const Workload& workload);

// Compares the TTFT of requests that were answered alone with the time that the scenario's machine needs to
// compute their prompts. Detects hits if the slope over the prompt, or otherwise the intercept, is too small
// by more than two standard deviations, which combine the scatter of the requests and the profile's stated
// kernel errors. Simulates the workload once. REQUIRES: `measured` is empty or has one element for each of
// the workload's turns.
PromptHits hits_in_ttft(const Scenario& scenario, const Workload& workload,
                        const std::vector<MeasuredTimes>& measured);

// Returns the workload with shared text added, so that the prefix cache contains `hit_share` of all prompt
// tokens once the first prompts are computed. The hits of a prompt are whole blocks, rounded up or down so
// that their sum is correct, and at least one token remains to be computed. REQUIRES: the workload has no
// shared text; 0 <= hit_share < 1.
Workload with_hits(const Workload& workload, SharedText shared, double hit_share, int64_t block_tokens);

}  // namespace kvcap
