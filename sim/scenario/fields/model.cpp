// The fields of a model.
#include <algorithm>

#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

namespace {

// A model as its file describes it: without nested objects for latent attention, and with unset fields where
// defaults follow from other fields.
struct ModelFile {
  ModelSpec model;
  std::optional<int64_t> key_value_heads, head_dim;
  std::optional<double> weight_bytes, kv_bytes, hidden_bytes;
  std::optional<int64_t> kv_lora_rank;
  LatentAttention latent;
};

constexpr std::string_view kByDtype = "by torch_dtype";

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

}  // namespace

static void describe(FieldVisitor& v, Experts& o) {
  v.field("count", o.count, required_count("routed experts per layer"));
  v.field("active", o.active, required_count("routed experts per token"));
  v.field("shared", o.shared,
          {.meaning = "shared experts, which process every token", .min = 0, .max = kMaxCount});
  v.field("intermediate_size", o.intermediate_size, required_count("FFN width of a routed expert"));
  v.field(
      "shared_intermediate_size", o.shared_intermediate_size,
      {.meaning = "FFN width of a shared expert; 0: that of a routed expert", .min = 0, .max = kMaxCount});
  v.field("dense_layers", o.dense_layers,
          {.meaning = "layers that have a dense FFN instead of experts", .min = 0, .max = kMaxCount});
  v.field("hidden_size", o.hidden_size,
          {.meaning = "hidden size of the routed experts; 0: the model's", .min = 0, .max = kMaxCount});
  v.field("weight_bytes_per_element", o.weight_bytes_per_element,
          element_bytes("size of a routed expert's weight", "weight_bytes_per_element of the model"));
  v.field("activation_bytes_per_element", o.activation_bytes_per_element,
          element_bytes("size of an input of a routed expert's GEMMs",
                        "activation_bytes_per_element of the model"));
}

static void describe(FieldVisitor& v, LatentAttention& o) {
  v.field("kv_lora_rank", o.kv_lora_rank, required_count("latent size of keys and values"));
  v.field("q_lora_rank", o.q_lora_rank,
          {.meaning = "latent size of queries; 0: queries have no latent", .min = 0, .max = kMaxCount});
  v.field("qk_rope_head_dim", o.qk_rope_head_dim, count("key dimensions with rotary position"));
  v.field("qk_nope_head_dim", o.qk_nope_head_dim, count("key dimensions without position, per head"));
  v.field("v_head_dim", o.v_head_dim, count("value dimensions per head"));
}

static void describe(FieldVisitor& v, Indexer& o) {
  v.field(
      "layers", o.layers,
      {.meaning = "layers that compute an index; the others reuse it; 0: all", .min = 0, .max = kMaxCount});
  v.field("heads", o.heads, count("heads of the indexer"));
  v.field("head_dim", o.head_dim, count("size of an indexer head"));
  v.field("bytes_per_token", o.bytes_per_token,
          {.meaning = "indexer key of a token in one layer", .unit = "bytes", .min = 1, .max = 1e6});
  v.field("top_k", o.top_k, count("tokens that a query attends to", "tokens"));
}

static void describe(FieldVisitor& v, RecurrentState& o) {
  v.field("heads", o.heads,
          required_count("heads of the state (Mamba-2), or value heads (linear attention)"));
  v.field("head_dim", o.head_dim, required_count("size of a head, or of a value"));
  v.field("state_size", o.state_size,
          required_count("state elements per channel (Mamba-2), or size of a key"));
  v.field(
      "groups", o.groups,
      {.meaning = "groups of heads that share B and C (Mamba-2), or key heads", .min = 0, .max = kMaxCount});
  v.field("conv_kernel", o.conv_kernel, count("width of the causal convolution", "tokens"));
  v.field(
      "dt_rank", o.dt_rank,
      {.meaning = "rank of the step size (Mamba-1); 0: one step size per head", .min = 0, .max = kMaxCount});
  v.field("state_bytes_per_element", o.state_bytes_per_element,
          {.meaning = "size of a state element", .unit = "bytes", .min = 0.125, .max = 8});
  v.field("conv_bytes_per_element", o.conv_bytes_per_element,
          {.meaning = "size of a stored input of the convolution", .unit = "bytes", .min = 0.125, .max = 8});
}

