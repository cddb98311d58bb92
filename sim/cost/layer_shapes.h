// The kernels of a model's layers as one GPU of a tensor-parallel group sees them: GEMM shapes, attention
// shapes, element-wise traffic. Everything here is shape; gemm.h and attention.h turn shape into time.
//
// Heads, FFN widths and expert widths are divided by t (rounded up). What cannot be divided is replicated:
// KV heads when t exceeds their number, and the latent projections of MLA.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/attention.h"
#include "cost/gemm.h"
#include "spec/expert_placement.h"
#include "spec/model_spec.h"

namespace kvcap {

// Reads and writes of element-wise kernels: elements per token row, counted once read and once written.
struct ElementwiseShape {
  double elements_per_token = 0;
  int64_t kernels = 0;
};

struct RoutedExperts {
  std::vector<GemmShape> gemms;  // of one expert
  double count = 0;
  double active = 0;
  int64_t gpus = 1;                 // that the experts are spread over, count / gpus whole ones each
  std::optional<double> imbalance;  // see ExpertPlacement
  double largest_normal = 0;        // mean_largest_normal(gpus)

  // Token-expert pairs of `tokens` rows on the fullest GPU: all of them where each GPU has a part of every
  // expert. Else `imbalance` times the mean or, where it is absent, the mean of the maximum of `gpus` sums of
  // `tokens` draws of `active` out of `count` without replacement, each normal in the limit: with draws of
  // mean a/G and variance v = a/G (1 - 1/G) (count - a)/(count - 1) that is
  // n a/G + sqrt(n v G/(G - 1)) e_G, with e_G the mean maximum of G standard normals.
  double pairs(double tokens) const;
  // Expected number of distinct experts of that GPU that `tokens` rows reach. Experts are not equally
  // popular: the chance c that a token picks an expert is drawn from a beta distribution of mean a/E with
  // first parameter 2, so that n tokens miss it with b (b + 1) / ((b + n) (b + n + 1)), b = 2 (E/a - 1). For
  // 16 and 64 tokens that pick 4 of 128 experts that is 47 and 97. aiconfigurator 095f58a takes a power law
  // of exponent 1.2 for real prompts, and its layers of experts then last as those of 45 and 96; equally
  // popular ones would be 51 and 111.
  double distinct(double tokens) const;
  // The rows of one expert and the number of experts they are spread over, on that GPU.
  GemmRows rows(double tokens) const;
  // Expected number of GPUs that have at least one of a token's experts.
  double reached_gpus() const;
};

// Mean of the largest of `count` independent standard normals.
double mean_largest_normal(int64_t count);

// The scan of a recurrent layer: what a token and a sequence cost.
struct ScanShape {
  double flops_per_token = 0;
  double bytes_per_token = 0;     // its inputs and outputs
  double bytes_per_sequence = 0;  // its state, read and written
};

// How the layers of one group mix tokens.
struct MixerShape {
  int64_t layers = 0;
  AttentionKind attention = AttentionKind::full;
  int64_t chunk_tokens = 0;  // chunked
  AttentionShape prefill;
  AttentionShape decode;                      // MLA: absorbed, over the latent itself
  std::optional<GemmShape> latent_expansion;  // MLA: keys and values of cached tokens, before prefill
  std::optional<AttentionShape> indexer;      // scores of every key that choose what is attended to
  double indexer_share = 1;                   // of the layers that have one
  std::optional<ScanShape> scan;              // in place of attention
  double kv_elements_per_token = 0;           // of one layer, held by one GPU
};

// Layers, or parts of them, with the same GEMMs: those of attention and of the FFN behind it; in models in
// groups those of attention alone, and of FFNs alone.
struct LayerKind {
  int64_t layers = 0;
  // Both are passed by every token: those of attention or recurrence, and those of the FFN.
  std::vector<GemmShape> mixer_gemms = {}, gemms = {};
  std::optional<RoutedExperts> experts = {};
  ElementwiseShape elementwise = {};
  ElementwiseShape expert_elementwise = {};  // for each token of all ranks, where there are several

  // Flops of the GEMMs for `tokens` rows.
  double gemm_flops(double tokens) const;
};

struct LayerShapes {
  std::vector<LayerKind> kinds;
  std::vector<MixerShape> mixers;    // one for each group of layers
  double all_reduces_per_layer = 2;  // under tensor parallelism, in the mean over layers
  double norm_sums_per_layer = 0;    // all-reduces of two numbers a token (QkNorm::all_heads), likewise
  int64_t expert_layers = 0;
  GemmShape kv_projection;                     // hidden states to what the cache holds
  ElementwiseShape kv_projection_elementwise;  // rotary embedding of the keys; MLA: also the latent's norm
  double activation_elements_per_token = 0;    // residual + input and output of the widest GEMM

  // Of models whose layers are alike.
  const MixerShape& mixer() const { return mixers.front(); }
};

LayerShapes layer_shapes(const ModelSpec& model, int64_t tensor_parallel_size,
                         const ExpertPlacement& placement = {});

int64_t divide_up(int64_t total, int64_t parts);

}  // namespace kvcap
