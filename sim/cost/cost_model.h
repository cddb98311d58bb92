// CostModel: how long the parts of one inference step take on one tensor-parallel group, as pure functions
// of the model's shapes and the hardware's efficiency models. Seconds in, seconds out: no clock. It
// remembers only whether it has had to extrapolate a measured table.
//
// Where layers form groups (ModelSpec), "a layer" is the mean of all layers: times of layers sum to what all
// layers take. Recurrent layers: a scan in place of attention, bound by its bytes or by the flops of its
// chunked form. Its efficiency is that of the GPU's attention kernels: no measured scans are known here.
//
// A layer's time is the sum of its kernels: four GEMMs (QKV, O, up and gate, down; experts and MLA as
// their shapes demand), attention, element-wise work where the profile has it, two all-reduces under tensor
// parallelism, and the host's overhead per layer. Under tensor parallelism of degree t every GPU holds 1/t
// of the heads and of the FFN's width, and all GPUs move in lockstep: the time of one is the time of all.
//
// Of several ranks that share their experts (ExpertPlacement) this is the cost of one: its own attention,
// router, dense and shared FFNs for its own tokens, and the routed experts of the group, on the fullest GPU,
// for the tokens of all ranks. An exchange takes the place of the experts' all-reduce. allgather_
// reducescatter: an all-gather of all tokens' hidden states before the experts and a reduce-scatter, as long
// as an all-gather, after them; under tensor parallelism then an all-gather (expert parallel: the GPUs of a
// rank shared its tokens) or an all-reduce over the rank's own GPUs. all_to_all: each GPU sends its share of
// the rank's tokens to all GPUs that have experts of theirs, and gets as much back.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "spec/expert_placement.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"
#include "spec/sampling.h"

namespace kvcap {

// `new_tokens` prompt tokens computed over `cached_tokens` whose keys and values are already there.
struct PrefillChunk {
  int64_t new_tokens = 0;
  int64_t cached_tokens = 0;
};

// Sequences that decode in one step: one row each, and the drafts that it verifies behind that row.
struct Decodes {
  int64_t sequences = 0;
  int64_t context_tokens = 0;  // of all of them together, the step's rows included
  int64_t drafts = 0;
  int64_t rows() const { return sequences + drafts; }
  // Of the sequence that has most, where the others have as many or one less.
  int64_t queries() const { return sequences == 0 ? 1 : 1 + (drafts + sequences - 1) / sequences; }
};

// A batch of sequences that each decode one token: time = fixed_s + per_context_token_s * context from
// ramp_tokens on, where context is the sum of the sequences' lengths. Below, down to least_tokens, the line
// ramp_token_s * context continues it; what is below least_tokens takes as long as least_tokens. Straight
// pieces, which is what lets a run of decode steps be summed in closed form.
struct DecodeAttention {
  double fixed_s = 0;
  double per_context_token_s = 0;
  double least_tokens = 0;
  double ramp_tokens = 0;
  double ramp_token_s = 0;
  // Layers that see a part of their context alone: above most_tokens it takes as long as tokens_beyond.
  double most_tokens = std::numeric_limits<double>::infinity();
  double tokens_beyond = 0;

  double at_s(double context_tokens) const;
  // Of the straight piece that begins at `context_tokens`: its slope, and where it ends (infinity: never).
  double slope_s(double context_tokens) const;
  double piece_end(double context_tokens) const;
};

// The same for a layer that stands for the mean of several kinds of layers: a sum of such times.
class DecodeAttentions {
 public:
  static constexpr std::size_t kMost = 2 * kMostLayerGroups;  // attention and an indexer
  // `share`: of the layers.
  struct Part {
    DecodeAttention attention;
    double share = 1;
  };
  void add(const DecodeAttention& attention, double share);
  double at_s(double context_tokens) const;
  double slope_s(double context_tokens) const;
  double piece_end(double context_tokens) const;
  std::span<const Part> parts() const { return {parts_.data(), count_}; }

 private:
  std::array<Part, kMost> parts_;
  std::size_t count_ = 0;
};

// Time of one GEMM C[m, n] = A[m, k] B[k, n] on one GPU, without kernel overhead (see Efficiency).
// a_bytes and b_bytes: bytes per element of activations and of weights; the wider of the two decides which
// of the GPU's peaks counts, and C has the wider of a_bytes and 2. For `table`, *extrapolated is set when
// (m, n, k) or the bytes are not among the measured points.
double gemm_s(const Efficiency& efficiency, const Gpu& gpu, int64_t m, int64_t n, int64_t k, double a_bytes,
              double b_bytes, bool* extrapolated = nullptr);

// Time of causal attention of `chunk.new_tokens` queries over cached and new keys on one GPU, one layer,
// one sequence: F = 4 h d (q m + q^2/2), that is 2 n^2 D for a whole prompt with h d = D.
// `wave`, for thread blocks of bm queries that do not split the keys:
// t = c + ceil(h ceil(q/bm)/SMs) 4 bm d (m + q/2 + bm/2)/(P e/SMs). `blocks`: see attention.h.
double attention_s(const Efficiency& efficiency, const Gpu& gpu, PrefillChunk chunk, int64_t query_heads,
                   int64_t kv_heads, int64_t head_dim, double bytes_per_element);

class CostModel {
 public:
  // REQUIRES: tensor_parallel_size divides the query heads; times placement.ranks it is at most gpu.count. A
  // model without experts takes no placement.
  CostModel(const ModelSpec& model, const HardwareProfile& hardware, int64_t tensor_parallel_size,
            const ExpertPlacement& placement = {});
  ~CostModel();

