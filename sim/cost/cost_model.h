// CostModel: computes how long the parts of an inference step take on one tensor-parallel group, as pure
// functions of the model's shapes and the hardware's efficiency models. Times are in seconds. Its only state
// is memoised times and a flag that tells whether a measured table was extrapolated.
//
// If layers form groups (ModelSpec), "a layer" is the mean of all layers, so that times per layer sum to the
// time of all layers. Recurrent layers have a scan instead of attention, limited by its bytes or by the flops
// of its chunked form. Scans have the efficiency of the GPU's attention kernels, because no measured scans
// are available.
//
// A layer's time is the sum of its kernels: four GEMMs (QKV, O, up and gate, down; others for experts and
// MLA), attention, element-wise work if the profile has it, two all-reduces under tensor parallelism, and the
// host's overhead per layer. Under tensor parallelism of degree t every GPU holds 1/t of the heads and of the
// FFN's width, and all GPUs run in lockstep: the time of one is the time of all.
//
// If several ranks share their experts (ExpertPlacement), this is the cost of one rank: attention, router,
// dense and shared FFNs for its own tokens, and the routed experts of the group, on the fullest GPU, for the
// tokens of all ranks. An exchange replaces the experts' all-reduce. With allgather_reducescatter, the
// exchange is an all-gather of all tokens' hidden states before the experts, and after them a reduce-scatter,
// which takes as long as an all-gather. Under tensor parallelism, a collective over the rank's own GPUs
// follows: an all-gather if the experts are expert-parallel, because the GPUs of a rank then divide its
// tokens, or else an all-reduce. With all_to_all, each GPU sends its share of the rank's tokens to all GPUs
// that have their experts, and receives the same number of bytes back.
//
// Under decode context parallelism of degree c, c GPUs with the same KV heads hold 1/c of the tokens each. In
// a decode step, each GPU gathers the queries of all c GPUs, attends with them to its part of the context,
// and gathers the logarithms of the softmax sums; the corrected outputs are then summed and scattered by
// heads. A prefill over cached tokens does the same (ordinary heads) or gathers the cached latents (MLA).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "cost/decode_attention.h"
#include "cost/kernels.h"
#include "cost/lora_memory.h"
#include "cost/step_work.h"
#include "spec/expert_placement.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"
#include "spec/sampling.h"

namespace kvcap {

class CostModel {
 public:
  // REQUIRES: tensor_parallel_size divides the query heads; tensor_parallel_size * placement.ranks is at most
  // gpu.count; a model without experts has the default placement; decode_context_parallel_size divides
  // tensor_parallel_size, and if it exceeds 1, all layers attend to their whole context.
  CostModel(const ModelSpec& model, const HardwareProfile& hardware, int64_t tensor_parallel_size,
            const ExpertPlacement& placement = {}, int64_t decode_context_parallel_size = 1);
  ~CostModel();

  // Adds the time of the sampler's logit filter (top_k, top_p) to head_s(). REQUIRES: head_s() has not been
  // called.
  void filter_logits(const SamplerTime& time) { sampler_ = time; }

  // Adds the kernels of LoRA adapters to linear_layer_s(). REQUIRES: linear_layer_s() has not been called.
  void add_adapters(const LoraSlots& adapters);

  const ModelSpec& model() const;
  int64_t tensor_parallel_size() const;
  int64_t decode_context_parallel_size() const;
  const ExpertPlacement& placement() const;

