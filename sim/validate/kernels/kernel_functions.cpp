#include "validate/kernels/kernel_functions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "cost/attention.h"
#include "cost/cost_model.h"
#include "cost/gemm.h"
#include "cost/layer_shapes.h"

namespace kvcap {
namespace {

double number(const KernelCall& call, const char* name) {
  const auto found = call.find(name);
  if (found != call.end()) return found->second;
  throw InputError("calls: found no \"" + std::string(name) + "\", which the kernel needs");
}
int64_t integer(const KernelCall& call, const char* name) { return std::llround(number(call, name)); }

ModelSpec one_layer(int64_t heads, int64_t kv_heads) {
  return {.num_hidden_layers = 1,
          .hidden_size = 1024,
          .num_attention_heads = heads,
          .num_key_value_heads = kv_heads,
          .head_dim = 128,
          .intermediate_size = 1024};
}
ModelSpec attention_layer(const KernelCall& call) {
  ModelSpec model = one_layer(integer(call, "heads"), integer(call, "kv_heads"));
  model.kv_bytes_per_element = number(call, "element_bytes");
  return model;
}
// Returns a model with one layer of DeepSeek's latent attention: latents of 512 + 64 elements.
ModelSpec latent_layer(const KernelCall& call) {
  ModelSpec model = one_layer(integer(call, "heads"), integer(call, "heads"));
  model.hidden_size = 7168;
  model.kv_bytes_per_element = number(call, "element_bytes");
  model.latent = LatentAttention{.kv_lora_rank = 512,
                                 .q_lora_rank = 1536,
                                 .qk_rope_head_dim = 64,
                                 .qk_nope_head_dim = 128,
                                 .v_head_dim = 128};
  return model;
}

// ---- GEMMs: rows m, weights n x k ----

KernelSeconds gemm_alone(const HardwareProfile& hardware) {
  return [gpu = hardware.gpu](const KernelCall& call) {
    return gemm_s(gpu.gemm, gpu, integer(call, "m"), integer(call, "n"), integer(call, "k"), 2, 2);
  };
}

// The GEMM models of one GPU, created once for each number format.
class GemmsOfFormats {
 public:
  explicit GemmsOfFormats(const Gpu& gpu) : gpu_(gpu) {}
  const Gemms& of(const KernelCall& call) {
    const double activation = number(call, "activation_bytes"), weight = number(call, "weight_bytes");
    std::unique_ptr<Gemms>& gemms = gemms_[{activation, weight}];
    if (!gemms) gemms = std::make_unique<Gemms>(gpu_, ElementBytes{activation, weight, 2});
    return *gemms;
  }

