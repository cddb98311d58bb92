#include "scenario/fields.h"

#include <algorithm>

#include "base/text/joined.h"
#include "policy/key_table.h"
#include "policy/table.h"
#include "serving/engines.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

constexpr double kMaxCount = 1e6;
constexpr double kMaxReplicas = 1024;
constexpr double kLeastShare = 1e-6;
constexpr double kMaxYears_s = 1e10;  // 300 years

// Smallest value above 0 and largest value per unit: far beyond every machine, but small enough that sums and
// products of a simulation stay in the range of its numbers.
struct UnitRange {
  std::string_view unit;
  double least = 0, most = 0;
};
constexpr UnitRange kUnitRanges[] = {{"s", 1e-12, kMaxYears_s}, {"ms", 1e-9, 1e3 * kMaxYears_s},
                                     {"1/s", 1e-9, 1e9},        {"bytes", 1, 1e18},
                                     {"bytes/s", 1, 1e15},      {"flop/s", 1e6, 1e21}};
constexpr UnitRange kOtherRange = {"", 1e-6, 1e12};

const UnitRange& range_of(std::string_view unit) {
  const auto* found = std::find_if(std::begin(kUnitRanges), std::end(kUnitRanges),
                                   [unit](const UnitRange& one) { return one.unit == unit; });
  return found == std::end(kUnitRanges) ? kOtherRange : *found;
}

// A model as in its file: flat, with unset fields for defaults that follow from other fields.
struct ModelFile {
  ModelSpec model;
  std::optional<int64_t> key_value_heads, head_dim;
  std::optional<double> weight_bytes, kv_bytes, hidden_bytes;
  std::optional<int64_t> kv_lora_rank;
  LatentAttention latent;
};

double bytes_of_dtype(std::string_view dtype) {
  if (dtype == "float32") return 4;
  return dtype == "float16" || dtype == "bfloat16" ? 2 : 1;
}

ModelFile file_of(const ModelSpec& model) {
  ModelFile file{.model = model,
                 .key_value_heads = model.num_key_value_heads,
                 .head_dim = model.head_dim,
                 .weight_bytes = model.weight_bytes_per_element,
                 .kv_bytes = model.kv_bytes_per_element,
                 .hidden_bytes = model.hidden_bytes_per_element,
                 .kv_lora_rank = {},
                 .latent = model.latent.value_or(LatentAttention{})};
  if (model.latent) file.kv_lora_rank = model.latent->kv_lora_rank;
  // A default-constructed model has no shape yet, so its derived fields are unset.
  if (model.num_hidden_layers == 0) {
    file.key_value_heads = file.head_dim = {};
    file.weight_bytes = file.kv_bytes = file.hidden_bytes = {};
  }
  return file;
}

ModelSpec model_of(const ModelFile& file) {
  ModelSpec model = file.model;
  const double dtype_bytes = bytes_of_dtype(model.torch_dtype);
  const int64_t heads = std::max<int64_t>(model.num_attention_heads, 1);
  model.num_key_value_heads = file.key_value_heads.value_or(model.num_attention_heads);
  model.head_dim = file.head_dim.value_or(model.hidden_size / heads);
  model.weight_bytes_per_element = file.weight_bytes.value_or(dtype_bytes);
  model.kv_bytes_per_element = file.kv_bytes.value_or(dtype_bytes);
  // Activations have at least two bytes, even with eight-bit weights.
  model.hidden_bytes_per_element = file.hidden_bytes.value_or(std::max(dtype_bytes, 2.0));
  model.latent.reset();
  if (file.kv_lora_rank) {
    model.latent = file.latent;
    model.latent->kv_lora_rank = *file.kv_lora_rank;
  }
  return model;
}

FieldSpec count(std::string_view meaning, std::string_view unit = {}) {
  return {.meaning = meaning, .unit = unit, .min = 1, .max = kMaxCount};
}
FieldSpec required_count(std::string_view meaning) {
  return {.meaning = meaning, .min = 1, .max = kMaxCount, .required = true};
}
// Overrides the unit's upper bound. The unit's bound applies to links, because SimGrid holds their bytes per
// second in integers; GPU memory is not passed to SimGrid.
FieldSpec up_to(double most, FieldSpec spec) {
  spec.max = most;
  return spec;
}

FieldSpec positive(std::string_view meaning, std::string_view unit, bool required = true) {
  const UnitRange& range = range_of(unit);
  return {.meaning = meaning, .unit = unit, .min = range.least, .max = range.most, .required = required};
}
// `absent`: meaning of a missing value.
FieldSpec positive_or_absent(std::string_view meaning, std::string_view unit, std::string_view absent,
                             DefaultValue fallback = {}) {
  const UnitRange& range = range_of(unit);
  return {.meaning = meaning,
          .unit = unit,
          .min = range.least,
          .max = range.most,
          .absent = absent,
          .fallback = fallback};
}
FieldSpec not_negative(std::string_view meaning, std::string_view unit, std::string_view absent = {}) {
  return {.meaning = meaning, .unit = unit, .min = 0, .max = range_of(unit).most, .absent = absent};
}
FieldSpec amortization() { return positive("over which a purchase is written off", "years", false); }
FieldSpec variation(std::string_view meaning) { return {.meaning = meaning, .min = 1e-3, .max = 1e3}; }
FieldSpec element_bytes(std::string_view meaning) {
  return {.meaning = meaning, .unit = "bytes", .min = 0.125, .max = 8};
}
FieldSpec share(std::string_view meaning, std::string_view absent = {}) {
  return {.meaning = meaning, .min = kLeastShare, .max = 1, .absent = absent};
}

}  // namespace

// The functions below are static instead of in the anonymous namespace, because FieldVisitor finds them by
// argument-dependent lookup.

static void describe(FieldVisitor& v, Experts& o) {
  v.field("count", o.count, required_count("routed experts of a layer"));
  v.field("active", o.active, required_count("routed experts that one token goes through"));
  v.field("shared", o.shared,
          {.meaning = "experts that every token goes through", .min = 0, .max = kMaxCount});
  v.field("intermediate_size", o.intermediate_size, required_count("width of one expert"));
  v.field("shared_intermediate_size", o.shared_intermediate_size,
          {.meaning = "width of one shared expert; 0: as a routed one", .min = 0, .max = kMaxCount});
  v.field("dense_layers", o.dense_layers,
          {.meaning = "layers with a dense FFN instead", .min = 0, .max = kMaxCount});
  v.field("hidden_size", o.hidden_size,
          {.meaning = "width that routed experts work on; 0: the model's", .min = 0, .max = kMaxCount});
  const auto bytes = [](std::string_view meaning, std::string_view absent) {
    return FieldSpec{.meaning = meaning, .unit = "bytes", .min = 0.125, .max = 8, .absent = absent};
  };
  v.field("weight_bytes_per_element", o.weight_bytes_per_element,
          bytes("of a routed expert's weight", "weight_bytes_per_element of the model"));
  v.field("activation_bytes_per_element", o.activation_bytes_per_element,
          bytes("of what enters a routed expert's GEMMs", "activation_bytes_per_element of the model"));
}

