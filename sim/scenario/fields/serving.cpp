// The fields of `serving`: engine, memory, scheduling, speculative decoding, sampling, host times.
#include "engine/versions/engines.h"
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

void describe(FieldVisitor& v, Sampling& o) {
  v.field("temperature", o.temperature, not_negative("0: the most likely token, without a filter", ""));
  v.field("top_k", o.top_k,
          {.meaning = "only the most likely tokens; 0: all", .unit = "tokens", .min = 0, .max = kMaxCount});
  v.field("top_p", o.top_p,
          {.meaning = "only the most likely tokens that together are so likely", .min = 0, .max = 1});
  v.field(
      "method", o.method,
      {.meaning = "the kernel that leaves the others out", .absent = "that of the engine and its version"});
}

static void describe(FieldVisitor& v, SpeculativeOptions& o) {
  v.field(
      "method", o.method,
      {.meaning = "who drafts: the host from the text (ngram), layers of the model's kind behind it (MTP, "
                  "EAGLE), or a smaller model"});
  v.field("draft_tokens", o.draft_tokens,
          {.meaning = "drafts that a step verifies behind a sequence's next token; 0: no speculation",
           .unit = "tokens",
           .min = 0,
           .max = 1024});
  v.field("acceptance_length", o.acceptance_length,
          {.meaning = "tokens that a step yields of a sequence in the mean, the model's own one included",
           .unit = "tokens",
           .min = 1,
           .max = 1025,
           .absent = "of acceptance_rate, else the low end of what is published of the method"});
  v.field(
      "acceptance_rate", o.acceptance_rate,
      {.meaning = "share of drafted tokens that are accepted; acceptance_length is 1 + draft_tokens times it",
       .min = 0,
       .max = 1,
       .absent = "as acceptance_length says"});
  v.field("draft_layers", o.draft_layers,
          {.meaning = "method layers: how many",
           .unit = "layers",
           .min = 1,
           .max = kMaxCount,
           .fallback = kDraftLayers});
  v.field("draft_model", o.draft_model,
          {.meaning = "method draft_model: the smaller model, over the same GPUs",
           .absent = "none",
           .reference = "model"});
  v.field(
      "draft_step_s", o.draft_step_s,
      not_negative("of each step, in which the drafts are made and nothing else; passes of a drafter come "
                   "on top of it",
                   "s"));
  v.needs("method", "draft_model", "draft_model");
}

static std::string_view engine_meaning() {
  static const std::string text = [] {
    std::string summaries = "whose behaviour and defaults the fields below follow. ";
    for (const EngineRow& row : engine_table()) {
      if (row.engine != EngineKind::vllm) summaries += "; ";
      summaries += row.summary;
    }
    return summaries;
  }();
  return text;
}

