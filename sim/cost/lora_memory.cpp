#include "cost/lora_memory.h"

#include <algorithm>

#include "cost/layer_shapes.h"

namespace kvcap {
namespace {

double outputs_and_inputs(const std::vector<GemmShape>& gemms) {
  double sum = 0;
  for (const GemmShape& gemm : gemms) sum += static_cast<double>(gemm.n + gemm.k);
  return sum;
}

// Returns the adapter inputs in addition to one set per GEMM: queries, keys and values are merged in one
// GEMM, but each has an adapter with inputs of its own.
double merged_attention_inputs(const ModelSpec& model) {
  int64_t inputs = 0;
  for (const LayerGroup& group : model.groups()) {
    if (group.recurrent || group.latent) continue;
    inputs += group.layers * (group.keys_are_values ? 1 : 2);
  }
  return static_cast<double>(inputs * model.hidden_size);
}

}  // namespace

double lora_bytes(const ModelSpec& model, int64_t tensor_parallel_size, const ExpertPlacement& placement,
                  const LoraSlots& slots) {
  if (slots.count == 0) return 0;
  double elements = merged_attention_inputs(model);
  const auto hidden = static_cast<double>(model.hidden_size);
  const double gates = model.ffn == FfnKind::gated ? 1 : 0;
  for (const LayerKind& kind : layer_shapes(model, tensor_parallel_size, placement).kinds) {
    const auto layers = static_cast<double>(kind.layers);
    elements += layers * (outputs_and_inputs(kind.mixer_gemms) + outputs_and_inputs(kind.gemms));
    if (!kind.experts) {
      if (!kind.gemms.empty()) elements += layers * gates * hidden;
      continue;
    }
    if (model.experts->shared > 0) elements += layers * gates * hidden;
    const RoutedExperts& routed = *kind.experts;
    const double here = routed.count / static_cast<double>(routed.gpus);
    elements += layers * here *
                (outputs_and_inputs(routed.gemms) + gates * static_cast<double>(routed.gemms.front().k));
  }
  return static_cast<double>(slots.count * slots.rank) * elements * model.hidden_bytes_per_element;
}

}  // namespace kvcap
