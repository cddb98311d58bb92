#include "cost/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"
#include "cost/attention.h"
#include "cost/collective_table.h"
#include "cost/gemm.h"
#include "cost/layer_shapes.h"
#include "cost/peer_collectives.h"

namespace kvcap {

// Memo: stores the values of a function of a token count, so that each is computed once. Values for arguments
// from kLimit on are not stored, so that one long request does not allocate a million entries.
class Memo {
 public:
  template <typename Compute>
  double get(int64_t tokens, Compute compute) {
    const auto i = static_cast<std::size_t>(tokens);
    if (i < times_s_.size() && !std::isnan(times_s_[i])) return times_s_[i];
    const double time_s = compute();
    if (tokens < kLimit) {
      if (i >= times_s_.size()) times_s_.resize(i + 1, std::numeric_limits<double>::quiet_NaN());
      times_s_[i] = time_s;
    }
    return time_s;
  }

 private:
  static constexpr int64_t kLimit = 1 << 18;
  std::vector<double> times_s_;
};

// Bytes per token that a norm over all heads (QkNorm::all_heads) reduces: the sums of squares of the queries
// and of the keys, 32 bits each.
constexpr double kNormSumBytes = 8;

namespace {

// Return the number formats of the GEMMs of FFNs, token mixing, routed experts and the vocabulary projection.
// A projection whose weights are wider than its inputs is computed in the precision of the weights.
ElementBytes layer_bytes(const ModelSpec& model) {
  return {model.gemm_input_bytes_per_element(), model.weight_bytes_per_element,
          model.hidden_bytes_per_element};
}
ElementBytes mixer_bytes(const ModelSpec& model) {
  ElementBytes bytes = layer_bytes(model);
  bytes.weight = model.attention_weight_bytes_per_element.value_or(bytes.weight);
  bytes.activation = model.attention_activation_bytes_per_element.value_or(bytes.activation);
  return bytes;
}
ElementBytes expert_bytes(const ModelSpec& model) {
  ElementBytes bytes = layer_bytes(model);
  if (!model.experts) return bytes;
  bytes.weight = model.experts->weight_bytes_per_element.value_or(bytes.weight);
  bytes.activation = model.experts->activation_bytes_per_element.value_or(bytes.activation);
  return bytes;
}
ElementBytes head_bytes(const ModelSpec& model) {
  const bool quantised = model.head_weight_bytes_per_element() <= model.weight_bytes_per_element;
  return {quantised ? model.gemm_input_bytes_per_element() : model.hidden_bytes_per_element,
          model.head_weight_bytes_per_element(), model.hidden_bytes_per_element};
}

}  // namespace

struct CostModel::State {
  State(const ModelSpec& of_model, const HardwareProfile& of_hardware, int64_t gpus,
        const ExpertPlacement& of_experts, int64_t context_parts)
      : model(of_model),
        hardware(of_hardware),
        tensor_parallel_size(gpus),
        placement(of_experts),
        exchange_gpus(of_experts.ranks * (of_experts.expert_parallel ? gpus : 1)),
        context_gpus(context_parts),
        shapes(layer_shapes(of_model, gpus, of_experts)),
        whole_shapes(layer_shapes(of_model, 1)),
        layer_gemms(of_hardware.gpu, layer_bytes(of_model)),
        mixer_gemms(of_hardware.gpu, mixer_bytes(of_model)),
        expert_gemms(of_hardware.gpu, expert_bytes(of_model)),
        head_gemms(of_hardware.gpu, head_bytes(of_model)),
        all_reduces(collective_points(of_hardware, &Collectives::all_reduce, gpus)),
        all_gathers(collective_points(of_hardware, &Collectives::all_gather, gpus)),
        all_to_alls(collective_points(of_hardware, &Collectives::all_to_all, gpus)),
        exchange_gathers(collective_points(of_hardware, &Collectives::all_gather, exchange_gpus)),
        exchange_all_to_alls(collective_points(of_hardware, &Collectives::all_to_all, exchange_gpus)),
        context_gathers(collective_points(of_hardware, &Collectives::all_gather, context_gpus)),
        pair_gathers(collective_points(of_hardware, &Collectives::all_gather, 2)) {
    for (MixerShape& mixer : shapes.mixers) mixer.decode.query_heads *= context_gpus;
  }

