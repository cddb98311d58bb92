// How an engine instance serves requests; the names are vLLM's.
#pragma once

#include <cstdint>
#include <optional>

namespace kvcap {

enum class Overflow : uint8_t { truncate, reject };  // what happens to a prompt beyond max_model_len

struct ServingOptions {
  int64_t tensor_parallel_size = 1;
  int64_t max_num_seqs = 256;  // requests admitted at once (restoring, prefilling or decoding)
  // Waiting beside a full batch; a turn that finds so many is rejected. Absent: any number.
  std::optional<int64_t> max_queued_turns;
  int64_t max_num_batched_tokens = 2048;  // token budget of one step (chunked prefill)
  int64_t block_size = 16;                // tokens of a KV block
  double gpu_memory_utilization = 0.9;
  std::optional<int64_t> max_model_len;       // absent: the model's max_position_embeddings
  std::optional<int64_t> kv_capacity_tokens;  // absent: derived from memory, weights and activations
  Overflow overflow = Overflow::truncate;     // drop the oldest half of the history until it fits
};

}  // namespace kvcap
