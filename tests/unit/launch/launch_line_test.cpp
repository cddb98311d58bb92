// Tests launch lines of vLLM, SGLang and TensorRT-LLM: the settings that they read, and messages about them.
#include "launch/launch_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "launch/shell_words.h"
#include "policy/table.h"
#include "unit/launch_lines.h"

namespace kvcap::launch_line_test {
namespace {

using namespace launch_lines;

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

TEST(LaunchLine, FindsTheModelBehindWhatSaysHowItWasTrainedAndPacked) {
  const auto model_of = [](const std::string& name) { return scenario_of("vllm serve " + name).model; };
  EXPECT_EQ(model_of("mistralai/Mistral-7B-Instruct-v0.3").name, "mistral-7b-v0.3");
  EXPECT_EQ(model_of("mistralai/Mixtral-8x7B-Instruct-v0.1").name, "mixtral-8x7b");
  EXPECT_EQ(model_of("google/gemma-3-27b-it").name, "gemma-3-27b");
  // 8-bit weights are the catalogue's where it has them.
  EXPECT_EQ(model_of("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic").name, "llama-3.1-8b-fp8-dynamic");
  EXPECT_EQ(model_of("Qwen/Qwen3-8B-FP8").name, "qwen3-8b-fp8");
  EXPECT_NEAR(model_of("Qwen/Qwen3-8B-FP8").weight_bytes_per_element, 1, 1e-3);  // and a scale of each block
  EXPECT_EQ(model_of("someone/Qwen3-8B-Base-FP8").name, "qwen3-8b-base");
  EXPECT_EQ(model_of("someone/Qwen3-8B-Base-FP8").weight_bytes_per_element, 1);
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
  EXPECT_EQ(read_launch_line("sglang serve Qwen/Qwen3-30B-A3B --tp 2 --dp 3").notes,
            Texts{"--dp-size 3 without --enable-dp-attention: SGLang's ranks share no experts and are "
                  "simulated as 3 servers, each with its own DRAM, SSDs and price"});
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
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B -tp 4 -pcp 2"),
            "--from: -pcp 2 affects the result and is not simulated (missing: dividing a prompt's queries "
            "among additional GPUs); --ignore-flags pcp leaves it out");
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --prefill-context-parallel-size 1"), "accepted");
  EXPECT_EQ(error_of("python -m sglang.launch_server --model-path Qwen/Qwen3-8B --pp 2"),
            "--from: --pp 2 affects the result and is not simulated (missing: separate batches for the "
            "stages); --ignore-flags pp leaves it out");
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --enforce-eager"),
            "--from: --enforce-eager affects the result and is not simulated; --ignore-flags enforce-eager "
            "leaves it out");
  EXPECT_NE(error_of("trtllm-serve Qwen/Qwen3-8B --cp_size 2"), "accepted");
}

TEST(LaunchLine, SaysWhereHandoversAreSimulated) {
  const std::string line =
      R"(vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_both"}')";
  EXPECT_EQ(scenario_of(line).policy.name, "recompute");
  EXPECT_TRUE(has_note(line, "fleet.disaggregation"));
}

// Batches between two rows and after the last one have the drafts of the row before.
TEST(LaunchLine, DraftsByTheBatchAsTheRowsOfVllmSay) {
  const std::string line =
      "vllm serve Qwen/Qwen3-8B --max-num-seqs 256 --speculative-config.method ngram "
      "--speculative-config.num_speculative_tokens 3 ";
  const std::string flag = "--speculative-config.num_speculative_tokens_per_batch_size ";
  const Scenario scenario = scenario_of(line + flag + "'[[1,64,3],[100,128,1],[200,512,0]]'");
  const std::vector<DraftsOfBatch>& rows = scenario.serving.speculative->drafts_by_batch;
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].draft_tokens, 3);
  EXPECT_EQ(rows[1].from_sequences, 100);
  EXPECT_EQ(rows[2].draft_tokens, 0);
  EXPECT_NE(launch_line_of(scenario).find(flag + "'[[1,99,3],[100,199,1],[200,256,0]]'"), std::string::npos)
      << launch_line_of(scenario);
  const std::string json =
      R"(vllm serve Qwen/Qwen3-8B --speculative-config '{"method":"ngram",)"
      R"("num_speculative_tokens":3,"num_speculative_tokens_per_batch_size":[[1,8,2]]}')";
  EXPECT_EQ(scenario_of(json).serving.speculative->drafts_by_batch[0].draft_tokens, 2);
  for (const std::string rows_of_line : {"'[[2,8,1]]'", "'[[1,8,1],[8,9,0]]'", "'[[1,8,1,4096,2]]'",
                                         "'[[8,1,1]]'", "'[[1,8,-1]]'", "'{}'", "3", "'[['"}) {
    EXPECT_NE(error_of(line + flag + rows_of_line).find("allowed: ascending rows [first batch size"),
              std::string::npos)
        << rows_of_line << ": " << error_of(line + flag + rows_of_line);
  }
  EXPECT_NE(error_of("sglang serve Qwen/Qwen3-8B --speculative-algorithm NGRAM --speculative-adaptive"),
            "accepted");
}