// Describes a count of a LayerGroup; 0 means the model's value.
static void own_count(FieldVisitor& v, std::string_view name, int64_t& value, std::string_view meaning,
                      std::string_view absent) {
  bool given = value > 0;
  v.integer(name, value, &given, {.meaning = meaning, .min = 1, .max = kMaxCount, .absent = absent});
  if (!given) value = 0;
}

static void describe(FieldVisitor& v, LayerGroup& o) {
  v.field("layers", o.layers, required_count("layers of this group"));
  v.field("attention", o.attention,
          {.meaning = "attention of these layers, which determines the state that they keep"});
  own_count(v, "window_tokens", o.window_tokens,
            "sliding: tokens in the window, including the current token; chunked: tokens per chunk", "none");
  own_count(v, "num_attention_heads", o.num_attention_heads, "query heads", "the model's");
  own_count(v, "num_key_value_heads", o.num_key_value_heads, "KV heads", "the model's");
  own_count(v, "head_dim", o.head_dim, "size of a head's query and key", "the model's");
  own_count(v, "value_head_dim", o.value_head_dim, "size of a head's value", "head_dim");
  v.field("keys_are_values", o.keys_are_values, {.meaning = "keys and values are one tensor"});
  bool given = o.kv_bytes_per_element > 0;
  v.number("kv_bytes_per_element", o.kv_bytes_per_element, &given,
           {.meaning = "size of an element of the KV cache",
            .unit = "bytes",
            .min = 0.125,
            .max = 8,
            .absent = "the model's"});
  if (!given) o.kv_bytes_per_element = 0;
  v.field("kv_bytes_per_token", o.kv_bytes_per_token,
          {.meaning = "KV cache of one layer, for formats that store more than the elements",
           .unit = "bytes",
           .min = 1,
           .max = 1e9,
           .absent = "from the number of elements"});
  v.field("latent", o.latent, {.meaning = "latent attention", .absent = "the model's"});
  v.field("indexer", o.indexer,
          {.meaning = "sparse attention: an indexer selects the tokens that a query attends to",
           .absent = "none"});
  v.field("recurrent", o.recurrent, {.meaning = "state of a recurrent layer", .absent = "none"});
}

