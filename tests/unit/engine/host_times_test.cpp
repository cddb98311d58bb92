#include "engine/versions/host_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "run/machine.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap {
namespace host_times_test {

ServingOptions serving_of(const std::string& options, const std::vector<std::string>& overrides = {}) {
  return parse_scenario(sample_scenario("\"serving\": {" + options + "}"), "chat.json", overrides).serving;
}

TEST(HostTimes, HaveARowForEveryVersionOfEveryEngineAndASource) {
  const auto rows = host_time_table();
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end(), [](const HostTimeRow& a, const HostTimeRow& b) {
    return std::pair(a.engine, a.from) < std::pair(b.engine, b.from);
  }));
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm}) {
    EXPECT_EQ(host_times_of(engine, {0, 0}).from, (EngineVersion{0, 0}));
    EXPECT_GT(host_times_of(engine, {99, 0}).request_overhead_s, 0);
  }
  for (const HostTimeRow& row : rows) EXPECT_FALSE(row.source.empty());
}

TEST(HostTimes, AreThoseOfTheEngineAndItsVersionWhereAScenarioSaysNothing) {
  const ServingOptions new_one = serving_of(R"("engine_version": "0.15.1")");
  EXPECT_EQ(new_one.request_overhead_s, 6e-3);
  EXPECT_EQ(new_one.request_overhead_s_per_token, 2.5e-6);
  EXPECT_EQ(new_one.step_overhead_s, 0);
  EXPECT_EQ(new_one.step_overhead_per_sequence_s, 14e-6);
  EXPECT_EQ(new_one.waiting_overhead_s, 18e-9);
  EXPECT_TRUE(new_one.async_scheduling);
  // The last version whose steps wait for the host.
  const ServingOptions old_one = serving_of(R"("engine_version": "0.13")");
  EXPECT_EQ(old_one.step_overhead_s, 4.5e-3);
  EXPECT_FALSE(old_one.async_scheduling);
  EXPECT_EQ(serving_of(R"("engine_version": "0.14")").step_overhead_s, 0);
  EXPECT_EQ(serving_of(R"("engine": "sglang")").request_overhead_s, 6e-3);
}

// 0.9 ms at 80 layers, a twentieth of it at the sample's 4: whole graphs would leave the connector's work
// out.
TEST(HostTimes, GrowByPiecesOfGraphsUnderAConnectorThatWorksLayerByLayer) {
  const auto step_s = [](const std::string& policy, const std::string& serving) {
    return parse_scenario(sample_scenario("\"policy\": {" + policy + "}, \"serving\": {" + serving + "}"),
                          "chat.json", {})
        .serving.step_overhead_s;
  };
  const std::string layerwise = R"("name": "lmcache", "load": "layerwise")";
  EXPECT_DOUBLE_EQ(step_s(layerwise, R"("engine_version": "0.15.1")"), 0.9e-3 / 20);
  EXPECT_EQ(step_s(layerwise, R"("engine_version": "0.14")"), 0);
  EXPECT_EQ(step_s(layerwise, R"("engine_version": "0.15.1", "host_times": "none")"), 0);
  EXPECT_EQ(step_s(layerwise, R"("engine_version": "0.15.1", "step_overhead_s": 0)"), 0);
  EXPECT_EQ(step_s(R"("name": "lmcache")", R"("engine_version": "0.15.1")"), 0);
  EXPECT_EQ(step_s(R"("name": "vllm_offload")", R"("engine_version": "0.15.1")"), 0);
}