static void describe(FieldVisitor& v, LatentAttention& o) {
  v.field("kv_lora_rank", o.kv_lora_rank, required_count("latent size of keys and values"));
  v.field("q_lora_rank", o.q_lora_rank,
          {.meaning = "latent size of queries; 0: none", .min = 0, .max = kMaxCount});
  v.field("qk_rope_head_dim", o.qk_rope_head_dim, count("rotary key"));
  v.field("qk_nope_head_dim", o.qk_nope_head_dim, count("keys without position"));
  v.field("v_head_dim", o.v_head_dim, count("values"));
}

static void describe(FieldVisitor& v, Indexer& o) {
  v.field("layers", o.layers,
          {.meaning = "layers with an indexer of their own; 0: all", .min = 0, .max = kMaxCount});
  v.field("heads", o.heads, count("heads of the indexer"));
  v.field("head_dim", o.head_dim, count("size of one of its heads"));
  v.field("bytes_per_token", o.bytes_per_token,
          {.meaning = "its key of a token in one layer", .unit = "bytes", .min = 1, .max = 1e6});
  v.field("top_k", o.top_k, count("tokens that a query attends to", "tokens"));
}

static void describe(FieldVisitor& v, RecurrentState& o) {
  v.field("heads", o.heads, required_count("heads of the state: Mamba-2's, or value heads"));
  v.field("head_dim", o.head_dim, required_count("size of one head, or of a value"));
  v.field("state_size", o.state_size, required_count("elements of state for each of them, or of a key"));
  v.field("groups", o.groups,
          {.meaning = "groups that share B and C, or key heads", .min = 0, .max = kMaxCount});
  v.field("conv_kernel", o.conv_kernel, count("taps of the causal convolution", "tokens"));
  v.field("dt_rank", o.dt_rank,
          {.meaning = "rank of Mamba-1's step; 0: a step for each head", .min = 0, .max = kMaxCount});
  v.field("state_bytes_per_element", o.state_bytes_per_element,
          {.meaning = "of the state", .unit = "bytes", .min = 0.125, .max = 8});
  v.field("conv_bytes_per_element", o.conv_bytes_per_element,
          {.meaning = "of the convolution's inputs", .unit = "bytes", .min = 0.125, .max = 8});
}

// Describes a count of a LayerGroup; 0 means the model's value.
static void own_count(FieldVisitor& v, std::string_view name, int64_t& value, std::string_view meaning,
                      std::string_view absent) {
  bool given = value > 0;
  v.integer(name, value, &given, {.meaning = meaning, .min = 1, .max = kMaxCount, .absent = absent});
  if (!given) value = 0;
}

static void describe(FieldVisitor& v, LayerGroup& o) {
  v.field("layers", o.layers, required_count("layers that are alike"));
  v.field("attention", o.attention, {.meaning = "what a layer keeps of a context"});
  own_count(v, "window_tokens", o.window_tokens,
            "sliding: newest tokens that a token sees, itself included; chunked: size of a chunk", "none");
  own_count(v, "num_attention_heads", o.num_attention_heads, "query heads", "the model's");
  own_count(v, "num_key_value_heads", o.num_key_value_heads, "KV heads", "the model's");
  own_count(v, "head_dim", o.head_dim, "size of one head's query and key", "the model's");
  own_count(v, "value_head_dim", o.value_head_dim, "size of one head's value", "head_dim");
  v.field("keys_are_values", o.keys_are_values, {.meaning = "one copy serves as keys and values"});
  bool given = o.kv_bytes_per_element > 0;
  v.number("kv_bytes_per_element", o.kv_bytes_per_element, &given,
           {.meaning = "of a stored key or value",
            .unit = "bytes",
            .min = 0.125,
            .max = 8,
            .absent = "the model's"});
  if (!given) o.kv_bytes_per_element = 0;
  v.field("kv_bytes_per_token", o.kv_bytes_per_token,
          {.meaning = "of one layer, where a format packs more than elements",
           .unit = "bytes",
           .min = 1,
           .max = 1e9,
           .absent = "by elements"});
  v.field("latent", o.latent, {.meaning = "latent attention", .absent = "the model's"});
  v.field("indexer", o.indexer, {.meaning = "keys that choose what is attended to", .absent = "none"});
  v.field("recurrent", o.recurrent, {.meaning = "the state of a recurrent layer", .absent = "none"});
}

void describe(FieldVisitor& v, ModelSpec& model) {
  ModelFile file = file_of(model);
  ModelSpec& o = file.model;
  const FieldSpec bytes = {.unit = "bytes", .min = 0.125, .max = 8, .absent = "by torch_dtype"};
  const auto bytes_or = [&bytes](std::string_view meaning, std::string_view absent) {
    FieldSpec spec = bytes;
    spec.meaning = meaning;
    spec.absent = absent;
    return spec;
  };
  const auto bytes_of = [&](std::string_view meaning) { return bytes_or(meaning, bytes.absent); };
  v.schema(kModelSchema, false);
  v.field("name", o.name, {.meaning = "how results call the model"});
  v.field("num_hidden_layers", o.num_hidden_layers, required_count("transformer layers"));
  v.field("hidden_size", o.hidden_size, required_count("width of a hidden state"));
  v.field("num_attention_heads", o.num_attention_heads, required_count("query heads"));
  v.field("num_key_value_heads", file.key_value_heads,
          {.meaning = "KV heads", .min = 1, .max = kMaxCount, .absent = "num_attention_heads"});
  v.field("head_dim", file.head_dim,
          {.meaning = "size of one head",
           .min = 1,
           .max = kMaxCount,
           .absent = "hidden_size / num_attention_heads"});
  v.field("intermediate_size", o.intermediate_size, required_count("width of the FFN"));
  v.field("vocab_size", o.vocab_size, {.meaning = "vocabulary", .min = 1, .max = 1e8, .required = true});
  v.field("max_position_embeddings", o.max_position_embeddings,
          {.meaning = "longest sequence", .unit = "tokens", .min = 1, .max = 1e9, .required = true});
  v.field("sampling", o.sampling,
          {.meaning = "how its publisher proposes to draw tokens (generation_config.json)",
           .absent = "from all tokens"});
  v.field("torch_dtype", o.torch_dtype, {.meaning = "number format of the weights", .allowed = kDtypeNames});
  v.field("ffn", o.ffn, {.meaning = "three matrices (gated) or two (plain)"});
  v.field("position_encoding", o.position_encoding, {.meaning = "how positions enter"});
  v.field("qk_norm", o.qk_norm, {.meaning = "norm of queries and keys: of each head, or over all heads"});
  v.field("tie_word_embeddings", o.tie_word_embeddings, {.meaning = "one matrix embeds and predicts words"});
  v.field("attention_output_gate", o.attention_output_gate,
          {.meaning = "queries are projected twice: once more for a gate"});
  v.field("weight_bytes_per_element", file.weight_bytes, bytes_of("of a stored weight"));
  v.field("kv_bytes_per_element", file.kv_bytes, bytes_of("of a stored key or value"));
  v.field("hidden_bytes_per_element", file.hidden_bytes, bytes_of("of a stored hidden state"));
  v.field("activation_bytes_per_element", o.activation_bytes_per_element,
          bytes_or("of what enters a GEMM: 1 for FP8 arithmetic", "hidden_bytes_per_element"));
  v.field("attention_weight_bytes_per_element", o.attention_weight_bytes_per_element,
          bytes_or("of a weight of attention and recurrent layers", "weight_bytes_per_element"));
  v.field("attention_activation_bytes_per_element", o.attention_activation_bytes_per_element,
          bytes_or("of what enters their GEMMs", "activation_bytes_per_element"));
  v.field("embedding_bytes_per_element", o.embedding_bytes_per_element,
          bytes_or("of the embedding and the output projection", "weight_bytes_per_element"));
  v.field("output_bytes_per_element", o.output_bytes_per_element,
          bytes_or("of the output projection", "embedding_bytes_per_element"));
  v.field("vision_parameters", o.vision_parameters,
          {.meaning = "of a vision tower and its projector, in 16 bits; text does not pass them",
           .min = 0,
           .max = 1e12});
  v.field("draft_layers", o.draft_layers,
          {.meaning = "layers for multi-token prediction: in the checkpoint, not loaded without it",
           .min = 0,
           .max = 100});
  v.field("uncounted_weight_bytes", o.uncounted_weight_bytes,
          {.meaning = "that the checkpoint has beside what shapes and formats count, or lacks",
           .unit = "bytes",
           .min = -1e14,
           .max = 1e14});
  v.field("experts", o.experts, {.meaning = "mixture of experts", .absent = "dense"});
  v.field("kv_lora_rank", file.kv_lora_rank,
          {.meaning = "latent size of multi-head latent attention",
           .min = 1,
           .max = kMaxCount,
           .absent = "none"});
  v.field("q_lora_rank", file.latent.q_lora_rank,
          {.meaning = "latent size of its queries; 0: none", .min = 0, .max = kMaxCount});
  v.field("qk_rope_head_dim", file.latent.qk_rope_head_dim, count("its rotary key"));
  v.field("qk_nope_head_dim", file.latent.qk_nope_head_dim, count("its keys without position"));
  v.field("v_head_dim", file.latent.v_head_dim, count("its values"));
  v.field("layer_groups", o.layer_groups,
          {.meaning = "layers by what they keep of a context; none: all alike"});
  v.field("feed_forward_layers", o.ffn_layers,
          {.meaning = "layers with an FFN", .min = 0, .max = kMaxCount, .absent = "num_hidden_layers"});
  v.field("hugging_face", o.hugging_face,
          {.meaning = "names there of models with this shape and these weights, with spaces between"});
  v.field("source", o.source, {.meaning = "where the shape comes from"});
  model = model_of(file);
}

