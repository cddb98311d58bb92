// Tests plausible machines: a draw means the same everywhere, its errors are those of the profile, and
// answers name the assumptions outside validation.
#include "cost/drawn_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cost_model.h"
#include "laws/machines.h"
#include "metrics/model_report.h"
#include "run/drawn_scenario.h"
#include "run/engine_memory.h"
#include "run/machine.h"
#include "scenario/load.h"
#include "unit/shared_data.h"
#include "validate/uncertainty.h"

namespace kvcap::drawn_machine_test {
namespace {

HardwareProfile exact(const std::string& name) {
  HardwareProfile hardware = load_hardware(name);
  for (const Regime& regime : kRegimes) hardware.errors.*regime.error = RegimeError{};
  return hardware;
}

RegimeFactors all(double factor) {
  RegimeFactors factors;
  factors.fill(factor);
  return factors;
}

RegimeFactors set(RegimeFactors factors, std::string_view regime, double factor) {
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    if (kRegimes[i].name == regime) factors[i] = factor;
  }
  return factors;
}

RegimeFactors only(std::string_view regime, double factor) { return set(all(1), regime, factor); }

double decode_s(const HardwareProfile& hardware, const char* model = "llama-2-7b", int64_t gpus = 1) {
  return CostModel(load_model(model), hardware, gpus).decode_step_s(16, 16000);
}

double prefill_s(const HardwareProfile& hardware, const char* model = "llama-2-7b", int64_t gpus = 1) {
  return CostModel(load_model(model), hardware, gpus).prefill_s({4096, 0});
}

TEST(DrawnMachine, IsTheProfileWhereNothingIsUncertain) {
  const HardwareProfile hardware = exact("h100-sxm-8x");
  for (int64_t draw : {0, 1, 7}) {
    const HardwareProfile drawn = drawn_machine(hardware, 1, draw);
    EXPECT_EQ(decode_s(drawn), decode_s(hardware));
    EXPECT_EQ(prefill_s(drawn, "llama-2-70b", 4), prefill_s(hardware, "llama-2-70b", 4));
    EXPECT_EQ(drawn.pcie.h2d_bandwidth_bytes_per_s, hardware.pcie.h2d_bandwidth_bytes_per_s);
    EXPECT_EQ(drawn.ssd->read_bandwidth_bytes_per_s, hardware.ssd->read_bandwidth_bytes_per_s);
  }
}

// Every time is a sum of parts, and none is bound by what cannot be slower.
TEST(DrawnMachine, TakesTwiceAsLongWhereEveryPartDoes) {
  for (const char* name : {"h100-sxm-8x", "rtx-4090", "a100-80g-sxm-8x", "epyc-2-cores", "gb200-4x"}) {
    const HardwareProfile hardware = exact(name);
    const HardwareProfile slow = machine_with(hardware, set(all(2), "steps", 1));
    const int64_t gpus = hardware.gpu.count >= 4 ? 4 : 1;
    EXPECT_NEAR(decode_s(slow, "llama-2-7b", gpus), 2 * decode_s(hardware, "llama-2-7b", gpus),
                1e-6 * decode_s(slow, "llama-2-7b", gpus))
        << name;
    EXPECT_NEAR(prefill_s(slow, "llama-2-7b", gpus), 2 * prefill_s(hardware, "llama-2-7b", gpus),
                1e-6 * prefill_s(slow, "llama-2-7b", gpus))
        << name;
  }
}

// 1.5 of every kernel, and 1.2 of that for the GEMMs of few rows: 1.8.
TEST(DrawnMachine, SlowsAllKernelsOfAStepAlikeBesideTheirOwnErrors) {
  for (const char* name : {"h100-sxm-8x", "gb200-4x"}) {
    HardwareProfile hardware = exact(name);
    hardware.gpu.kernel_overhead_s = hardware.gpu.host_overhead_per_layer_s = 0;
    const HardwareProfile slow = machine_with(hardware, only("steps", 1.5));
    EXPECT_NEAR(decode_s(slow, "llama-2-70b", 4) / decode_s(hardware, "llama-2-70b", 4), 1.5, 1e-6) << name;
    EXPECT_NEAR(prefill_s(slow, "llama-2-70b", 4) / prefill_s(hardware, "llama-2-70b", 4), 1.5, 1e-6) << name;
    EXPECT_EQ(slow.pcie.h2d_bandwidth_bytes_per_s, hardware.pcie.h2d_bandwidth_bytes_per_s);
    const HardwareProfile few = machine_with(hardware, set(only("steps", 1.5), "gemm_few_rows", 1.2));
    EXPECT_NEAR(few.gpu.gemm.constant_s, 1.8 * hardware.gpu.gemm.constant_s, 1e-12) << name;
  }
}

// A constant efficiency: t = max(F / (P e), B / W). 16 rows of 4096 x 4096 in 2 bytes are bound by memory,
// B = 2 (4096^2 + 2 * 16 * 4096) bytes, and 4096 rows by computing, F = 2 * 4096^3.
TEST(DrawnMachine, SlowsFewRowsByTheirErrorAndManyByTheirs) {
  const HardwareProfile hardware = exact("a100-40g-4x-pm9a3");
  ASSERT_EQ(hardware.gpu.gemm.model, EfficiencyModel::constant);
  const auto seconds = [](const HardwareProfile& machine, int64_t rows) {
    return gemm_s(machine.gpu.gemm, machine.gpu, rows, 4096, 4096, 2, 2);
  };
  const double few_s = 2 * (4096. * 4096 + 2 * 16 * 4096.) / 1555e9;
  const double many_s = 2 * std::pow(4096., 3) / (312e12 * hardware.gpu.gemm.efficiency);
  const HardwareProfile few = machine_with(hardware, only("gemm_few_rows", 1.2));
  const HardwareProfile many = machine_with(hardware, only("gemm_many_rows", 1.2));
  EXPECT_NEAR(seconds(few, 16), 1.2 * few_s, 1e-9 * few_s);
  EXPECT_NEAR(seconds(few, 4096), many_s, 1e-9 * many_s);
  EXPECT_NEAR(seconds(many, 16), few_s, 1e-9 * few_s);
  EXPECT_NEAR(seconds(many, 4096), 1.2 * many_s, 1e-9 * many_s);
}

TEST(DrawnMachine, SlowsTheMeasuredPointsOfATableByTheirRows) {
  HardwareProfile hardware = exact("h100-sxm");
  hardware.gpu.gemm.points = {{63, 1024, 1024, 1e-5}, {64, 1024, 1024, 1e-5}};
  const HardwareProfile few = machine_with(hardware, only("gemm_few_rows", 1.5));
  EXPECT_DOUBLE_EQ(few.gpu.gemm.points[0].time_s, 1.5e-5);
  EXPECT_DOUBLE_EQ(few.gpu.gemm.points[1].time_s, 1e-5);
}

TEST(SlowerKernels, AreThoseOfDenseLayers) {
  const HardwareProfile hardware = exact("h100-sxm-8x-s3");
  const HardwareProfile slower = with_slower_kernels(hardware, 1.2);
  EXPECT_DOUBLE_EQ(slower.gpu.gemm.constant_s, hardware.gpu.gemm.constant_s * 1.2);
  EXPECT_DOUBLE_EQ(slower.gpu.gemm.efficiency, hardware.gpu.gemm.efficiency / 1.2);
  EXPECT_DOUBLE_EQ(slower.gpu.gemm_fp8->constant_s, hardware.gpu.gemm_fp8->constant_s * 1.2);
  EXPECT_DOUBLE_EQ(slower.gpu.attention.efficiency, hardware.gpu.attention.efficiency / 1.2);
  EXPECT_DOUBLE_EQ(slower.gpu.decode_attention->block_s, hardware.gpu.decode_attention->block_s * 1.2);
  EXPECT_DOUBLE_EQ(slower.gpu.elementwise->constant_s, hardware.gpu.elementwise->constant_s * 1.2);
  EXPECT_EQ(slower.gpu.grouped_gemm->constant_s, hardware.gpu.grouped_gemm->constant_s);
  EXPECT_EQ(slower.collectives->all_reduce.back().time_s, hardware.collectives->all_reduce.back().time_s);
  EXPECT_EQ(slower.pcie.d2h_bandwidth_bytes_per_s, hardware.pcie.d2h_bandwidth_bytes_per_s);
}

TEST(DrawnMachine, SlowsEachPartByItsOwnError) {
  const HardwareProfile hardware = exact("h100-sxm-8x-s3");
  const auto with = [&](const char* regime) { return machine_with(hardware, only(regime, 1.5)); };
  EXPECT_DOUBLE_EQ(with("pcie").pcie.h2d_curve.front().bytes_per_s,
                   hardware.pcie.h2d_curve.front().bytes_per_s / 1.5);
  EXPECT_DOUBLE_EQ(with("pcie").pcie.d2h_bandwidth_bytes_per_s,
                   hardware.pcie.d2h_bandwidth_bytes_per_s / 1.5);
  EXPECT_DOUBLE_EQ(with("ssd").ssd->write_bandwidth_bytes_per_s,
                   hardware.ssd->write_bandwidth_bytes_per_s / 1.5);
  EXPECT_DOUBLE_EQ(with("dram").dram->bandwidth_bytes_per_s, hardware.dram->bandwidth_bytes_per_s / 1.5);
  EXPECT_DOUBLE_EQ(with("remote").remote->bandwidth_bytes_per_s,
                   hardware.remote->bandwidth_bytes_per_s / 1.5);
  EXPECT_DOUBLE_EQ(with("collectives").collectives->all_reduce.back().time_s,
                   hardware.collectives->all_reduce.back().time_s * 1.5);
  EXPECT_DOUBLE_EQ(with("elementwise").gpu.elementwise->constant_s,
                   hardware.gpu.elementwise->constant_s * 1.5);
  EXPECT_DOUBLE_EQ(with("narrow_gemm").gpu.gemm_fp8->efficiency, hardware.gpu.gemm_fp8->efficiency / 1.5);
  EXPECT_DOUBLE_EQ(with("grouped_gemm").gpu.grouped_gemm->constant_s,
                   hardware.gpu.grouped_gemm->constant_s * 1.5);
  EXPECT_DOUBLE_EQ(with("decode_attention").gpu.decode_attention->block_s,
                   hardware.gpu.decode_attention->block_s * 1.5);
  EXPECT_DOUBLE_EQ(with("prefill_attention").gpu.attention.efficiency,
                   hardware.gpu.attention.efficiency / 1.5);
  // And nothing else.
  EXPECT_EQ(prefill_s(with("pcie")), prefill_s(hardware));
  EXPECT_EQ(with("prefill_attention").gpu.gemm.efficiency, hardware.gpu.gemm.efficiency);
  EXPECT_EQ(with("gemm_few_rows").gpu.memory_bandwidth_bytes_per_s,
            hardware.gpu.memory_bandwidth_bytes_per_s);
}

TEST(DrawnMachine, IsNeverFasterThanTheDatasheet) {
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    const HardwareProfile hardware = load_hardware(std::string(entry.name));
    const HardwareProfile fast = machine_with(hardware, all(0.01));
    for (const Efficiency* one : {&fast.gpu.gemm, &fast.gpu.attention}) {
      EXPECT_LE(one->efficiency, 1) << entry.name;
      EXPECT_LE(one->bandwidth_efficiency, 1) << entry.name;
    }
    for (int64_t draw = 0; draw < 16; ++draw) {
      const HardwareProfile drawn = drawn_machine(hardware, 1, draw);
      EXPECT_TRUE(std::isfinite(prefill_s(drawn)) && prefill_s(drawn) > 0) << entry.name;
      EXPECT_TRUE(std::isfinite(decode_s(drawn)) && decode_s(drawn) > 0) << entry.name;
    }
  }
}

