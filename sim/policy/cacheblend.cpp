// CacheBlend (EuroSys '25): loads chunks that are found anywhere in the prompt and recomputes a share of
// their tokens, so that they attend to the text before them. Chunks are kept as KV, or as hidden states,
// which are projected before they are blended.
//
// The leading full_layers compute all tokens, to find the positions at which the chunks' own KV deviates most
// (4.3). Each later layer computes the tokens that were not found and a share of the found ones, which falls
// slowly and has the mean r (blend.h), while the KV of the next layer is loaded (5). The recomputed tokens
// are scattered over the prompt: gathering them slows the computation, and the paper states only the total
// effect; partial_efficiency is their speed relative to a whole prefill. A layer never takes longer than if
// it computed everything.
//
// The beginning of the prompt does not deviate if it was computed after the same text as now, like a
// session's history. Only the other hits are recomputed; without such hits the pass only loads layer by
// layer.
//
// The whole prompt is one pass in the GPU's restoration queue, whatever its length: the fusor proceeds by
// layers, not by the token budget of a step, so steps of other requests wait. Positions are rotated during
// the pass at no cost, and loads may run ahead of computation by read_buffer_layers (absent: without limit,
// into the KV memory that the request holds in any case).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cost/prices.h"
#include "policy/blend.h"
#include "policy/stored_layers.h"
#include "policy/table.h"

namespace kvcap {
namespace {

class CacheBlend : public Policy {
 public:
  explicit CacheBlend(const PolicyInputs& inputs)
      : cost_(*inputs.cost),
        hardware_(*inputs.hardware),
        ratio_(inputs.options.recompute_ratio),
        layers_(cost_.model().num_hidden_layers),
        full_layers_(std::min(inputs.options.full_layers.value_or(kPolicyDefaults.full_layers), layers_)),
        efficiency_(inputs.options.partial_efficiency.value_or(kPolicyDefaults.partial_efficiency)),
        hidden_(inputs.options.keep.value_or(Keep::kv) == Keep::hidden),
        stored_(cost_, inputs.options.stored_bits.value_or(kPolicyDefaults.stored_bits),
                inputs.options.store_once.value_or(kPolicyDefaults.store_once)),
        ahead_(inputs.options.read_buffer_layers.value_or(kUnlimited)),
        idle_rates_(inputs.idle_rates),
        planned_tier_(main_tier(inputs.planned)),
        planned_tokens_(std::max<int64_t>(1, inputs.split_tokens)) {
    set_traits({.reuse = Reuse::stored,
                .stored_bytes_per_token = stored_bytes_per_token(),
                .read_buffer_layers = ahead_,
                .restores_resident = true,
                .notes = notes(),
                .quality_note = stored_.quality_note(hidden_, !hidden_)});
  }

  Restoration restore(const Context& context, std::span<const Hit> hits,
                      const LoadRates& rates) const override {
    const LayerWork load = loaded(hits);
    const int64_t found = total_tokens(hits) + context.resident_tokens;
    const int64_t deviating = found - std::min(found, context.leading_tokens);
    const int64_t full_layers = deviating > 0 ? full_layers_ : 0;
    const double whole_layer_s = cost_.prefill_layer_s({context.history_tokens + context.new_tokens, 0});
    Restoration restoration{.ahead = ahead_, .fused = true};
    if (full_layers > 0) {
      LayerWork full = load;
      full.layers = full_layers;
      full.compute_s += whole_layer_s;
      full.recomputed = {context.history_tokens, 0};
      restoration.work.push_back(full);
    }
    for (double ratio : filtered_ratios(ratio_for(load, found, rates), layers_ - full_layers)) {
      const auto share = static_cast<int64_t>(std::llround(ratio * static_cast<double>(found)));
      const int64_t again = std::min(share, deviating);
      LayerWork partial = load;
      partial.compute_s += std::min(whole_layer_s, partial_layer_s(context, found, again));
      partial.recomputed = scattered(context.history_tokens - found + again, context.history_tokens);
      restoration.work.push_back(partial);
    }
    restoration.work.push_back({.layers = 1, .form = LayerForm::head, .compute_s = cost_.head_s(1)});
    return restoration;
  }

  double save_requests(int64_t tokens) const override {
    return static_cast<double>(layers_ * chunks(tokens));
  }

  Schedule schedule(int64_t, Tier) const override {
    const int64_t loaded = layers_ - full_layers_;
    return {.hidden_layers = hidden_ ? loaded : 0,
            .kv_layers = hidden_ ? 0 : loaded,
            .recompute_layers = full_layers_};
  }

 private:
  double stored_bytes_per_token() const {
    return static_cast<double>(layers_) * (hidden_ ? stored_.hidden_bytes() : stored_.kv_bytes());
  }

