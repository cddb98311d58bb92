#include "launch/state_formats.h"

#include <algorithm>

namespace kvcap {

std::string of_group(std::string_view field, std::size_t group) {
  constexpr std::string_view kPrefix = "model.layer_groups.";
  std::string path(kPrefix);
  path += std::to_string(group);
  return path.append(field.substr(field.find('.', kPrefix.size())));
}

// vLLM: vllm/model_executor/layers/mamba/mamba_utils.py@02d7108. With auto, a state has the format of the
// convolution's inputs, unless the checkpoint names another, which is wider. SGLang
// (sglang/srt/configs/mamba_utils.py) keeps 32 bits by itself.
RecurrentState with_formats(RecurrentState own, const ModelSpec& model, Stack engine,
                            const StateFlags& flags) {
  constexpr double kFloat32 = 4;
  if (flags.conv) own.conv_bytes_per_element = *flags.conv;
  // Gated convolutions keep no state but their inputs (LFM2).
  if (own.state_size == 1) return own;
  if (engine == Stack::sglang) own.state_bytes_per_element = kFloat32;
  if (flags.conv) own.state_bytes_per_element = std::max(own.state_bytes_per_element, *flags.conv);
  // The format of the convolution is that of lightning attention's states, too. Kimi's delta attention always
  // keeps 32 bits.
  const bool is_lightning = own.conv_kernel == 1, is_kimi = model.latent.has_value();
  if (flags.state && !is_lightning && !is_kimi) own.state_bytes_per_element = *flags.state;
  return own;
}

}  // namespace kvcap
