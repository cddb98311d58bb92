// A Hugging Face config.json as our model file. The families agree on the shapes and differ in the names.

#include "base/input_error.h"
#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

struct Family {
  std::string_view model_type;
  std::string_view architecture;  // first part of the entry in "architectures"
  FfnKind ffn;
  PositionEncoding position_encoding;
  bool ties_embeddings;  // where the config does not say
};

constexpr Family kFamilies[] = {
    {"llama", "Llama", FfnKind::gated, PositionEncoding::rope, false},
    {"mistral", "Mistral", FfnKind::gated, PositionEncoding::rope, false},
    {"mixtral", "Mixtral", FfnKind::gated, PositionEncoding::rope, false},
    {"qwen", "QWen", FfnKind::gated, PositionEncoding::rope, false},
    {"qwen2", "Qwen2", FfnKind::gated, PositionEncoding::rope, false},
    {"qwen2_moe", "Qwen2Moe", FfnKind::gated, PositionEncoding::rope, false},
    {"qwen3", "Qwen3", FfnKind::gated, PositionEncoding::rope, false},
    {"qwen3_moe", "Qwen3Moe", FfnKind::gated, PositionEncoding::rope, false},
    {"deepseek", "Deepseek", FfnKind::gated, PositionEncoding::rope, false},
    {"deepseek_v2", "DeepseekV2", FfnKind::gated, PositionEncoding::rope, false},
    {"deepseek_v3", "DeepseekV3", FfnKind::gated, PositionEncoding::rope, false},
    {"opt", "OPT", FfnKind::plain, PositionEncoding::absolute, true},
    {"falcon", "Falcon", FfnKind::plain, PositionEncoding::rope, true},
    {"RefinedWeb", "RW", FfnKind::plain, PositionEncoding::rope, true},
    {"RefinedWebModel", "RW", FfnKind::plain, PositionEncoding::rope, true},
};

class Config {
 public:
  Config(const Json& json, const std::string& place) : json_(json), place_(place) {}

  // The first of these keys that has a value; null when none has.
  const Json* find(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      const auto found = json_.find(key);
      if (found != json_.end() && !found->is_null()) return &*found;
    }
    return nullptr;
  }
  bool is_true(const char* key) const {
    const Json* found = find({key});
    return found && found->is_boolean() && found->get<bool>();
  }
  int64_t integer(std::initializer_list<const char*> keys, int64_t otherwise) const {
    const Json* found = find(keys);
    if (!found) return otherwise;
    if (!found->is_number_integer() || *found < 0 || *found > kMaxInteger) {
      throw InputError(place_ + ": " + *keys.begin() + ": found " + shown(*found) + ", allowed: an integer");
    }
    return found->get<int64_t>();
  }
  int64_t required(std::initializer_list<const char*> keys) const {
    if (!find(keys)) throw InputError(place_ + ": " + *keys.begin() + ": missing, required");
    return integer(keys, 0);
  }
  std::string text(const char* key) const {
    const Json* found = find({key});
    return found && found->is_string() ? found->get<std::string>() : "";
  }

 private:
  const Json& json_;
  const std::string& place_;
};

const Family& family_of(const Config& config, const std::string& place) {
  const std::string type = config.text("model_type");
  std::string architecture;
  const Json* listed = config.find({"architectures"});
  if (listed && listed->is_array() && !listed->empty() && (*listed)[0].is_string()) {
    architecture = (*listed)[0].get<std::string>();
  }
  std::vector<std::string_view> types;
  for (const Family& family : kFamilies) {
    types.push_back(family.model_type);
    if (type == family.model_type) return family;
    const bool same = architecture.starts_with(std::string(family.architecture) + "For") ||
                      architecture.starts_with(std::string(family.architecture) + "LMHead");
    if (type.empty() && same) return family;
  }
  throw InputError(place + ": model_type: found \"" + (type.empty() ? architecture : type) +
                   "\", allowed: " + joined(types) + suggestion(type, types));
}

