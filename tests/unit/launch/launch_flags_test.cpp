// Flags of a launch line that are not simulated, their spellings and their values, and connectors.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "launch/quantization.h"
#include "unit/launch_lines.h"

namespace kvcap::launch_flags_test {
namespace {

using namespace launch_lines;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ---- engines that do not start ----

// Qwen3-8B has 40,960 positions.
TEST(LineThatDoesNotStart, HasMorePositionsThanTheModel) {
  const std::string line = "vllm serve Qwen/Qwen3-8B --max-model-len ";
  EXPECT_EQ(error_of(line + "40960"), "accepted");
  EXPECT_EQ(error_of(line + "40961"),
            "--from: --max-model-len: found \"40961\", allowed: at most the model's 40960 positions, unless "
            "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 or a scaling of its rotary embedding is set");
  EXPECT_EQ(error_of("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 " + line + "40961"), "accepted");
  EXPECT_NE(error_of("VLLM_ALLOW_LONG_MAX_MODEL_LEN=0 " + line + "40961"), "accepted");
  EXPECT_EQ(error_of(line + R"(131072 --rope-scaling '{"rope_type": "yarn", "factor": 4}')"), "accepted");
  EXPECT_EQ(error_of(line + R"(131072 --hf-overrides '{"max_position_embeddings": 131072}')"), "accepted");
  const std::string sglang =
      "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --context-length 40961";
  EXPECT_TRUE(has(error_of(sglang), "unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"));
  EXPECT_EQ(error_of("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 " + sglang), "accepted");
  EXPECT_EQ(error_of("trtllm-serve Qwen/Qwen3-8B --max_seq_len 40961"), "accepted");
}

TEST(LineThatDoesNotStart, SeesFewerGpusThanItHasRanks) {
  EXPECT_EQ(error_of("CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve Qwen/Qwen3-8B -tp 2 -dp 2"), "accepted");
  EXPECT_EQ(error_of("CUDA_VISIBLE_DEVICES=0,1,2 vllm serve Qwen/Qwen3-8B -tp 4"),
            "--from: CUDA_VISIBLE_DEVICES: found \"0,1,2\", allowed: the 4 GPUs of the engine's ranks");
  for (const char* flags : {"--distributed-executor-backend ray", "-dp 2 --data-parallel-rank 0"}) {
    EXPECT_EQ(error_of("CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-8B -tp 4 " + std::string(flags),
                       {"data-parallel-rank"}),
              "accepted")
        << flags << ": ranks on other nodes";
  }
  EXPECT_EQ(error_of("CUDA_VISIBLE_DEVICES=$GPUS vllm serve Qwen/Qwen3-8B -tp 4"), "accepted");
}

TEST(LineThatDoesNotStart, DividesExpertsAmongGroupsThatDoNotDivideItsGpus) {
  const std::string line = "trtllm-serve Qwen/Qwen3-30B-A3B --tp_size 8 --ep_size ";
  for (const char* parts : {"1", "2", "8"}) EXPECT_EQ(error_of(line + parts), "accepted") << parts;
  for (const char* parts : {"3", "16"}) {
    EXPECT_EQ(error_of(line + parts), "--from: --ep_size: found \"" + std::string(parts) +
                                          "\", allowed: a divisor of the 8 GPUs of tensor parallelism");
  }
}

TEST(LineThatDoesNotStart, HasBlocksOrAKvFormatThatNoKernelReads) {
  const std::string line = "vllm serve Qwen/Qwen3-8B --block-size ";
  for (const char* tokens : {"1", "8", "16", "48", "128"})
    EXPECT_EQ(error_of(line + tokens), "accepted") << tokens;
  EXPECT_EQ(error_of(line + "7"), "--from: --block-size: found \"7\", allowed: 1, 8, or a multiple of 16");
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8_e5m2"), "accepted");
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B-FP8 --kv-cache-dtype fp8_e4m3"), "accepted");
  EXPECT_EQ(error_of("vllm serve zai-org/GLM-4.5-Air-FP8 -tp 4 --kv-cache-dtype fp8_e5m2"), "accepted")
      << "compressed-tensors";
  EXPECT_EQ(
      error_of("vllm serve Qwen/Qwen3-8B-FP8 --kv-cache-dtype fp8_e5m2"),
      "--from: --kv-cache-dtype: found \"fp8_e5m2\", allowed: auto, fp8 or fp8_e4m3 with an FP8 checkpoint");
}

// ---- flags that are not simulated ----

TEST(IgnoredFlags, AreErrorsUnlessTheyAreNamed) {
  const std::string line = "vllm serve Qwen/Qwen3-8B ";
  for (const char* flag :
       {"--enforce-eager", "--fully-sharded-loras", "--lora-dtype float16", "--max-long-partial-prefills 2",
        "-pcp 2", "--dcp-comm-backend a2a", "--prefill-context-parallel-size 2", "--cpu-offload-gb 10",
        "--max-num-partial-prefills 2", "--enable-dbo", "--dtype float32", "-O0",
        "--compilation-config '{\"cudagraph_mode\":\"NONE\"}'", "--hf-overrides '{\"num_hidden_layers\":2}'",
        "--kv-transfer-config.kv_role kv_producer", "--rope-theta 5e6"}) {
    EXPECT_TRUE(has(error_of(line + flag), "not simulated")) << flag << ": " << error_of(line + flag);
    const std::string error = error_of(line + flag), hint = "--ignore-flags ";
    const std::size_t begin = error.find(hint) + hint.size();
    const std::string name = error.substr(begin, error.find(' ', begin) - begin);
    EXPECT_EQ(error_of(line + flag, {name}), "accepted") << name;
  }
}

TEST(IgnoredFlags, NeedNoNameWhereTheyChooseKernelsAlone) {
  for (const char* flag : {"--disable-custom-all-reduce", "-cc.pass_config.fuse_norm_quant=True",
                           "--compilation-config '{\"pass_config\": {\"fuse_act_quant\": true}}'",
                           "--moe-backend flashinfer_trtllm", "--cudagraph-capture-sizes 1 2 4"}) {
    EXPECT_EQ(error_of(std::string("vllm serve Qwen/Qwen3-8B ") + flag), "accepted") << flag;
  }
  EXPECT_EQ(error_of("python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --cuda-graph-max-bs 64"),
            "accepted");
}

TEST(IgnoredFlags, NeedNoNameWhereTheyHaveTheEnginesDefault) {
  const std::string line = "vllm serve Qwen/Qwen3-8B ";
  for (const char* flag : {"-pp 1",
                           "--scheduling-policy fcfs",
                           "--long-prefill-token-threshold 0",
                           "--long-prefill-token-threshold None",
                           "--enable-lora --lora-modules a=b c=d --lora-dtype auto --max-cpu-loras 9",
                           "--cpu-offload-gb 0.0",
                           "--dtype bfloat16",
                           "--no-enforce-eager",
                           "-O3",
                           "-O 2",
                           "--optimization-level=3",
                           "--compilation-config 3",
                           "--enable-chunked-prefill",
                           "--compilation-config '{\"mode\":3}'",
                           "--swap-space 16",
                           "--rope-theta 5e6 --max-model-len 65536",
                           "--disable-hybrid-kv-cache-manager",
                           "--max-num-seqs None",
                           "--mm-encoder-tp-mode data",
                           "--limit-mm-per-prompt '{\"image\": 4}'",
                           "--limit-mm-per-prompt.video 0",
                           "--limit-mm-per-prompt image=2"}) {
    EXPECT_EQ(error_of(line + flag), "accepted") << flag;
  }
  EXPECT_TRUE(
      has(error_of("vllm serve google/gemma-3-27b-it --disable-hybrid-kv-cache-manager"), "not simulated"));
}

TEST(IgnoredFlags, NeedNoNameWhereTheySayAgainWhatTheLineSays) {
  const std::string vllm = "vllm serve Qwen/Qwen3-8B -dp 4 -dpl ";
  EXPECT_EQ(error_of(vllm + "4"), "accepted");
  EXPECT_TRUE(has(error_of(vllm + "2"), "-dpl 2 affects the result"));
  const std::string sglang =
      "sglang serve Qwen/Qwen3-8B --speculative-algorithm NEXTN --speculative-num-steps 3 "
      "--speculative-eagle-topk 1 --speculative-num-draft-tokens ";
  EXPECT_EQ(error_of(sglang + "4"), "accepted") << "a chain of 3 and one more";
  EXPECT_TRUE(has(error_of(sglang + "8"), "--speculative-num-draft-tokens 8 affects the result"));
}

TEST(IgnoredFlags, AreNamedByAnyOfTheirSpellings) {
  const std::string line = "vllm serve Qwen/Qwen3-8B -pp 2 --enforce_eager --speculative-config '{broken'";
  for (const char* name : {"pp", "-pp", "pipeline-parallel-size", "--pipeline_parallel_size"}) {
    const LaunchLine read = read_launch_line(line, {name, "enforce-eager", "speculative-config"});
    EXPECT_EQ(read.left_out, (Texts{"-pp", "--enforce_eager", "--speculative-config"})) << name;
  }
  EXPECT_EQ(read_launch_line("vllm serve Qwen/Qwen3-8B", {"enforce-eager"}).notes,
            Texts{"--ignore-flags enforce-eager: the launch line does not have this flag"});
}

// ---- spellings ----

TEST(Spellings, OfFlagsAreThoseThatArgparseUnderstands) {
  const std::string line = "vllm serve Qwen/Qwen3-8B ";
  EXPECT_EQ(value_of(line + "--tensor-parallel 4", "serving.tensor_parallel_size"), "4");
  EXPECT_EQ(value_of(line + "-tp=4", "serving.tensor_parallel_size"), "4");
  EXPECT_EQ(value_of(line + "--max_num_batched_tokens=25.6k", "serving.max_num_batched_tokens"), "25600");
  EXPECT_EQ(value_of(line + "--max-num-batched-tokens 1K", "serving.max_num_batched_tokens"), "1024");
  EXPECT_EQ(
      error_of(line + "--max-num 4"),
      "--from: --max-num: found the beginning of --max-num-seqs and --max-num-batched-tokens, allowed: the "
      "whole name");
  EXPECT_TRUE(has(error_of("trtllm-serve Qwen/Qwen3-8B --max_batch 4"), "is not a known flag of trtllm"));
}

TEST(Spellings, OfWordProcessorsAreTold) {
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B \u2014max-num-seqs 4"),
            "--from: found the typographic dash \"\u2014\" in \"\u2014max-num-seqs\", allowed: - and --");
  EXPECT_TRUE(has(error_of("vllm serve Qwen/Qwen3-8B \u2013tp 4"), "typographic dash"));
  EXPECT_TRUE(has(error_of("vllm serve Qwen/Qwen3-8B -\u2013tp 4"), "typographic dash"));
  EXPECT_TRUE(has(error_of("vllm serve Qwen/Qwen3-8B --kv-transfer-config \u2018{}\u2019"), "allowed: '"));
  EXPECT_TRUE(has(error_of("vllm serve Qwen/Qwen3-8B\u00a0-tp 4"), "a plain space"));
  // Inside of plain quotes and words they are letters.
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --chat-template 'it\u2019s \u2014 so'"), "accepted");
}

TEST(Spellings, OfShellsAreUnderstood) {
  EXPECT_EQ(value_of("export TP=4; vllm serve Qwen/Qwen3-8B -tp $TP", "serving.tensor_parallel_size"), "4");
  EXPECT_EQ(value_of("model=Qwen/Qwen3-8B\nvllm serve ${model} --port $PORT", "model"), "qwen3-8b");
  EXPECT_EQ(value_of("vllm serve Qwen/Qwen3-8B -tp ${TP:-2}", "serving.tensor_parallel_size"), "2");
  EXPECT_EQ(
      error_of("vllm serve Qwen/Qwen3-8B -tp $TP"),
      "--from: -tp: found \"$TP\", a variable that the line does not set; allowed: its value, or NAME=value "
      "before the command");
  EXPECT_TRUE(has(error_of("vllm serve $MODEL"), "found \"$MODEL\", a variable"));
  EXPECT_EQ(value_of("vllm serve Qwen/Qwen3-8B \\\n  -tp 4 # four\n --port 80 > log 2>&1 &",
                     "serving.tensor_parallel_size"),
            "4");
  EXPECT_EQ(error_of("CUDA_VISIBLE_DEVICES=0,1 HF_TOKEN=x nohup vllm serve Qwen/Qwen3-8B"), "accepted");
}

TEST(Spellings, OfProgramsAreThoseThatStartAnEngine) {
  for (const char* line :
       {"python3 -m vllm.entrypoints.api_server --model Qwen/Qwen3-8B",
        "python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B",
        "python -m vllm.entrypoints.cli.main serve Qwen/Qwen3-8B", "uv run vllm serve Qwen/Qwen3-8B",
        "python vllm/entrypoints/openai/api_server.py --model Qwen/Qwen3-8B",
        "docker run --gpus all --entrypoint vllm vllm/vllm-openai:v0.11.0 serve Qwen/Qwen3-8B",
        "docker run vllm/vllm-openai python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B",
        "docker run nvcr.io/nvidia/vllm:26.06-py3 vllm serve Qwen/Qwen3-8B",
        "docker run lmsysorg/sglang:latest python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B",
        "docker run image /bin/bash -lc \"export A=1 && vllm serve Qwen/Qwen3-8B --port 80; sleep 1\"",
        "mpirun -n 2 trtllm-llmapi-launch trtllm-serve Qwen/Qwen3-8B"}) {
    EXPECT_EQ(value_of(line, "model"), "qwen3-8b") << line;
  }
}

// ---- values ----

TEST(FlagValues, ThatAreBrokenJsonAreRefused) {
  const std::string line = "vllm serve Qwen/Qwen3-8B ";
  for (const char* flag :
       {"--kv-transfer-config '{\"kv_connector\":'", "--kv-transfer-config [1]",
        "--kv-transfer-config LMCacheConnectorV1", "--speculative-config '{method: ngram}'",
        "--limit-mm-per-prompt '{\"image\": 4'", "--hf-overrides '{\"a\":1'",
        "--structured-outputs-config '{'", "--compilation-config '{\"mode\":3'"}) {
    EXPECT_TRUE(has(error_of(line + flag), "allowed: JSON (in single quotes)"))
        << flag << error_of(line + flag);
  }
}

TEST(FlagValues, ThatAreNegativeOrAbsurdAreRefused) {
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --kv-offloading-size -5"),
            "--from: --kv-offloading-size: found \"-5\", allowed: 0 or more GiB, at most 1e18 bytes");
  for (const char* flags :
       {"--kv-offloading-size 1e12", "--kv-offloading-size nan", "--kv-cache-memory-bytes -1",
        "--kv-cache-memory-bytes 0", "--num-gpu-blocks-override -5", "--num-gpu-blocks-override 0",
        "--kv-transfer-config "
        "'{\"kv_connector\":\"OffloadingConnector\",\"kv_connector_extra_config\":{\"num_cpu_blocks\":-1}}'",
        "--kv-transfer-config "
        "'{\"kv_connector\":\"OffloadingConnector\",\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":-1}}"
        "'"}) {
    EXPECT_TRUE(has(error_of(std::string("vllm serve Qwen/Qwen3-8B ") + flags), "allowed: ")) << flags;
  }
  EXPECT_TRUE(has(error_of("sglang serve Qwen/Qwen3-8B --enable-hierarchical-cache --hicache-size -1"),
                  "0 or more GB"));
}

