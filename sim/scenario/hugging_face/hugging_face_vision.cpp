// How large the vision tower of a multimodal model is: an encoder of images that engines load beside the text
// model, and that text does not pass.
#include <string>

#include "scenario/hugging_face/hf_config.h"

namespace kvcap {
namespace {

bool is_gated(const std::string& type) {
  for (const char* gated : {"pixtral", "qwen2_5_vl", "glm4v", "glm4v_moe"}) {
    if (type.starts_with(gated)) return true;
  }
  return false;
}

}  // namespace

double vision_parameters_of(const Json& json, int64_t text_hidden_size, const std::string& model_type) {
  if (!json.is_object()) return 0;
  const HfConfig config(json, "vision_config");
  const auto number = [&](std::initializer_list<std::string_view> keys, int64_t otherwise) {
    const Json* found = config.find(keys);
    const bool is_count = found && found->is_number_integer() && *found > 0 && *found < 1'000'000;
    return static_cast<double>(is_count ? found->get<int64_t>() : otherwise);
  };
  const double layers = number({"depth", "num_hidden_layers", "vt_num_hidden_layers", "layers"}, 0);
  const double width = number({"vt_hidden_size", "embed_dim", "hidden_size", "width"}, 0);
  if (layers == 0 || width == 0) return 0;
  const std::string type = config.has("model_type") ? config.text("model_type") : model_type;
  // GLM's towers are as wide as what they end in, and intermediate_size is their projector's.
  const bool is_glm = type.starts_with("glm4v");
  const double inner =
      is_glm ? number({"out_hidden_size"}, static_cast<int64_t>(4 * width))
             : number({"vt_intermediate_size", "intermediate_size"}, static_cast<int64_t>(4 * width));
  const double matrices = is_gated(type) ? 3 : 2;
  const double patch = number({"patch_size"}, 14);
  const double frames = number({"temporal_patch_size"}, 1);
  const double positions = number({"num_position_embeddings", "position_embedding_size"}, 0);
  const double embedding = width * (3 * frames * patch * patch + positions);
  // The projector joins merge x merge patches; deep stacks have one at each of their depths, too.
  const double merged = width * number({"spatial_merge_size"}, 1) * number({"spatial_merge_size"}, 1);
  const auto out = static_cast<double>(text_hidden_size);
  const Json* depths = config.find({"deepstack_visual_indexes"});
  const double projectors = 1 + (depths && depths->is_array() ? static_cast<double>(depths->size()) : 0);
  if (is_glm) {
    const double wide = number({"intermediate_size"}, static_cast<int64_t>(4 * width));
    return layers * (4 * width * width + matrices * width * inner) + embedding + merged * out +
           3 * out * wide;
  }
  return layers * (4 * width * width + matrices * width * inner) + embedding +
         projectors * (merged * merged + merged * out);
}

}  // namespace kvcap
