// LayerShapes: the kernels of a model's layers on one GPU of a tensor-parallel group: GEMM shapes, attention
// shapes, element-wise traffic. gemm.h and attention.h convert the shapes into times.
//
// Heads, FFN widths and expert widths are divided by t (rounded up). What cannot be divided is replicated: KV
// heads if t exceeds their number, and the latent projections of MLA.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/attention.h"
#include "cost/gemm.h"
#include "spec/expert_placement.h"
#include "spec/model_spec.h"

namespace kvcap {

// Reads and writes of element-wise kernels: elements per token row; a read and a write count as two.
struct ElementwiseShape {
  double elements_per_token = 0;
  int64_t kernels = 0;
};

struct RoutedExperts {
  std::vector<GemmShape> gemms;  // of one expert
  double count = 0;
  double active = 0;
  int64_t gpus = 1;                 // GPUs that hold count / gpus whole experts each
  std::optional<double> imbalance;  // see ExpertPlacement
  double largest_normal = 0;        // mean_largest_normal(gpus)

  // Returns how many token-expert pairs of `tokens` rows the fullest GPU gets. If each GPU has a part of
  // every expert, these are all pairs. Otherwise they are `imbalance` times the mean or, if `imbalance` is
  // absent, the expected maximum over the GPUs if tokens choose experts at random. With n = tokens, a =
  // active and G = gpus, each of n draws of a out of `count` experts without replacement puts a mean of a/G
  // experts on a given GPU, with variance
  //   v = a/G (1 - 1/G) (count - a)/(count - 1).
  // The sums of n draws are nearly normal, so the expected maximum is
  //   n a/G + sqrt(n v G/(G - 1)) e_G, where e_G is the mean maximum of G standard normals.
  double pairs(double tokens) const;
  // Returns the expected number of distinct experts of the fullest GPU that `tokens` rows reach. Experts are
  // not equally popular: the probability that a token picks an expert has a beta distribution of mean a/E
  // with first parameter 2 (a = active, E = count), so that n tokens miss it with probability b (b + 1) / ((b
  // + n) (b + n + 1)), b = 2 (E/a - 1). For 16 and 64 tokens that pick 4 of 128 experts this gives 47 and 97.
  // aiconfigurator 095f58a assumes a power law of exponent 1.2 for real prompts, with which a layer of
  // experts takes as long as with 45 and 96 distinct experts; equally popular experts would give 51 and 111.
  double distinct(double tokens) const;
  // Returns the rows per reached expert and the number of reached experts on the fullest GPU.
  GemmRows rows(double tokens) const;
  // Returns the expected number of GPUs that have at least one of a token's experts.
  double reached_gpus() const;
};

// Returns the mean of the largest of `count` independent standard normals.
double mean_largest_normal(int64_t count);

// Scan of a recurrent layer: cost per token and per sequence.
struct ScanShape {
  double flops_per_token = 0;
  double bytes_per_token = 0;     // inputs and outputs
  double bytes_per_sequence = 0;  // state, read and written
};

// Token mixing in the layers of one group.
struct MixerShape {
  int64_t layers = 0;
  AttentionKind attention = AttentionKind::full;
  int64_t chunk_tokens = 0;  // per chunk, for chunked attention
  AttentionShape prefill;
  AttentionShape decode;                      // MLA: absorbed, over the latent itself
  std::optional<GemmShape> latent_expansion;  // MLA: GEMM to keys and values of cached tokens, before prefill
  std::optional<AttentionShape> indexer;      // scores every key to choose the keys for attention
  double indexer_share = 1;                   // share of the layers that have an indexer
  std::optional<ScanShape> scan;              // instead of attention
  double kv_elements_per_token = 0;           // one layer on one GPU
};

// Layers with the same GEMMs. In models without groups, a kind is attention with the FFN after it; in models
// with groups, attention and FFNs are separate kinds.
struct LayerKind {
  int64_t layers = 0;
  // GEMMs that every token passes through: those of attention or recurrence, and those of the FFN.
  std::vector<GemmShape> mixer_gemms = {}, gemms = {};
  std::optional<RoutedExperts> experts = {};
  ElementwiseShape elementwise = {};
  ElementwiseShape expert_elementwise = {};  // per token of all ranks, if there are several

  // Returns the flops of the GEMMs for `tokens` rows.
  double gemm_flops(double tokens) const;
};

struct LayerShapes {
  std::vector<LayerKind> kinds;
  std::vector<MixerShape> mixers;    // one per group of layers
  double all_reduces_per_layer = 2;  // under tensor parallelism, mean over layers
  double norm_sums_per_layer = 0;    // mean all-reduces of two numbers per token (QkNorm::all_heads)
  int64_t expert_layers = 0;
  GemmShape kv_projection;                     // projection of hidden states to the cached state
  ElementwiseShape kv_projection_elementwise;  // rotary embedding of the keys; MLA: also the latent's norm
  double activation_elements_per_token = 0;    // residual + input and output of the widest GEMM

  // Returns the mixer of a model whose layers are alike.
  const MixerShape& mixer() const { return mixers.front(); }
};

LayerShapes layer_shapes(const ModelSpec& model, int64_t tensor_parallel_size,
                         const ExpertPlacement& placement = {});

int64_t divide_up(int64_t total, int64_t parts);

}  // namespace kvcap