TEST(FlagValues, OfConservativenessAreSharesOfAnswers) {
  const std::string line = "sglang serve Qwen/Qwen3-8B --schedule-conservativeness ";
  EXPECT_EQ(value_of(line + "0.5", "serving.reserved_output_share"), "0.35");
  EXPECT_EQ(value_of(line + "2", "serving.reserved_output_share"), "1.0") << "as the server clamps 1.4";
}

TEST(Quantization, IsAcceptedBesideACheckpointThatHasIt) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("kvcap_awq_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
             "num_hidden_layers": 4, "hidden_size": 256,
             "num_attention_heads": 8, "intermediate_size": 512, "vocab_size": 1000,
             "max_position_embeddings": 4096,
             "torch_dtype": "float16",
             "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}})";
  const std::string line = "vllm serve " + folder.string() + "/config.json --quantization ";
  EXPECT_EQ(error_of(line + "awq_marlin"), "accepted");
  EXPECT_EQ(error_of(line + "awq"), "accepted");
  EXPECT_EQ(value_of(line + "awq", "model.weight_bytes_per_element"), "") << "as the file says";
  EXPECT_EQ(error_of(line + "gptq"),
            "--from: --quantization: found \"gptq\", allowed: awq, as in the model's config.json");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B -q awq"),
            "--from: -q: found \"awq\", allowed: fp8, or a model with this method in its config.json: awq");
  EXPECT_EQ(value_of("vllm serve Qwen/Qwen3-8B -q fp8", "model.weight_bytes_per_element"), "1");
  EXPECT_EQ(error_of("vllm serve openai/gpt-oss-120b -q mxfp4"), "accepted");
}