TEST(HostTimes, OfTensorRtLlm1AreLongerAndItsKernelsSlower) {
  const auto scenario_of = [](const std::string& version) {
    return parse_scenario(R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "hardware": "h100-sxm",
        "workload": {"source": {"kind": "chat"}}, "serving": {"engine": "trtllm", "engine_version": ")" +
                              version + "\"}}",
                          "chat.json", {});
  };
  const auto step_s = [&](const std::string& version) {
    return Machine(scenario_of(version), 1, 1).cost().decode_step_s(8, 8000);
  };
  EXPECT_EQ(scenario_of("1.0.0rc3").serving.step_overhead_s, 2.3e-3);
  EXPECT_EQ(scenario_of("1.0.0rc3").serving.step_overhead_per_sequence_s, 65e-6);
  EXPECT_EQ(scenario_of("1.1.0rc2").serving.step_overhead_s, 0);
  EXPECT_NEAR(step_s("1.0.0rc3") / step_s("1.1.0rc2"), 1.11, 1e-9);
}

TEST(HostTimes, AreThoseOfTheNewestVersionWhereNoneIsSaid) {
  EXPECT_EQ(parse_engine_version(ServingOptions{}.engine_version), kNewestVllm);
  EXPECT_GE(kNewestVllm, host_times_of(EngineKind::vllm, {99, 0}).from);
}

TEST(HostTimes, ThatAreGivenStandAndTheOthersAreTheEngines) {
  const ServingOptions one = serving_of(R"("request_overhead_s": 0, "engine_version": "0.13")");
  EXPECT_EQ(one.request_overhead_s, 0);
  EXPECT_EQ(one.request_overhead_s_per_token, 2.5e-6);
  EXPECT_EQ(serving_of("", {"serving.step_overhead_per_sequence_s=1e-3"}).step_overhead_per_sequence_s, 1e-3);
  EXPECT_EQ(serving_of("", {"hardware.engine.request_overhead_s=0.02"}).request_overhead_s, 0.02);
}

TEST(HostTimes, AreNoneWhereAScenarioSaysSo) {
  const ServingOptions none = serving_of(R"("host_times": "none", "engine_version": "0.13")");
  EXPECT_EQ(none.request_overhead_s, 0);
  EXPECT_EQ(none.request_overhead_s_per_token, 0);
  EXPECT_EQ(none.step_overhead_s, 0);
  EXPECT_EQ(none.step_overhead_per_sequence_s, 0);
  EXPECT_EQ(none.waiting_overhead_s, 0);
  EXPECT_FALSE(none.sampling.has_value());
  // What is asked for takes its time all the same.
  const ServingOptions asked = serving_of(R"("host_times": "none", "sampling": {"top_k": 20})");
  EXPECT_TRUE(asked.sampling->filters());
  EXPECT_EQ(asked.sampling->method, SamplerKernel::flashinfer);
}

TEST(Sampling, IsWhatTheModelsPublisherProposesWhereNobodyAsksForMore) {
  const auto sampling_of = [](const std::string& more) {
    return parse_scenario(
               R"({"schema": "kvcap.scenario/1", "model": "qwen3-8b", "hardware": "h100-sxm", "policy": "recompute",
        "workload": {"source": {"kind": "chat"}}, "serving": {)" +
                   more + "}}",
               "chat.json", {})
        .serving;
  };
  EXPECT_EQ(sampling_of("").sampling->top_k, 20);
  EXPECT_EQ(sampling_of("").sampling->top_p, 0.95);
  EXPECT_FALSE(sampling_of(R"("sampling": {})").sampling->filters());
  EXPECT_FALSE(sampling_of(R"("engine": "trtllm")").sampling->filters());  // greedy unless asked
  EXPECT_EQ(sampling_of(R"("engine_version": "0.16")").sampling->method, SamplerKernel::sort);
  EXPECT_EQ(sampling_of(R"("engine_version": "0.17")").sampling->method, SamplerKernel::triton);
  EXPECT_EQ(sampling_of(R"("engine_version": "0.20")").sampling->method, SamplerKernel::flashinfer);
  EXPECT_EQ(sampling_of(R"("engine": "sglang", "engine_version": "0.15")").sampling->method,
            SamplerKernel::flashinfer);
}

TEST(Sampling, FiltersLogitsOnlyWhereTokensAreLeftOutAndDrawn) {
  EXPECT_FALSE((Sampling{}).filters());
  EXPECT_TRUE((Sampling{.top_k = 1}).filters());
  EXPECT_TRUE((Sampling{.top_p = 0.99}).filters());
  EXPECT_FALSE((Sampling{.temperature = 0, .top_k = 20, .top_p = 0.9}).filters());
}

// FlashAttention has one kernel for both, but it is not the default on the large Blackwells.
TEST(AttentionBackend, IsTheDefaultOfTheEngineAndTheGpu) {
  const auto serving_on = [](const std::string& hardware, const std::string& more = "") {
    return parse_scenario(R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "policy": "recompute",
        "workload": {"source": {"kind": "chat"}}, "hardware": ")" +
                              hardware + R"(", "serving": {)" + more + "}}",
                          "chat.json", {})
        .serving;
  };
  EXPECT_EQ(serving_on("h100-sxm").mixed_attention, MixedAttention::one_call);
  EXPECT_EQ(serving_on("b200-sxm-8x").mixed_attention, MixedAttention::two_calls);
  EXPECT_EQ(serving_on("h100-sxm", R"("engine": "sglang")").mixed_attention, MixedAttention::two_calls);
  EXPECT_EQ(serving_on("h100-sxm", R"("mixed_attention": "two_calls")").mixed_attention,
            MixedAttention::two_calls);
  const auto with = [&](const std::string& hardware, const std::string& backend) {
    return serving_on(hardware, R"("attention_backend": ")" + backend + "\"").mixed_attention;
  };
  EXPECT_EQ(with("h100-sxm", "flashinfer"), MixedAttention::two_calls);
  EXPECT_EQ(with("h100-sxm", "trtllm"), MixedAttention::two_calls);
  EXPECT_EQ(with("b200-sxm-8x", "flash_attn"), MixedAttention::one_call);
  EXPECT_EQ(with("b200-sxm-8x", "triton"), MixedAttention::one_call);
  EXPECT_EQ(serving_on("h100-sxm").one_token_slices, OneTokenSlices::decode);
  EXPECT_EQ(serving_on("h100-sxm", R"("one_token_slices": "prefill")").one_token_slices,
            OneTokenSlices::prefill);
  EXPECT_EQ(serving_on("h100-sxm", R"("engine": "trtllm")").one_token_slices, OneTokenSlices::prefill);
}

// Rows of the table that the times are fitted to (vllm-project/vllm pull 40376), whose worst is 66 % off.
TEST(Sampling, TakesWhatItsKernelsWereMeasuredToTake) {
  const auto ms = [](SamplerKernel kernel, double batch, double vocabulary) {
    const SamplerTime time = sampler_time(kernel);
    return 1e3 * (time.fixed_s + time.per_logit_s * batch * vocabulary);
  };
  EXPECT_NEAR(ms(SamplerKernel::sort, 64, 32768), 0.401, 0.01);
  EXPECT_NEAR(ms(SamplerKernel::sort, 512, 131072), 6.15, 0.7);
  EXPECT_NEAR(ms(SamplerKernel::triton, 64, 32768), 0.126, 0.03);
  EXPECT_NEAR(ms(SamplerKernel::triton, 512, 131072), 1.124, 0.4);
  EXPECT_NEAR(ms(SamplerKernel::flashinfer, 128, 32768), 0.074, 0.01);
  EXPECT_NEAR(ms(SamplerKernel::flashinfer, 512, 131072), 0.488, 0.1);
}

}  // namespace host_times_test
}  // namespace kvcap
