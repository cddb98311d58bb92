#include <gtest/gtest.h>

#include <cmath>

#include "metrics/cost.h"

namespace kvcap::metrics_cost_test {
namespace {

constexpr Served kServed = {.input_tokens = 3'000'000, .output_tokens = 1'000'000, .hit_turns = 500};

double of(const std::vector<Metric>& metrics, std::string_view name) {
  for (const Metric& metric : metrics)
    if (metric.name == name) return std::get<double>(metric.value);
  ADD_FAILURE() << name << " is absent";
  return 0;
}

double cost(const Recorded& recorded, const RunFacts& facts, std::string_view name) {
  return of(cost_metrics(recorded, facts, kServed, {0, facts.duration_s}, kServed), name);
}

// Ten hours of four GPUs at 2 $, DRAM at 0.5 $ and SSDs at 0.3 $ an hour.
RunFacts ten_hours() {
  RunFacts facts;
  facts.duration_s = 36000;
  facts.gpus = 4;
  facts.gpus_per_group = 2;
  facts.gpu_usd_per_hour = 8;
  facts.tier_usd_per_hour[index(Tier::dram)] = 0.5;
  facts.tier_usd_per_hour[index(Tier::ssd)] = 0.3;
  facts.stored_bytes_per_token = 1024;
  return facts;
}

TEST(Cost, PerTokenAndPerHitShareTheTotalAndTheStorage) {
  const RunFacts facts = ten_hours();
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.total_usd"), 80 + 5 + 3);
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.usd_per_million_output_tokens"), 88);
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.usd_per_million_tokens"), 88 / 4.0);  // three million came in
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.storage_usd"), 8);
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.storage_usd_per_hit"), 8 / 500.0);
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.usd_per_gpu_hour"), 2);
}

// The GPU's own cache has hits, and the billed devices are empty.
TEST(Cost, OfStoragePerHitIsUndefinedIfNothingIsStored) {
  RunFacts facts = ten_hours();
  facts.stored_bytes_per_token = 0;
  Recorded recorded;
  recorded.reused_prefill_s = 9000;
  EXPECT_DOUBLE_EQ(cost(recorded, facts, "cost.storage_usd"), 8);
  EXPECT_TRUE(std::isnan(cost(recorded, facts, "cost.storage_usd_per_hit")));
  EXPECT_TRUE(std::isnan(cost(recorded, facts, "cost.usd_per_saved_gpu_hour")));
}

// One hour in the middle that computes a million tokens, and nine at 88 $ in which nobody asks.
TEST(Cost, PerHourAndPerTokenIsThatOfTheWindow) {
  RunFacts facts = ten_hours();
  facts.remote_usd_per_request = 1;
  Recorded recorded;
  recorded.remote_requests.add_at(3, 14000);  // outside
  recorded.remote_requests.add_at(2, 20000);
  const std::vector<Metric> metrics =
      cost_metrics(recorded, facts, kServed, {16200, 19800 + 512}, {.output_tokens = 2e6});
  const double hours = 4112 / 3600.0;
  EXPECT_NEAR(of(metrics, "cost.total_usd"), 88 + 5, 1e-9);
  EXPECT_NEAR(of(metrics, "cost.usd_per_hour"), 8.8 + 2 / hours, 0.1);
  EXPECT_NEAR(of(metrics, "cost.usd_per_million_output_tokens"), (8.8 * hours + 2) / 2, 0.1);
}

TEST(Cost, OfASavedGpuHourIsTheStorageOverWhatFoundTokensSpareAllGpusOfAGroup) {
  Recorded recorded;
  recorded.reused_prefill_s = 9000;
  recorded.restore_compute_s = 1800;
  // 7,200 s on each of two GPUs
  EXPECT_DOUBLE_EQ(cost(recorded, ten_hours(), "saved_gpu_hours"), 4);
  EXPECT_DOUBLE_EQ(cost(recorded, ten_hours(), "cost.usd_per_saved_gpu_hour"), 8 / 4.0);
}

TEST(Cost, OfWhatDoesNotHappenIsUndefined) {
  const std::vector<Metric> metrics = cost_metrics({}, ten_hours(), {}, {0, 36000}, {});
  for (const char* name :
       {"cost.usd_per_million_output_tokens", "cost.usd_per_million_tokens", "cost.storage_usd_per_hit",
        "cost.usd_per_saved_gpu_hour", "cost.ssd_wear_usd", "cost.energy_usd", "energy.kwh",
        "energy.joules_per_output_token", "ssd_writes.rated_share", "ssd_writes.lifetime_years"})
    EXPECT_TRUE(std::isnan(of(metrics, name))) << name;
  EXPECT_EQ(of(metrics, "saved_gpu_hours"), 0);
  // An endurance next to none has no finite share.
  RunFacts worn = ten_hours();
  worn.ssd_endurance_bytes = 1e-300;
  Recorded written;
  written.written_to_ssds.add_at(1e12, 100);
  EXPECT_TRUE(std::isnan(cost(written, worn, "ssd_writes.rated_share")));
  // More was computed to bring tokens back than their prefill takes: nothing was saved.
  Recorded slow;
  slow.reused_prefill_s = 1;
  slow.restore_compute_s = 2;
  EXPECT_LT(cost(slow, ten_hours(), "saved_gpu_hours"), 0);
  EXPECT_TRUE(std::isnan(cost(slow, ten_hours(), "cost.usd_per_saved_gpu_hour")));
}

TEST(Cost, WithoutAPriceOfTheGpusIsNotKnownAndWithoutOneOfATierLeavesItOut) {
  RunFacts facts = ten_hours();
  facts.tier_usd_per_hour[index(Tier::ssd)] = NAN;
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.total_usd"), 80 + 5);
  EXPECT_TRUE(std::isnan(cost({}, facts, "cost.ssd_usd")));
  EXPECT_TRUE(std::isnan(cost({}, facts, "cost.storage_usd")));
  facts.gpu_usd_per_hour = NAN;
  for (const char* name : {"cost.gpu_usd", "cost.total_usd", "cost.usd_per_hour", "cost.usd_per_gpu_hour"})
    EXPECT_TRUE(std::isnan(cost({}, facts, name))) << name;
  EXPECT_DOUBLE_EQ(cost({}, facts, "cost.dram_usd"), 5);
}

// 100 GB at 0.5 $ beside 100 GB in the rent: 150 filled GB pay for 50.
TEST(Cost, OfAFilledTierIsOfWhatTheRentDoesNotInclude) {
  RunFacts facts = ten_hours();
  facts.tier_bytes[index(Tier::dram)] = 200e9;
  facts.tier_free_bytes[index(Tier::dram)] = 100e9;
  facts.bills_filled[index(Tier::dram)] = true;
  const auto usd_of = [&](double filled) {
    Recorded recorded;
    recorded[stored_in(Tier::dram)].node_peak = filled;
    return cost(recorded, facts, "cost.dram_usd");
  };
  EXPECT_DOUBLE_EQ(usd_of(150e9), 10 * 0.5 * 0.5);
  EXPECT_DOUBLE_EQ(usd_of(90e9), 0);
  EXPECT_DOUBLE_EQ(usd_of(200e9), 5);
}

TEST(Cost, OfBoughtSsdsIsTheLargerOfTimeAndWear) {
  RunFacts facts = ten_hours();
  facts.ssd_purchase_usd = 2000;
  facts.ssd_endurance_bytes = 1e16;
  Recorded gentle, hard;
  gentle.written_to_ssds.add_at(1e13, 100);  // a thousandth of the rated writes
  hard.written_to_ssds.add_at(1e14, 100);
  EXPECT_DOUBLE_EQ(cost(gentle, facts, "cost.ssd_wear_usd"), 2);
  EXPECT_DOUBLE_EQ(cost(gentle, facts, "cost.total_usd"), 80 + 5 + 3);
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.ssd_wear_usd"), 20);
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.ssd_usd"), 3);  // what time alone would cost
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.total_usd"), 80 + 5 + 20);
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.storage_usd"), 25);
  // 1e14 bytes in ten hours are 8.76e16 a year.
  EXPECT_DOUBLE_EQ(cost(hard, facts, "ssd_writes.lifetime_years"), 1e16 / 8.76e16);
  // Rented devices wear out at the landlord's expense.
  facts.ssd_purchase_usd = 0;
  EXPECT_TRUE(std::isnan(cost(hard, facts, "cost.ssd_wear_usd")));
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.total_usd"), 88);
}

// Ten thousandths of the rated writes, of devices that are worth 3,000 $ new: a figure beside the rent.
TEST(Cost, OfRentedSsdsHasTheirWearInNoTotal) {
  RunFacts facts = ten_hours();
  facts.ssd_replacement_usd = 3000;
  facts.ssd_endurance_bytes = 1e16;
  Recorded hard;
  hard.written_to_ssds.add_at(1e14, 100);
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.ssd_wear_usd"), 30);
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.ssd_usd"), 3);
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.storage_usd"), 8);
  EXPECT_DOUBLE_EQ(cost(hard, facts, "cost.total_usd"), 88);
}

TEST(Cost, WearEqualsTimeWhereRatedWritesAndYearsEndTogether) {
  RunFacts facts = ten_hours();
  const double years = 5, price = 2000;
  facts.ssd_purchase_usd = price;
  facts.ssd_endurance_bytes = 1e16;
  facts.tier_usd_per_hour[index(Tier::ssd)] = price / (years * 8760);
  Recorded recorded;
  recorded.written_to_ssds.add_at(1e16 / (years * 8760) * 10, 100);
  EXPECT_DOUBLE_EQ(cost(recorded, facts, "ssd_writes.lifetime_years"), years);
  EXPECT_DOUBLE_EQ(cost(recorded, facts, "ssd_writes.rated_share"), 1);
  EXPECT_DOUBLE_EQ(cost(recorded, facts, "cost.ssd_wear_usd"), cost(recorded, facts, "cost.ssd_usd"));
}

TEST(Cost, CountsEnergyOfIdleAndBusyGpusAndOfProvisionedTiers) {
  RunFacts facts = ten_hours();
  facts.gpu_idle_w = 50;
  facts.gpu_busy_w = 400;
  facts.tier_w = {0, 60, 40, 0};
  facts.pue = 1.5;
  facts.usd_per_kwh = 0.1;
  Recorded recorded;
  recorded.busy[static_cast<std::size_t>(Resource::gpu)].add(1, 0, 14400);  // four hours
  // Four GPUs idle for ten hours, two of them 350 W more for four, 100 W of memory and SSDs.
  const double kwh = 1.5 * (4 * 50 * 10 + 2 * 350 * 4 + 100 * 10) / 1000;
  EXPECT_NEAR(cost(recorded, facts, "energy.kwh"), kwh, 1e-9);
  EXPECT_NEAR(cost(recorded, facts, "energy.joules_per_output_token"), kwh * 3.6e6 / 1e6, 1e-9);
  EXPECT_NEAR(cost(recorded, facts, "cost.energy_usd"), 0.1 * kwh, 1e-9);
  EXPECT_DOUBLE_EQ(cost(recorded, facts, "cost.total_usd"), 88);  // rent includes power
  facts.gpus_are_bought = true;
  EXPECT_NEAR(cost(recorded, facts, "cost.total_usd"), 88 + 0.1 * kwh, 1e-9);
  facts.usd_per_kwh = -1;
  EXPECT_TRUE(std::isnan(cost(recorded, facts, "cost.energy_usd")));
  EXPECT_NEAR(cost(recorded, facts, "energy.kwh"), kwh, 1e-9);
  EXPECT_DOUBLE_EQ(cost(recorded, facts, "cost.total_usd"), 88);
}

}  // namespace
}  // namespace kvcap::metrics_cost_test