// Other makers scale columns or whole matrices.
TEST(Quantization, HasBlocksOnlyInTheCheckpointsOfItsMaker) {
  EXPECT_EQ(value_of("vllm serve RedHatAI/Qwen3-30B-A3B-FP8-dynamic -tp 4", "model.weight_block_size"), "0");
  EXPECT_EQ(value_of("vllm serve Qwen/Qwen3-30B-A3B-FP8 -tp 2", "model.weight_block_size"), "");
}

TEST(Quantization, MustNotContradictTheNameOfTheCheckpoint) {
  const std::string awq = "vllm serve Qwen/Qwen3-32B-AWQ -q ", fp8 = "vllm serve Qwen/Qwen3-32B-FP8 -q ";
  for (const char* method : {"awq", "awq_marlin", "marlin", "auto_awq", "compressed-tensors"})
    EXPECT_EQ(error_of(awq + method), "accepted");
  for (const char* method : {"gptq", "gptq_marlin", "fp8"}) {
    EXPECT_EQ(error_of(awq + method),
              "--from: -q: found \"" + std::string(method) + "\", allowed: awq, as in the model's name");
  }
  EXPECT_EQ(error_of(fp8 + "fp8"), "accepted");
  EXPECT_EQ(error_of(fp8 + "awq"), "--from: -q: found \"awq\", allowed: fp8, as in the model's name");
}