TEST(DrawnMachine, IsTheSameForOneGpuAndForTheWholeServer) {
  const RegimeFactors one = drawn_factors(load_hardware("h100-sxm"), 3, 5);
  const RegimeFactors eight = drawn_factors(load_hardware("h100-sxm-8x"), 3, 5);
  EXPECT_EQ(one, eight);
  EXPECT_NE(one, drawn_factors(load_hardware("h100-sxm"), 3, 6));
  EXPECT_NE(one, drawn_factors(load_hardware("h100-sxm"), 4, 5));
}

// What an engine's kernels have in common is off alike on all hardware; links are of a server.
TEST(DrawnMachine, SharesTheEnginesErrorAcrossHardwareAndNotTheServers) {
  HardwareProfile a = exact("h100-sxm"), b = exact("a100-80g-sxm");
  for (const Regime& regime : kRegimes) {
    a.errors.*regime.error = b.errors.*regime.error = RegimeError{.sigma = 0.1};
  }
  const RegimeFactors on_a = drawn_factors(a, 1, 4), on_b = drawn_factors(b, 1, 4);
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    if (kRegimes[i].machine) {
      EXPECT_NE(on_a[i], on_b[i]) << kRegimes[i].name;
    } else {
      EXPECT_EQ(on_a[i], on_b[i]) << kRegimes[i].name;
    }
  }
  EXPECT_EQ(factor_of(on_a, "gemm_few_rows"), factor_of(on_a, "gemm_many_rows"));
  EXPECT_NE(factor_of(on_a, "gemm_few_rows"), factor_of(on_a, "prefill_attention"));
}

