// How an engine instance serves requests; the names are vLLM's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/text/names.h"
#include "serving/speculative_options.h"
#include "spec/expert_placement.h"
#include "spec/kv_capacity_model.h"
#include "spec/kv_groups.h"
#include "spec/sampling.h"

namespace kvcap {

// Whose behaviour and defaults the other options follow where they are not given (engines.h).
enum class EngineKind : uint8_t { vllm, sglang, trtllm };
inline constexpr std::string_view kEngineNames[] = {"vllm", "sglang", "trtllm"};
constexpr Names names_of(EngineKind) { return kEngineNames; }

enum class Overflow : uint8_t { truncate, reject };  // what happens to a prompt beyond max_model_len
inline constexpr std::string_view kOverflowNames[] = {"truncate", "reject"};
constexpr Names names_of(Overflow) { return kOverflowNames; }

// What must be free or evictable before a request is admitted: the blocks of its whole prompt, of its first
// slice, of its prompt and its whole answer (TensorRT-LLM's GUARANTEED_NO_EVICT), or of these and of a share
// of what those that run have still to answer, which falls with every decode step and rises when one is
// preempted (SGLang's new_token_ratio).
enum class Admission : uint8_t { full_prompt, chunk, reserve_output, reserve_share };
inline constexpr std::string_view kAdmissionNames[] = {"full_prompt", "chunk", "reserve_output",
                                                       "reserve_share"};
constexpr Names names_of(Admission) { return kAdmissionNames; }

// mixed: a step computes prompts beside decodes (vLLM). prefill_first: while prompts wait, steps compute
// prompts alone (SGLang without mixed chunks).
enum class StepOrder : uint8_t { mixed, prefill_first };
inline constexpr std::string_view kStepOrderNames[] = {"mixed", "prefill_first"};
constexpr Names names_of(StepOrder) { return kStepOrderNames; }

// Attention of a prompt of which a step computes one token, as the last one of a prompt that was found as a
// whole: in the prompts' kernel, or as a sequence that decodes, which kernels tell by the number of rows
// alone (vLLM V1).
enum class OneTokenSlices : uint8_t { prefill, decode };
inline constexpr std::string_view kOneTokenSlicesNames[] = {"prefill", "decode"};
constexpr Names names_of(OneTokenSlices) { return kOneTokenSlicesNames; }

// Attention of a step that mixes prompts and decodes. two_calls: each in its own kernel (FlashInfer,
// TensorRT-LLM, MLA). one_call: decoding rows in the prompts' kernel, which does not split their keys
// (vLLM's FlashAttention backend; vllm-project/vllm#58013 says so and would change it for FlashAttention-2).
enum class MixedAttention : uint8_t { two_calls, one_call };
inline constexpr std::string_view kMixedAttentionNames[] = {"two_calls", "one_call"};
constexpr Names names_of(MixedAttention) { return kMixedAttentionNames; }

// The library of attention kernels.
enum class AttentionBackend : uint8_t { flash_attn, flashinfer, triton, trtllm };
inline constexpr std::string_view kAttentionBackendNames[] = {"flash_attn", "flashinfer", "triton", "trtllm"};
constexpr Names names_of(AttentionBackend) { return kAttentionBackendNames; }

// Default host times: those of the engine and its version (host_times.h), or none.
enum class HostTimes : uint8_t { engine, none };
inline constexpr std::string_view kHostTimesNames[] = {"engine", "none"};
constexpr Names names_of(HostTimes) { return kHostTimesNames; }

struct ServingOptions {
  EngineKind engine = EngineKind::vllm;
  int64_t tensor_parallel_size = 1;
  // Ranks of a replica, each an engine of its own of tensor_parallel_size GPUs. Ranks of a model with experts
  // share these and step together (ExpertPlacement); of others they are independent.
  int64_t data_parallel_size = 1;
  bool expert_parallel = false;
  ExpertExchange expert_exchange = ExpertExchange::allgather_reducescatter;
  std::optional<double> expert_imbalance;
  int64_t max_num_seqs = 256;  // requests that run at once
  // Waiting beside a full batch; a turn that finds so many is rejected. Absent: any number.
  std::optional<int64_t> max_queued_turns;
  int64_t max_num_batched_tokens = 2048;  // token budget of one step (chunked prefill)
  // A prompt may be computed in slices of several steps. False: as a whole, in one step that has room for it.
  bool chunked_prefill = true;
  int64_t block_size = 16;  // tokens of a KV block
  double gpu_memory_utilization = 0.9;
  std::optional<int64_t> max_model_len;       // absent: the model's max_position_embeddings
  std::optional<int64_t> kv_capacity_tokens;  // absent: derived by kv_capacity_model
  bool allow_impossible = false;              // simulates what the engine would not start with
  // Absent: engine where the profile has gpu.reported_memory_bytes, else simple.
  std::optional<KvCapacityModel> kv_capacity_model;
  std::string engine_version = "0.30";     // of vLLM (kNewestVllm): what it takes beside KV, and when
  Overflow overflow = Overflow::truncate;  // drop the oldest half of the history until it fits

  bool prefix_caching = true;   // blocks that nobody holds stay cached under their names (block_pool.h)
  bool cache_generated = true;  // those of answers as well
  // Blocks of so many tokens at the beginning of each prompt leave the prefix cache after all others.
  int64_t retain_first_tokens = 0;
  // Where states of recurrent layers are kept for others to find (vLLM's mamba_cache_mode).
  Checkpoints recurrent_checkpoints = Checkpoints::align;
  Admission admission = Admission::full_prompt;
  double reserved_output_share = 0.7;  // reserve_share: of answers under way, before any step
  double watermark = 0;                // share of the blocks that admissions leave free while others run
  StepOrder schedule = StepOrder::mixed;
  std::optional<AttentionBackend> attention_backend;  // absent: the engine's for the GPU
  MixedAttention mixed_attention = MixedAttention::two_calls;
  OneTokenSlices one_token_slices = OneTokenSlices::prefill;
  bool async_scheduling = true;  // step N+1 is planned when step N begins
  std::optional<SpeculativeOptions> speculative;
  // How tokens are drawn. Absent: as the model's publisher proposes, or from all tokens where he proposes
  // nothing.
  std::optional<Sampling> sampling;
  HostTimes host_times = HostTimes::engine;
  // Host time of a step: on the path without asynchronous scheduling, beside the GPU's with it.
  double step_overhead_s = 0;
  double step_overhead_per_sequence_s = 0;
  double waiting_overhead_s = 0;  // of a step, for each request that waits
  // Before a request joins the queue: what the API server takes, and before it, a token of its prompt, the
  // tokenizer, which takes one prompt after another.
  double request_overhead_s = 0;
  double request_overhead_s_per_token = 0;
};

}  // namespace kvcap
