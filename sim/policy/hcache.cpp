// HCache (EuroSys '25): keeps layers as hidden states, as KV, or as tokens only, and restores them by
// projection, by loading, or by recomputation, so that links and GPU are both busy until the end.
//
// Layers are restored in order: first those that are recomputed from tokens, then those projected from hidden
// states, then those loaded as KV. With the times of one layer IO_H, IO_KV (loads), C_H (projection) and
// C_tok (recomputation), section 4.1.2 divides the L layers:
//   C_H > IO_H   hidden, then KV:         L_H = ceil(L IO_KV / (IO_KV + C_H - IO_H))
//   C_H <= IO_H  recompute, then hidden:  L_H = ceil(L C_tok / (C_tok + IO_H - C_H))
// With `split: paper`, this formula is used; with `best`, the L_H of either family with the least makespan.
// The forms are fixed when a run begins, for histories of split_tokens and the tiers that are expected to
// serve hits: makespan and times are means over these tiers, weighted by their shares. With `best`, a context
// is not restored if prefilling it in one pass with the new tokens is faster.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/input_error.h"
#include "policy/stored_layers.h"
#include "policy/table.h"

namespace kvcap {
namespace {

constexpr int64_t kUsualNewTokens = 64;   // assumed new tokens after a history when forms are chosen
constexpr double kTokenBytes = 4;         // a token id, kept for recomputed layers
constexpr int64_t kGemmTileTokens = 128;  // token_rounded: whole tiles of the projection (HCache 6.3.2)

// Division of a context's layers, or of the tokens of each layer.
struct Division {
  int64_t recomputed = 0, hidden = 0, kv = 0;  // layers, in this order
  // Token-wise division: in every layer, `hidden_share` of the tokens is kept as hidden states and the rest
  // in the form `rest`.
  bool tokenwise = false;
  double hidden_share = 1;
  LayerForm rest = LayerForm::kv;
};

class HCache : public Policy {
 public:
  explicit HCache(const PolicyInputs& inputs)
      : cost_(*inputs.cost),
        split_(inputs.options.split.value_or(Split::best)),
        hidden_everywhere_(inputs.options.store_hidden_for_recomputed.value_or(false)),
        layers_(cost_.model().num_hidden_layers),
        kept_(inputs),
        idle_rates_(inputs.idle_rates),
        planned_(inputs.planned),
        has_histories_(inputs.split_tokens > 0),
        split_tokens_(std::max<int64_t>(1, inputs.split_tokens)) {
    const auto gpus = static_cast<double>(cost_.tensor_parallel_size());
    copy_bytes_per_s_ = gpus * inputs.hardware->pcie.d2h_bandwidth_bytes_per_s;
    if (inputs.options.save.value_or(SaveMode::background) == SaveMode::direct_io &&
        main_tier(planned_) == Tier::ssd) {
      sync_write_s_ = inputs.hardware->ssd->sync_write_s;
    }
    stored_ = divide(split_tokens_, planned_);
    const bool is_by_hand = inputs.options.recomputed_layers || inputs.options.kv_layers;
    if (is_by_hand) stored_ = by_hand(inputs.options);
    in_one_pass_ =
        split_ == Split::best && !is_by_hand && !hidden_everywhere_ && stored_.recomputed == layers_;
    set_traits({.reuse = Reuse::stored,
                .stored_bytes_per_token = stored_bytes_per_token(),
                .checkpoint_tokens = kept_.checkpoint_tokens(),
                .save_floors = save_floors(),
                .notes = notes(),
                .quality_note = quality_note()});
  }

  Restoration restore(const Context& context, std::span<const Hit> hits,
                      const LoadRates& rates) const override {
    // If all layers are recomputed, one prefill computes the history with the new tokens and reads the
    // weights only once.
    if (in_one_pass_) return {};
    return build(division_for(hits, rates, context.resident_tokens), hits, context.resident_tokens);
  }

  double save_requests(int64_t tokens) const override {
    const int64_t written_layers = stored_.tokenwise ? layers_ : hidden_stored() + stored_.kv;
    return static_cast<double>(written_layers * chunks(tokens));
  }