void describe(FieldVisitor& v, ModelSpec& model) {
  ModelFile file = file_of(model);
  ModelSpec& o = file.model;
  v.schema(kModelSchema, false);
  v.field("name", o.name, {.meaning = "name in results"});
  v.field("num_hidden_layers", o.num_hidden_layers, required_count("transformer layers"));
  v.field("hidden_size", o.hidden_size, required_count("size of a hidden state"));
  v.field("num_attention_heads", o.num_attention_heads, required_count("query heads"));
  v.field("num_key_value_heads", file.key_value_heads,
          {.meaning = "KV heads", .min = 1, .max = kMaxCount, .absent = "num_attention_heads"});
  v.field("head_dim", file.head_dim,
          {.meaning = "size of one head",
           .min = 1,
           .max = kMaxCount,
           .absent = "hidden_size / num_attention_heads"});
  v.field("intermediate_size", o.intermediate_size, required_count("FFN width"));
  v.field("vocab_size", o.vocab_size,
          {.meaning = "size of the vocabulary", .min = 1, .max = 1e8, .required = true});
  v.field(
      "max_position_embeddings", o.max_position_embeddings,
      {.meaning = "longest supported sequence", .unit = "tokens", .min = 1, .max = 1e9, .required = true});
  v.field(
      "sampling", o.sampling,
      {.meaning = "sampling recommended by the publisher (generation_config.json)", .absent = "no filter"});
  v.field("torch_dtype", o.torch_dtype, {.meaning = "number format of the weights", .allowed = kDtypeNames});
  v.field("ffn", o.ffn, {.meaning = "gated: three matrices; plain: two"});
  v.field("position_encoding", o.position_encoding, {.meaning = "position encoding"});
  v.field("qk_norm", o.qk_norm, {.meaning = "normalisation of queries and keys: per head or over all heads"});
  v.field("tie_word_embeddings", o.tie_word_embeddings,
          {.meaning = "embedding and output projection share one matrix"});
  v.field("attention_output_gate", o.attention_output_gate,
          {.meaning = "attention output has a gate, a second projection of the query's size"});
  v.field("weight_bytes_per_element", file.weight_bytes, element_bytes("size of a weight", kByDtype));
  v.field(
      "weight_block_size", o.weight_block_size,
      {.meaning = "side of the square blocks of weights that share a scale; 0: none. Tensor parallelism must "
                  "not cut a block",
       .min = 0,
       .max = 4096});
  v.field("kv_bytes_per_element", file.kv_bytes,
          element_bytes("size of an element of the KV cache", kByDtype));
  v.field("hidden_bytes_per_element", file.hidden_bytes,
          element_bytes("size of an element of a hidden state", kByDtype));
  v.field("activation_bytes_per_element", o.activation_bytes_per_element,
          element_bytes("size of a GEMM's input element; 1 for FP8 arithmetic", "hidden_bytes_per_element"));
  v.field("attention_weight_bytes_per_element", o.attention_weight_bytes_per_element,
          element_bytes("size of a weight of attention and recurrent layers", "weight_bytes_per_element"));
  v.field("attention_activation_bytes_per_element", o.attention_activation_bytes_per_element,
          element_bytes("size of an input element of the GEMMs of attention and recurrent layers",
                        "activation_bytes_per_element"));
  v.field("embedding_bytes_per_element", o.embedding_bytes_per_element,
          element_bytes("size of a weight of the embedding and the output projection",
                        "weight_bytes_per_element"));
  v.field("output_bytes_per_element", o.output_bytes_per_element,
          element_bytes("size of a weight of the output projection", "embedding_bytes_per_element"));
  v.field("vision_parameters", o.vision_parameters,
          {.meaning = "parameters of the vision tower and its projector, in 16 bits; text does not use them",
           .min = 0,
           .max = 1e12});
  v.field(
      "draft_layers", o.draft_layers,
      {.meaning = "layers for multi-token prediction in the checkpoint; loaded only for speculative decoding",
       .min = 0,
       .max = 100});
  v.field("uncounted_weight_bytes", o.uncounted_weight_bytes,
          {.meaning = "size of the checkpoint minus the size computed from shapes and formats",
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
          {.meaning = "latent attention: latent size of queries; 0: queries have no latent",
           .min = 0,
           .max = kMaxCount});
  v.field("qk_rope_head_dim", file.latent.qk_rope_head_dim,
          count("latent attention: key dimensions with rotary position"));
  v.field("qk_nope_head_dim", file.latent.qk_nope_head_dim,
          count("latent attention: key dimensions without position, per head"));
  v.field("v_head_dim", file.latent.v_head_dim, count("latent attention: value dimensions per head"));
  v.field("layer_groups", o.layer_groups,
          {.meaning = "groups of layers with different attention or state; empty: all layers are alike"});
  v.field("feed_forward_layers", o.ffn_layers,
          {.meaning = "layers with an FFN", .min = 0, .max = kMaxCount, .absent = "num_hidden_layers"});
  v.field(
      "hugging_face", o.hugging_face,
      {.meaning = "names on Hugging Face of models with this shape and weight format, separated by spaces"});
  v.field("source", o.source, {.meaning = "source of the shape"});
  model = model_of(file);
}

}  // namespace kvcap