// exp(b + x) exp(b - x) = exp(2 b).
TEST(DrawnMachine, ComesInPairsOfOppositeSign) {
  const HardwareProfile hardware = load_hardware("h100-sxm");
  const RegimeFactors even = drawn_factors(hardware, 1, 6), odd = drawn_factors(hardware, 1, 7);
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    EXPECT_NEAR(even[i] * odd[i], std::exp(2 * error_of(hardware, kRegimes[i]).bias), 1e-12);
  }
}

// ln(factor) has the mean `bias` and the variance sigma^2 + shape_sigma^2 / shapes: over 4,000 draws, half of
// them mirrored, the standard error of a standard deviation is 1 / sqrt(2 * 2,000) of it, 1.6 %.
TEST(DrawnMachine, HasTheErrorsThatTheProfileStates) {
  HardwareProfile hardware = exact("h100-sxm");
  for (const Regime& regime : kRegimes) {
    hardware.errors.*regime.error = RegimeError{.sigma = 0.06, .shape_sigma = 0.16, .bias = 0.05};
  }
  constexpr int64_t kDraws = 4000;
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    double sum = 0, squares = 0;
    for (int64_t draw = 0; draw < kDraws; ++draw) {
      const double x = std::log(drawn_factors(hardware, 1, draw)[i]);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws;
    const double expected = std::sqrt(0.06 * 0.06 + 0.16 * 0.16 / kRegimes[i].shapes);
    EXPECT_NEAR(mean, 0.05, 1e-9) << kRegimes[i].name;
    EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), expected, 0.08 * expected) << kRegimes[i].name;
  }
}