  Schedule schedule(int64_t tokens, Tier tier) const override {
    const Hit hit{.tier = tier, .tokens = tokens};
    const Division division = division_for({&hit, 1}, idle_rates_, 0);
    if (division.tokenwise) {
      Schedule schedule{.hidden_layers = layers_, .hidden_tokens = hidden_tokens(division, tokens)};
      (division.rest == LayerForm::kv ? schedule.kv_layers : schedule.recompute_layers) = layers_;
      return schedule;
    }
    return {
        .hidden_layers = division.hidden, .kv_layers = division.kv, .recompute_layers = division.recomputed};
  }

 private:
  double stored_bytes_per_token() const {
    const auto layers = static_cast<double>(layers_);
    if (stored_.tokenwise) {
      const double rest_bytes = stored_.rest == LayerForm::kv ? layers * kept_.kv_bytes() : kTokenBytes;
      return stored_.hidden_share * layers * kept_.hidden_bytes() + (1 - stored_.hidden_share) * rest_bytes;
    }
    const double tokens_bytes = stored_.recomputed > 0 ? kTokenBytes : 0;
    return static_cast<double>(hidden_stored()) * kept_.hidden_bytes() +
           static_cast<double>(stored_.kv) * kept_.kv_bytes() + tokens_bytes;
  }

  std::vector<SaveFloor> save_floors() const {
    // A layer's form determines how many bytes are copied during its computation and written before the next
    // layer.
    const auto floor = [&](int64_t layers, double bytes, double writes) {
      return SaveFloor{layers, bytes / copy_bytes_per_s_, writes * sync_write_s_};
    };
    if (stored_.tokenwise) return {floor(layers_, std::max(kept_.hidden_bytes(), kept_.kv_bytes()), 1)};
    std::vector<SaveFloor> floors;
    if (hidden_stored() > 0) floors.push_back(floor(hidden_stored(), kept_.hidden_bytes(), 1));
    if (stored_.kv > 0) floors.push_back(floor(stored_.kv, kept_.kv_bytes(), 1));
    return floors;
  }

  std::vector<std::string> notes() const {
    char text[240];
    std::vector<std::string> notes;
    if (stored_.tokenwise) {
      std::snprintf(text, sizeof text, "hcache keeps %.0f %% of the tokens of every layer as hidden states",
                    100 * stored_.hidden_share);
    } else {
      std::snprintf(text, sizeof text,
                    "hcache keeps %lld layers as hidden states, %lld as KV and %lld as tokens, chosen for "
                    "%lld tokens of "
                    "history on %s",
                    static_cast<long long>(hidden_stored()), static_cast<long long>(stored_.kv),
                    static_cast<long long>(stored_.recomputed), static_cast<long long>(split_tokens_),
                    tiers_text(planned_).c_str());
    }
    notes.emplace_back(text);
    if (kept_.hidden_bytes() >= kept_.kv_bytes()) {
      std::snprintf(text, sizeof text,
                    "hidden states of this model are not smaller than its KV (%.0f against %.0f bytes "
                    "per token and layer): %s",
                    kept_.hidden_bytes(), kept_.kv_bytes(),
                    hidden_stored() == 0 ? "hcache keeps none and equals kv_offload"
                                         : "keeping them costs more than kv_offload");
      notes.emplace_back(text);
    }
    return notes;
  }

  std::string quality_note() const {
    const bool mixes = stored_.tokenwise;
    return kept_.quality_note(mixes || hidden_stored() > 0,
                              mixes ? stored_.rest == LayerForm::kv : stored_.kv > 0);
  }

  struct LayerTimes {
    double hidden_load_s = 0, kv_load_s = 0, project_s = 0, recompute_s = 0;
  };

  LayerTimes layer_times(int64_t tokens, std::span<const TierShare> planned) const {
    LayerTimes times{.recompute_s = cost_.prefill_layer_s({tokens, 0})};
    for (const auto& [tier, share] : planned) {
      const Hit hit{.tier = tier, .tokens = tokens};
      const LayerWork hidden = kept_.hidden(1, {&hit, 1});
      times.hidden_load_s += share * load_s(hidden, tier, idle_rates_[index(tier)]);
      times.kv_load_s += share * load_s(kept_.kv(1, {&hit, 1}), tier, idle_rates_[index(tier)]);
      times.project_s = hidden.compute_s;
    }
    return times;
  }

  // Returns the number of layers whose hidden states are written.
  int64_t hidden_stored() const { return stored_.hidden + (hidden_everywhere_ ? stored_.recomputed : 0); }

  // ---- choice of forms ----

