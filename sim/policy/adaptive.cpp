// Adaptive: stores contexts in a form that is fixed when a run begins, and chooses for each turn how to
// restore them.
//
// Stored: hidden states of the first layers and KV of the rest, divided so that a history of split_tokens is
// restored fastest on an idle machine; KV of every layer if hidden states are not smaller (grouped queries,
// latent attention), or if `keep` is kv. Layers that may be recomputed are stored, too.
// Restored: any leading run of layers may be recomputed from tokens while the rest is loaded; or nothing is
// restored, and the engine's steps compute the history with the new tokens. Each turn takes the choice with
// the earliest estimated first token: the makespan of the restoration after the pending work of links and
// GPU, plus the steps that the turn waits for and takes part in.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "policy/stored_layers.h"
#include "policy/table.h"

namespace kvcap {
namespace {

// A candidate is better only if its time is below this ratio of the best time, so that rounding errors do not
// decide.
constexpr double kBetter = 1 - 1e-9;

class Adaptive : public Policy {
 public:
  explicit Adaptive(const PolicyInputs& inputs)
      : cost_(*inputs.cost),
        kept_(inputs),
        layers_(cost_.model().num_hidden_layers),
        idle_rates_(inputs.idle_rates),
        planned_(inputs.planned),
        step_tokens_(inputs.step_tokens),
        split_tokens_(std::max<int64_t>(1, inputs.split_tokens)),
        copy_bytes_per_s_(static_cast<double>(cost_.tensor_parallel_size()) *
                          inputs.hardware->pcie.d2h_bandwidth_bytes_per_s) {
    hidden_layers_ = inputs.options.keep == Keep::kv ? 0 : plan();
    set_traits({.reuse = Reuse::stored,
                .stored_bytes_per_token = stored_bytes_per_token(),
                .checkpoint_tokens = kept_.checkpoint_tokens(),
                .heeds_engine = true,
                .save_floors = save_floors(),
                .notes = notes(),
                .quality_note = kept_.quality_note(hidden_layers_ > 0, hidden_layers_ < layers_)});
  }

  Restoration restore(const Context& context, std::span<const Hit> hits,
                      const LoadRates& rates) const override {
    const EngineLoad& engine = context.engine;
    const int64_t resident = context.resident_tokens;
    const int64_t cached = resident + total_tokens(hits);
    const PrefillChunk rest{context.history_tokens - cached + context.new_tokens, cached};
    const PrefillChunk all{cached - resident + rest.new_tokens, resident};

    Restoration best = fastest(context, hits, rates);
    const double brought_s = ready_s(best, engine, rates) +
                             prefill_s(rest, engine, {engine.decode_step_s, engine.decode_rows}) +
                             waiting(engine) * (best.total_compute_s() + prefill_s(rest, {}, {}));
    const double not_brought_s = rates[index(Tier::hbm)].delay_s +
                                 prefill_s(all, engine, {engine.next_step_s, engine.next_rows}) +
                                 waiting(engine) * prefill_s(all, {}, {});
    return not_brought_s < brought_s * kBetter ? Restoration{} : best;
  }

  double save_requests(int64_t tokens) const override {
    return static_cast<double>(layers_ * chunks(tokens));
  }

  Schedule schedule(int64_t tokens, Tier tier) const override {
    const Hit hit{.tier = tier, .tokens = tokens};
    Schedule schedule;
    for (const LayerWork& work : fastest({.history_tokens = tokens}, {&hit, 1}, idle_rates_).work) {
      if (work.form == LayerForm::tokens) schedule.recompute_layers = work.layers;
      if (work.form == LayerForm::hidden) schedule.hidden_layers = work.layers;
      if (work.form == LayerForm::kv) schedule.kv_layers = work.layers;
    }
    return schedule;
  }

 private:
  double stored_bytes_per_token() const {
    return static_cast<double>(hidden_layers_) * kept_.hidden_bytes() +
           static_cast<double>(layers_ - hidden_layers_) * kept_.kv_bytes();
  }

  std::vector<SaveFloor> save_floors() const {
    std::vector<SaveFloor> floors;
    const auto add = [&](int64_t layers, double bytes) {
      if (layers > 0) floors.push_back({layers, bytes / copy_bytes_per_s_, 0});
    };
    add(hidden_layers_, kept_.hidden_bytes());
    add(layers_ - hidden_layers_, kept_.kv_bytes());
    return floors;
  }

  std::vector<std::string> notes() const {
    char text[240];
    std::snprintf(text, sizeof text,
                  "adaptive keeps %lld layers as hidden states and %lld as KV, chosen for %lld tokens of "
                  "history on %s",
                  static_cast<long long>(hidden_layers_), static_cast<long long>(layers_ - hidden_layers_),
                  static_cast<long long>(split_tokens_), tiers_text(planned_).c_str());
    return {text};
  }

  // A step without this turn.
  struct Step {
    double seconds = 0;
    int64_t rows = 0;
  };