  std::vector<std::string> notes() const {
    char text[320];
    const Estimate planned = estimate(planned_tokens_, planned_tier_);
    const double again_s = recompute_s(planned.ratio, planned.prefill_s, efficiency_);
    std::snprintf(text, sizeof text,
                  "cacheblend recomputes %.3g %% of the hit tokens that now follow different text (%s): a "
                  "layer of %lld tokens on %s takes %.3g ms to load and %.3g ms to recompute",
                  100 * planned.ratio, ratio_ ? "recompute_ratio" : "the loading controller's choice",
                  static_cast<long long>(planned_tokens_), std::string(name(planned_tier_)).c_str(),
                  1e3 * planned.load_s, 1e3 * again_s);
    std::vector<std::string> notes = {text};
    const std::vector<StorageDevice> places = devices();
    const bool priced = std::any_of(places.begin(), places.end(),
                                    [](const StorageDevice& place) { return place.store_usd > 0; });
    if (priced) notes.push_back(device_note(places));
    return notes;
  }

  struct Estimate {
    double load_s = 0, prefill_s = 0;  // one layer
    double ratio = 0;
  };

  LayerWork loaded(std::span<const Hit> hits) const {
    return hidden_ ? stored_.hidden(1, hits) : stored_.kv(1, hits);
  }

  double ratio_for(const LayerWork& load, int64_t found, const LoadRates& rates) const {
    if (ratio_) return *ratio_;
    double longest_s = 0;
    for (Tier tier : kTiers) longest_s = std::max(longest_s, load_s(load, tier, rates[index(tier)]));
    return controlled_ratio(longest_s, cost_.prefill_layer_s({found, 0}), efficiency_);
  }

  Estimate estimate(int64_t tokens, Tier tier) const {
    const Hit hit{.tier = tier, .tokens = tokens};
    const LayerWork load = loaded({&hit, 1});
    return {.load_s = load_s(load, tier, idle_rates_[index(tier)]),
            .prefill_s = cost_.prefill_layer_s({tokens, 0}),
            .ratio = ratio_for(load, tokens, idle_rates_)};
  }

  // Returns the chunk with the same number of query-key pairs as `rows` tokens scattered evenly over
  // `tokens`: on average, half of the tokens precede a row.
  static PrefillChunk scattered(int64_t rows, int64_t tokens) { return {rows, (tokens - rows) / 2}; }

  // Returns the time of a layer that computes `again` of the `found` tokens and all tokens that were not
  // found. Found tokens may be anywhere in the prompt.
  double partial_layer_s(const Context& context, int64_t found, int64_t again) const {
    const auto history = static_cast<double>(context.history_tokens);
    const auto asked = static_cast<double>(context.new_tokens);
    const int64_t whole = context.history_tokens - found + context.new_tokens;
    const auto rows = static_cast<double>(whole + again);
    const double pairs = (rows - asked) * history / 2 + asked * (history + asked / 2);
    const auto cached = static_cast<int64_t>(std::llround(pairs / rows - rows / 2));
    const double share_again = static_cast<double>(again) / rows;
    const double slowed = 1 - share_again + share_again / efficiency_;
    return slowed * cost_.prefill_layer_s({whole + again, cached});
  }

  // Returns the devices for chunks of the planned length, with the profile's prices.
  std::vector<StorageDevice> devices() const {
    std::vector<StorageDevice> devices;
    const double bytes = static_cast<double>(planned_tokens_) * stored_bytes_per_token();
    for (Tier tier : kHostTiers) {
      if (!has_tier(hardware_, tier)) continue;
      const Hit hit{.tier = tier, .tokens = planned_tokens_};
      const Route way = route(hardware_, cost_.tensor_parallel_size(), tier, Tier::hbm);
      devices.push_back({.tier = tier,
                         .load_s = load_s(loaded({&hit, 1}), tier, {.route = &way}),
                         .store_usd = store_usd(hardware_, tier, bytes, 3600)});
    }
    return devices;
  }

  std::string device_note(const std::vector<StorageDevice>& all) const {
    const double ratio = ratio_.value_or(kLeastRecomputeRatio);
    const double again_s = recompute_s(ratio, cost_.prefill_layer_s({planned_tokens_, 0}), efficiency_);
    const std::optional<Tier> tier = cheapest_device(all, again_s);
    char text[200];
    if (!tier) {
      std::snprintf(text, sizeof text,
                    "no storage device loads the tokens in the time that recomputing %.3g %% of them takes",
                    100 * ratio);
      return text;
    }
    const auto chosen =
        std::find_if(all.begin(), all.end(), [&](const StorageDevice& one) { return one.tier == *tier; });
    std::snprintf(text, sizeof text,
                  "the cheapest storage device whose loads are hidden by recomputing %.3g %% of the tokens "
                  "is %s (storing %lld tokens for an hour costs $%.2g)",
                  100 * ratio, std::string(name(*tier)).c_str(), static_cast<long long>(planned_tokens_),
                  chosen->store_usd);
    return text;
  }

  const CostModel& cost_;
  const HardwareProfile& hardware_;
  std::optional<double> ratio_;
  int64_t layers_, full_layers_;
  double efficiency_;
  bool hidden_;
  StoredLayers stored_;
  int64_t ahead_;
  LoadRates idle_rates_;
  Tier planned_tier_;
  int64_t planned_tokens_;
};

}  // namespace

std::unique_ptr<Policy> make_cacheblend(const PolicyInputs& inputs) {
  return std::make_unique<CacheBlend>(inputs);
}

}  // namespace kvcap