  Division divide(int64_t tokens, std::span<const TierShare> planned) const {
    switch (split_) {
      case Split::best:
        return best(tokens, planned);
      case Split::paper:
        return by_formula(tokens, planned);
      case Split::hidden_only:
        return {.hidden = layers_};
      case Split::naive_hybrid:
        return naive_hybrid(tokens, planned);
      case Split::token:
      case Split::token_rounded:
        return by_tokens(tokens, planned);
    }
    return {};
  }

  Division by_hand(const PolicyOptions& options) const {
    Division division{.recomputed = options.recomputed_layers.value_or(0),
                      .kv = options.kv_layers.value_or(0)};
    division.hidden = layers_ - division.recomputed - division.kv;
    if (division.hidden >= 0) return division;
    throw InputError("policy.recomputed_layers + policy.kv_layers: found " +
                     std::to_string(division.recomputed + division.kv) + ", allowed: at most the " +
                     std::to_string(layers_) + " layers of " + cost_.model().name);
  }

  // Returns how many of `total` units (layers or tokens) to keep as hidden states. `other_s`: time per unit
  // of the other method; `gap_s`: difference between loading and projecting a unit of hidden states.
  static double balanced(double total, double other_s, double gap_s) {
    return std::clamp(std::ceil(total * other_s / (other_s + gap_s) - 1e-9), 0.0, total);
  }

  Division by_formula(int64_t tokens, std::span<const TierShare> planned) const {
    const LayerTimes t = layer_times(tokens, planned);
    const auto layers = static_cast<double>(layers_);
    if (t.project_s > t.hidden_load_s) {
      const auto hidden = static_cast<int64_t>(balanced(layers, t.kv_load_s, t.project_s - t.hidden_load_s));
      return {.hidden = hidden, .kv = layers_ - hidden};
    }
    const auto hidden = static_cast<int64_t>(balanced(layers, t.recompute_s, t.hidden_load_s - t.project_s));
    return {.recomputed = layers_ - hidden, .hidden = hidden};
  }

  Division naive_hybrid(int64_t tokens, std::span<const TierShare> planned) const {
    const LayerTimes t = layer_times(tokens, planned);
    const auto longest_s = [&](int64_t recomputed) {
      return std::max(t.recompute_s * static_cast<double>(recomputed),
                      t.kv_load_s * static_cast<double>(layers_ - recomputed));
    };
    int64_t least = 0;
    for (int64_t recomputed = 1; recomputed <= layers_; ++recomputed) {
      if (longest_s(recomputed) < longest_s(least)) least = recomputed;
    }
    return {.recomputed = least, .kv = layers_ - least};
  }

  Division by_tokens(int64_t tokens, std::span<const TierShare> planned) const {
    const LayerTimes t = layer_times(tokens, planned);
    const bool io_to_spare = t.project_s > t.hidden_load_s;
    const double other_s = io_to_spare ? t.kv_load_s : t.recompute_s;
    const double hidden =
        balanced(static_cast<double>(tokens), other_s, std::abs(t.project_s - t.hidden_load_s));
    return {.tokenwise = true,
            .hidden_share = hidden / static_cast<double>(tokens),
            .rest = io_to_spare ? LayerForm::kv : LayerForm::tokens};
  }

  Division best(int64_t tokens, std::span<const TierShare> planned) const {
    Division least;
    double least_s = std::numeric_limits<double>::infinity();
    const auto consider = [&](const Division& candidate) {
      double candidate_s = 0;
      for (const auto& [tier, share] : planned) {
        const Hit hit{.tier = tier, .tokens = tokens};
        candidate_s += share * makespan_s(build(candidate, {&hit, 1}, 0), idle_rates_);
      }
      if (candidate_s >= least_s * (1 - 1e-12)) return;
      least_s = candidate_s;
      least = candidate;
    };
    for (int64_t hidden = 0; hidden <= layers_; ++hidden) {
      consider({.hidden = hidden, .kv = layers_ - hidden});
      consider({.recomputed = layers_ - hidden, .hidden = hidden});
    }
    if (!has_histories_) return least;
    const double in_one_pass_s = cost_.prefill_s({tokens + kUsualNewTokens, 0});
    const double restored_s = least_s + cost_.prefill_s({kUsualNewTokens, tokens});
    return in_one_pass_s < restored_s ? Division{.recomputed = layers_} : least;
  }