TEST(LaunchLine, DraftsByAnotherLayerForHeadsThatAreInNoCatalogue) {
  const std::string line =
      R"(vllm serve Qwen/Qwen3-8B --speculative-config '{"method":"eagle3","model":"yuhuili/EAGLE3-Q","num_speculative_tokens":3}')";
  EXPECT_TRUE(has_note(line, "one additional layer"));
  EXPECT_NE(
      error_of(
          R"(vllm serve Qwen/Qwen3-8B --speculative-config '{"method":"draft_model","model":"nobody/has-it"}')"),
      "accepted");
}

TEST(LaunchLine, IsPrintedWithTheModelThatTheEngineKnows) {
  const auto line_of = [](const std::string& model) {
    return launch_line_of(scenario_of("vllm serve Qwen/Qwen3-8B", {"model=" + model}));
  };
  for (const std::string name : {"meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"}) {
    EXPECT_TRUE(line_of(name).starts_with("vllm serve " + name)) << line_of(name);
  }
  EXPECT_TRUE(line_of("qwen3-8b").starts_with("vllm serve Qwen/Qwen3-8B"));
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
  EXPECT_TRUE(has_note(folder, "--generation-config /configs is not read; set serving.sampling"));
  EXPECT_FALSE(
      scenario_of("sglang serve Qwen/Qwen3-8B --sampling-defaults openai").serving.sampling->filters());
  EXPECT_EQ(without_method(scenario_of("sglang serve Qwen/Qwen3-8B --sampling-defaults model")), own);
  EXPECT_NE(error_of("sglang serve Qwen/Qwen3-8B --sampling-defaults none").find("allowed: model, openai"),
            std::string::npos);
}

TEST(LaunchLine, IsPrintedWithWhatTokensAreDrawnFromWhereTheModelSaysOtherwise) {
  const auto printed = [](const std::string& line) { return launch_line_of(scenario_of(line)); };
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

TEST(LaunchLine, TakesNoFlagForAValue) {
  const std::string text = "vllm serve Qwen/Qwen3-8B --new-switch -tp 4 --other -q=fp8";
  EXPECT_EQ(
      error_of(text),
      "--from: --new-switch is not a known flag of vllm; --other is not a known flag of vllm; --ignore-flags "
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
      "--from: --max-num-seqs: found \"\", allowed: a number, optionally followed by k, K, m, M, g or G");
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
  EXPECT_EQ(
      error_of("vllm serve Qwen/Qwen3-8B --max-num-seqz 5 --enforce-eager --port 8000 stray"),
      "--from: --max-num-seqz is not a known flag of vllm; did you mean \"--max-num-seqs\"?; \"stray\" "
      "does not belong to a flag; --enforce-eager affects the result and is not simulated; --ignore-flags "
      "max-num-seqz,stray,enforce-eager leaves them out");
}

TEST(LaunchLine, ThatCannotBeReadIsRefusedInOneLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"",
       "--from: found no engine, allowed: a line with vllm serve, sglang.launch_server, sglang serve or "
       "trtllm-serve, or a manifest (FILE.yaml)"},
      {"vllm serve", "--from: found no model, allowed: a launch line that names one"},
      {"vllm serve Qwen/Qwen3-8C",
       "--from: found model \"Qwen/Qwen3-8C\", allowed: a name of kvcap show models or the path of a "
       "config.json; kvcap show models Qwen/Qwen3-8C --fetch reads it from Hugging Face; did you mean "
       "\"qwen3-8b\"?"},
      {"vllm serve Qwen/Qwen3-8B -tp two",
       "--from: -tp: found \"two\", allowed: a number, optionally followed by k, K, m, M, g or G"},
      {"vllm serve Qwen/Qwen3-8B --kv-offloading-backend disk",
       "--from: --kv-offloading-backend: found \"disk\", allowed: native, lmcache"},
      {"vllm serve 'Qwen", "--from: found a quote ' that is not closed"},
      {"vllm serve Qwen/Qwen3-8B -tp 1.5", "--from: -tp: found \"1.5\", allowed: an integer"},
      {"vllm serve Qwen/Qwen3-8B --enable-prefix-caching=false",
       "--from: --enable-prefix-caching: found \"false\", allowed: no value"},
      {"vllm serve Qwen/Qwen3-8B --kv-offloading-size 100G",
       "--from: --kv-offloading-size: found \"100G\", allowed: a number of GiB"},
      {"vllm serve Qwen/Qwen3-8B --kv-transfer-config {\"kv_connector\":\"LMCacheConnectorV1\"}",
       "--from: --kv-transfer-config: found \"{kv_connector:LMCacheConnectorV1}\", allowed: JSON (in single "
       "quotes)"},
      {"sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --disable-radix-cache",
       "--from: found --disable-radix-cache together with --enable-hierarchical-cache, allowed: one of them"},
  };
  for (const auto& [line, message] : cases) EXPECT_EQ(error_of(line), message);
}

}  // namespace
}  // namespace kvcap::launch_line_test
