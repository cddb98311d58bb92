// Deployments that are written for scenarios: read back, they are the settings of the launch line.
#include "launch/deployment.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/cli.h"
#include "unit/launch_lines.h"

namespace kvcap::deployment_test {
namespace {

using namespace launch_lines;
using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const Texts kVllm = {
    "vllm serve Qwen/Qwen3-32B -tp 2 --kv-offloading-size 100 --max-num-seqs 64 --gpu-memory-utilization "
    "0.85",
    "vllm serve Qwen/Qwen3-8B --no-enable-prefix-caching --max-model-len 4096 --no-async-scheduling",
    "vllm serve Qwen/Qwen3-8B -dp 2 --kv-offloading-size 40 --num-gpu-blocks-override 1000 --block-size 32",
    "LMCACHE_MAX_LOCAL_CPU_SIZE=60 LMCACHE_CHUNK_SIZE=512 vllm serve Qwen/Qwen3-8B --kv-transfer-config "
    "'{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'",
    "LMCACHE_MAX_LOCAL_CPU_SIZE=2.5 LMCACHE_LOCAL_DISK=/x LMCACHE_MAX_LOCAL_DISK_SIZE=800 vllm serve "
    "Qwen/Qwen3-8B "
    "--kv-transfer-config.kv_connector LMCacheConnectorV1",
    "LMCACHE_LOCAL_CPU=False LMCACHE_REMOTE_URL=lm://h:1 vllm serve Qwen/Qwen3-8B "
    "--kv-transfer-config.kv_connector "
    "LMCacheConnectorV1",
    "DYN_KVBM_CPU_CACHE_GB=100 vllm serve Qwen/Qwen3-8B --kv-transfer-config "
    "'{\"kv_connector\":\"DynamoConnector\",\"kv_role\":\"kv_both\"}'",
    "vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8 --kv-transfer-config "
    "'{\"kv_connector\":\"OffloadingConnector\","
    "\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":50000000000,\"store_threshold\":2}}'",
    "vllm serve Qwen/Qwen3-8B --override-generation-config "
    "'{\"temperature\":0.5,\"top_k\":7,\"top_p\":0.9}'"};
const Texts kOthers = {
    "sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-ratio 3 --page-size 32",
    "sglang serve Qwen/Qwen3-30B-A3B --tp 8 --dp 4 --enable-dp-attention --ep 8 --chunked-prefill-size 4096",
    "LMCACHE_MAX_LOCAL_CPU_SIZE=60 sglang serve Qwen/Qwen3-8B --enable-lmcache",
    "trtllm-serve Qwen/Qwen3-8B --max_batch_size 128 --tp_size 2 --kv_cache_dtype fp8 "
    "--enable_chunked_prefill "
    "--extra_llm_api_options.kv_cache_config.host_cache_size 10000000000",
    "trtllm-serve Qwen/Qwen3-8B --disable_kv_cache_reuse --kv_cache_free_gpu_memory_fraction 0.8",
    "trtllm-serve Qwen/Qwen3-30B-A3B --tp_size 4 --extra_llm_api_options.enable_attention_dp true"};

constexpr DeploymentForm kForms[] = {DeploymentForm::launch, DeploymentForm::helm, DeploymentForm::dynamo,
                                     DeploymentForm::llm_d};

class Deployments : public Cli {
 protected:
  LaunchLine read_back(const Scenario& scenario, DeploymentForm form) const {
    const bool is_line = form == DeploymentForm::launch;
    write(is_line ? "a.sh" : "a.yaml", deployment_of(scenario, form));
    return read_from(path(is_line ? "a.sh" : "a.yaml"));
  }
  // Returns the settings of engine and policy. Only values of the chart name the engine's version.
  static Json settings(const Scenario& scenario) {
    Json json = Json::parse(scenario.resolved_json);
    json["serving"].erase("engine_version");
    return {{"model", json["model"]}, {"serving", json["serving"]}, {"policy", json["policy"]}};
  }
};

TEST_F(Deployments, ReadBackAreTheSettingsOfTheLaunchLine) {
  const auto expect_same = [&](const std::string& line, DeploymentForm form) {
    const Scenario scenario = scenario_of(line);
    const LaunchLine back = read_back(scenario, form);
    EXPECT_EQ(settings(scenario_of(back)), settings(scenario_of(launch_line_of(scenario))))
        << deployment_of(scenario, form);
    EXPECT_TRUE(back.notes.empty()) << line << "\n" << back.notes.front();
  };
  for (const std::string& line : kVllm) {
    for (const DeploymentForm form : kForms) expect_same(line, form);
  }
  for (const std::string& line : kOthers) {
    for (const DeploymentForm form : {DeploymentForm::launch, DeploymentForm::dynamo})
      expect_same(line, form);
  }
}

TEST_F(Deployments, KeepServersAndReserveTheGpusOfOne) {
  const Scenario scenario = scenario_of("vllm serve Qwen/Qwen3-8B -tp 2 -dp 2", {"fleet.replicas=3"});
  for (const DeploymentForm form : {DeploymentForm::helm, DeploymentForm::dynamo, DeploymentForm::llm_d}) {
    const LaunchLine back = read_back(scenario, form);
    EXPECT_EQ(value_of(back, "fleet.replicas"), "3");
    EXPECT_EQ(value_of(back, "hardware.gpu.count"), "") << "four GPUs, all in use";
  }
  EXPECT_TRUE(has(deployment_of(scenario, DeploymentForm::helm), "requestGPU: 4\n"));
  EXPECT_TRUE(has(deployment_of(scenario, DeploymentForm::dynamo), "gpu: '4'\n"));
}

TEST_F(Deployments, OfHelmUseTheChartsOwnValues) {
  EXPECT_EQ(deployment_of(scenario_of(kVllm[3]), DeploymentForm::helm),
            R"(# Values of vLLM's production stack. kvcap assumed requestCPU, and 32 GiB of requestMemory.
servingEngineSpec:
  modelSpec:
    - name: qwen3-8b
      repository: lmcache/vllm-openai
      tag: latest
      modelURL: Qwen/Qwen3-8B
      replicaCount: 1
      requestCPU: 8
      requestMemory: '92Gi'
      requestGPU: 1
      vllmConfig:
        enablePrefixCaching: true
      lmcacheConfig:
        enabled: true
        cpuOffloadingBufferSize: '60'
      env:
        - name: LMCACHE_CHUNK_SIZE
          value: '512'
)");
  const std::string plain = deployment_of(scenario_of(kVllm[1]), DeploymentForm::helm);
  EXPECT_TRUE(has(plain, "      repository: vllm/vllm-openai\n      tag: v0.30.0\n")) << plain;
  EXPECT_TRUE(has(plain, "enablePrefixCaching: false\n        maxModelLen: 4096\n")) << plain;
  EXPECT_TRUE(has(plain, "extraArgs:\n          - --no-async-scheduling\n")) << plain;
  // Helm would write 1e+06.
  const std::string large =
      deployment_of(scenario_of("vllm serve Qwen/Qwen3-8B",
                                {"serving.max_num_seqs=1000000", "serving.max_num_batched_tokens=1000000"}),
                    DeploymentForm::helm);
  EXPECT_TRUE(has(large, "- --max-num-seqs\n          - '1000000'\n")) << large;
}

// 16.4 GB of weights are 15.3 GiB, and each of four processes has 60 GiB; the chart adds the flags of both
// parallelisms.
TEST_F(Deployments, OfLlmDUseTheChartsOwnValues) {
  EXPECT_EQ(deployment_of(scenario_of("LMCACHE_MAX_LOCAL_CPU_SIZE=60 vllm serve Qwen/Qwen3-8B -tp 2 -dp 2 "
                                      "--max-num-seqs 64 --kv-transfer-config "
                                      "'{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'",
                                      {"fleet.replicas=3"}),
                          DeploymentForm::llm_d),
            R"(# Values of llm-d's modelservice. kvcap assumed cpu, size, and 32 GiB of memory.
modelArtifacts:
  name: Qwen/Qwen3-8B
  uri: 'hf://Qwen/Qwen3-8B'
  size: '19Gi'
  labels:
    llm-d.ai/inferenceServing: 'true'
    llm-d.ai/model: qwen3-8b
routing:
  proxy:
    enabled: false
decode:
  replicas: 3
  parallelism:
    tensor: 2
    data: 2
    dataLocal: 2
  containers:
    - name: vllm
      image: 'lmcache/vllm-openai:latest'
      modelCommand: vllmServe
      args:
        - --kv-transfer-config
        - '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
        - --max-num-seqs
        - '64'
      resources:
        requests:
          cpu: '32'
          memory: '272Gi'
        limits:
          nvidia.com/gpu: '4'
      mountModelVolume: true
      env:
        - name: LMCACHE_MAX_LOCAL_CPU_SIZE
          value: '60'
prefill:
  create: false
)");
}

TEST_F(Deployments, OfDynamoGiveTensorRtLlmAFile) {
  const std::string text = deployment_of(scenario_of(kOthers[4]), DeploymentForm::dynamo);
  EXPECT_TRUE(has(text,
                  "kind: ConfigMap\nmetadata:\n  name: qwen3-8b-engine\ndata:\n  engine.yaml: |\n    "
                  "enable_chunked_prefill: true\n    kv_cache_config:\n"
                  "      free_gpu_memory_fraction: 0.8\n      enable_block_reuse: false\n"))
      << text;
  EXPECT_TRUE(has(text,
                  "          args:\n            - --model\n            - Qwen/Qwen3-8B\n            - "
                  "--extra-engine-args\n            - /config/engine.yaml\n"))
      << text;
}

TEST_F(Deployments, ThatAFormCannotExpressAreRefused) {
  const auto refused = [](const Scenario& scenario, DeploymentForm form) -> std::string {
    try {
      deployment_of(scenario, form);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refused(scenario_of("sglang serve Qwen/Qwen3-8B"), DeploymentForm::helm),
            "--emit helm: found sglang, allowed: vllm, which vLLM's production stack starts");
  const Scenario hcache = scenario_of("vllm serve Qwen/Qwen3-8B", {"policy={}", "policy.name=hcache"});
  EXPECT_EQ(refused(scenario_of("sglang serve Qwen/Qwen3-8B"), DeploymentForm::llm_d),
            "--emit llm-d: found sglang, allowed: vllm, which llm-d's modelservice starts");
  for (const DeploymentForm form : kForms) {
    EXPECT_TRUE(refused(hcache, form)
                    .ends_with(": no flags of vllm express the policy hcache with its tiers, or the formats "
                               "of the model's weights and KV"))
        << refused(hcache, form);
  }
  Scenario pair = scenario_of("vllm serve Qwen/Qwen3-8B");
  pair.fleet.disaggregation.emplace();
  EXPECT_EQ(refused(pair, DeploymentForm::dynamo),
            "--emit dynamo: found fleet.disaggregation, allowed: servers that both prefill and decode");
}

TEST_F(Deployments, AreAllThatPlanPrints) {
  write("plan.json", R"({"schema": "kvcap.plan/1", "name": "p", "max_replications": 1, "base":
      {"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "l40s", "serving": {"max_model_len": 16384},
       "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.03}, "sessions": 10}},
      "search": {"policy.name": ["recompute"]}, "meet": {"token_hit_rate": {"min": 0.1}}})");
  const auto plan = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plan", path("plan.json"), "--from",
                               "vllm serve meta-llama/Llama-3.1-8B-Instruct "
                               "--max-num-seqs 64",
                               "--draws", "0"});
    return kvcap(more);
  };
  const Outcome outcome = plan({"--emit", "helm", "--out", path("answer")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("# Values of vLLM's production stack.")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "maxNumSeqs: 64\n")) << outcome.out;
  const std::string line = Json::parse(read_file(path("answer/plan_result.json"))).at("launch");
  EXPECT_EQ(plan({"--emit", "launch"}).out, line + "\n");
  const std::string kept =
      "kvcap: --emit: printing the saved answer of the same plan in " + path("answer/plan_result.json");
  for (const char* form : {"launch", "helm"}) {
    const Outcome again = plan({"--emit", form, "--out", path("answer")});
    EXPECT_EQ(again.err, kept + "\n");
    EXPECT_EQ(again.out, form == std::string("launch") ? line + "\n" : outcome.out);
  }
  EXPECT_EQ(plan({"--emit", "launch", "--out", path("answer"), "--set", "workload.sessions=11"}).err, "")
      << "another plan";
  EXPECT_TRUE(
      has(plan({"--emit", "helm", "--json"}).err, "plan: found --emit with --json, allowed: one of them"));
  EXPECT_TRUE(has(plan({"--emit", "chart"}).err, "--emit")) << "with the allowed words";
}

TEST_F(Deployments, AreAllThatRunPrintsWithoutASimulationOrALoad) {
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"run", "--from", "vllm serve Qwen/Qwen3-8B --max-num-seqs 64", "--gpu", "l40s", "--emit"});
    return kvcap(more);
  };
  const Outcome helm = run({"helm"});
  EXPECT_EQ(helm.exit_code, 0) << helm.err;
  EXPECT_TRUE(has(helm.out, "maxNumSeqs: 64\n")) << helm.out;
  EXPECT_TRUE(run({"launch"}).out.starts_with("vllm serve Qwen/Qwen3-8B ")) << run({"launch"}).out;
  EXPECT_TRUE(has(run({"llm-d"}).out, "modelCommand: vllmServe\n"));
  EXPECT_EQ(run({"helm", "--check"}).exit_code, 2);
  EXPECT_TRUE(has(run({"helm", "--require", "p99_ttft_ms<=1"}).err,
                  "run: found --emit with --require, allowed: one of them"));
}

}  // namespace
}  // namespace kvcap::deployment_test
