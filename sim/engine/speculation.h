// Speculation: tokens per step and drafting times of speculative decoding. It has no clock.
//
// A step computes 1 + k rows per decoding sequence: its last known token and k drafts. Drafts are accepted
// from the front up to the first rejection; the model's own token replaces the rejected draft or follows the
// last one. If every draft has the same acceptance probability r, a step yields at least i + 1 tokens with
// probability r^i, and a = 1 + r + ... + r^k on average. If a is given, this is solved for r.
//
// The tokens per step are drawn, not rounded from the mean: the number of steps per answer varies, and with
// it TPOT and E2EL (by 1/sqrt(steps)); a mean would hide their tails. A draw depends only on the seed, the
// turn and the position in its answer. So draws do not shift each other, every policy sees the same answers,
// and a preempted request repeats its draws.
//
// A drafter's first pass in a step computes the same rows as the step, to update its own state; k - 1 more
// passes compute one row per sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/random.h"
#include "cost/cost_model.h"
#include "cost/draft_memory.h"
#include "engine/speculative_options.h"

namespace kvcap {

// Returns the r that solves 1 + r + ... + r^k = a. REQUIRES: 1 <= acceptance_length <= draft_tokens + 1.
double solve_chance(int64_t draft_tokens, double acceptance_length);
// Returns the acceptance length a for acceptance probability `chance`.
double acceptance_length_of(int64_t draft_tokens, double chance);
// Returns how many tokens a step with `drafts` drafts yields for a `uniform` number in (0, 1).
int64_t tokens_of_step(double uniform, int64_t drafts, double chance);

// Returns the model that drafts; nullopt if drafting uses no GPU. `model`: the verifying model.
std::optional<ModelSpec> drafter_of(const SpeculativeOptions& options, const ModelSpec& model);
// Returns the drafter's memory per GPU.
DraftMemory draft_memory(const SpeculativeOptions& options, const ModelSpec& model,
                         int64_t tensor_parallel_size, const ExpertPlacement& placement = {});

class Speculation {
 public:
  // REQUIRES: options.draft_tokens > 0.
  Speculation(const SpeculativeOptions& options, const ModelSpec& model, const HardwareProfile& hardware,
              int64_t tensor_parallel_size, uint64_t seed, const ExpertPlacement& placement = {});

  int64_t draft_tokens() const { return draft_tokens_; }
  // Returns the probability that a draft is accepted if all drafts before it are.
  double chance() const { return chance_; }
  double acceptance_length() const { return acceptance_length_of(draft_tokens_, chance_); }
  // Returns the KV slots that a drafter writes ahead of verified tokens (vLLM's num_lookahead_tokens).
  int64_t lookahead_tokens() const { return drafter_ ? draft_tokens_ : 0; }
  // True iff a prompt's last cached block is computed again, because drafting layers need the hidden states
  // of preceding tokens (vLLM drops the block for EAGLE and MTP).
  bool drops_last_block() const { return method_ == DraftMethod::layers; }

  // Returns how many tokens a step with `drafts` drafts yields after the first `position` tokens of a turn's
  // answer.
  int64_t tokens(uint32_t session, uint32_t turn, int64_t position, int64_t drafts) const;
  // Returns the seconds of the drafter's passes in a step that computes `chunks` of prompts and verifies
  // `decodes`. Assumes that other ranks that share its experts have the same number of rows.
  double drafter_s(std::span<const PrefillChunk> chunks, const Decodes& decodes) const;
  // Returns the seconds of drafting per step besides the drafter's passes.
  double draft_step_s() const { return draft_step_s_; }

 private:
  DraftMethod method_;
  int64_t draft_tokens_;
  double chance_;
  double draft_step_s_;
  RandomStream stream_;
  std::unique_ptr<CostModel> drafter_;  // null for ngram
};

}  // namespace kvcap
