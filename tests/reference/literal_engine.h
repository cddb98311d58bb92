// The engine one step at a time: every step is planned, lasts its time, and ends; every block has a record,
// whatever groups of layers share them.
// No closed form, no run of steps at once, no tree. Tests compare sim/engine with it.
//
// Semantics (vLLM V1): running requests are scheduled first, then waiting ones in order. A request looks up
// its hits when it is scheduled for the first time and after each preemption. Its blocks get their names when
// they are scheduled to be full; those of generated tokens when the token is known. The request that was
// admitted last is preempted first, goes to the head of the queue and keeps the tokens of the step in flight.
// With priorities the queue is in order of (priority, arrival), and the last one in this order is preempted:
// also out of the step that is being scheduled, which gets its tokens back. A request that is preempted for
// its own block ends the scheduling of running ones.
// Drafts count as computed and as known when they are scheduled; the end of the step takes rejected ones
// back. What was scheduled of a request that has ended is computed for nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/literal_groups.h"

namespace kvcap::reference {

// The first `tokens` tokens of a text.
struct TextPart {
  Key text = 0;
  int64_t tokens = 0;
};

// The text that the request `id` generates.
constexpr Key answer_text(int64_t id) { return (Key{1} << 40) + static_cast<Key>(id); }

struct Request {
  int64_t id = 0;
  double arrival_s = 0;
  std::vector<TextPart> prompt;
  int64_t output_tokens = 1;
  int64_t priority = 0;  // lower values come first
};

int64_t prompt_tokens(const Request& request);

struct EngineOptions {
  int64_t block_size = 16;
  int64_t blocks = 0;
  int64_t max_num_seqs = 256;
  int64_t max_num_batched_tokens = 2048;
  int64_t long_prefill_token_threshold = 0;  // most tokens of one request in a step; 0: as many as there are
  bool has_priorities = false;
  bool prefix_caching = true;
  bool async_scheduling = true;
  bool cache_generated = true;
  Retention retention;
  // Of a model whose layers differ in what they keep; empty: one group that keeps every token. Then
  // block_size says nothing, and a step computes up to the end of a block as vLLM's "align" mode has it.
  std::vector<KvGroup> groups;
  Checkpoints checkpoints = Checkpoints::align;
  // Speculative decoding: so many drafts behind each token that is decoded, slots for a drafter's own passes,
  // and no row or slot beyond the longest sequence. A layer that drafts computes a prompt's last found block
  // again.
  int64_t draft_tokens = 0;
  // Drafts that a step of so many requests makes for the next step of each of them; empty: draft_tokens.
  std::function<int64_t(int64_t requests)> drafts_by_batch;
  int64_t lookahead_tokens = 0;
  int64_t max_model_len = 1 << 20;
  bool drops_last_block = false;
  double step_overhead_s = 0;
  double step_overhead_per_sequence_s = 0;
};

// What one step computes of one request.
struct SliceOfStep {
  int64_t tokens = 0;
  int64_t cached_tokens = 0;  // of the request, computed before this step
  bool is_decode = false;     // the only token is one that the request generated since it was admitted
  int64_t drafts = 0;         // of the tokens, behind that one
  bool yields_token = false;  // nothing of what is known of the request is left to compute
};
using GpuTime = std::function<double(std::span<const SliceOfStep> step)>;
// Tokens that a step with `drafts` drafts yields of the request behind the first `generated` tokens of its
// answer. Requests are numbered in their order.
using Yields = std::function<int64_t(std::size_t request, int64_t generated, int64_t drafts)>;

struct Outcome {
  int64_t id = 0;
  bool refused = false;    // can never fit the pool; the rest is 0 then
  int64_t hit_tokens = 0;  // at first admission
  double ttft_s = 0;
  double e2el_s = 0;
  int64_t preemptions = 0;
  std::vector<double> token_dates_s;
};

// A block of the first group that left the pool: the last one of a chain of `blocks` blocks.
struct EvictedBlock {
  int64_t blocks = 0;
  Token last_token;
  bool operator==(const EvictedBlock&) const = default;
};

struct EngineRun {
  std::vector<Outcome> outcomes;  // in the order of the requests
  std::vector<EvictedBlock> evicted;
  int64_t steps = 0;
  int64_t preemptions() const;
};

// A step lasts its GPU time plus its host time, or with async_scheduling the longer of the two. Without
// `gpu_s` the GPU takes no time.
EngineRun run_literally(const EngineOptions& options, std::span<const Request> requests,
                        const GpuTime& gpu_s = {}, const Yields& yields = {});

}  // namespace kvcap::reference
