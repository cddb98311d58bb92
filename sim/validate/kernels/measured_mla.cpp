// The rows are aiconfigurator's (device/mla.csv): DeepSeek's latents of 512 + 64 elements, 16 or 128 heads on
// one GPU. Which kernel a row is of follows from its flops: SGLang's prompts on Hopper multiply the latents
// themselves (576 + 512 per pair and head: 60 % of an H200's peak; keys and values would be 18 %), as all
// decodes do. Its prompts on the GB200 multiply expanded keys and values (192 + 128; latents would be 130 %
// of the peak), and so do vLLM's on the A100.
#include "validate/kernels/measured_mla.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "cost/attention.h"
#include "cost/cost_model.h"
#include "cost/layer_shapes.h"
#include "metrics/statistics/quantiles.h"
#include "scenario/load.h"
#include "workload/logs/csv.h"

namespace kvcap {
namespace {

// Those of attention kernels that nothing is fitted to (measured_attention.cpp), set before the first run.
constexpr double kMlaMedian = 0.12;
constexpr double kMlaP90 = 0.40;

struct MlaGpus {
  std::string name;  // in the file
  std::string profile;
  double l2_bytes = 0;           // between a sixteenth and nine tenths of it decodes read from there
  bool expands_prompts = false;  // to keys and values
  std::string reason = {};       // why nothing is promised
  double peak_flops = 0;         // 0: the profile's
  double bandwidth_bytes_per_s = 0;
};
const MlaGpus kMlaGpus[] = {
    {"h100_sxm", "h100-sxm", 50e6},
    {"h200_sxm", "h200-sxm", 50e6},
    {"rtx_pro_6000_server", "rtx-pro-6000", 250e6, false,
     "Triton kernels, which reach a third of what this GPU's attention kernels do that the profile is fitted "
     "to"},
    {"gb200", "b200-sxm", 126e6, true, "the profile is a B200's, interpolated from other kernels of this GPU",
     2500e12, 8000e9},
    {"a100_sxm", "a100-80g-sxm", 40e6, true,
     "vLLM's whole call of 0.3 ms at least, which engines hide in a CUDA graph; ours is the kernel's"},
};

struct MlaCall {
  bool decodes = false;
  double element_bytes = 2;
  int64_t heads = 0, batch = 0, new_tokens = 0, context = 0;
  double time_s = 0;

