// How the modules of a Hugging Face checkpoint are stored: which of them a quantization_config names, and in
// what format. Private to scenario/.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scenario/hugging_face/hf_config.h"

namespace kvcap {

// Bytes of an element; no weight: 16 bits; no activation: what enters is not quantised.
struct Stored {
  std::optional<double> weight, activation;
};

// "layers.3.mlp.up_proj" of "model.language_model.layers.3.mlp.up_proj".
std::string canonical_module(std::string_view name);

// Module names as lists of modules write them: a name, which stands for all below it and may leave out what
// is above; a pattern with *; "re:" and a regular expression.
class Modules {
 public:
  // Throws InputError, which calls the list `place`.
  void add(const std::string& name, const std::string& place);
  // Likewise all of the first of these lists that is there.
  void add_listed(const HfConfig& config, std::initializer_list<std::string_view> keys);
  // `module`: "layers.3.mlp.up_proj", or "lm_head".
  bool have(const std::string& module) const;

 private:
  using ByLayer = std::unordered_map<std::string, std::vector<std::string>>;

  struct Expression {
    std::regex expression;
    bool may_tell_layers = false;  // else what it says of one layer's module it says of all
    mutable std::unordered_map<std::string, bool> answers = {};
  };

  std::vector<Expression> expressions_;
  ByLayer globs_, names_;
};

// What a quantization_config comes to: how each module is stored.
struct Quantisation {
  struct Group {
    Modules modules;
    Stored stored;
  };

  Modules ignored;                                     // stay in 16 bits
  std::vector<Group> groups;                           // the first that has a module
  std::optional<Stored> others;                        // what no group has; none: 16 bits
  bool takes_output = false;                           // the output projection is a module like others
  double kv_bytes = 0;                                 // 0: not quantised
  std::unordered_map<std::string, Stored> named = {};  // modules by their whole names

  Stored of(const std::string& module) const;
};

// Writes the mean bytes of a weight, and what enters its GEMMs, of attention, FFNs and routed experts into
// the model file (hugging_face_weights.cpp).
void write_weight_formats(const Quantisation& quantisation, const std::vector<Mixer>& mixers,
                          const std::vector<LayerFfn>& ffns, Json& model);

}  // namespace kvcap
