// Handover: the KV of one turn's prompt on its way from the node that computes it to the node that decodes
// (prefill-decode disaggregation, FleetOptions::disaggregation).
//
// It moves what the decode node's prefix cache lacks, once that node has blocks for the whole prompt:
//
//   end        in one transfer, when the prompt is computed as well
//   layerwise  layers follow each other through every step. Of a step's tokens all layers but the last move
//              once the first is computed, the last one when the step is over. With L layers, c seconds to
//              compute one and x to move one, the last byte arrives at max(L c + x, c + L x): as if each
//              layer had moved as soon as it was there. What was computed before the step moves when it
//              begins.
//
// Windows and states of a prompt (models in layer groups) are final with its last token: they move then.
//
// The prefill node keeps the blocks until the last byte has arrived, or its lease has ended. It says what it
// computes, the decode node when it has room; neither knows the other.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "des/world.h"
#include "metrics/recorder.h"
#include "serving/arrivals.h"
#include "serving/fleet_options.h"
#include "spec/kv_groups.h"
#include "spec/model_spec.h"

namespace kvcap {

// What all handovers of a fleet have in common.
struct HandoverPlan {
  DisaggregationOptions options;
  Route route;
  // On one GPU of `gpus`, each of which gets its own from its counterpart: KV heads that are fewer than GPUs,
  // and latents, move to every one.
  std::vector<KvLayers> kinds;
  int64_t gpus = 1;
  int64_t layers = 1;

  // Of `tokens` tokens, in layers that keep every token.
  double bytes(int64_t tokens) const;
  // Of windows and states, behind a prompt of which the decode node has all but `missing` tokens.
  double last_bytes(int64_t prompt_tokens, int64_t missing) const;
};

HandoverPlan handover_plan(const DisaggregationOptions& options, const ModelSpec& model,
                           int64_t tensor_parallel_size, const Route& route);

class Handover {
 public:
  // All but `prompt_tokens` outlive it.
  Handover(const HandoverPlan& plan, const Node& clock, Recorder& recorder, int64_t prompt_tokens);

  // ---- the prefill node ----

  // A step computes so many tokens of the prompt behind the first `first`, its first layer until `layer_s`.
  void begins(int64_t first, int64_t tokens, double layer_s);
  // The first `tokens` tokens are computed.
  void computed(int64_t tokens);
  // The prompt is. `release`: the prefill node may give its blocks back.
  void ended(const TurnRecord& record, double admitted_s, std::function<void()> release);
  // When an unfetched prompt is given up; infinity: never. REQUIRES: ended.
  double lease_end_s() const;
  // Gives it up, unless somebody has begun to fetch it.
  void give_up();

  // ---- either node ----

  // Nobody waits for the turn any more: when what is under way has arrived, both nodes are free of it.
  void abandon();

  // ---- the decode node ----

  void send_through(Lane& lane) { lane_ = &lane; }
  // It has blocks for the whole prompt, and the first `resident` tokens in them. `arrived`: so are the
  // others.
  void receive(int64_t resident, std::function<void()> arrived);
  bool received() const { return resident_ >= 0; }
  // The prefill node has given its blocks back unfetched: the prompt is to be computed anew.
  bool is_given_up() const { return is_given_up_; }
  bool is_ended() const { return is_ended_; }
  // The turn so far. REQUIRES: ended.
  const TurnRecord& record() const { return record_; }
  double admitted_s() const { return admitted_s_; }

 private:
  void send();
  void move(double bytes, double ready_s);
  void arrived();
  void free_both();

  const HandoverPlan& plan_;
  const Node& clock_;
  Recorder& recorder_;
  Lane* lane_ = nullptr;
  int64_t prompt_tokens_;

  // Of the prompt's tokens: computed; in the step that runs; sent with all their layers.
  int64_t computed_ = 0;
  int64_t step_first_ = 0, step_tokens_ = 0;
  double step_layer_s_ = 0;
  int64_t sent_ = 0;
  int64_t early_tokens_ = 0;  // behind those: of them all layers but the last are sent
  int64_t resident_ = -1;     // of the decode node; negative: it has no room yet
  bool is_ended_ = false, is_given_up_ = false, is_abandoned_ = false, is_over_ = false;
  int64_t under_way_ = 0;  // transfers

  TurnRecord record_;
  double admitted_s_ = 0, ended_s_ = 0, received_s_ = 0;
  double began_s_ = std::numeric_limits<double>::infinity();  // when the first byte was sent
  double bytes_ = 0;
  std::function<void()> release_, on_arrival_;
};

// A turn that looks for a decode node.
struct HandedOver {
  Arrival arrival;
  std::size_t from = 0;
  std::shared_ptr<Handover> handover;
};

}  // namespace kvcap