  // Returns the number of layers to keep as hidden states.
  int64_t plan() const {
    if (kept_.hidden_bytes() >= kept_.kv_bytes()) return 0;
    int64_t least = layers_;
    double least_s = std::numeric_limits<double>::infinity();
    for (int64_t hidden = layers_; hidden >= 0; --hidden) {
      for (int64_t recomputed = 0; recomputed < layers_; ++recomputed) {
        double one_s = 0;  // expected over the tiers that serve hits
        for (const TierShare& planned : planned_) {
          const Hit hit{.tier = planned.tier, .tokens = split_tokens_};
          one_s += planned.share * makespan_s(build(hidden, recomputed, {&hit, 1}, 0), idle_rates_);
        }
        if (one_s >= least_s * kBetter) continue;
        least_s = one_s;
        least = hidden;
      }
    }
    return least;
  }

  // Returns the number of turns that each second of GPU time delays by a second.
  static double waiting(const EngineLoad& engine) { return static_cast<double>(engine.waiting_turns); }

  // Returns the restoration with the number of recomputed leading layers that restores the hits fastest.
  Restoration fastest(const Context& context, std::span<const Hit> hits, const LoadRates& rates) const {
    Restoration best;
    double least_s = std::numeric_limits<double>::infinity();
    for (int64_t recomputed = 0; recomputed < layers_; ++recomputed) {
      Restoration candidate = build(hidden_layers_, recomputed, hits, context.resident_tokens);
      const double one_s =
          ready_s(candidate, context.engine, rates) + waiting(context.engine) * candidate.total_compute_s();
      if (one_s >= least_s * kBetter) continue;
      least_s = one_s;
      best = std::move(candidate);
    }
    return best;
  }

  // Returns the restoration that recomputes the first `recomputed` layers from tokens. `hidden`: leading
  // layers that are kept as hidden states; the others are kept as KV.
  Restoration build(int64_t hidden, int64_t recomputed, std::span<const Hit> hits, int64_t resident) const {
    Restoration restoration;
    if (recomputed > 0) {
      const PrefillChunk whole{total_tokens(hits), resident};
      restoration.work.push_back({.layers = recomputed,
                                  .form = LayerForm::tokens,
                                  .compute_s = cost_.prefill_layer_s(whole),
                                  .recomputed = whole});
    }
    const int64_t projected = std::max<int64_t>(0, hidden - recomputed);
    const int64_t loaded = layers_ - recomputed - projected;
    if (projected > 0) restoration.work.push_back(kept_.hidden(projected, hits, resident));
    if (loaded > 0) restoration.work.push_back(kept_.kv(loaded, hits, {}, resident));
    return restoration;
  }

  // Returns the time after which the engine can start on the new tokens. Its steps continue during the
  // restoration, delayed by the restoration's computation, and a turn joins at the end of a step.
  static double ready_s(const Restoration& restoration, const EngineLoad& engine, const LoadRates& rates) {
    const double restored_s = makespan_s(restoration, rates);
    const double computed_s = rates[index(Tier::hbm)].delay_s + restoration.total_compute_s();
    const double first_end_s = engine.next_step_s > 0 ? computed_s + engine.next_step_s : 0;
    if (restored_s <= first_end_s) return first_end_s;
    if (engine.decode_step_s <= 0) return restored_s;
    const double more = std::ceil((restored_s - first_end_s) / engine.decode_step_s);
    return first_end_s + more * engine.decode_step_s;
  }

  // Returns the time of the steps that prefill the chunk: the first step also does the work of `first`, later
  // steps that of the decoding sequences.
  double prefill_s(PrefillChunk chunk, const EngineLoad& engine, Step first) const {
    double total_s = 0;
    Step step = first;
    while (chunk.new_tokens > 0) {
      const int64_t tokens = std::min(chunk.new_tokens, std::max<int64_t>(0, step_tokens_ - step.rows));
      total_s += step.seconds;
      if (tokens > 0) {
        const double layer_s = cost_.linear_layer_s(step.rows + tokens) - cost_.linear_layer_s(step.rows) +
                               cost_.attention_layer_s({tokens, chunk.cached_tokens});
        total_s += static_cast<double>(layers_) * layer_s;
      }
      chunk.new_tokens -= tokens;
      chunk.cached_tokens += tokens;
      step = {engine.decode_step_s, engine.decode_rows};
      if (step.rows >= step_tokens_) break;
    }
    return total_s;
  }

  const CostModel& cost_;
  StoredLayers kept_;
  int64_t layers_;
  LoadRates idle_rates_;
  std::vector<TierShare> planned_;
  int64_t step_tokens_;
  int64_t split_tokens_;
  double copy_bytes_per_s_;
  int64_t hidden_layers_ = 0;  // leading layers
};

}  // namespace

std::unique_ptr<Policy> make_adaptive(const PolicyInputs& inputs) {
  return std::make_unique<Adaptive>(inputs);
}

}  // namespace kvcap
