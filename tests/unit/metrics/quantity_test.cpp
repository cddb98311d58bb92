#include "metrics/quantity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "metrics/recorder.h"

namespace kvcap::quantity_test {
namespace {

// What a fleet has whose prompts one node computes, whose router believes an index, and whose machines have
// every tier: every metric there is.
std::set<std::string> metrics_of_a_result() {
  RunFacts facts{.routes_by_beliefs = true, .replicas = 2, .prefill_replicas = 1};
  facts.machine_has.fill(true);
  std::set<std::string> names;
  for (const Metric& metric : Recorder(0).finish(facts).metrics) names.insert(metric.name);
  return names;
}

TEST(Quantity, TheTableHasEveryMetricOfAResultAndNoOther) {
  std::set<std::string> rows;
  for (const Quantity& quantity : quantities()) {
    const bool is_of_results = quantity.kind == QuantityKind::metric || quantity.kind == QuantityKind::text;
    if (is_of_results && quantity.name != "stable") rows.insert(quantity.name);
  }
  EXPECT_EQ(rows, metrics_of_a_result());
}

TEST(Quantity, SeriesAndDistributionsOfAResultAreInTheTable) {
  RunFacts facts;
  facts.duration_s = 1;
  const RunResult result = Recorder(0).finish(facts);
  ASSERT_FALSE(result.series.empty());
  ASSERT_FALSE(result.distributions.empty());
  for (const NamedSeries* list : {&result.series, &result.distributions})
    for (const auto& [name, values] : *list) EXPECT_NE(find_quantity(name), nullptr) << name;
}

TEST(Quantity, NoTwoRowsHaveOneName) {
  std::set<std::string> names;
  for (const Quantity& quantity : quantities())
    EXPECT_TRUE(names.insert(quantity.name).second) << quantity.name;
}

TEST(Quantity, MembersOfAFamilyAreNamedInTheirTitles) {
  EXPECT_EQ(find_quantity("p99_ttft_ms")->title, "p99 TTFT");
  EXPECT_EQ(find_quantity("std_itl_ms")->title, "std. dev. of ITL");
  EXPECT_EQ(find_quantity("read_bytes.hbm")->title, "read from GPU memory");
  EXPECT_EQ(find_quantity("utilization.pcie_h2d")->title, "PCIe to GPU busy");
  EXPECT_EQ(find_quantity("p98_ttft_ms"), nullptr);
}

TEST(Quantity, WhatIsShownIsTheNumberTimesTheScale) {
  EXPECT_EQ(find_quantity("token_hit_rate")->unit.scale, 100);               // 0.5 reads 50 %
  EXPECT_EQ(find_quantity("read_bytes.ssd")->unit.scale, 1e-9);              // 2e9 reads 2 GB
  EXPECT_EQ(find_quantity("stored_bytes_per_token")->unit.scale * 2048, 2);  // KiB/token
  EXPECT_EQ(find_quantity("cost.storage_usd_per_hit")->unit.scale, 1e6);
}

// "bytes_per_s" ends in "_s", too.
TEST(Quantity, AFieldIsMeasuredInTheFirstEndingThatFits) {
  const auto unit_of = [](std::string_view field) {
    const auto endings = unit_endings();
    const auto found = std::find_if(endings.begin(), endings.end(),
                                    [&](const UnitEnding& one) { return field.ends_with(one.ending); });
    return found == endings.end() ? std::string_view() : found->unit.symbol;
  };
  EXPECT_EQ(unit_of("hardware.ssd.read_bytes_per_s"), "GB/s");
  EXPECT_EQ(unit_of("hardware.dram.capacity_bytes"), "GB");
  EXPECT_EQ(unit_of("serving.request_overhead_s"), "s");
  EXPECT_EQ(unit_of("workload.arrivals.sessions_per_s"), "sessions/s");
  EXPECT_EQ(unit_of("serving.max_model_len"), "");
}

}  // namespace
}  // namespace kvcap::quantity_test
