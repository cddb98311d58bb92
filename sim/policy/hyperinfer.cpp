// HyperInfer: loads the keys and values of only those tokens of a stored prefix that the request attends to
// most; the others take no part in its prefill and decoding. With fewer features, the same class implements
// the paper's baselines: as_like (loads everything), h2o_lru and h2o_lfu (load all keys and important
// values).
//
// Keys and values of 64 tokens of a node of the prefix tree are a chunk. If n tokens are found, k = retention
// n of them are important, and P of h heads serve as probes, a layer loads these vectors
// (cost/identification.h) over PCIe, in sequence:
//
//   as_like     2 h n                    n keys and values
//   h2o         h n + h k                n keys; once its queries are computed, every head's k values
//   hyperinfer  P n + 2 h k              n keys of the probe heads; once its queries are computed, and if the
//                                        probe heads agree, k keys and values, the same for all heads
//               P n + (h - P) n + h k    if they disagree: the other keys, then every head's k values
//
// SSD and remote storage are read in whole chunks. If all heads share one set of important tokens, only
// chunks with at least one important token are read; ordering a node by mean importance (`reorder`) reduces
// their number. With a set per head, all chunks are read. Reads from these tiers are charged for whole chunks
// on PCIe, too, although only vectors cross it; PCIe is never slower than such a tier. The keys of the probe
// heads are stored a second time, in one piece per node. State that is on the GPU is not loaded.
//
// `prefetch`: while a layer computes, its set of important tokens serves as the guess for the next layer, and
// as much of the guess is loaded as the computation hides. The share adjacent_recall of the loaded part is
// right and need not be loaded again (IV-C).
//
// Not modelled: the rewriting every 10 minutes, which runs in the background (nodes are in order from the
// start), and the look-up in mapping lists, under 2 % of the TTFT (IV-D1, VI-E).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "cost/importance.h"
#include "policy/stored_layers.h"
#include "policy/table.h"

namespace kvcap {
namespace {

constexpr int64_t kProbeHeads = 3;  // IV-B

class HyperInfer : public Policy {
 public:
  explicit HyperInfer(const PolicyInputs& inputs)
      : cost_(*inputs.cost),
        stored_(cost_, inputs.options.stored_bits.value_or(kPolicyDefaults.stored_bits),
                inputs.options.store_once.value_or(kPolicyDefaults.store_once)),
        identification_{
            .retention = inputs.options.retention.value_or(1),
            .probe_heads = kProbeHeads,
            .alpha = inputs.options.threshold_exponent.value_or(kPolicyDefaults.threshold_exponent)},
        chunk_tokens_(inputs.options.chunk_tokens.value_or(kChunkTokens)),
        reorder_(inputs.options.reorder.value_or(false)),
        prefetch_(inputs.options.prefetch.value_or(false)),
        score_(inputs.options.score.value_or(kPolicyDefaults.score)),
        step_tokens_(inputs.step_tokens),
        layers_(cost_.model().num_hidden_layers),
        heads_(cost_.model().num_key_value_heads) {
    const ModelSpec& model = cost_.model();
    const double bytes = stored_.kv_bytes();
    // A latent serves as key and value of all heads.
    key_bytes_ = model.latent ? bytes : bytes / 2;
    value_bytes_ = bytes - key_bytes_;
    const bool wanted = identification_.retention < 1 && inputs.options.identification.value_or(false);
    const bool has_key_heads = !model.latent && heads_ > kProbeHeads;
    if (wanted && has_key_heads) {
      statistics_.emplace(ImportanceModel{}, identification_, layers_, inputs.seed);
    }
    no_probes_ = wanted && !has_key_heads;
    set_traits({.reuse = Reuse::stored,
                .stored_bytes_per_token =
                    static_cast<double>(layers_) * (key_bytes_ + value_bytes_ + probe_share() * key_bytes_),
                .selects = selects(),
                .restores_resident = selects(),
                .notes = notes(),
                .quality_note = quality_note()});
  }

  PartUse use(const Stretch& part) const override {
    PartUse use{.nodes = static_cast<double>(part.tokens) / static_cast<double>(part.node_tokens)};
    for (int64_t done = 0; done < part.tokens; done += chunk_tokens_) {
      const int64_t tokens = std::min(chunk_tokens_, part.tokens - done);
      const ChunkUse chunk = chunk_use(part.node_tokens, part.first_token + done, tokens);
      use += {.tokens = static_cast<double>(tokens),
              .important_tokens = chunk.important_tokens,
              .touched_tokens = chunk.touched * static_cast<double>(tokens),
              .chunks = 1,
              .touched_chunks = chunk.touched};
    }
    return use;
  }