  // Returns how a context that is stored as `stored_` is divided for its restoration. If hidden states of
  // every layer are stored, any leading run of layers may be recomputed instead.
  Division division_for(std::span<const Hit> hits, const LoadRates& rates, int64_t resident) const {
    if (!hidden_everywhere_ || stored_.tokenwise) return stored_;
    if (split_ == Split::paper) {
      if (stored_.kv > 0) return stored_;
      const TierShare nearest{hits.front().tier, 1};
      const Division here = by_formula(total_tokens(hits), {&nearest, 1});
      return {.recomputed = here.recomputed, .hidden = layers_ - here.recomputed};
    }
    // The makespan is a maximum of linear functions of the run's length, so the search ends at the first
    // length that is not better than the one before.
    Division least;
    double least_s = std::numeric_limits<double>::infinity();
    for (int64_t recomputed = 0; recomputed + stored_.kv <= layers_; ++recomputed) {
      const Division candidate{
          .recomputed = recomputed, .hidden = layers_ - recomputed - stored_.kv, .kv = stored_.kv};
      const double candidate_s = makespan_s(build(candidate, hits, resident), rates);
      if (candidate_s >= least_s) break;
      least_s = candidate_s;
      least = candidate;
    }
    return least;
  }

  // ---- restorations ----

  int64_t hidden_tokens(const Division& division, int64_t tokens) const {
    auto hidden = static_cast<int64_t>(std::llround(division.hidden_share * static_cast<double>(tokens)));
    if (split_ == Split::token_rounded) hidden = hidden / kGemmTileTokens * kGemmTileTokens;
    return hidden;
  }

  // Returns the restoration of hits that follow `resident` tokens on the GPU.
  Restoration build(const Division& division, std::span<const Hit> hits, int64_t resident) const {
    const int64_t tokens = total_tokens(hits);
    Restoration restoration;
    if (tokens == 0) return restoration;
    if (division.tokenwise) {
      restoration.work.push_back(mixed_layers(division, hits, tokens, resident));
      return restoration;
    }
    if (division.recomputed > 0) {
      restoration.work.push_back({.layers = division.recomputed,
                                  .form = LayerForm::tokens,
                                  .compute_s = cost_.prefill_layer_s({tokens, resident}),
                                  .recomputed = {tokens, resident}});
    }
    if (division.hidden > 0) restoration.work.push_back(kept_.hidden(division.hidden, hits, resident));
    if (division.kv > 0) restoration.work.push_back(kept_.kv(division.kv, hits, {}, resident));
    return restoration;
  }

  // Returns the work of layers that restore the leading tokens by the method `division.rest` and the other
  // tokens from hidden states.
  LayerWork mixed_layers(const Division& division, std::span<const Hit> hits, int64_t tokens,
                         int64_t resident) const {
    LayerWork work{.layers = layers_, .form = LayerForm::mixed};
    const int64_t from_hidden = hidden_tokens(division, tokens);
    const int64_t rest = tokens - from_hidden;
    const bool load_rest = division.rest == LayerForm::kv;
    for (const Hit& hit : hits) {
      const double share = static_cast<double>(hit.tokens) / static_cast<double>(tokens);
      work.load_bytes[index(hit.tier)] +=
          share * static_cast<double>(from_hidden) * kept_.hidden_bytes() +
          (load_rest ? share * static_cast<double>(rest) * kept_.kv_bytes() : 0);
      work.load_requests[index(hit.tier)] += static_cast<double>(chunks(hit.tokens));
    }
    if (from_hidden > 0) {
      work.compute_s += kept_.expand_hidden_s(from_hidden) + cost_.project_kv_layer_s(from_hidden);
      work.projected_tokens = from_hidden;
    }
    if (rest == 0) return work;
    if (load_rest) {
      work.compute_s += kept_.expand_kv_s(rest);
    } else {
      work.recomputed = {rest, resident};
      work.compute_s += cost_.prefill_layer_s(work.recomputed);
    }
    return work;
  }

  const CostModel& cost_;
  Split split_;
  bool hidden_everywhere_;
  int64_t layers_;
  StoredLayers kept_;
  LoadRates idle_rates_;
  std::vector<TierShare> planned_;
  bool has_histories_;
  int64_t split_tokens_;
  double copy_bytes_per_s_ = 0;
  double sync_write_s_ = 0;
  bool in_one_pass_ = false;  // only tokens are kept
  Division stored_;
};

}  // namespace

std::unique_ptr<Policy> make_hcache(const PolicyInputs& inputs) { return std::make_unique<HCache>(inputs); }

}  // namespace kvcap
