// Launch lines that are written for scenarios, changed flags, and lines of random words.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "unit/launch_lines.h"

namespace kvcap::launch_back_test {
namespace {

using namespace launch_lines;

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
      "--hicache-storage-backend file --hicache-storage-prefetch-policy best_effort",
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
      "lmcache server --l1-size-gb 60 --eviction-policy ARC --l2-adapter '{\"type\":\"s3\"}' & vllm serve "
      "Qwen/Qwen3-8B -dp 2 --kv-transfer-config '{\"kv_connector\":\"LMCacheMPConnector\","
      "\"kv_connector_extra_config\":{\"lmcache.mp.eager_prefetch\":true}}'",
      "vllm serve Qwen/Qwen3-8B --kv-cache-dtype int8_per_token_head",
      "vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4",
      "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --mamba-ssm-cache-dtype float32",
      "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --mamba-cache-dtype float32",
      "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --mamba-cache-dtype float32 "
      "--mamba-ssm-cache-dtype float16",
      "vllm serve Qwen/Qwen3.5-27B -tp 4 --mamba-ssm-cache-dtype bfloat16",
      "sglang serve Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4",
      "sglang serve Qwen/Qwen3-Next-80B-A3B-Instruct --tp 4 --mamba-ssm-dtype bfloat16",
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

TEST(LaunchLine, OfLmcachesServerStartsItFromTheConnector) {
  const std::string line =
      R"(lmcache server --l1-size-gb 60 --eviction-policy LRU --chunk-size 512 --l2-adapter '{"type":"fs"}' & )"
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector LMCacheMPConnector";
  EXPECT_EQ(launch_line_of(scenario_of(line)),
            R"(vllm serve Qwen/Qwen3-8B --kv-transfer-config '{"kv_connector":"LMCacheMPConnector",)"
            R"("kv_role":"kv_both","kv_connector_extra_config":{"lmcache.mp.autostart":true,)"
            R"("lmcache.mp.autostart.server_args":"--l1-size-gb 60 --eviction-policy LRU --chunk-size 512 )"
            R"(--l2-adapter \"{\\\"type\\\":\\\"fs\\\"}\""}}')");
}

// A flag without a size would be no line, and all of the machine's DRAM nobody chose.
TEST(LaunchLine, OfAStackByItselfSaysThatTheSizeOfItsHostCacheMustBeChosen) {
  const auto line_of = [](const std::string& line, const std::string& policy) {
    return launch_line_of(scenario_of(line + " Qwen/Qwen3-8B", {"policy={}", "policy.name=" + policy}));
  };
  EXPECT_NE(line_of("vllm serve", "vllm_offload").find("--kv-offloading-size SIZE_GIB"), std::string::npos);
  EXPECT_NE(line_of("vllm serve", "kvbm").find("DYN_KVBM_CPU_CACHE_GB=SIZE_GB "), std::string::npos);
  EXPECT_NE(line_of("trtllm-serve", "trtllm_offload").find("kv_cache_config.host_cache_size SIZE_BYTES"),
            std::string::npos);
  EXPECT_NE(line_of("vllm serve", "lmcache").find("LMCACHE_MAX_LOCAL_CPU_SIZE=5 "), std::string::npos);
  const Scenario lazy = scenario_of(
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"SimpleCPUOffloadConnector\","
      "\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":{\"cpu_bytes_to_use\":50000000000,"
      "\"lazy_offload\":true}}'",
      {R"(policy.tiers=[{"kind": "dram"}])"});
  const std::string line = launch_line_of(lazy);
  EXPECT_TRUE(line.empty() || line.find("\"cpu_bytes_to_use\":\"SIZE_BYTES\"") != std::string::npos) << line;
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
}  // namespace kvcap::launch_back_test
