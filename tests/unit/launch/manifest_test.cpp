// Manifests: what Kubernetes objects, Helm values and Dynamo graphs set, and how they are refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unit/cli.h"
#include "unit/launch_lines.h"

namespace kvcap::manifest_test {
namespace {

using namespace launch_lines;
using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A pod whose container has these further fields.
std::string pod(const std::string& fields, const std::string& name = "chat") {
  return "kind: Pod\nmetadata: {name: " + name + "}\nspec:\n  containers:\n  - name: main\n    " + fields +
         "\n";
}
std::string vllm_pod(const std::string& args, const std::string& resources = "{}") {
  return pod("image: vllm/vllm-openai:v0.19.0\n    args: [--model, Qwen/Qwen3-8B" + args +
             "]\n    resources: " + resources);
}

class Manifests : public Cli {
 protected:
  std::string file(const std::string& text) const {
    write("a.yaml", text);
    return path("a.yaml");
  }
  LaunchLine read(const std::string& text, const std::string& engine = "", const Texts& ignored = {}) const {
    return read_from(file(text) + engine, ignored);
  }
  // Returns the message without the folder of the file.
  std::string refused(const std::string& text, const std::string& engine = "",
                      const Texts& ignored = {}) const {
    try {
      read(text, engine, ignored);
    } catch (const InputError& error) {
      std::string message = error.what();
      const std::string folder = path("");
      for (std::size_t at = message.find(folder); at != std::string::npos; at = message.find(folder)) {
        message.erase(at, folder.size());
      }
      return message;
    }
    return "accepted";
  }
};

// ---- Kubernetes ----

TEST_F(Manifests, OfADeploymentGiveImageVariablesCommandGpusAndReplicas) {
  const LaunchLine line = read(R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: proxy, image: "nginx:1", args: [--backend, vllm]}
      - name: vllm
        image: vllm/vllm-openai:v0.19.0
        command: [vllm, serve, $(MODEL)]
        args: [--tensor-parallel-size=$(TP), --max-num-seqs, 64]
        env:
        - {name: MODEL, value: Qwen/Qwen3-32B}
        - {name: TP, value: "2"}
        - name: HF_TOKEN
          valueFrom: {secretKeyRef: {name: hf, key: token}}
        resources: {limits: {nvidia.com/gpu: 2}}
)");
  EXPECT_EQ(line.model, "qwen3-32b");
  EXPECT_EQ(line.engine_version, "0.19.0");
  EXPECT_EQ(value_of(line, "serving.tensor_parallel_size"), "2");
  EXPECT_EQ(value_of(line, "serving.max_num_seqs"), "64");
  EXPECT_EQ(value_of(line, "fleet.replicas"), "3");
  EXPECT_EQ(value_of(line, "hardware.gpu.count"), "") << "as many as the engine uses";
  EXPECT_EQ(line.source, path("a.yaml") + ", chat");
  EXPECT_TRUE(line.notes.empty()) << line.notes.front();
}

TEST_F(Manifests, OfAnImageWithoutACommandAreReadAsItsEntrypoint) {
  EXPECT_EQ(value_of(read(vllm_pod(", --max-num-seqs, '32'")), "serving.max_num_seqs"), "32");
  EXPECT_TRUE(has(refused(pod("image: lmsysorg/sglang:v0.5.2\n    args: [--model-path, Qwen/Qwen3-8B]")),
                  "found no engine (Pod)"))
      << "this image has no entrypoint";
  EXPECT_EQ(read(pod("image: lmcache/vllm-openai:v0.3.9\n    args: [--model, Qwen/Qwen3-8B]")).engine_version,
            "")
      << "a version of LMCache";
  const LaunchLine sglang =
      read(pod("image: lmsysorg/sglang:v0.5.2-cu126\n    command: [python3, -m, "
               "sglang.launch_server]\n    args: [--model-path, Qwen/Qwen3-8B]"));
  EXPECT_EQ(sglang.engine, Stack::sglang);
  EXPECT_EQ(sglang.engine_version, "0.5.2");
}

TEST_F(Manifests, OfAShellCommandAreReadWithItsVariables) {
  const LaunchLine line = read(pod(R"(command: [/bin/bash, -lc]
    args:
    - |
      export SEQS=48
      exec vllm serve Qwen/Qwen3-8B -tp ${TP} \
        --max-num-seqs $SEQS --block-size $(BLOCK) && sleep 1
    - ignored
    env:
    - {name: TP, value: '4'}
    - {name: BLOCK, value: '32'})"));
  EXPECT_EQ(value_of(line, "serving.tensor_parallel_size"), "4");
  EXPECT_EQ(value_of(line, "serving.max_num_seqs"), "48");
  EXPECT_EQ(value_of(line, "serving.block_size"), "32");
}

TEST_F(Manifests, TakeVariablesAndFilesOfTheirConfigMaps) {
  const std::string map = R"(kind: ConfigMap
metadata: {name: settings}
data:
  LMCACHE_MAX_LOCAL_CPU_SIZE: "60"
  seqs: "24"
  serve.yaml: "block-size: 32\n"
---
)";
  const LaunchLine line = read(map + pod(R"(command: [vllm, serve, Qwen/Qwen3-8B]
    args: [--config, /etc/x/serve.yaml, --max-num-seqs, $(SEQS), --kv-transfer-config.kv_connector, LMCacheConnectorV1]
    envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: hf}}, {configMapRef: {name: other}}]
    env: [{name: SEQS, valueFrom: {configMapKeyRef: {name: settings, key: seqs}}}])"));
  EXPECT_EQ(value_of(line, "serving.block_size"), "32");
  EXPECT_EQ(value_of(line, "serving.max_num_seqs"), "24");
  EXPECT_TRUE(has(value_of(line, "policy.tiers"), "64424509440")) << "60 GiB";
  ASSERT_EQ(line.notes.size(), 1U);
  EXPECT_TRUE(has(line.notes[0], "spec.containers[0].envFrom[2]: ConfigMap other is not in the file"));
}