  ModelSpec model;
  HardwareProfile hardware;
  int64_t tensor_parallel_size = 1;
  ExpertPlacement placement;
  int64_t exchange_gpus = 1;  // GPUs that exchange tokens
  int64_t context_gpus = 1;   // GPUs that divide the context of a decode
  LayerShapes shapes;         // one GPU
  LayerShapes whole_shapes;   // layers not divided over GPUs, to count flops
  Gemms layer_gemms, mixer_gemms, expert_gemms, head_gemms;
  CollectiveTable all_reduces, all_gathers, all_to_alls, exchange_gathers, exchange_all_to_alls,
      context_gathers, pair_gathers;
  DecodeAttention decode_attention;  // used if it does not depend on the number of sequences
  double interconnect_bytes_per_s = 0;
  double interconnect_latency_s = 0;
  LoraSlots adapters;
  Memo linear_layer, prompt_attention, shared_experts, head, project_kv_layer;
  bool extrapolated = false;

  double layers() const { return static_cast<double>(model.num_hidden_layers); }
  bool layers_attend_alike() const {
    return shapes.mixers.size() == 1 && shapes.mixer().layers == model.num_hidden_layers;
  }
  // True iff other ranks share the experts of at least one layer.
  bool shares_experts() const { return placement.ranks > 1 && shapes.expert_layers > 0; }
  double share_of(const MixerShape& mixer) const { return static_cast<double>(mixer.layers) / layers(); }

  double gemm(const Gemms& gemms, GemmRows rows, GemmShape shape) {
    return gemms.time_s(rows, shape, &extrapolated) + hardware.gpu.kernel_overhead_s;
  }

  double elementwise(const ElementwiseShape& shape, double tokens) const {
    if (!hardware.gpu.elementwise) return 0;
    const Elementwise& elementwise = *hardware.gpu.elementwise;
    const double bytes = shape.elements_per_token * tokens * model.hidden_bytes_per_element;
    return bytes / (hardware.gpu.memory_bandwidth_bytes_per_s * elementwise.bandwidth_efficiency) +
           static_cast<double>(shape.kernels) * elementwise.constant_s;
  }

  double linear_layer_of_kind(const LayerKind& kind, double tokens) {
    double time_s = elementwise(kind.elementwise, tokens) + adapters_s(kind, tokens);
    for (const GemmShape& shape : kind.mixer_gemms) time_s += gemm(mixer_gemms, {tokens, 1}, shape);
    for (const GemmShape& shape : kind.gemms) time_s += gemm(layer_gemms, {tokens, 1}, shape);
    if (!kind.experts || placement.ranks > 1) return time_s;
    for (const GemmShape& shape : kind.experts->gemms) {
      time_s += gemm(expert_gemms, kind.experts->rows(tokens), shape);
    }
    return time_s;
  }

  // Returns the time of the LoRA adapters of a GEMM: one kernel projects down to the rank, and a second one
  // projects back up and adds to the GEMM's output (vllm/lora/ops/triton_ops). Both are memory-bound.
  // `pairs`: rows of the kernels. `matrices`: how many different adapters, counted per expert, these rows
  // use.
  double adapter_s(const GemmShape& gemm, double pairs, double matrices) const {
    const Gpu& gpu = hardware.gpu;
    const auto rank = static_cast<double>(adapters.rank), n = static_cast<double>(gemm.n),
               k = static_cast<double>(gemm.k);
    constexpr double kSumBytes = 4;
    const double bytes = model.hidden_bytes_per_element * (pairs * (k + 2 * n) + matrices * rank * (k + n)) +
                         2 * kSumBytes * pairs * rank;
    const double share = gpu.elementwise ? gpu.elementwise->bandwidth_efficiency : 1;
    return bytes / (gpu.memory_bandwidth_bytes_per_s * share) +
           2 * (gpu.elementwise ? gpu.elementwise->constant_s : gpu.kernel_overhead_s);
  }

