// The fields of a GPU: its peaks, memory, and efficiency models of its kernels.
#include "scenario/fields/specs.h"

namespace kvcap {

using namespace field_specs;

static void describe(FieldVisitor& v, GemmPoint& o) {
  v.field("m", o.m, {.meaning = "rows of A and C", .min = 1, .max = 1e9, .required = true});
  v.field("n", o.n, {.meaning = "columns of B and C", .min = 1, .max = 1e9, .required = true});
  v.field("k", o.k, {.meaning = "columns of A, rows of B", .min = 1, .max = 1e9, .required = true});
  v.field("time_s", o.time_s, positive("measured time", "s"));
  v.field("activation_bytes_per_element", o.activation_bytes_per_element,
          element_bytes("size of an element of A"));
  v.field("weight_bytes_per_element", o.weight_bytes_per_element, element_bytes("size of an element of B"));
}

static void describe_efficiency(FieldVisitor& v, Efficiency& o, Names models) {
  v.field("model", o.model, {.meaning = "formula for times from FLOPs and bytes", .allowed = models});
  v.field("efficiency", o.efficiency, share("achieved share of peak_flops"));
  v.field("bandwidth_efficiency", o.bandwidth_efficiency,
          share("smooth_max, wave, blocks: achieved share of the memory bandwidth"));
  v.field("constant_s", o.constant_s, not_negative("smooth_max, wave, blocks: constant time of a call", "s"));
  v.field("block_m", o.block_m, count("wave, blocks: query rows per thread block"));
  v.field("block_s", o.block_s, not_negative("blocks: constant time of a thread block", "s"));
  v.field("wave_tail", o.wave_tail,
          {.meaning = "blocks: counted share of the idle time at the end of a wave", .min = 0, .max = 1});
  v.field(
      "padded_rows", o.padded_rows,
      {.meaning = "all prompts of a call take as many rows as the longest, which read the whole prefix (set "
                  "for SGLang's Triton kernels)"});
  v.field("packed_heads", o.packed_heads,
          {.meaning = "blocks: a thread block has rows of all query heads of a KV head"});
  v.field("points", o.points, {.meaning = "table: measured GEMMs"});
  v.field("quantize_bandwidth_efficiency", o.quantize_bandwidth_efficiency,
          share("achieved share of the memory bandwidth of the kernel that quantises a GEMM's input",
                "quantisation is fused and takes no time"));
  v.needs("model", "table", "points");
}

static void describe(FieldVisitor& v, DecodeEfficiency& o) {
  v.field("constant_s", o.constant_s, not_negative("constant time of a call", "s"));
  v.field("block_s", o.block_s, not_negative("constant time of a sequence's KV head", "s"));
  v.field("least_tokens", o.least_tokens,
          {.meaning = "shorter sequences take as long as one of this length",
           .unit = "tokens",
           .min = 0,
           .max = kMaxCount});
  v.field("bandwidth_efficiency", o.bandwidth_efficiency, share("achieved share of the memory bandwidth"));
  v.field("ramp_bytes", o.ramp_bytes,
          not_negative("bytes of a call that are read at ramp_efficiency", "bytes"));
  v.field("ramp_efficiency", o.ramp_efficiency,
          share("achieved share of the memory bandwidth for ramp_bytes"));
  v.field("split_from_group", o.split_from_group,
          count("smallest number of query heads per KV head at which keys are split over thread blocks"));
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
  v.field("bandwidth_efficiency", o.bandwidth_efficiency, share("achieved share of the memory bandwidth"));
  v.field("constant_s", o.constant_s, not_negative("constant time of a kernel", "s"));
}

void describe(FieldVisitor& v, Gpu& o) {
  v.field("name", o.name, {.meaning = "product name"});
  v.field("count", o.count, count("GPUs of the server", "GPUs"));
  v.field("peak_flops", o.peak_flops, positive("dense 16-bit peak", "flop/s"));
  v.field("peak_flops_fp8", o.peak_flops_fp8, positive_or_absent("dense FP8 peak", "flop/s", "peak_flops"));
  v.field("peak_flops_fp4", o.peak_flops_fp4,
          positive_or_absent("dense FP4 peak", "flop/s", "peak_flops_fp8"));
  v.field("memory_bytes", o.memory_bytes,
          positive("memory as sold, in actual bytes (40 GiB, not 40e9)", "bytes"));
  v.field("reported_memory_bytes", o.reported_memory_bytes,
          positive_or_absent("memory that the driver reports (cudaMemGetInfo); follows memory_bytes where "
                             "only that is set",
                             "bytes", "not known"));
  v.field("context_bytes", o.context_bytes,
          not_negative("part of the reported memory that a process's CUDA context takes", "bytes"));
  v.field("memory_bandwidth_bytes_per_s", o.memory_bandwidth_bytes_per_s,
          up_to(1e18, positive("nominal memory bandwidth", "bytes/s")));
  v.field("sm_count", o.sm_count,
          {.meaning = "streaming multiprocessors; required by wave and blocks", .min = 0, .max = kMaxCount});
  v.group("gemm", {.meaning = "time model of 16-bit GEMMs"},
          [&o](FieldVisitor& w) { describe_efficiency(w, o.gemm, kGemmEfficiencyNames); });
  const auto gemm = [&v](std::string_view name, std::optional<Efficiency>& efficiency,
                         std::string_view meaning, std::string_view absent) {
    describe_optional_gemm(v, name, efficiency, {.meaning = meaning, .absent = absent});
  };
  gemm("gemm_fp8", o.gemm_fp8, "time model of FP8 GEMMs", "as gemm");
  gemm("gemm_fp4", o.gemm_fp4, "time model of FP4 GEMMs", "as gemm");
  gemm("grouped_gemm", o.grouped_gemm, "time model of the GEMM over all experts of a layer", "as gemm");
  gemm("grouped_gemm_fp8", o.grouped_gemm_fp8, "grouped_gemm in FP8", "as gemm_fp8");
  gemm("grouped_gemm_fp4", o.grouped_gemm_fp4, "grouped_gemm in FP4", "as gemm_fp4");
  gemm("grouped_gemm_w4a16", o.grouped_gemm_w4a16, "grouped_gemm with 4-bit weights and 16-bit activations",
       "as grouped_gemm");
  v.group("attention", {.meaning = "time model of prefill attention"},
          [&o](FieldVisitor& w) { describe_efficiency(w, o.attention, kAttentionEfficiencyNames); });
  v.field("decode_attention", o.decode_attention,
          {.meaning = "time model of decode attention", .absent = "as attention"});
  v.field("elementwise", o.elementwise,
          {.meaning = "time model of norms, activations and residual adds", .absent = "included in gemm"});
  v.field("kernel_overhead_s", o.kernel_overhead_s,
          not_negative("host time of a GEMM or attention call", "s"));
  v.field("host_overhead_per_layer_s", o.host_overhead_per_layer_s,
          not_negative("host time of a layer in a step", "s"));
  v.field("per_server", o.per_server,
          {.meaning = "GPUs of the server as sold; a smaller count is a share of it",
           .unit = "GPUs",
           .min = 1,
           .max = kMaxCount,
           .absent = "count, a whole server"});
  v.field("price_usd_per_hour", o.price_usd_per_hour,
          not_negative("rent of one GPU and its share of the server; 0: not known", "USD/h"));
  v.field("price_includes_storage", o.price_includes_storage,
          {.meaning = "the rent includes the share's DRAM and SSDs, which are not billed again"});
  v.field("price_date", o.price_date, price_date());
  v.field("purchase_usd", o.purchase_usd,
          not_negative("purchase price of one GPU and its share of the server", "USD"));
  v.field("amortization_years", o.amortization_years, amortization());
  v.field("power_idle_w", o.power_idle_w, not_negative("power of one GPU between steps", "W"));
  v.field("power_busy_w", o.power_busy_w,
          not_negative("power of one GPU during a step", "W", "energy is not counted"));
}

}  // namespace kvcap