TEST_F(Manifests, OfListsStatefulSetsAndLeaderWorkerSetsAreFound) {
  const std::string template_of =
      "{spec: {containers: [{image: 'vllm/vllm-openai:v0.19.0', args: [--model, "
      "Qwen/Qwen3-8B, -tp, '4'], resources: {limits: {nvidia.com/gpu: 4}}}]}}";
  EXPECT_EQ(value_of(read("kind: List\nitems:\n- {kind: Service}\n- kind: StatefulSet\n  spec: {replicas: 2, "
                          "template: " +
                          template_of + "}\n"),
                     "fleet.replicas"),
            "2");
  const auto set = [&](int size) {
    return "kind: LeaderWorkerSet\nmetadata: {name: big}\nspec:\n  replicas: 2\n  leaderWorkerTemplate:\n    "
           "size: " +
           std::to_string(size) + "\n    workerTemplate: " + template_of + "\n";
  };
  EXPECT_EQ(value_of(read(set(1)), "fleet.replicas"), "2");
  // The leader's template, if there is one, runs the server.
  std::string led = set(1);
  const std::string workers = "    workerTemplate: ", worker = "{spec: {containers: [{image: busybox}]}}";
  led.replace(led.find(workers), workers.size(), workers + worker + "\n    leaderTemplate: ");
  EXPECT_EQ(value_of(read(led), "serving.tensor_parallel_size"), "4");
  EXPECT_EQ(refused(set(2)),
            "--from: a.yaml:6: spec.leaderWorkerTemplate.size: found an engine that spans 2 nodes, allowed: "
            "one node; --ignore-flags nnodes simulates one node with the GPUs of all");
  const LaunchLine two = read(set(2), "", {"nnodes"});
  EXPECT_EQ(value_of(two, "hardware.gpu.count"), "8");
  EXPECT_EQ(two.left_out, Texts{"nnodes"});
  EXPECT_FALSE(has_note(two, "does not have this flag"));
}