static void describe(FieldVisitor& v, GemmPoint& o) {
  v.field("m", o.m, {.meaning = "rows", .min = 1, .max = 1e9, .required = true});
  v.field("n", o.n, {.meaning = "columns", .min = 1, .max = 1e9, .required = true});
  v.field("k", o.k, {.meaning = "inner size", .min = 1, .max = 1e9, .required = true});
  v.field("time_s", o.time_s, positive("measured time", "s"));
  v.field("activation_bytes_per_element", o.activation_bytes_per_element, element_bytes("of A"));
  v.field("weight_bytes_per_element", o.weight_bytes_per_element, element_bytes("of B"));
}

static void describe(FieldVisitor& v, CollectivePoint& o) {
  v.field("gpus", o.gpus, {.meaning = "GPUs that take part", .min = 2, .max = kMaxCount, .required = true});
  v.field("bytes", o.bytes, positive("of the full buffer", "bytes"));
  v.field("time_s", o.time_s, positive("measured time", "s"));
}

static void describe(FieldVisitor& v, Collectives& o) {
  v.field("peer", o.peer,
          {.meaning = "hardware.peer of the server that was measured", .absent = "as this server"});
  v.field("all_reduce", o.all_reduce, {.meaning = "every GPU gets the sum of all"});
  v.field("all_gather", o.all_gather, {.meaning = "every GPU gets the parts of all"});
  v.field("all_to_all", o.all_to_all, {.meaning = "every GPU sends each a part of its own"});
}

static void describe_efficiency(FieldVisitor& v, Efficiency& o, Names models) {
  v.field("model", o.model, {.meaning = "how times follow from flops and bytes", .allowed = models});
  v.field("efficiency", o.efficiency, share("share of peak_flops that is reached"));
  v.field("bandwidth_efficiency", o.bandwidth_efficiency,
          share("share of the memory bandwidth: smooth_max, wave, blocks"));
  v.field("constant_s", o.constant_s, not_negative("added to every call: smooth_max, wave, blocks", "s"));
  v.field("block_m", o.block_m, count("query rows of one thread block: wave, blocks"));
  v.field("block_s", o.block_s, not_negative("of a thread block, beside its keys: blocks", "s"));
  v.field(
      "wave_tail", o.wave_tail,
      {.meaning = "share of the idle time at the ends of waves that is paid: blocks", .min = 0, .max = 1});
  v.field("packed_heads", o.packed_heads,
          {.meaning = "a thread block's rows are of all query heads of a KV head: blocks"});
  v.field("points", o.points, {.meaning = "measured GEMMs: table"});
  v.field("quantize_bandwidth_efficiency", o.quantize_bandwidth_efficiency,
          share("share of the memory bandwidth of the kernel that quantises a GEMM's input", "fused"));
  v.needs("model", "table", "points");
}

static void describe(FieldVisitor& v, DecodeEfficiency& o) {
  v.field("constant_s", o.constant_s, not_negative("of a call", "s"));
  v.field("block_s", o.block_s, not_negative("of each sequence's KV head", "s"));
  v.field("least_tokens", o.least_tokens,
          {.meaning = "a sequence takes as long as one of so many",
           .unit = "tokens",
           .min = 0,
           .max = kMaxCount});
  v.field("bandwidth_efficiency", o.bandwidth_efficiency, share("share of the memory bandwidth"));
  v.field("ramp_bytes", o.ramp_bytes, not_negative("read with ramp_efficiency", "bytes"));
  v.field("ramp_efficiency", o.ramp_efficiency, share("share of the memory bandwidth for them"));
  v.field("split_from_group", o.split_from_group,
          count("query heads per KV head from which keys are split over thread blocks"));
}

static void describe_optional_gemm(FieldVisitor& v, std::string_view name,
                                   std::optional<Efficiency>& efficiency, const FieldSpec& spec) {
  bool present = efficiency.has_value();
  Efficiency inner = efficiency.value_or(Efficiency{});
  v.object(name, &present, spec,
           [&inner](FieldVisitor& w) { describe_efficiency(w, inner, kGemmEfficiencyNames); });
  efficiency = present ? std::optional(inner) : std::nullopt;
}

static void describe(FieldVisitor& v, Elementwise& o) {
  v.field("bandwidth_efficiency", o.bandwidth_efficiency, share("share of the memory bandwidth"));
  v.field("constant_s", o.constant_s, not_negative("per kernel", "s"));
}