int64_t key_value_heads(const Config& config, std::string_view type, int64_t heads) {
  const bool falcon = type == "falcon" || type.starts_with("RefinedWeb");
  if (falcon && !config.is_true("new_decoder_architecture")) {
    // Falcon-7B shares one head and lists none; Falcon-40B lists n_head_kv in its older form.
    const bool one = config.find({"multi_query"}) ? config.is_true("multi_query") : type != "RefinedWeb";
    return one ? 1 : config.integer({"n_head_kv"}, heads);
  }
  return config.integer({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, heads);
}

// DeepSeek, Qwen and Mixtral name their experts differently; null for dense models.
Json experts_of(const Config& config, int64_t dense_width) {
  const int64_t count = config.integer({"n_routed_experts", "num_local_experts", "num_experts"}, 0);
  if (count == 0) return nullptr;
  const int64_t width = config.integer({"moe_intermediate_size"}, dense_width);
  const int64_t shared_width = config.integer({"shared_expert_intermediate_size"}, 0);
  return {{"count", count},
          {"active", config.required({"num_experts_per_tok"})},
          {"shared", config.integer({"n_shared_experts"}, width > 0 ? shared_width / width : 0)},
          {"intermediate_size", width},
          {"dense_layers", config.integer({"first_k_dense_replace"}, 0)}};
}

void add_latent_attention(const Config& config, Json& model) {
  if (!config.find({"kv_lora_rank"})) return;
  const LatentAttention usual;
  const int64_t rope = config.integer({"qk_rope_head_dim"}, usual.qk_rope_head_dim);
  const int64_t nope = config.integer({"qk_nope_head_dim"}, usual.qk_nope_head_dim);
  model["kv_lora_rank"] = config.required({"kv_lora_rank"});
  model["q_lora_rank"] = config.integer({"q_lora_rank"}, 0);
  model["qk_rope_head_dim"] = rope;
  model["qk_nope_head_dim"] = nope;
  model["v_head_dim"] = config.integer({"v_head_dim"}, usual.v_head_dim);
  model["head_dim"] = rope + nope;
}

// Methods that multiply in FP8 and leave the embedding and the output projection as they are.
bool is_fp8(const std::string& method) { return method == "fp8" || method == "fbgemm_fp8"; }

// How many bytes a quantised weight takes; 0 where the config names no quantisation.
double quantised_weight_bytes(const Config& config, const std::string& place) {
  const Json* found = config.find({"quantization_config"});
  if (!found || !found->is_object()) return 0;
  const std::string at = place + ": quantization_config";
  const Config quantisation(*found, at);
  const std::string method = quantisation.text("quant_method");
  if (is_fp8(method)) return 1;
  const int64_t bits = quantisation.integer({"bits", "w_bit"}, 0);
  if (bits > 0) return static_cast<double>(bits) / 8;
  if (quantisation.is_true("load_in_8bit") || quantisation.is_true("_load_in_8bit")) return 1;
  if (quantisation.is_true("load_in_4bit") || quantisation.is_true("_load_in_4bit")) return 0.5;
  throw InputError(at + ".quant_method: found \"" + method +
                   "\", allowed: fp8, or a method with bits; or a model file with weight_bytes_per_element");
}

}  // namespace

bool is_hugging_face(const Json& object) {
  return object.is_object() && (object.contains("model_type") || object.contains("architectures"));
}

Json model_of_hugging_face(const Json& object, const std::string& name, const std::string& place) {
  const Config config(object, place);
  const Family& family = family_of(config, place);
  const int64_t hidden = config.required({"hidden_size", "n_embd"});
  const int64_t heads = config.required({"num_attention_heads", "n_head"});
  int64_t width = config.integer({"intermediate_size", "ffn_dim", "ffn_hidden_size"}, 4 * hidden);
  if (family.model_type == "qwen") width /= 2;  // Qwen 1 states gate and up together
  std::string own_name = config.text("_name_or_path");
  own_name = own_name.substr(own_name.find_last_of('/') + 1);

  Json model = Json::object();
  model["name"] = own_name.empty() ? name : own_name;
  model["num_hidden_layers"] = config.required({"num_hidden_layers", "n_layer"});
  model["hidden_size"] = hidden;
  model["num_attention_heads"] = heads;
  model["num_key_value_heads"] = key_value_heads(config, family.model_type, heads);
  if (config.find({"head_dim"})) model["head_dim"] = config.required({"head_dim"});
  model["intermediate_size"] = width;
  model["vocab_size"] = config.required({"vocab_size"});
  model["max_position_embeddings"] = config.integer({"max_position_embeddings", "seq_length"}, 2048);
  const Json* dtype = config.find({"torch_dtype", "dtype"});
  if (dtype) model["torch_dtype"] = *dtype;
  if (const double bytes = quantised_weight_bytes(config, place); bytes > 0) {
    model["weight_bytes_per_element"] = bytes;
    const Config quantisation(*config.find({"quantization_config"}), place);
    if (is_fp8(quantisation.text("quant_method"))) {
      model["activation_bytes_per_element"] = 1;
      model["embedding_bytes_per_element"] = 2;
    }
  }
  const bool alibi = config.is_true("alibi");
  const PositionEncoding position = alibi ? PositionEncoding::alibi : family.position_encoding;
  model["ffn"] = kFfnNames[static_cast<std::size_t>(family.ffn)];
  model["position_encoding"] = kPositionNames[static_cast<std::size_t>(position)];
  const bool said = config.find({"tie_word_embeddings"});
  model["tie_word_embeddings"] = said ? config.is_true("tie_word_embeddings") : family.ties_embeddings;
  const Json experts = experts_of(config, width);
  if (!experts.is_null()) model["experts"] = experts;
  add_latent_attention(config, model);
  model["source"] = "Hugging Face config.json, model_type " + std::string(family.model_type);
  return model;
}

}  // namespace kvcap