TEST_F(Manifests, WithMoreGpusThanTheEngineUsesReserveThemAndWithFewerAreRefused) {
  const LaunchLine line = read(vllm_pod(", -tp, '2'", "{limits: {nvidia.com/gpu: '4'}}"));
  EXPECT_EQ(value_of(line, "hardware.gpu.count"), "4");
  EXPECT_TRUE(
      has_note(line, "resources.limits.nvidia.com/gpu: the engine uses 2 of 4 GPUs; the others are idle"));
  EXPECT_EQ(
      refused(vllm_pod(", -tp, '4'", "{requests: {nvidia.com/gpu: 2}}")),
      "--from: a.yaml:8: spec.containers[0].resources.requests.nvidia.com/gpu: found 2 GPUs, allowed: at "
      "least the 4 GPUs that the engine's flags need");
  EXPECT_TRUE(
      has(refused(vllm_pod(", -tp, '2', -dp, '2'", "{limits: {nvidia.com/gpu: 2}}")), "at least the 4 GPUs"));
  EXPECT_TRUE(has(refused(vllm_pod("", "{limits: {nvidia.com/mig-1g.10gb: 1}}")),
                  "found a part of a GPU (nvidia.com/mig-1g.10gb), allowed: whole GPUs"));
  EXPECT_TRUE(has(refused(vllm_pod("", "{limits: {nvidia.com/gpu: some}}")),
                  "nvidia.com/gpu: found \"some\", allowed: a whole number"));
}

TEST_F(Manifests, NameThePlaceOfAFlagThatIsNotSimulated) {
  const std::string text = vllm_pod(", --enforce-eager, --max-num-seqz=3, stray");
  EXPECT_EQ(refused(text),
            "--from: a.yaml:7: spec.containers[0].args[3]: --max-num-seqz is not a known flag of vllm; did "
            "you mean "
            "\"--max-num-seqs\"?; a.yaml:7: spec.containers[0].args[4]: \"stray\" does not belong to a flag; "
            "a.yaml:7: spec.containers[0].args[2]: --enforce-eager affects the result and is not simulated; "
            "--ignore-flags max-num-seqz,stray,enforce-eager leaves them out");
  EXPECT_EQ(refused(text, "", {"max-num-seqz", "stray", "enforce-eager"}), "accepted");
  EXPECT_TRUE(
      has(refused(vllm_pod(", -tp, two")), "a.yaml:7: spec.containers[0].args[2]: -tp: found \"two\""));
  EXPECT_TRUE(has(
      refused(pod("command: [vllm, serve, Qwen/Qwen3-8B, --max-num-seqs, $(SEQS)]\n    env: [{name: SEQS, "
                  "valueFrom: {secretKeyRef: {name: a, key: b}}}]")),
      "command[3]: --max-num-seqs: found \"$(SEQS)\", a variable that the line does not set"));
}

TEST_F(Manifests, OfSeveralEnginesAreChosenByName) {
  const std::string two = vllm_pod("") + "---\n" +
                          pod("image: vllm/vllm-openai:v0.19.0\n    args: [--model, Qwen/Qwen3-32B]", "code");
  EXPECT_EQ(refused(two),
            "--from: a.yaml: found 2 engines, allowed: one of chat, code, as in --from a.yaml#chat");
  EXPECT_EQ(refused(two, "#rag"),
            "--from: a.yaml: found no engine \"rag\", allowed: one of chat, code, as in --from a.yaml#chat");
  EXPECT_EQ(read(two, "#code").model, "qwen3-32b");
  EXPECT_EQ(refused(vllm_pod("") + "---\n" + vllm_pod(""), "#chat"),
            "--from: a.yaml: found two engines chat, allowed: engines with different names");
  const std::string one = "{name: NAME, image: 'vllm/vllm-openai', args: [--model, Qwen/Qwen3-8B]}";
  EXPECT_TRUE(has(refused("kind: Pod\nmetadata: {name: p}\nspec: {containers: [" + one + ", " + one + "]}\n"),
                  "one of p/NAME, p/NAME"));
}

// ---- Helm values ----

std::string stack(const std::string& model, const std::string& more = "") {
  return "servingEngineSpec:\n  modelSpec:\n  - name: llama\n    repository: lmcache/vllm-openai\n    tag: "
         "v0.3.9\n"
         "    modelURL: meta-llama/Llama-3.1-8B-Instruct\n    replicaCount: 2\n    requestGPU: 1\n" +
         model + more;
}

