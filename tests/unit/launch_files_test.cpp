// What a launch line names and leaves open: YAML files, shell variables, flags that are not simulated, sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "launch/launch_line.h"
#include "launch/shell_words.h"
#include "launch/yaml_file.h"
#include "unit/cli.h"

namespace kvcap::launch_files_test {
namespace {

using Texts = std::vector<std::string>;
using Json = nlohmann::json;

std::string error_of(const std::string& line, const Texts& ignored = {}) {
  try {
    read_launch_line(line, ignored);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

// The value of a field that the line sets; empty where it leaves it alone.
std::string value_of(const LaunchLine& line, const std::string& path) {
  std::string value;
  for (const std::string& one : line.overrides) {
    if (one.starts_with(path + "=")) value = one.substr(path.size() + 1);
  }
  return value;
}
std::string value_of(const std::string& line, const std::string& path) {
  return value_of(read_launch_line(line), path);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ---- YAML ----

std::string entries_of(const std::string& text) {
  std::string all;
  for (const YamlEntry& one : parse_yaml(text, "a.yaml")) {
    all += std::to_string(one.line) + " " + one.key + (one.is_boolean ? "!" : "");
    for (const std::string& value : one.values) all += " " + value;
    all += "\n";
  }
  return all;
}
std::string yaml_error(const std::string& text) {
  try {
    parse_yaml(text, "a.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(YamlFile, IsReadAsDottedKeysWithTheirLines) {
  EXPECT_EQ(entries_of("model: Qwen/Qwen3-8B\n\nkv:\n  dtype: fp8\n  on: yes\n  sizes: [1, 2]\n"),
            "1 model Qwen/Qwen3-8B\n4 kv.dtype fp8\n5 kv.on! true\n6 kv.sizes 1 2\n");
  EXPECT_EQ(entries_of("a: \"true\"\nb: null\nc:\nd: {e: 1}\nf:\n- g: 2\n- g: 3\n"),
            "1 a true\n4 d.e 1\n6 f.g 2\n7 f.g 3\n");
  EXPECT_EQ(entries_of("a: &x\n  b: 1\nc:\n  <<: *x\n  d: 2\n"), "2 a.b 1\n2 c.b 1\n5 c.d 2\n");
  EXPECT_EQ(entries_of(""), "");
  EXPECT_EQ(entries_of("# only a comment\n"), "");
}

TEST(YamlFile, ThatIsNoneIsRefusedWithItsLine) {
  EXPECT_TRUE(yaml_error("a: 1\nb: [1\n").starts_with("a.yaml:")) << yaml_error("a: 1\nb: [1\n");
  EXPECT_EQ(yaml_error("- 1\n- 2\n"), "a.yaml: the top level is not a YAML mapping; write one \"key: value\" per line");
  EXPECT_EQ(yaml_error("a: 1\n---\nb: 2\n"), "a.yaml: found 2 YAML documents, allowed: one");
  EXPECT_EQ(yaml_error("a: 1\n? [x]\n: 2\n"),
            "a.yaml:2: found a key that is no word, allowed: words as keys");
  // Ten aliases of ten, six times: a million words in 200 bytes.
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 7; ++i) {
    const std::string one = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [";
    for (int k = 0; k < 10; ++k) bomb += (k == 0 ? "" : ",") + one;
    bomb += "]\n";
  }
  EXPECT_TRUE(has(yaml_error(bomb), "found more than 100000 values")) << yaml_error(bomb);
  EXPECT_NE(yaml_error(std::string(5000, '[')), "accepted");
}

class LaunchFiles : public Cli {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    write(name, text);
    return path(name);
  }
};

TEST_F(LaunchFiles, OfVllmSetWhatTheirKeysSayAndTheLineWins) {
  const std::string config =
      file("serve.yaml",
           "model: Qwen/Qwen3-8B\ntensor-parallel-size: 2\nmax_num_seqs: 64\nport: 8000\n"
           "enable-prefix-caching: false\nasync-scheduling: true\n"
           "served-model-name: [a, b]\n"
           "kv-transfer-config:\n  kv_connector: OffloadingConnector\n  kv_role: kv_both\n"
           "  kv_connector_extra_config:\n    cpu_bytes_to_use: 50000000000\n"
           "speculative-config: '{\"method\": \"ngram\", \"num_speculative_tokens\": 3}'\n");
  const LaunchLine line = read_launch_line("vllm serve --config " + config + " --max-num-seqs 32");
  EXPECT_EQ(line.model, "qwen3-8b");
  EXPECT_EQ(value_of(line, "serving.tensor_parallel_size"), "2");
  EXPECT_EQ(value_of(line, "serving.max_num_seqs"), "32") << "the line's";
  EXPECT_EQ(value_of(line, "serving.prefix_caching"), "false");
  EXPECT_EQ(value_of(line, "serving.async_scheduling"), "true");
  EXPECT_EQ(value_of(line, "policy.name"), "vllm_offload");
  EXPECT_TRUE(has(value_of(line, "policy.tiers"), "\"capacity_bytes\":50000000000.0"));
  EXPECT_EQ(value_of(line, "serving.speculative.draft_tokens"), "3");
  EXPECT_TRUE(line.notes.empty()) << line.notes.front();
  EXPECT_EQ(read_launch_line("vllm serve Qwen/Qwen3-32B --config=" + config).model, "qwen3-32b");
  // An object of the line takes the place of the file's.
  EXPECT_EQ(value_of("vllm serve --config " + config +
                         " --kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\"}'",
                     "policy.tiers"),
            "null")
      << "LMCache's own";
}

TEST_F(LaunchFiles, ThatNameUnknownKeysAreRefusedWithFileAndLine) {
  const std::string config =
      file("serve.yaml", "model: Qwen/Qwen3-8B\nmax-num-seqz: 64\n\nenforce-eager: true\n");
  EXPECT_EQ(error_of("vllm serve --config " + config),
            "--from: " + config +
                ":2: max-num-seqz is no known flag of vllm; did you mean \"--max-num-seqs\"?; " + config +
                ":4: enforce-eager changes the answer and is not simulated; --ignore-flags "
                "max-num-seqz,enforce-eager leaves them out");
  EXPECT_EQ(error_of("vllm serve --config " + config, {"max-num-seqz", "enforce-eager"}), "accepted");
  EXPECT_TRUE(has(
      error_of("vllm serve --config " + file("b.yaml", "model: Qwen/Qwen3-8B\ntensor-parallel-size: two\n")),
      "b.yaml:2: tensor-parallel-size: found \"two\", allowed: a number"));
  EXPECT_TRUE(has(error_of("vllm serve Qwen/Qwen3-8B --config " + path("none.yaml")), "none.yaml"));
  EXPECT_EQ(
      error_of("vllm serve Qwen/Qwen3-8B --config ${CONFIG}"),
      "--from: --config: found \"${CONFIG}\", a variable that the line does not set; allowed: its value, or "
      "NAME=value before");
}

TEST_F(LaunchFiles, OfSglangAreReadWithDashesAndBooleans) {
  const std::string config =
      file("s.yaml",
           "model-path: Qwen/Qwen3-8B\ntensor-parallel-size: 2\nenable-hierarchical-cache: true\n"
           "hicache-size: 30\ndisable-radix-cache: false\nenable-metrics: true\nlog-requests: true\n");
  const LaunchLine line =
      read_launch_line("python -m sglang.launch_server --config " + config + " --page-size 32");
  EXPECT_EQ(value_of(line, "serving.tensor_parallel_size"), "2");
  EXPECT_EQ(value_of(line, "policy.name"), "hicache");
  EXPECT_TRUE(has(value_of(line, "policy.tiers"), "60000000000.0")) << "30 GB of each of 2 ranks";
  EXPECT_EQ(value_of(line, "serving.block_size"), "32");
}

TEST_F(LaunchFiles, OfTensorRtLlmAreReadAndTheLinesFlagsWin) {
  const std::string options = file("extra.yaml",
                                   "max_batch_size: 64\nmax_num_tokens: 4096\nkv_cache_config:\n  "
                                   "enable_block_reuse: false\n  host_cache_size: 10000000000\n  dtype: fp8\n"
                                   "print_iter_log: true\n");
  const LaunchLine line =
      read_launch_line("trtllm-serve Qwen/Qwen3-8B --max_num_tokens 8192 --extra_llm_api_options " + options);
  EXPECT_EQ(value_of(line, "serving.max_num_seqs"), "64");
  EXPECT_EQ(value_of(line, "serving.max_num_batched_tokens"), "8192");
  EXPECT_EQ(value_of(line, "serving.prefix_caching"), "false");
  EXPECT_EQ(value_of(line, "model.kv_bytes_per_element"), "1");
  EXPECT_EQ(value_of(line, "policy.name"), "trtllm_offload");
  EXPECT_TRUE(
      has(error_of("trtllm-serve Qwen/Qwen3-8B --config " + file("pp.yaml", "pipeline_parallel_size: 2\n")),
          "pp.yaml:1: pipeline_parallel_size 2 changes the answer and is not simulated"));
}

TEST_F(LaunchFiles, OfLmcacheAreReadAndVariablesWin) {
  const std::string config =
      file("lmcache.yaml",
           "chunk_size: 512\nlocal_cpu: True\nmax_local_cpu_size: 60\n"
           "save_decode_cache: true\nremote_serde: \"naive\"\nlmcache_instance_id: x\n");
  const std::string line =
      " vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\"}'";
  const LaunchLine read =
      read_launch_line("LMCACHE_CONFIG_FILE=" + config + " LMCACHE_CHUNK_SIZE=128" + line);
  EXPECT_EQ(value_of(read, "policy.chunk_tokens"), "128");
  EXPECT_EQ(value_of(read, "policy.save_generated"), "true");
  EXPECT_TRUE(has(value_of(read, "policy.tiers"), "64424509440.0")) << "60 GiB";
  EXPECT_TRUE(has(error_of("LMCACHE_CONFIG_FILE=" + file("p2p.yaml", "enable_p2p: true\n") + line),
                  "p2p.yaml:1: enable_p2p true changes the answer"));
  EXPECT_EQ(error_of("LMCACHE_CONFIG_FILE=" + path("p2p.yaml") + line, {"enable_p2p"}), "accepted");
  EXPECT_TRUE(has(error_of("LMCACHE_CONFIG_FILE=" + file("neg.yaml", "max_local_cpu_size: -5\n") + line),
                  "neg.yaml:1: max_local_cpu_size: found \"-5\", allowed: 0 or more GiB"));
}

// ---- flags that are not simulated ----

TEST(IgnoredFlags, AreErrorsUnlessTheyAreNamed) {
  const std::string line = "vllm serve Qwen/Qwen3-8B ";
  for (const char* flag :
       {"--enforce-eager", "--enable-lora", "--scheduling-policy priority",
        "--long-prefill-token-threshold 2048", "-pp 2", "-dcp 2", "--prefill-context-parallel-size 2",
        "--cpu-offload-gb 10", "--max-num-partial-prefills 2", "--enable-dbo", "--dtype float32", "-O0",
        "--compilation-config '{\"cudagraph_mode\":\"NONE\"}'", "--hf-overrides '{\"num_hidden_layers\":2}'",
        "--lora-modules a=b c=d", "--kv-transfer-config.kv_role kv_producer", "--rope-theta 5e6"}) {
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
  EXPECT_TRUE(has(error_of(vllm + "2"), "-dpl 2 changes the answer"));
  const std::string sglang =
      "sglang serve Qwen/Qwen3-8B --speculative-algorithm NEXTN --speculative-num-steps 3 "
      "--speculative-eagle-topk 1 --speculative-num-draft-tokens ";
  EXPECT_EQ(error_of(sglang + "4"), "accepted") << "a chain of 3 and one more";
  EXPECT_TRUE(has(error_of(sglang + "8"), "--speculative-num-draft-tokens 8 changes the answer"));
}

TEST(IgnoredFlags, AreNamedByAnyOfTheirSpellings) {
  const std::string line = "vllm serve Qwen/Qwen3-8B -pp 2 --enable_lora --speculative-config '{broken'";
  for (const char* name : {"pp", "-pp", "pipeline-parallel-size", "--pipeline_parallel_size"}) {
    const LaunchLine read = read_launch_line(line, {name, "enable-lora", "speculative-config"});
    EXPECT_EQ(read.left_out, (Texts{"-pp", "--enable_lora", "--speculative-config"})) << name;
  }
  EXPECT_EQ(read_launch_line("vllm serve Qwen/Qwen3-8B", {"enforce-eager"}).notes,
            Texts{"--ignore-flags enforce-eager: the line has no such flag"});
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
  EXPECT_TRUE(has(error_of("trtllm-serve Qwen/Qwen3-8B --max_batch 4"), "is no known flag of trtllm"));
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
      "before");
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
            "--from: --quantization: found \"gptq\", allowed: awq, which the model's config.json says");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-8B -q awq"),
            "--from: -q: found \"awq\", allowed: fp8, or a model whose config.json says awq");
  EXPECT_EQ(value_of("vllm serve Qwen/Qwen3-8B -q fp8", "model.weight_bytes_per_element"), "1");
  EXPECT_EQ(error_of("vllm serve openai/gpt-oss-120b -q mxfp4"), "accepted");
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
}

// ---- commands ----

TEST_F(LaunchFiles, RunCountsTheLinesBytesAndBlocksAsTheModelsTokens) {
  write("h100.json",
        R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "h100-sxm",
            "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.5}, "sessions": 20}})");
  const auto result = [&](const std::string& flags) {
    const Outcome outcome = kvcap({"run", path("h100.json"), "--json", "--from",
                                   "vllm serve meta-llama/Llama-3.1-8B-Instruct --port 80 " + flags});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  };
  // 20 GiB / 131,072 bytes a token.
  const Json sized = result("--kv-cache-memory-bytes 20G");
  EXPECT_EQ(sized.at("metrics").at("kv_capacity_tokens"), 163840);
  EXPECT_EQ(sized.at("from").at("engine"), "vllm");
  const Json& flags = sized.at("from").at("flags");
  ASSERT_EQ(flags.size(), 3U);
  EXPECT_EQ(flags.at(0), (Json{{"flag", "model"},
                               {"value", "meta-llama/Llama-3.1-8B-Instruct"},
                               {"fields", {{"model", "llama-3.1-8b"}}}}));
  EXPECT_EQ(flags.at(1), (Json{{"flag", "--port"}, {"value", "80"}, {"fields", Json::object()}}));
  EXPECT_EQ(flags.at(2).at("fields").at("serving.kv_capacity_tokens"), 163840);
  EXPECT_EQ(sized.at("from").at("defaults").at("serving.max_num_seqs"), 1024);
  EXPECT_EQ(
      result("--max-model-len 8192 --kv-cache-memory 10737418240").at("metrics").at("kv_capacity_tokens"),
      81920);
  // 10,000 blocks of 16 tokens of 131,072 bytes.
  const Json blocks = result(
      "--kv-transfer-config '{\"kv_connector\":\"OffloadingConnector\",\"kv_role\":\"kv_both\","
      "\"kv_connector_extra_config\":{\"num_cpu_blocks\":10000}}'");
  EXPECT_EQ(blocks.at("scenario").at("policy").at("tiers").at(0).at("capacity_bytes"), 10000.0 * 16 * 131072);
  // All of the model's positions fit into 463,000 tokens of KV.
  EXPECT_EQ(result("--max-model-len auto").at("scenario").at("serving").at("max_model_len"), 131072);
  EXPECT_EQ(result("--max-model-len -1 --kv-cache-memory-bytes 4GiB")
                .at("scenario")
                .at("serving")
                .at("max_model_len"),
            32768);
  const Outcome large = kvcap({"run", path("h100.json"), "--from",
                               "vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-cache-memory-bytes 79e9"});
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_TRUE(has(large.err, "--kv-cache-memory-bytes: found 79.0 GB, allowed: at most the ")) << large.err;
}

TEST_F(LaunchFiles, RunPrintsTheLineBackWithItsFieldsAndWarnings) {
  const Outcome outcome =
      kvcap({"run", path("chat.json"), "--ignore-flags", "enforce-eager", "--from",
             "vllm serve meta-llama/Llama-3.1-8B-Instruct --port 80 --max-num-seqs 64 --enforce-eager "
             "--kv-transfer-config.kv_connector NixlConnector"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out,
                  "Read from the launch line (vllm):\n"
                  "  model meta-llama/Llama-3.1-8B-Instruct  model = llama-3.1-8b\n"
                  "  --max-num-seqs 64                       serving.max_num_seqs = 64\n"))
      << outcome.out;
  EXPECT_TRUE(has(outcome.out, "  change nothing here: --port, --kv-transfer-config.kv_connector\n"))
      << outcome.out;
  EXPECT_TRUE(has(outcome.out, "  left out (--ignore-flags): --enforce-eager\n"));
  EXPECT_TRUE(has(outcome.out, "  warning: NixlConnector moves KV between servers: fleet.disaggregation"));
  const Outcome json = kvcap({"run", path("chat.json"), "--json", "--ignore-flags", "enforce-eager", "--from",
                              "vllm serve meta-llama/Llama-3.1-8B-Instruct --enforce-eager "
                              "--kv-transfer-config.kv_connector NixlConnector"});
  const Json result = Json::parse(json.out);
  EXPECT_EQ(result.at("from").at("ignored"), Json::array({"--enforce-eager"}));
  EXPECT_EQ(result.at("from").at("warnings").size(), 2U);
  EXPECT_EQ(result.at("warnings").at(1),
            (Json{{"flag", "--enforce-eager"}, {"text", "--enforce-eager is left out (--ignore-flags)"}}));
  const Texts notes = result.at("notes");
  EXPECT_NE(std::find(notes.begin(), notes.end(), "--from: --enforce-eager is left out (--ignore-flags)"),
            notes.end());
}

TEST_F(LaunchFiles, PlanTakesFromTheLineWhatItDoesNotSearch) {
  write("plan.json",
        R"({"schema": "kvcap.plan/1", "base": "chat.json", "sizes": "profile",
            "search": {"serving.max_num_seqs": [8, 16], "policy.name": ["recompute", "kv_offload"]},
            "meet": {"p99_ttft_ms": {"max": 60000}}, "max_replications": 2})");
  const Outcome outcome = kvcap({"plan", path("plan.json"), "--json", "--draws", "0", "--from",
                                 "vllm serve Qwen/Qwen3-8B --max-num-seqs 64 --max-model-len 8192"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json result = Json::parse(outcome.out);
  EXPECT_EQ(result.at("from").at("fields").at("serving.max_model_len"), 8192);
  EXPECT_FALSE(result.at("from").at("fields").contains("serving.max_num_seqs")) << "the plan searches it";
  EXPECT_TRUE(has(result.at("answer").at("command"), "model=qwen3-8b")) << result.at("answer").at("command");
}

TEST_F(LaunchFiles, IgnoreFlagsNeedsALine) {
  const Outcome outcome = kvcap({"run", path("chat.json"), "--ignore-flags", "x"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "kvcap: --ignore-flags: found no --from, allowed: beside it\n");
}

// ---- lines that people launch ----

// Why a line is refused, by the words of the message.
std::string kind_of(const std::string& message) {
  if (message == "accepted") return "read";
  for (const auto& [part, kind] :
       std::map<std::string, std::string>{{"a variable that the line does not set", "variable"},
                                          {"found model", "model"},
                                          {"not simulated", "not simulated"},
                                          {"is no known flag", "unknown flag"},
                                          {"belongs to no flag", "unknown flag"}}) {
    if (has(message, part)) return kind;
  }
  return "other";
}

constexpr const char* kNoRecipes = "no ../shared/data/cases/launch_lines_vllm_recipes.tsv";

// Empty where the data are not there.
Texts recipe_lines() {
  std::ifstream file(std::filesystem::path(KVCAP_SOURCE_DIR) /
                     "../shared/data/cases/launch_lines_vllm_recipes.tsv");
  Texts lines;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) lines.push_back(line.substr(line.find('\t') + 1));
  return lines;
}

// The recipes' lines: what is refused is a model that the catalogue lacks, a variable or a flag that changes
// the answer. No flag of them is unknown but --omni, of another program; one line says serve twice.
TEST(RecipesOfVllm, HaveNoFlagThatIsUnknown) {
  const Texts lines = recipe_lines();
  if (lines.empty()) GTEST_SKIP() << kNoRecipes;
  std::map<std::string, int> kinds;
  for (const std::string& line : lines) {
    const std::string message = error_of(line);
    const std::string kind = kind_of(message);
    ++kinds[kind];
    const bool is_known = kind != "unknown flag" && kind != "other";
    EXPECT_TRUE(is_known || has(line, "--omni") || has(line, "serve serve")) << line << "\n" << message;
  }
  std::string found;
  for (const auto& [kind, count] : kinds) found += kind + " " + std::to_string(count) + ", ";
  RecordProperty("kinds", found);
  EXPECT_GE(kinds["read"], 10) << found;
}

// Of the 98 some 80 name a text or vision-language model on one node and leave nothing open.
TEST_F(LaunchFiles, OfRecipesRunOnAServerThatIsLargeEnough) {
  const Texts lines = recipe_lines();
  if (lines.empty()) GTEST_SKIP() << kNoRecipes;
  int ran = 0;
  std::string refused;
  for (const std::string& line : lines) {
    const Outcome outcome = kvcap({"run", KVCAP_SOURCE_DIR "/scenarios/demo.json", "--from", line, "--set",
                                   "hardware=b300-sxm-8x", "--set", "workload.sessions=2", "--set",
                                   "replications=1", "--set", "policy.name=recompute"});
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 2) << line << "\n" << outcome.err;
    ran += outcome.exit_code == 0;
    if (outcome.exit_code != 0) refused += outcome.err;
  }
  EXPECT_EQ(ran, 76) << refused;
}

// The same in small: lines of the kinds that recipes have.
TEST(RecipesOfVllm, AreReadWhereTheCatalogueHasTheModel) {
  for (const char* line :
       {"vllm serve Qwen/Qwen3-8B --trust-remote-code --tensor-parallel-size 4 --enable-expert-parallel "
        "--tool-call-parser x --enable-auto-tool-choice --reasoning-parser y",
        "vllm serve Qwen/Qwen3-8B --tokenizer_mode mistral --config_format mistral --load_format mistral",
        "vllm serve Qwen/Qwen3-8B --mm-encoder-tp-mode \"data\" --mm-processor-cache-type shm "
        "--allowed-local-media-path / --language-model-only --disable-cascade-attn",
        "vllm serve Qwen/Qwen3-8B --logits_processors a.b:C --no-enable-prefix-caching "
        "--mm-processor-cache-gb 0",
        "vllm serve Qwen/Qwen3-8B --speculative-config.method mtp "
        "--speculative-config.num_speculative_tokens 1",
        "vllm serve Qwen/Qwen3-8B --swap-space 16 --distributed-executor-backend mp "
        "--disable-log-requests"}) {
    EXPECT_EQ(error_of(line), "accepted") << line;
  }
}

}  // namespace
}  // namespace kvcap::launch_files_test
