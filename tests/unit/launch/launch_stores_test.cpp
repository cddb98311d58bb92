// Tests host caches and external stores in launch lines: which tiers a line enables, and their sizes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launch/launch_line.h"
#include "policy/table.h"
#include "unit/launch_lines.h"

namespace kvcap::launch_stores_test {
namespace {

using namespace launch_lines;

TEST(LaunchLine, ReadsLmcachesVariablesForEachRank) {
  const Scenario one = scenario_of(
      "LMCACHE_MAX_LOCAL_CPU_SIZE=60 LMCACHE_CHUNK_SIZE=512 vllm serve Qwen/Qwen3-32B -tp 4 "
      "--kv-transfer-config '{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\"}'");
  EXPECT_EQ(one.policy.name, "lmcache");
  EXPECT_EQ(one.policy.chunk_tokens, 512);
  EXPECT_EQ(one.policy.tiers->front().capacity_bytes, 4 * 60 * 1073741824.0);
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
            Texts{"LMCACHE_LOCAL_CPU=False leaves LMCache without a tier; nothing is kept"});
  EXPECT_EQ(scenario_of(line).policy.name, "recompute");
  EXPECT_FALSE(scenario_of(line).policy.chunk_tokens);
}

TEST(LaunchLine, ReadsLmcachesKeysOfAConnectorAsItsVariables) {
  const Scenario scenario = scenario_of(
      "vllm serve Qwen/Qwen3-8B --kv-transfer-config "
      "'{\"kv_connector\":\"LMCacheConnectorV1\",\"kv_role\":\"kv_both\",\"kv_connector_extra_config\":"
      "{\"lmcache.max_local_cpu_size\":60,\"lmcache.chunk_size\":512}}'");
  ASSERT_EQ(scenario.policy.tiers->size(), 1U);
  EXPECT_EQ(scenario.policy.tiers->front().capacity_bytes, 60 * 1073741824.0);
  EXPECT_EQ(scenario.policy.chunk_tokens, 512);
}

TEST(LaunchLine, OfVllmsBackendAloneTurnsNothingOn) {
  const std::string line = "vllm serve Qwen/Qwen3-8B ";
  for (const char* off : {"--kv-offloading-backend native", "--kv-offloading-backend lmcache",
                          "--kv-offloading-size 0 --kv-offloading-backend native"}) {
    EXPECT_EQ(scenario_of(line + off).policy.name, "recompute") << off;
    EXPECT_EQ(read_launch_line(line + off).notes,
              Texts{"host cache settings are ignored: the launch line enables no connector"})
        << off;
  }
  EXPECT_EQ(scenario_of(line + "--kv-offloading-size 0").policy.name, "recompute");
  EXPECT_TRUE(read_launch_line(line + "--kv-offloading-size 0").notes.empty());
  EXPECT_EQ(scenario_of(line + "--kv-offloading-backend native --kv-offloading-size 40").policy.name,
            "vllm_offload");
  // Of all ranks together, as with the native backend.
  const Scenario lmcache = scenario_of(
      "docker run vllm/vllm-openai:v0.22.1 --model Qwen/Qwen3-8B -tp 2 --kv-offloading-size 40 "
      "--kv-offloading-backend lmcache");
  EXPECT_EQ(lmcache.policy.name, "lmcache");
  EXPECT_EQ(lmcache.policy.tiers->front().capacity_bytes, 40 * 1073741824.0);
}

// vllm#42865: since 0.23 the backend is LMCache's server, whose size vLLM does not set.
TEST(LaunchLine, OfVllmsLmcacheBackendMeansTheServerSinceVllm0Point23) {
  const std::string flags = "-dp 2 --kv-offloading-backend lmcache --kv-offloading-size 40";
  for (const std::string& line : {"docker run vllm/vllm-openai:v0.23.0 --model Qwen/Qwen3-8B " + flags,
                                  "vllm serve Qwen/Qwen3-8B " + flags}) {
    const Scenario scenario = scenario_of(line);
    EXPECT_EQ(scenario.policy.name, "lmcache_mp");
    ASSERT_EQ(scenario.policy.tiers->size(), 1U);
    EXPECT_EQ(scenario.policy.tiers->front().capacity_bytes, 40 * 1073741824.0) << "one server of all ranks";
    EXPECT_EQ(read_launch_line(line).notes,
              Texts{"the launch line gives no size for LMCache's server; kvcap uses that of "
                    "--kv-offloading-size, which vLLM does not pass on"});
  }
}

TEST(LaunchLine, OfLmcachesServerIsReadBeforeTheEnginesAndInItsConnector) {
  const std::string flags =
      R"(--l1-size-gb 60 --eviction-policy ARC --chunk-size 512 --host 0.0.0.0 --no-l1-use-lazy )"
      R"(--l2-adapter '{"type": "fs_native", "base_path": "/data"}')";
  const std::string connector =
      R"(vllm serve Qwen/Qwen3-8B -tp 2 --kv-transfer-config '{"kv_connector": "LMCacheMPConnector", )"
      R"("kv_role": "kv_both", "kv_connector_extra_config": {"lmcache.mp.port": 5555, )"
      R"("lmcache.mp.eager_prefetch": true, "lmcache.mp.save_decode_cache": true)";
  const std::string inner =
      R"(, "lmcache.mp.autostart.server_args": "--l1-size-gb 60 --eviction-policy=ARC --chunk-size 512 )"
      R"(--l2-adapter \"{\\\"type\\\": \\\"fs_native\\\"}\"")";
  for (const std::string& line :
       {"lmcache server " + flags + " & " + connector + "}}'", connector + inner + "}}'"}) {
    const PolicyOptions policy = with_preset(scenario_of(line).policy);
    EXPECT_EQ(policy.name, "lmcache_mp");
    EXPECT_EQ(policy.chunk_tokens, 512);
    EXPECT_EQ(policy.eviction, EvictionKind::arc);
    EXPECT_EQ(policy.prefetch_on_arrival, PrefetchOnArrival::wait);
    EXPECT_EQ(policy.save_generated, true);
    ASSERT_EQ(policy.tiers->size(), 2U) << line;
    EXPECT_EQ(policy.tiers->front().capacity_bytes, 60 * 1073741824.0);
    EXPECT_EQ(policy.tiers->front().evict_at, 0.8);
    EXPECT_EQ(policy.tiers->front().evict_share, 0.16);
    EXPECT_EQ(policy.tiers->back().kind, Tier::ssd);
    EXPECT_TRUE(read_launch_line(line).notes.empty());
  }
  const std::string line = connector + "}}'";
  EXPECT_EQ(with_preset(scenario_of(line).policy).load, LoadMode::parked);
  EXPECT_EQ(read_launch_line(line).notes,
            Texts{"the launch line gives no size for the host cache; it gets all DRAM of the hardware"});
  EXPECT_EQ(error_of("lmcache server --l1-size-gb 9 --l2-store-policy skip_l1 & " + line),
            "--from: --l2-store-policy skip_l1 affects the result and is not simulated; --ignore-flags "
            "lmcache-server.l2-store-policy leaves it out");
  EXPECT_EQ(error_of("lmcache server 9 & " + line), "--from: lmcache server: found \"9\", allowed: a flag");
  EXPECT_EQ(error_of("lmcache server --eviction-policy noop & " + line),
            "--from: --lmcache-server.eviction-policy: found \"noop\", allowed: LRU, ARC");
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
  EXPECT_EQ(
      read_launch_line(line).notes,
      Texts{"the launch line gives no size for Mooncake Store; it gets all remote storage of the hardware"});
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
            (Texts{"LMCACHE_CHUNK_SIZE is ignored: the launch line enables vllm_offload",
                   "LMCACHE_LOCAL_CPU is ignored: the launch line enables vllm_offload"}));
}

TEST(LaunchLine, SaysWhereAHostCacheHasNoSizeOrNothingBeginsIt) {
  EXPECT_EQ(read_launch_line("vllm serve Qwen/Qwen3-8B --kv-transfer-config.kv_connector OffloadingConnector")
                .notes,
            Texts{"the launch line gives no size for the host cache; it gets all DRAM of the hardware"});
  const LaunchLine alone =
      read_launch_line("DYN_KVBM_CPU_CACHE_GB=100 python -m dynamo.vllm --model Qwen/Qwen3-8B");
  EXPECT_EQ(alone.notes, Texts{"host cache settings are ignored: the launch line enables no connector"});
}

}  // namespace
}  // namespace kvcap::launch_stores_test