static void describe(FieldVisitor& v, Gpu& o) {
  v.field("name", o.name, {.meaning = "as sold"});
  v.field("count", o.count, count("GPUs of the server", "GPUs"));
  v.field("peak_flops", o.peak_flops, positive("dense half-precision peak", "flop/s"));
  v.field("peak_flops_fp8", o.peak_flops_fp8, positive_or_absent("dense FP8 peak", "flop/s", "peak_flops"));
  v.field("peak_flops_fp4", o.peak_flops_fp4,
          positive_or_absent("dense FP4 peak", "flop/s", "peak_flops_fp8"));
  v.field("memory_bytes", o.memory_bytes, positive("real bytes: 40 GiB, not 40e9", "bytes"));
  v.field("reported_memory_bytes", o.reported_memory_bytes,
          positive_or_absent("what the driver tells an engine (cudaMemGetInfo)", "bytes", "not known"));
  v.field("context_bytes", o.context_bytes,
          not_negative("of it, taken by a process's CUDA context", "bytes"));
  v.field("memory_bandwidth_bytes_per_s", o.memory_bandwidth_bytes_per_s,
          up_to(1e18, positive("of its memory", "bytes/s")));
  v.field("sm_count", o.sm_count,
          {.meaning = "multiprocessors; needed by wave and blocks", .min = 0, .max = kMaxCount});
  v.group("gemm", {.meaning = "matrix products"},
          [&o](FieldVisitor& w) { describe_efficiency(w, o.gemm, kGemmEfficiencyNames); });
  const auto gemm = [&v](std::string_view name, std::optional<Efficiency>& efficiency,
                         std::string_view meaning, std::string_view absent) {
    describe_optional_gemm(v, name, efficiency, {.meaning = meaning, .absent = absent});
  };
  gemm("gemm_fp8", o.gemm_fp8, "matrix products in FP8", "as gemm");
  gemm("gemm_fp4", o.gemm_fp4, "matrix products in FP4", "as gemm");
  gemm("grouped_gemm", o.grouped_gemm, "all experts of a layer at once", "as gemm");
  gemm("grouped_gemm_fp8", o.grouped_gemm_fp8, "the same in FP8", "as gemm_fp8");
  gemm("grouped_gemm_fp4", o.grouped_gemm_fp4, "the same in FP4", "as gemm_fp4");
  gemm("grouped_gemm_w4a16", o.grouped_gemm_w4a16, "the same with 4-bit weights and 16-bit activations",
       "as grouped_gemm");
  v.group("attention", {.meaning = "attention kernels"},
          [&o](FieldVisitor& w) { describe_efficiency(w, o.attention, kAttentionEfficiencyNames); });
  v.field("decode_attention", o.decode_attention,
          {.meaning = "attention of one query a sequence", .absent = "as attention"});
  v.field("elementwise", o.elementwise,
          {.meaning = "norms, activations, residuals", .absent = "part of gemm"});
  v.field("kernel_overhead_s", o.kernel_overhead_s, not_negative("per GEMM and attention call", "s"));
  v.field("host_overhead_per_layer_s", o.host_overhead_per_layer_s, not_negative("per layer and step", "s"));
  v.field("per_server", o.per_server,
          {.meaning = "GPUs of the server as it is sold, of which count are a share",
           .unit = "GPUs",
           .min = 1,
           .max = kMaxCount,
           .absent = "count: a whole server"});
  v.field("price_usd_per_hour", o.price_usd_per_hour,
          not_negative("rent of one GPU with its share of the server", "USD/h"));
  v.field("purchase_usd", o.purchase_usd, not_negative("the same, bought instead of rented", "USD"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_idle_w", o.power_idle_w, not_negative("one GPU between steps", "W"));
  v.field("power_busy_w", o.power_busy_w,
          not_negative("one GPU during a step", "W", "energy is not counted"));
}

static void describe(FieldVisitor& v, RatePoint& o) {
  v.field("block_bytes", o.block_bytes, positive("of one piece", "bytes"));
  v.field("bytes_per_s", o.bytes_per_s, positive("in pieces of this size", "bytes/s"));
}

static void describe(FieldVisitor& v, SsdPoint& o) {
  v.field("block_bytes", o.block_bytes, positive("of one request", "bytes"));
  v.field("bytes_per_s", o.bytes_per_s, positive("of one device in requests of this size", "bytes/s"));
  v.field("queue_depth", o.queue_depth, count("in flight meanwhile", "requests"));
}

static void describe(FieldVisitor& v, Pcie& o) {
  v.field("h2d_bandwidth_bytes_per_s", o.h2d_bandwidth_bytes_per_s, positive("host to one GPU", "bytes/s"));
  v.field("d2h_bandwidth_bytes_per_s", o.d2h_bandwidth_bytes_per_s, positive("one GPU to host", "bytes/s"));
  v.field("request_overhead_s", o.request_overhead_s, not_negative("per copy, without a curve", "s"));
  v.field("h2d_curve", o.h2d_curve, {.meaning = "rate to one GPU over the bytes of one copy"});
  v.field("d2h_curve", o.d2h_curve, {.meaning = "rate from one GPU over the bytes of one copy"});
  v.field(
      "duplex_share", o.duplex_share,
      {.meaning = "both directions at once: their rate over the sum of the two alone", .min = 0.5, .max = 1});
}

static void describe(FieldVisitor& v, Nvlink& o) {
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("one direction, one GPU", "bytes/s"));
  v.field("latency_s", o.latency_s, not_negative("per collective", "s"));
  v.field("fused_all_reduce_bytes", o.fused_all_reduce_bytes,
          not_negative("memory of one GPU for kernels that fuse all-reduces", "bytes"));
}

static void describe(FieldVisitor& v, Nic& o) {
  v.field("count", o.count, count("cards of the node", "NICs"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("one direction, one card", "bytes/s"));
  v.field("latency_s", o.latency_s,
          not_negative("to the first byte of a transfer, its set-up included", "s"));
}

static void describe(FieldVisitor& v, Dram& o) {
  v.field("capacity_bytes", o.capacity_bytes, positive("for stored state", "bytes"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("of the node", "bytes/s"));
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("purchase_usd_per_gb", o.purchase_usd_per_gb, not_negative("bought instead of rented", "USD/GB"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_w", o.power_w, not_negative("of the whole memory", "W"));
}

static void describe(FieldVisitor& v, Ssd& o) {
  v.field("count", o.count, count("devices", "SSDs"));
  v.field("capacity_bytes", o.capacity_bytes, positive("of one device", "bytes"));
  v.field("read_bandwidth_bytes_per_s", o.read_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("write_bandwidth_bytes_per_s", o.write_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("per chunk read or written, without a curve", "s"));
  v.field("read_curve", o.read_curve, {.meaning = "rate of one device over the bytes of one read"});
  v.field("write_curve", o.write_curve, {.meaning = "rate of one device over the bytes of one write"});
  v.field("queue_depth", o.queue_depth,
          {.meaning = "in flight on one device, for its curves",
           .unit = "requests",
           .min = 1,
           .max = kMaxCount,
           .absent = "the deepest measured"});
  v.field("sync_write_s", o.sync_write_s, not_negative("one small write that is waited for", "s"));
  v.field("gpu_direct", o.gpu_direct, {.meaning = "false: transfers are copied through DRAM"});
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("purchase_usd", o.purchase_usd, not_negative("of one device, instead of rent", "USD"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("replacement_usd_per_gb", o.replacement_usd_per_gb,
          not_negative("of a new device: what wear costs where devices are rented; never billed", "USD/GB"));
  v.field("endurance_bytes", o.endurance_bytes,
          not_negative("rated writes of one device; 0: not stated", "bytes"));
  v.field("power_w", o.power_w, not_negative("of one device", "W"));
}

static void describe(FieldVisitor& v, Remote& o) {
  v.field("capacity_bytes", o.capacity_bytes, positive("of the node's share", "bytes"));
  v.field("bandwidth_bytes_per_s", o.bandwidth_bytes_per_s, positive("of the node", "bytes/s"));
  v.field("curve", o.curve, {.meaning = "rate of the node over the bytes of one request"});
  v.field("latency_s", o.latency_s, not_negative("to the first byte of a transfer", "s"));
  v.field("lookup_s", o.lookup_s, not_negative("of its index, once a turn", "s"));
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("price_usd_per_request", o.price_usd_per_request, not_negative("per transfer", "USD"));
}

static void describe(FieldVisitor& v, Devices& o) {
  v.field("count", o.count, count("devices", "devices"));
  v.field("capacity_bytes", o.capacity_bytes, positive("of one device", "bytes"));
  v.field("read_bandwidth_bytes_per_s", o.read_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("write_bandwidth_bytes_per_s", o.write_bandwidth_bytes_per_s, positive("of one device", "bytes/s"));
  v.field("latency_s", o.latency_s, not_negative("to the first byte of a transfer", "s"));
  v.field("gpu_direct", o.gpu_direct, {.meaning = "false: transfers are copied through DRAM"});
  v.field("price_usd_per_gb_hour", o.price_usd_per_gb_hour, not_negative("provisioned", "USD/GB/h"));
  v.field("purchase_usd_per_gb", o.purchase_usd_per_gb, not_negative("bought instead of rented", "USD/GB"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_w", o.power_w, not_negative("of one device", "W"));
}

static void describe(FieldVisitor& v, EngineTimes& o) {
  v.field("name", o.name, {.meaning = "which engine was measured"});
  v.field("version", o.version, {.meaning = "of it"});
  v.field("step_overhead_s", o.step_overhead_s,
          not_negative("default of serving.step_overhead_s", "s", "not measured"));
  v.field("step_overhead_per_sequence_s", o.step_overhead_per_sequence_s,
          not_negative("default of serving.step_overhead_per_sequence_s", "s", "not measured"));
  v.field("request_overhead_s", o.request_overhead_s,
          not_negative("default of serving.request_overhead_s", "s", "not measured"));
  v.field("kv_capacity_share", o.kv_capacity_share,
          {.meaning = "tokens of KV cache that the engine has, over those derived", .min = 0.1, .max = 10});
}

static void describe(FieldVisitor& v, RegimeError& o) {
  const auto spread = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1};
  };
  v.field("sigma", o.sigma, spread("standard deviation of ln(measured / simulated) that all shapes share"));
  v.field("shape_sigma", o.shape_sigma, spread("that of a single kernel, beside it"));
  v.field("bias", o.bias, {.meaning = "mean of ln(measured / simulated)", .min = -1, .max = 1});
  v.field("outside", o.outside, {.meaning = "what was never measured of it; answers repeat this"});
}

static void describe(FieldVisitor& v, MachineErrors& o) {
  for (const Regime& one : kRegimes) {
    v.field(one.name, o.*one.error, {.meaning = one.meaning, .absent = "by provenance.kind"});
  }
}

void describe(FieldVisitor& v, HardwareProfile& o) {
  v.schema(kHardwareSchema, false);
  v.field("name", o.name, {.meaning = "how results call the server"});
  v.group("provenance", {.meaning = "where the numbers come from", .required = true}, [&o](FieldVisitor& w) {
    w.field("kind", o.provenance_kind, {.required = true, .allowed = kProvenanceNames});
    w.field("source", o.provenance_source, {.meaning = "in words", .required = true});
  });
  v.field("gpu", o.gpu, {.meaning = "one GPU, and how many", .required = true});
  v.field("pcie", o.pcie, {.meaning = "the link of one GPU", .required = true});
  v.field("nvlink", o.nvlink, {.meaning = "between GPUs", .absent = "none"});
  v.field("peer", o.peer,
          {.meaning = "how GPUs without NVLink reach each other: in each other's memory (direct), the same "
                      "through a PCIe switch, or through the host",
           .absent = "nvlink; without it host"});
  v.field("collectives", o.collectives,
          {.meaning = "measured times of collectives", .absent = "by nvlink, or pcie and peer"});
  v.field("nic", o.nic, {.meaning = "one network card between nodes, and how many", .absent = "none"});
  const auto tier = [&v](Tier kind, auto& part) {
    v.field(name(kind), part, {.meaning = tier_row(kind).meaning, .absent = "none"});
  };
  tier(Tier::dram, o.dram);
  tier(Tier::ssd, o.ssd);
  tier(Tier::remote, o.remote);
  for (Tier kind : kTiers) {
    if (tier_row(kind).table) tier(kind, o.devices[index(kind)]);
  }
  v.group("energy", {.meaning = "what the machine draws, beyond its watts"}, [&o](FieldVisitor& w) {
    w.field("price_usd_per_kwh", o.energy.price_usd_per_kwh,
            not_negative("of electricity", "USD/kWh", "energy has no price"));
    w.field("pue", o.energy.pue,
            {.meaning = "energy of the site / energy of the machines", .min = 1, .max = 1000});
  });
  v.field("engine", o.engine,
          {.meaning = "what an engine was found to take on this machine", .absent = "not measured"});
  v.field("errors", o.errors, {.meaning = "how far measured times lie from simulated ones"});
}

static void describe(FieldVisitor& v, Sampling& o) {
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

static void describe(FieldVisitor& v, ServingOptions& o) {
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

static void describe(FieldVisitor& v, NodeFailure& o) {
  v.field("replica", o.replica,
          {.meaning = "which node; the first is 0", .min = 0, .max = kMaxReplicas - 1, .required = true});
  v.field("at_s", o.at_s,
          {.meaning = "when it is lost", .unit = "s", .min = 0, .max = kMaxYears_s, .required = true});
  v.field("down_s", o.down_s, positive("until it is back, empty", "s"));
}

static void describe(FieldVisitor& v, RouterOptions& o) {
  const auto weight = [](std::string_view meaning) {
    return FieldSpec{.meaning = meaning, .min = 0, .max = 1e6};
  };
  v.field(
      "index", o.index,
      {.meaning = "what the router believes of the nodes: what lies there, what they have reported, or what "
                  "it has sent there"});
  v.field("event_delay_s", o.event_delay_s, not_negative("events: until a report is heard", "s"));
  v.field("index_tokens", o.index_tokens,
          {.meaning = "approximate: remembered of one node, the least recently used leaving first",
           .unit = "tokens",
           .min = 1,
           .max = 1e15,
           .absent = "any number"});
  v.field("index_ttl_s", o.index_ttl_s,
          positive_or_absent("approximate: until what was not sent again is forgotten", "s", "never"));
  v.field("prefix_weight", o.prefix_weight, weight("weighted: of the share of the prompt that lies there"));
  v.field("kv_weight", o.kv_weight, weight("weighted: of the share of KV blocks that nobody holds"));
  v.field("queue_weight", o.queue_weight, weight("weighted: of half of 1 - waiting turns / 128"));
  v.field("no_hit_weight", o.no_hit_weight,
          weight("weighted: of prompts that nobody has going where none went for longest"));
  v.field("gpu_tier_weight", o.gpu_tier_weight, weight("weighted: of what lies on the GPU"));
  v.field("dram_tier_weight", o.dram_tier_weight, weight("weighted: of what lies in DRAM"));
  v.field("far_tier_weight", o.far_tier_weight, weight("weighted: of what lies farther"));
  v.field("overlap_credit", o.overlap_credit, weight("dynamo: of what needs no prefill"));
  v.field("dram_credit", o.dram_credit, weight("dynamo: of that, what lies in DRAM"));
  v.field("far_credit", o.far_credit, weight("dynamo: of that, what lies farther"));
  v.field("prefill_scale", o.prefill_scale,
          weight("dynamo: of tokens to prefill, against those that decode"));
  v.field("temperature", o.temperature, weight("dynamo: 0 takes the cheapest node, more draws one"));
  v.field("cache_threshold", o.cache_threshold,
          {.meaning = "cache_aware: cached share of a prompt above which the router follows the cache",
           .min = 0,
           .max = 1});
  v.field("balance_abs", o.balance_abs,
          {.meaning = "cache_aware: difference of loads up to which the router follows the cache",
           .unit = "turns",
           .min = 0,
           .max = kMaxCount});
  v.field("balance_rel", o.balance_rel,
          {.meaning = "cache_aware: ratio of loads up to which the router follows the cache",
           .min = 1,
           .max = 1e6});
}

static void describe(FieldVisitor& v, PoolOptions& o) {
  v.field("max_num_seqs", o.max_num_seqs,
          {.meaning = "of these nodes",
           .unit = "requests",
           .min = 1,
           .max = kMaxCount,
           .absent = "serving.max_num_seqs"});
  v.field("max_num_batched_tokens", o.max_num_batched_tokens,
          {.meaning = "of these nodes",
           .unit = "tokens",
           .min = 1,
           .max = 1e9,
           .absent = "serving.max_num_batched_tokens"});
}

static void describe(FieldVisitor& v, DisaggregationOptions& o) {
  v.field("prefill_replicas", o.prefill_replicas,
          {.meaning = "nodes that compute prompts, the first ones; the others decode",
           .unit = "nodes",
           .min = 1,
           .max = kMaxReplicas - 1,
           .required = true});
  v.field("transfer", o.transfer,
          {.meaning = "the decode node asks for a prompt's KV once it is computed, or reserves blocks when "
                      "its computation begins and is sent it"});
  v.field("granularity", o.granularity,
          {.meaning = "KV moves when the whole prompt is computed, or (push) each layer as soon as it is"});
  v.field("link", o.link, {.meaning = "what carries KV between nodes: hardware.nic or hardware.nvlink"});
  v.field("lease_s", o.lease_s,
          {.meaning = "pull: KV that nobody has begun to fetch for so long is given up, and the decode node "
                      "computes the prompt itself",
           .unit = "s",
           .min = 0,
           .max = kMaxYears_s,
           .absent = "kept until it is fetched"});
  v.field("prefill", o.prefill,
          {.meaning = "what the nodes that compute prompts set otherwise than serving"});
  v.field("decode", o.decode, {.meaning = "what the nodes that decode set otherwise than serving"});
}

static void describe(FieldVisitor& v, FleetOptions& o) {
  v.field(
      "replicas", o.replicas,
      {.meaning = "nodes, each the whole profile and model", .unit = "nodes", .min = 1, .max = kMaxReplicas});
  v.field("routing", o.routing, {.meaning = "which node serves a turn"});
  v.field("router", o.router, {.meaning = "what the router believes and weighs"});
  v.field(
      "load_bound", o.load_bound,
      {.meaning = "prefix_aware: lead over the least loaded node at which what is stored no longer counts",
       .unit = "turns",
       .min = 0,
       .max = kMaxCount});
  v.field("shared_remote", o.shared_remote,
          {.meaning = "the remote tier is one store behind one link for all nodes"});
  v.field("failures", o.failures, {.meaning = "nodes that are lost with what they hold"});
  v.field(
      "disaggregation", o.disaggregation,
      {.meaning = "nodes that compute prompts, and others that decode", .absent = "every node does both"});
}

// Returns "the format of a file, or a generator (chat, ...)".
static std::string_view kind_meaning() {
  static const std::string meaning = [] {
    std::string generators;
    for (const SourceRow& row : source_table()) {
      if (row.is_generated) generators += (generators.empty() ? "" : ", ") + std::string(row.name);
    }
    return "the format of a file, or a generator (" + generators + "): traces/formats.md";
  }();
  return meaning;
}

constexpr std::string_view kInRagTable = "as in traces/rag.json";

static std::string_view block_tokens_default() {
  static const std::string text = "mooncake: " + std::to_string(kMooncakeBlockTokens);
  return text;
}

static void describe(FieldVisitor& v, SourceOptions& o) {
  v.field("kind", o.kind, {.meaning = kind_meaning(), .required = true, .allowed = source_names()});
  v.field(
      "path", o.path,
      {.meaning = "the file, plain or gzip; relative to this one, or $KVCAP_DATA/... for a file of the data "
                  "folder (scenarios/data.md)"});
  v.field(
      "stand_in", o.stand_in,
      {.meaning = "session JSONL that is read, with a note, where there is no file at path; empty: none"});
  v.field("on_bad_row", o.on_bad_row, {.meaning = "stop, or count and go on"});
  v.field(
      "history", o.history,
      {.meaning = "what a turn builds on: context and earlier turns (grow), or the session's context alone"});
  v.field("columns", o.columns,
          {.meaning = "csv, jsonl: which column holds what, as in arrival=timestamp,input=prompt_tokens,"
                      "output=completion_tokens,session=conversation_id; also ttft, e2el, prompt, id; empty: "
                      "arrival_s, input_tokens, output_tokens, session, ..."});
  v.field("input_is", o.input_is,
          {.meaning = "what the input length of a session's later turn counts: its new tokens, or the whole "
                      "prompt with the history; automatic: what the format says (traces/formats.md)"});
  v.field("token_counts", o.token_counts,
          {.meaning = "sharegpt: JSONL of exact token counts; without it they are estimated"});
  v.field("block_tokens", o.block_tokens,
          {.meaning = "mooncake, vllm, bailian, lmcache_agent: size of a block of hash_ids",
           .unit = "tokens",
           .min = 1,
           .max = 65536,
           .absent = block_tokens_default(),
           .fallback = kEngineBlockTokens});
  v.field("hash_ids", o.hash_ids,
          {.meaning = "vllm: JSONL of the requests' blocks; without it no prompt shares any"});
  v.field("tasks", o.tasks,
          {.meaning = "long_context: sub-tasks of L-Eval, separated by commas; empty: all"});
  v.field("documents", o.documents,
          {.meaning = "long_context: how many there are",
           .min = 1,
           .max = kMaxCount,
           .absent = "as many as the sub-tasks have in L-Eval"});
  v.field("zipf_alpha", o.zipf_alpha,
          {.meaning = "long_context, rag: the k-th document's or chunk's popularity is k^-zipf_alpha",
           .min = 0,
           .max = 10,
           .absent = "rag: as in traces/rag.json",
           .fallback = kLongContextZipfAlpha});
  v.field("dataset", o.dataset, {.meaning = "few_shot: piqa, rte, copa or openbookqa"});
  v.field("prefixes", o.prefixes,
          {.meaning = "few_shot, random: how many there are that prompts share",
           .min = 1,
           .max = kMaxCount,
           .absent = "few_shot: as in traces/few_shot.json",
           .fallback = kRandomPrefixes});
  v.field("max_prefix_tokens", o.max_prefix_tokens,
          {.meaning = "few_shot: where prefixes are cut", .unit = "tokens", .min = 1, .max = kMaxCount});
  v.field("reuse_sigma", o.reuse_sigma,
          {.meaning = "few_shot: standard deviation of the prefixes' reuse",
           .unit = "prefixes",
           .min = 1e-3,
           .max = kMaxCount,
           .absent = "as in traces/few_shot.json, in proportion to prefixes"});
  v.field("base_queries", o.base_queries,
          {.meaning = "rag: different ones", .min = 1, .max = 100000, .absent = kInRagTable});
  v.field("paraphrases", o.paraphrases,
          {.meaning = "rag: of each base query", .min = 0, .max = 100, .absent = kInRagTable});
  v.field("chunks", o.chunks,
          {.meaning = "rag: that a query retrieves", .min = 1, .max = 100, .absent = kInRagTable});
  v.field("chunk_tokens", o.chunk_tokens,
          {.meaning = "rag: of one chunk", .unit = "tokens", .min = 1, .max = 65536, .absent = kInRagTable});
  v.field("corpus_chunks", o.corpus_chunks,
          {.meaning = "rag: chunks there are", .min = 1, .max = 1e7, .absent = "base_queries x chunks"});
  v.field("overlap", o.overlap,
          {.meaning = "rag: probability that a paraphrase retrieves a chunk of its base query",
           .min = 0,
           .max = 1,
           .absent = kInRagTable});
  v.field("question_tokens", o.question_tokens,
          {.meaning = "rag: mean length of a question",
           .unit = "tokens",
           .min = 1,
           .max = kMaxCount,
           .absent = kInRagTable});
  v.field("input_tokens", o.input_tokens,
          {.meaning = "random: of a prompt beyond its shared prefix, at most",
           .unit = "tokens",
           .min = 1,
           .max = kMaxCount});
  v.field("output_tokens", o.output_tokens,
          {.meaning = "random: of an answer, at most", .unit = "tokens", .min = 1, .max = kMaxCount});
  v.field("shortest_share", o.shortest_share,
          {.meaning = "random: lengths are even from this share of the longest to all of it",
           .min = 0,
           .max = 1});
  v.field("prefix_tokens", o.prefix_tokens,
          {.meaning = "random: that prompts share in front; there are `prefixes` of them",
           .unit = "tokens",
           .min = 0,
           .max = kMaxCount});
  v.field("prompts", o.prompts,
          {.meaning = "random: how many there are, which come again and again",
           .min = 1,
           .max = kMaxCount,
           .absent = "none comes again"});
  v.field("shuffled", o.shuffled, {.meaning = "random: prompts come in an order that is drawn once"});
  v.field("shared_tools", o.shared_tools,
          {.meaning = "weka: tools and system prompts of equal size are the same text in all sessions"});
  v.field("max_prompt_tokens", o.max_prompt_tokens,
          {.meaning = "agents: the agent compacts a prompt before it grows beyond",
           .unit = "tokens",
           .min = 32768,
           .max = kMaxCount,
           .absent = "as in traces/agents.json"});
  for (const SourceRow& row : source_table()) {
    if (!row.is_generated) v.needs("kind", row.name, "path");
  }
}

static void describe(FieldVisitor& v, ArrivalRate& o) {
  v.field("from_s", o.from_s,
          {.meaning = "when this rate begins; the first one at 0",
           .unit = "s",
           .min = 0,
           .max = kMaxYears_s,
           .required = true});
  v.field("sessions_per_s", o.sessions_per_s, not_negative("new sessions", "1/s", "requests_per_s says"));
  v.field("requests_per_s", o.requests_per_s, not_negative("requests (turns)", "1/s", "sessions_per_s says"));
  v.field("ramp", o.ramp, {.meaning = "true: the rate changes linearly to the next one"});
}

static void describe(FieldVisitor& v, ArrivalOptions& o) {
  v.field("process", o.process,
          {.meaning = "gaps between sessions; even: as many as the rate means, at dates drawn evenly; trace: "
                      "arrival_s of the file; closed_loop: a session begins when another one ends"});
  v.field("sessions_per_s", o.sessions_per_s,
          positive_or_absent("rate of new sessions", "1/s", "requests_per_s or rates says",
                             kDefaultSessions_per_s));
  v.field("requests_per_s", o.requests_per_s,
          positive_or_absent("rate of requests: sessions_per_s x mean turns of a session", "1/s",
                             "sessions_per_s or rates says"));
  v.field("rates", o.rates, {.meaning = "a rate that changes, in place of sessions_per_s"});
  v.field("period_s", o.period_s,
          positive_or_absent("after which rates repeat: 86400 for a day", "s", "the last rate has no end"));
  v.field("cv", o.cv, variation("coefficient of variation: gamma"));
  v.field("concurrency", o.concurrency,
          {.meaning = "closed_loop: sessions that are active at any time",
           .unit = "sessions",
           .min = 1,
           .max = kMaxCount,
           .absent = "required with closed_loop"});
  v.field("round_sessions", o.round_sessions,
          {.meaning = "closed_loop: sessions per round; no session begins before all sessions of the last "
                      "round have ended",
           .unit = "sessions",
           .min = 1,
           .max = kMaxCount,
           .absent = "there are no rounds"});
  v.field(
      "staggered", o.staggered,
      {.meaning = "closed_loop: the first answers are cut short, evenly from none to whole, so that equal "
                  "requests do not keep in step"});
  v.field("speed", o.speed,
          {.meaning = "trace: sessions begin at so many times the trace's rate; inside a session nothing is "
                      "faster",
           .min = 1e-6,
           .max = 1e6});
  v.needs("process", "closed_loop", "concurrency");
}

static void describe(FieldVisitor& v, ThinkTimeOptions& o) {
  v.field("distribution", o.distribution,
          {.meaning = "of the time between an answer and the next turn; recorded: as the source says; "
                      "timetable: turns at the source's times after their session's first; auto: recorded "
                      "where the source says any, else constant"});
  v.field("mean_s", o.mean_s, not_negative("its mean", "s"));
  v.field("cv", o.cv, variation("coefficient of variation: lognormal"));
}

static void describe(FieldVisitor& v, RetryOptions& o) {
  v.field("count", o.count,
          {.meaning = "how often a client sends a request again (OpenAI's client: 2)",
           .min = 0,
           .max = 1000,
           .required = true});
  v.field("backoff_s", o.backoff_s, not_negative("before it does so for the first time", "s"));
  v.field("multiplier", o.multiplier, {.meaning = "each backoff over the one before", .min = 1, .max = 100});
  v.field("max_backoff_s", o.max_backoff_s, not_negative("but no longer", "s"));
  v.field("jitter", o.jitter, {.meaning = "share of it that chance takes off at most", .min = 0, .max = 1});
}

static void describe(FieldVisitor& v, WorkloadOptions& o) {
  v.field("source", o.source, {.meaning = "what the sessions are", .required = true});
  v.field("arrivals", o.arrivals, {.meaning = "when sessions begin"});
  v.field("think_time", o.think_time, {.meaning = "how long users take"});
  v.field("client_timeout_s", o.client_timeout_s,
          positive_or_absent("a client gives a request up so long after it has sent it, unless it has the "
                             "last token; the engine drops it before its next step (OpenAI's client: 600)",
                             "s", "clients wait for ever"));
  v.field("retries", o.retries,
          {.meaning = "what clients do then: they send the request again; after the last retry it has "
                      "failed, and its session ends",
           .absent = "none",
           .shorthand = "count"});
  v.field("sessions", o.sessions,
          {.meaning = "how many",
           .min = 1,
           .max = 1e8,
           .absent = "all of the file, all queries of rag",
           .fallback = kDefaultSessions});
  v.field("warmup_turns", o.warmup_turns,
          {.meaning = "first turns, left out of the metrics", .unit = "turns", .min = 0, .max = 1e9});
  v.field("warmup", o.warmup,
          {.meaning = "what is left out of latencies and hits: the first warmup_turns, what MSER-5 finds in "
                      "the TTFTs, or what arrives outside of the steady window"});
  v.field("rates_over", o.rates_over,
          {.meaning = "what rates, utilizations and prices per token cover: the steady window or the run; "
                      "auto: the run of a trace's arrivals, else the steady window"});
  v.field("run_length", o.run_length,
          {.meaning = "sessions as they are, or doubled until it is clear whether the machine serves them"});
  v.field("warm_start", o.warm_start, {.meaning = "contexts are stored before the first arrival"});
}

static std::string_view eviction_meaning() {
  static const std::string text = [] {
    std::string summaries = "what leaves a full tier first. ";
    for (const EvictionRow& row : kEvictions) {
      if (&row != kEvictions.begin()) summaries += "; ";
      summaries += std::string(row.name) + ": " + std::string(row.summary);
    }
    return summaries;
  }();
  return text;
}

static void describe(FieldVisitor& v, TierOptions& o) {
  std::string kind(name(o.kind));
  v.field("kind", kind,
          {.meaning = "which tier; mooncake_store: remote, with Mooncake Store's defaults",
           .required = true,
           .allowed = kTierKindNames});
  for (Tier tier : kTiers) {
    if (name(tier) == kind) o.kind = tier;
  }
  if (kind == kTierKindNames.back()) o = mooncake_store();
  v.field("capacity_bytes", o.capacity_bytes,
          positive_or_absent("for stored state", "bytes", "all there is"));
  v.field("capacity_per_gpu_bytes", o.capacity_per_gpu_bytes,
          positive_or_absent("in place of capacity_bytes: so many for each GPU of the engine", "bytes",
                             "capacity_bytes says"));
  v.field("capacity_over_gpu", o.capacity_over_gpu,
          {.meaning = "in place of capacity_bytes: times what the engine's KV blocks hold",
           .min = 1e-3,
           .max = 1e6,
           .absent = "capacity_bytes says"});
  v.field("eviction", o.eviction,
          {.meaning = eviction_meaning(),
           .absent = "the policy's",
           .fallback = name_of(kPolicyDefaults.eviction)});
  v.field("free_fraction", o.free_fraction,
          {.meaning = "share that is kept free by evicting ahead", .min = 0, .max = 1, .below_max = true});
  v.field("evict_at", o.evict_at,
          {.meaning = "share of the capacity beyond which evict_share of it leaves at once",
           .min = kLeastShare,
           .max = 1,
           .absent = "what leaves makes room for what comes"});
  v.field("evict_share", o.evict_share, share("of the capacity that leaves then"));
  v.field("lease_s", o.lease_s, not_negative("for which what was read does not leave", "s"));
  v.field("soft_pin_s", o.soft_pin_s,
          not_negative("after its last use for which what several sessions can share (documents, pieces of "
                       "prompts) leaves only when nothing else can",
                       "s"));
  v.field(
      "after_uses", o.after_uses,
      {.meaning = "uses of a context before it enters from a nearer tier; the turn that computes it is one",
       .min = 1,
       .max = kMaxCount});
  v.field("replicas", o.replicas, {.meaning = "copies of what is stored", .min = 1, .max = 100});
  v.field("exclusive", o.exclusive,
          {.meaning = "hbm: what lies here takes no room in the first host tier, if a farther one has it"});
}

static void describe(FieldVisitor& v, PolicyOptions& o) {
  v.field("name", o.name, {.meaning = "a preset for all that follows", .allowed = policy_names()});
  for_each_policy_key([&](const auto& key) { v.field(key.name, o.*key.value, key.spec); });
}

static void describe(FieldVisitor& v, SloOptions& o) {
  v.field("ttft_ms", o.ttft_ms, positive_or_absent("time to first token", "ms", "not judged"));
  v.field("tpot_ms", o.tpot_ms, positive_or_absent("time per output token", "ms", "not judged"));
}

static void describe(FieldVisitor& v, BillingOptions& o) {
  v.field("storage", o.storage,
          {.meaning = "of tiers whose size nobody chose: all that the profile has, or what the run fills"});
  v.field("whole_servers", o.whole_servers,
          {.meaning = "GPUs are bought in servers of hardware.gpu.per_server"});
  v.field("prices", o.prices,
          {.meaning = "file of prices that take the place of the profile's (kvcap.prices/1); empty: none"});
}

void describe(FieldVisitor& v, Scenario& o) {
  v.schema(kScenarioSchema, true);
  v.field("name", o.name, {.meaning = "how results call the scenario"});
  v.field("kvcap_version", o.kvcap_version,
          {.meaning = "the kvcap that wrote the file; the answer lists defaults that have moved since",
           .absent = "this one"});
  v.field("model", o.model, {.required = true, .reference = "model"});
  v.field("hardware", o.hardware, {.required = true, .reference = "hardware profile"});
  v.field("serving", o.serving, {.meaning = "the engine; names as in vLLM"});
  v.field("fleet", o.fleet, {.meaning = "how many nodes there are, and which serves a turn"});
  v.field("workload", o.workload, {.meaning = "what is asked of it", .required = true});
  v.field("policy", o.policy, {.reference = "policy"});
  v.field("slo", o.slo, {.meaning = "targets that define goodput"});
  v.field("billing", o.billing, {.meaning = "what is paid for, and at whose prices"});
  v.field("fidelity", o.fidelity, {.meaning = "one transfer per tier, or every layer simulated"});
  v.field("replications", o.replications,
          {.meaning = "runs with seeds seed, seed + 1, ...", .min = 1, .max = 10000});
  v.field("seed", o.seed, {.meaning = "of all random streams", .min = 0, .max = kMaxInteger});
}

}  // namespace kvcap
