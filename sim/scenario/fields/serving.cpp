// The fields of `serving`: engine, memory, scheduling, speculative decoding, sampling, host times.
#include "engine/versions/engines.h"
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

void describe(FieldVisitor& v, Sampling& o) {
  v.field("temperature", o.temperature,
          not_negative("sampling temperature; 0: the most likely token (greedy)", ""));
  v.field("top_k", o.top_k,
          {.meaning = "number of most likely tokens to sample from; 0: all",
           .unit = "tokens",
           .min = 0,
           .max = kMaxCount});
  v.field("top_p", o.top_p,
          {.meaning = "sampling uses the smallest set of most likely tokens with this total probability",
           .min = 0,
           .max = 1});
  v.field("method", o.method,
          {.meaning = "kernel of the top_k and top_p filter", .absent = "the engine's, by version"});
}

static void describe(FieldVisitor& v, RetentionRange& o) {
  v.field("from_token", o.from_token, {.meaning = "first token of the range", .min = 0, .max = kMaxCount});
  v.field(
      "to_token", o.to_token,
      {.meaning = "token after the range", .min = 1, .max = kMaxCount, .absent = "the end of the prompt"});
  v.field("priority", o.priority,
          {.meaning = "priority of the blocks that begin in the range; the lowest is evicted first",
           .min = 0,
           .max = kMaxPriority,
           .required = true});
  v.field("duration_s", o.duration_s,
          not_negative("time after the last use at which the priority becomes 35", "s", "never"));
}

static void describe(FieldVisitor& v, Retention& o) {
  v.field("ranges", o.ranges,
          {.meaning = "priorities of ranges of each prompt, in ascending order", .absent = "none"});
  v.field("decode_priority", o.decode_priority,
          {.meaning = "priority of blocks of answers", .min = 0, .max = kMaxPriority});
  v.field("decode_duration_s", o.decode_duration_s,
          not_negative("time after the last use at which this priority becomes 35", "s", "never"));
  v.field("offload_min_priority", o.offload_min_priority,
          {.meaning = "save_at eviction: blocks with a lower priority are dropped",
           .min = 0,
           .max = kMaxPriority});
}

static void describe(FieldVisitor& v, DraftsOfBatch& o) {
  v.field("from_sequences", o.from_sequences,
          required_count("smallest number of sequences in a step to which this row applies"));
  v.field("draft_tokens", o.draft_tokens,
          {.meaning = "draft tokens per sequence; at most serving.speculative.draft_tokens are used",
           .unit = "tokens",
           .min = 0,
           .max = 1024,
           .required = true});
}

static void describe(FieldVisitor& v, SpeculativeOptions& o) {
  v.field("method", o.method,
          {.meaning = "drafter: n-grams of the text, on the host (ngram); additional layers of the model, as "
                      "MTP or EAGLE (layers); or a smaller model (draft_model)"});
  v.field("draft_tokens", o.draft_tokens,
          {.meaning = "draft tokens that a step verifies per sequence; 0: no speculative decoding",
           .unit = "tokens",
           .min = 0,
           .max = 1024});
  v.field("drafts_by_batch", o.drafts_by_batch,
          {.meaning = "draft tokens by the sequences of a step, in ascending order from 1 on",
           .absent = "draft_tokens in every step"});
  v.field("acceptance_by_position", o.acceptance_by_position,
          {.meaning = "probabilities that the drafts up to each position are accepted; further positions "
                      "continue with the last ratio",
           .min = 0,
           .max = 1,
           .absent = "from acceptance_length or acceptance_rate",
           .least = 1});
  v.field("acceptance_length", o.acceptance_length,
          {.meaning = "mean tokens per step and sequence: accepted drafts plus one",
           .unit = "tokens",
           .min = 1,
           .max = 1025,
           .absent = "from acceptance_rate; without it, the low end of published values of the method"});
  v.field(
      "acceptance_rate", o.acceptance_rate,
      {.meaning =
           "share of draft tokens that are accepted; acceptance_length is 1 + draft_tokens x acceptance_rate",
       .min = 0,
       .max = 1,
       .absent = "from acceptance_length"});
  v.field("draft_layers", o.draft_layers,
          {.meaning = "method layers: number of drafting layers",
           .unit = "layers",
           .min = 1,
           .max = kMaxCount,
           .fallback = kDraftLayers});
  v.field("draft_model", o.draft_model,
          {.meaning = "method draft_model: the smaller model, on the same GPUs",
           .absent = "none",
           .reference = "model"});
  v.field("draft_step_s", o.draft_step_s,
          not_negative("time per step for drafting besides the drafter's own passes", "s"));
  v.needs("method", "draft_model", "draft_model");
}

