// GpuMemory: how the memory of one GPU of a tensor-parallel group is used, and how many tokens of KV fit.
// Every command takes its KV capacity from gpu_memory(). KvCapacityModel::engine plans as vLLM does at
// start-up:
//
//   share  = memory that the driver reports * gpu_memory_utilization
//   KV     = share - weights as loaded - peak of the profiling run - growth outside PyTorch
//   blocks = floor(KV / bytes of a block), tokens = blocks * block_size (KvLayout::tokens_of)
//
// The profiling run computes max_num_batched_tokens rows and samples max_num_seqs of them. Memory that is in
// use when the engine queries free memory (the CUDA context, NCCL's buffers) is not charged to the share. In
// some versions, CUDA graphs are not charged either and must then fit outside the share. All GPUs of a group
// are alike, so one GPU determines the group's capacity in tokens.
//
// SGLang (static_share) and TensorRT-LLM (share_of_free) start from the memory that the context and NCCL
// leave free:
//
//   KV = free * mem_fraction_static - weights,   KV = (free - weights - peak) * free_gpu_memory_fraction
//
// The simple model counts the parameters, divided evenly, and the activations of one step's
// max_num_batched_tokens rows: the residual, and the input and output of the widest GEMM. Routed experts need
// the rows of all active experts at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/draft_memory.h"
#include "cost/engine_memory.h"
#include "cost/lora_memory.h"
#include "cost/pipeline_stages.h"
#include "spec/expert_placement.h"
#include "spec/hardware_profile.h"
#include "spec/kv_capacity_model.h"
#include "spec/model_spec.h"

namespace kvcap {

struct EngineSettings {
  EngineVersion version = {0, 19};
  int64_t tensor_parallel_size = 1;
  int64_t pipeline_parallel_size = 1;
  int64_t decode_context_parallel_size = 1;
  ExpertPlacement placement = {};  // for models with experts
  double gpu_memory_utilization = 0.9;
  int64_t max_num_batched_tokens = 2048;
  int64_t max_num_seqs = 256;
  int64_t block_size = 16;
  DraftMemory draft;  // for speculative decoding
  LoraSlots lora;
  KvCapacityModel capacity_model = KvCapacityModel::engine;
  bool is_first_start = true;  // kernels are not compiled yet
};

// Returns the bytes of weights on one GPU as vLLM loads them. The vocabulary is padded to a multiple of 64
// and has the activations' type, like norms and routers; the table of rotary positions is included. Under
// tensor parallelism, KV heads are replicated if they are fewer than the GPUs, and norms, routers and MLA's
// down projections are on every GPU. Routed experts are divided over the GPUs of all ranks; if each GPU has
// whole experts, the result is for the fullest GPU. `ends`: which vocabulary projections a pipeline stage
// has.
double loaded_weight_bytes(const ModelSpec& model, int64_t tensor_parallel_size,
                           const ExpertPlacement& placement = {}, const PipelineStage& ends = {});

// Bytes in use at the three points where the profiling run may peak, and the workspaces of routed experts,
// which an engine keeps. The run's peak is workspaces + the largest of the three.
struct ActivationPeaks {
  double forward_bytes = 0;  // a layer: input, residual, attention's output, the widest pair of tensors
  double sampler_bytes = 0;  // the last hidden states of all rows, and the logits of the sampled rows
  // First start only: torch.compile times kernels on copies of their inputs, including the embedding.
  // Inferred from two runs of L (engine_memory.h) with pipeline parallelism: they peak at 1.05 and 1.10 GiB
  // and have an embedding of 0.98 GiB.
  double compile_bytes = 0;
  double expert_bytes = 0;     // workspaces of routed experts
  double workspace_bytes = 0;  // workspaces of libraries such as cuBLAS
  double peak_bytes() const;
  const char* largest() const;  // "forward", "sampler" or "compile"
};
ActivationPeaks activation_peaks(const ModelSpec& model, const HardwareProfile& hardware,
                                 const EngineSettings& settings, const PipelineStage& ends = {});

enum class TermSource : uint8_t { shapes, profile, engine, fitted, unknown };

struct MemoryTerm {
  std::string name;
  double bytes = 0;
  bool charged = true;  // counts towards the engine's share of the memory
  TermSource source = TermSource::shapes;
  std::string detail;  // where the number comes from, for reports
};

struct GpuMemory {
  double reported_bytes = 0;
  double share_bytes = 0;
  std::vector<MemoryTerm> terms;
  double kv_bytes = 0;  // share_bytes minus the charged terms; negative if these exceed it
  double block_bytes = 0;
  int64_t blocks = 0;
  int64_t tokens = 0;
  double weight_bytes = 0;  // without the drafter's weights
  // Returns the memory that is free when the engine starts. The engine's share must fit into this memory.
  double free_bytes() const;

  double bytes(bool charged) const;
};
// Returns the memory of one GPU in the pipeline stage with the fewest blocks; all stages then have this
// number of blocks (vLLM, v1/core/kv_cache_utils.py). memory_bytes is used if Gpu::reported_memory_bytes is
// absent. The kv_capacity_share of HardwareProfile::engine, if present, is applied.
GpuMemory gpu_memory(const ModelSpec& model, const HardwareProfile& hardware, const EngineSettings& settings);

}  // namespace kvcap