// The names that vLLM and SGLang give the kernels of a checkpoint's format.
TEST(Quantization, MayBeNamedByItsKernels) {
  for (const auto& [format, kernel] : {std::pair("awq", "awq_marlin"),
                                       {"awq", "moe_wna16"},
                                       {"gptq", "gptq_marlin"},
                                       {"gptq", "marlin"},
                                       {"gptq", "moe_wna16"},
                                       {"modelopt", "modelopt_fp8"},
                                       {"modelopt", "modelopt_fp4"},
                                       {"modelopt", "modelopt_mixed"},
                                       {"modelopt", "nvfp4"},
                                       {"modelopt", "petit_nvfp4"},
                                       {"mxfp4", "gpt_oss_mxfp4"},
                                       {"fp8", "fbgemm_fp8"},
                                       {"auto-round", "inc"},
                                       {"auto_round", "inc"},
                                       {"compressed-tensors", "w8a8_int8"},
                                       {"compressed-tensors", "w8a8_fp8"}}) {
    EXPECT_TRUE(is_same_quantization(format, kernel)) << format << ", " << kernel;
    EXPECT_TRUE(is_same_quantization(format, format)) << format;
    EXPECT_FALSE(is_same_quantization("bitsandbytes", kernel)) << kernel;
  }
  EXPECT_FALSE(is_same_quantization("awq", "gptq_marlin"));
  EXPECT_FALSE(is_same_quantization("gptq", "awq_marlin"));
  EXPECT_FALSE(is_same_quantization("fp8", "w8a8_fp8"));
}

