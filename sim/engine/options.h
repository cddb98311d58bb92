// ServingOptions: how an engine serves requests. Most options are named as in vLLM.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/text/names.h"
#include "engine/speculation/speculative_options.h"
#include "spec/expert_placement.h"
#include "spec/kv_capacity_model.h"
#include "spec/kv_groups.h"
#include "spec/sampling.h"
#include "state/retention.h"

namespace kvcap {

// The simulated serving engine. Its defaults apply to options that a scenario does not set
// (versions/engines.h).
enum class EngineKind : uint8_t { vllm, sglang, trtllm };
inline constexpr std::string_view kEngineNames[] = {"vllm", "sglang", "trtllm"};
constexpr Names names_of(EngineKind) { return kEngineNames; }

enum class Overflow : uint8_t { truncate, reject };  // handling of prompts longer than max_model_len
inline constexpr std::string_view kOverflowNames[] = {"truncate", "reject"};
constexpr Names names_of(Overflow) { return kOverflowNames; }

// How many blocks must be free or evictable to admit a request. full_prompt: for the whole prompt; chunk: for
// its first slice; reserve_output: for the prompt and the whole answer (TensorRT-LLM's GUARANTEED_NO_EVICT);
// reserve_share: for the prompt and the answer plus a share of what running requests have still to generate.
// The share falls with decode steps and rises with preemptions (SGLang; scheduler/reserved_share.cpp).
enum class Admission : uint8_t { full_prompt, chunk, reserve_output, reserve_share };
inline constexpr std::string_view kAdmissionNames[] = {"full_prompt", "chunk", "reserve_output",
                                                       "reserve_share"};
constexpr Names names_of(Admission) { return kAdmissionNames; }

// Order of waiting requests, and which running request is preempted first. fcfs: requests wait in order of
// arrival, and the one admitted last is preempted first. priority: they wait in order of (priority, arrival),
// lower values first, and the last one in this order is preempted first.
enum class SchedulingPolicy : uint8_t { fcfs, priority };
inline constexpr std::string_view kSchedulingPolicyNames[] = {"fcfs", "priority"};
constexpr Names names_of(SchedulingPolicy) { return kSchedulingPolicyNames; }

// mixed: a step computes prompts together with decodes (vLLM). prefill_first: while prompts wait, steps
// compute only prompts (SGLang without mixed chunks).
enum class StepOrder : uint8_t { mixed, prefill_first };
inline constexpr std::string_view kStepOrderNames[] = {"mixed", "prefill_first"};
constexpr Names names_of(StepOrder) { return kStepOrderNames; }

// Kernel for a prompt slice of a single token, e.g. the last token of a fully cached prompt: the kernel for
// prompts, or the kernel for decodes if the engine distinguishes the two only by the number of rows (vLLM
// V1).
enum class OneTokenSlices : uint8_t { prefill, decode };
inline constexpr std::string_view kOneTokenSlicesNames[] = {"prefill", "decode"};
constexpr Names names_of(OneTokenSlices) { return kOneTokenSlicesNames; }

// Attention of a step with prompts and decodes. two_calls: one kernel for each (FlashInfer, TensorRT-LLM,
// MLA). one_call: the kernel for prompts also computes the decoding rows, without splitting their keys
// (vLLM's FlashAttention backend, according to vllm-project/vllm#58013, which proposes a change for
// FlashAttention-2).
enum class MixedAttention : uint8_t { two_calls, one_call };
inline constexpr std::string_view kMixedAttentionNames[] = {"two_calls", "one_call"};
constexpr Names names_of(MixedAttention) { return kMixedAttentionNames; }

// Library of attention kernels.
enum class AttentionBackend : uint8_t { flash_attn, flashinfer, triton, trtllm };
inline constexpr std::string_view kAttentionBackendNames[] = {"flash_attn", "flashinfer", "triton", "trtllm"};
constexpr Names names_of(AttentionBackend) { return kAttentionBackendNames; }

// Default host times: those of the engine version (host_times.h), or none.
enum class HostTimes : uint8_t { engine, none };
inline constexpr std::string_view kHostTimesNames[] = {"engine", "none"};
constexpr Names names_of(HostTimes) { return kHostTimesNames; }

struct ServingOptions {
  EngineKind engine = EngineKind::vllm;
  int64_t tensor_parallel_size = 1;
  int64_t pipeline_parallel_size = 1;  // stages, each with tensor_parallel_size GPUs and a part of the layers
  // Number of tensor-parallel GPUs that divide the KV of a sequence by tokens, instead of each storing a
  // copy.
  int64_t decode_context_parallel_size = 1;
  // Ranks per replica; each is an engine with tensor_parallel_size GPUs. Ranks of a model with experts share
  // the experts and step together (ExpertPlacement); other ranks are independent.
  int64_t data_parallel_size = 1;
  bool expert_parallel = false;
  ExpertExchange expert_exchange = ExpertExchange::allgather_reducescatter;
  std::optional<double> expert_imbalance;
  int64_t max_num_seqs = 256;  // concurrently running requests
  // Limit of turns that wait while the batch is full; further turns are refused. Absent: unlimited.
  std::optional<int64_t> max_queued_turns;
  // Limit of waiting and running turns; further turns are refused. Absent: unlimited.
  std::optional<int64_t> max_num_queued_reqs;
  int64_t max_num_batched_tokens = 2048;  // token budget of one step (chunked prefill)
  // True: a prompt may be computed in slices over several steps. False: a step computes whole prompts, as far
  // as they fit.
  bool chunked_prefill = true;
  int64_t long_prefill_token_threshold = 0;  // maximum tokens of one request in a step; 0: no limit
  SchedulingPolicy scheduling_policy = SchedulingPolicy::fcfs;
  // Slots for LoRA adapters on the GPU and the largest rank of an adapter, if they are enabled.
  bool enable_lora = false;
  int64_t max_loras = 1;
  int64_t max_lora_rank = 16;
  int64_t block_size = 16;  // tokens per KV block
  double gpu_memory_utilization = 0.9;
  std::optional<int64_t> max_model_len;       // absent: the model's max_position_embeddings
  std::optional<int64_t> kv_capacity_tokens;  // absent: derived by kv_capacity_model
  bool allow_impossible = false;              // simulate settings with which the engine would not start
  // Absent: `engine` if the profile has gpu.reported_memory_bytes, else `simple`.
  std::optional<KvCapacityModel> kv_capacity_model;
  // Default: the newest vLLM (kNewestVllm). Determines the host times and the GPU memory that is not
  // available for KV.
  std::string engine_version = "0.30";
  Overflow overflow = Overflow::truncate;  // truncate: drop the older half of the history until it fits