 private:
  Gpu gpu_;
  std::map<std::pair<double, double>, std::unique_ptr<Gemms>> gemms_;
};

KernelSeconds gemm(const HardwareProfile& hardware) {
  return
      [gpu = hardware.gpu, gemms = std::make_shared<GemmsOfFormats>(hardware.gpu)](const KernelCall& call) {
        bool extrapolated = false;
        const GemmShape shape{integer(call, "n"), integer(call, "k")};
        return gemms->of(call).time_s({number(call, "m"), 1}, shape, &extrapolated) + gpu.kernel_overhead_s;
      };
}

// Returns the time of one fused layer of experts: up and gate projections, activation, down projection, sum.
// Each of the `gpus` GPUs computes an equal number of whole experts.
double experts_s(const Gpu& gpu, const Gemms& gemms, const KernelCall& call) {
  const double tokens = number(call, "tokens"), gpus = number(call, "gpus");
  const int64_t hidden = integer(call, "hidden"), intermediate = integer(call, "intermediate");
  // Balanced routing: all experts of the GPU are active if there are enough rows.
  const double rows_here = tokens * number(call, "active") / gpus;
  const double reached = std::min(std::floor(number(call, "experts") / gpus), std::max(1.0, rows_here));
  const GemmRows rows{std::max(1.0, rows_here) / reached, reached, true};
  bool extrapolated = false;
  double time_s = gemms.time_s(rows, {2 * intermediate, hidden}, &extrapolated) +
                  gemms.time_s(rows, {hidden, intermediate}, &extrapolated) + 2 * gpu.kernel_overhead_s;
  if (gpu.elementwise) {
    const double elements = 3 * rows_here * static_cast<double>(intermediate) +
                            (rows_here + tokens) * static_cast<double>(hidden);
    time_s += 2 * elements / (gpu.memory_bandwidth_bytes_per_s * gpu.elementwise->bandwidth_efficiency) +
              2 * gpu.elementwise->constant_s;
  }
  return time_s;
}
KernelSeconds experts(const HardwareProfile& hardware) {
  return [gpu = hardware.gpu, gemms = std::make_shared<GemmsOfFormats>(hardware.gpu)](
             const KernelCall& call) { return experts_s(gpu, gemms->of(call), call); };
}

// ---- attention: `batch` equal prompts of new_tokens after cached_tokens, or decoding sequences ----

std::vector<PrefillChunk> prompts_of(const KernelCall& call) {
  return std::vector<PrefillChunk>(static_cast<std::size_t>(number(call, "batch")),
                                   {integer(call, "new_tokens"), integer(call, "cached_tokens")});
}
double decode_s(const CostModel& cost, const KernelCall& call) {
  const int64_t batch = integer(call, "batch");
  return cost.decode_attention_layer_s(batch).at_s(
      static_cast<double>(batch * integer(call, "cached_tokens")));
}
KernelSeconds prefill_attention(const HardwareProfile& hardware) {
  return [hardware](const KernelCall& call) {
    return CostModel(attention_layer(call), hardware, 1).attention_layer_s(prompts_of(call));
  };
}
KernelSeconds decode_attention_of(const HardwareProfile& hardware) {
  return [hardware](const KernelCall& call) {
    return decode_s(CostModel(attention_layer(call), hardware, 1), call);
  };
}
KernelSeconds prefill_attention_alone(const HardwareProfile& hardware) {
  return [gpu = hardware.gpu](const KernelCall& call) {
    return attention_s(gpu.attention, gpu, {integer(call, "new_tokens"), integer(call, "cached_tokens")},
                       integer(call, "heads"), integer(call, "kv_heads"), 128, 2);
  };
}

// If `expands` is not 0, the latents are first expanded to keys and values; otherwise attention works on the
// latents themselves.
KernelSeconds latent_prefill(const HardwareProfile& hardware) {
  return [hardware](const KernelCall& call) {
    const ModelSpec model = latent_layer(call);
    if (number(call, "expands") != 0)
      return CostModel(model, hardware, 1).attention_layer_s(prompts_of(call));
    return prefill_attention_s(hardware.gpu.attention, hardware.gpu, prompts_of(call),
                               layer_shapes(model, 1).mixer().decode) +
           hardware.gpu.kernel_overhead_s;
  };
}
KernelSeconds latent_decode(const HardwareProfile& hardware) {
  return [hardware](const KernelCall& call) {
    return decode_s(CostModel(latent_layer(call), hardware, 1), call);
  };
}

// ---- collectives ----

template <auto time_s, auto points>
KernelSeconds collective(const HardwareProfile& hardware) {
  return [hardware](const KernelCall& call) {
    const int64_t gpus = integer(call, "gpus");
    const double bytes = number(call, "bytes");
    if (!hardware.collectives) return std::nan("");
    const auto& known = (*hardware.collectives).*points;
    const bool is_point = std::any_of(known.begin(), known.end(), [&](const CollectivePoint& point) {
      return point.gpus == gpus && point.bytes == bytes;
    });
    return is_point ? std::nan("") : (CostModel(one_layer(8, 8), hardware, gpus).*time_s)(bytes);
  };
}

struct KernelRow {
  std::string_view name;
  KernelSeconds (*seconds)(const HardwareProfile& hardware);
};
constexpr KernelRow kKernels[] = {
    {"gemm", gemm},              // m, n, k, activation_bytes, weight_bytes
    {"gemm_alone", gemm_alone},  // without launch overhead: m, n, k; 16 bits
    {"experts", experts},  // tokens, hidden, intermediate, active, experts, gpus and the bytes of a GEMM
    {"prefill_attention", prefill_attention},   // heads, kv_heads, element_bytes, batch, new_, cached_tokens
    {"decode_attention", decode_attention_of},  // the same without new_tokens
    {"prefill_attention_alone", prefill_attention_alone},  // heads, kv_heads, new_tokens, cached_tokens
    {"latent_prefill", latent_prefill},  // heads, element_bytes, batch, new_tokens, cached_tokens, expands
    {"latent_decode", latent_decode},    // heads, element_bytes, batch, cached_tokens
    {"all_reduce", collective<&CostModel::all_reduce_s, &Collectives::all_reduce>},  // gpus, bytes
    {"all_gather", collective<&CostModel::all_gather_s, &Collectives::all_gather>},
    {"all_to_all", collective<&CostModel::all_to_all_s, &Collectives::all_to_all>},
};

}  // namespace

KernelSeconds kernel_seconds(const std::string& kernel, const HardwareProfile& hardware) {
  std::vector<std::string_view> names;
  for (const KernelRow& row : kKernels) {
    if (row.name == kernel) return row.seconds(hardware);
    names.push_back(row.name);
  }
  throw InputError("kernel: found \"" + kernel + "\", allowed: " + joined(names) + suggestion(kernel, names));
}

}  // namespace kvcap
