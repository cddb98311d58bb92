// Models, machines and efficiency models with round numbers, for tests that do the sums by hand.
#pragma once

#include "cost/cost_model.h"
#include "cost/gpu_memory.h"

namespace kvcap {

inline constexpr double kPeakFlops = 300e12;
inline constexpr double kBandwidth = 2e12;

inline ModelSpec gpt(int64_t hidden, int64_t layers) {
  ModelSpec model;
  model.num_hidden_layers = layers;
  model.hidden_size = hidden;
  model.head_dim = 128;
  model.num_attention_heads = hidden / 128;
  model.num_key_value_heads = hidden / 128;
  model.intermediate_size = 4 * hidden;
  model.vocab_size = 50000;
  model.ffn = FfnKind::plain;
  model.position_encoding = PositionEncoding::absolute;
  return model;
}

inline ModelSpec llama_2_7b() {
  ModelSpec model = gpt(4096, 32);
  model.intermediate_size = 11008;
  model.vocab_size = 32000;
  model.ffn = FfnKind::gated;
  model.position_encoding = PositionEncoding::rope;
  return model;
}

inline ModelSpec llama_2_13b() {
  ModelSpec model = llama_2_7b();
  model.num_hidden_layers = 40;
  model.hidden_size = 5120;
  model.num_attention_heads = model.num_key_value_heads = 40;
  model.intermediate_size = 13824;
  return model;
}

inline ModelSpec deepseek_v2() {
  ModelSpec model = gpt(5120, 60);
  model.num_attention_heads = model.num_key_value_heads = 128;
  model.intermediate_size = 12288;
  model.vocab_size = 102400;
  model.ffn = FfnKind::gated;
  model.position_encoding = PositionEncoding::rope;
  model.latent = LatentAttention{.kv_lora_rank = 512, .q_lora_rank = 1536};
  model.experts =
      Experts{.count = 160, .active = 6, .shared = 2, .intermediate_size = 1536, .dense_layers = 1};
  return model;
}

inline Efficiency constant(double efficiency) {
  return {.model = EfficiencyModel::constant, .efficiency = efficiency};
}

inline Efficiency smooth_max(double efficiency, double bandwidth_efficiency, double constant_s) {
  return {.model = EfficiencyModel::smooth_max,
          .efficiency = efficiency,
          .bandwidth_efficiency = bandwidth_efficiency,
          .constant_s = constant_s};
}

inline Efficiency table() {
  return {.model = EfficiencyModel::table,
          .points = {{1024, 4096, 4096, 160e-6},
                     {256, 4096, 4096, 40e-6},
                     {64, 4096, 4096, 20e-6},
                     {64, 12288, 4096, 50e-6},
                     {256, 12288, 4096, 100e-6}}};
}

inline HardwareProfile machine(double bandwidth = kBandwidth) {
  HardwareProfile hardware;
  hardware.gpu.count = 8;
  hardware.gpu.peak_flops = kPeakFlops;
  hardware.gpu.memory_bytes = 40.0 * 1024 * 1024 * 1024;
  hardware.gpu.memory_bandwidth_bytes_per_s = bandwidth;
  hardware.gpu.sm_count = 100;
  hardware.gpu.gemm = constant(1);
  hardware.gpu.attention = constant(1);
  hardware.pcie = {25e9, 20e9, 10e-6};
  hardware.nvlink = Nvlink{300e9, 8e-6};
  return hardware;
}

// Memory so fast that only flops count.
inline HardwareProfile compute_bound_machine() { return machine(1e30); }

// Peak so high that only bytes count.
inline HardwareProfile memory_bound_machine() {
  HardwareProfile hardware = machine();
  hardware.gpu.peak_flops = 1e30;
  return hardware;
}

inline Efficiency wave() {
  return {.model = EfficiencyModel::wave,
          .efficiency = 0.8,
          .bandwidth_efficiency = 0.7,
          .constant_s = 10e-6,
          .block_m = 64};
}

inline double gemm(const Efficiency& efficiency, int64_t m, int64_t n, int64_t k,
                   bool* extrapolated = nullptr) {
  return gemm_s(efficiency, machine().gpu, m, n, k, 2, 2, extrapolated);
}

inline GpuMemory memory_by_shapes(const ModelSpec& model, const HardwareProfile& hardware, int64_t gpus = 1,
                                  const ExpertPlacement& placement = {}) {
  return gpu_memory(
      model, hardware,
      {.tensor_parallel_size = gpus, .placement = placement, .capacity_model = KvCapacityModel::simple});
}

// Of the first term with this name; 0 where there is none.
inline double term_bytes(const GpuMemory& memory, const std::string& name) {
  for (const MemoryTerm& one : memory.terms) {
    if (one.name == name) return one.bytes;
  }
  return 0;
}

}  // namespace kvcap
