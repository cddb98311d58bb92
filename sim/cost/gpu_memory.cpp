#include "cost/gpu_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/check.h"
#include "cost/kv_layers.h"
#include "cost/layer_shapes.h"
#include "cost/peer_collectives.h"

namespace kvcap {
namespace {

double product(int64_t a, int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }

int64_t ffn_matrices(const ModelSpec& model) { return model.ffn == FfnKind::gated ? 3 : 2; }
// Returns how many tensors the FFN's first projection writes: gate and up, or only up.
int64_t up_tensors(const ModelSpec& model) { return ffn_matrices(model) - 1; }

int64_t padded_vocabulary(const ModelSpec& model) { return divide_up(model.vocab_size, 64) * 64; }

// Returns the elements of the embedding or of the output projection.
double embedding_elements(const ModelSpec& model, int64_t t) {
  return product(divide_up(padded_vocabulary(model), t), model.hidden_size);
}
double embedding_bytes(const ModelSpec& model, int64_t t) {
  return embedding_elements(model, t) *
         model.embedding_bytes_per_element.value_or(model.hidden_bytes_per_element);
}
double output_bytes(const ModelSpec& model, int64_t t) {
  if (model.tie_word_embeddings) return 0;
  if (!model.output_bytes_per_element) return embedding_bytes(model, t);
  return embedding_elements(model, t) * *model.output_bytes_per_element;
}

bool has_embedding(const ModelSpec& model, const PipelineStage& ends) {
  return ends.embeds || (ends.samples && model.tie_word_embeddings);
}

// Returns the bytes of the embedding and of the output projection, each only if another stage has it.
double bytes_of_other_stages(const ModelSpec& model, const PipelineStage& ends) {
  return (has_embedding(model, ends) ? 0 : embedding_bytes(model, 1)) +
         (ends.samples ? 0 : output_bytes(model, 1));
}

// Returns the bytes of the position table, one for all layers: embeddings, or cosines and sines of the rotary
// angles.
double position_bytes(const ModelSpec& model) {
  int64_t width = 0;
  if (model.position_encoding == PositionEncoding::absolute) width = model.hidden_size;
  if (model.position_encoding == PositionEncoding::rope) {
    width = model.latent ? model.latent->qk_rope_head_dim : model.head_dim;
  }
  return product(model.max_position_embeddings, width) * model.hidden_bytes_per_element;
}

// Returns the elements of a recurrent layer's input projections, convolution and output projection on one
// GPU, which has a part of the heads.
double recurrent_elements(const ModelSpec& model, const RecurrentState& state, int64_t t) {
  const int64_t inner = divide_up(state.inner_width(), t);
  const int64_t channels = divide_up(state.conv_channels(), t);
  double elements = product(model.hidden_size, 2 * inner + channels) +  // gate, x, B, C and output
                    product(channels, state.conv_kernel);
  if (state.dt_rank > 0) return elements + product(inner, 2 * state.dt_rank + 2 * state.state_size);
  return elements + product(model.hidden_size, divide_up(state.heads, t));
}

// Returns the elements of the indexer per layer, averaged over the group. Every GPU has the whole indexer.
double indexer_elements(const ModelSpec& model, const LayerGroup& group) {
  if (!group.indexer) return 0;
  const Indexer& indexer = *group.indexer;
  const bool has_rank = group.latent && group.latent->q_lora_rank > 0;
  const double own = static_cast<double>(indexer.layers > 0 ? indexer.layers : group.layers);
  return own / static_cast<double>(group.layers) *
         (product(indexer.heads * indexer.head_dim,
                  has_rank ? group.latent->q_lora_rank : model.hidden_size) +
          product(indexer.head_dim + indexer.heads, model.hidden_size));
}

// Returns the weight elements of attention or recurrence in one layer of the group on one GPU.
double attention_elements(const ModelSpec& model, const LayerGroup& group, int64_t t) {
  if (group.recurrent) return recurrent_elements(model, *group.recurrent, t);
  const int64_t heads = group.num_attention_heads / t;
  if (!group.latent) {
    const int64_t kv_heads = divide_up(group.num_key_value_heads, t);
    const int64_t values = group.keys_are_values ? 0 : group.value_head_dim;
    const int64_t gate = model.attention_output_gate ? group.value_head_dim : 0;
    return product(model.hidden_size, heads * (group.head_dim + gate + group.value_head_dim) +
                                          kv_heads * (group.head_dim + values)) +
           indexer_elements(model, group);
  }
  const LatentAttention& latent = *group.latent;
  const int64_t query_width = heads * (latent.qk_nope_head_dim + latent.qk_rope_head_dim);
  const double query = latent.q_lora_rank > 0 ? product(latent.q_lora_rank, model.hidden_size + query_width)
                                              : product(model.hidden_size, query_width);
  return query + product(model.hidden_size, latent.kv_lora_rank + latent.qk_rope_head_dim) +
         product(latent.kv_lora_rank, heads * (latent.qk_nope_head_dim + latent.v_head_dim)) +
         product(heads * latent.v_head_dim, model.hidden_size) + indexer_elements(model, group);
}

double ffn_elements(const ModelSpec& model, int64_t width) {
  return static_cast<double>(ffn_matrices(model)) * product(model.hidden_size, width);
}
// True iff experts have 4-bit weights that are unpacked for 16-bit activations. Such kernels pad the weights:
// Triton's and Marlin's pad the width of the model to 256, and the width of an expert to 64 (Marlin 128:
// vllm/model_executor/layers/quantization/mxfp4.py, create_weights). In start-up logs of gpt-oss-120b on H100
// the weights take 64.38 and 65.97 GiB; this model gives 64.5.
bool unpacks_experts(const ModelSpec& model) {
  constexpr double kWidest4Bits = 0.6;  // bytes, with scales
  const Experts& experts = *model.experts;
  const double activations = model.activation_bytes_per_element.value_or(model.hidden_bytes_per_element);
  return experts.weight_bytes_per_element.value_or(model.weight_bytes_per_element) < kWidest4Bits &&
         experts.activation_bytes_per_element.value_or(activations) >= 2;
}

double expert_elements(const ModelSpec& model, int64_t width) {
  int64_t hidden = model.experts->hidden_size > 0 ? model.experts->hidden_size : model.hidden_size;
  if (unpacks_experts(model)) {
    hidden = divide_up(hidden, 256) * 256;
    width = divide_up(width, 64) * 64;
  }
  return static_cast<double>(ffn_matrices(model)) * product(hidden, width);
}

int64_t dense_layers(const ModelSpec& model) {
  if (!model.experts) return model.layers_with_ffn();
  return std::min(model.experts->dense_layers, model.layers_with_ffn());
}

// Returns the total width of the shared experts on one GPU.
int64_t shared_width(const Experts& experts, int64_t t) {
  if (experts.shared_intermediate_size > 0) return divide_up(experts.shared_width(), t);
  return experts.shared * divide_up(experts.intermediate_size, t);
}

// Returns the width of one expert on one GPU.
int64_t expert_width(const Experts& experts, int64_t t, const ExpertPlacement& placement) {
  if (placement.expert_parallel) return experts.intermediate_size;
  return divide_up(experts.intermediate_size, t * placement.ranks);
}

// Returns the elements that attention's projections write per row: queries, keys, values, and attention's
// output.
double attention_width(const LayerGroup& group, int64_t t) {
  if (group.recurrent) {
    return static_cast<double>(2 * divide_up(group.recurrent->inner_width(), t) +
                               divide_up(group.recurrent->conv_channels(), t));
  }
  const int64_t heads = group.num_attention_heads / t;
  if (!group.latent) {
    const int64_t kv_heads = divide_up(group.num_key_value_heads, t);
    return static_cast<double>((heads + kv_heads) * (group.head_dim + group.value_head_dim));
  }
  const LatentAttention& latent = *group.latent;
  return static_cast<double>(
      heads * (2 * latent.qk_nope_head_dim + 2 * latent.qk_rope_head_dim + 2 * latent.v_head_dim));
}

double ffn_width(const ModelSpec& model, int64_t width) {
  return static_cast<double>((up_tensors(model) + 1) * width);
}

// Returns for how many batch sizes up to `most` CUDA graphs are captured: 1, 2, 4, every 8th up to 256 and
// every 16th up to 512. The largest size is twice max_num_seqs for piecewise graphs, and max_num_seqs for
// graphs of whole decode steps.
int64_t graph_sizes(int64_t most) {
  most = std::min<int64_t>(most, 512);
  int64_t sizes = (most >= 1) + (most >= 2) + (most >= 4);
  sizes += std::min<int64_t>(most, 256) / 8;
  if (most > 256) sizes += (most - 256) / 16;
  return sizes;
}

int64_t graphs(const EngineSettings& settings) {
  return graph_sizes(2 * settings.max_num_seqs) + graph_sizes(settings.max_num_seqs);
}

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::string gib_text(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", bytes / kGiB);
  return text;
}

}  // namespace

double loaded_weight_bytes(const ModelSpec& model, int64_t tensor_parallel_size,
                           const ExpertPlacement& placement, const PipelineStage& ends) {
  const int64_t t = tensor_parallel_size;
  KVCAP_CHECK(t >= 1 && model.num_attention_heads % t == 0);
  const auto layers = static_cast<double>(model.num_hidden_layers);
  const double wide = model.hidden_bytes_per_element;
  double attention = 0;
  for (const LayerGroup& group : model.groups()) {
    attention += static_cast<double>(group.layers) * attention_elements(model, group, t);
  }
  double routed_bytes = 0;
  double norms = (2 * layers + 1) * static_cast<double>(model.hidden_size);
  double ffns =
      static_cast<double>(dense_layers(model)) * ffn_elements(model, divide_up(model.intermediate_size, t));
  if (model.experts) {
    const Experts& experts = *model.experts;
    const auto sparse = static_cast<double>(model.layers_with_ffn() - dense_layers(model));
    const int64_t count =
        placement.expert_parallel ? divide_up(experts.count, t * placement.ranks) : experts.count;
    routed_bytes = sparse * static_cast<double>(count) *
                   expert_elements(model, expert_width(experts, t, placement)) *
                   experts.weight_bytes_per_element.value_or(model.weight_bytes_per_element);
    ffns += sparse * ffn_elements(model, shared_width(experts, t));
    // Routers, and the projections to and from the experts' width.
    norms += sparse * product(model.hidden_size, experts.count + 2 * experts.hidden_size);
  }
  const double attention_bytes =
      attention * model.attention_weight_bytes_per_element.value_or(model.weight_bytes_per_element);
  return attention_bytes + ffns * model.weight_bytes_per_element + routed_bytes + norms * wide +
         position_bytes(model) + (has_embedding(model, ends) ? embedding_bytes(model, t) : 0) +
         (ends.samples ? output_bytes(model, t) : 0) +
         (model.vision_parameters * wide + model.uncounted_weight_bytes) / static_cast<double>(t);
}

double ActivationPeaks::peak_bytes() const {
  return expert_bytes + workspace_bytes + std::max({forward_bytes, sampler_bytes, compile_bytes});
}

const char* ActivationPeaks::largest() const {
  if (sampler_bytes >= std::max(forward_bytes, compile_bytes)) return "sampler";
  return forward_bytes >= compile_bytes ? "forward" : "compile";
}

ActivationPeaks activation_peaks(const ModelSpec& model, const HardwareProfile& hardware,
                                 const EngineSettings& settings, const PipelineStage& ends) {
  const EngineMemory engine = engine_memory(settings.version);
  const int64_t t = settings.tensor_parallel_size;
  const auto rows = static_cast<double>(settings.max_num_batched_tokens);
  const double wide = model.hidden_bytes_per_element;
  const double hidden_bytes = rows * static_cast<double>(model.hidden_size) * wide;
  ActivationPeaks peaks;
  peaks.workspace_bytes = kWorkspaceBytes;

  double widest = 0;
  for (const LayerGroup& group : model.groups()) widest = std::max(widest, attention_width(group, t));
  if (dense_layers(model) > 0) {
    widest = std::max(widest, ffn_width(model, divide_up(model.intermediate_size, t)));
  }
  if (model.experts) {
    const Experts& experts = *model.experts;
    const int64_t width = expert_width(experts, t, settings.placement);
    widest = std::max(widest, ffn_width(model, shared_width(experts, t)));
    // One tensor for the experts' input and output, one for the output of their first projection.
    const int64_t hidden = model.hidden_size;
    const int64_t elements = std::max(width, hidden) + std::max(up_tensors(model) * width, hidden);
    // The exchange brings the rows of all ranks to every GPU (inferred, not measured).
    const double all_rows = rows * static_cast<double>(settings.placement.ranks);
    peaks.expert_bytes =
        all_rows * static_cast<double>(experts.active) * static_cast<double>(elements) * wide;
  }
  peaks.forward_bytes = 3 * hidden_bytes + rows * widest * wide;

  const int64_t sampled = std::min(settings.max_num_seqs, settings.max_num_batched_tokens);
  peaks.sampler_bytes =
      hidden_bytes + product(sampled, model.vocab_size) * (wide + engine.sampler_bytes_per_logit);
  if (engine.sampler_row_per_multiprocessor) {
    peaks.sampler_bytes += 4 * product(std::min(hardware.gpu.sm_count, sampled), model.vocab_size);
  }
  if (!ends.samples) peaks.sampler_bytes = 0;
  if (settings.is_first_start && ends.embeds) peaks.compile_bytes = hidden_bytes + embedding_bytes(model, t);
  return peaks;
}

double GpuMemory::bytes(bool charged) const {
  double sum = 0;
  for (const MemoryTerm& term : terms) sum += term.charged == charged ? term.bytes : 0;
  return sum;
}

double GpuMemory::free_bytes() const {
  double held = 0;
  for (const MemoryTerm& term : terms) {
    held += !term.charged && term.name != "CUDA graphs" ? term.bytes : 0;
  }
  return reported_bytes - held;
}

// Adds the weights of the model and of a drafter, and the slots for adapters.
static void add_weights(GpuMemory& memory, const ModelSpec& model, const EngineSettings& settings,
                        const char* name, const char* detail) {
  memory.terms.push_back({name, memory.weight_bytes, true, TermSource::shapes, detail});
  if (settings.draft.weight_bytes > 0) {
    memory.terms.push_back({"drafter's weights", settings.draft.weight_bytes, true, TermSource::shapes,
                            "of speculative decoding; its KV is part of the blocks"});
  }
  const double adapters = lora_bytes(model, settings.tensor_parallel_size, settings.placement, settings.lora);
  if (adapters > 0) {
    memory.terms.push_back({"LoRA adapters", adapters, true, TermSource::shapes,
                            std::to_string(settings.lora.count) + " of rank " +
                                std::to_string(settings.lora.rank) + ", for all linear layers"});
  }
}

static GpuMemory memory_by_shapes(const ModelSpec& model, const HardwareProfile& hardware,
                                  const EngineSettings& settings, const PipelineStage& ends) {
  const auto gpus = static_cast<double>(settings.tensor_parallel_size);
  const auto ranks = static_cast<double>(settings.placement.ranks);
  GpuMemory memory;
  memory.reported_bytes = hardware.gpu.memory_bytes;
  memory.share_bytes = memory.reported_bytes * settings.gpu_memory_utilization;
  memory.weight_bytes = (model.weight_bytes() - bytes_of_other_stages(model, ends) -
                         (1 - 1 / ranks) * model.routed_weight_bytes()) /
                        gpus;
  add_weights(memory, model, settings, "weights", "parameters, divided evenly");
  const LayerShapes shapes = layer_shapes(model, settings.tensor_parallel_size, settings.placement);
  memory.terms.push_back({"activations",
                          static_cast<double>(settings.max_num_batched_tokens) *
                              shapes.activation_elements_per_token * model.hidden_bytes_per_element,
                          true, TermSource::shapes, "one step's rows in the widest layer"});
  return memory;
}

// Adds the memory that is already in use when an engine queries free memory.
static void add_held(GpuMemory& memory, const HardwareProfile& hardware, const EngineSettings& settings) {
  const Gpu& gpu = hardware.gpu;
  if (settings.tensor_parallel_size > 1) {
    const bool is_custom = has_custom_all_reduce(hardware, settings.tensor_parallel_size);
    memory.terms.push_back({is_custom ? "NCCL, custom all-reduce" : "NCCL", kCollectiveBytes, false,
                            TermSource::engine, "measured on two and four H100"});
  } else if (settings.placement.ranks * settings.pipeline_parallel_size > 1) {
    memory.terms.push_back({"NCCL", kCollectiveBytes, false, TermSource::engine,
                            "as measured under tensor parallelism on two and four H100"});
  }
  memory.terms.push_back({"CUDA context", gpu.context_bytes, false,
                          gpu.context_bytes > 0 ? TermSource::profile : TermSource::unknown,
                          gpu.context_bytes > 0 ? "gpu.context_bytes" : "not in the profile"});
}

// Returns the memory under SGLang or TensorRT-LLM. A step is assumed to have the same peak as in vLLM.
static GpuMemory memory_of_free(const ModelSpec& model, const HardwareProfile& hardware,
                                const EngineSettings& settings) {
  const bool is_static = settings.capacity_model == KvCapacityModel::static_share;
  GpuMemory memory;
  memory.reported_bytes = hardware.gpu.reported_memory_bytes.value_or(hardware.gpu.memory_bytes);
  add_held(memory, hardware, settings);
  memory.share_bytes = memory.free_bytes() * (is_static ? settings.gpu_memory_utilization : 1);
  memory.weight_bytes = loaded_weight_bytes(model, settings.tensor_parallel_size, settings.placement);
  add_weights(memory, model, settings, "weights as loaded",
              "vocabulary padded to 64, rotary table, replicas");
  if (is_static) return memory;
  const ActivationPeaks peaks = activation_peaks(model, hardware, settings);
  memory.terms.push_back({"peak activations", peaks.peak_bytes(), true, TermSource::shapes,
                          "as in vLLM: forward " + gib_text(peaks.forward_bytes) + ", sampler " +
                              gib_text(peaks.sampler_bytes)});
  return memory;
}

static GpuMemory memory_by_engine(const ModelSpec& model, const HardwareProfile& hardware,
                                  const EngineSettings& settings, const PipelineStage& ends) {
  const EngineMemory engine = engine_memory(settings.version);
  const int64_t t = settings.tensor_parallel_size;
  const Gpu& gpu = hardware.gpu;
  GpuMemory memory;
  memory.reported_bytes = gpu.reported_memory_bytes.value_or(gpu.memory_bytes);
  memory.share_bytes = std::ceil(memory.reported_bytes * settings.gpu_memory_utilization);
  memory.weight_bytes = loaded_weight_bytes(model, t, settings.placement, ends);
  add_weights(memory, model, settings, "weights as loaded",
              "vocabulary padded to 64, rotary table, replicas");

  const ActivationPeaks peaks = activation_peaks(model, hardware, settings, ends);
  memory.terms.push_back({"peak activations", peaks.peak_bytes(), true, TermSource::shapes,
                          "largest: " + std::string(peaks.largest()) + "; forward " +
                              gib_text(peaks.forward_bytes) + ", sampler " + gib_text(peaks.sampler_bytes) +
                              ", compile " + gib_text(peaks.compile_bytes) +
                              (model.experts ? ", experts " + gib_text(peaks.expert_bytes) : "")});
  memory.terms.push_back(
      {"growth outside PyTorch", engine.runtime_bytes, true, TermSource::engine, "measured on H100"});
  if (t > 1) {
    const double fused = hardware.nvlink ? hardware.nvlink->fused_all_reduce_bytes : 0;
    const bool fuses = engine.fuses_all_reduces && fused > 0;
    const bool is_custom = has_custom_all_reduce(hardware, t);
    memory.terms.push_back({"collectives, inside the share",
                            fuses       ? fused
                            : is_custom ? engine.group_bytes
                                        : 0,
                            true, fuses ? TermSource::profile : TermSource::engine,
                            fuses       ? "nvlink.fused_all_reduce_bytes"
                            : is_custom ? "measured on two H100"
                                        : "no custom all-reduce"});
  }
  add_held(memory, hardware, settings);
  const double graph_bytes =
      kGraphsBytes + kGraphLayerBytes * product(model.num_hidden_layers, graphs(settings));
  const bool is_dense = !model.experts && !model.is_recurrent();
  const double planned = is_dense ? engine.planned_graphs_of_dense : engine.planned_graphs;
  memory.terms.push_back({"CUDA graphs", planned > 0 ? planned * graph_bytes : graph_bytes, planned > 0,
                          TermSource::fitted,
                          planned > 0 && planned < 1 ? "estimates of two start-up logs, within 2 %"
                                                     : "on H100, median error 8 %"});
  return memory;
}

// Divides the memory that the other terms leave free into whole blocks.
static void fill_blocks(GpuMemory& memory, const ModelSpec& model, const HardwareProfile& hardware,
                        const EngineSettings& settings) {
  const KvLayout layout = kv_layout_of(model, settings.tensor_parallel_size, settings.block_size,
                                       settings.decode_context_parallel_size);
  memory.kv_bytes = memory.share_bytes - memory.bytes(true);
  memory.block_bytes = settings.draft.block_bytes(layout);
  memory.blocks = static_cast<int64_t>(std::floor(std::max(0.0, memory.kv_bytes) / memory.block_bytes));
  const auto keep = [&memory](int64_t blocks, MemoryTerm term) {
    const double kept_bytes = static_cast<double>(blocks) * memory.block_bytes;
    term.bytes = memory.kv_bytes - kept_bytes;
    memory.terms.push_back(std::move(term));
    memory.kv_bytes = kept_bytes;
    memory.blocks = blocks;
  };
  if (settings.capacity_model == KvCapacityModel::share_of_free && memory.blocks > 0) {
    keep(static_cast<int64_t>(settings.gpu_memory_utilization * static_cast<double>(memory.blocks)),
         {.name = "left free",
          .source = TermSource::engine,
          .detail = "KV gets gpu_memory_utilization " + number_text(settings.gpu_memory_utilization) +
                    " of the free memory"});
  }
  const double share = hardware.engine ? hardware.engine->kv_capacity_share : 1;
  if (share != 1 && memory.blocks > 0) {
    keep(std::llround(share * static_cast<double>(memory.blocks)), {.name = "correction of the fitted engine",
                                                                    .source = TermSource::profile,
                                                                    .detail = "engine.kv_capacity_share"});
  }
  memory.tokens = layout.tokens_of(memory.blocks);
}

static GpuMemory memory_of_stage(const ModelSpec& model, const HardwareProfile& hardware,
                                 const EngineSettings& settings, const PipelineStage& ends) {
  const auto memory_by = [&] {
    switch (settings.capacity_model) {
      case KvCapacityModel::engine:
        return memory_by_engine(model, hardware, settings, ends);
      case KvCapacityModel::simple:
        return memory_by_shapes(model, hardware, settings, ends);
      default:
        return memory_of_free(model, hardware, settings);
    }
  };
  GpuMemory memory = memory_by();
  fill_blocks(memory, model, hardware, settings);
  return memory;
}

GpuMemory gpu_memory(const ModelSpec& model, const HardwareProfile& hardware,
                     const EngineSettings& settings) {
  KVCAP_CHECK(settings.block_size > 0);
  std::optional<GpuMemory> least;
  for (const PipelineStage& stage :
       pipeline_stages(model.num_hidden_layers, settings.pipeline_parallel_size)) {
    GpuMemory memory = memory_of_stage(model_of_stage(model, stage), hardware, settings, stage);
    if (!least || memory.kv_bytes / memory.block_bytes < least->kv_bytes / least->block_bytes) {
      least = std::move(memory);
    }
  }
  return *least;
}

}  // namespace kvcap
