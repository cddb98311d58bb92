// Tests that stored forms are planned for the tiers that serve hits: a tier without reads has no effect.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "laws/machines.h"

namespace kvcap::laws::planned_tiers_test {
namespace {

// DRAM holds every context that is reused, but far fewer than all contexts.
constexpr double kDramBytes = 100e9;

Workload many_chats() { return chats(400, 0.05); }

Scenario with_ssds(const std::string& policy, int64_t ssds) {
  Scenario result = scenario(policy);
  result.hardware.ssd->count = ssds;
  result.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = kDramBytes},
                         {.kind = Tier::ssd, .capacity_bytes = 4e12}};
  return result;
}

// Expects the same metrics, except those of the SSDs, of their cost, and of the time in which only SSDs work.
// Dates are exact to a nanosecond.
void expect_same_numbers(const RunResult& one, const RunResult& other, const std::string& setting) {
  for (const Metric& metric : one.metrics) {
    const bool is_of_ssds = metric.name.find("ssd") != std::string::npos;
    const bool is_cost = metric.name.starts_with("cost.");
    const bool is_share_of_time = metric.name.starts_with("bottleneck.");
    if (is_of_ssds || is_cost || is_share_of_time) continue;
    const double number = one.number(metric.name), again = other.number(metric.name);
    if (std::isnan(number) && std::isnan(again)) continue;
    EXPECT_NEAR(number, again, 1e-9 * std::max(1.0, std::abs(number))) << setting << ", " << metric.name;
  }
}

std::vector<std::pair<std::string, Scenario>> planning_settings(int64_t ssds) {
  std::vector<std::pair<std::string, Scenario>> settings;
  for (Split split : {Split::best, Split::paper, Split::hidden_only, Split::naive_hybrid, Split::token,
                      Split::token_rounded}) {
    settings.emplace_back("hcache, split " + std::to_string(static_cast<int>(split)),
                          with_ssds("hcache", ssds));
    settings.back().second.policy.split = split;
  }
  settings.emplace_back("hcache, hidden states of recomputed layers as well", with_ssds("hcache", ssds));
  settings.back().second.policy.store_hidden_for_recomputed = true;
  settings.emplace_back("hcache in 8 bits", with_ssds("hcache", ssds));
  settings.back().second.policy.stored_bits = 8;
  settings.emplace_back("hcache in exclusive tiers", with_ssds("hcache", ssds));
  settings.back().second.policy.inclusive = false;
  settings.emplace_back("adaptive", with_ssds("adaptive", ssds));
  return settings;
}

TEST(PlannedTiers, SsdsThatServeNoHitsChangeNoNumber) {
  const Workload workload = many_chats();
  std::vector<Case> cases;
  for (int64_t ssds : {1, 2, 4}) {
    for (const auto& [name, scenario] : planning_settings(ssds)) cases.push_back({scenario, workload});
  }
  const std::vector<RunResult> runs = run_all(cases);
  const auto settings = planning_settings(1);
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const RunResult& one = runs[i];
    ASSERT_GT(one.number("hit_tokens.dram"), 0) << settings[i].first;
    ASSERT_EQ(one.number("hit_tokens.ssd"), 0) << settings[i].first;
    for (std::size_t more : {settings.size(), 2 * settings.size()}) {
      expect_same_numbers(one, runs[i + more], settings[i].first);
    }
  }
  // All contexts as hidden states would not fit.
  const double hidden_bytes = 32 * 4096 * 2;
  EXPECT_GT(static_cast<double>(workload.context_tokens()) * hidden_bytes, kDramBytes);
}

TEST(PlannedTiers, TheFormIsTheOneOfTheTierThatServesTheHits) {
  Scenario both = with_ssds("hcache", 1);
  Scenario dram_alone = both;
  dram_alone.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = kDramBytes}};
  const Workload workload = many_chats();
  EXPECT_EQ(Machine(both, workload).policy().traits().stored_bytes_per_token,
            Machine(dram_alone, workload).policy().traits().stored_bytes_per_token);
  // If DRAM holds nothing, the form is that of the SSDs.
  Scenario ssd_alone = both;
  ssd_alone.policy.tiers = {{.kind = Tier::ssd, .capacity_bytes = 4e12}};
  both.policy.tiers->front().capacity_bytes = 1e6;
  EXPECT_EQ(Machine(both, workload).policy().traits().stored_bytes_per_token,
            Machine(ssd_alone, workload).policy().traits().stored_bytes_per_token);
}

// With hits in both tiers the expected restoration time decides: `best` is not slower than either tier's best
// form.
TEST(PlannedTiers, AMixOfTiersIsPlannedByTheExpectedTime) {
  const Workload workload = many_chats();
  Scenario mixed = with_ssds("hcache", 1);
  mixed.policy.tiers->front().capacity_bytes = 5e9;
  const Machine machine(mixed, workload);
  const std::string note = machine.policy().traits().notes.front();
  ASSERT_NE(note.find("on dram ("), std::string::npos) << note;
  ASSERT_NE(note.find("%) and ssd ("), std::string::npos) << note;
  Scenario by_dram = mixed, by_ssd = mixed;
  const auto forms_of = [&](Tier tier, Scenario& fixed) {
    Scenario alone = mixed;
    alone.policy.tiers = {{.kind = tier}};
    const Schedule form = Machine(alone, workload).policy().schedule(1000, tier);
    fixed.policy.recomputed_layers = form.recompute_layers;
    fixed.policy.kv_layers = form.kv_layers;
  };
  forms_of(Tier::dram, by_dram);
  forms_of(Tier::ssd, by_ssd);
  const std::vector<RunResult> runs = run_all({{mixed, workload}, {by_dram, workload}, {by_ssd, workload}});
  const double planned_ms = runs[0].number("mean_restore_ms");
  EXPECT_LT(planned_ms, 1.05 * runs[1].number("mean_restore_ms"));
  EXPECT_LT(planned_ms, 1.05 * runs[2].number("mean_restore_ms"));
}

}  // namespace
}  // namespace kvcap::laws::planned_tiers_test