TEST(Connectors, InsideOfMultiConnectorAreRead) {
  const std::string begin =
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config "
      "'{\"kv_connector\":\"MultiConnector\",\"kv_role\":\"kv_both\","
      "\"kv_connector_extra_config\":{\"connectors\":[{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_"
      "both\"},";
  const LaunchLine line =
      read_launch_line(begin + "{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}]}}'");
  EXPECT_EQ(value_of(line, "policy.name"), "lmcache");
  ASSERT_EQ(line.notes.size(), 1U);
  EXPECT_TRUE(has(line.notes[0], "NixlConnector moves KV between servers"));
  EXPECT_TRUE(has(value_of(begin + "{\"kv_connector\":\"OffloadingConnector\",\"kv_role\":\"kv_both\","
                                   "\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":10000000000}}]}}'",
                           "policy.tiers"),
                  "10000000000.0"));
  EXPECT_TRUE(has(
      error_of(begin +
               "{\"kv_connector\":\"OffloadingConnector\"},{\"kv_connector\":\"LMCacheConnectorV1\"}]}}'"),
      "allowed: one connector that stores KV"));
}

// vLLM's docs of MoRI-IO, and llm-d's guides with a connector of both kinds.
TEST(Connectors, ThatMoveKvBetweenServersAreNotedWithTheRoleOfTheServer) {
  const auto line = [](const std::string& mover, const std::string& store, const std::string& role) {
    return "vllm serve Qwen/Qwen3-8B --kv-transfer-config "
           "'{\"kv_connector\":\"MultiConnector\",\"kv_role\":\"" +
           role + "\",\"kv_connector_extra_config\":{\"connectors\":[{\"kv_connector\":\"" + mover +
           "\",\"kv_role\":\"kv_both\"},{\"kv_connector\":\"" + store + "\",\"kv_role\":\"kv_both\"}]}}'";
  };
  for (const char* mover : {"NixlConnector", "NixlPushConnector", "MoRIIOConnector", "MooncakeConnector"}) {
    const LaunchLine read = read_launch_line(line(mover, "LMCacheConnectorV1", "kv_producer"));
    EXPECT_EQ(value_of(read, "policy.name"), "lmcache");
    ASSERT_EQ(read.notes.size(), 2U) << mover;
    EXPECT_EQ(read.notes[0],
              "--kv-transfer-config.kv_role kv_producer: this server only computes prompts; kvcap simulates "
              "it as one that does both; use fleet.disaggregation for separate servers");
    EXPECT_TRUE(has(read.notes[1], std::string(mover) + " moves KV between servers"));
  }
  EXPECT_TRUE(has(read_launch_line(line("NixlConnector", "DynamoConnector", "kv_consumer")).notes[0],
                  "this server only decodes"));
  EXPECT_TRUE(has(error_of(line("MultiConnector", "LMCacheConnectorV1", "kv_producer")),
                  "kv_role kv_producer affects the result"));
}

