// EngineMemory: the GPU memory that a version of the engine takes in addition to weights and KV. The versions
// are those of vLLM; each number states whether it follows from vLLM's source or was measured.
//
// Sources
//   S  vLLM's source: v1/worker/gpu_worker.py (determine_available_memory, init_device),
//      utils/mem_utils.py (memory_profiling), v1/sample/ops/topk_topp_sampler.py, v1/worker/workspace.py.
//   L  start-up logs of vLLM 0.19.0 on H100-80GB, 60 runs of 28 models: jgchn/llm-d-planner 30ec05f,
//      accuracy/results/v0.19.0/results_raw.csv.
//   V  one model under vLLM 0.15 to 0.19, the same report: results/v0.19.0/report.md at 6417620, part 2.
//   P  the constants of llm-d's capacity planner and their notes, measured on an H100 under vLLM of 2025:
//      0.13 to 0.14 GiB outside PyTorch on one GPU, 0.55 GiB on each of two.
#pragma once

#include "spec/engine_version.h"

namespace kvcap {

inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

struct EngineMemory {
  // The sampler's peak memory per logit of each sampled row, in addition to the logit in the model's own
  // number format. From 0.17 on: the logit, its probability and a random number, 4 bytes each (S). Before
  // 0.17, PyTorch's sort of whole rows: the logit, the sorted values (4), their indices (8), and inside the
  // sort two arrays of (index, segment) pairs (8 each) and one of keys (4) (S). Both reproduce the measured
  // peaks: 1.89 GiB (0.19, L) and 4.76 GiB (0.16, P) for Llama-3.1-8B and 1024 rows.
  double sampler_bytes_per_logit = 0;
  // From 0.17 on: a row of 4-byte logits per multiprocessor, at most one per sampled row (S).
  bool sampler_row_per_multiprocessor = false;
  // How much memory the process takes outside PyTorch between the engine's first query of free memory and the
  // end of its profiling run: loaded kernels and libraries. 0.13 GiB up to 0.17, 0.25 from 0.18 on (V, L:
  // 0.24 to 0.27 for models of 2 to 30 GB).
  double runtime_bytes = 0;
  // Further growth on each GPU of a tensor-parallel group with the custom all-reduce and without fused
  // all-reduces: 0.55 - 0.13 GiB (P). Without either kind of all-reduce, the total is 0.21 on each of eight
  // L40S (start-up log of 0.10.2), as on one GPU.
  double group_bytes = 0;
  // From 0.18 on engines fuse all-reduces with norms if the hardware has kernels for this. Instead of
  // group_bytes they then keep buffers for these kernels: Nvlink::fused_all_reduce_bytes.
  bool fuses_all_reduces = false;
  // The share of the CUDA graphs' memory that an engine includes in its plan, for dense models and for models
  // with experts or recurrent layers. Before 0.21, graphs use memory outside the engine's share; from 0.21
  // on, the engine estimates their memory (S). Dense models use vLLM's second model runner from 0.25.1 on,
  // all models from 0.29 on. Before 0.29, the second runner estimates nothing (vllm-project/vllm issue
  // 49224); from 0.29 on, its estimate is smaller than that of the first runner: 0.40 GiB for Llama-3.1-8B on
  // an A100 under 0.31 and 0.69 for Qwen3.8-27B on an RTX PRO 6000 under 0.29, which are 0.55 and 0.57 of
  // kGraphsBytes and kGraphLayerBytes (start-up logs).
  double planned_graphs_of_dense = 0;
  double planned_graphs = 0;
};
EngineMemory engine_memory(EngineVersion version);

// Constants for all versions, measured only on H100 but used for all GPUs.

// cuBLAS's workspace (32 MiB on Hopper) and small buffers of the runner, part of the profiling run's peak.
// Fitted to 25 dense models of L, whose peaks exceed the sums of their tensors by 0.044 to 0.060 GiB.
inline constexpr double kWorkspaceBytes = 0.05 * kGiB;
// Buffers of NCCL and of the custom all-reduce. They exist before the engine queries free memory and are
// therefore outside its share: free memory falls from 78.68 to 77.66 GiB under tensor parallelism (L).
inline constexpr double kCollectiveBytes = 1.02 * kGiB;
// CUDA graphs: a constant, and a part per graph and layer. Fitted to 23 runs of L with 102 graphs each, which
// take 0.64 to 1.79 GiB: median error 8 %, worst -53 % (latent attention with experts).
inline constexpr double kGraphsBytes = 0.25 * kGiB;
inline constexpr double kGraphLayerBytes = 0.18 * 1024 * 1024;

}  // namespace kvcap
