// The fields of a GPU: its peaks, memory, and efficiency models of its kernels.
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, GemmPoint& o) {
  v.field("m", o.m, {.meaning = "rows", .min = 1, .max = 1e9, .required = true});
  v.field("n", o.n, {.meaning = "columns", .min = 1, .max = 1e9, .required = true});
  v.field("k", o.k, {.meaning = "inner size", .min = 1, .max = 1e9, .required = true});
  v.field("time_s", o.time_s, positive("measured time", "s"));
  v.field("activation_bytes_per_element", o.activation_bytes_per_element, element_bytes("of A"));
  v.field("weight_bytes_per_element", o.weight_bytes_per_element, element_bytes("of B"));
}

static void describe_efficiency(FieldVisitor& v, Efficiency& o, Names models) {
  v.field("model", o.model, {.meaning = "how times follow from flops and bytes", .allowed = models});
  v.field("efficiency", o.efficiency, share("share of peak_flops that is reached"));
  v.field("bandwidth_efficiency", o.bandwidth_efficiency,
          share("share of the memory bandwidth: smooth_max, wave, blocks"));
  v.field("constant_s", o.constant_s, not_negative("added to every call: smooth_max, wave, blocks", "s"));
  v.field("block_m", o.block_m, count("query rows of one thread block: wave, blocks"));
  v.field("block_s", o.block_s, not_negative("of a thread block, beside its keys: blocks", "s"));
  v.field(
      "wave_tail", o.wave_tail,
      {.meaning = "share of the idle time at the ends of waves that is paid: blocks", .min = 0, .max = 1});
  v.field("packed_heads", o.packed_heads,
          {.meaning = "a thread block's rows are of all query heads of a KV head: blocks"});
  v.field("points", o.points, {.meaning = "measured GEMMs: table"});
  v.field("quantize_bandwidth_efficiency", o.quantize_bandwidth_efficiency,
          share("share of the memory bandwidth of the kernel that quantises a GEMM's input", "fused"));
  v.needs("model", "table", "points");
}

static void describe(FieldVisitor& v, DecodeEfficiency& o) {
  v.field("constant_s", o.constant_s, not_negative("of a call", "s"));
  v.field("block_s", o.block_s, not_negative("of each sequence's KV head", "s"));
  v.field("least_tokens", o.least_tokens,
          {.meaning = "a sequence takes as long as one of so many",
           .unit = "tokens",
           .min = 0,
           .max = kMaxCount});
  v.field("bandwidth_efficiency", o.bandwidth_efficiency, share("share of the memory bandwidth"));
  v.field("ramp_bytes", o.ramp_bytes, not_negative("read with ramp_efficiency", "bytes"));
  v.field("ramp_efficiency", o.ramp_efficiency, share("share of the memory bandwidth for them"));
  v.field("split_from_group", o.split_from_group,
          count("query heads per KV head from which keys are split over thread blocks"));
}

static void describe_optional_gemm(FieldVisitor& v, std::string_view name,
                                   std::optional<Efficiency>& efficiency, const FieldSpec& spec) {
  bool present = efficiency.has_value();
  Efficiency inner = efficiency.value_or(Efficiency{});
  v.object(name, &present, spec,
           [&inner](FieldVisitor& w) { describe_efficiency(w, inner, kGemmEfficiencyNames); });
  efficiency = present ? std::optional(inner) : std::nullopt;
}

static void describe(FieldVisitor& v, Elementwise& o) {
  v.field("bandwidth_efficiency", o.bandwidth_efficiency, share("share of the memory bandwidth"));
  v.field("constant_s", o.constant_s, not_negative("per kernel", "s"));
}

void describe(FieldVisitor& v, Gpu& o) {
  v.field("name", o.name, {.meaning = "as sold"});
  v.field("count", o.count, count("GPUs of the server", "GPUs"));
  v.field("peak_flops", o.peak_flops, positive("dense half-precision peak", "flop/s"));
  v.field("peak_flops_fp8", o.peak_flops_fp8, positive_or_absent("dense FP8 peak", "flop/s", "peak_flops"));
  v.field("peak_flops_fp4", o.peak_flops_fp4,
          positive_or_absent("dense FP4 peak", "flop/s", "peak_flops_fp8"));
  v.field("memory_bytes", o.memory_bytes, positive("real bytes: 40 GiB, not 40e9", "bytes"));
  v.field("reported_memory_bytes", o.reported_memory_bytes,
          positive_or_absent("what the driver tells an engine (cudaMemGetInfo)", "bytes", "not known"));
  v.field("context_bytes", o.context_bytes,
          not_negative("of it, taken by a process's CUDA context", "bytes"));
  v.field("memory_bandwidth_bytes_per_s", o.memory_bandwidth_bytes_per_s,
          up_to(1e18, positive("of its memory", "bytes/s")));
  v.field("sm_count", o.sm_count,
          {.meaning = "multiprocessors; needed by wave and blocks", .min = 0, .max = kMaxCount});
  v.group("gemm", {.meaning = "matrix products"},
          [&o](FieldVisitor& w) { describe_efficiency(w, o.gemm, kGemmEfficiencyNames); });
  const auto gemm = [&v](std::string_view name, std::optional<Efficiency>& efficiency,
                         std::string_view meaning, std::string_view absent) {
    describe_optional_gemm(v, name, efficiency, {.meaning = meaning, .absent = absent});
  };
  gemm("gemm_fp8", o.gemm_fp8, "matrix products in FP8", "as gemm");
  gemm("gemm_fp4", o.gemm_fp4, "matrix products in FP4", "as gemm");
  gemm("grouped_gemm", o.grouped_gemm, "all experts of a layer at once", "as gemm");
  gemm("grouped_gemm_fp8", o.grouped_gemm_fp8, "the same in FP8", "as gemm_fp8");
  gemm("grouped_gemm_fp4", o.grouped_gemm_fp4, "the same in FP4", "as gemm_fp4");
  gemm("grouped_gemm_w4a16", o.grouped_gemm_w4a16, "the same with 4-bit weights and 16-bit activations",
       "as grouped_gemm");
  v.group("attention", {.meaning = "attention kernels"},
          [&o](FieldVisitor& w) { describe_efficiency(w, o.attention, kAttentionEfficiencyNames); });
  v.field("decode_attention", o.decode_attention,
          {.meaning = "attention of one query a sequence", .absent = "as attention"});
  v.field("elementwise", o.elementwise,
          {.meaning = "norms, activations, residuals", .absent = "part of gemm"});
  v.field("kernel_overhead_s", o.kernel_overhead_s, not_negative("per GEMM and attention call", "s"));
  v.field("host_overhead_per_layer_s", o.host_overhead_per_layer_s, not_negative("per layer and step", "s"));
  v.field("per_server", o.per_server,
          {.meaning = "GPUs of the server as it is sold, of which count are a share",
           .unit = "GPUs",
           .min = 1,
           .max = kMaxCount,
           .absent = "count: a whole server"});
  v.field("price_usd_per_hour", o.price_usd_per_hour,
          not_negative("rent of one GPU with its share of the server", "USD/h"));
  v.field("purchase_usd", o.purchase_usd, not_negative("the same, bought instead of rented", "USD"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_idle_w", o.power_idle_w, not_negative("one GPU between steps", "W"));
  v.field("power_busy_w", o.power_busy_w,
          not_negative("one GPU during a step", "W", "energy is not counted"));
}

}  // namespace kvcap