TEST(KvFormats, HaveTheirScalesAndTheVersionsOfVllmThatReadThem) {
  const std::string line = "vllm serve Qwen/Qwen3-8B --kv-cache-dtype ";
  const std::string field = "model.kv_bytes_per_element";
  EXPECT_EQ(value_of(line + "fp8_inc", field), "1");
  EXPECT_EQ(value_of(line + "nvfp4", field), "0.5625");
  for (const char* format : {"fp8_per_token_head", "int8_per_token_head"}) {
    EXPECT_EQ(value_of(line + format, field), "1.03125") << "4 bytes for 128 elements";
    EXPECT_EQ(value_of(line + format, "serving.attention_backend"), "triton");
    EXPECT_EQ(value_of("vllm serve meta-llama/Llama-3.2-1B --kv-cache-dtype " + std::string(format), field),
              "1.0625")
        << "64 elements";
    EXPECT_EQ(value_of(line + format + " --attention-backend FLASHINFER", "serving.attention_backend"),
              "flashinfer");
  }
  EXPECT_EQ(
      error_of("vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --kv-cache-dtype nvfp4"),
      "--from: --kv-cache-dtype: found \"nvfp4\", allowed: auto, fp8, for a model with latent attention");
  const auto of_image = [](const std::string& version, const std::string& format) {
    return error_of("docker run vllm/vllm-openai:" + version + " --model Qwen/Qwen3-8B --kv-cache-dtype " +
                    format);
  };
  EXPECT_EQ(of_image("v0.19.1", "int8_per_token_head"),
            "--from: --kv-cache-dtype: found \"int8_per_token_head\", allowed: this format only in vLLM 0.20 "
            "and newer; the launch line has 0.19.1");
  EXPECT_EQ(of_image("v0.20.0", "fp8_per_token_head"), "accepted");
  EXPECT_TRUE(has(of_image("v0.20.2", "nvfp4"), "vLLM 0.21 and newer"));
  EXPECT_EQ(of_image("v0.21.0", "nvfp4"), "accepted");
  EXPECT_TRUE(has(of_image("v0.9.2", "fp8_inc"), "vLLM 0.10 and newer"));
}

