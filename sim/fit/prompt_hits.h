// Prefix hits of a log that does not say which prompts share text: whether its TTFT shows them, and the
// requests with as much shared text. A server computes only the tokens that its prefix cache does not have;
// without this a fit takes them for faster kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenario/scenario.h"
#include "workload/source.h"
#include "workload/workload.h"

namespace kvcap {

// Two forms that one number describes: TTFT that grows too slowly with the prompt, and TTFT that is too short
// by as much for all.
enum class SharedText : uint8_t { nothing, share_of_each_prompt, first_tokens_of_all_prompts };

struct PromptHits {
  bool are_unknown = false;  // the log does not say which prompts share text
  SharedText shared = SharedText::nothing;
  std::optional<double> given;  // share of the prompts' tokens, as the user states it
  std::string evidence;         // what TTFT says, as a sentence without its full stop

  // Beside the parameters of engine and machine.
  bool are_fitted() const { return shared != SharedText::nothing && !given; }
};

// Whether the source says of some prompts that they share text: pieces, histories, contexts.
bool says_shared_text(const Workload& workload);

// Compares the TTFT of requests that were answered alone with what the scenario's machine takes to compute
// their prompts. Hits are recognised where the growth with the prompt, or else what does not grow with it, is
// more than two standard deviations too small: of these requests and of what the profile states of its
// kernels' errors. Simulates the workload once.
// REQUIRES: `measured` is empty or has one element for each of the workload's turns.
PromptHits hits_in_ttft(const Scenario& scenario, const Workload& workload,
                        const std::vector<MeasuredTimes>& measured);

// The workload with prompts of which the prefix cache has `hit_share` of all tokens once the first have been
// computed. Hits are whole blocks, rounded up for some and down for others so that their sum is right, and
// leave at least one token of each prompt.
// REQUIRES: the workload says nothing of shared text; 0 <= hit_share < 1.
Workload with_hits(const Workload& workload, SharedText shared, double hit_share, int64_t block_tokens);

}  // namespace kvcap
