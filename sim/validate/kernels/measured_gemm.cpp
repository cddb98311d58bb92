#include "validate/kernels/measured_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "cost/cost_model.h"
#include "cost/gemm.h"
#include "metrics/statistics/quantiles.h"
#include "scenario/load.h"
#include "validate/kernels/kernel_times.h"

namespace kvcap {
namespace {

// Of rows that were not fitted: what the project vouches for, and what it states beside it.
constexpr double kGemmMedian = 0.08;
constexpr double kMeasuredExpertsMedian = 0.12;
constexpr double kCollectiveMedian = 0.20;
constexpr double kGemmP90 = 0.25;
constexpr int64_t kFewRows = 64;  // below, a GEMM streams its weights
const std::string kSource = "aiconfigurator";

struct Format {
  std::string name;  // as files and checks call it
  double activation_bytes = 2, weight_bytes = 2;
  std::string field, experts_field;  // of the profile
};
const Format kFormats[] = {{"bfloat16", 2, 2, "gpu.gemm", "gpu.grouped_gemm"},
                           {"fp8", 1, 1, "gpu.gemm_fp8", "gpu.grouped_gemm_fp8"},
                           {"nvfp4", 0.5, 0.5625, "gpu.gemm_fp4", "gpu.grouped_gemm_fp4"},
                           {"w4a16_mxfp4", 2, 0.53125, "", "gpu.grouped_gemm_w4a16"}};  // experts alone

struct GemmMachine {
  std::string profile;  // of a whole server
  std::string gpu;      // as the files call it
  // Formats, of GEMMs and of experts, whose error is larger than what is vouched for, and why.
  std::map<std::string, std::string> unpromised = {};
  // The experts in FP8 that its profile describes: scales of a tensor, or of blocks as published models have
  // them (DeepSeek, Qwen3, MiniMax).
  std::string fp8_experts = "fp8";
};
const std::string kManyKernels = "the library changes kernels between shapes and rows in larger steps here";
const std::string kAllPlaces =
    "element-wise kernels also walk the places of rows that went to other GPUs' experts, which is not "
    "charged: "
    "with it 10 to 15 % on Hopper";
const std::string kPartOfExperts =
    "rows of 256 experts take less than reading their weights would, so that not all can have been reached";
const std::string kPadded = "experts divided by 8 are padded to the kernel's width, which is not charged";
const GemmMachine kGemmMachines[] = {
    {"h100-sxm-8x",
     "h100_sxm",
     {{"moe.bfloat16.expert_parallel", kAllPlaces}, {"moe.w4a16_mxfp4.expert_parallel", kAllPlaces}},
     "fp8_block"},
    {"h200-sxm-8x",
     "h200_sxm",
     {{"moe.bfloat16.expert_parallel", kAllPlaces},
      {"moe.fp8.expert_parallel", kAllPlaces},
      {"moe.w4a16_mxfp4.expert_parallel", kAllPlaces}},
     "fp8_block"},
    {"a100-80g-sxm-8x", "a100_sxm", {{"moe.bfloat16.expert_parallel", kAllPlaces}}},
    {"gb200-4x",
     "gb200",
     {{"gemm.bfloat16", kManyKernels},
      {"gemm.fp8", kManyKernels + "; one row takes twice as long as two"},
      {"moe.fp8", kPartOfExperts},
      {"moe.fp8.expert_parallel", kPartOfExperts},
      {"moe.w4a16_mxfp4", kPadded}},
     "fp8_block"},
    {"rtx-pro-6000-8x",
     "rtx_pro_6000_server",
     {{"gemm.nvfp4", kManyKernels}, {"moe.w4a16_mxfp4.expert_parallel", kAllPlaces}}}};

struct Collective {
  std::string name;      // of checks and of the profile
  std::string op, impl;  // as the file calls them
  double (CostModel::*time_s)(double bytes) const;
  std::vector<CollectivePoint> Collectives::*points;
};
const Collective kCollectives[] = {
    {"all_reduce", "all_reduce", "vllm_graph", &CostModel::all_reduce_s, &Collectives::all_reduce},
    {"all_gather", "all_gather", "NCCL", &CostModel::all_gather_s, &Collectives::all_gather},
    {"all_to_all", "alltoall", "NCCL", &CostModel::all_to_all_s, &Collectives::all_to_all}};

struct About {
  std::string id, what;
  double median = 0;           // at most, in the median
  std::string fitted_field{};  // not empty: the rows that it was fitted to
  std::string reason{};        // why nothing is promised
};

void add(std::vector<Check>& checks, const About& about, std::vector<double> errors) {
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const bool fitted = !about.fitted_field.empty();
  const auto quantile = [&](const std::string& which, double share, double most, bool promised) {
    Check check{.id = about.id + "." + which,
                .suite = "measured",
                .what = about.what + ": relative error, " + which + " of " + std::to_string(errors.size()),
                .claim = Claim::at_most,
                .role = fitted ? Role::fitted : Role::test,
                .simulated = {quantile_of_sorted(errors, share)},
                .reference = {most},
                .tolerance = 0,
                .promised = promised && !fitted && about.reason.empty(),
                .reason = about.reason};
    if (fitted) check.tuned = {about.fitted_field};
    if (!promised && check.reason.empty()) check.reason = "stated beside the median, which is promised";
    judge(check);
    checks.push_back(std::move(check));
  };
  quantile("median", 0.5, about.median, true);
  quantile("p90", 0.9, kGemmP90, false);
}

// Every second shape, in their order, from the first on: what the profiles were fitted to.
template <typename Shape>
std::set<Shape> fitted_shapes(const std::set<Shape>& shapes) {
  std::set<Shape> fitted;
  bool second = false;
  for (const Shape& shape : shapes) {
    if (!second) fitted.insert(shape);
    second = !second;
  }
  return fitted;
}

std::string reason_of(const GemmMachine& machine, const std::string& set) {
  const auto found = machine.unpromised.find(set);
  return found == machine.unpromised.end() ? "" : found->second;
}

struct GemmRow {
  int64_t m = 0;
  GemmShape shape;
  double time_s = 0;
  std::pair<int64_t, int64_t> order() const { return {shape.n, shape.k}; }
};

std::vector<KernelTime> gemm_times(const GemmMachine& machine, const Format& format,
                                   const std::string& path) {
  std::vector<GemmRow> rows;
  std::set<std::pair<int64_t, int64_t>> shapes;
  for_each_kernel_row(path, {{"gpu"}, {"n"}, {"k"}, {"m"}, {"t_ms"}}, 1,
                      [&](const CsvRow& row, const std::vector<double>& x) {
                        if (row.text(0) != machine.gpu) return;
                        rows.push_back({whole(x[2]), {whole(x[0]), whole(x[1])}, x[3] * 1e-3});
                        shapes.insert(rows.back().order());
                      });
  const std::set<std::pair<int64_t, int64_t>> fitted_to = fitted_shapes(shapes);
  const Gpu gpu = load_hardware(machine.profile).gpu;
  const Gemms gemms(gpu, {format.activation_bytes, format.weight_bytes, 2});
  std::vector<KernelTime> times;
  for (const GemmRow& row : rows) {
    bool extrapolated = false;
    const double modelled_s =
        gemms.time_s({static_cast<double>(row.m), 1}, row.shape, &extrapolated) + gpu.kernel_overhead_s;
    const std::string size = row.m < kFewRows ? "gemm_few_rows" : "gemm_many_rows";
    times.push_back({machine.profile, format.name == "bfloat16" ? size : "narrow_gemm", kSource, modelled_s,
                     row.time_s, fitted_to.contains(row.order()), size});
  }
  return times;
}

void add_gemms(std::vector<Check>& checks, const GemmMachine& machine, const Format& format,
               const std::string& path) {
  std::vector<double> fitted, held, few, many;
  for (const KernelTime& one : gemm_times(machine, format, path)) {
    if (one.fitted) {
      fitted.push_back(one.error());
      continue;
    }
    held.push_back(one.error());
    (one.part == "gemm_few_rows" ? few : many).push_back(one.error());
  }
  const std::string set = "gemm." + format.name;
  const std::string id = set + "." + machine.profile;
  const std::string what = "GEMMs in " + format.name + ", profile " + machine.profile;
  const std::string regime = "stated by regime; what is promised is the median of all";
  const std::string reason = reason_of(machine, set);
  add(checks, {.id = id, .what = what + ", shapes not fitted", .median = kGemmMedian, .reason = reason},
      held);
  add(checks, {.id = id + ".few", .what = what + ", below 64 rows", .median = kGemmMedian, .reason = regime},
      few);
  add(checks,
      {.id = id + ".many", .what = what + ", 64 rows and more", .median = kGemmMedian, .reason = regime},
      many);
  add(checks,
      {.id = id + ".fitted",
       .what = what + ", the fitted shapes",
       .median = kGemmMedian,
       .fitted_field = format.field,
       .reason = "no test: the profile was fitted to these rows"},
      fitted);
}

// One fused layer of experts: up and gate, activation, down, sum.
struct ExpertsRow {
  int64_t tokens = 0;
  int64_t hidden = 0, intermediate = 0, active = 0, count = 0;
  int64_t gpus = 1;  // that share the experts, each of them whole
  double time_s = 0;
  auto order() const { return std::tuple(hidden, intermediate, active, count); }
};

// "4096/14336/2/8": hidden size, width of an expert, experts of a token, experts.
ExpertsRow experts_row(std::string_view text) {
  ExpertsRow row;
  const std::string copy(text);
  const char* rest = copy.c_str();
  for (int64_t* number : {&row.hidden, &row.intermediate, &row.active, &row.count}) {
    char* end = nullptr;
    *number = std::strtoll(rest, &end, 10);
    rest = *end == '/' ? end + 1 : end;
  }
  return row;
}

double experts_s(const Gpu& gpu, const Gemms& gemms, const ExpertsRow& row) {
  const auto tokens = static_cast<double>(row.tokens);
  const auto active = static_cast<double>(row.active);
  // In balance: every expert of the GPU is reached as soon as there are rows for it.
  const double rows_here = tokens * active / static_cast<double>(row.gpus);
  const double reached = std::min(static_cast<double>(row.count / row.gpus), std::max(1.0, rows_here));
  const GemmRows rows{std::max(1.0, rows_here) / reached, reached, true};
  bool extrapolated = false;
  double time_s = gemms.time_s(rows, {2 * row.intermediate, row.hidden}, &extrapolated) +
                  gemms.time_s(rows, {row.hidden, row.intermediate}, &extrapolated) +
                  2 * gpu.kernel_overhead_s;
  if (gpu.elementwise) {
    const double elements = 3 * rows_here * static_cast<double>(row.intermediate) +
                            (rows_here + tokens) * static_cast<double>(row.hidden);
    time_s += 2 * elements / (gpu.memory_bandwidth_bytes_per_s * gpu.elementwise->bandwidth_efficiency) +
              2 * gpu.elementwise->constant_s;
  }
  return time_s;
}

// `whole_experts`: of GPUs that share experts as wholes; else of those that have a slice of each.
std::vector<ExpertsRow> experts_rows(const GemmMachine& machine, const std::string& path,
                                     bool whole_experts) {
  std::vector<ExpertsRow> rows;
  for_each_kernel_row(
      path, {{"gpu"}, {"distribution"}, {"hidden/inter/topk/experts"}, {"tp"}, {"ep"}, {"tokens"}, {"t_ms"}},
      3, [&](const CsvRow& row, const std::vector<double>& x) {
        if (row.text(0) != machine.gpu || row.text(1) != "balanced" || (x[1] > 1) != whole_experts) return;
        ExpertsRow one = experts_row(row.text(2));
        const int64_t tp = whole(x[0]);
        one.intermediate = (one.intermediate + tp - 1) / tp;
        one.tokens = whole(x[2]);
        one.time_s = x[3] * 1e-3;
        one.gpus = whole(x[1]);
        rows.push_back(one);
      });
  return rows;
}

std::vector<KernelTime> experts_times(const GemmMachine& machine, const Format& format,
                                      const std::string& path) {
  const std::vector<ExpertsRow> rows = experts_rows(machine, path, false);
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> shapes;
  for (const ExpertsRow& row : rows) shapes.insert(row.order());
  const auto fitted_to = fitted_shapes(shapes);
  const Gpu gpu = load_hardware(machine.profile).gpu;
  const Gemms gemms(gpu, {format.activation_bytes, format.weight_bytes, 2});
  std::vector<KernelTime> times;
  for (const ExpertsRow& row : rows) {
    times.push_back({machine.profile, "grouped_gemm", kSource, experts_s(gpu, gemms, row), row.time_s,
                     fitted_to.contains(row.order()), format.name});
  }
  return times;
}

void add_experts(std::vector<Check>& checks, const GemmMachine& machine, const Format& format,
                 const std::string& path) {
  std::vector<double> fitted, held;
  for (const KernelTime& one : experts_times(machine, format, path)) {
    (one.fitted ? fitted : held).push_back(one.error());
  }
  const std::string set = "moe." + format.name;
  const std::string id = set + "." + machine.profile;
  const std::string what = "layers of experts in " + format.name + ", profile " + machine.profile;
  const std::string reason = reason_of(machine, set);
  add(checks,
      {.id = id, .what = what + ", shapes not fitted", .median = kMeasuredExpertsMedian, .reason = reason},
      held);
  add(checks,
      {.id = id + ".fitted",
       .what = what + ", the fitted shapes",
       .median = kMeasuredExpertsMedian,
       .fitted_field = format.experts_field,
       .reason = "no test: the profile was fitted to these rows"},
      fitted);
  const Gpu gpu = load_hardware(machine.profile).gpu;
  const Gemms gemms(gpu, {format.activation_bytes, format.weight_bytes, 2});
  std::vector<double> whole_experts;
  for (const ExpertsRow& row : experts_rows(machine, path, true)) {
    whole_experts.push_back(std::abs(experts_s(gpu, gemms, row) / row.time_s - 1));
  }
  add(checks,
      {.id = id + ".expert_parallel",
       .what = what + ", whole experts on one of 2 to 8 GPUs",
       .median = kMeasuredExpertsMedian,
       .reason = reason_of(machine, set + ".expert_parallel")},
      whole_experts);
}

std::vector<KernelTime> collective_times(const GemmMachine& machine, const Collective& collective,
                                         const std::string& path) {
  const HardwareProfile hardware = load_hardware(machine.profile);
  if (!hardware.collectives) return {};
  const ModelSpec model{.num_hidden_layers = 1,
                        .hidden_size = 1024,
                        .num_attention_heads = 8,
                        .num_key_value_heads = 8,
                        .head_dim = 128,
                        .intermediate_size = 1024};
  std::set<std::pair<int64_t, double>> held_by_profile;
  for (const CollectivePoint& point : (*hardware.collectives).*collective.points) {
    held_by_profile.insert({point.gpus, point.bytes});
  }
  std::vector<KernelTime> times;
  for_each_kernel_row(
      path, {{"gpu"}, {"impl"}, {"op"}, {"num_gpus"}, {"bytes"}, {"t_ms"}}, 3,
      [&](const CsvRow& row, const std::vector<double>& x) {
        if (row.text(0) != machine.gpu || row.text(1) != collective.impl) return;
        if (row.text(2) != collective.op || held_by_profile.contains({whole(x[0]), x[1]})) return;
        const CostModel cost(model, hardware, whole(x[0]));
        times.push_back({machine.profile, "collectives", kSource, (cost.*collective.time_s)(x[1]),
                         x[2] * 1e-3, false, collective.name});
      });
  return times;
}

void add_collectives(std::vector<Check>& checks, const GemmMachine& machine, const Collective& collective,
                     const std::string& path) {
  std::vector<double> errors;
  for (const KernelTime& one : collective_times(machine, collective, path)) errors.push_back(one.error());
  add(checks,
      {.id = collective.name + "." + machine.profile,
       .what = collective.name + ", profile " + machine.profile + ", sizes between its points",
       .median = kCollectiveMedian},
      errors);
}

}  // namespace

std::vector<KernelTime> gemm_kernel_times(const std::string& data) {
  std::vector<KernelTime> times;
  const auto add = [&times](const std::vector<KernelTime>& more) {
    times.insert(times.end(), more.begin(), more.end());
  };
  for (const GemmMachine& machine : kGemmMachines) {
    for (const Format& format : kFormats) {
      if (format.field.empty()) continue;  // one model's experts say nothing of the spread over shapes
      const std::string kind = format.name == "fp8" ? machine.fp8_experts : format.name;
      add(gemm_times(machine, format, data + "/device/gemm_" + format.name + ".csv"));
      add(experts_times(machine, format, data + "/device/moe_" + kind + ".csv"));
    }
    for (const Collective& one : kCollectives) add(collective_times(machine, one, data + "/device/comm.csv"));
  }
  return times;
}

std::vector<Check> gemm_checks(const std::string& data) {
  std::vector<Check> checks;
  std::set<std::string> missing;
  const auto found = [&](const std::string& path, const std::string& what) {
    if (std::filesystem::exists(path)) return true;
    if (!missing.insert(path).second) return false;
    checks.push_back({.id = what,
                      .suite = "measured",
                      .what = what + " kernels: relative errors of their times",
                      .claim = Claim::at_most,
                      .reason = "no " + path + " (--data)"});
    return false;
  };
  for (const Format& format : kFormats) {
    const std::string gemms = data + "/device/gemm_" + format.name + ".csv";
    if (!format.field.empty() && found(gemms, "gemm." + format.name)) {
      for (const GemmMachine& machine : kGemmMachines) add_gemms(checks, machine, format, gemms);
    }
    for (const GemmMachine& machine : kGemmMachines) {
      const std::string kind = format.name == "fp8" ? machine.fp8_experts : format.name;
      const std::string experts = data + "/device/moe_" + kind + ".csv";
      if (found(experts, "moe." + format.name)) add_experts(checks, machine, format, experts);
    }
  }
  const std::string collectives = data + "/device/comm.csv";
  if (found(collectives, "collectives")) {
    for (const Collective& collective : kCollectives) {
      for (const GemmMachine& machine : kGemmMachines)
        add_collectives(checks, machine, collective, collectives);
    }
  }
  return checks;
}

}  // namespace kvcap