  // Returns the time of all adapters of a layer. Each row uses one of the adapters on the GPU, and all are
  // used equally often.
  double adapters_s(const LayerKind& kind, double tokens) const {
    const auto slots = static_cast<double>(adapters.count);
    if (slots == 0) return 0;
    double time_s = 0;
    for (const std::vector<GemmShape>* gemms : {&kind.mixer_gemms, &kind.gemms}) {
      for (const GemmShape& gemm : *gemms) time_s += adapter_s(gemm, tokens, std::min(slots, tokens));
    }
    if (!kind.experts) return time_s;
    const double pairs = kind.experts->pairs(tokens);
    const double matrices = std::min(pairs, slots * kind.experts->distinct(tokens));
    for (const GemmShape& gemm : kind.experts->gemms) time_s += adapter_s(gemm, pairs, matrices);
    return time_s;
  }

  double exchange_s(double own_tokens) const;
  double shared_experts_s(double tokens);

  double context_gather_s(double bytes) const {
    return collective_s(context_gathers, context_gpus, bytes, 1);
  }
  double combine_s(const AttentionShape& decode, double rows) const;
  double scan_s(const ScanShape& scan, double tokens, double sequences) const;
  double prefill_mixer_s(const MixerShape& mixer, std::span<const PrefillChunk> chunks);
  DecodeAttention decode_shape(AttentionShape shape, int64_t sequences, int64_t queries) const;
  DecodeAttention decode_mixer(const MixerShape& mixer, int64_t sequences, int64_t queries) const;

