// What engines err by beside their kernels, and that a drawn scenario has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/versions/host_times.h"
#include "engine/versions/step_errors.h"
#include "run/drawn_scenario.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap {
namespace engine_errors_test {

Scenario scenario_of(const std::string& model, const std::string& serving,
                     const std::vector<std::string>& overrides = {}) {
  return parse_scenario(R"({"schema": "kvcap.scenario/1", "policy": "recompute", "hardware": "h200-sxm-8x",
      "workload": {"source": {"kind": "chat"}}, "model": ")" +
                            model + R"(", "serving": {)" + serving + "}}",
                        "chat.json", overrides);
}

TEST(EngineErrors, HaveARowForBothKindsOfModelsOfEveryEngineAndASource) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    for (const bool experts : {false, true}) {
      EXPECT_EQ(step_errors_of(engine, {0, 0}, experts).experts, experts);
      EXPECT_EQ(step_errors_of(engine, {99, 0}, experts).engine, engine);
    }
  }
  for (const StepErrorRow& row : step_error_table()) {
    EXPECT_FALSE(row.source.empty());
    EXPECT_GT(row.sigma, 0);
  }
  for (const HostTimeRow& row : host_time_table()) {
    EXPECT_GT(row.sigma, 0);
    EXPECT_GT(row.waiting_sigma, row.sigma);
  }
}

// ln(measured / simulated) of TPOT: gpt-oss and MiniMax, each on H100 and H200. A fifth value scatters about
// their mean by their standard deviation times sqrt(1 + 1/4).
TEST(EngineErrors, OfExpertsPredictAFurtherPairOfModelAndGpu) {
  const double values[] = {-0.04, -0.04, 0.08, 0.21};
  double mean = 0, squares = 0;
  for (double one : values) mean += one / 4;
  for (double one : values) squares += (one - mean) * (one - mean);
  const StepErrorRow& experts = step_errors_of(EngineKind::vllm, kNewestVllm, true);
  EXPECT_NEAR(experts.bias, mean, 0.005);
  EXPECT_NEAR(experts.sigma, std::sqrt(squares / 3) * std::sqrt(1.25), 0.005);
  EXPECT_DOUBLE_EQ(step_errors_of(EngineKind::sglang, {0, 0}, true).sigma, 2 * experts.sigma);
}

TEST(EngineErrors, AreThoseOfTheModelsKindWhereTheProfileStatesNone) {
  const StepErrorRow& dense = step_errors_of(EngineKind::vllm, kNewestVllm, false);
  const StepErrorRow& experts = step_errors_of(EngineKind::vllm, kNewestVllm, true);
  EXPECT_GT(experts.sigma, dense.sigma);
  EXPECT_EQ(with_engine_errors(scenario_of("llama-3.1-8b", "")).errors.steps->sigma, dense.sigma);
  EXPECT_EQ(with_engine_errors(scenario_of("qwen3-30b-a3b", "")).errors.steps->bias, experts.bias);
  const Scenario stated = scenario_of("llama-3.1-8b", "", {"hardware.errors.steps={\"sigma\": 0.01}"});
  EXPECT_EQ(with_engine_errors(stated).errors.steps->sigma, 0.01);
  EXPECT_EQ(with_engine_errors(stated).errors.host->sigma,
            host_times_of(EngineKind::vllm, kNewestVllm).sigma);
}

// What papers describe has no engine.
TEST(EngineErrors, AreNoneWithoutAnEnginesTimes) {
  const Scenario paper = scenario_of("llama-3.1-8b", R"("host_times": "none")");
  EXPECT_FALSE(with_engine_errors(paper).errors.steps.has_value());
  EXPECT_FALSE(with_engine_errors(paper).errors.host.has_value());
}

// A pair of draws: exp(bias + sigma z) exp(bias - sigma z) = exp(2 bias).
TEST(EngineErrors, AreInTheDrawsOfAScenario) {
  const Scenario given = scenario_of("qwen3-30b-a3b", "");
  const double bias = step_errors_of(EngineKind::vllm, kNewestVllm, true).bias;
  ASSERT_GT(bias, 0);
  const auto constant_of = [&](int64_t draw) {
    return drawn_scenario(given, draw).hardware.gpu.elementwise->constant_s /
           given.hardware.gpu.elementwise->constant_s;
  };
  EXPECT_NEAR(constant_of(0) * constant_of(1), std::exp(2 * bias), 1e-9);
  EXPECT_NE(constant_of(0), constant_of(1));
  const double waiting_s = given.serving.waiting_overhead_s;
  ASSERT_GT(waiting_s, 0);
  EXPECT_NEAR(drawn_scenario(given, 2).serving.waiting_overhead_s *
                  drawn_scenario(given, 3).serving.waiting_overhead_s,
              waiting_s * waiting_s, 1e-9 * waiting_s * waiting_s);
}

TEST(EngineErrors, SayWhichEngineWasNeverCompared) {
  const auto outside = [](const std::string& serving) {
    const auto all = outside_validation({scenario_of("llama-3.1-8b", serving)}, 1000);
    return std::count(all.begin(), all.end(),
                      "not validated: whole runs of SGLang; the closest measured are those of vLLM");
  };
  EXPECT_EQ(outside(R"("engine": "sglang")"), 1);
  EXPECT_EQ(outside(""), 0);
}

}  // namespace engine_errors_test
}  // namespace kvcap
