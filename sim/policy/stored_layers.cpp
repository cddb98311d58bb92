#include "policy/stored_layers.h"

namespace kvcap {
namespace {

constexpr double kGroupElements = 64;
constexpr double kGroupBits = 16 + 16;  // scale and zero point

// How often the ranks of a group hold one token's KV, all together.
double copies_of_kv(const CostModel& cost) {
  const int64_t ranks = cost.tensor_parallel_size();
  const ModelSpec& model = cost.model();
  if (model.latent) return static_cast<double>(ranks);
  const int64_t heads = model.num_key_value_heads;
  return static_cast<double>(ranks * ((heads + ranks - 1) / ranks)) / static_cast<double>(heads);
}

}  // namespace

int64_t total_tokens(std::span<const Hit> hits) {
  int64_t tokens = 0;
  for (const Hit& hit : hits) tokens += hit.tokens;
  return tokens;
}

StoredLayers::StoredLayers(const CostModel& cost, int64_t bits, bool once)
    : cost_(cost),
      bits_(bits),
      hidden_(form(static_cast<double>(cost.model().hidden_size), cost.model().hidden_bytes_per_element)),
      kv_(form(
          (once ? 1 : copies_of_kv(cost)) * static_cast<double>(cost.model().kv_elements_per_token_layer()),
          cost.model().kv_bytes_per_element)) {}

StoredLayers::Form StoredLayers::form(double elements, double bytes_per_element) const {
  const double model_bytes = elements * bytes_per_element;
  const auto bits = static_cast<double>(bits_);
  if (bits >= 16 || bits >= 8 * bytes_per_element) return {model_bytes, model_bytes};
  return {model_bytes, elements * (bits + kGroupBits / kGroupElements) / 8};
}

double StoredLayers::expand_s(const Form& form, int64_t tokens) const {
  if (!form.quantised()) return 0;
  return cost_.elementwise_s(static_cast<double>(tokens) * (form.stored_bytes + form.model_bytes));
}

LayerWork StoredLayers::loaded(int64_t layers, LayerForm form, double bytes_per_token,
                               std::span<const Hit> hits, PieceShape pieces) {
  LayerWork work{.layers = layers, .form = form};
  for (const Hit& hit : hits) {
    work.load_bytes[index(hit.tier)] += static_cast<double>(hit.tokens) * bytes_per_token;
    work.load_requests[index(hit.tier)] += pieces.per_layer(hit.tokens);
  }
  return work;
}

LayerWork StoredLayers::hidden(int64_t layers, std::span<const Hit> hits) const {
  const int64_t tokens = total_tokens(hits);
  LayerWork work = loaded(layers, LayerForm::hidden, hidden_.stored_bytes, hits, {});
  work.compute_s = expand_hidden_s(tokens) + cost_.project_kv_layer_s(tokens);
  work.projected_tokens = tokens;
  return work;
}

LayerWork StoredLayers::kv(int64_t layers, std::span<const Hit> hits, PieceShape pieces) const {
  LayerWork work = loaded(layers, LayerForm::kv, kv_.stored_bytes, hits, pieces);
  work.compute_s = expand_kv_s(total_tokens(hits));
  return work;
}

std::string StoredLayers::quality_note(bool keeps_hidden, bool keeps_kv) const {
  std::string note;
  const std::string bits = std::to_string(bits_);
  if (keeps_kv && kv_.quantised()) {
    note =
        "KV is stored in " + bits +
        " bits, which changes answers: FlexGen (ICML '23) reports negligible loss at 4 bits in groups, "
        "KVQuant (NeurIPS '24) less than 0.1 of perplexity at 3 with finer methods, CacheGen (SIGCOMM '24) "
        "negligible loss at 3.5 to 4.3 times fewer bytes; here nothing is measured";
  }
  if (keeps_hidden && hidden_.quantised()) {
    note += (note.empty() ? "hidden" : ". Hidden") + std::string(" states are stored in ") + bits +
            " bits, which changes answers: no evaluation of restoring from them is known; activations have "
            "outlier channels that 8 bits bear only when treated apart or smoothed (LLM.int8(), NeurIPS '22; "
            "SmoothQuant, ICML '23)" +
            (bits_ < 8 ? ", and 4 bits are beyond both" : "");
  }
  return note;
}

}  // namespace kvcap