// vLLM: mamba_utils.py. Qwen3.5's config.json names 32 bits, Qwen3-Next's nothing; SGLang keeps 32 bits.
TEST(StateFormats, AreTheCheckpointsUnlessAFlagNamesOthers) {
  const auto bytes = [](const std::string& line) {
    const RecurrentState state = *scenario_of(line).model.layer_groups[1].recurrent;
    return std::pair(state.state_bytes_per_element, state.conv_bytes_per_element);
  };
  using Bytes = std::pair<double, double>;
  const std::string next = "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 ";
  EXPECT_EQ(bytes(next), Bytes(2, 2));
  for (const char* format : {"auto", "float16", "bfloat16"}) {
    EXPECT_EQ(bytes(next + "--mamba-ssm-cache-dtype " + format), Bytes(2, 2)) << format;
    EXPECT_EQ(bytes(next + "--mamba-cache-dtype " + format), Bytes(2, 2)) << format;
  }
  EXPECT_EQ(bytes(next + "--mamba-ssm-cache-dtype float32"), Bytes(4, 2));
  EXPECT_EQ(bytes(next + "--mamba-cache-dtype float32"), Bytes(4, 4)) << "states follow the convolution";
  EXPECT_EQ(bytes(next + "--mamba-cache-dtype float32 --mamba-ssm-cache-dtype float16"), Bytes(2, 4));
  const std::string qwen = "vllm serve Qwen/Qwen3.5-27B -tp 4 ";
  EXPECT_EQ(bytes(qwen), Bytes(4, 2));
  EXPECT_EQ(bytes(qwen + "--mamba-cache-dtype float16"), Bytes(4, 2));
  EXPECT_EQ(bytes(qwen + "--mamba-ssm-cache-dtype bfloat16"), Bytes(2, 2));
  // Neither flag changes the states of Kimi's delta attention or of convolutions.
  const std::string kimi = "vllm serve moonshotai/Kimi-Linear-48B-A3B-Instruct -tp 4 ";
  EXPECT_EQ(bytes(kimi + "--mamba-ssm-cache-dtype float16"), Bytes(4, 2));
  const std::string lfm = "vllm serve LiquidAI/LFM2-1.2B ";
  EXPECT_EQ(bytes(lfm + "--mamba-cache-dtype float32 --mamba-ssm-cache-dtype float32"), Bytes(0.125, 4));
  // Lightning attention has one format, that of the other flag.
  const std::string minimax = "vllm serve MiniMaxAI/MiniMax-M1-80k -tp 8 ";
  EXPECT_EQ(bytes(minimax + "--mamba-ssm-cache-dtype float32").first, 2);
  EXPECT_EQ(bytes(minimax + "--mamba-cache-dtype float32").first, 4);
  const std::string sglang = "sglang serve Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4 ";
  EXPECT_EQ(bytes(sglang), Bytes(4, 2));
  EXPECT_EQ(bytes(sglang + "--mamba-ssm-dtype bfloat16"), Bytes(2, 2));
  EXPECT_EQ(bytes("SGLANG_MAMBA_SSM_DTYPE=bfloat16 " + sglang), Bytes(2, 2));
  EXPECT_EQ(error_of(next + "--mamba-ssm-cache-dtype float64"),
            "--from: --mamba-ssm-cache-dtype: found \"float64\", allowed: auto, float32, float16, bfloat16");
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B --mamba-ssm-cache-dtype float32"), "accepted");
}