  // Returns the measured time from the table. If the table is empty, returns the time of the ring algorithm
  // over NVLink, in which (t-1)/t of the buffer crosses each link per pass.
  double collective_s(const CollectiveTable& table, int64_t gpus, double bytes, double passes) const {
    if (gpus == 1) return 0;
    if (!table.empty()) return table.time_s(bytes);
    const auto t = static_cast<double>(gpus);
    return passes * (t - 1) / t * bytes / interconnect_bytes_per_s + interconnect_latency_s;
  }
};

CostModel::CostModel(const ModelSpec& model, const HardwareProfile& hardware, int64_t tensor_parallel_size,
                     const ExpertPlacement& placement, int64_t decode_context_parallel_size)
    : state_(std::make_unique<State>(model, hardware, tensor_parallel_size, placement,
                                     decode_context_parallel_size)) {
  KVCAP_CHECK(tensor_parallel_size >= 1 && placement.ranks >= 1 &&
              tensor_parallel_size * placement.ranks <= hardware.gpu.count);
  KVCAP_CHECK(model.experts || !placement.is_spread());
  KVCAP_CHECK(decode_context_parallel_size >= 1 && tensor_parallel_size % decode_context_parallel_size == 0);
  State& state = *state_;
  state.decode_attention =
      decode_attention(hardware.gpu.attention, hardware.gpu, state.shapes.mixer().decode);
  state.decode_attention.fixed_s += hardware.gpu.kernel_overhead_s;
  if (hardware.nvlink) {
    state.interconnect_bytes_per_s = hardware.nvlink->bandwidth_bytes_per_s;
    state.interconnect_latency_s = hardware.nvlink->latency_s;
  }
}

CostModel::~CostModel() = default;

const ModelSpec& CostModel::model() const { return state_->model; }

int64_t CostModel::tensor_parallel_size() const { return state_->tensor_parallel_size; }

int64_t CostModel::decode_context_parallel_size() const { return state_->context_gpus; }

const ExpertPlacement& CostModel::placement() const { return state_->placement; }

// Returns the part of the exchange's time in one layer with experts that depends on the rank's own tokens.
double CostModel::State::exchange_s(double own_tokens) const {
  const double bytes = own_tokens * model.hidden_bytes_per_token_layer();
  if (placement.exchange == ExpertExchange::allgather_reducescatter) {
    const bool gathers = placement.expert_parallel && tensor_parallel_size > 1;
    return gathers ? collective_s(all_gathers, tensor_parallel_size, bytes, 1) : 0;
  }
  const double copies = shapes.kinds.back().experts->reached_gpus();
  const double sent_bytes = copies * bytes / static_cast<double>(tensor_parallel_size);
  return 2 * collective_s(exchange_all_to_alls, exchange_gpus, sent_bytes, 1);
}

// Returns the part of the time of one layer with experts that depends on the tokens of all ranks.
double CostModel::State::shared_experts_s(double tokens) {
  const LayerKind& kind = shapes.kinds.back();
  double time_s = elementwise(kind.expert_elementwise, tokens);
  for (const GemmShape& shape : kind.experts->gemms) {
    time_s += gemm(expert_gemms, kind.experts->rows(tokens), shape);
  }
  if (placement.exchange == ExpertExchange::all_to_all) return time_s;
  const double bytes = tokens * model.hidden_bytes_per_token_layer();
  return time_s + 2 * collective_s(exchange_gathers, exchange_gpus, bytes, 1);
}

double CostModel::linear_layer_s(int64_t tokens) const {
  if (state_->placement.ranks > 1) return linear_layer_s(tokens, state_->placement.ranks - 1);
  return own_linear_layer_s(tokens);
}

double CostModel::linear_layer_s(int64_t tokens, int64_t tokens_of_others) const {
  if (tokens == 0) return 0;
  const double own_s = own_linear_layer_s(tokens);
  if (!state_->shares_experts()) return own_s;
  const double share = static_cast<double>(state_->shapes.expert_layers) / state_->layers();
  const int64_t all = tokens + tokens_of_others;
  const double shared_s = state_->shared_experts.get(
      all, [&] { return share * state_->shared_experts_s(static_cast<double>(all)); });
  return own_s + shared_s;
}

void CostModel::add_adapters(const LoraSlots& adapters) { state_->adapters = adapters; }

double CostModel::own_linear_layer_s(int64_t tokens) const {
  KVCAP_CHECK(tokens >= 0);
  if (tokens == 0) return 0;
  return state_->linear_layer.get(tokens, [&] {
    const auto rows = static_cast<double>(tokens);
    double all_layers_s = 0;
    for (const LayerKind& kind : state_->shapes.kinds) {
      all_layers_s += static_cast<double>(kind.layers) * state_->linear_layer_of_kind(kind, rows);
    }
    if (state_->shares_experts()) {
      all_layers_s += static_cast<double>(state_->shapes.expert_layers) * state_->exchange_s(rows);
    }
    return all_layers_s / state_->layers() +
           state_->shapes.all_reduces_per_layer *
               all_reduce_s(rows * state_->model.hidden_bytes_per_token_layer()) +
           state_->shapes.norm_sums_per_layer * all_reduce_s(rows * kNormSumBytes) +
           state_->hardware.gpu.host_overhead_per_layer_s;
  });
}

double CostModel::attention_layer_s(PrefillChunk chunk) const {
  if (chunk.cached_tokens > 0) return attention_layer_s({&chunk, 1});
  // This is computed at every admission, often for the same length.
  return state_->prompt_attention.get(chunk.new_tokens, [&] { return attention_layer_s({&chunk, 1}); });
}

double CostModel::State::scan_s(const ScanShape& scan, double tokens, double sequences) const {
  const Gpu& gpu = hardware.gpu;
  const double bytes = scan.bytes_per_token * tokens + scan.bytes_per_sequence * sequences;
  const double memory_s = bytes / (gpu.memory_bandwidth_bytes_per_s * gpu.attention.bandwidth_efficiency);
  const double compute_s = scan.flops_per_token * tokens / (gpu.peak_flops * gpu.attention.efficiency);
  return std::max(memory_s, compute_s) + fixed_s(gpu.attention) + gpu.kernel_overhead_s;
}

// Returns the time of the collectives around attention over a divided context (vLLM,
// v1/attention/ops/common.py, cp_lse_ag_out_rs): an all-gather of the queries, an all-gather of each GPU's
// 32-bit softmax sums, and a reduce-scatter of the outputs, which takes as long as an all-gather.
double CostModel::State::combine_s(const AttentionShape& decode, double rows) const {
  if (context_gpus == 1) return 0;
  const double heads = rows * static_cast<double>(decode.query_heads);
  const double head_bytes = heads * decode.query_bytes_per_element;
  return context_gather_s(head_bytes * static_cast<double>(decode.key_dim)) +
         context_gather_s(heads * 4 * static_cast<double>(context_gpus)) +
         context_gather_s(head_bytes * static_cast<double>(decode.value_dim));
}

// Returns the time of token mixing (attention or a recurrent scan) in one layer; 0 if there are no new
// tokens.
double CostModel::State::prefill_mixer_s(const MixerShape& mixer, std::span<const PrefillChunk> chunks) {
  int64_t cached_tokens = 0, new_tokens = 0, sequences = 0;
  for (const PrefillChunk& chunk : chunks) {
    if (chunk.new_tokens == 0) continue;
    cached_tokens += chunk.cached_tokens;
    new_tokens += chunk.new_tokens;
    ++sequences;
  }
  if (new_tokens == 0) return 0;
  if (mixer.scan) return scan_s(*mixer.scan, static_cast<double>(new_tokens), static_cast<double>(sequences));
  const Gpu& gpu = hardware.gpu;
  std::vector<PrefillChunk> parts;
  if (mixer.chunk_tokens > 0) {
    for (const PrefillChunk& chunk : chunks) split_at_chunks(chunk, mixer.chunk_tokens, parts);
    chunks = parts;
  }
  double time_s = prefill_attention_s(gpu.attention, gpu, chunks, mixer.prefill) + gpu.kernel_overhead_s;
  if (mixer.latent_expansion && cached_tokens > 0) {
    time_s += gemm(mixer_gemms, {static_cast<double>(cached_tokens), 1}, *mixer.latent_expansion);
    time_s += context_gather_s(static_cast<double>(cached_tokens) * mixer.kv_elements_per_token *
                               mixer.decode.kv_bytes_per_element);
  }
  if (!mixer.latent_expansion) time_s += combine_s(mixer.decode, static_cast<double>(new_tokens));
  if (mixer.indexer) {
    time_s += mixer.indexer_share *
              (prefill_attention_s(gpu.attention, gpu, chunks, *mixer.indexer) + gpu.kernel_overhead_s);
  }
  return time_s;
}

DecodeAttention CostModel::State::decode_shape(AttentionShape shape, int64_t sequences,
                                               int64_t queries) const {
  const Gpu& gpu = hardware.gpu;
  shape.queries = queries;
  DecodeAttention time = gpu.decode_attention ? kvcap::decode_attention(*gpu.decode_attention, gpu.attention,
                                                                        gpu, shape, sequences)
                                              : kvcap::decode_attention(gpu.attention, gpu, shape);
  time.fixed_s += gpu.kernel_overhead_s;
  if (context_gpus == 1) return time;
  time.spread_over(static_cast<double>(context_gpus));
  time.fixed_s += combine_s(shape, static_cast<double>(sequences * queries));
  return time;
}

// Returns the time of token mixing in one layer of a decode step.
DecodeAttention CostModel::State::decode_mixer(const MixerShape& mixer, int64_t sequences,
                                               int64_t queries) const {
  if (mixer.scan) {
    return {.fixed_s = scan_s(*mixer.scan, static_cast<double>(sequences * queries),
                              static_cast<double>(sequences))};
  }
  DecodeAttention time = decode_shape(mixer.decode, sequences, queries);
  const auto rows = static_cast<double>(sequences);
  if (mixer.decode.window > 0) {
    time.most_tokens = time.tokens_beyond = rows * static_cast<double>(mixer.decode.window);
  } else if (mixer.chunk_tokens > 0) {
    time.most_tokens = rows * static_cast<double>(mixer.chunk_tokens);
    time.tokens_beyond = time.most_tokens / 2;
  }
  return time;
}

double CostModel::attention_layer_s(std::span<const PrefillChunk> chunks) const {
  if (state_->layers_attend_alike()) return state_->prefill_mixer_s(state_->shapes.mixer(), chunks);
  double sum_s = 0;
  for (const MixerShape& mixer : state_->shapes.mixers) {
    sum_s += state_->share_of(mixer) * state_->prefill_mixer_s(mixer, chunks);
  }
  return sum_s;
}

DecodeAttention CostModel::decode_attention_layer_s(int64_t sequences, int64_t queries) const {
  if (sequences == 0) return {};
  const bool is_fixed =
      !state_->hardware.gpu.decode_attention && state_->model.is_uniform() && state_->context_gpus == 1;
  if (is_fixed && queries == 1) return state_->decode_attention;
  return state_->decode_mixer(state_->shapes.mixer(), sequences, queries);
}

DecodeAttentions CostModel::decode_attentions_layer_s(int64_t sequences, int64_t queries) const {
  DecodeAttentions sum;
  if (state_->layers_attend_alike() && !state_->shapes.mixer().indexer) {
    sum.add(decode_attention_layer_s(sequences, queries), 1);
    return sum;
  }
  if (sequences == 0) return sum;
  for (const MixerShape& mixer : state_->shapes.mixers) {
    const double share = state_->share_of(mixer);
    sum.add(state_->decode_mixer(mixer, sequences, queries), share);
    if (mixer.indexer) {
      sum.add(state_->decode_shape(*mixer.indexer, sequences, queries), share * mixer.indexer_share);
    }
  }
  return sum;
}

double CostModel::mixed_attention_layer_s(std::span<const PrefillChunk> chunks, int64_t sequences,
                                          int64_t context_tokens, int64_t queries) const {
  const Gpu& gpu = state_->hardware.gpu;
  const bool any =
      std::any_of(chunks.begin(), chunks.end(), [](const PrefillChunk& c) { return c.new_tokens > 0; });
  if (!any || sequences == 0 || !state_->model.is_uniform() || state_->shapes.mixer().latent_expansion) {
    return attention_layer_s(chunks) +
           decode_attentions_layer_s(sequences, queries).at_s(static_cast<double>(context_tokens));
  }
  // Each GPU attends with the queries of all c GPUs to 1/c of the context.
  const MixerShape& mixer = state_->shapes.mixer();
  const int64_t parts = state_->context_gpus;
  int64_t rows = sequences * queries;
  for (const PrefillChunk& chunk : chunks) rows += chunk.new_tokens;
  return prefill_attention_s(gpu.attention, gpu, chunks, mixer.prefill,
                             {sequences, divide_up(context_tokens, parts), queries * parts}) +
         gpu.kernel_overhead_s + state_->combine_s(mixer.decode, static_cast<double>(rows));
}

double CostModel::prefill_layer_s(PrefillChunk chunk) const {
  return linear_layer_s(chunk.new_tokens) + attention_layer_s(chunk);
}

double CostModel::head_s(int64_t sequences) const {
  if (sequences == 0) return 0;
  return state_->head.get(sequences, [&] {
    const ModelSpec& model = state_->model;
    const GemmShape vocabulary{divide_up(model.vocab_size, state_->tensor_parallel_size), model.hidden_size};
    const ElementwiseShape norm{2 * static_cast<double>(model.hidden_size), 1};
    const auto rows = static_cast<double>(sequences);
    return state_->head_gemms.time_s({rows, 1}, vocabulary, &state_->extrapolated) +
           state_->hardware.gpu.kernel_overhead_s + state_->elementwise(norm, rows) + sampler_.fixed_s +
           sampler_.per_logit_s * rows * static_cast<double>(model.vocab_size);
  });
}

double CostModel::prefill_s(PrefillChunk chunk) const {
  return state_->layers() * prefill_layer_s(chunk) + head_s(1);
}

double CostModel::decode_step_s(int64_t sequences, int64_t context_tokens) const {
  const double attention_s = decode_attentions_layer_s(sequences).at_s(static_cast<double>(context_tokens));
  return state_->layers() * (linear_layer_s(sequences) + attention_s) + head_s(sequences);
}

double CostModel::project_kv_layer_s(int64_t tokens) const {
  KVCAP_CHECK(tokens >= 0);
  if (tokens == 0) return 0;
  return state_->project_kv_layer.get(tokens, [&] {
    const auto rows = static_cast<double>(tokens);
    return state_->gemm(state_->mixer_gemms, {rows, 1}, state_->shapes.kv_projection) +
           state_->elementwise(state_->shapes.kv_projection_elementwise, rows) +
           all_gather_s(rows * state_->model.hidden_bytes_per_token_layer());
  });
}

double CostModel::elementwise_s(double bytes) const {
  const std::optional<Elementwise>& elementwise = state_->hardware.gpu.elementwise;
  if (!elementwise || bytes <= 0) return 0;
  return device_copy_s(bytes / 2) + elementwise->constant_s;
}

double CostModel::device_copy_s(double bytes) const {
  const Gpu& gpu = state_->hardware.gpu;
  const double share = gpu.elementwise ? gpu.elementwise->bandwidth_efficiency : 1;
  const auto gpus = static_cast<double>(state_->tensor_parallel_size);
  return 2 * bytes / gpus / (gpu.memory_bandwidth_bytes_per_s * share);
}

double CostModel::all_reduce_s(double bytes) const {
  return state_->collective_s(state_->all_reduces, state_->tensor_parallel_size, bytes, 2);
}

double CostModel::all_gather_s(double bytes) const {
  return state_->collective_s(state_->all_gathers, state_->tensor_parallel_size, bytes, 1);
}

double CostModel::all_to_all_s(double bytes) const {
  return state_->collective_s(state_->all_to_alls, state_->tensor_parallel_size, bytes, 1);
}

double CostModel::send_s(double bytes) const {
  const double part = bytes / static_cast<double>(state_->tensor_parallel_size);
  return state_->collective_s(state_->pair_gathers, 2, 2 * part, 1) + all_gather_s(bytes);
}

double CostModel::project_kv_layer_flops(int64_t tokens) const {
  const GemmShape shape = state_->whole_shapes.kv_projection;
  return 2 * static_cast<double>(tokens) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
}

namespace {

double mixer_flops(const MixerShape& mixer, PrefillChunk chunk) {
  const auto tokens = static_cast<double>(chunk.new_tokens);
  if (mixer.scan) return mixer.scan->flops_per_token * tokens;
  std::vector<PrefillChunk> parts = {chunk};
  if (mixer.chunk_tokens > 0) {
    parts.clear();
    split_at_chunks(chunk, mixer.chunk_tokens, parts);
  }
  double flops = 0;
  for (const PrefillChunk& part : parts) {
    flops += mixer.prefill.pair_flops() * causal_pairs(part, mixer.prefill.window);
    if (mixer.indexer) flops += mixer.indexer_share * mixer.indexer->pair_flops() * causal_pairs(part);
  }
  if (mixer.latent_expansion && chunk.new_tokens > 0) {
    flops += 2 * static_cast<double>(chunk.cached_tokens) * static_cast<double>(mixer.latent_expansion->n) *
             static_cast<double>(mixer.latent_expansion->k);
  }
  return flops;
}

}  // namespace

double CostModel::prefill_layer_flops(PrefillChunk chunk) const {
  const LayerShapes& shapes = state_->whole_shapes;
  double all_layers = 0;
  for (const LayerKind& kind : shapes.kinds) {
    all_layers += static_cast<double>(kind.layers) * kind.gemm_flops(static_cast<double>(chunk.new_tokens));
  }
  double flops = all_layers / state_->layers();
  for (const MixerShape& mixer : shapes.mixers) flops += state_->share_of(mixer) * mixer_flops(mixer, chunk);
  return flops;
}

bool CostModel::extrapolated() const { return state_->extrapolated; }

}  // namespace kvcap
