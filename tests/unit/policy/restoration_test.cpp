#include "policy/restoration.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace kvcap::restoration_test {
namespace {

constexpr std::size_t kSsd = index(Tier::ssd);

// A route of one link of 1 GB/s, so that bytes/1e9 are seconds.
Route gigabyte_per_second() { return {.hops = {{Resource::ssd_read, 1e9, 0, 1}}}; }

LayerWork layers(int64_t count, double load_s, double compute_s, LayerForm form = LayerForm::hidden) {
  LayerWork work{.layers = count, .form = form, .compute_s = compute_s};
  work.load_bytes[kSsd] = load_s * 1e9;
  return work;
}

LoadRates rates_over(const Route& route, double stretch = 1, double delay_s = 0) {
  LoadRates rates{};
  rates[kSsd] = {&route, stretch, delay_s};
  return rates;
}

TEST(Makespan, OfLoadsAloneIsTheirSum) {
  const Route route = gigabyte_per_second();
  // 4 layers x 0.25 s = 1 s
  EXPECT_DOUBLE_EQ(makespan_s({.work = {layers(4, 0.25, 0)}}, rates_over(route)), 1.0);
}

TEST(Makespan, OfAnIoBoundPipelineIsAllLoadsPlusTheLastComputation) {
  const Route route = gigabyte_per_second();
  // 10 x 0.3 s of loads, the last layer's 0.1 s of computation cannot overlap: 3.1 s
  EXPECT_NEAR(makespan_s({.work = {layers(10, 0.3, 0.1)}}, rates_over(route)), 3.1, 1e-12);
}

TEST(Makespan, OfAComputeBoundPipelineIsTheFirstLoadPlusAllComputation) {
  const Route route = gigabyte_per_second();
  // 0.1 s until the first layer is there, then 10 x 0.3 s: 3.1 s
  EXPECT_NEAR(makespan_s({.work = {layers(10, 0.1, 0.3)}}, rates_over(route)), 3.1, 1e-12);
}

TEST(Makespan, OfHiddenThenKvIsTheLongerOfTheTwoStreams) {
  const Route route = gigabyte_per_second();
  // hidden: 8 layers, load 0.2 s, project 0.25 s; KV: 2 layers, load 0.4 s.
  // loads 8 x 0.2 + 2 x 0.4 = 2.4 s; computation 0.2 + 8 x 0.25 = 2.2 s
  const Restoration restoration{.work = {layers(8, 0.2, 0.25), layers(2, 0.4, 0, LayerForm::kv)}};
  EXPECT_NEAR(makespan_s(restoration, rates_over(route)), 2.4, 1e-12);
}

TEST(Makespan, OfRecomputedThenHiddenPrefetchesWhileItRecomputes) {
  const Route route = gigabyte_per_second();
  // 3 layers recomputed at 0.5 s while 7 hidden layers load at 0.3 s: loads end at 2.1 s, then the last
  // projection of 0.1 s: 2.2 s; computation alone 1.5 + 0.7 = 2.2 s
  const Restoration restoration{.work = {layers(3, 0, 0.5, LayerForm::tokens), layers(7, 0.3, 0.1)}};
  EXPECT_NEAR(makespan_s(restoration, rates_over(route)), 2.2, 1e-12);
}

TEST(Makespan, WithAReadBufferWaitsForRoom) {
  const Route route = gigabyte_per_second();
  // One layer of buffer: load i+1 starts when layer i has been computed. 5 x (0.2 + 0.3) = 2.5 s
  const Restoration restoration{.work = {layers(5, 0.2, 0.3)}, .ahead = 1};
  EXPECT_NEAR(makespan_s(restoration, rates_over(route)), 2.5, 1e-12);
}

TEST(Makespan, OfLoadsThatWaitFollowsTheComputationBefore) {
  const Route route = gigabyte_per_second();
  // A layer: 0.1 s of keys, then 0.2 s of what they identify, then 0.3 s of computation, under which the next
  // layer's keys are loaded. 0.1 + 0.2, then max(0.3, 0.1) + 0.2, and 0.3 at the end: 1.1 s
  std::vector<LayerWork> work;
  for (int layer = 0; layer < 2; ++layer) {
    work.push_back(layers(1, 0.1, 0, LayerForm::keys));
    work.push_back(layers(1, 0.2, 0.3, LayerForm::kv));
    work.back().waits = true;
  }
  EXPECT_NEAR(makespan_s({.work = work}, rates_over(route)), 1.1, 1e-12);
  const std::vector<LayerSpan> spans = layer_spans({.work = work}, rates_over(route));
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[2].layer, 1);  // keys are part of the layer that follows
  EXPECT_EQ(spans[3].layer, 1);
  EXPECT_NEAR(spans[2].load_start_s, 0.3, 1e-12);
  EXPECT_NEAR(spans[3].load_start_s, 0.6, 1e-12);
}

