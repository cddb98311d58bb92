#include "calibration/models.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/embedded.h"
#include "cost/layer_shapes.h"

namespace kvcap::calibration {
namespace {

constexpr int64_t kMaxRows = 16384;
constexpr int64_t kMaxHeadRows = 512;  // most sequences that decode concurrently

std::optional<Experts> experts_of(const nlohmann::json& file) {
  if (!file.contains("experts") || file["experts"].is_null()) return std::nullopt;
  const nlohmann::json& json = file["experts"];
  Experts experts{json.at("count"), json.at("active"), json.value("shared", int64_t{0}),
                  json.at("intermediate_size"), json.value("dense_layers", int64_t{0})};
  experts.shared_intermediate_size = json.value("shared_intermediate_size", int64_t{0});
  experts.hidden_size = json.value("hidden_size", int64_t{0});
  return experts;
}

std::optional<LatentAttention> latent_of(const nlohmann::json& file) {
  if (!file.contains("kv_lora_rank") || file["kv_lora_rank"].is_null()) return std::nullopt;
  LatentAttention latent;
  latent.kv_lora_rank = file["kv_lora_rank"];
  latent.q_lora_rank = file.value("q_lora_rank", latent.q_lora_rank);
  latent.qk_rope_head_dim = file.value("qk_rope_head_dim", latent.qk_rope_head_dim);
  latent.qk_nope_head_dim = file.value("qk_nope_head_dim", latent.qk_nope_head_dim);
  latent.v_head_dim = file.value("v_head_dim", latent.v_head_dim);
  return latent;
}

AttentionKind kind_of(const std::string& name) {
  static const std::map<std::string, AttentionKind> kinds = {{"sliding", AttentionKind::sliding},
                                                             {"chunked", AttentionKind::chunked},
                                                             {"latent", AttentionKind::latent},
                                                             {"recurrent", AttentionKind::recurrent}};
  const auto found = kinds.find(name);
  return found == kinds.end() ? AttentionKind::full : found->second;
}

RecurrentState state_of(const nlohmann::json& json) {
  RecurrentState state;
  const auto number = [&](const char* key, int64_t& value) { value = json.value(key, value); };
  number("heads", state.heads);
  number("head_dim", state.head_dim);
  number("state_size", state.state_size);
  number("groups", state.groups);
  number("conv_kernel", state.conv_kernel);
  number("dt_rank", state.dt_rank);
  return state;
}

// Reads the fields that determine GEMM shapes; an indexer adds shapes of its own.
LayerGroup group_of(const nlohmann::json& json) {
  LayerGroup group{.layers = json.at("layers"), .attention = kind_of(json.value("attention", "full"))};
  const auto number = [&](const char* key, int64_t& value) { value = json.value(key, value); };
  number("window_tokens", group.window_tokens);
  number("num_attention_heads", group.num_attention_heads);
  number("num_key_value_heads", group.num_key_value_heads);
  number("head_dim", group.head_dim);
  number("value_head_dim", group.value_head_dim);
  group.keys_are_values = json.value("keys_are_values", false);
  if (json.contains("latent")) group.latent = latent_of(json["latent"]);
  if (json.contains("recurrent")) group.recurrent = state_of(json["recurrent"]);
  if (json.contains("indexer")) {
    const nlohmann::json& from = json["indexer"];
    Indexer indexer;
    indexer.layers = from.value("layers", indexer.layers);
    indexer.heads = from.value("heads", indexer.heads);
    indexer.head_dim = from.value("head_dim", indexer.head_dim);
    indexer.top_k = from.value("top_k", indexer.top_k);
    group.indexer = indexer;
  }
  return group;
}

void add(std::map<std::pair<int64_t, int64_t>, int64_t>* rows, GemmShape shape, int64_t max_rows) {
  int64_t& most = (*rows)[{shape.n, shape.k}];
  most = std::max(most, max_rows);
}

ModelSpec llama_like(const std::string& name, int64_t layers, int64_t hidden, int64_t intermediate) {
  ModelSpec model;
  model.name = name;
  model.num_hidden_layers = layers;
  model.hidden_size = hidden;
  model.head_dim = hidden >= 1024 ? 128 : 64;
  model.num_attention_heads = model.num_key_value_heads = hidden / model.head_dim;
  model.intermediate_size = intermediate;
  model.vocab_size = hidden >= 1024 ? 8192 : 512;
  model.max_position_embeddings = 16384;
  return model;
}

}  // namespace

ModelSpec read_model(std::string_view json) {
  const nlohmann::json file = nlohmann::json::parse(json);
  ModelSpec model;
  model.name = file.value("name", "");
  model.num_hidden_layers = file.at("num_hidden_layers");
  model.hidden_size = file.at("hidden_size");
  model.num_attention_heads = file.at("num_attention_heads");
  model.num_key_value_heads = file.value("num_key_value_heads", model.num_attention_heads);
  model.head_dim = file.value("head_dim", model.hidden_size / model.num_attention_heads);
  model.intermediate_size = file.at("intermediate_size");
  model.vocab_size = file.at("vocab_size");
  model.attention_output_gate = file.value("attention_output_gate", false);
  model.ffn = file.value("ffn", "gated") == "plain" ? FfnKind::plain : FfnKind::gated;
  model.experts = experts_of(file);
  model.latent = latent_of(file);
  for (const nlohmann::json& group : file.value("layer_groups", nlohmann::json::array())) {
    model.layer_groups.push_back(group_of(group));
  }
  if (file.contains("feed_forward_layers")) model.ffn_layers = file["feed_forward_layers"];
  return model;
}

std::vector<ModelSpec> catalogue_models() {
  std::vector<ModelSpec> models;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.starts_with("models/") && file.path.ends_with(".json"))
      models.push_back(read_model(file.text));
  }
  return models;
}