  auto shape() const { return std::tie(decodes, element_bytes, heads, batch, new_tokens, context); }
  double kv_bytes() const { return static_cast<double>(batch * context * (512 + 64)) * element_bytes; }
};

std::vector<MlaCall> calls_of(const std::string& path, const MlaGpus& gpus) {
  std::vector<MlaCall> calls;
  std::set<std::tuple<bool, double, int64_t, int64_t, int64_t, int64_t>> seen;  // rows are repeated
  const std::vector<CsvColumn> columns = {{"gpu"},   {"phase"},      {"kv_dtype"},          {"heads"},
                                          {"batch"}, {"new_tokens"}, {"context_or_prefix"}, {"t_ms"}};
  for_each_csv_row(path, BadRow::skip, columns, true, [&](const CsvRow& row) {
    const auto number = [&](std::size_t column) {
      return std::strtod(std::string(row.text(column)).c_str(), nullptr);
    };
    const auto whole = [&](std::size_t column) { return static_cast<int64_t>(number(column)); };
    if (row.text(0) != gpus.name) return true;
    const MlaCall call{.decodes = row.text(1) == "decode",
                       .element_bytes = row.text(2) == "fp8" ? 1.0 : 2.0,
                       .heads = whole(3),
                       .batch = whole(4),
                       .new_tokens = whole(5),
                       .context = whole(6),
                       .time_s = 1e-3 * number(7)};
    if (seen.insert(call.shape()).second) calls.push_back(call);
    return true;
  });
  return calls;
}

std::string kind_of(const MlaCall& call, const MlaGpus& gpus) {
  const std::string phase = call.decodes ? "decode" : "prefill";
  if (call.element_bytes < 2) return phase + ".fp8";
  if (!call.decodes) return phase + (call.new_tokens < 128 ? ".short" : "");
  const double bytes = call.kv_bytes();
  if (call.context < 128) return phase + ".tiny";
  return phase + (bytes >= gpus.l2_bytes / 16 && bytes < 0.9 * gpus.l2_bytes ? ".l2" : "");
}

double modelled_s(const MlaCall& call, const MlaGpus& gpus, const HardwareProfile& hardware) {
  const ModelSpec model{.num_hidden_layers = 1,
                        .hidden_size = 7168,
                        .num_attention_heads = call.heads,
                        .num_key_value_heads = call.heads,
                        .head_dim = 128,
                        .intermediate_size = 1024,
                        .kv_bytes_per_element = call.element_bytes,
                        .latent = LatentAttention{.kv_lora_rank = 512,
                                                  .q_lora_rank = 1536,
                                                  .qk_rope_head_dim = 64,
                                                  .qk_nope_head_dim = 128,
                                                  .v_head_dim = 128}};
  const CostModel cost(model, hardware, 1);
  if (call.decodes) {
    const auto context = static_cast<double>(call.batch * call.context);
    return cost.decode_attention_layer_s(call.batch).at_s(context);
  }
  const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(call.batch),
                                         {call.new_tokens, call.context});
  if (gpus.expands_prompts) return cost.attention_layer_s(chunks);
  const AttentionShape latents = layer_shapes(model, 1).mixer().decode;
  return prefill_attention_s(hardware.gpu.attention, hardware.gpu, chunks, latents) +
         hardware.gpu.kernel_overhead_s;
}

std::string reason_of(const std::string& kind, const MlaGpus& gpus) {
  if (!gpus.reason.empty()) return gpus.reason;
  if (kind.ends_with(".l2")) return "the collector's latents stay in L2, an engine's come from memory";
  if (kind.ends_with(".tiny") || kind.ends_with(".short")) {
    return "below 128 tokens constants decide, which are those of other kernels";
  }
  if (kind == "decode.fp8") {
    return "on Hopper this kernel is up to nine times slower with 8 bits than with 16; ours reads half of "
           "the bytes";
  }
  if (kind.ends_with(".fp8")) return "no constant is fitted to them: their bytes are halved, nothing else";
  if (kind == "prefill") {
    return "kernels of latents reach 60 % of the peak, and less in short prompts; the profile is fitted to "
           "heads of 128 "
           "elements, whose kernels reach more";
  }
  return "";
}

}  // namespace

std::vector<Check> mla_checks(const std::string& data) {
  const std::string path = data + "/device/mla.csv";
  Check about{.suite = "measured", .claim = Claim::at_most};
  if (!std::filesystem::exists(path)) {
    about.id = "mla";
    about.what = "latent attention: relative error of its time";
    about.reason = "no " + path + " (--data)";
    return {about};
  }
  std::vector<Check> checks;
  for (const MlaGpus& gpus : kMlaGpus) {
    HardwareProfile hardware = load_hardware(gpus.profile);
    if (gpus.peak_flops > 0) hardware.gpu.peak_flops = gpus.peak_flops;
    if (gpus.bandwidth_bytes_per_s > 0) {
      hardware.gpu.memory_bandwidth_bytes_per_s = gpus.bandwidth_bytes_per_s;
    }
    std::map<std::string, std::vector<double>> errors;
    for (const MlaCall& call : calls_of(path, gpus)) {
      errors[kind_of(call, gpus)].push_back(std::abs(modelled_s(call, gpus, hardware) / call.time_s - 1));
    }
    for (auto& [kind, of_kind] : errors) {
      std::sort(of_kind.begin(), of_kind.end());
      for (const auto& [which, share, most] :
           {std::tuple{"median", 0.5, kMlaMedian}, std::tuple{"p90", 0.9, kMlaP90}}) {
        Check one = about;
        one.id = "mla." + kind + "." + gpus.profile + "." + which;
        one.what = "latent attention, " + kind + " of " + gpus.name + ", profile " + gpus.profile +
                   ": relative error, not fitted, " + which + " of " + std::to_string(of_kind.size());
        one.simulated = {quantile_of_sorted(of_kind, share)};
        one.reference = {most};
        one.reason = reason_of(kind, gpus);
        one.promised = one.reason.empty();
        judge(one);
        checks.push_back(std::move(one));
      }
    }
  }
  return checks;
}

}  // namespace kvcap