TEST(Makespan, StretchesLoadsAsMuchAsTheLinkWasMeasuredToBe) {
  const Route route = gigabyte_per_second();
  // 4 layers x 0.25 s on a link that gives half of its bandwidth, and the last layer's 0.1 s
  EXPECT_NEAR(makespan_s({.work = {layers(4, 0.25, 0.1)}}, rates_over(route, 2)), 2.1, 1e-12);
}

TEST(Makespan, OfAnEmptyRestorationIsZero) { EXPECT_EQ(makespan_s({}, LoadRates{}), 0); }

TEST(Makespan, CountsRequestOverheadsAndDelay) {
  Route route{.hops = {{Resource::ssd_read, 1e9, 0.01, 1}}};
  LayerWork work = layers(2, 1, 0);
  work.load_requests[kSsd] = 10;
  // 0.5 s of delay, 2 x (1 s + 10 x 0.01 s) = 2.7 s
  EXPECT_NEAR(makespan_s({.work = {work}}, rates_over(route, 1, 0.5)), 2.7, 1e-12);
}

// The closed form by groups against the recursion layer by layer, over random compositions.
TEST(Makespan, EqualsTheLayerByLayerScheduleForRandomRestorations) {
  const Route route = gigabyte_per_second();
  const RandomStream random(7, "restorations");
  for (uint64_t draw = 0; draw < 500; ++draw) {
    Restoration restoration;
    const auto groups = 1 + static_cast<int>(3 * random.uniform(draw, 0));
    for (int g = 0; g < groups; ++g) {
      const uint64_t j = 10 * static_cast<uint64_t>(g + 1);
      const double load = random.uniform(draw, j) < 0.3 ? 0 : random.uniform(draw, j + 1);
      const double compute = random.uniform(draw, j + 2) < 0.3 ? 0 : random.uniform(draw, j + 3);
      restoration.work.push_back(
          layers(1 + static_cast<int64_t>(20 * random.uniform(draw, j + 4)), load, compute));
    }
    const LoadRates rates = rates_over(route, 1 + random.uniform(draw, 1), random.uniform(draw, 2));
    const double by_layers_s = layer_spans(restoration, rates).back().compute_end_s;
    EXPECT_NEAR(makespan_s(restoration, rates), by_layers_s, 1e-9 * by_layers_s) << "draw " << draw;
  }
}

TEST(Makespan, IsNoShorterWithASmallerReadBuffer) {
  const Route route = gigabyte_per_second();
  double before_s = 0;
  for (int64_t ahead : {kUnlimited, int64_t{16}, int64_t{8}, int64_t{4}, int64_t{2}, int64_t{1}}) {
    const Restoration restoration{.work = {layers(10, 0.2, 0.1), layers(10, 0.1, 0.3)}, .ahead = ahead};
    const double now_s = makespan_s(restoration, rates_over(route));
    EXPECT_GE(now_s, before_s - 1e-12);
    before_s = now_s;
  }
}

TEST(Route, AloneTakesAsLongAsItsSlowestLink) {
  const Route route{.hops = {{Resource::ssd_read, 4e9, 0.001, 1}, {Resource::pcie_h2d, 2e9, 0, 1}}};
  // SSD: 8/4 + 100 x 0.001 = 2.1 s; PCIe: 8/2 = 4 s
  EXPECT_DOUBLE_EQ(route.seconds(8e9, 100), 4.0);
  // SSD: 8/4 + 3000 x 0.001 = 5 s
  EXPECT_DOUBLE_EQ(route.seconds(8e9, 3000), 5.0);
}

TEST(Route, ThroughDramCrossesItTwice) {
  HardwareProfile hardware;
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 100e9, .d2h_bandwidth_bytes_per_s = 100e9};
  hardware.dram = Dram{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 40e9};
  hardware.ssd = Ssd{.count = 8,
                     .capacity_bytes = 1e12,
                     .read_bandwidth_bytes_per_s = 10e9,
                     .write_bandwidth_bytes_per_s = 5e9,
                     .gpu_direct = false};
  // SSD 80 GB/s, PCIe 100 GB/s, DRAM 40/2 = 20 GB/s
  EXPECT_DOUBLE_EQ(route(hardware, 1, Tier::ssd, Tier::hbm).bytes_per_s(), 20e9);
  hardware.ssd->gpu_direct = true;
  EXPECT_DOUBLE_EQ(route(hardware, 1, Tier::ssd, Tier::hbm).bytes_per_s(), 80e9);
}

TEST(Route, OfAGroupIsAsWideAsItsGpus) {
  HardwareProfile hardware;
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 26e9, .d2h_bandwidth_bytes_per_s = 20e9};
  hardware.dram = Dram{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 400e9};
  EXPECT_DOUBLE_EQ(route(hardware, 4, Tier::dram, Tier::hbm).bytes_per_s(), 104e9);
  EXPECT_DOUBLE_EQ(route(hardware, 4, Tier::hbm, Tier::dram).bytes_per_s(), 80e9);
}

}  // namespace
}  // namespace kvcap::restoration_test