static std::string_view engine_meaning() {
  static const std::string text = [] {
    std::string summaries = "serving engine; sets the behaviour and the defaults of the other fields. ";
    for (const EngineRow& row : engine_table()) {
      if (row.engine != EngineKind::vllm) summaries += "; ";
      summaries += row.summary;
    }
    return summaries;
  }();
  return text;
}

// vLLM's MaxLoRARanks (vllm/config/lora.py).
constexpr int64_t kLoraRanks[] = {1, 8, 16, 32, 64, 128, 256, 320, 512};

void describe(FieldVisitor& v, ServingOptions& o) {
  // `engine` comes first, because it resets the other options to the engine's defaults.
  const EngineKind before = o.engine;
  v.field("engine", o.engine, {.meaning = engine_meaning()});
  if (o.engine != before) o = options_of(o.engine);
  v.field("tensor_parallel_size", o.tensor_parallel_size,
          {.meaning = "GPUs over which each layer is divided", .unit = "GPUs", .min = 1, .max = 1024});
  v.field("pipeline_parallel_size", o.pipeline_parallel_size,
          {.meaning = "stages, each with tensor_parallel_size GPUs and a part of the layers; as many batches "
                      "are computed at the same time",
           .unit = "stages",
           .min = 1,
           .max = 1024});
  v.field("decode_context_parallel_size", o.decode_context_parallel_size,
          {.meaning = "GPUs that divide a KV cache of which each would otherwise keep a copy: at most "
                      "tensor_parallel_size / KV heads (MLA: one head)",
           .unit = "GPUs",
           .min = 1,
           .max = 1024});
  v.field("data_parallel_size", o.data_parallel_size,
          {.meaning = "ranks of a replica, each with its own GPUs and requests; ranks "
                      "of a model with experts share the experts and step together",
           .unit = "ranks",
           .min = 1,
           .max = 1024});
  v.field("expert_parallel", o.expert_parallel,
          {.meaning = "true: a GPU has whole experts; false: a slice of every expert"});
  v.field("expert_exchange", o.expert_exchange,
          {.meaning = "how tokens of several ranks reach their experts: all tokens to every GPU "
                      "(allgather_reducescatter), or each token to the GPUs with its experts (all_to_all)"});
  v.field("expert_imbalance", o.expert_imbalance,
          {.meaning = "tokens of the GPU with the most expert tokens, over the mean of all GPUs",
           .min = 1,
           .max = 1e4,
           .absent = "that of uniformly random experts"});
  v.field("max_num_seqs", o.max_num_seqs, count("maximum number of running requests"));
  v.field("max_queued_turns", o.max_queued_turns,
          {.meaning = "maximum number of waiting turns; further turns are rejected",
           .unit = "turns",
           .min = 0,
           .max = kMaxCount,
           .absent = "unlimited"});
  v.field("max_num_queued_reqs", o.max_num_queued_reqs,
          {.meaning = "maximum number of waiting and running turns; further turns are rejected",
           .unit = "turns",
           .min = 1,
           .max = kMaxCount,
           .absent = "unlimited"});
  v.field("max_num_batched_tokens", o.max_num_batched_tokens,
          {.meaning = "token budget of a step; vllm: by GPU (kvcap show flags vllm)",
           .unit = "tokens",
           .min = 1,
           .max = 1e9});
  v.field("long_prefill_token_threshold", o.long_prefill_token_threshold,
          {.meaning = "maximum tokens of one request in a step; 0: no limit",
           .unit = "tokens",
           .min = 0,
           .max = 1e9});
  v.field("scheduling_policy", o.scheduling_policy,
          {.meaning = "order of waiting requests, and the reverse order of preemption: by arrival (fcfs), or "
                      "by workload.priorities and then arrival (priority)"});
  v.field("enable_lora", o.enable_lora,
          {.meaning = "every request uses a LoRA adapter, which takes GPU memory and time in every step"});
  v.field("max_loras", o.max_loras, count("enable_lora: adapters on the GPU"));
  v.field(
      "max_lora_rank", o.max_lora_rank,
      {.meaning = "enable_lora: largest rank of an adapter", .min = 1, .max = 512, .integers = kLoraRanks});
  v.field("block_size", o.block_size,
          {.meaning = "size of a KV block on a GPU; times decode_context_parallel_size for prefix hits",
           .unit = "tokens",
           .min = 1,
           .max = 65536});
  v.field("gpu_memory_utilization", o.gpu_memory_utilization,
          share("share of GPU memory that the engine uses; vllm: by version (kvcap show flags vllm)"));
  v.field("max_model_len", o.max_model_len,
          {.meaning = "maximum length of a sequence",
           .unit = "tokens",
           .min = 1,
           .max = 1e9,
           .absent = "the model's max_position_embeddings, or what fits into the KV cache"});
  v.field("allow_impossible", o.allow_impossible,
          {.meaning = "simulates settings with which the engine would not start"});
  v.field("kv_capacity_tokens", o.kv_capacity_tokens,
          {.meaning = "capacity of the KV cache",
           .unit = "tokens",
           .min = 1,
           .max = 1e15,
           .absent = "derived by kv_capacity_model"});
  v.field(
      "kv_capacity_model", o.kv_capacity_model,
      {.meaning = "how the KV capacity is derived. engine: as vLLM plans memory; simple: from weights and "
                  "shapes; share_of_free: gpu_memory_utilization is a share of the memory that weights "
                  "and activations leave free; static_share: it is a share of all memory, weights included",
       .absent = "engine if the hardware has gpu.reported_memory_bytes; else simple"});
  v.field(
      "engine_version", o.engine_version,
      {.meaning =
           "version of the engine, which determines host times and, for vLLM, memory use and scheduling"});
  v.field(
      "overflow", o.overflow,
      {.meaning =
           "turns longer than max_model_len: drop the oldest half of the history or, where the source gives "
           "whole prompts, the end of the answer (truncate), or reject"});
  v.field("prefix_caching", o.prefix_caching,
          {.meaning = "KV blocks of finished requests stay cached for prompts with the same prefix"});
  v.field("cache_generated", o.cache_generated, {.meaning = "the prefix cache also keeps blocks of answers"});
  v.field("retain_first_tokens", o.retain_first_tokens,
          {.meaning = "first tokens of each prompt that the prefix cache evicts last",
           .min = 0,
           .max = kMaxCount});
  v.field("retention", o.retention,
          {.meaning = "priorities of the prefix cache's blocks (TensorRT-LLM's KvCacheRetentionConfig)",
           .absent = "all blocks have 35"});
  v.field("admission", o.admission,
          {.meaning = "KV blocks that must be free before a request runs: for its prompt (full_prompt), its "
                      "first prefill slice (chunk), its prompt and answer (reserve_output), or these and a "
                      "share of the running answers (reserve_share)"});
  v.field("reserved_output_share", o.reserved_output_share,
          {.meaning = "reserve_share: initial share of the running answers; falls with every decode step, to "
                      "0.14 of the initial share",
           .min = 0,
           .max = 1});
  v.field("watermark", o.watermark,
          {.meaning = "share of the KV blocks that admissions keep free while requests run",
           .min = 0,
           .max = 1,
           .below_max = true});
  v.field("schedule", o.schedule,
          {.meaning = "mixed: a step computes prompts and decodes; prefill_first: while prompts wait, steps "
                      "compute only prompts"});
  v.field(
      "chunked_prefill", o.chunked_prefill,
      {.meaning = "true: several steps may compute a prompt in prefill slices; false: one step computes it"});
  v.field("attention_backend", o.attention_backend,
          {.meaning = "library of the attention kernels; sets mixed_attention",
           .absent = "the engine's for the GPU"});
  v.field(
      "prefill_schedule_interval", o.prefill_schedule_interval,
      count(
          "ranks in lockstep: steps from one that computes prompts to the next, as long as a rank decodes"));
  v.field("mixed_attention", o.mixed_attention,
          {.meaning = "attention of a step with prompts and decodes: separate kernels (two_calls), or the "
                      "prefill kernel for all (one_call)"});
  v.field("one_token_slices", o.one_token_slices,
          {.meaning = "kernel for a prompt of which the step computes one token"});
  v.field("recurrent_checkpoints", o.recurrent_checkpoints,
          {.meaning =
               "positions at which the prefix cache keeps states of recurrent layers: none, the ends of "
               "prefill slices, which are cut at block boundaries (align), or the end of every block (all)"});
  v.field("async_scheduling", o.async_scheduling,
          {.meaning = "the next step is planned while one runs, which hides host time; vllm: by version"});
  v.field("speculative", o.speculative, {.meaning = "speculative decoding", .absent = "none"});
  v.field("sampling", o.sampling,
          {.meaning = "sampling of tokens; top_k and top_p filter the logits of every step",
           .absent = "the model's sampling"});
  v.field("host_times", o.host_times,
          {.meaning =
               "default of the host times below: measured for the engine's version (engine), or 0 (none)"});
  v.field("step_overhead_s", o.step_overhead_s, not_negative("host time of a step", "s"));
  v.field("step_overhead_per_sequence_s", o.step_overhead_per_sequence_s,
          not_negative("additional host time per sequence of a step", "s"));
  v.field("waiting_overhead_s", o.waiting_overhead_s,
          not_negative("additional host time per waiting request", "s"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("time of the API server before a request joins the queue", "s"));
  v.field("request_overhead_s_per_token", o.request_overhead_s_per_token,
          not_negative("time of the tokenizer per prompt token; it processes one prompt at a time", "s"));
}

}  // namespace kvcap
