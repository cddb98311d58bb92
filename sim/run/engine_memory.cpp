#include "run/engine_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "engine/speculation/speculation.h"
#include "run/ranks.h"

namespace kvcap {
namespace {

constexpr const char* kWayOut = "; serving.allow_impossible=true simulates it anyway";

}  // namespace

KvCapacityModel kv_capacity_model(const Scenario& scenario) {
  const bool knows_driver = scenario.hardware.gpu.reported_memory_bytes.has_value();
  return scenario.serving.kv_capacity_model.value_or(knows_driver ? KvCapacityModel::engine
                                                                  : KvCapacityModel::simple);
}

EngineSettings engine_settings(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  const std::optional<EngineVersion> version = parse_engine_version(serving.engine_version);
  KVCAP_CHECK(version.has_value());
  return {.version = *version,
          .tensor_parallel_size = serving.tensor_parallel_size,
          .pipeline_parallel_size = serving.pipeline_parallel_size,
          .decode_context_parallel_size = serving.decode_context_parallel_size,
          .placement = expert_placement(scenario),
          .gpu_memory_utilization = serving.gpu_memory_utilization,
          .max_num_batched_tokens = serving.max_num_batched_tokens,
          .max_num_seqs = serving.max_num_seqs,
          .block_size = serving.block_size,
          .draft = draft_memory(scenario),
          .lora = {serving.enable_lora ? serving.max_loras : 0, serving.max_lora_rank},
          .capacity_model = kv_capacity_model(scenario)};
}

DraftMemory draft_memory(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  if (!serving.speculative) return {};
  return draft_memory(*serving.speculative, scenario.model, serving.tensor_parallel_size,
                      expert_placement(scenario));
}

GpuMemory planned_memory(const Scenario& scenario) {
  return gpu_memory(scenario.model, scenario.hardware, engine_settings(scenario));
}

KvLayout kv_layout(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  return kv_layout_of(scenario.model, serving.tensor_parallel_size, serving.block_size,
                      serving.decode_context_parallel_size);
}

int64_t roomy_kv_capacity_tokens(const Scenario& scenario, int64_t sequences, int64_t tokens) {
  return 2 * sequences * (tokens + kv_layout(scenario).block_tokens());
}

int64_t kv_capacity_tokens(const Scenario& scenario) {
  return scenario.serving.kv_capacity_tokens.value_or(planned_memory(scenario).tokens);
}

int64_t longest_sequence(const Scenario& scenario, int64_t kv_capacity_tokens) {
  const KvLayout layout = kv_layout(scenario);
  const ServingOptions& serving = scenario.serving;
  const int64_t blocks = layout.blocks_of(kv_capacity_tokens);
  int64_t fits = 0, too_long = int64_t{1} << 32;
  while (too_long - fits > 1) {
    const int64_t tokens = fits + (too_long - fits) / 2;
    const int64_t held =
        layout.most_blocks(tokens, serving.max_num_batched_tokens, serving.recurrent_checkpoints);
    (held <= blocks ? fits : too_long) = tokens;
  }
  return fits;
}

int64_t longest_that_fits(const Scenario& scenario, std::optional<int64_t> kv_tokens) {
  return std::min(longest_sequence(scenario, kv_tokens.value_or(planned_memory(scenario).tokens)),
                  scenario.model.max_position_embeddings);
}

std::string refused_at_start(const Scenario& scenario, int64_t kv_capacity_tokens) {
  const ServingOptions& serving = scenario.serving;
  if (serving.engine != EngineKind::vllm || serving.allow_impossible) return "";
  const int64_t window = serving.max_model_len.value_or(scenario.model.max_position_embeddings);
  if (!serving.chunked_prefill && serving.max_num_batched_tokens < window) {
    const std::string least = serving.max_model_len ? fmt::format("serving.max_model_len = {}", window)
                                                    : fmt::format("the model's window of {} tokens", window);
    return fmt::format(
        "serving.max_num_batched_tokens: found {} with serving.chunked_prefill=false, where a "
        "step computes whole prompts: vLLM does not start; allowed: at least {}{}",
        serving.max_num_batched_tokens, least, kWayOut);
  }
  if (serving.max_num_batched_tokens < serving.max_num_seqs) {
    return fmt::format(
        "serving.max_num_seqs: found {} with serving.max_num_batched_tokens {}: vLLM does not "
        "start; allowed: at most serving.max_num_batched_tokens{}",
        serving.max_num_seqs, serving.max_num_batched_tokens, kWayOut);
  }
  const GpuMemory memory = planned_memory(scenario);
  if (kv_capacity_model(scenario) == KvCapacityModel::engine && memory.share_bytes > memory.free_bytes()) {
    return fmt::format(
        "serving.gpu_memory_utilization: found {:g}: vLLM does not start because {:.2f} of {:.2f} GiB of {} "
        "are free; "
        "allowed: at most {:.3f}{}",
        serving.gpu_memory_utilization, memory.free_bytes() / 1073741824.0, memory.reported_bytes / 1073741824.0,
        scenario.hardware.gpu.name, std::floor(1000 * memory.free_bytes() / memory.reported_bytes) / 1000,
        kWayOut);
  }
  if (!serving.max_model_len) return "";
  const int64_t longest = longest_sequence(scenario, kv_capacity_tokens);
  if (*serving.max_model_len <= longest) return "";
  return fmt::format(
      "serving.max_model_len: found {}; vLLM does not start because no sequence of this length fits the "
      "KV cache of {} tokens; allowed: at most {}, or a higher serving.gpu_memory_utilization or "
      "tensor_parallel_size{}",
      *serving.max_model_len, kv_capacity_tokens, longest, kWayOut);
}

std::string no_room_for_kv(const Scenario& scenario, const GpuMemory& memory) {
  const ServingOptions& serving = scenario.serving;
  return fmt::format(
      "model {} does not fit: with serving.gpu_memory_utilization {:g} each {} has {:.1f} GB, of which "
      "weights take {:.1f} GB (on {} GPUs) and activations and buffers {:.1f} GB, so no KV block fits; use a "
      "larger serving.tensor_parallel_size or gpu_memory_utilization, fewer serving.max_num_batched_tokens "
      "or other "
      "hardware",
      scenario.model.name, serving.gpu_memory_utilization, scenario.hardware.gpu.name,
      memory.share_bytes / 1e9, memory.weight_bytes / 1e9, serving.gpus(),
      (memory.bytes(true) - memory.weight_bytes) / 1e9);
}

}  // namespace kvcap