  // Returns the time of one layer without attention for `tokens` rows: GEMMs, element-wise work, all-reduces
  // and host overhead; 0 for 0 rows. If layers differ (expert layers after dense ones), returns their mean.
  // Memoised per token count. Assumes that the other ranks are idle: each then computes one dummy row, which
  // also passes through the experts.
  double linear_layer_s(int64_t tokens) const;
  // Returns the same time if the other ranks have `tokens_of_others` rows in total; 0 if `tokens` is 0.
  double linear_layer_s(int64_t tokens, int64_t tokens_of_others) const;
  // Returns the time of one attention call over all slices: their thread blocks share one grid, or their
  // flops and bytes add up, and constants count once. MLA: includes the expansion of cached latents to keys
  // and values.
  double attention_layer_s(std::span<const PrefillChunk> chunks) const;
  double attention_layer_s(PrefillChunk chunk) const;
  // Returns the attention time of a decode step in one layer; if layers differ, in a layer of the first
  // group.
  DecodeAttention decode_attention_layer_s(int64_t sequences, int64_t queries = 1) const;
  // Returns the attention time of a decode step, as a mean over layers. `queries`: rows per sequence; more
  // than one if drafts are verified. A sequence's context is read once for all its queries, but multiplied by
  // each of them. For layers with a window, the sequences' mean context determines the part to which they
  // attend: exact if all or none of them are longer than the window. Layers with chunks attend to half a
  // chunk, the mean over a long context.
  DecodeAttentions decode_attentions_layer_s(int64_t sequences, int64_t queries = 1) const;
  // Returns the time of one call of the prefill kernel over all slices and `sequences` that decode over
  // `context_tokens` tokens in total. The kernel does not split keys: a decoding row is a block that
  // processes its sequence's whole context, here the mean. MLA: two calls, because its decode attends to the
  // latents.
  double mixed_attention_layer_s(std::span<const PrefillChunk> chunks, int64_t sequences,
                                 int64_t context_tokens, int64_t queries = 1) const;

  // Returns the time of one whole layer that prefills one slice.
  double prefill_layer_s(PrefillChunk chunk) const;
  // Returns the time of the final norm, the vocabulary projection and the logit filter for `sequences`
  // sampled tokens.
  double head_s(int64_t sequences) const;
  // Returns the time of all layers and one sampled token. This is the TTFT on an idle machine if the slice
  // fits into one step.
  double prefill_s(PrefillChunk chunk) const;
  // Returns the time of one decode step of `sequences` sequences with `context_tokens` tokens in total.
  double decode_step_s(int64_t sequences, int64_t context_tokens) const;

  // Returns the time of HCache's restoration of one layer from hidden states: K and V = H [W_k W_v] for
  // `tokens` rows, rotary embedding, and under tensor parallelism the all-gather of the hidden states, of
  // which each GPU read 1/t. MLA: the projection to the latent and the rotary key.
  double project_kv_layer_s(int64_t tokens) const;

  // Returns the time of an element-wise kernel over one layer's state that reads and writes `bytes` in total,
  // divided over the GPUs; 0 if the profile has no element-wise kernels.
  double elementwise_s(double bytes) const;
  // Returns the time to copy `bytes` of all layers' state within device memory, divided over the GPUs: reads
  // and writes run at the memory's bandwidth, or at the share of it that the profile's element-wise kernels
  // reach.
  double device_copy_s(double bytes) const;

  // Return the time of a collective over the group; 0 for a single GPU. `bytes`: the full buffer (all-to-all:
  // what one GPU sends in total). Measured sizes of this group are interpolated in (ln bytes, ln time); below
  // the smallest, its time applies; above the largest, the time is proportional to the bytes. Without
  // measured times: the ring algorithm over NVLink, or derived times over PCIe (peer_collectives.h).
  double all_reduce_s(double bytes) const;
  double all_gather_s(double bytes) const;
  double all_to_all_s(double bytes) const;
  // Returns the time in which each GPU of the group sends its part of `bytes` to a GPU of another group,
  // where the parts are gathered. A pair of GPUs is assumed to be as fast as in an all-gather, in which each
  // sends half of the buffer.
  double send_s(double bytes) const;

  // Return the flops of project_kv_layer_s and of prefill_layer_s, all GPUs together; for reports.
  double project_kv_layer_flops(int64_t tokens) const;
  double prefill_layer_flops(PrefillChunk chunk) const;

  // True iff any GEMM computed so far was outside its measured table.
  bool extrapolated() const;

 private:
  double own_linear_layer_s(int64_t tokens) const;

  struct State;
  std::unique_ptr<State> state_;
  SamplerTime sampler_;
};

}  // namespace kvcap