TEST(DrawnMachine, TakesWideErrorsOfWhatWasNotMeasured) {
  EXPECT_EQ(default_error("measured").sigma, 0.15);
  EXPECT_EQ(default_error("paper").sigma, 0.25);
  EXPECT_EQ(default_error("datasheet").bias, 0.15);
  HardwareProfile hardware = load_hardware("h100-sxm");
  EXPECT_EQ(error_of(hardware, kRegimes[0]).bias, -0.041);
  hardware.errors = {};
  EXPECT_EQ(error_of(hardware, kRegimes[0]).sigma, 0.15);
  EXPECT_EQ(error_of(hardware, kRegimes.back()).sigma, 0.05);  // kv_capacity
}

Scenario scenario_with(const std::vector<std::string>& overrides) {
  return parse_scenario(R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "h100-sxm-8x",
      "workload": {"source": {"kind": "chat"}}, "policy": {"name": "hcache", "tiers": [{"kind": "ssd"}]}})",
                        "test", overrides);
}

// Each kind of server has its own memory, and as much more or less of it.
TEST(DrawnScenario, HasMoreOrLessKvMemoryUnlessItIsGiven) {
  for (const std::vector<std::string>& changes :
       {std::vector<std::string>{},
        {R"(fleet={"replicas": 3, "disaggregation": {"prefill_replicas": 1,)"
         R"( "prefill": {"max_num_batched_tokens": 32768}, "decode": {"max_num_seqs": 1024}}})"}}) {
    const Scenario scenario = scenario_with(changes);
    const double factor = factor_of(drawn_factors(scenario.hardware, scenario.seed, 2), "kv_capacity");
    ASSERT_GT(std::abs(factor - 1), 0.01);
    const auto capacity = [](const Scenario& of) {  // of all servers together
      return laws::run(of, laws::one_turn(100, 20)).number("kv_capacity_tokens");
    };
    EXPECT_NEAR(capacity(drawn_scenario(scenario, 2)), capacity(scenario) * factor, 3 * 16);
  }
  EXPECT_EQ(kv_capacity_tokens(drawn_scenario(scenario_with({"serving.kv_capacity_tokens=8192"}), 2)), 8192);
}

