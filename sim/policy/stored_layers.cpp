#include "policy/stored_layers.h"

#include <algorithm>
#include <cmath>

#include "policy/group_rules.h"

namespace kvcap {
namespace {

constexpr double kGroupElements = 64;
constexpr double kGroupBits = 16 + 16;  // scale and zero point

// Returns the number of copies of one token's KV that the GPUs of a group hold in total. Decode context
// parallelism divides the tokens among copies.
double copies_of_kv(const CostModel& cost, bool latent, int64_t heads) {
  const int64_t gpus = cost.tensor_parallel_size();
  const auto parts = static_cast<double>(cost.decode_context_parallel_size());
  if (latent) return static_cast<double>(gpus) / parts;
  return static_cast<double>(gpus * ((heads + gpus - 1) / gpus)) / static_cast<double>(heads) / parts;
}

// Returns the tokens between stored states, a multiple of the block size. By default, a state is stored at
// the end of each full step.
int64_t tokens_between_states(const PolicyInputs& inputs) {
  const int64_t block = std::max<int64_t>(1, inputs.block_tokens);
  if (!inputs.options.checkpoint_tokens) return std::max(block, inputs.step_tokens / block * block);
  return (*inputs.options.checkpoint_tokens + block - 1) / block * block;
}

}  // namespace

int64_t total_tokens(std::span<const Hit> hits) {
  int64_t tokens = 0;
  for (const Hit& hit : hits) tokens += hit.tokens;
  return tokens;
}

StoredLayers::StoredLayers(const PolicyInputs& inputs)
    : StoredLayers(*inputs.cost, inputs.options.stored_bits.value_or(kPolicyDefaults.stored_bits),
                   inputs.options.store_once.value_or(kPolicyDefaults.store_once),
                   tokens_between_states(inputs)) {}

StoredLayers::StoredLayers(const CostModel& cost, int64_t bits, bool once, int64_t checkpoint_tokens)
    : cost_(cost),
      bits_(bits),
      checkpoint_tokens_(checkpoint_tokens),
      hidden_(form(static_cast<double>(cost.model().hidden_size), cost.model().hidden_bytes_per_element)),
      kv_(form(
          (once ? 1 : copies_of_kv(cost, cost.model().latent.has_value(), cost.model().num_key_value_heads)) *
              static_cast<double>(cost.model().kv_elements_per_token_layer()),
          cost.model().kv_bytes_per_element)) {
  if (!cost.model().is_uniform()) groups_ = group_forms(once);
}

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

// ---- layers that differ ----

std::vector<StoredLayers::GroupForm> StoredLayers::group_forms(bool once) const {
  std::vector<GroupForm> forms;
  const auto layers = static_cast<double>(cost_.model().num_hidden_layers);
  for (const LayerGroup& group : cost_.model().groups()) {
    GroupForm one{.group = group, .share = static_cast<double>(group.layers) / layers};
    if (group.recurrent) {
      one.state_bytes = group.recurrent->bytes();
    } else {
      const auto elements = static_cast<double>(group.kv_elements_per_token());
      const double copies =
          once ? 1 : copies_of_kv(cost_, group.latent.has_value(), group.num_key_value_heads);
      one.kv = form(copies * elements, group.kv_bytes_per_token_layer() / elements);
    }
    forms.push_back(std::move(one));
  }
  return forms;
}

double StoredLayers::mean_stored_bytes(LayerForm form) const {
  double bytes = 0;
  for (const GroupForm& one : groups_) {
    const double of_token = form == LayerForm::hidden ? hidden_.stored_bytes : one.kv.stored_bytes;
    const double of_state = one.state_bytes / static_cast<double>(checkpoint_tokens_);
    bytes += one.share * (one.group.recurrent ? of_state : of_token);
  }
  return bytes;
}

// If hits of several tiers make up a context, each provides its proportion of a window and a state.
LayerWork StoredLayers::mean_layer(LayerForm form, std::span<const Hit> hits, PieceShape pieces,
                                   int64_t resident) const {
  LayerWork work{.form = form};
  const int64_t found = total_tokens(hits);
  if (found == 0) return work;
  double projected = 0;
  for (const GroupForm& one : groups_) {
    const Form& stored = form == LayerForm::hidden ? hidden_ : one.kv;
    const int64_t needed = needed_tokens(one.group, found, resident);
    for (const Hit& hit : hits) {
      const double part = static_cast<double>(hit.tokens) / static_cast<double>(found);
      const double tokens = part * static_cast<double>(needed);
      const double requests = one.group.recurrent ? part / static_cast<double>(pieces.layers)
                                                  : pieces.per_layer(static_cast<int64_t>(std::ceil(tokens)));
      const double bytes = one.group.recurrent ? part * one.state_bytes : tokens * stored.stored_bytes;
      work.load_bytes[index(hit.tier)] += one.share * bytes;
      work.load_requests[index(hit.tier)] += one.share * requests;
    }
    if (one.group.recurrent) continue;
    work.compute_s += one.share * expand_s(stored, needed);
    if (form != LayerForm::hidden) continue;
    work.compute_s += one.share * cost_.project_kv_layer_s(needed);
    projected += one.share * static_cast<double>(needed);
  }
  work.projected_tokens = std::llround(projected);
  return work;
}

LayerWork StoredLayers::hidden(int64_t layers, std::span<const Hit> hits, int64_t resident) const {
  if (!groups_.empty()) {
    LayerWork mean = mean_layer(LayerForm::hidden, hits, {}, resident);
    mean.layers = layers;
    return mean;
  }
  const int64_t tokens = total_tokens(hits);
  LayerWork work = loaded(layers, LayerForm::hidden, hidden_.stored_bytes, hits, {});
  work.compute_s = expand_hidden_s(tokens) + cost_.project_kv_layer_s(tokens);
  work.projected_tokens = tokens;
  return work;
}

LayerWork StoredLayers::kv(int64_t layers, std::span<const Hit> hits, PieceShape pieces,
                           int64_t resident) const {
  if (!groups_.empty()) {
    LayerWork mean = mean_layer(LayerForm::kv, hits, pieces, resident);
    mean.layers = layers;
    return mean;
  }
  LayerWork work = loaded(layers, LayerForm::kv, kv_.stored_bytes, hits, pieces);
  work.compute_s = expand_kv_s(total_tokens(hits));
  return work;
}

std::string StoredLayers::quality_note(bool keeps_hidden, bool keeps_kv) const {
  std::string note;
  const std::string bits = std::to_string(bits_);
  const bool keeps_less = groups_.empty()
                              ? kv_.quantised()
                              : std::any_of(groups_.begin(), groups_.end(),
                                            [](const GroupForm& one) { return one.kv.quantised(); });
  if (keeps_kv && keeps_less) {
    note = "KV is stored in " + bits +
           " bits, which changes answers: FlexGen (ICML '23) reports negligible loss at 4 bits in groups, "
           "KVQuant (NeurIPS '24) a perplexity loss below 0.1 at 3 bits with finer methods, CacheGen "
           "(SIGCOMM '24) negligible loss at 3.5 to 4.3 times fewer bytes; kvcap does not model it";
  }
  if (keeps_hidden && hidden_.quantised()) {
    note += (note.empty() ? "hidden" : ". Hidden") + std::string(" states are stored in ") + bits +
            " bits, which changes answers: no evaluation of restoring from them is known; activations have "
            "outlier channels, which 8 bits represent only with special treatment or smoothing (LLM.int8(), "
            "NeurIPS '22; SmoothQuant, ICML '23)" +
            (bits_ < 8 ? ", and 4 bits do not suffice even then" : "");
  }
  return note;
}

}  // namespace kvcap
