// GpuMemory: where the memory of one GPU of a tensor-parallel group goes, and how many tokens of KV it holds.
// Every command takes its KV capacity from gpu_memory(). As vLLM plans it at start-up
// (KvCapacityModel::engine):
//
//   share  = memory that the driver reports * gpu_memory_utilization
//   KV     = share - weights as loaded - peak of the profiling run - growth outside PyTorch
//   blocks = floor(KV / bytes of a block), tokens = blocks * block_size (KvLayout::tokens_of)
//
// The profiling run computes max_num_batched_tokens rows and samples max_num_seqs of them. What exists
// before the engine looks at free memory (the CUDA context, NCCL's buffers) is not charged, nor in some
// versions are CUDA graphs: they have to fit in what the share leaves. All GPUs of a group are alike, so the
// group's capacity in tokens is that of one GPU.
//
// SGLang (static_share) and TensorRT-LLM (share_of_free) start from what is free beside the context and NCCL:
//
//   KV = free * mem_fraction_static - weights,   KV = (free - weights - peak) * free_gpu_memory_fraction
//
// The simple model knows weights and shapes alone: the parameters, divided evenly, and the rows of one step:
// the residual, and the input and output of the widest GEMM, for max_num_batched_tokens rows; routed experts
// hold the rows of all active experts at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/draft_memory.h"
#include "cost/engine_memory.h"
#include "spec/expert_placement.h"
#include "spec/hardware_profile.h"
#include "spec/kv_capacity_model.h"
#include "spec/model_spec.h"

namespace kvcap {

struct EngineSettings {
  EngineVersion version = {0, 19};
  int64_t tensor_parallel_size = 1;
  ExpertPlacement placement = {};  // of a model with experts
  double gpu_memory_utilization = 0.9;
  int64_t max_num_batched_tokens = 2048;
  int64_t max_num_seqs = 256;
  int64_t block_size = 16;
  DraftMemory draft;  // of speculative decoding
  KvCapacityModel capacity_model = KvCapacityModel::engine;
  bool is_first_start = true;  // kernels are not compiled yet
};

// Weights of one GPU as vLLM loads them, in bytes: the vocabulary padded to a multiple of 64, in the
// activations' type like norms and routers; the table of rotary positions; under tensor parallelism KV heads
// replicated where there are fewer than GPUs, norms, routers and MLA's down projections on every GPU. Routed
// experts are spread over the GPUs of all ranks: of whole ones the fullest GPU's.
double loaded_weight_bytes(const ModelSpec& model, int64_t tensor_parallel_size,
                           const ExpertPlacement& placement = {});

// Bytes that are alive at the profiling run's three candidates for its peak, and beside them the workspaces
// of routed experts, which an engine keeps. The run's peak is workspaces + the largest of the three.
struct ActivationPeaks {
  double forward_bytes = 0;  // a layer: input, residual, attention's output, the widest pair of tensors
  double sampler_bytes = 0;  // all rows' last hidden states, and the logits of the sampled ones
  // First start only: torch.compile times kernels on copies of their inputs, the embedding among them.
  // Inferred: two runs of L with pipeline parallelism peak at 1.05 and 1.10 GiB where the embedding has 0.98.
  double compile_bytes = 0;
  double expert_bytes = 0;     // workspaces of routed experts
  double workspace_bytes = 0;  // of libraries
  double peak_bytes() const;
  const char* largest() const;  // "forward", "sampler" or "compile"
};
ActivationPeaks activation_peaks(const ModelSpec& model, const HardwareProfile& hardware,
                                 const EngineSettings& settings);

enum class TermSource : uint8_t { shapes, profile, engine, fitted, unknown };

struct MemoryTerm {
  std::string name;
  double bytes = 0;
  bool charged = true;  // to the engine's share of the memory
  TermSource source = TermSource::shapes;
  std::string detail;  // where the number comes from, in words
};

struct GpuMemory {
  double reported_bytes = 0;
  double share_bytes = 0;
  std::vector<MemoryTerm> terms;
  double kv_bytes = 0;  // share_bytes without the charged terms; negative where these exceed it
  double block_bytes = 0;
  int64_t blocks = 0;
  int64_t tokens = 0;
  double weight_bytes = 0;  // without a drafter's
  // Whether an engine would start: it asks for its share of memory that is free then.
  double free_bytes() const;

  double bytes(bool charged) const;
};
// Without Gpu::reported_memory_bytes the memory is memory_bytes. With HardwareProfile::engine its
// kv_capacity_share applies.
GpuMemory gpu_memory(const ModelSpec& model, const HardwareProfile& hardware, const EngineSettings& settings);

}  // namespace kvcap
