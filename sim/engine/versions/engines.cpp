#include "engine/versions/engines.h"

#include <array>

namespace kvcap {
namespace {

constexpr std::array kEngines = {
    EngineRow{
        EngineKind::vllm, "vllm",
        "vLLM V1: prompt slices run together with decodes; blocks of 16 tokens; a whole prompt must fit",
        "vllm/v1/core/sched/scheduler.py@00024d3, vllm/config/scheduler.py@1f8758d, "
        "docs/design/prefix_caching.md@01ff8bf",
        "priorities of requests", [](ServingOptions&) {}},
    EngineRow{
        EngineKind::sglang, "sglang",
        "SGLang: prompts run first and alone, in slices of 8,192 tokens; reuse by token; admission reserves "
        "a falling share of each answer",
        "docs server_arguments.md@004813e, scheduler.py@0003215, schedule_policy.py@00550cd, "
        "hiradix_cache.py@263bc85",
        "the lpm order, in-batch prefix checks, eviction of whole nodes of the radix tree (here: of single "
        "blocks), chunk sizes by GPU memory (kvcap run --from sets them)",
        [](ServingOptions& options) {
          options.block_size = 1;
          options.schedule = StepOrder::prefill_first;
          options.max_num_batched_tokens = 8192;
          options.max_num_seqs = 2048;
          options.admission = Admission::reserve_share;
          options.kv_capacity_model = KvCapacityModel::static_share;
        }},
    EngineRow{EngineKind::trtllm, "trtllm",
              "TensorRT-LLM: admission reserves blocks for prompt and answer; blocks of 32 tokens",
              "docs/source/features/kvcache.md@0076e93, paged-attention-ifb-scheduler.md@0c6a62a, "
              "cpp/tensorrt_llm/batch_manager/evictionPolicy.cpp@05a9191",
              "reuse inside a block (enable_partial_reuse), priorities that differ between requests "
              "(serving.retention holds for all)",
              [](ServingOptions& options) {
                options.engine_version = "1.0";  // the version whose times were measured (host_times.cpp)
                options.block_size = 32;
                options.max_num_batched_tokens = 8192;
                options.max_num_seqs = 2048;
                options.admission = Admission::reserve_output;
                options.kv_capacity_model = KvCapacityModel::share_of_free;
              }},
};

}  // namespace

std::span<const EngineRow> engine_table() { return kEngines; }
const EngineRow& engine_row(EngineKind engine) { return kEngines[static_cast<std::size_t>(engine)]; }

std::optional<Sampling> default_sampling(EngineKind engine, const ModelSpec& model) {
  if (engine == EngineKind::trtllm) return Sampling{.temperature = 0};
  return model.sampling;
}

// vLLM: Triton since vllm#33538, FlashInfer by default since vllm#40376; the versions follow from the merge
// dates.
SamplerKernel sampler_of(EngineKind engine, EngineVersion version) {
  if (engine != EngineKind::vllm || version >= EngineVersion{0, 20}) return SamplerKernel::flashinfer;
  return version >= EngineVersion{0, 17} ? SamplerKernel::triton : SamplerKernel::sort;
}

// Sources. Budgets of the API server: vllm/engine/arg_utils.py (vllm#17885). Memory:
// docs/design/prefix_caching.md@01ff8bf. Scheduling: vllm#27614, in 0.14.0.
VllmDefaults vllm_defaults(EngineVersion version, const Gpu& gpu) {
  constexpr double kGib = 1073741824;
  // FlashInfer and TensorRT-LLM's kernels are the default on these GPUs, FlashAttention on others.
  const bool is_b200 =
      gpu.name.find("B200") != std::string::npos || gpu.name.find("B300") != std::string::npos;
  const bool is_large =
      gpu.memory_bytes >= kVllmLargeGpu_gib * kGib && gpu.name.find("A100") == std::string::npos;
  return {.max_num_seqs = is_large ? 1024 : 256,
          .max_num_batched_tokens = is_large ? 8192 : 2048,
          .gpu_memory_utilization = version >= EngineVersion{0, 16} ? 0.92 : 0.9,
          .async_scheduling = version >= EngineVersion{0, 14},
          .attention_backend = is_b200 ? AttentionBackend::flashinfer : AttentionBackend::flash_attn};
}

MixedAttention mixed_attention_of(AttentionBackend backend) {
  const bool one = backend == AttentionBackend::flash_attn || backend == AttentionBackend::triton;
  return one ? MixedAttention::one_call : MixedAttention::two_calls;
}

ServingOptions options_of(EngineKind engine) {
  ServingOptions options;
  options.engine = engine;
  engine_row(engine).preset(options);
  return options;
}

ServingOptions server_options(EngineKind engine, const Gpu& gpu) {
  ServingOptions options = options_of(engine);
  if (engine != EngineKind::vllm) return options;
  const VllmDefaults defaults = vllm_defaults(kNewestVllm, gpu);
  options.max_num_seqs = defaults.max_num_seqs;
  options.max_num_batched_tokens = defaults.max_num_batched_tokens;
  options.gpu_memory_utilization = defaults.gpu_memory_utilization;
  options.async_scheduling = defaults.async_scheduling;
  return options;
}

}  // namespace kvcap
