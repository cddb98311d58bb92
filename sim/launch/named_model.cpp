#include "launch/named_model.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "launch/values.h"
#include "scenario/load.h"
#include "scenario/model_files.h"

namespace kvcap {
namespace {

// Models with the same shapes as another model of the catalogue.
constexpr std::pair<std::string_view, std::string_view> kAlike[] = {{"llama-3.3-70b", "llama-3.1-70b"},
                                                                    {"deepseek-r1", "deepseek-v3"}};
// max_position_embeddings of Qwen3's releases of July 2025 (Qwen/Qwen3-30B-A3B-Instruct-2507, config.json).
constexpr int64_t kPositionsOf2507 = 262144;
// Suffixes of names for training or packaging, which do not change a model's shapes.
constexpr std::string_view kEndings[] = {"-instruct", "-2507", "-chat", "-hf",         "-it",
                                         "-base",     "-bf16", "-v0.1", "-v0.2",       "-v0.3",
                                         "-thinking", "-0528", "-fp8",  "-fp8-dynamic"};

// Returns "qwen3-8b" for "Qwen/Qwen3-8B/".
std::string short_name(const std::string& written) {
  std::string name = lower_case(written);
  while (name.ends_with('/')) name.pop_back();
  name.erase(0, name.rfind('/') + 1);
  if (name.starts_with("meta-")) name.erase(0, 5);
  return name;
}

// True iff one kind of the model's weights has less than 16 bits.
bool is_quantised(const ModelSpec& model) {
  const double experts = model.experts ? model.experts->weight_bytes_per_element.value_or(2) : 2;
  return std::min({model.weight_bytes_per_element, experts,
                   model.attention_weight_bytes_per_element.value_or(2)}) < 2;
}

// Finds the catalogue's model whose name equals `written` without organisation and suffixes.
NamedModel nearest_model(const std::string& written) {
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) names.push_back(entry.name);
  const auto is_there = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string whole = short_name(written);
  std::string wanted = whole;
  // "mistral-7b-instruct-v0.1" is "mistral-7b-v0.1".
  const std::size_t tuned = wanted.find("-instruct-v");
  if (tuned != std::string::npos && is_there(wanted.substr(0, tuned) + wanted.substr(tuned + 9))) {
    return {.name = wanted.substr(0, tuned) + wanted.substr(tuned + 9)};
  }
  bool is_8bit = false, is_16bit = false;
  int64_t positions = 0;
  for (bool shorter = true; shorter;) {
    for (const auto& [name, like] : kAlike) {
      if (wanted == name) wanted = like;
    }
    if (is_8bit && is_there(wanted + "-fp8")) return {wanted + "-fp8", false, positions, ""};
    if (is_there(wanted) && !(is_16bit && is_quantised(load_model(wanted))))
      return {wanted, is_8bit, positions, ""};
    shorter = false;
    for (std::string_view ending : kEndings) {
      if (!wanted.ends_with(ending)) continue;
      wanted.resize(wanted.size() - ending.size());
      is_8bit = is_8bit || ending.starts_with("-fp8");
      is_16bit = is_16bit || ending == "-bf16";
      if (ending == "-2507") positions = kPositionsOf2507;
      shorter = true;
    }
  }
  std::string near = suggestion(wanted, names);
  if (near.empty()) near = suggestion(whole, names);
  throw InputError("--from: found model \"" + written +
                   "\", allowed: a name of kvcap show models or the path of a config.json" +
                   fetch_hint(written) + near);
}

// The maker of a quantised checkpoint decides its formats. The weights of another maker's checkpoint are
// assumed to have those of the catalogue's. Its KV cache has 16 bits, because engines quantise KV only if the
// checkpoint says so (kv_cache_scheme, kv_cache_quant_algo) or a flag does.
void take_formats(const std::string& written, NamedModel& taken) {
  const ModelSpec model = load_model(taken.name);
  if (!is_quantised(model)) return;
  const std::string maker = model.hugging_face.substr(0, model.hugging_face.find(' '));
  taken.note += ", with the weight formats of " + maker;
  taken.has_no_blocks = model.weight_block_size > 0;  // other makers scale columns or whole matrices
  taken.has_wide_kv = model.kv_bytes_per_element < 2;
  if (!taken.has_wide_kv) return;
  taken.note += "; the KV cache has 16 bits, because only that checkpoint is known to quantise it" +
                fetch_hint(written);
}

}  // namespace

NamedModel named_model(const std::string& written) {
  std::error_code ignored;
  if (std::filesystem::exists(written, ignored)) return {.name = written};
  if (const auto known = known_model(written)) {
    return {.name = std::string(*known), .note = taken_as(written, *known)};
  }
  if (cached_config(written)) return {.name = written};
  NamedModel taken = nearest_model(written);
  taken.note = written + " is not in the catalogue: " + taken.name +
               " is used, the same name without suffixes for training and packaging" +
               (taken.is_8bit ? ", with 8-bit weights" : "");
  take_formats(written, taken);
  return taken;
}

}  // namespace kvcap