  // Logits are filtered before tokens are drawn from them: head_s takes so much longer.
  // REQUIRES: before the first head_s.
  void filter_logits(const SamplerTime& time) { sampler_ = time; }

  const ModelSpec& model() const;
  int64_t tensor_parallel_size() const;
  const ExpertPlacement& placement() const;

  // Everything of one layer but attention, for `tokens` rows: GEMMs, element-wise, all-reduces, host; 0 for
  // 0 rows. The mean over layers where they differ (expert layers after dense ones). Memoised per token
  // count. Other ranks have nothing to do: they run along with one row each, which goes to experts as well.
  double linear_layer_s(int64_t tokens) const;
  // The same while other ranks have so many rows together; own 0: nothing to do either.
  double linear_layer_s(int64_t tokens, int64_t tokens_of_others) const;
  // One call over all chunks: their thread blocks share one grid, or flops and bytes add up, and constants
  // are paid once. MLA: with the expansion of the cached latents to keys and values.
  double attention_layer_s(std::span<const PrefillChunk> chunks) const;
  double attention_layer_s(PrefillChunk chunk) const;
  // Of a model whose layers are alike; of others their first group's.
  DecodeAttention decode_attention_layer_s(int64_t sequences, int64_t queries = 1) const;
  // The mean over layers. Where a layer sees a window of its context, the sequences' mean context decides
  // what they see of it: exact as long as all of them, or none, are longer than the window. Of chunks it sees
  // half a chunk, the mean over a long context. `queries`: rows of each sequence, more than one where drafts
  // are verified: they read the context once and multiply it once each.
  DecodeAttentions decode_attentions_layer_s(int64_t sequences, int64_t queries = 1) const;
  // Chunks, and `sequences` that decode over `context_tokens` tokens in all, in one call of the prefill
  // kernel, which does not split keys: a decoding row is a block that walks its sequence's whole context,
  // here the mean one. MLA: two calls, since its decode attends to the latents.
  double mixed_attention_layer_s(std::span<const PrefillChunk> chunks, int64_t sequences,
                                 int64_t context_tokens, int64_t queries = 1) const;

  // One whole layer that prefills one chunk.
  double prefill_layer_s(PrefillChunk chunk) const;
  // Final norm, vocabulary projection and filter of the logits for `sequences` sampled tokens.
  double head_s(int64_t sequences) const;
  // All layers and one sampled token: the TTFT of an empty machine when the chunk fits one step.
  double prefill_s(PrefillChunk chunk) const;
  // One decode step of `sequences` sequences with `context_tokens` tokens in all.
  double decode_step_s(int64_t sequences, int64_t context_tokens) const;

  // HCache's restoration of one layer from hidden states: K and V = H [W_k W_v] for `tokens` rows, rotary
  // embedding, and under tensor parallelism the all-gather of the hidden states that each GPU read 1/t of.
  // MLA: the projection to the latent and the rotary key.
  double project_kv_layer_s(int64_t tokens) const;

  // An element-wise kernel over one layer's state that reads and writes `bytes` in all, each GPU its share.
  // 0 where the profile has no element-wise kernels of their own.
  double elementwise_s(double bytes) const;
  // Moving `bytes` of all layers' state within device memory, each GPU its share: read and written at the
  // memory's bandwidth, or at the share of it that element-wise kernels reach where the profile has it.
  double device_copy_s(double bytes) const;

  // Collectives over the group, `bytes` = size of the full buffer (all-to-all: what one GPU sends in all);
  // 0 for a single GPU. Between the measured sizes of the profile for a group of this size a straight line
  // in (ln bytes, ln time); below the smallest its time is held, above the largest it grows with the bytes.
  // Without such points the ring algorithm over the slowest link.
  double all_reduce_s(double bytes) const;
  double all_gather_s(double bytes) const;
  double all_to_all_s(double bytes) const;

  // Flops that project_kv_layer_s stands for, all GPUs together; for reports.
  double project_kv_layer_flops(int64_t tokens) const;
  double prefill_layer_flops(PrefillChunk chunk) const;

  // True once any GEMM asked for lay outside its table.
  bool extrapolated() const;

 private:
  double own_linear_layer_s(int64_t tokens) const;

  struct State;
  std::unique_ptr<State> state_;
  SamplerTime sampler_;
};

}  // namespace kvcap
