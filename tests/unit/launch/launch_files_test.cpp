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
#include "launch/yaml_file.h"
#include "unit/cli.h"
#include "unit/launch_lines.h"

namespace kvcap::launch_files_test {
namespace {

using namespace launch_lines;
using Json = nlohmann::json;

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
  EXPECT_EQ(yaml_error("- 1\n- 2\n"),
            "a.yaml: the top level is not a YAML mapping; write one \"key: value\" per line");
  EXPECT_EQ(yaml_error("a: 1\n---\nb: 2\n"), "a.yaml: found 2 YAML documents, allowed: one");
  EXPECT_EQ(yaml_error("a: 1\n? [x]\n: 2\n"),
            "a.yaml:2: found a key that is not a scalar, allowed: plain keys");
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
                ":2: max-num-seqz is not a known flag of vllm; did you mean \"--max-num-seqs\"?; " + config +
                ":4: enforce-eager affects the result and is not simulated; --ignore-flags "
                "max-num-seqz,enforce-eager leaves them out");
  EXPECT_EQ(error_of("vllm serve --config " + config, {"max-num-seqz", "enforce-eager"}), "accepted");
  EXPECT_TRUE(has(
      error_of("vllm serve --config " + file("b.yaml", "model: Qwen/Qwen3-8B\ntensor-parallel-size: two\n")),
      "b.yaml:2: tensor-parallel-size: found \"two\", allowed: a number"));
  EXPECT_TRUE(has(error_of("vllm serve Qwen/Qwen3-8B --config " + path("none.yaml")), "none.yaml"));
  EXPECT_EQ(
      error_of("vllm serve Qwen/Qwen3-8B --config ${CONFIG}"),
      "--from: --config: found \"${CONFIG}\", a variable that the line does not set; allowed: its value, or "
      "NAME=value before the command");
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
          "pp.yaml:1: pipeline_parallel_size 2 affects the result and is not simulated"));
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
                  "p2p.yaml:1: enable_p2p true affects the result"));
  EXPECT_EQ(error_of("LMCACHE_CONFIG_FILE=" + path("p2p.yaml") + line, {"enable_p2p"}), "accepted");
  EXPECT_TRUE(has(error_of("LMCACHE_CONFIG_FILE=" + file("neg.yaml", "max_local_cpu_size: -5\n") + line),
                  "neg.yaml:1: max_local_cpu_size: found \"-5\", allowed: 0 or more GiB"));
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

// 2,000 blocks of 16 tokens fit an H100 beside Llama-3.1-8B, and a million do not: vLLM has no memory for
// them, and SGLang takes what fits.
TEST_F(LaunchFiles, RunTakesNoMoreKvBlocksThanFit) {
  const auto run = [this](const std::string& line) {
    return kvcap({"run", "--gpu", "h100-sxm", "--workload", "chat", "--rate", "0.5", "--set",
                  "workload.sessions=5", "--json", "--from", line});
  };
  const auto capacity = [&](const std::string& line) {
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out).at("metrics").at("kv_capacity_tokens").get<int64_t>();
  };
  const std::string vllm = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192 ";
  EXPECT_EQ(capacity(vllm + "--num-gpu-blocks-override 2000"), 32000);
  const Outcome large = run(vllm + "--num-gpu-blocks-override 1000000");
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_TRUE(
      has(large.err,
          "--num-gpu-blocks-override: found 1000000 blocks, which are 2,100 GB, allowed: at most the "))
      << large.err;
  const std::string sglang = "python3 -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct ";
  EXPECT_EQ(capacity(sglang + "--max-total-tokens 32000"), 32000);
  EXPECT_EQ(capacity(sglang + "--max-total-tokens 100000000"), capacity(sglang));
  const Outcome heavy =
      run("python3 -m sglang.launch_server --model-path meta-llama/Llama-3.3-70B-Instruct --max-total-tokens "
          "32000");
  EXPECT_EQ(heavy.exit_code, 2);
  EXPECT_TRUE(has(heavy.err, "--from: model llama-3.1-70b does not fit: with ")) << heavy.err;
}

TEST_F(LaunchFiles, RunSimulatesNoEngineOnSeveralServers) {
  const auto run = [this](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", "--gpu", "h100-sxm-8x", "--workload", "chat", "--rate", "0.5", "--set",
                               "workload.sessions=5", "--from",
                               "vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 16 --max-model-len 8192"});
    return kvcap(more);
  };
  const Outcome two = run({});
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_TRUE(
      has(two.err, "--from: found an engine on 16 GPUs, allowed: at most the 8 of a server of h100-sxm-8x"))
      << two.err;
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
  EXPECT_TRUE(has(outcome.out, "  without effect here: --port, --kv-transfer-config.kv_connector\n"))
      << outcome.out;
  EXPECT_TRUE(has(outcome.out, "  left out (--ignore-flags): --enforce-eager\n"));
  EXPECT_TRUE(
      has(outcome.out, "  warning: NixlConnector moves KV between servers; use fleet.disaggregation"));
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
  EXPECT_TRUE(has(result.at("answer").at("command"), "model=Qwen/Qwen3-8B"))
      << result.at("answer").at("command");
}

TEST_F(LaunchFiles, IgnoreFlagsNeedsALine) {
  const Outcome outcome = kvcap({"run", path("chat.json"), "--ignore-flags", "x"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "kvcap: --ignore-flags: found without --from, allowed: with --from\n");
}

// ---- lines that people launch ----

// Why a line is refused, by the words of the message.
std::string kind_of(const std::string& message) {
  if (message == "accepted") return "read";
  for (const auto& [part, kind] :
       std::map<std::string, std::string>{{"a variable that the line does not set", "variable"},
                                          {"found model", "model"},
                                          {"not simulated", "not simulated"},
                                          {"is not a known flag", "unknown flag"},
                                          {"does not belong to a flag", "unknown flag"}}) {
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
  EXPECT_EQ(ran, 77) << refused;
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
