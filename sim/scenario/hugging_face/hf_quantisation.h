// Quantisation: the storage format of each module of a Hugging Face checkpoint, from its quantization_config.
// Private to scenario/.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scenario/hugging_face/hf_config.h"

namespace kvcap {

// Bytes per element. Without `weight`, weights have 16 bits; without `activation`, GEMM inputs are not
// quantised.
struct Stored {
  std::optional<double> weight, activation;
};

// Returns "layers.3.mlp.up_proj" for "model.language_model.layers.3.mlp.up_proj".
std::string canonical_module(std::string_view name);

// A set of modules, given by entries of lists of module names. An entry is
// - a name, which may omit its parents and stands for all modules below it, too;
// - a pattern with *;
// - "re:" followed by a regular expression.
class Modules {
 public:
  // Adds an entry. Throws InputError, which names the list `place`.
  void add(const std::string& name, const std::string& place);
  // Adds all entries of the list under the first of `keys` that the config has. Throws InputError.
  void add_listed(const HfConfig& config, std::initializer_list<std::string_view> keys);
  // True iff the set contains `module`: "layers.3.mlp.up_proj", or "lm_head".
  bool have(const std::string& module) const;

 private:
  using ByLayer = std::unordered_map<std::string, std::vector<std::string>>;

  struct Expression {
    std::regex expression;
    bool may_tell_layers = false;  // false: the result for one layer applies to all
    mutable std::unordered_map<std::string, bool> answers = {};
  };

  std::vector<Expression> expressions_;
  ByLayer globs_, names_;
};

// Storage formats according to a quantization_config.
struct Quantisation {
  struct Group {
    Modules modules;
    Stored stored;
  };

  Modules ignored;               // modules in 16 bits
  std::vector<Group> groups;     // the first group that contains a module gives its format
  std::optional<Stored> others;  // format of modules outside all groups; absent: 16 bits
  bool takes_output = false;     // the formats apply to the output projection, too
  double kv_bytes = 0;           // 0: not quantised
  int64_t block = 0;             // side of the square blocks that share a scale; 0: none
  std::unordered_map<std::string, Stored> named = {};  // formats by full module name

  Stored of(const std::string& module) const;
};

// Writes the bytes per weight (mean) and per GEMM input (of the predominant format) of attention, FFNs and
// routed experts into the model file (hugging_face_weights.cpp).
void write_weight_formats(const Quantisation& quantisation, const std::vector<Mixer>& mixers,
                          const std::vector<LayerFfn>& ffns, Json& model);

}  // namespace kvcap
