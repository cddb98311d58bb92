// A Hugging Face config.json as its reader asks it: by key, with the defaults of its family. It remembers
// which keys were asked for, so that what nobody understands can be told. Private to scenario/.
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
  // `json` outlives it. `place`: how messages name the file.
  HfConfig(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}
  // What the family's configuration class has where the file is silent.
  void add_defaults(std::string_view json_text) { defaults_ = Json::parse(json_text); }

  const std::string& place() const { return place_; }
  const Json& json() const { return json_; }

  // The first of these keys that has a value; null when none has. Then the same among the defaults.
  const Json* find(std::initializer_list<std::string_view> keys) const;
  bool has(std::string_view key) const { return find({key}) != nullptr; }
  bool is_true(std::string_view key) const;
  int64_t integer(std::initializer_list<std::string_view> keys, int64_t otherwise) const;
  int64_t required(std::initializer_list<std::string_view> keys) const;
  // At least 1.
  int64_t positive(std::initializer_list<std::string_view> keys) const;
  std::string text(std::string_view key) const;
  // Empty when there is none; anything but a list of `expected` entries is an error.
  std::vector<std::string> texts(std::string_view key, int64_t expected) const;
  std::vector<int64_t> integers(std::string_view key) const;
  const Json* object(std::string_view key) const;

  [[noreturn]] void fail(std::string_view key, const std::string& found, const std::string& allowed) const;
  // Keys with a value that nobody has asked for.
  std::vector<std::string> unread() const;

 private:
  const Json& json_;
  std::string place_;
  Json defaults_ = Json::object();
  mutable std::set<std::string, std::less<>> read_;
};

// ---- parts of the reader, each in a file of its own ----

// What a family's layers keep where its config.json lists no layer_types (hugging_face_layers.cpp).
enum class LayerRule : uint8_t {
  uniform,           // all alike: full, or latent
  sliding,           // all sliding where sliding_window has a value (Mistral, Phi-3)
  optional_sliding,  // Qwen2: the layers from max_window_layers on, where use_sliding_window is set
  alternating,       // sliding, full, sliding, ... (Gemma 2, gpt-oss)
  pattern,           // every sliding_window_pattern-th layer is full (Gemma 3, Cohere 2)
  letters,           // sliding_window_pattern is a text of L (sliding) and G (full), over and over (EXAONE 4)
  gemma4,            // layer_types only; full layers have heads of their own
  llama4,            // chunked but for layers without rotary positions
  interval,          // gated delta rule; every full_attention_interval-th layer is full (Qwen3-Next)
  nemotron_h,        // hybrid_override_pattern, or layers_block_type
  nemotron_nas,      // block_configs: KV heads and the FFN's width of each layer
  jamba,             // attn_layer_period and attn_layer_offset
  granite,           // layer_types: mamba, attention
  kimi_linear,       // linear_attn_config
  minimax,           // attn_type_list: 0 linear, 1 full
  mimo,              // hybrid_layer_pattern: 1 sliding, with heads of their own (swa_*)
  step3p5,           // layer_types; sliding layers have heads of their own (attention_other_setting)
  falcon_h1,         // attention and Mamba-2 beside each other in every layer
  lfm2,              // layer_types: conv, full_attention; or full_attn_idxs
};

// How one layer mixes tokens, and its FFN.
enum class Mixer : uint8_t { none, full, sliding, chunked, recurrent };
enum class LayerFfn : uint8_t { none, dense, sparse };

// Of every layer, in order. `mixers`: families that count an FFN as a layer of its own have Mixer::none
// there.
std::vector<Mixer> mixers_of(const HfConfig& config, LayerRule rule, int64_t layers);
std::vector<LayerFfn> ffns_of(const HfConfig& config, LayerRule rule, int64_t layers);

// Adds layer_groups to the model file, and feed_forward_layers where not every layer has an FFN.
void add_layer_groups(const HfConfig& config, LayerRule rule, const std::vector<Mixer>& mixers, Json& model);

// `experts`, and intermediate_size where dense layers have one of their own (hugging_face_experts.cpp).
void add_experts(const HfConfig& config, LayerRule rule, const std::vector<LayerFfn>& ffns, Json& model);

// Of a second kind of experts, which images pass and text does not (ERNIE 4.5 VL).
double image_expert_parameters(const HfConfig& config, const std::vector<LayerFfn>& ffns);

// Bytes of weights by class of layer, of what enters GEMMs, and of KV (hugging_face_quantisation.cpp).
void add_quantisation(const HfConfig& config, const std::vector<Mixer>& mixers,
                      const std::vector<LayerFfn>& ffns, Json& model);

// Parameters of the tower and the projector that vision_config describes; 0: there is none
// (hugging_face_vision.cpp). `text_hidden_size`: the width that the projector ends in; `model_type`: of the
// whole model, where the tower does not say its own.
double vision_parameters_of(const Json& config, int64_t text_hidden_size, const std::string& model_type);

// ---- families (hugging_face_families.cpp) ----

struct HfFamily {
  std::string_view model_type;
  std::string_view architecture;  // first part of the entry in "architectures"
  FfnKind ffn = FfnKind::gated;
  PositionEncoding position_encoding = PositionEncoding::rope;
  bool ties_embeddings = false;  // where the config does not say
  LayerRule layers = LayerRule::uniform;
  // What the family's configuration class in transformers has where the file is silent.
  std::string_view defaults = "{}";
};

// What its class in transformers has where a multimodal file's text_config is silent.
std::string_view class_defaults(const HfFamily& family);

// Throws InputError for an unknown family, and with the reason for one that is known and cannot be simulated.
const HfFamily& family_of(const HfConfig& config);

// Keys that change neither what a context takes nor how long a step lasts.
bool is_harmless_key(std::string_view key);
// Whether an unknown key may change sizes, state or times, by its name.
bool may_change_sizes(std::string_view key);

// A letter for each layer of Nemotron-H: M Mamba-2, * attention, - FFN, E experts.
std::string nemotron_pattern(const HfConfig& config);

}  // namespace kvcap