  double weight(const PartUse& use) const override {
    return score_ == Score::importance ? use.important_tokens / use.tokens : 1;
  }

  Restoration restore(const Context& context, std::span<const Hit> hits,
                      const LoadRates& rates) const override {
    Restoration restoration;
    int64_t found_tokens = 0, unused_tokens = 0;
    const auto count = [&](Tier tier, int64_t tokens) {
      const int64_t used = std::llround(context.use[index(tier)].important_tokens);
      restoration.unused_tokens[index(tier)] = tokens - std::clamp<int64_t>(used, 0, tokens);
      found_tokens += tokens;
      unused_tokens += restoration.unused_tokens[index(tier)];
    };
    count(Tier::hbm, context.resident_tokens);
    for (const Hit& hit : hits) count(hit.tier, hit.tokens);

    const PrefillChunk prefill{context.history_tokens - found_tokens + context.new_tokens,
                               found_tokens - unused_tokens};
    // A prompt of several steps cannot be computed in one pass while loads run.
    restoration.fused = prefill.new_tokens <= step_tokens_;
    const int64_t loaded_tokens =
        prefill.cached_tokens - context.resident_tokens + restoration.unused_tokens[index(Tier::hbm)];
    const double layer_s =
        stored_.expand_kv_s(loaded_tokens) + (restoration.fused ? cost_.prefill_layer_s(prefill) : 0);
    // Queries are also scored against the keys of tokens that turn out to be unimportant. Scoring is half of
    // the work of attention.
    double scores_s = 0;
    if (restoration.fused) {
      const double all_s = cost_.attention_layer_s({prefill.new_tokens, found_tokens});
      scores_s = std::max(0.0, all_s - cost_.attention_layer_s(prefill)) / 2;
    }
    if (!selects()) {
      restoration.work.push_back(everything(context));
      restoration.work.back().compute_s = layer_s;
    }
    const int64_t fallen_back =
        statistics_ ? statistics_->fallback_layers(found_tokens, context.turn) : layers_;
    for (int64_t layer = 0; selects() && layer < layers_; ++layer) {
      const bool falls_back = layer >= layers_ - fallen_back;
      add_layer(context, falls_back, {layer_s, scores_s}, restoration.work);
      if (prefetch_ && statistics_ && layer > 0 && !falls_back) guess(layer_s, rates, restoration.work);
    }
    if (restoration.fused) {
      restoration.work.push_back({.layers = 1, .form = LayerForm::head, .compute_s = cost_.head_s(1)});
    }
    return restoration;
  }

  double save_requests(int64_t tokens) const override {
    const int64_t stored_chunks = (tokens + chunk_tokens_ - 1) / chunk_tokens_;
    return static_cast<double>(layers_ * 2 * stored_chunks);
  }

  Schedule schedule(int64_t, Tier) const override { return {.kv_layers = layers_}; }

 private:
  bool selects() const { return identification_.retention < 1; }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (statistics_) {
      notes.emplace_back(
          "which tokens a request finds important is drawn from a statistical model fitted to HyperInfer's "
          "figures (sim/cost/importance.h)");
    }
    if (no_probes_) {
      notes.push_back(cost_.model().name +
                      " does not have more KV heads than identification probes: all keys are loaded");
    }
    return notes;
  }

  std::string quality_note() const {
    char text[200] = "";
    if (selects()) {
      std::snprintf(text, sizeof text, "%g %% of a prefix's tokens are used: %s (HyperInfer VI-B)",
                    100 * identification_.retention,
                    statistics_
                        ? "mean accuracy on four data sets 0.2 % below recomputing at 25 to 50 %, less than "
                          "1 % below it down to 5 %"
                        : "accuracy within 1 % of recomputing on four data sets down to 5 %");
    }
    return joined_notes(text, stored_.quality_note(false, true));
  }

  struct LayerTime {
    double layer_s = 0;   // prefill of the new tokens over the important ones
    double scores_s = 0;  // scores of all queries with keys that `layer_s` omits
  };

  double probe_share() const {
    return statistics_ ? static_cast<double>(kProbeHeads) / static_cast<double>(heads_) : 0;
  }

  ChunkUse chunk_use(int64_t node_tokens, int64_t first_token, int64_t tokens) const {
    if (statistics_) return statistics_->chunk(node_tokens, first_token, tokens, reorder_);
    return {tokens, identification_.retention * static_cast<double>(tokens), 1};
  }

