// Speculation: what speculative decoding yields and what its drafts take, without a clock.
//
// A step computes 1 + k rows of a sequence that decodes: the token that it knows last, and k drafts behind
// it. Drafts are accepted from the front until one is not; in its place, or behind the last, stands a token
// of the model's own. With the same chance r for every draft a step yields at least i + 1 tokens with the
// chance r^i, and a = 1 + r + ... + r^k in the mean, which is solved for r where a is given.
//
// How many tokens a step yields is drawn, not rounded from the mean: the number of steps that an answer takes
// spreads, and with it TPOT and E2EL (by 1/sqrt(steps)); a mean would hide their tails. What is drawn depends
// on the seed, the turn and the place in its answer alone, as a text's predictability does: other draws do
// not move, every policy sees the same answers, and a request that is preempted meets the same luck again.
//
// A drafter's first pass of a step computes the rows that the step computes, for its own state; k - 1 more
// passes compute a row of each sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/random.h"
#include "cost/cost_model.h"
#include "cost/draft_memory.h"
#include "serving/speculative_options.h"

namespace kvcap {

// r of 1 + r + ... + r^k = a. REQUIRES: 1 <= acceptance_length <= draft_tokens + 1.
double solve_chance(int64_t draft_tokens, double acceptance_length);
// a of r.
double acceptance_length_of(int64_t draft_tokens, double chance);
// Tokens that a step with so many drafts yields, by a number that is uniform on (0, 1).
int64_t tokens_of_step(double uniform, int64_t drafts, double chance);

// The model whose passes draft; nothing where no GPU does. `model`: the one that verifies.
std::optional<ModelSpec> drafter_of(const SpeculativeOptions& options, const ModelSpec& model);
// What it takes of each GPU's memory.
DraftMemory draft_memory(const SpeculativeOptions& options, const ModelSpec& model,
                         int64_t tensor_parallel_size, const ExpertPlacement& placement = {});

class Speculation {
 public:
  // REQUIRES: options.draft_tokens > 0.
  Speculation(const SpeculativeOptions& options, const ModelSpec& model, const HardwareProfile& hardware,
              int64_t tensor_parallel_size, uint64_t seed, const ExpertPlacement& placement = {});

  int64_t draft_tokens() const { return draft_tokens_; }
  // That a draft is accepted if all before it are.
  double chance() const { return chance_; }
  double acceptance_length() const { return acceptance_length_of(draft_tokens_, chance_); }
  // Slots for KV that a drafter's passes write ahead of what is verified (vLLM's num_lookahead_tokens).
  int64_t lookahead_tokens() const { return drafter_ ? draft_tokens_ : 0; }
  // A prompt's last cached block is computed again, since layers that draft need the hidden states of the
  // tokens before (vLLM drops it for EAGLE and MTP).
  bool drops_last_block() const { return method_ == DraftMethod::layers; }

  // Tokens that a step with `drafts` drafts yields behind the first `position` tokens of a turn's answer.
  int64_t tokens(uint32_t session, uint32_t turn, int64_t position, int64_t drafts) const;
  // Seconds of the drafter's passes in a step that computes `chunks` of prompts and verifies `decodes`. Other
  // ranks that share its experts count as if they had as many rows.
  double drafter_s(std::span<const PrefillChunk> chunks, const Decodes& decodes) const;
  // Seconds of a step in which nothing but drafts is made, beside the drafter's passes.
  double draft_step_s() const { return draft_step_s_; }

 private:
  DraftMethod method_;
  int64_t draft_tokens_;
  double chance_;
  double draft_step_s_;
  RandomStream stream_;
  std::unique_ptr<CostModel> drafter_;  // none for ngram
};

}  // namespace kvcap
