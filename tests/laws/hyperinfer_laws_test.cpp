// Laws of policies that load a part of what they find, on prompts that share prefixes.
#include <gtest/gtest.h>

#include "laws/machines.h"

namespace kvcap::laws::hyperinfer_laws_test {
namespace {

Workload few_shot(const std::string& dataset, int64_t sessions) {
  WorkloadOptions options;
  options.source.kind = "few_shot";
  options.source.dataset = dataset;
  options.arrivals = {.process = ArrivalProcess::constant, .sessions_per_s = 0.1};
  options.sessions = sessions;
  options.warmup_turns = sessions / 4;
  options.warm_start = true;
  return make_workload(options, 1);
}

// Prefixes of 32 GB, of which 10 lie on the GPU, 24 in DRAM (with those) and all on SSD.
Scenario cached(const std::string& policy) {
  Scenario result = scenario(policy);
  result.hardware.gpu.memory_bytes = 80.0 * (1 << 30);
  result.serving.max_num_batched_tokens = 16384;
  result.policy.tiers = {{.kind = Tier::hbm, .capacity_bytes = 10e9},
                         {.kind = Tier::dram, .capacity_bytes = 24e9},
                         {.kind = Tier::ssd}};
  return result;
}

double loaded_bytes(const RunResult& result) {
  return result.number("read_bytes.dram") + result.number("read_bytes.ssd");
}

// Below a tenth the heads agree in fewer layers.
TEST(HyperInferLaws, LessRetentionLoadsFewerBytes) {
  const Workload workload = few_shot("rte", 60);
  std::vector<Case> cases;
  for (double retention : {1.0, 0.8, 0.5, 0.25, 0.1}) {
    cases.push_back({cached("hyperinfer"), workload});
    cases.back().scenario.policy.retention = retention;
  }
  const std::vector<RunResult> runs = run_all(cases);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    EXPECT_LT(loaded_bytes(runs[i]), loaded_bytes(runs[i - 1])) << i;
  }
}

TEST(HyperInferLaws, ScoreCachingLoadsNoMoreThanAnyOther) {
  const Workload workload = few_shot("rte", 150);
  const auto caching = [&](EvictionKind eviction, Score score) {
    Case one{cached("hyperinfer"), workload};
    one.scenario.policy.eviction = eviction;
    one.scenario.policy.score = score;
    return one;
  };
  const std::vector<RunResult> runs = run_all({caching(EvictionKind::score, Score::importance),
                                               caching(EvictionKind::score, Score::frequency),
                                               caching(EvictionKind::lfu, Score::frequency),
                                               caching(EvictionKind::lru, Score::frequency),
                                               {cached("h2o_lfu"), workload},
                                               {cached("as_like"), workload}});
  for (std::size_t i = 1; i < runs.size(); ++i) EXPECT_LE(loaded_bytes(runs[0]), loaded_bytes(runs[i])) << i;
  EXPECT_LT(loaded_bytes(runs[1]), loaded_bytes(runs[4]));  // identification
  EXPECT_LT(loaded_bytes(runs[4]), loaded_bytes(runs[5]));  // values by importance
}

TEST(HyperInferLaws, AtRetentionOneNothingIsLostAndEverythingIsLoaded) {
  const Workload workload = few_shot("rte", 100);
  Scenario whole = cached("hyperinfer");
  whole.policy.retention = 1;
  whole.policy.eviction = EvictionKind::lru;
  const std::vector<RunResult> runs = run_all({{cached("as_like"), workload}, {whole, workload}});
  EXPECT_TRUE(runs[1].quality_note.empty());
  for (const char* same : {"read_bytes.dram", "read_bytes.ssd", "used_tokens.hbm", "mean_ttft_ms"}) {
    EXPECT_EQ(runs[1].number(same), runs[0].number(same)) << same;
  }
  for (Tier tier : {Tier::hbm, Tier::dram, Tier::ssd}) {
    const std::string suffix = "." + std::string(name(tier));
    EXPECT_EQ(runs[1].number("used_tokens" + suffix), runs[1].number("hit_tokens" + suffix));
  }
}

TEST(HyperInferLaws, UsesAQuarterOfWhatItHits) {
  const RunResult result = run(cached("hyperinfer"), few_shot("rte", 200));
  double hit = 0, used = 0;
  for (Tier tier : {Tier::hbm, Tier::dram, Tier::ssd}) {
    hit += result.number("hit_tokens." + std::string(name(tier)));
    used += result.number("used_tokens." + std::string(name(tier)));
  }
  EXPECT_NEAR(used / hit, 0.25, 0.002);
  EXPECT_GT(result.number("token_hit_rate"), 0.9);  // found, used or not
}

// In closed form for many contexts, and simulated layer by layer for two.
TEST(HyperInferLaws, PrefetchNeverSlowsASingleRequest) {
  Scenario without = scenario("hyperinfer");
  without.policy.tiers = {{.kind = Tier::dram}, {.kind = Tier::ssd}};
  without.policy.prefetch = false;
  Scenario with = without;
  with.policy.prefetch = true;
  const Machine machines[2] = {{without, 1000, 1000}, {with, 1000, 1000}};
  int gains = 0;
  for (Tier tier : {Tier::dram, Tier::ssd}) {
    for (int64_t tokens : {100, 1000, 4000, 16000}) {
      for (int64_t new_tokens : {1, 64, 300, 1000, 2000}) {
        double restore_s[2];
        for (int i = 0; i < 2; ++i) {
          Context context{.history_tokens = tokens, .new_tokens = new_tokens};
          context.use[index(tier)] = machines[i].policy().use({tokens, 0, tokens});
          const Hit hit{.tier = tier, .tokens = tokens};
          restore_s[i] =
              makespan_s(machines[i].policy().restore(context, {&hit, 1}, machines[i].idle_rates()),
                         machines[i].idle_rates());
        }
        EXPECT_LE(restore_s[1], restore_s[0] + 1e-12) << tokens << " " << new_tokens;
        gains += restore_s[1] < restore_s[0] - 1e-6;
      }
    }
  }
  EXPECT_GT(gains, 10) << "some of these have computation to load under";

  without.policy.tiers = with.policy.tiers = {{.kind = Tier::ssd}};
  without.fidelity = with.fidelity = Fidelity::layer;
  for (uint32_t new_tokens : {64U, 2000U}) {
    const Workload workload = one_turn(4000, new_tokens);
    const std::vector<RunResult> runs = run_all({{without, workload}, {with, workload}});
    EXPECT_LE(runs[1].turns[0].ttft_s, runs[0].turns[0].ttft_s + 1e-9);
  }
}

TEST(HyperInferLaws, BeatsWhatLoadsEverythingWhereStorageIsSlow) {
  const std::vector<RunResult> runs =
      run_all({{scenario("as_like"), one_turn(8000, 64)}, {scenario("hyperinfer"), one_turn(8000, 64)}});
  EXPECT_LT(runs[1].turns[0].ttft_s, runs[0].turns[0].ttft_s);
}

TEST(HyperInferLaws, AgreesAcrossFidelities) {
  const Workload workload = few_shot("rte", 120);
  for (const char* policy : {"hyperinfer", "h2o_lfu", "as_like"}) {
    Scenario by_layer = cached(policy);
    by_layer.fidelity = Fidelity::layer;
    const std::vector<RunResult> runs = run_all({{cached(policy), workload}, {by_layer, workload}});
    for (const char* same : {"hit_tokens.hbm", "read_bytes.dram", "read_bytes.ssd", "completed"}) {
      EXPECT_EQ(runs[0].number(same), runs[1].number(same)) << policy << " " << same;
    }
    EXPECT_NEAR(runs[0].number("mean_ttft_ms"), runs[1].number("mean_ttft_ms"),
                0.01 * runs[1].number("mean_ttft_ms"))
        << policy;
  }
}

// 32 GB of prefixes: 10 on the GPU and 14 in DRAM, which has the GPU's chunks as well or those that come
// next. It fills up from SSD once the GPU has taken its share of what lay there.
TEST(HyperInferLaws, AnExclusiveGpuTierSparesItsBytesInDram) {
  const Workload workload = few_shot("rte", 150);
  const auto caches = [](double dram_bytes, bool exclusive) {
    Scenario result = cached("hyperinfer");
    result.policy.tiers->at(0).exclusive = exclusive;
    result.policy.tiers->at(1).capacity_bytes = dram_bytes;
    return result;
  };
  const std::vector<RunResult> runs =
      run_all({{caches(14e9, false), workload}, {caches(14e9, true), workload}});
  EXPECT_EQ(runs[1].number("hit_tokens.hbm"), runs[0].number("hit_tokens.hbm"));
  EXPECT_LT(runs[1].number("read_bytes.ssd"), 0.25 * runs[0].number("read_bytes.ssd"));
  EXPECT_LT(runs[1].number("mean_ttft_ms"), 0.7 * runs[0].number("mean_ttft_ms"));
  EXPECT_EQ(runs[0].number("written_bytes.dram"), 0);
  EXPECT_GT(runs[1].number("written_bytes.dram"), 0);  // what the GPU evicts
}

// Prefixes that nobody has stored yet are computed, stored and found by the next.
TEST(HyperInferLaws, StoresWhatItHadToCompute) {
  Workload workload = few_shot("rte", 100);
  workload.warm_start = false;
  workload.warmup_turns = 0;
  const RunResult result = run(cached("hyperinfer"), workload);
  EXPECT_EQ(result.turns.front().hit_tokens, 0U);
  EXPECT_GT(result.number("request_hit_rate"), 0.85);  // about ten prefixes have a first request
  EXPECT_GT(result.number("written_bytes.dram"), 0);
}

}  // namespace
}  // namespace kvcap::laws::hyperinfer_laws_test