  bool prefix_caching = true;   // unreferenced blocks keep their names and stay cached (kv_pool.h)
  bool cache_generated = true;  // also cache blocks of answers
  // The prefix cache evicts blocks of the first `retain_first_tokens` tokens of each prompt last.
  int64_t retain_first_tokens = 0;
  std::optional<Retention> retention;  // priorities of the prefix cache's blocks; absent: all equal
  // Positions at which states of recurrent layers are cached (vLLM's mamba_cache_mode).
  Checkpoints recurrent_checkpoints = Checkpoints::align;
  Admission admission = Admission::full_prompt;
  double reserved_output_share = 0.7;  // reserve_share: share of running answers that is reserved initially
  double watermark = 0;                // share of the blocks that an admission leaves free while requests run
  StepOrder schedule = StepOrder::mixed;
  // While they decode, ranks in lockstep compute prompts only in steps whose number is a multiple of this
  // (vLLM's prefill_schedule_interval, vllm#44558).
  int64_t prefill_schedule_interval = 1;
  std::optional<AttentionBackend> attention_backend;  // absent: the engine's choice for the GPU
  MixedAttention mixed_attention = MixedAttention::two_calls;
  OneTokenSlices one_token_slices = OneTokenSlices::prefill;
  bool async_scheduling = true;  // step N+1 is planned when step N begins
  std::optional<SpeculativeOptions> speculative;
  // How tokens are sampled. Absent: as the model's publisher recommends, or else from all tokens.
  std::optional<Sampling> sampling;
  HostTimes host_times = HostTimes::engine;
  // Host time per step: added to the GPU time, or concurrent with it under asynchronous scheduling.
  double step_overhead_s = 0;
  double step_overhead_per_sequence_s = 0;
  double waiting_overhead_s = 0;  // per step and waiting request
  // Time before a request joins the queue: in the API server, and before that in the tokenizer (per prompt
  // token), which takes one prompt after another.
  double request_overhead_s = 0;
  double request_overhead_s_per_token = 0;

  // Returns the GPUs of one engine.
  int64_t gpus() const { return tensor_parallel_size * pipeline_parallel_size; }
  // Returns the tokens per block, summed over the GPUs that divide the tokens of a sequence.
  int64_t block_tokens() const { return block_size * decode_context_parallel_size; }
  // Returns the limit of waiting and running turns, if there is one.
  std::optional<int64_t> most_turns() const {
    if (!max_queued_turns) return max_num_queued_reqs;
    const int64_t most = max_num_seqs + *max_queued_turns;
    return std::min(most, max_num_queued_reqs.value_or(most));
  }
  // Returns the most tokens of one request in a step that has `budget` tokens left.
  int64_t slice_budget(int64_t budget) const {
    return long_prefill_token_threshold > 0 ? std::min(budget, long_prefill_token_threshold) : budget;
  }
};

}  // namespace kvcap