// An unknown maker's checkpoint does not take the FP8 KV cache of NVIDIA's.
TEST(KvFormats, OfAnotherMakersCheckpointHave16BitsUnlessAFlagNamesOthers) {
  const std::string line = "vllm serve someone/Qwen3-32B-NVFP4 ", field = "model.kv_bytes_per_element";
  EXPECT_EQ(scenario_of(line).model.kv_bytes_per_element, 2);
  EXPECT_EQ(scenario_of(line).model.weight_bytes_per_element, 0.5625);
  EXPECT_TRUE(has_note(line, "the KV cache has 16 bits"));
  EXPECT_EQ(value_of(line + "--kv-cache-dtype auto", field), "2");
  EXPECT_EQ(value_of(line + "--kv-cache-dtype fp8", field), "1");
  EXPECT_EQ(value_of("vllm serve --kv-cache-dtype fp8 --model someone/Qwen3-32B-NVFP4", field), "1");
  EXPECT_EQ(scenario_of("vllm serve nvidia/Qwen3-32B-NVFP4").model.kv_bytes_per_element, 1);
  EXPECT_EQ(scenario_of("vllm serve RedHatAI/Qwen3-32B-NVFP4").model.kv_bytes_per_element, 2);
}

TEST(Connectors, OfOffloadingEvictByTheOrderThatTheyName) {
  const auto line = [](const std::string& order) {
    return "vllm serve Qwen/Qwen3-8B --kv-transfer-config "
           "'{\"kv_connector\":\"OffloadingConnector\",\"kv_role\":\"kv_both\","
           "\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":40000000000,\"eviction_policy\":\"" +
           order + "\"}}'";
  };
  for (const std::string order : {"lru", "arc"}) EXPECT_EQ(value_of(line(order), "policy.eviction"), order);
  EXPECT_TRUE(has(error_of(line("lfu")), "found \"lfu\", allowed: lru, arc"));
}

TEST(Connectors, OfSimpleOffloadingHaveItsSizesAndSaveLazily) {
  const auto line = [](const std::string& extra) {
    return "vllm serve Qwen/Qwen3-8B -tp 2 --kv-transfer-config "
           "'{\"kv_connector\":\"SimpleCPUOffloadConnector\","
           "\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{" +
           extra + "}}'";
  };
  EXPECT_TRUE(has(value_of(line("\"cpu_bytes_to_use\":40000000000"), "policy.tiers"), "40000000000.0"));
  EXPECT_TRUE(
      has(value_of(line("\"cpu_bytes_to_use_per_rank\":40000000000"), "policy.tiers"), "80000000000.0"));
  EXPECT_EQ(value_of(line("\"lazy_offload\":true"), "policy.save_at"), "eviction");
  EXPECT_EQ(value_of(line("\"lazy_offload\":false"), "policy.save_at"), "step");
  EXPECT_TRUE(has(error_of(line("\"lazy_offload_min_prefix_tokens\":64")), "affects the result"));
}

// vllm/v1/simple_kv_offload/manager.py@0268d82: every full block of a request, and 8 GiB of an engine.
TEST(Connectors, OfSimpleOffloadingSaveAnswersInDramOfAFixedSize) {
  const std::string serve = "vllm serve Qwen/Qwen3-8B ";
  const std::string line = serve + "-dp 2 --kv-transfer-config.kv_connector SimpleCPUOffloadConnector";
  EXPECT_EQ(value_of(line, "policy.save_generated"), "true");
  EXPECT_TRUE(has(value_of(line, "policy.tiers"), "17179869184"));
  EXPECT_EQ(read_launch_line(line).notes,
            Texts{"the launch line gives no size for the host cache; SimpleCPUOffloadConnector has 8 GiB"});
  EXPECT_EQ(value_of(line + " --no-enable-prefix-caching", "policy.name"), "recompute");
  EXPECT_EQ(
      value_of("VLLM_USE_SIMPLE_KV_OFFLOAD=1 " + serve + "--kv-offloading-size 40", "policy.save_generated"),
      "true");
  EXPECT_EQ(value_of(serve + "--kv-offloading-size 40", "policy.save_generated"), "");
}

}  // namespace
}  // namespace kvcap::launch_flags_test