TEST_F(Manifests, OfTheProductionStackAreReadAsItsChartStartsVllm) {
  const LaunchLine line = read(stack(R"(    vllmConfig:
      enablePrefixCaching: true
      enableChunkedPrefill: true
      maxModelLen: 32768
      dtype: bfloat16
      tensorParallelSize: 1
      gpuMemoryUtilization: 0.85
      maxNumSeqs: 128
      extraArgs: [--block-size, "32"]
    lmcacheConfig:
      enabled: true
      cpuOffloadingBufferSize: "60"
      diskOffloadingBufferSize: 500
    env:
    - {name: LMCACHE_CHUNK_SIZE, value: "512"}
)"));
  EXPECT_EQ(line.model, "llama-3.1-8b");
  EXPECT_EQ(value_of(line, "serving.prefix_caching"), "true");
  EXPECT_EQ(value_of(line, "serving.chunked_prefill"), "true");
  EXPECT_EQ(value_of(line, "serving.max_model_len"), "32768");
  EXPECT_EQ(value_of(line, "serving.gpu_memory_utilization"), "0.85");
  EXPECT_EQ(value_of(line, "serving.max_num_seqs"), "128");
  EXPECT_EQ(value_of(line, "serving.block_size"), "32");
  EXPECT_EQ(value_of(line, "policy.name"), "lmcache");
  EXPECT_EQ(value_of(line, "policy.chunk_tokens"), "512");
  EXPECT_EQ(value_of(line, "fleet.replicas"), "2");
  const Json tiers = Json::parse(value_of(line, "policy.tiers"));
  ASSERT_EQ(tiers.size(), 2U);
  EXPECT_EQ(tiers[0].at("capacity_bytes"), 60 * 1073741824.0);
  EXPECT_EQ(tiers[1].at("capacity_bytes"), 500 * 1073741824.0);
  EXPECT_TRUE(line.notes.empty()) << line.notes.front();
}

TEST_F(Manifests, OfTheProductionStackHaveItsChartsDefaults) {
  const LaunchLine line =
      read(stack("    vllmConfig: {maxModelLen: 4096}\n    lmcacheConfig: {enabled: false}\n",
                 "cacheserverSpec: {servicePort: 81}\n"));
  EXPECT_EQ(value_of(line, "serving.prefix_caching"), "false");
  EXPECT_TRUE(has_note(line,
                       "vllmConfig: without enablePrefixCaching the chart starts vLLM with "
                       "--no-enable-prefix-caching"));
  EXPECT_EQ(value_of(line, "policy.name"), "recompute");
  EXPECT_EQ(value_of(read(stack("")), "serving.prefix_caching"), "") << "the engine's default";
  const LaunchLine adapters = read(stack("    enableLoRA: true\n    vllmConfig: {maxLoras: 3}\n"));
  EXPECT_EQ(value_of(adapters, "serving.enable_lora"), "true");
  EXPECT_EQ(value_of(adapters, "serving.max_loras"), "3");
  const std::string lmcache = "    lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: 0}\n";
  EXPECT_TRUE(
      has(value_of(read(stack(lmcache, "cacheserverSpec: {servicePort: 81}\n")), "policy.tiers"), "remote"));
  EXPECT_FALSE(
      has(value_of(read(stack(lmcache, "cacheserverSpec: {enabled: false}\n")), "policy.tiers"), "remote"));
  EXPECT_TRUE(has(refused(stack("    enabled: false\n")), "found no engine"));
}

TEST_F(Manifests, OfTheProductionStackAreRefusedWhereTheyAreNotSimulated) {
  EXPECT_EQ(refused(stack("    vllmConfig: {maxModelLn: 4096}\n")),
            "--from: a.yaml:9: servingEngineSpec.modelSpec[0].vllmConfig.maxModelLn: not a value of the "
            "chart; did you "
            "mean \"maxModelLen\"?");
  EXPECT_TRUE(has(refused(stack("    vllmConfig: {pipelineParallelSize: 2}\n")),
                  "modelSpec[0].requestGPU: found 1 GPU, allowed: at least the 2 GPUs"));
  EXPECT_TRUE(
      has(refused(stack("    lmcacheConfig: {enabled: true, enablePD: true}\n")), "enablePD: found true"));
  EXPECT_TRUE(has(refused(stack("    lmcacheConfig: {enabled: true, kvRole: kv_producer}\n")),
                  "--kv-transfer-config.kv_role kv_producer affects the result and is not simulated"));
  EXPECT_TRUE(has(refused(stack("    vllmConfig: {tensorParallelSize: 2, enablePrefixCaching: true}\n")),
                  "modelSpec[0].requestGPU: found 1 GPU, allowed: at least the 2 GPUs"));
  EXPECT_TRUE(has(refused(stack("    requestGPUType: nvidia.com/mig-1g.10gb\n")), "allowed: whole GPUs"));
}

std::string service(const std::string& prefill, const std::string& prefill_args = "",
                    const std::string& tensor = "2") {
  const auto part = [](const std::string& name, const std::string& replicas, const std::string& size,
                       const std::string& args) {
    return name + ":\n  replicas: " + replicas + "\n  parallelism: {tensor: " + size +
           "}\n  containers:\n  - name: vllm\n    image: ghcr.io/llm-d/llm-d-cuda:v0.4.0\n    modelCommand: "
           "vllmServe\n"
           "    args: [--kv-transfer-config.kv_connector, NixlConnector, --block-size, '32'" +
           args + "]\n";
  };
  return "modelArtifacts:\n  name: Qwen/Qwen3-8B\n  uri: \"hf://{{ .Values.modelArtifacts.name }}\"\n" +
         part("decode", "1", "2", ", --max-num-seqs, '256'") + part("prefill", prefill, tensor, prefill_args);
}

TEST_F(Manifests, OfModelserviceGiveServersForPrefillAndDecode) {
  const LaunchLine line = read(service("3", ", --max-num-seqs, '16'"));
  EXPECT_EQ(line.model, "qwen3-8b");
  EXPECT_EQ(value_of(line, "serving.tensor_parallel_size"), "2");
  EXPECT_EQ(value_of(line, "serving.max_num_seqs"), "256");
  EXPECT_EQ(value_of(line, "fleet.replicas"), "4");
  EXPECT_EQ(value_of(line, "fleet.disaggregation.prefill_replicas"), "3");
  EXPECT_EQ(value_of(line, "fleet.disaggregation.prefill.max_num_seqs"), "16");
  EXPECT_TRUE(line.notes.empty()) << line.notes.front();
  // Notes of both servers are kept.
  const std::string both = service("3", ", --max-num-seqs, '16', --moe-backend, triton");
  const LaunchLine noted =
      read(std::string(both).replace(both.find("'256'"), 5, "'256', --moe-backend, triton"));
  EXPECT_EQ(noted.notes.size(), 2U);
  EXPECT_EQ(read(both).notes, Texts{noted.notes.back()});
  const LaunchLine wide = read(service("3", ", --max-num-seqs, '16'", "4"));
  EXPECT_EQ(value_of(wide, "fleet.disaggregation.prefill.tensor_parallel_size"), "4");
  EXPECT_EQ(value_of(wide, "fleet.disaggregation.decode.tensor_parallel_size"), "2");
  EXPECT_EQ(value_of(wide, "fleet.disaggregation.prefill.data_parallel_size"), "");
  EXPECT_EQ(refused(service("3", ", --max-num-seqs, '16', --max-model-len, '4096'")),
            "--from: a.yaml: prefill and decode differ in serving.max_model_len: found 4096 and no value, "
            "allowed: the same for both; max_num_seqs, max_num_batched_tokens, tensor_parallel_size and "
            "data_parallel_size may differ");
  EXPECT_TRUE(has(refused(service("3")), "differ in serving.max_num_seqs: found no value and 256"));
  EXPECT_EQ(value_of(read(service("0")), "fleet.replicas"), "") << "one decode server does both";
  EXPECT_EQ(value_of(read(service("3"), "#prefill"), "fleet.replicas"), "3");
}

TEST_F(Manifests, OfModelserviceNameModelsOfVolumes) {
  const auto model = [&](const std::string& uri) {
    return read("modelArtifacts: {name: x, uri: '" + uri +
                "'}\ndecode: {containers: [{modelCommand: imageDefault, image: x}]}\n")
        .model;
  };
  EXPECT_EQ(model("pvc+hf://claim/models/Qwen/Qwen3-8B"), "qwen3-8b");
  EXPECT_EQ(model("pvc://claim/models/Qwen3-32B"), "qwen3-32b");
  EXPECT_TRUE(
      has(refused("modelArtifacts: {uri: '{{ include \"x\" . }}'}\ndecode: {containers: [{modelCommand: "
                  "vllmServe}]}\n"),
          "modelArtifacts.uri: found \"{{ include \"x\" . }}\", allowed: placeholders {{ .Values.NAME }}"));
  const LaunchLine custom = read(
      "modelArtifacts: {name: x}\ndecode:\n  parallelism: {tensor: 2}\n  containers:\n  - command: [sh, "
      "-c]\n    args: "
      "['vllm serve Qwen/Qwen3-8B -tp $TP_SIZE']\n");
  EXPECT_EQ(value_of(custom, "serving.tensor_parallel_size"), "2");
}

// ---- Dynamo ----

std::string graph(const std::string& services) {
  return "kind: DynamoGraphDeployment\nspec:\n  services:\n    Frontend: {extraPodSpec: {mainContainer: "
         "{image: x}}}\n" +
         services;
}
std::string worker(const std::string& name, const std::string& module, const std::string& args,
                   const std::string& more = "") {
  return "    " + name +
         ":\n      resources: {limits: {gpu: '2'}}\n      extraPodSpec:\n        mainContainer:\n" +
         "          command: [python3, -m, " + module + "]\n          args: [" + args + "]\n" + more;
}

TEST_F(Manifests, OfDynamoStartItsWorkers) {
  const LaunchLine vllm =
      read(graph(worker("Worker", "dynamo.vllm", "--model, Qwen/Qwen3-8B, --connector, kvbm, -tp, '2'",
                        "      replicas: 2\n      envs: [{name: DYN_KVBM_CPU_CACHE_GB, value: '100'}]\n")));
  EXPECT_EQ(value_of(vllm, "policy.name"), "kvbm");
  EXPECT_TRUE(has(value_of(vllm, "policy.tiers"), "100000000000.0"));
  EXPECT_EQ(value_of(vllm, "fleet.replicas"), "2");
  EXPECT_EQ(value_of(vllm, "hardware.gpu.count"), "");
  const LaunchLine trtllm =
      read("kind: ConfigMap\nmetadata: {name: c}\ndata:\n  agg.yaml: |\n    max_batch_size: 64\n---\n" +
           graph(worker(
               "Worker", "dynamo.trtllm",
               "--model-path, Qwen/Qwen3-8B, --tensor-parallel-size, '2', --extra-engine-args, /x/agg.yaml, "
               "--free-gpu-memory-fraction, '0.8', --kv-block-size, '64'")));
  EXPECT_EQ(trtllm.engine, Stack::trtllm);
  EXPECT_EQ(value_of(trtllm, "serving.max_num_seqs"), "64");
  EXPECT_EQ(value_of(trtllm, "serving.tensor_parallel_size"), "2");
  EXPECT_EQ(value_of(trtllm, "serving.gpu_memory_utilization"), "0.8");
  EXPECT_EQ(value_of(trtllm, "serving.block_size"), "64");
  EXPECT_TRUE(has_note(read(graph(worker("W", "dynamo.vllm", "--model, Qwen/Qwen3-8B"))),
                       "resources.limits.gpu: the engine uses 1 of 2 GPUs; the others are idle"));
  EXPECT_TRUE(has(refused(graph(worker("W", "dynamo.vllm", "--model, Qwen/Qwen3-8B",
                                       "      multinode: {nodeCount: 2}\n"))),
                  "spec.services.W.multinode.nodeCount: found an engine that spans 2 nodes"));
}

TEST_F(Manifests, OfDynamoMayHaveWorkersForPrefillAndDecode) {
  const std::string vllm =
      graph(worker("D", "dynamo.vllm", "--model, Qwen/Qwen3-8B, -tp, '2', --is-decode-worker") +
            worker("P", "dynamo.vllm", "--model, Qwen/Qwen3-8B, -tp, '2', --is-prefill-worker"));
  const LaunchLine line = read(vllm);
  EXPECT_EQ(value_of(line, "fleet.replicas"), "2");
  EXPECT_EQ(value_of(line, "fleet.disaggregation.prefill_replicas"), "1");
  EXPECT_EQ(value_of(line, "fleet.disaggregation.transfer"), "");
  EXPECT_TRUE(
      has(refused(vllm, "#P"), "args[4]: --is-prefill-worker affects the result and is not simulated"));
  const auto component = [](const std::string& role) {
    return "  - name: " + role +
           "\n    replicas: 2\n    podTemplate: {spec: {containers: [{command: [python3, -m, "
           "dynamo.sglang], args: [--model-path, Qwen/Qwen3-8B, --disaggregation-mode, " +
           role + ", --disaggregation-bootstrap-port=1, --page-size, '16']}]}}\n";
  };
  const LaunchLine sglang = read("kind: DynamoGraphDeployment\nspec:\n  components:\n" +
                                 component("prefill") + component("decode"));
  EXPECT_EQ(value_of(sglang, "fleet.replicas"), "4");
  EXPECT_EQ(value_of(sglang, "fleet.disaggregation.prefill_replicas"), "2");
  EXPECT_EQ(value_of(sglang, "fleet.disaggregation.transfer"), "push");
  EXPECT_EQ(value_of(sglang, "serving.block_size"), "16");
}

// ---- hostile files ----

TEST_F(Manifests, WithoutAnEngineAreRefusedWithTheirKinds) {
  const std::string allowed =
      ", allowed: a container of a Pod, Deployment, StatefulSet, LeaderWorkerSet or DynamoGraphDeployment "
      "that runs an "
      "engine, or values of vLLM's production stack or of llm-d";
  for (const char* text : {"", "# a comment\n", "---\n---\n"}) {
    EXPECT_EQ(refused(text), "--from: a.yaml: found no engine" + allowed) << text;
  }
  EXPECT_EQ(refused("kind: Service\n---\na: 1\n---\n" + pod("image: nginx")),
            "--from: a.yaml: found no engine (Service, values of another chart, Pod)" + allowed);
  EXPECT_EQ(refused("hello\n"),
            "--from: a.yaml:1: found a value that is not a map, allowed: Kubernetes objects or Helm values");
  EXPECT_EQ(refused("kind: [a\n"), "--from: a.yaml:2: not valid YAML: end of sequence flow not found");
  EXPECT_EQ(refused("kind: {a: b}\n"), "--from: a.yaml:1: kind: found a map, allowed: a text");
  EXPECT_TRUE(has(refused(pod("command: vllm serve x")),
                  "containers[0].command: found a value that is not a list, allowed: a list"));
  EXPECT_TRUE(has(refused("servingEngineSpec: {modelSpec: [{name: a}]}\n"),
                  "modelSpec[0].modelURL: found no value, allowed: the name of a model"));
}

TEST_F(Manifests, WhoseOnlyEnginesHaveNoReplicasSaySo) {
  const std::string stopped =
      "kind: Deployment\nmetadata: {name: chat}\nspec:\n  replicas: 0\n  template: {spec: {containers: "
      "[{command: [vllm, serve, Qwen/Qwen3-8B]}]}}\n";
  const std::string said =
      "--from: a.yaml:4: spec.replicas: found 0 replicas of chat, so no engine runs; allowed: at least 1";
  EXPECT_EQ(refused(stopped), said);
  EXPECT_EQ(refused(stopped + "---\nkind: Service\n"), said);
  EXPECT_EQ(read(stopped + "---\n" + pod("command: [vllm, serve, Qwen/Qwen3-32B]")).model, "qwen3-32b")
      << "another engine runs";
  EXPECT_EQ(refused("servingEngineSpec: {modelSpec: [{name: a, replicaCount: 0, modelURL: x}]}\n"),
            "--from: a.yaml:1: servingEngineSpec.modelSpec[0].replicaCount: found 0 replicas of a, so no "
            "engine runs; allowed: at least 1");
}

TEST_F(Manifests, WithPlaceholdersOfTemplatesAreRefusedWithTheirPlace) {
  EXPECT_EQ(refused("kind: Pod\nspec:\n  {{- if .Values.x }}\n  a: 1\n"),
            "--from: a.yaml:3: found a template with placeholders {{ }}, allowed: a manifest, as helm "
            "template writes it, "
            "or the values of a chart");
  EXPECT_EQ(
      refused("kind: Deployment\nspec:\n  replicas: {{ .Values.n }}\n  template: {}\n"),
      "--from: a.yaml:3: spec.replicas: found a placeholder {{ }} of a template, allowed: its value, as helm "
      "template writes it");
  EXPECT_TRUE(
      has(refused("kind: '{{ .Values.kind }}'\n"), "kind: found \"{{ .Values.kind }}\", allowed: its value"));
  EXPECT_TRUE(
      has(refused(vllm_pod(", -tp, '{{ .Values.tp }}'")),
          "args[2]: -tp: found \"{{ .Values.tp }}\", a template's placeholder; allowed: its value, as helm "
          "template writes it"));
}

TEST_F(Manifests, MayHaveAnchorsAndMergedMapsButNoCycles) {
  const std::string text =
      "common: &common\n  image: vllm/vllm-openai:v0.19.0\n  args: &args [--model, Qwen/Qwen3-8B, -tp, '2']\n"
      "kind: Pod\nspec:\n  containers:\n  - <<: [*common, {name: x}]\n    args: *args\n";
  EXPECT_EQ(value_of(read(text), "serving.tensor_parallel_size"), "2");
  EXPECT_TRUE(has(refused("kind: List\nitems: &a [{kind: List, items: *a}]\n"),
                  "found lists within lists, allowed: one list of objects"));
  std::string bomb = "kind: Pod\nspec:\n  containers: [";
  for (int i = 0; i < 20'000; ++i) bomb += "{},";
  EXPECT_TRUE(
      has(refused(bomb + "]\n"), "spec.containers: found more than 10,000 elements, allowed: a manifest"));
  std::string repeated = "env: &env [";
  for (int i = 0; i < 5'000; ++i) repeated += "{name: A, value: b},";
  repeated += "]\nkind: Pod\nspec:\n  containers: [";
  for (int i = 0; i < 5'000; ++i) repeated += "{env: *env},";
  EXPECT_TRUE(
      has(refused(repeated + "]\n"), "found aliases that repeat millions of values, allowed: a manifest"));
  EXPECT_NE(refused(std::string(5000, '[')), "accepted");
  EXPECT_TRUE(has(refused("a: &a {<<: *a}\nkind: Pod\nspec: *a\n"), "--from: a.yaml"));
}

// ---- commands ----

TEST_F(Manifests, AreReadByCommandsWhichNameThePlaceOfAValue) {
  write("a.yaml", vllm_pod(", --max-num-seqs, '64'", "{limits: {nvidia.com/gpu: 4}}"));
  write("serve.sh", "#!/bin/sh\nvllm serve Qwen/Qwen3-8B \\\n  --max-num-seqs 48\n");
  const auto run = [&](const std::string& from) {
    return kvcap({"run", "--from", path(from), "--gpu", "h100-sxm-8x", "--workload", "chat", "--rate", "2",
                  "--set", "workload.sessions=5", "--json"});
  };
  const Outcome outcome = run("a.yaml");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json result = Json::parse(outcome.out);
  EXPECT_EQ(result.at("scenario").at("serving").at("max_num_seqs"), 64);
  EXPECT_EQ(result.at("scenario").at("hardware").at("gpu").at("count"), 4) << "--gpu does not reset it";
  EXPECT_EQ(result.at("from").at("flags").at(1),
            (Json{{"flag", "--max-num-seqs"}, {"value", "64"}, {"fields", {{"serving.max_num_seqs", 64}}}}));
  EXPECT_EQ(Json::parse(run("serve.sh").out).at("scenario").at("serving").at("max_num_seqs"), 48);
  write("a.yaml", vllm_pod(", --max-num-seqs, '0'"));
  const Outcome zero = run("a.yaml");
  EXPECT_EQ(zero.exit_code, 2);
  EXPECT_TRUE(has(zero.err, "args[2]: --max-num-seqs: serving.max_num_seqs=0: found 0")) << zero.err;
  EXPECT_TRUE(has(run("none.yaml").err, "none.yaml: cannot be read"));
  const Outcome text = kvcap({"run", "--from", path("serve.sh"), "--gpu", "h100-sxm-8x", "--workload", "chat",
                              "--rate", "2", "--set", "workload.sessions=5"});
  EXPECT_TRUE(has(text.out, "Read from the launch line (vllm):")) << text.out;
}

}  // namespace
}  // namespace kvcap::manifest_test
