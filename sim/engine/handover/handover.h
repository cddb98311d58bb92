// Handover: the transfer of a prompt's KV from the node that computes it to the node that decodes
// (prefill-decode disaggregation, FleetOptions::disaggregation).
//
// It moves the KV of the tokens that the decode node's prefix cache lacks, once that node has blocks for the
// whole prompt. The granularity (TransferGranularity) decides when:
//
//   end        in one transfer, after the prompt is computed
//   layerwise  layer by layer during each step. The step's tokens move in all layers but the last once the
//              first layer is computed, and in the last layer when the step is over. With L layers, c seconds
//              to compute one and x to move one, the last byte arrives at max(L c + x, c + L x), as if each
//              layer moved as soon as it was computed. Tokens computed before the step move when the step
//              begins.
//
// The KV of layers with a sliding window and recurrent states are final only when the last token is computed,
// and move then.
//
// The prefill node keeps the blocks until the last byte has arrived or its lease has ended. It reports its
// progress to the Handover, and the decode node reports when it has blocks; neither node knows the other.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "des/world.h"
#include "engine/arrivals.h"
#include "engine/handover/handover_options.h"
#include "metrics/recorder.h"
#include "spec/kv_groups.h"
#include "spec/model_spec.h"

namespace kvcap {

// Common parameters of all handovers of a fleet.
struct HandoverPlan {
  DisaggregationOptions options;
  Route route;
  // KV layers on each of a decode node's `gpus` GPUs. If there are fewer KV heads than GPUs, every GPU gets a
  // copy of a head; latents are always copied to every GPU.
  std::vector<KvLayers> kinds;
  int64_t gpus = 1;
  int64_t layers = 1;

  // Returns the bytes of `tokens` tokens in the layers that keep every token.
  double bytes(int64_t tokens) const;
  // Returns the bytes of the KV windows and recurrent states at the end of a prompt, of which the decode node
  // lacks the last `missing` tokens.
  double last_bytes(int64_t prompt_tokens, int64_t missing) const;
};

// `tensor_parallel_size`: that of a decode node. `drafter`: the model that drafts, whose KV moves, too;
// nullptr if there is none.
HandoverPlan handover_plan(const DisaggregationOptions& options, const ModelSpec& model,
                           int64_t tensor_parallel_size, const Route& route,
                           const ModelSpec* drafter = nullptr);

class Handover {
 public:
  // `sender`: the number of the prefill node. The first three arguments outlive it.
  Handover(const HandoverPlan& plan, const Node& clock, Recorder& recorder, std::size_t sender,
           int64_t prompt_tokens);
  std::size_t sender() const { return sender_; }

  // ---- the prefill node ----

  // Notes that a step computes `tokens` tokens of the prompt after the first `first` ones, and that its first
  // layer ends at `layer_s`.
  void begins(int64_t first, int64_t tokens, double layer_s);
  // Notes that the first `tokens` tokens are computed.
  void computed(int64_t tokens);
  // Notes that the whole prompt is computed. The handover calls `release` when the prefill node may release
  // its blocks.
  void ended(const TurnRecord& record, double admitted_s, std::function<void()> release);
  // Returns the time at which the prefill node drops the prompt's KV if no fetch has begun; infinity if
  // never. REQUIRES: ended.
  double lease_end_s() const;
  // Drops the prompt's KV unless a fetch has begun.
  void give_up();

  // ---- either node ----

  // Abandons the turn: both nodes release their blocks when the running transfers have ended.
  void abandon();
  // Called when one of the nodes has failed: the other node releases its blocks. A prefill node does so as
  // soon as it has computed the prompt. REQUIRES: the World drops the transfers of the failed node.
  void sender_failed();
  void receiver_failed();
  bool has_failed() const { return has_failed_; }

  // ---- the decode node ----

  void send_through(Lane& lane) { lane_ = &lane; }
  // Notes that the decode node has blocks for the whole prompt and already stores the KV of the first
  // `resident` tokens. `arrived` is called when the node has the KV of all tokens.
  void receive(int64_t resident, std::function<void()> arrived);
  bool received() const { return resident_ >= 0; }
  // True iff the prefill node released its blocks before a fetch, so that the prompt must be computed again.
  bool is_given_up() const { return is_given_up_; }
  bool is_ended() const { return is_ended_; }
  // Returns the record of the turn so far. REQUIRES: ended.
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
  std::size_t sender_;
  int64_t prompt_tokens_;

  // Token counts of the prompt: computed; in the running step; sent in all layers.
  int64_t computed_ = 0;
  int64_t step_first_ = 0, step_tokens_ = 0;
  double step_layer_s_ = 0;
  int64_t sent_ = 0;
  int64_t early_tokens_ = 0;  // tokens after sent_ that are sent in all layers but the last
  int64_t resident_ = -1;     // tokens that the decode node already has; negative: it has no blocks yet
  bool is_ended_ = false, is_given_up_ = false, is_abandoned_ = false, has_failed_ = false;
  bool is_over_ = false;
  int64_t under_way_ = 0;  // running transfers

  TurnRecord record_;
  double admitted_s_ = 0, ended_s_ = 0, received_s_ = 0;
  double began_s_ = std::numeric_limits<double>::infinity();  // time of the first byte
  double bytes_ = 0;
  std::function<void()> release_, on_arrival_;
};

// A turn that needs a decode node.
struct HandedOver {
  Arrival arrival;
  std::size_t from = 0;
  std::shared_ptr<Handover> handover;
};

}  // namespace kvcap