TEST(DrawnScenario, ScalesTheHostsTimes) {
  const Scenario scenario =
      scenario_with({"serving.request_overhead_s=0.008", "serving.step_overhead_s=0.001"});
  const double factor = factor_of(drawn_factors(with_engine_errors(scenario), scenario.seed, 3), "host");
  ASSERT_NE(factor, 1);
  const Scenario drawn = drawn_scenario(scenario, 3);
  EXPECT_DOUBLE_EQ(drawn.serving.request_overhead_s, 0.008 * factor);
  EXPECT_DOUBLE_EQ(drawn.serving.step_overhead_s, 0.001 * factor);
}

bool says(const std::vector<std::string>& sentences, const std::string& text) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&text](const std::string& one) { return one.find(text) != std::string::npos; });
}

TEST(OutsideValidation, NamesWhatTheAnswerRestsOnAndNothingElse) {
  const std::vector<std::string> plain =
      outside_validation({scenario_with({"serving.request_overhead_s=0.007"})}, 4096);
  EXPECT_TRUE(says(plain, "prefill_attention was not measured over a cached prefix"));
  EXPECT_FALSE(says(plain, "assumed standard deviations"));
  EXPECT_TRUE(
      says(outside_validation(
               {scenario_with({"serving.request_overhead_s=0.007", "serving.host_times=none"})}, 4096),
           "some regimes; assumed standard deviations of ln(time): host 0.15"));
  EXPECT_FALSE(says(plain, "gemm"));
  EXPECT_FALSE(says(plain, "8-bit"));
  EXPECT_FALSE(says(plain, "collectives"));
  EXPECT_FALSE(says(plain, "request_overhead_s"));
  const std::vector<std::string> more =
      outside_validation({scenario_with({"model.kv_bytes_per_element=1", "hardware.collectives=null",
                                         "serving.tensor_parallel_size=2",
                                         "hardware.gpu.decode_attention=null", "serving.host_times=none"})},
                         200000);
  EXPECT_TRUE(says(more, "8-bit keys and values"));
  EXPECT_TRUE(says(more, "collectives of 2 GPUs: no measured times"));
  EXPECT_TRUE(says(more, "the profile has no kernel for decode attention"));
  EXPECT_TRUE(says(more, "contexts of 200000 tokens"));
  EXPECT_TRUE(says(outside_validation({scenario_with({"serving.engine=sglang"})}, 4096),
                   "host times and sampler of sglang were not measured; those of vLLM are used"));
  EXPECT_FALSE(
      says(outside_validation({scenario_with({"serving.engine=trtllm"})}, 4096), "those of vLLM are used"));
  EXPECT_TRUE(
      says(outside_validation({scenario_with({"serving.engine=trtllm", "serving.engine_version=1.1"})}, 4096),
           "host times and sampler of trtllm were not measured; those of vLLM are used"));
  EXPECT_TRUE(says(more, "serving.request_overhead_s is 0"));
  const std::vector<std::string> paper =
      outside_validation({scenario_with({"hardware=a100-40g-4x-pm9a3"}),
                          scenario_with({"hardware=a100-40g-4x-pm9a3", "policy.name=recompute"})},
                         4096);
  EXPECT_EQ(std::count_if(paper.begin(), paper.end(),
                          [](const std::string& one) { return one.starts_with("profile "); }),
            1);
  EXPECT_TRUE(says(paper, "(paper) has no measured errors for some regimes"));
  EXPECT_TRUE(says(paper, "ssd 0.25"));
}