  // Returns the loads from all host tiers. `bytes` and `requests` compute those of a tier from its PartUse.
  template <class Bytes, class Requests>
  static LayerWork loaded(const Context& context, LayerForm form, Bytes bytes, Requests requests) {
    LayerWork work{.form = form};
    for (Tier tier : kHostTiers) {
      const PartUse& use = context.use[index(tier)];
      if (use.tokens == 0) continue;
      work.load_bytes[index(tier)] = bytes(tier, use);
      work.load_requests[index(tier)] = requests(use);
    }
    return work;
  }

  LayerWork everything(const Context& context) const {
    LayerWork work = loaded(
        context, LayerForm::kv,
        [&](Tier, const PartUse& use) { return use.tokens * (key_bytes_ + value_bytes_); },
        [](const PartUse& use) { return 2 * use.chunks; });
    work.layers = layers_;
    return work;
  }

  LayerWork all_keys(const Context& context, double share) const {
    return loaded(
        context, LayerForm::keys,
        [&](Tier tier, const PartUse& use) {
          return use.tokens * key_bytes_ * (tier == Tier::dram ? share : 1);
        },
        [](const PartUse& use) { return use.chunks; });
  }

  // Returns the load of the values that at least one head needs.
  LayerWork values_by_head(const Context& context) const {
    return loaded(
        context, LayerForm::kv,
        [&](Tier tier, const PartUse& use) {
          return use.tokens * value_bytes_ * (tier == Tier::dram ? identification_.retention : 1);
        },
        [](const PartUse& use) { return use.chunks; });
  }

  void add_layer(const Context& context, bool falls_back, const LayerTime& time,
                 std::vector<LayerWork>& work) const {
    if (statistics_) {
      work.push_back(loaded(
          context, LayerForm::keys,
          [&](Tier, const PartUse& use) { return use.tokens * key_bytes_ * probe_share(); },
          [](const PartUse& use) { return use.nodes; }));
      work.back().compute_s = time.scores_s * probe_share();
    }
    if (falls_back) {
      work.push_back(all_keys(context, 1 - probe_share()));
      work.back().waits = statistics_.has_value();
      work.back().compute_s = time.scores_s * (1 - probe_share());
      work.push_back(values_by_head(context));
    } else {
      work.push_back(loaded(
          context, LayerForm::kv,
          [&](Tier tier, const PartUse& use) {
            return (key_bytes_ + value_bytes_) *
                   (tier == Tier::dram ? use.important_tokens : use.touched_tokens);
          },
          [](const PartUse& use) { return 2 * use.touched_chunks; }));
    }
    work.back().waits = true;
    work.back().compute_s = time.layer_s;
  }

  // Models the prefetch for a layer, whose probe keys and needed state are the last two entries of `work`:
  // the part of the needed state that can be loaded during the `window_s` seconds of the previous layer moves
  // to the first entry, together with the loads of wrong guesses.
  void guess(double window_s, const LoadRates& rates, std::vector<LayerWork>& work) const {
    LayerWork& keys = work[work.size() - 2];
    LayerWork& needed = work.back();
    for (Tier tier : kHostTiers) {
      const std::size_t t = index(tier);
      const double needed_s = load_s(needed, tier, rates[t]);
      if (needed_s <= 0) continue;
      const double share = std::clamp((window_s - load_s(keys, tier, rates[t])) / needed_s, 0.0, 1.0);
      const double left = 1 - share * statistics_->adjacent_recall();
      keys.load_bytes[t] += share * needed.load_bytes[t];
      keys.load_requests[t] += share * needed.load_requests[t];
      needed.load_bytes[t] *= left;
      needed.load_requests[t] *= left;
    }
  }

  const CostModel& cost_;
  StoredLayers stored_;
  Identification identification_;
  int64_t chunk_tokens_;
  bool reorder_, prefetch_;
  Score score_;
  int64_t step_tokens_;
  int64_t layers_, heads_;                  // heads with their own keys
  double key_bytes_ = 0, value_bytes_ = 0;  // one token at one layer
  bool no_probes_ = false;
  std::optional<RestoreStatistics> statistics_;  // if probe heads identify important tokens
};

}  // namespace

std::unique_ptr<Policy> make_hyperinfer(const PolicyInputs& inputs) {
  return std::make_unique<HyperInfer>(inputs);
}

}  // namespace kvcap
