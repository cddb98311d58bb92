// Launch lines of vLLM, SGLang and TensorRT-LLM: what they set, what they are told about, and back again.
#include "launch/launch_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/input_error.h"
#include "base/random.h"
#include "launch/shell_words.h"
#include "policy/table.h"
#include "scenario/load.h"
#include "unit/cli.h"
#include "unit/scenario_samples.h"

namespace kvcap::launch_line_test {
namespace {

using Texts = std::vector<std::string>;

Scenario scenario_of(const std::string& line, const Texts& more = {}) {
  const LaunchLine read = read_launch_line(line);
  Texts overrides = {"serving={}", "policy={}", "hardware=h100-sxm-8x-s3"};
  overrides.insert(overrides.end(), read.overrides.begin(), read.overrides.end());
  Texts all = overrides;
  all.insert(all.end(), more.begin(), more.end());
  const Scenario first = parse_scenario(sample_scenario(), "chat.json", all);
  const Texts defaults = defaults_on(read, first.hardware);
  overrides.insert(overrides.end(), defaults.begin(), defaults.end());
  overrides.insert(overrides.end(), more.begin(), more.end());
  return parse_scenario(sample_scenario(), "chat.json", overrides);
}

std::string error_of(const std::string& line) {
  try {
    read_launch_line(line);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

bool has_note(const LaunchLine& line, const std::string& part) {
  return std::any_of(line.notes.begin(), line.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// ---- words ----

TEST(ShellWords, AreSplitAsAShellSplitsThem) {
  const std::pair<const char*, Texts> cases[] = {
      {"vllm  serve\tm", {"vllm", "serve", "m"}},
      {R"(a 'b c' "d e")", {"a", "b c", "d e"}},
      {R"(--x='{"k": "v"}')", {R"(--x={"k": "v"})"}},
      {R"("a\"b" 'c\d' e\ f)", {"a\"b", "c\\d", "e f"}},
      {"a \\\n  b", {"a", "b"}},
      {"'' \"\"", {"", ""}},
      {"", {}},
  };
  for (const auto& [line, words] : cases) EXPECT_EQ(shell_words(line), words) << line;
  EXPECT_THROW(shell_words("a 'b"), InputError);
  EXPECT_THROW(shell_words("a \"b"), InputError);
}

// ---- reading ----

TEST(LaunchLine, OfVllmSetsWhatItsFlagsSay) {
  const Scenario one = scenario_of(
      "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 --kv-offloading-size 100 --max_num_seqs=64 "
      "--max-num-batched-tokens 8k --gpu-memory-utilization 0.85 --no-enable-prefix-caching");
  EXPECT_EQ(one.model.name, "qwen3-32b");
  EXPECT_EQ(one.serving.engine, EngineKind::vllm);
  EXPECT_EQ(one.serving.tensor_parallel_size, 2);
  EXPECT_EQ(one.serving.max_num_seqs, 64);
  EXPECT_EQ(one.serving.max_num_batched_tokens, 8000);
  EXPECT_EQ(one.serving.gpu_memory_utilization, 0.85);
  EXPECT_FALSE(one.serving.prefix_caching);
  EXPECT_EQ(one.policy.name, "vllm_offload");
  ASSERT_TRUE(one.policy.tiers);
  EXPECT_EQ(one.policy.tiers->front().capacity_bytes, 100 * 1073741824.0);  // of both ranks together
}

TEST(LaunchLine, NamesTheAttentionBackend) {
  const auto backend = [](const std::string& line) { return scenario_of(line).serving.attention_backend; };
  EXPECT_EQ(backend("vllm serve Qwen/Qwen3-32B --attention-backend FLASHINFER"),
            AttentionBackend::flashinfer);
  EXPECT_EQ(backend("VLLM_ATTENTION_BACKEND=TRITON_ATTN vllm serve Qwen/Qwen3-32B"),
            AttentionBackend::triton);
  EXPECT_EQ(backend("vllm serve Qwen/Qwen3-32B --attention-backend FLASHMLA"), std::nullopt);
  EXPECT_NE(error_of("vllm serve Qwen/Qwen3-32B --attention-backend FLASHER")
                .find("allowed: FLASH_ATTN, FLASHINFER"),
            std::string::npos);
}

TEST(LaunchLine, CountsInThousandsBehindSmallLettersAndInPowersOfTwoBehindLargeOnes) {
  const auto tokens = [](const std::string& number) {
    return scenario_of("vllm serve Qwen/Qwen3-8B --max-num-batched-tokens " + number)
        .serving.max_num_batched_tokens;
  };
  EXPECT_EQ(tokens("16k"), 16'000);
  EXPECT_EQ(tokens("16K"), 16'384);
  EXPECT_EQ(tokens("0.5m"), 500'000);
  EXPECT_EQ(tokens("0.5M"), 524'288);
  EXPECT_EQ(tokens("0.001g"), 1'000'000);
  EXPECT_EQ(tokens("0.0009765625G"), 1'048'576);
}

TEST(LaunchLine, OfVllmTakesFromTheGpuWhatItDoesNotSay) {
  const Scenario one = scenario_of("vllm serve Qwen/Qwen3-8B");
  EXPECT_EQ(one.policy.name, "recompute");
  EXPECT_EQ(one.serving.max_num_seqs, 1024);
  EXPECT_EQ(one.serving.max_num_batched_tokens, 8192);
  const LaunchLine line = read_launch_line("vllm serve Qwen/Qwen3-8B --max-num-seqs 5");
  HardwareProfile small;
  small.gpu.memory_bytes = 24e9;
  const Texts defaults = defaults_on(line, small);
  EXPECT_TRUE(std::none_of(defaults.begin(), defaults.end(), [](const std::string& one_default) {
    return one_default.starts_with("serving.max_num_seqs");
  })) << "the line says it";
}

TEST(LaunchLine, ReadsLmcachesVariablesForEachRank) {
  const Scenario one = scenario_of(
      "LMCACHE_MAX_LOCAL_CPU_SIZE=60 LMCACHE_CHUNK_SIZE=512 vllm serve Qwen/Qwen3-32B -tp 4 "
      "--kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'");
  EXPECT_EQ(one.policy.name, "lmcache");
  EXPECT_EQ(one.policy.chunk_tokens, 512);
  EXPECT_EQ(one.policy.tiers->front().capacity_bytes, 4 * 60 * 1073741824.0);
}

TEST(LaunchLine, ThatTurnsPeerAccessOffGoesThroughTheHost) {
  const auto peer = [](const std::string& line) {
    return scenario_of(line + " --model Qwen/Qwen3-8B").hardware.peer;
  };
  EXPECT_EQ(peer("NCCL_P2P_DISABLE=1 vllm serve"), Peer::host);
  EXPECT_EQ(peer("docker run --env NCCL_P2P_DISABLE=1 vllm/vllm-openai:v0.19.0"), Peer::host);
  EXPECT_EQ(peer("NCCL_P2P_DISABLE=1 python -m sglang.launch_server"), Peer::host);
  EXPECT_EQ(peer("NCCL_P2P_DISABLE=1 trtllm-serve"), Peer::host);
  EXPECT_EQ(peer("NCCL_P2P_DISABLE=0 vllm serve"), std::nullopt);
}

TEST(LaunchLine, WithoutASizeHasTheStacksOwn) {
  const Scenario lmcache = scenario_of(
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\"}'");
  EXPECT_EQ(lmcache.policy.tiers->front().capacity_bytes, 5 * 1073741824.0);
  const Scenario hicache =
      scenario_of("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --enable-hierarchical-cache");
  EXPECT_EQ(hicache.policy.tiers->front().capacity_over_gpu, 2);
  EXPECT_EQ(hicache.serving.block_size, 64);
  EXPECT_EQ(scenario_of("sglang serve Qwen/Qwen3-8B").serving.block_size, 1);
}

TEST(LaunchLine, FindsTheModelBehindWhatSaysHowItWasTrainedAndPacked) {
  const auto model_of = [](const std::string& name) { return scenario_of("vllm serve " + name).model; };
  EXPECT_EQ(model_of("mistralai/Mistral-7B-Instruct-v0.3").name, "mistral-7b-v0.3");
  EXPECT_EQ(model_of("mistralai/Mixtral-8x7B-Instruct-v0.1").name, "mixtral-8x7b");
  EXPECT_EQ(model_of("google/gemma-3-27b-it").name, "gemma-3-27b");
  // 8-bit weights are the catalogue's where it has them.
  EXPECT_EQ(model_of("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic").name, "llama-3.1-8b-fp8-dynamic");
  EXPECT_EQ(model_of("Qwen/Qwen3-8B-FP8").name, "qwen3-8b-fp8");
  EXPECT_NEAR(model_of("Qwen/Qwen3-8B-FP8").weight_bytes_per_element, 1, 1e-3);  // and a scale of each block
  EXPECT_EQ(model_of("someone/Qwen3-8B-Base-FP8").name, "qwen3-8b-fp8");
  // What was packed is not what is unpacked.
  EXPECT_THROW(model_of("someone/gpt-oss-20b-BF16"), InputError);
  EXPECT_EQ(model_of("Qwen/Qwen3-8B").weight_bytes_per_element, 2);
}

TEST(LaunchLine, FindsModelsOfOneShapeAndTheirPositions) {
  const auto model_of = [](const std::string& name) { return scenario_of("vllm serve " + name).model; };
  EXPECT_EQ(model_of("mistralai/Mistral-7B-Instruct-v0.1").name, "mistral-7b-v0.1");
  EXPECT_EQ(model_of("meta-llama/Llama-3.3-70B-Instruct").name, "llama-3.1-70b");
  EXPECT_EQ(model_of("Qwen/Qwen3-30B-A3B").max_position_embeddings, 40960);
  EXPECT_EQ(model_of("Qwen/Qwen3-30B-A3B-Instruct-2507").max_position_embeddings, 262144);
}

// Sizes of an engine are each data parallel rank's, sizes of a GPU each rank's of both kinds.
TEST(LaunchLine, OfDataParallelRanksHasAHostCacheForEach) {
  const auto bytes_of = [](const std::string& line) {
    return *scenario_of(line).policy.tiers->front().capacity_bytes;
  };
  EXPECT_EQ(bytes_of("vllm serve Qwen/Qwen3-8B -dp 2 --kv-offloading-size 40"), 2 * 40 * 1073741824.0);
  EXPECT_EQ(
      bytes_of("sglang serve Qwen/Qwen3-8B --tp 2 --dp 2 --enable-hierarchical-cache --hicache-size 30"),
      4 * 30e9);
  EXPECT_EQ(bytes_of("vllm serve Qwen/Qwen3-8B -dp 2 --kv-transfer-config.kv_connector LMCacheConnectorV1"),
            2 * 5 * 1073741824.0);
}

// Eight GPUs, not 64: each rank has one, and an eighth of the chunk of 8,192 tokens.
TEST(LaunchLine, OfDataParallelAttentionDividesTheGpusOfTensorParallelism) {
  const std::string line = "sglang serve Qwen/Qwen3-30B-A3B --tp 8 ";
  const ServingOptions eight = scenario_of(line + "--dp 8 --enable-dp-attention").serving;
  EXPECT_EQ(eight.tensor_parallel_size, 1);
  EXPECT_EQ(eight.data_parallel_size, 8);
  EXPECT_EQ(eight.max_num_batched_tokens, 1024);
  const ServingOptions two =
      scenario_of(line + "--dp 2 --enable-dp-attention --chunked-prefill-size 4096").serving;
  EXPECT_EQ(two.tensor_parallel_size, 4);
  EXPECT_EQ(two.max_num_batched_tokens, 2048);
  EXPECT_EQ(scenario_of(line + "--enable-dp-attention").serving.tensor_parallel_size, 8);
  EXPECT_EQ(error_of(line + "--dp 3 --enable-dp-attention"),
            "--from: --dp-size: found \"3\", allowed: a divisor of --tp-size with --enable-dp-attention");
  const std::string trtllm =
      "trtllm-serve Qwen/Qwen3-30B-A3B --tp_size 4 --extra_llm_api_options.enable_attention_dp ";
  EXPECT_EQ(scenario_of(trtllm + "true").serving.data_parallel_size, 4);
  EXPECT_EQ(scenario_of(trtllm + "true").serving.tensor_parallel_size, 1);
  EXPECT_EQ(scenario_of(trtllm + "false").serving.tensor_parallel_size, 4);
}

// SGLang's copies of a model with experts share none of them; vLLM's do.
TEST(LaunchLine, OfCopiesThatShareNoExpertsStartsServersOfTheirOwn) {
  const Scenario sglang = scenario_of("sglang serve Qwen/Qwen3-30B-A3B --tp 2 --dp 3");
  EXPECT_EQ(sglang.fleet.replicas, 3);
  EXPECT_EQ(sglang.serving.data_parallel_size, 1);
  EXPECT_EQ(scenario_of("sglang serve Qwen/Qwen3-8B --tp 2 --dp 3").serving.data_parallel_size, 3);
  EXPECT_EQ(scenario_of("vllm serve Qwen/Qwen3-30B-A3B -tp 2 -dp 3").serving.data_parallel_size, 3);
  EXPECT_EQ(
      read_launch_line("sglang serve Qwen/Qwen3-30B-A3B --tp 2 --dp 3").notes,
      Texts{"--dp-size 3 without --enable-dp-attention: SGLang's ranks share no experts and are 3 servers "
            "here, each with the DRAM, the SSDs and the price of one"});
}

TEST(LaunchLine, WithoutChunksComputesWholePrompts) {
  const std::string line = "sglang serve Qwen/Qwen3-8B --chunked-prefill-size -1";
  EXPECT_EQ(scenario_of(line).serving.max_num_batched_tokens, 40960);
  EXPECT_EQ(scenario_of(line + " --context-length 20000").serving.max_num_batched_tokens, 20000);
  // The positions of what is served, not those of the catalogue's model.
  const std::string longer = "sglang serve Qwen/Qwen3-30B-A3B-Instruct-2507 --chunked-prefill-size -1";
  EXPECT_EQ(scenario_of(longer).serving.max_num_batched_tokens, 262144);
}

// 8192 / 3 and 8000 / 3: a default and a flag are rounded alike.
TEST(LaunchLine, DividesEveryChunkWithoutARemainder) {
  const std::string line = "sglang serve Qwen/Qwen3-30B-A3B --tp 6 --dp 3 --enable-dp-attention ";
  EXPECT_EQ(scenario_of(line).serving.max_num_batched_tokens, 2730);
  EXPECT_EQ(scenario_of(line + "--chunked-prefill-size 8192").serving.max_num_batched_tokens, 2730);
  EXPECT_EQ(scenario_of(line + "--chunked-prefill-size 2").serving.max_num_batched_tokens, 1);
}

bool has_note(const std::string& line, const std::string& part) {
  const Texts notes = read_launch_line(line).notes;
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// 0.11 took 0.9 of the memory and planned steps one after the other; 0.19 takes 0.92.
TEST(LaunchLine, OfAnImageHasTheDefaultsOfItsVersion) {
  const ServingOptions old =
      scenario_of("docker run --gpus all vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B").serving;
  EXPECT_EQ(old.engine_version, "0.11.0");
  EXPECT_EQ(old.gpu_memory_utilization, 0.9);
  EXPECT_FALSE(old.async_scheduling);
  const ServingOptions latest =
      scenario_of("docker run vllm/vllm-openai:latest --model Qwen/Qwen3-8B").serving;
  EXPECT_EQ(latest.gpu_memory_utilization, 0.92);
  EXPECT_EQ(latest.max_num_batched_tokens, 8192);
  EXPECT_TRUE(latest.async_scheduling);
}

TEST(LaunchLine, RefusesWhatWouldBeAnotherMachine) {
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B -tp 4 -pp 2"),
            "--from: -pp 2 changes the answer and is not simulated; --ignore-flags pp leaves it out");
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --pipeline-parallel-size 1"), "accepted");
  EXPECT_NE(error_of("trtllm-serve Qwen/Qwen3-8B --cp_size 2"), "accepted");
}

TEST(LaunchLine, SaysWhereHandoversAreSimulated) {
  const std::string line =
      R"(vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')";
  EXPECT_EQ(scenario_of(line).policy.name, "recompute");
  EXPECT_TRUE(has_note(line, "fleet.disaggregation"));
}

TEST(LaunchLine, DraftsByAnotherLayerForHeadsThatAreInNoCatalogue) {
  const std::string line =
      R"(vllm serve Qwen/Qwen3-8B --speculative-config '{"method":"eagle3","model":"yuhuili/EAGLE3-Q","num_speculative_tokens":3}')";
  EXPECT_TRUE(has_note(line, "one more layer"));
  EXPECT_NE(
      error_of(
          R"(vllm serve Qwen/Qwen3-8B --speculative-config '{"method":"draft_model","model":"nobody/has-it"}')"),
      "accepted");
}

TEST(LaunchLine, IsPrintedWithTheModelThatTheEngineKnows) {
  const Scenario scenario = scenario_of("vllm serve meta-llama/Llama-3.1-8B-Instruct");
  EXPECT_TRUE(launch_line_of(scenario, "meta-llama/Llama-3.1-8B-Instruct")
                  .starts_with("vllm serve meta-llama/Llama-3.1-8B-Instruct"));
}

// The method is the engine's.
Sampling without_method(const Scenario& scenario) {
  Sampling sampling = scenario.serving.sampling.value();
  sampling.method.reset();
  return sampling;
}

TEST(LaunchLine, SaysFromWhichTokensTheNextOneIsDrawn) {
  const auto sampling_of = [](const std::string& flags) {
    return without_method(scenario_of("vllm serve Qwen/Qwen3-8B" + flags));
  };
  const Sampling own{.temperature = 0.6, .top_k = 20, .top_p = 0.95};
  EXPECT_EQ(sampling_of(""), own);
  EXPECT_EQ(sampling_of(" --generation-config auto"), own);
  EXPECT_EQ(sampling_of(" --generation-config vllm"), Sampling{});
  // The rest is as in the model's file, or in none.
  EXPECT_EQ(sampling_of(R"( --override-generation-config '{"top_p": 0.5}')"), (Sampling{0.6, 20, 0.5}));
  EXPECT_EQ(sampling_of(R"( --override-generation-config '{"top_k": -1, "temperature": 0.3}')"),
            (Sampling{0.3, 0, 0.95}));
  EXPECT_EQ(sampling_of(" --generation-config vllm --override-generation-config.top_k 7"),
            (Sampling{1, 7, 1}));
  const LaunchLine folder = read_launch_line("vllm serve Qwen/Qwen3-8B --generation-config /configs");
  EXPECT_TRUE(has_note(folder, "--generation-config /configs is not read: serving.sampling says"));
  EXPECT_FALSE(
      scenario_of("sglang serve Qwen/Qwen3-8B --sampling-defaults openai").serving.sampling->filters());
  EXPECT_EQ(without_method(scenario_of("sglang serve Qwen/Qwen3-8B --sampling-defaults model")), own);
  EXPECT_NE(error_of("sglang serve Qwen/Qwen3-8B --sampling-defaults none").find("allowed: model, openai"),
            std::string::npos);
}

TEST(LaunchLine, IsPrintedWithWhatTokensAreDrawnFromWhereTheModelSaysOtherwise) {
  const auto printed = [](const std::string& line) {
    return launch_line_of(scenario_of(line), "Qwen/Qwen3-8B");
  };
  EXPECT_EQ(printed("vllm serve Qwen/Qwen3-8B").find("generation-config"), std::string::npos);
  EXPECT_NE(printed("vllm serve Qwen/Qwen3-8B --generation-config vllm").find(" --generation-config vllm"),
            std::string::npos);
  EXPECT_NE(printed("vllm serve Qwen/Qwen3-8B --override-generation-config.top_p 0.5")
                .find(R"(--override-generation-config '{"temperature":0.6,"top_k":20,"top_p":0.5}')"),
            std::string::npos);
  EXPECT_NE(
      printed("sglang serve Qwen/Qwen3-8B --sampling-defaults openai").find("--sampling-defaults openai"),
      std::string::npos);
}

TEST(LaunchLine, CountsBlocksOfTheSizeThatItSays) {
  const std::string line = "vllm serve Qwen/Qwen3-8B --num-gpu-blocks-override 1000 ";
  EXPECT_EQ(scenario_of(line).serving.kv_capacity_tokens, 16000);
  EXPECT_EQ(scenario_of(line + "--block-size 32").serving.kv_capacity_tokens, 32000);
}

TEST(LaunchLine, ReadsWhichOfLmcachesTiersThereAre) {
  const std::string line = " vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector LMCacheConnectorV1";
  const auto kinds = [&](const std::string& variables) {
    std::vector<Tier> found;
    const Scenario scenario = scenario_of(variables + line);
    for (const TierOptions& tier : *scenario.policy.tiers) found.push_back(tier.kind);
    return found;
  };
  EXPECT_EQ(kinds("LMCACHE_LOCAL_DISK=file:///x"), (std::vector{Tier::dram, Tier::ssd}));
  EXPECT_EQ(kinds("LMCACHE_LOCAL_DISK=None"), std::vector{Tier::dram});
  EXPECT_EQ(kinds("LMCACHE_LOCAL_CPU=False LMCACHE_LOCAL_DISK=file:///x"), std::vector{Tier::ssd});
  EXPECT_EQ(kinds("LMCACHE_LOCAL_CPU=False LMCACHE_MAX_LOCAL_CPU_SIZE=60 LMCACHE_LOCAL_DISK=file:///x"),
            std::vector{Tier::ssd});
}

TEST(LaunchLine, GivesLmcachesHostCacheItsOwnSizeWhereALineOnlyTurnsItOn) {
  const std::string line =
      " vllm serve Qwen/Qwen3-8B -tp 2 --kv-transfer-config.kv_connector LMCacheConnectorV1";
  for (const char* variables :
       {"", "LMCACHE_LOCAL_CPU=True", "LMCACHE_LOCAL_CPU=True LMCACHE_LOCAL_DISK=/x"}) {
    const Scenario scenario = scenario_of(variables + line);
    EXPECT_EQ(scenario.policy.tiers->front().kind, Tier::dram) << variables;
    EXPECT_EQ(scenario.policy.tiers->front().capacity_bytes, 2 * 5 * 1073741824.0) << variables;
  }
}

// A store without tiers would be refused; one that keeps nothing is the engine alone.
TEST(LaunchLine, OfLmcacheWithoutAnyTierKeepsNothing) {
  const std::string line =
      "LMCACHE_LOCAL_CPU=False LMCACHE_CHUNK_SIZE=512 vllm serve Qwen/Qwen3-8B "
      "--kv-transfer-config.kv_connector LMCacheConnectorV1";
  EXPECT_EQ(read_launch_line(line).notes,
            Texts{"LMCACHE_LOCAL_CPU=False leaves LMCache no tier, so that it keeps nothing"});
  EXPECT_EQ(scenario_of(line).policy.name, "recompute");
  EXPECT_FALSE(scenario_of(line).policy.chunk_tokens);
}

TEST(LaunchLine, OfVllmsBackendAloneTurnsNothingOn) {
  const std::string line = "vllm serve Qwen/Qwen3-8B ";
  for (const char* off : {"--kv-offloading-backend native", "--kv-offloading-backend lmcache",
                          "--kv-offloading-size 0 --kv-offloading-backend native"}) {
    EXPECT_EQ(scenario_of(line + off).policy.name, "recompute") << off;
    EXPECT_EQ(read_launch_line(line + off).notes,
              Texts{"host cache settings are ignored: the line enables no connector"})
        << off;
  }
  EXPECT_EQ(scenario_of(line + "--kv-offloading-size 0").policy.name, "recompute");
  EXPECT_TRUE(read_launch_line(line + "--kv-offloading-size 0").notes.empty());
  EXPECT_EQ(scenario_of(line + "--kv-offloading-backend native --kv-offloading-size 40").policy.name,
            "vllm_offload");
  // Of all ranks together, as with the native backend.
  const Scenario lmcache =
      scenario_of(line + "-tp 2 --kv-offloading-size 40 --kv-offloading-backend lmcache");
  EXPECT_EQ(lmcache.policy.name, "lmcache");
  EXPECT_EQ(lmcache.policy.tiers->front().capacity_bytes, 40 * 1073741824.0);
}

// A store of several nodes, and no DRAM of the engine's own.
TEST(LaunchLine, OfMooncakesConnectorHasNoHostCache) {
  const std::string line =
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector MooncakeStoreConnector";
  const Scenario scenario = scenario_of(line);
  EXPECT_EQ(scenario.policy.name, "vllm_offload");
  ASSERT_EQ(scenario.policy.tiers->size(), 1U);
  EXPECT_EQ(scenario.policy.tiers->front().kind, Tier::remote);
  EXPECT_EQ(scenario.policy.tiers->front().eviction, EvictionKind::sharded_lru);
  EXPECT_EQ(read_launch_line(line).notes,
            Texts{"the line says no size of Mooncake Store: all remote storage of the hardware is taken"});
}

TEST(LaunchLine, TellsMooncakesUrlFromOtherServersOfLmcache) {
  const auto eviction = [](const std::string& url) {
    return scenario_of("LMCACHE_REMOTE_URL=" + url +
                       " vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector LMCacheConnectorV1")
        .policy.tiers->back()
        .eviction;
  };
  EXPECT_EQ(eviction("mooncakestore://host:50051/"), EvictionKind::sharded_lru);
  EXPECT_FALSE(eviction("lm://host:65432"));
}

// vLLM's file and object tiers are cleaned by others; SGLang's file backend is a cache.
TEST(LaunchLine, OfVllmsSecondaryTiersNeverEvicts) {
  const Scenario scenario = scenario_of(
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"OffloadingConnector\","
      "\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":50000000000,\"secondary_tiers\":["
      "{\"type\":\"fs\",\"root_dir\":\"/mnt\"},{\"type\":\"obj\"}]}}'");
  ASSERT_EQ(scenario.policy.tiers->size(), 3U);
  const std::vector<TierOptions>& tiers = *scenario.policy.tiers;
  EXPECT_FALSE(tiers[0].eviction);
  EXPECT_EQ(tiers[1].kind, Tier::ssd);
  EXPECT_EQ(tiers[1].eviction, EvictionKind::none);
  EXPECT_EQ(tiers[2].kind, Tier::remote);
  EXPECT_EQ(tiers[2].eviction, EvictionKind::none);
  EXPECT_FALSE(scenario_of("sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-storage-backend "
                           "file")
                   .policy.tiers->back()
                   .eviction);
}

TEST(LaunchLine, IgnoresSettingsOfStacksThatItDoesNotTurnOn) {
  const std::string line = "LMCACHE_CHUNK_SIZE=512 LMCACHE_LOCAL_CPU=False vllm serve Qwen/Qwen3-8B";
  EXPECT_FALSE(scenario_of(line).policy.chunk_tokens);
  const Scenario offload = scenario_of(line + " --kv-offloading-size 40");
  EXPECT_FALSE(offload.policy.chunk_tokens);
  EXPECT_EQ(offload.policy.tiers->front().kind, Tier::dram);
  EXPECT_EQ(read_launch_line(line + " --kv-offloading-size 40").notes,
            (Texts{"LMCACHE_CHUNK_SIZE is ignored: the line enables vllm_offload",
                   "LMCACHE_LOCAL_CPU is ignored: the line enables vllm_offload"}));
}

TEST(LaunchLine, TakesNoFlagForAValue) {
  const std::string text = "vllm serve Qwen/Qwen3-8B --new-switch -tp 4 --other -q=fp8";
  EXPECT_EQ(error_of(text),
            "--from: --new-switch is no known flag of vllm; --other is no known flag of vllm; --ignore-flags "
            "new-switch,other leaves them out");
  const LaunchLine line = read_launch_line(text, {"new-switch", "other"});
  EXPECT_TRUE(line.notes.empty());
  const auto says = [&](const char* one) {
    return std::find(line.overrides.begin(), line.overrides.end(), one) != line.overrides.end();
  };
  EXPECT_TRUE(says("serving.tensor_parallel_size=4"));
  EXPECT_TRUE(says("model.weight_bytes_per_element=1"));
  // A negative number is a value.
  EXPECT_EQ(read_launch_line("vllm serve Qwen/Qwen3-8B --new-number -1", {"new-number"}).left_out,
            Texts{"--new-number"});
  EXPECT_EQ(
      error_of("vllm serve Qwen/Qwen3-8B --max-num-seqs -tp 4"),
      "--from: --max-num-seqs: found \"\", allowed: a number, perhaps with k, K, m, M, g or G behind it");
}

TEST(LaunchLine, SaysWhereAHostCacheHasNoSizeOrNothingBeginsIt) {
  EXPECT_EQ(read_launch_line("vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector OffloadingConnector")
                .notes,
            Texts{"the line says no size of the host cache: all DRAM of the hardware is taken"});
  const LaunchLine alone =
      read_launch_line("DYN_KVBM_CPU_CACHE_GB=100 python -m dynamo.vllm --model Qwen/Qwen3-8B");
  EXPECT_EQ(alone.notes, Texts{"host cache settings are ignored: the line enables no connector"});
}

TEST(LaunchLine, IsFoundBehindNamesThatEndLikeAProgram) {
  const LaunchLine line = read_launch_line(
      "docker run --name vllm -v /data/vllm --env=LMCACHE_MAX_LOCAL_CPU_SIZE=60 vllm/vllm-openai:v0.17.0 "
      "--model "
      "Qwen/Qwen3-8B --kv-transfer-config.kv_connector LMCacheConnectorV1");
  EXPECT_EQ(line.model, "qwen3-8b");
  EXPECT_TRUE(line.notes.empty());
  EXPECT_NE(std::find(line.overrides.begin(), line.overrides.end(),
                      "policy.tiers=[{\"kind\":\"dram\",\"capacity_bytes\":64424509440.0}]"),
            line.overrides.end());
}

TEST(LaunchLine, IsFoundBehindWhatADockerLineSaysBefore) {
  const LaunchLine line = read_launch_line(
      "docker run --gpus all -p 8000:8000 -v ~/.cache:/root/.cache vllm/vllm-openai:v0.11.0 --model "
      "Qwen/Qwen3-8B --max-num-seqs 32");
  EXPECT_EQ(line.model, "qwen3-8b");
  EXPECT_TRUE(line.notes.empty());
  EXPECT_NE(std::find(line.overrides.begin(), line.overrides.end(), "serving.max_num_seqs=32"),
            line.overrides.end());
}

TEST(LaunchLine, OfSglangSetsWhatItsFlagsSay) {
  const Scenario one = scenario_of(
      "python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2 --enable-hierarchical-cache "
      "--hicache-ratio 3 --hicache-storage-backend mooncake --hicache-write-policy write_through_selective "
      "--hicache-storage-prefetch-policy timeout --chunked-prefill-size 4096");
  EXPECT_EQ(one.serving.engine, EngineKind::sglang);
  EXPECT_EQ(one.serving.max_num_batched_tokens, 4096);
  EXPECT_EQ(one.policy.name, "hicache");
  EXPECT_EQ(one.policy.write_policy, WritePolicy::write_through_selective);
  EXPECT_EQ(one.policy.prefetch_on_arrival, PrefetchOnArrival::timeout);
  ASSERT_EQ(one.policy.tiers->size(), 2U);
  EXPECT_EQ(one.policy.tiers->front().capacity_over_gpu, 3);
}

TEST(LaunchLine, OfTensorRtLlmSetsWhatItsFlagsSay) {
  const Scenario one = scenario_of(
      "trtllm-serve Qwen/Qwen3-8B --tp_size 2 --max_batch_size 256 "
      "--extra_llm_api_options.kv_cache_config.host_cache_size 10000000000");
  EXPECT_EQ(one.serving.engine, EngineKind::trtllm);
  EXPECT_EQ(one.serving.max_num_seqs, 256);
  EXPECT_EQ(one.policy.name, "trtllm_offload");
  EXPECT_EQ(one.policy.tiers->front().capacity_bytes, 2e10);  // of each rank
}

TEST(LaunchLine, IsToldAllThatItsFlagsDoNotDoAtOnce) {
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --max-num-seqz 5 --enforce-eager --port 8000 stray"),
            "--from: --max-num-seqz is no known flag of vllm; did you mean \"--max-num-seqs\"?; \"stray\" "
            "belongs to no flag; --enforce-eager changes the answer and is not simulated; --ignore-flags "
            "max-num-seqz,stray,enforce-eager leaves them out");
}

TEST(LaunchLine, ThatCannotBeReadIsRefusedInOneLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"",
       "--from: found no engine, allowed: a line with vllm serve, sglang.launch_server, sglang serve or "
       "trtllm-serve"},
      {"vllm serve", "--from: found no model, allowed: a line that names one"},
      {"vllm serve Qwen/Qwen3-8C",
       "--from: found model \"Qwen/Qwen3-8C\", allowed: a name of kvcap show models or the path of a "
       "config.json; did you mean \"qwen3-8b\"?"},
      {"vllm serve Qwen/Qwen3-8B -tp two",
       "--from: -tp: found \"two\", allowed: a number, perhaps with k, K, m, M, g or G behind it"},
      {"vllm serve Qwen/Qwen3-8B --kv-offloading-backend disk",
       "--from: --kv-offloading-backend: found \"disk\", allowed: native, lmcache"},
      {"vllm serve 'Qwen", "--from: found a quote ' that does not end"},
      {"vllm serve Qwen/Qwen3-8B -tp 1.5", "--from: -tp: found \"1.5\", allowed: an integer"},
      {"vllm serve Qwen/Qwen3-8B --enable-prefix-caching=false",
       "--from: --enable-prefix-caching: found \"false\", allowed: no value"},
      {"vllm serve Qwen/Qwen3-8B --kv-offloading-size 100G",
       "--from: --kv-offloading-size: found \"100G\", allowed: a number of GiB"},
      {"vllm serve Qwen/Qwen3-8B --kv-transfer-config {\"kv_connector\":\"LMCacheConnectorV1\"}",
       "--from: --kv-transfer-config: found \"{kv_connector:LMCacheConnectorV1}\", allowed: JSON (in single "
       "quotes)"},
      {"sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --disable-radix-cache",
       "--from: found --disable-radix-cache beside --enable-hierarchical-cache, allowed: one of them"},
  };
  for (const auto& [line, message] : cases) EXPECT_EQ(error_of(line), message);
}

// ---- the table ----

// Values that a row reads: each of its words, else one.
Texts values_for(const FlagRow& row) {
  switch (row.form) {
    case FlagForm::integer:
    case FlagForm::blocks:
      return {"1"};
    case FlagForm::number:
      return {row.field == "policy.tiers.dram.capacity_over_gpu" ? "2" : "0.5"};
    case FlagForm::bytes:
      return {row.unit == 1 ? "1e9" : "1"};
    case FlagForm::ranks:
      return {row.words.empty() ? "" : "true"};
    case FlagForm::words:
    case FlagForm::tier:
    case FlagForm::storage: {
      Texts values;
      for (const Word& one : words_of(row.words)) {
        if (!one.value.empty()) values.push_back(one.word == "*" ? "2" : std::string(one.word));
      }
      return values;
    }
    case FlagForm::host_cache:
      return {"true"};
    case FlagForm::model:
      return {"Qwen/Qwen3-8B"};
    case FlagForm::kv_bytes:
      return {"20GiB"};
    case FlagForm::host_blocks:
      return {"100"};
    case FlagForm::quantization:
      return {"fp8"};
    case FlagForm::present:
    case FlagForm::yaml_file:
    case FlagForm::text:
    case FlagForm::texts:
    case FlagForm::json:
      break;
  }
  return {""};
}

// The flags without which a row's flag says nothing.
std::string flags_beside(const FlagRow& row) {
  if (first_name(row) == "--all2all-backend") return " --enable-expert-parallel -dp 2";
  if (row.names == "--moe-a2a-backend") return " --tp 8 --dp 8 --enable-dp-attention";
  if (row.names == "--kv-offloading-backend") return " --kv-offloading-size 1";
  if (row.field == "serving.speculative.draft_model") {
    if (row.stack == Stack::vllm) return " --speculative-config.method draft_model";
    if (row.stack == Stack::sglang) return " --speculative-algorithm STANDALONE";
    return " --extra_llm_api_options.speculative_config.decoding_type DraftTarget";
  }
  if (row.names == "--kv-transfer-config.kv_connector" || row.starts_storage) return "";
  const std::string connector = " --kv-transfer-config.kv_connector ";
  if (row.storage == "vllm_offload") return connector + "OffloadingConnector";
  if (row.storage == "lmcache") return connector + "LMCacheConnectorV1";
  if (row.storage == "kvbm") return connector + "DynamoConnector";
  if (row.storage == "hicache") return " --enable-hierarchical-cache";
  return "";
}

// Overrides for what no engine's line says, or another of its flags.
Texts overrides_beside(const FlagRow& row, const std::string& value) {
  if (row.field == "serving.speculative.draft_tokens") return {"serving.speculative.acceptance_length=1.5"};
  if (row.field == "serving.chunked_prefill" && value == "false") return {"serving.max_model_len=8192"};
  const bool is_model = value == "draft_model" || value == "STANDALONE" || value == "DraftTarget";
  return is_model ? Texts{"serving.speculative.draft_model=qwen3-8b"} : Texts{};
}

// A line of an engine that reads the row, with the row's flag.
std::string line_with(const FlagRow& row, const std::string& value) {
  const std::string flag(first_name(row));
  const char* program = row.stack == Stack::sglang   ? "sglang serve"
                        : row.stack == Stack::trtllm ? "trtllm-serve"
                                                     : "vllm serve";
  std::string line = std::string(program) + " Qwen/Qwen3-30B-A3B" + flags_beside(row);
  if (!flag.starts_with("-")) return flag + "=" + value + " " + line;
  return line + " " + flag + (row.form == FlagForm::present ? "" : " " + value);
}

// Whether the overrides of a line with a row's flag set the row's field.
bool sets_field(const LaunchLine& line, const FlagRow& row) {
  const std::string field(row.field);
  std::string start = field + "=", part;
  constexpr std::string_view kTiers = "policy.tiers.";
  if (field == "policy") start = "policy.name=";
  if (field.starts_with(kTiers)) {
    start = "policy.tiers=";
    part = "\"" + field.substr(field.rfind('.') + 1) + "\":";
  }
  return std::any_of(line.overrides.begin(), line.overrides.end(), [&](const std::string& one) {
    return one.starts_with(start) && one.find(part) != std::string::npos && one != "policy.name=recompute";
  });
}

// vLLM then takes a step of the longest prompt, and refuses a smaller one.
TEST(WholePrompts, AreWhatALineWithoutChunkedPrefillComputes) {
  const std::string line = "vllm serve Qwen/Qwen3-8B --no-enable-chunked-prefill ";
  EXPECT_FALSE(scenario_of(line).serving.chunked_prefill);
  EXPECT_EQ(scenario_of(line).serving.max_num_batched_tokens, 40960);
  EXPECT_EQ(scenario_of(line + "--max-model-len 4096").serving.max_num_batched_tokens, 8192);
  EXPECT_TRUE(scenario_of("vllm serve Qwen/Qwen3-8B").serving.chunked_prefill);
  EXPECT_TRUE(scenario_of("trtllm-serve Qwen/Qwen3-8B --enable_chunked_prefill").serving.chunked_prefill);
}

// Gemma 4's assistants are MTP layers in a checkpoint of their own.
TEST(LaunchLine, DraftsByOneMoreLayerForHeadsThatTheCatalogueLacks) {
  const std::string line =
      "vllm serve google/gemma-4-31B-it -tp 2 --max-model-len 8192 --speculative-config "
      R"('{"model": "google/gemma-4-31B-it-assistant", "num_speculative_tokens": 4}')";
  EXPECT_TRUE(has_note(read_launch_line(line), "drafts take one more layer of the model"));
  const Scenario scenario = scenario_of(line);
  EXPECT_EQ(scenario.serving.speculative->method, DraftMethod::layers);
  EXPECT_EQ(scenario.serving.speculative->draft_tokens, 4);
  EXPECT_FALSE(scenario.serving.speculative->draft_model);
}

// Each row on a line of an engine that reads it. A field that no scenario has is refused.
TEST(FlagTable, SetsFieldsThatScenariosHave) {
  std::set<std::string_view> seen;
  for (const FlagRow& row : flag_table()) {
    if (row.effect != FlagEffect::sets || row.field.empty()) continue;
    EXPECT_FALSE(source_text(row.source).empty()) << row.names;
    for (const std::string& value : values_for(row)) {
      const std::string line = line_with(row, value);
      try {
        const LaunchLine read = read_launch_line(line);
        for (const std::string& note : read.notes) {
          EXPECT_TRUE(note.find("says no size") != std::string::npos) << line << ": " << note;
        }
        // True is what LMCache has without the variable.
        const bool is_later = row.form == FlagForm::kv_bytes || row.form == FlagForm::host_blocks;
        EXPECT_TRUE(sets_field(read, row) || row.form == FlagForm::host_cache || is_later) << line;
        scenario_of(line, overrides_beside(row, value));
      } catch (const InputError& error) {
        ADD_FAILURE() << line << "\n" << error.what();
      }
    }
    seen.insert(row.field);
  }
  EXPECT_GT(seen.size(), 30U);
}

TEST(FlagTable, NamesEveryFlagOfAStackOnce) {
  for (const Stack stack : {Stack::vllm, Stack::sglang, Stack::trtllm, Stack::lmcache, Stack::dynamo}) {
    std::set<std::string> names;
    for (const FlagRow& row : flag_table()) {
      if (row.stack != stack) continue;
      for (const Word& one : words_of(row.names)) {
        const std::string name = normal_flag(one.word) + " " + std::string(row.field);
        EXPECT_TRUE(names.insert(name).second) << name;
      }
    }
  }
}

TEST(FlagTable, ReadsTheNamesThatPoliciesHave) {
  std::set<std::string_view> policies(policy_names().begin(), policy_names().end());
  for (const FlagRow& row : flag_table()) {
    EXPECT_TRUE(row.storage.empty() || policies.contains(row.storage)) << row.names;
    if (row.form != FlagForm::storage) continue;
    for (const Word& one : words_of(row.words)) {
      EXPECT_TRUE(one.value.empty() || policies.contains(one.value)) << row.names << " " << one.value;
    }
  }
}

// ---- and back ----

TEST(LaunchLine, OfAScenarioReadsBackAsTheSame) {
  const Texts lines = {
      "vllm serve Qwen/Qwen3-32B -tp 2 --kv-offloading-size 100 --max-num-seqs 64",
      "vllm serve Qwen/Qwen3-8B --no-enable-prefix-caching --max-model-len 4096",
      "vllm serve Qwen/Qwen3-8B -dp 2 --kv-offloading-size 40 --num-gpu-blocks-override 1000 --block-size 32",
      "LMCACHE_MAX_LOCAL_CPU_SIZE=60 vllm serve Qwen/Qwen3-8B --kv-transfer-config "
      "'{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'",
      "DYN_KVBM_CPU_CACHE_GB=100 vllm serve Qwen/Qwen3-8B --kv-transfer-config "
      "'{\"kv_connector\":\"DynamoConnector\",\"kv_role\":\"kv_both\"}'",
      "sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-ratio 3 --page-size 32",
      "sglang serve Qwen/Qwen3-32B --tp 2 --enable-hierarchical-cache --hicache-size 30",
      "trtllm-serve Qwen/Qwen3-8B --max_batch_size 128 "
      "--extra_llm_api_options.kv_cache_config.host_cache_size 10000000000",
      "LMCACHE_MAX_LOCAL_CPU_SIZE=60 LMCACHE_CHUNK_SIZE=512 LMCACHE_SAVE_DECODE_CACHE=true "
      "LMCACHE_CACHE_POLICY=LFU LMCACHE_ENABLE_ASYNC_LOADING=true vllm serve Qwen/Qwen3-8B "
      "--kv-cache-dtype fp8 --kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\"}'",
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"OffloadingConnector\","
      "\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":50000000000,\"store_threshold\":2,"
      "\"offload_prompt_only\":false,\"secondary_tiers\":[{\"type\":\"fs\"}]}}'",
      "sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-write-policy write_back "
      "--hicache-storage-backend file --hicache-storage-prefetch-policy timeout",
      "sglang serve Qwen/Qwen3-30B-A3B --tp 8 --dp 4 --enable-dp-attention --ep 8 --chunked-prefill-size "
      "4096",
      "trtllm-serve Qwen/Qwen3-30B-A3B --tp_size 4 --extra_llm_api_options.enable_attention_dp true",
      "LMCACHE_LOCAL_CPU=False LMCACHE_LOCAL_DISK=/x LMCACHE_MAX_LOCAL_DISK_SIZE=800 vllm serve "
      "Qwen/Qwen3-8B --kv-transfer-config "
      "'{\"kv_connector\":\"LMCacheConnectorV1\"}'",
      "LMCACHE_REMOTE_URL=mooncakestore://h:50051 vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector "
      "LMCacheConnectorV1",
      "LMCACHE_MAX_LOCAL_CPU_SIZE=60 LMCACHE_REMOTE_URL=lm://h:65432 sglang serve Qwen/Qwen3-8B "
      "--enable-lmcache",
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector MooncakeStoreConnector",
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"OffloadingConnector\","
      "\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":50000000000,"
      "\"secondary_tiers\":[{\"type\":\"fs\"},{\"type\":\"obj\"}]}}'",
      "vllm serve Qwen/Qwen3-8B --watermark 0.02 --kv-transfer-config "
      "'{\"kv_connector\":\"SimpleCPUOffloadConnector\",\"kv_connector_extra_config\":"
      "{\"cpu_bytes_to_use\":50000000000,\"lazy_offload\":true}}'",
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"OffloadingConnector\","
      "\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":50000000000,\"block_size\":64}}'",
      "sglang serve Qwen/Qwen3-8B --schedule-conservativeness 0.5",
      "trtllm-serve Qwen/Qwen3-8B --disable_kv_cache_reuse",
      "sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-storage-backend mooncake",
      "sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-storage-backend eic",
      "DYN_KVBM_CPU_CACHE_GB=100 DYN_KVBM_DISK_CACHE_GB=800 vllm serve Qwen/Qwen3-8B --kv-transfer-config "
      "'{\"kv_connector\":\"DynamoConnector\"}'",
  };
  for (const std::string& line : lines) {
    const Scenario first = scenario_of(line);
    const std::string back = launch_line_of(first);
    ASSERT_FALSE(back.empty()) << line;
    const Scenario second = scenario_of(back);
    EXPECT_EQ(second.resolved_json, first.resolved_json) << line << "\n" << back;
  }
}

TEST(LaunchLine, OfDynamoNamesTheModuleOfItsConnector) {
  const std::string line = "DYN_KVBM_CPU_CACHE_GB=100 vllm serve Qwen/Qwen3-8B --kv-transfer-config ";
  EXPECT_EQ(launch_line_of(scenario_of(line + "'{\"kv_connector\":\"DynamoConnector\"}'")),
            "DYN_KVBM_CPU_CACHE_GB=100 vllm serve Qwen/Qwen3-8B --kv-transfer-config "
            "'{\"kv_connector\":\"DynamoConnector\","
            "\"kv_role\":\"kv_both\",\"kv_connector_module_path\":\"kvbm.vllm_integration.connector\"}'");
}

TEST(LaunchLine, OfAStackByItselfSaysHowLargeItsHostCacheIs) {
  const Scenario vllm = scenario_of("vllm serve Qwen/Qwen3-8B", {"policy={}", "policy.name=vllm_offload"});
  const double bytes = vllm.hardware.dram->capacity_bytes;
  const double read_back = *scenario_of(launch_line_of(vllm)).policy.tiers->front().capacity_bytes;
  EXPECT_LE(read_back, bytes);
  EXPECT_NEAR(read_back, bytes, 0.01 * 1073741824);
  const Scenario trtllm =
      scenario_of("trtllm-serve Qwen/Qwen3-8B", {"policy={}", "policy.name=trtllm_offload"});
  EXPECT_NE(launch_line_of(trtllm).find("kv_cache_config.host_cache_size " +
                                        std::to_string(std::llround(trtllm.hardware.dram->capacity_bytes))),
            std::string::npos);
}

TEST(LaunchLine, TakesASizeBeforeARatioAndARatioWhereTheSizeIsNone) {
  const std::string line = "sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache ";
  const TierOptions sized = scenario_of(line + "--hicache-ratio 3 --hicache-size 40").policy.tiers->front();
  EXPECT_EQ(sized.capacity_bytes, 40e9);
  EXPECT_FALSE(sized.capacity_over_gpu);
  const TierOptions unsized = scenario_of(line + "--hicache-ratio 3 --hicache-size 0").policy.tiers->front();
  EXPECT_EQ(unsized.capacity_over_gpu, 3);
  EXPECT_EQ(scenario_of(line + "--hicache-size 0").policy.tiers->front().capacity_over_gpu, 2);
}

TEST(LaunchLine, IsEmptyForWhatNoStackDoes) {
  const Scenario hidden =
      scenario_of("vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\"}'",
                  {"policy.keep=hidden", "policy.restore=project"});
  EXPECT_EQ(launch_line_of(hidden), "");
  EXPECT_EQ(launch_line_of(scenario_of("vllm serve Qwen/Qwen3-8B", {"policy.name=hcache"})), "");
}

// Options of tiers and sizes that reading the line would not give back.
TEST(LaunchLine, IsEmptyForTiersThatNoFlagDescribes) {
  const std::string vllm = "vllm serve Qwen/Qwen3-8B ", sglang = "sglang serve Qwen/Qwen3-8B ";
  const auto line_of = [](const std::string& line, const std::string& policy, const std::string& tiers) {
    return launch_line_of(scenario_of(line, {"policy={}", "policy.name=" + policy, "policy.tiers=" + tiers}));
  };
  for (const char* option :
       {R"("eviction":"fifo")", R"("soft_pin_s":60)", R"("lease_s":5)", R"("evict_at":0.9)",
        R"("after_uses":2)", R"("replicas":2)", R"("free_fraction":0.1)", R"("capacity_over_gpu":3)"}) {
    EXPECT_EQ(line_of(vllm, "vllm_offload", R"([{"kind":"dram",)" + std::string(option) + "}]"), "")
        << option;
  }
  const std::tuple<std::string, const char*, const char*> none[] = {
      {vllm, "vllm_offload", R"([{"kind":"ssd","eviction":"none"}])"},
      {vllm, "vllm_offload", R"([{"kind":"dram"},{"kind":"ssd"}])"},
      {vllm, "vllm_offload", R"([{"kind":"dram"},{"kind":"ssd","eviction":"none","capacity_bytes":1e12}])"},
      {vllm, "vllm_offload", R"([{"kind":"dram"},{"kind":"mooncake_store"}])"},
      {vllm, "vllm_offload", R"([{"kind":"mooncake_store","evict_at":0.95}])"},
      {vllm, "vllm_offload", R"([{"kind":"hbm"},{"kind":"dram"}])"},
      {vllm, "lmcache", R"([{"kind":"dram"},{"kind":"remote","capacity_bytes":1e12}])"},
      {vllm, "lmcache", R"([{"kind":"dram"},{"kind":"remote","lease_s":10}])"},
      {vllm, "lmcache", R"([{"kind":"dram","capacity_over_gpu":2}])"},
      {vllm, "kvbm", R"([{"kind":"dram"},{"kind":"ssd"}])"},
      {vllm, "kvbm", R"([{"kind":"dram"},{"kind":"remote"}])"},
      {sglang, "hicache", R"([{"kind":"dram"},{"kind":"ssd"},{"kind":"remote"}])"},
      {sglang, "hicache", R"([{"kind":"dram"},{"kind":"ssd","eviction":"none"}])"},
      {sglang, "hicache", R"([{"kind":"dram"},{"kind":"ssd","capacity_bytes":1e12}])"},
      {sglang, "hicache", R"([{"kind":"dram"},{"kind":"mooncake_store","soft_pin_s":1800}])"},
  };
  for (const auto& [line, policy, tiers] : none)
    EXPECT_EQ(line_of(line, policy, tiers), "") << policy << tiers;
  // The stacks' own options and those that a tier has anyway have a line.
  EXPECT_NE(line_of(vllm, "vllm_offload", R"([{"kind":"dram","eviction":"lru"}])"), "");
  EXPECT_NE(line_of(vllm, "kvbm", R"([{"kind":"dram"},{"kind":"ssd","after_uses":2}])"), "");
  EXPECT_NE(line_of(vllm, "recompute", R"([{"kind":"dram","eviction":"fifo"}])"), "");
  EXPECT_NE(launch_line_of(scenario_of(vllm, {"policy={}", "policy.name=kvbm"})), "");
  EXPECT_NE(launch_line_of(scenario_of(vllm, {"policy={}", "policy.name=lmcache"})), "");
  EXPECT_NE(launch_line_of(scenario_of(sglang, {"policy={}", "policy.name=hicache"})), "");
}

TEST(LaunchLine, NamesMooncakeForItsStoreAlone) {
  const auto line_of = [](const std::string& kind) {
    return launch_line_of(
        scenario_of("sglang serve Qwen/Qwen3-8B",
                    {"policy={}", "policy.name=hicache",
                     R"(policy.tiers=[{"kind":"dram","capacity_over_gpu":2},{"kind":")" + kind + "\"}]"}));
  };
  EXPECT_NE(line_of("mooncake_store").find(" --hicache-storage-backend mooncake"), std::string::npos);
  EXPECT_NE(line_of("remote").find(" --hicache-storage-backend hf3fs"), std::string::npos);
  EXPECT_NE(line_of("ssd").find(" --hicache-storage-backend file"), std::string::npos);
}

TEST(ChangedFlags, NameWhatIsAddedAndWhatIsDropped) {
  const Scenario stock = scenario_of("vllm serve Qwen/Qwen3-8B");
  const Scenario offload = scenario_of("vllm serve Qwen/Qwen3-8B --kv-offloading-size 100");
  EXPECT_EQ(changed_flags(stock, offload), "--kv-offloading-size 100");
  EXPECT_EQ(changed_flags(offload, stock), "without --kv-offloading-size");
  EXPECT_EQ(changed_flags(stock, stock), "");
  const Scenario larger = scenario_of("vllm serve Qwen/Qwen3-8B --kv-offloading-size 200");
  EXPECT_EQ(changed_flags(offload, larger), "--kv-offloading-size 200");
}

// ---- anything at all ----

TEST(LaunchLine, OfRandomWordsIsReadOrRefusedInOneLine) {
  const char* const words[] = {"vllm",
                               "serve",
                               "sglang",
                               "trtllm-serve",
                               "Qwen/Qwen3-8B",
                               "-tp",
                               "2",
                               "--",
                               "-",
                               "--max-num-seqs",
                               "--kv-transfer-config",
                               "{}",
                               "'{\"kv_connector\":1}'",
                               "'{\"a\":{\"b\":[{\"c\":null}]}}'",
                               "--hicache-ratio",
                               "nan",
                               "1e999",
                               "=",
                               "--=",
                               "A=",
                               "LMCACHE_LOCAL_CPU=true",
                               "--enable-hierarchical-cache",
                               "'",
                               "\\",
                               "--no-enable-prefix-caching",
                               "--no-",
                               "--speculative-config",
                               "[1]",
                               "-1"};
  const RandomStream random(7, "lines");
  int read = 0;
  for (uint64_t i = 0; i < 4000; ++i) {
    std::string line = i % 2 == 0 ? "vllm serve Qwen/Qwen3-8B " : "";
    const auto length = static_cast<uint64_t>(8 * random.uniform(i, 0));
    for (uint64_t k = 1; k <= length; ++k) {
      const auto which =
          static_cast<std::size_t>(static_cast<double>(std::size(words)) * random.uniform(i, k));
      line += std::string(words[which]) + " ";
    }
    const std::string message = error_of(line);
    if (message == "accepted") {
      ++read;
    } else {
      EXPECT_TRUE(message.starts_with("--from: ")) << line << "\n" << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << line;
    }
  }
  EXPECT_GT(read, 200);
}

}  // namespace
}  // namespace kvcap::launch_line_test