// Of 0, 1, ..., 10 the 10 % and 90 % quantiles are 1 and 9; both ends count as inside.
TEST(ModelCoverage, CountsWhatLiesInsideAndBelow) {
  Coverage coverage;
  for (const double measured : {0.9, 1.0, 5.0, 9.0, 9.1, 20.0}) {
    coverage.add(measured, {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  }
  EXPECT_EQ(coverage.means, 6);
  EXPECT_EQ(coverage.contained, 3);
  EXPECT_EQ(coverage.below, 1);
  EXPECT_NEAR(coverage.widths.front(), std::log(9), 1e-12);
  Coverage twice = coverage;
  twice.add(coverage);
  EXPECT_EQ(twice.share(), 0.5);
  EXPECT_EQ(twice.below, 2);
}

TEST(StatedErrors, FollowFromTheMeasuredKernels) {
  KVCAP_NEEDS_SHARED_DATA("device/gemm_bfloat16.csv");
  const std::vector<Check> checks = stated_error_checks(shared_data());
  EXPECT_GE(checks.size(), 40U);
  for (const Check& check : checks) {
    EXPECT_EQ(check.verdict, Agreement::inside) << check.id << " " << check.simulated[0];
    EXPECT_EQ(check.role, Role::input) << check.id;
  }
}

// Of every profile that calls itself measured and whose GPU was measured by a collector of kernels.
TEST(StatedErrors, AreThereForEveryGpuThatWasMeasuredAndCarriedOverWhereItSaysSo) {
  for (const char* name :
       {"h100-sxm", "h200-sxm-8x", "a100-80g-sxm", "rtx-pro-6000", "rtx-4090", "gb200-4x"}) {
    const MachineErrors errors = load_hardware(name).errors;
    for (const auto& one :
         {errors.gemm_few_rows, errors.gemm_many_rows, errors.prefill_attention, errors.decode_attention}) {
      ASSERT_TRUE(one) << name;
      EXPECT_GE(one->shape_sigma, 0.05) << name;
      EXPECT_LE(one->shape_sigma, 0.25) << name;
    }
  }
  const HardwareProfile b200 = load_hardware("b200-sxm");
  EXPECT_FALSE(b200.errors.gemm_few_rows);  // a fit of another form, of which no rows are left out
  EXPECT_NE(b200.errors.decode_attention->outside.find("GB200"), std::string::npos);
  // Of a B300 collectives alone were measured.
  const HardwareProfile b300 = load_hardware("b300-sxm");
  EXPECT_FALSE(b300.errors.gemm_few_rows);
  for (const auto& one : {b300.errors.narrow_gemm, b300.errors.grouped_gemm, b300.errors.prefill_attention,
                          b300.errors.decode_attention}) {
    EXPECT_NE(one->outside.find("on this GPU"), std::string::npos);
  }
  EXPECT_EQ(b300.errors.collectives->outside, "");
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    const HardwareProfile hardware = load_hardware(std::string(entry.name));
    // The B300's errors are those of the kernels that it takes from measured GPUs.
    if (hardware.provenance_kind == "measured" || hardware.gpu.name == "B300 SXM") continue;
    for (const Regime& regime : kRegimes) EXPECT_FALSE(hardware.errors.*regime.error) << entry.name;
  }
}

}  // namespace
}  // namespace kvcap::drawn_machine_test
