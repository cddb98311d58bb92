// HfConfig: reads a Hugging Face config.json by key, with the defaults of its family. It records the keys
// that were read, so that unknown keys can be reported. Private to scenario/.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenario/json.h"
#include "spec/model_spec.h"

namespace kvcap {

class HfConfig {
 public:
  // `json` must outlive the object. `place`: name of the file in messages.
  HfConfig(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}
  // Adds the defaults of the family's configuration class for missing keys.
  void add_defaults(std::string_view json_text) { defaults_ = Json::parse(json_text); }

  const std::string& place() const { return place_; }
  const Json& json() const { return json_; }

  // Returns the value of the first of these keys that has one, searching the file and then the defaults; null
  // if no key has a value.
  const Json* find(std::initializer_list<std::string_view> keys) const;
  bool has(std::string_view key) const { return find({key}) != nullptr; }
  bool is_true(std::string_view key) const;
  int64_t integer(std::initializer_list<std::string_view> keys, int64_t otherwise) const;
  int64_t required(std::initializer_list<std::string_view> keys) const;
  // Returns an integer of at least 1.
  int64_t positive(std::initializer_list<std::string_view> keys) const;
  std::string text(std::string_view key) const;
  // Returns an empty list if the key is missing. Throws InputError unless the list has `expected` strings.
  std::vector<std::string> texts(std::string_view key, int64_t expected) const;
  std::vector<int64_t> integers(std::string_view key) const;
  const Json* object(std::string_view key) const;

  [[noreturn]] void fail(std::string_view key, const std::string& found, const std::string& allowed) const;
  // Returns the keys with a value that were not read.
  std::vector<std::string> unread() const;

 private:
  const Json& json_;
  std::string place_;
  Json defaults_ = Json::object();
  mutable std::set<std::string, std::less<>> read_;
};

// ---- parts of the reader, each in a file of its own ----

// Layers of a family whose config.json has no layer_types (hugging_face_layers.cpp).
enum class LayerRule : uint8_t {
  uniform,           // full attention in all layers, or latent attention in all
  sliding,           // all sliding if sliding_window has a value (Mistral, Phi-3)
  optional_sliding,  // Qwen2: layers from max_window_layers on, if use_sliding_window is set
  alternating,       // sliding, full, sliding, ... (Gemma 2, gpt-oss)
  pattern,           // every sliding_window_pattern-th layer is full (Gemma 3, Cohere 2)
  letters,           // sliding_window_pattern is a repeated text of L (sliding) and G (full) (EXAONE 4)
  gemma4,            // requires layer_types; full layers have heads of their own
  llama4,            // chunked, except layers without rotary positions
  interval,          // gated delta rule; every full_attention_interval-th layer is full (Qwen3-Next)
  nemotron_h,        // hybrid_override_pattern, or layers_block_type
  nemotron_nas,      // block_configs: KV heads and the FFN's width of each layer
  jamba,             // attn_layer_period and attn_layer_offset
  granite,           // layer_types: mamba, attention
  kimi_linear,       // linear_attn_config
  minimax,           // attn_type_list: 0 linear, 1 full
  mimo,              // hybrid_layer_pattern: 1 sliding, with heads of their own (swa_*)
  step3p5,           // layer_types; sliding layers have heads of their own (attention_other_setting)
  falcon_h1,         // attention and Mamba-2 in parallel in every layer
  lfm2,              // layer_types: conv, full_attention; or full_attn_idxs
};

// How a layer mixes tokens, and the kind of its FFN.
enum class Mixer : uint8_t { none, full, sliding, chunked, recurrent };
enum class LayerFfn : uint8_t { none, dense, sparse };

// Return one entry per layer, in order. Families that count an FFN as a separate layer have Mixer::none
// there.
std::vector<Mixer> mixers_of(const HfConfig& config, LayerRule rule, int64_t layers);
std::vector<LayerFfn> ffns_of(const HfConfig& config, LayerRule rule, int64_t layers);

// Adds layer_groups to the model file, and feed_forward_layers if some layers have no FFN.
void add_layer_groups(const HfConfig& config, LayerRule rule, const std::vector<Mixer>& mixers, Json& model);

// Adds `experts`, and intermediate_size if dense layers have a different one (hugging_face_experts.cpp).
void add_experts(const HfConfig& config, LayerRule rule, const std::vector<LayerFfn>& ffns, Json& model);

// Returns the number of parameters of a second kind of experts, which process images but not text (ERNIE 4.5
// VL).
double image_expert_parameters(const HfConfig& config, const std::vector<LayerFfn>& ffns);

// Adds the bytes per element of the weights of each class of layers, of GEMM inputs, and of KV
// (hugging_face_quantisation.cpp).
void add_quantisation(const HfConfig& config, const std::vector<Mixer>& mixers,
                      const std::vector<LayerFfn>& ffns, Json& model);

// Returns the number of parameters of the vision tower and the projector that vision_config describes; 0
// without a tower (hugging_face_vision.cpp). `text_hidden_size`: output width of the projector. `model_type`:
// type of the whole model, used if the tower has none.
double vision_parameters_of(const Json& config, int64_t text_hidden_size, const std::string& model_type);

// ---- families (hugging_face_families.cpp) ----

struct HfFamily {
  std::string_view model_type;
  std::string_view architecture;  // beginning of the entry in "architectures"
  FfnKind ffn = FfnKind::gated;
  PositionEncoding position_encoding = PositionEncoding::rope;
  bool ties_embeddings = false;  // used if the config does not set it
  LayerRule layers = LayerRule::uniform;
  // Defaults of the family's configuration class in transformers, for missing keys.
  std::string_view defaults = "{}";
};

// Returns the defaults of the text model's class in transformers, for missing keys of a multimodal file's
// text_config.
std::string_view class_defaults(const HfFamily& family);

// Returns the family. Throws InputError for an unknown family, and with the reason for a known family that
// cannot be simulated.
const HfFamily& family_of(const HfConfig& config);

// True iff the key changes neither the size of a context nor the time of a step.
bool is_harmless_key(std::string_view key);
// True iff the name of an unknown key suggests that it changes sizes, state or times.
bool may_change_sizes(std::string_view key);

// Returns one letter per layer of Nemotron-H: M Mamba-2, * attention, - FFN, E experts.
std::string nemotron_pattern(const HfConfig& config);

}  // namespace kvcap
