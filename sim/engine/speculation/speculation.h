// Speculation: tokens per step and drafting times of speculative decoding. It has no clock.
//
// A step computes 1 + k rows per decoding sequence: its last known token and k drafts. Drafts are accepted
// from the front up to the first rejection; the model's own token replaces the rejected draft or follows the
// last one. With probability p_i (the acceptance probability of position i) a step yields at least i + 1
// tokens, so the mean is 1 + p_1 + ... + p_k. If only this mean a is given, every draft after accepted ones
// has the same probability r, and a = 1 + r + ... + r^k is solved for r.
//
// Step N drafts the tokens that the sequence's next step verifies. If their number depends on the batch size,
// the batch size of step N counts, prompts included (vllm/v1/core/sched/scheduler.py, dynamic_sd_lookup).
//
// The tokens per step are drawn, not rounded from the mean: the number of steps per answer varies (relatively
// by 1/sqrt(steps)), and TPOT and E2EL vary with it. A mean would hide their tails. A draw depends only on
// the seed, the turn and the position in its answer. So draws do not shift each other, every policy sees the
// same answers, and a preempted request repeats its draws.
//
// A drafter's first pass in a step computes the same rows as the step, to update its own state; k - 1 more
// passes compute one row per sequence. The drafter computes the first pass even if it drafts nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "cost/cost_model.h"
#include "cost/draft_memory.h"
#include "engine/speculation/speculative_options.h"

namespace kvcap {

// Returns how many tokens a step with `drafts` drafts yields for a `uniform` number in (0, 1). `chances`: as
// returned by chances_of().
int64_t tokens_of_step(double uniform, int64_t drafts, std::span<const double> chances);

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

  int64_t draft_tokens() const { return options_.draft_tokens; }
  // Returns how many tokens a step with `sequences` sequences drafts for each.
  int64_t drafts_of(int64_t sequences) const { return drafts_of_batch(options_, sequences); }
  bool adapts() const { return !options_.drafts_by_batch.empty(); }
  const std::vector<double>& chances() const { return chances_; }
  // Returns the mean tokens of a step with `drafts` drafts.
  double acceptance_length(int64_t drafts) const;
  // Returns the KV slots that a drafter writes ahead of verified tokens (vLLM's num_lookahead_tokens).
  int64_t lookahead_tokens() const { return drafter_ ? options_.draft_tokens : 0; }
  // True iff a prompt's last cached block is computed again, because drafting layers need the hidden states
  // of preceding tokens (vLLM drops the block for EAGLE and MTP).
  bool drops_last_block() const { return options_.method == DraftMethod::layers; }

  // Returns how many tokens a step with `drafts` drafts yields after the first `position` tokens of a turn's
  // answer.
  int64_t tokens(uint32_t session, uint32_t turn, int64_t position, int64_t drafts) const;
  // Returns the seconds of the drafter's passes in a step that computes `chunks` of prompts and verifies
  // `decodes`. Assumes that other ranks that share its experts have the same number of rows.
  double drafter_s(std::span<const PrefillChunk> chunks, const Decodes& decodes) const;
  // Returns the seconds of drafting per step in addition to the drafter's passes.
  double draft_step_s() const { return options_.draft_step_s; }

 private:
  SpeculativeOptions options_;
  std::vector<double> chances_;
  RandomStream stream_;
  std::unique_ptr<CostModel> drafter_;  // null for ngram
};

}  // namespace kvcap
