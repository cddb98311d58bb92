// The fields of a model.
#include <algorithm>

#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

namespace {

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

}  // namespace

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

}  // namespace kvcap