void describe(FieldVisitor& v, ServingOptions& o) {
  // First, because it resets the other options to the engine's defaults.
  const EngineKind before = o.engine;
  v.field("engine", o.engine, {.meaning = engine_meaning()});
  if (o.engine != before) o = options_of(o.engine);
  v.field("tensor_parallel_size", o.tensor_parallel_size,
          {.meaning = "GPUs that share every layer", .unit = "GPUs", .min = 1, .max = 1024});
  v.field(
      "data_parallel_size", o.data_parallel_size,
      {.meaning = "engines of a replica, each of tensor_parallel_size GPUs with requests of its own; those "
                  "of a model with experts share them and step together",
       .unit = "ranks",
       .min = 1,
       .max = 1024});
  v.field("expert_parallel", o.expert_parallel,
          {.meaning = "each GPU of a replica has whole experts, else a part of every expert"});
  v.field(
      "expert_exchange", o.expert_exchange,
      {.meaning = "how tokens of several ranks reach their experts: all to every GPU, or each to the GPUs "
                  "that have them"});
  v.field("expert_imbalance", o.expert_imbalance,
          {.meaning = "tokens of the fullest GPU's experts, over the mean of all GPUs",
           .min = 1,
           .max = 1e4,
           .absent = "what comes of tokens that pick their experts at random"});
  v.field("max_num_seqs", o.max_num_seqs, count("requests admitted at once"));
  v.field("max_queued_turns", o.max_queued_turns,
          {.meaning = "waiting beside a full batch; more are rejected",
           .unit = "turns",
           .min = 0,
           .max = kMaxCount,
           .absent = "any number"});
  v.field("max_num_batched_tokens", o.max_num_batched_tokens,
          {.meaning = "budget of one step; vllm: 8192 on GPUs of 70 GiB and more but A100",
           .unit = "tokens",
           .min = 1,
           .max = 1e9});
  v.field("block_size", o.block_size, {.meaning = "of a KV block", .unit = "tokens", .min = 1, .max = 65536});
  v.field("gpu_memory_utilization", o.gpu_memory_utilization,
          share("share of GPU memory that is used; vllm from 0.16 on 0.92"));
  v.field("max_model_len", o.max_model_len,
          {.meaning = "longest sequence",
           .unit = "tokens",
           .min = 1,
           .max = 1e9,
           .absent = "the model's max_position_embeddings, and no more than fits"});
  v.field("allow_impossible", o.allow_impossible,
          {.meaning = "simulates what the engine would refuse to start with"});
  v.field("kv_capacity_tokens", o.kv_capacity_tokens,
          {.meaning = "KV cache on the GPUs",
           .unit = "tokens",
           .min = 1,
           .max = 1e15,
           .absent = "derived from GPU memory"});
  v.field("kv_capacity_model", o.kv_capacity_model,
          {.meaning = "how it is derived: as vLLM plans memory, from weights and shapes alone, or as a share "
                      "(gpu_memory_utilization) of what these leave free",
           .absent = "engine where hardware.gpu.reported_memory_bytes is known, else simple"});
  v.field("engine_version", o.engine_version,
          {.meaning = "of the engine; vLLM: what it takes from GPU memory, and whether it schedules "
                      "asynchronously"});
  v.field("overflow", o.overflow,
          {.meaning = "of a prompt beyond max_model_len: drop the oldest half, or reject"});
  v.field("prefix_caching", o.prefix_caching,
          {.meaning = "KV blocks that no request holds stay cached for prompts that begin alike"});
  v.field("cache_generated", o.cache_generated, {.meaning = "blocks of answers are cached as well"});
  v.field("retain_first_tokens", o.retain_first_tokens,
          {.meaning = "so many tokens at the beginning of each prompt leave the prefix cache last",
           .min = 0,
           .max = kMaxCount});
  v.field("admission", o.admission,
          {.meaning = "what must fit before a request runs: its prompt, its first slice, its answer too, or "
                      "its answer and a share of the others'"});
  v.field("reserved_output_share", o.reserved_output_share,
          {.meaning = "reserve_share: of the answers under way, at the start; falls by a seventh of "
                      "itself in a hundred decode steps, down to 0.14 of it",
           .min = 0,
           .max = 1});
  v.field("watermark", o.watermark,
          {.meaning = "share of the KV blocks that admissions leave free while others run",
           .min = 0,
           .max = 1,
           .below_max = true});
  v.field("schedule", o.schedule,
          {.meaning = "steps compute prompts beside decodes, or prompts alone and first"});
  v.field("chunked_prefill", o.chunked_prefill,
          {.meaning = "a prompt may be computed in slices of several steps; false: as a whole, in one step"});
  v.field("attention_backend", o.attention_backend,
          {.meaning = "library of the attention kernels; decides mixed_attention",
           .absent = "vllm: flashinfer on B200 and B300, else flash_attn"});
  v.field("mixed_attention", o.mixed_attention,
          {.meaning = "a step's prompts and decodes in kernels of their own, or all in the prompts' kernel"});
  v.field("one_token_slices", o.one_token_slices,
          {.meaning = "attention of prompts of which a step computes one token: as prompts, or as decodes"});
  v.field(
      "recurrent_checkpoints", o.recurrent_checkpoints,
      {.meaning = "where states of recurrent layers are kept for other requests: nowhere, where a step ends "
                  "with a block (prefill slices are cut so that they do), or at the end of every block"});
  v.field("async_scheduling", o.async_scheduling,
          {.meaning =
               "the next step is planned while one runs; host time is hidden behind the GPU's; vllm before "
               "0.14: false"});
  v.field("speculative", o.speculative,
          {.meaning = "speculative decoding: drafts that one step verifies", .absent = "none"});
  v.field("sampling", o.sampling,
          {.meaning = "how tokens are drawn: top_k and top_p filter the logits of every step",
           .absent = "the model's sampling"});
  v.field("host_times", o.host_times,
          {.meaning = "the times below that are not given: the engine's by its version, or none"});
  v.field("step_overhead_s", o.step_overhead_s, not_negative("host time of a step", "s"));
  v.field("step_overhead_per_sequence_s", o.step_overhead_per_sequence_s,
          not_negative("more of it for each sequence in the step", "s"));
  v.field("waiting_overhead_s", o.waiting_overhead_s,
          not_negative("more of it for each request that waits", "s"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("API server, before a request joins the queue", "s"));
  v.field("request_overhead_s_per_token", o.request_overhead_s_per_token,
          not_negative("tokenizer, a token of the prompt; one prompt after another", "s"));
}

}  // namespace kvcap