ModelSpec toy_model() { return llama_like("twin-256", 4, 256, 704); }

std::vector<ModelSpec> cpu_models() {
  return {llama_like("twin-1024", 8, 1024, 2816), llama_like("twin-2048", 8, 2048, 5632)};
}

std::vector<MeasuredShape> gemm_shapes(const std::vector<ModelSpec>& models, bool split_over_gpus) {
  std::map<std::pair<int64_t, int64_t>, int64_t> rows;  // by (n, k)
  for (const ModelSpec& model : models) {
    for (const int64_t t : {1, 2, 4, 8}) {
      if (model.num_attention_heads % t != 0 || (t > 1 && !split_over_gpus)) continue;
      const LayerShapes shapes = layer_shapes(model, t);
      for (const LayerKind& kind : shapes.kinds) {
        for (const GemmShape& shape : kind.gemms) add(&rows, shape, kMaxRows);
        if (!kind.experts) continue;
        for (const GemmShape& shape : kind.experts->gemms) add(&rows, shape, kMaxRows);
      }
      add(&rows, shapes.kv_projection, kMaxRows);
      for (const MixerShape& mixer : shapes.mixers) {
        if (mixer.latent_expansion) add(&rows, *mixer.latent_expansion, kMaxRows);
      }
      add(&rows, {divide_up(model.vocab_size, t), model.hidden_size}, kMaxHeadRows);
    }
  }
  std::vector<MeasuredShape> list;
  for (const auto& [shape, most] : rows) list.push_back({{shape.first, shape.second}, most});
  std::stable_sort(list.begin(), list.end(), [](const MeasuredShape& a, const MeasuredShape& b) {
    return a.shape.n * a.shape.k < b.shape.n * b.shape.k;
  });
  return list;
}

std::vector<int64_t> staircase_rows() {
  std::vector<int64_t> rows = {1, 2, 4, 8, 16, 32, 48, 64, 72, 96, 128, 136, 160};
  for (int64_t step = 192; step <= 512; step += 64) {
    rows.push_back(step);
    rows.push_back(step + 8);
  }
  for (int64_t step = 640; step <= 1024; step += 128) {
    rows.push_back(step);
    rows.push_back(step + 8);
  }
  for (const int64_t step :
       {1152, 1280, 1536, 1792, 2048, 2056, 2560, 3072, 4096, 6144, 8192, 12288, 16384}) {
    rows.push_back(step);
  }
  return rows;
}

}  // namespace kvcap::calibration
