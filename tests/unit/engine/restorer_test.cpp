// What restorations find of those before them, and the GPU's time as steps see it while restorations compute.
#include "engine/restorer.h"

#include <gtest/gtest.h>

#include "unit/fake_world.h"

namespace kvcap::restorer_test {
namespace {

constexpr std::size_t kSsd = index(Tier::ssd);
constexpr std::size_t kGpu = index(Tier::hbm);

// 1 GB/s after 10 ms.
const Route kRoute{.hops = {{Resource::ssd_read, 1e9, 0, 1}}, .latency_s = 0.01};

LoadRates idle_rates() {
  LoadRates rates{};
  rates[kSsd] = {.route = &kRoute, .stretch = 1, .delay_s = kRoute.latency_s};
  return rates;
}

// 10 layers, each loaded in 0.1 s and computed in 0.05 s.
Restoration ten_layers() {
  LayerWork work{.layers = 10, .compute_s = 0.05};
  work.load_bytes[kSsd] = 0.1e9;
  return {.work = {work}};
}

// Rates at dates on a machine that began to restore at 0.
std::vector<LoadRates> rates_at(Fidelity fidelity, const std::vector<double>& dates_s) {
  FakeWorld world;
  const auto restorer = make_restorer(
      fidelity, world, idle_rates(), [](Resource, double, double, double) {}, nullptr);
  std::vector<LoadRates> found;
  std::size_t next = 0;
  world.run([&](double now_s) {
    if (now_s == 0 && next == 0 && found.empty()) restorer->start(ten_layers(), [](RestoreTimes) {});
    while (next < dates_s.size() && now_s >= dates_s[next] - 1e-9) {
      found.push_back(restorer->current_rates());
      ++next;
    }
    return next < dates_s.size() ? dates_s[next] : -1;
  });
  return found;
}

class Rates : public testing::TestWithParam<Fidelity> {};

INSTANTIATE_TEST_SUITE_P(Both, Rates, testing::Values(Fidelity::request, Fidelity::layer),
                         [](const auto& one) { return one.param == Fidelity::layer ? "layer" : "request"; });

TEST_P(Rates, AreIdleBeforeAndAfter) {
  FakeWorld world;
  const auto restorer = make_restorer(
      GetParam(), world, idle_rates(), [](Resource, double, double, double) {}, nullptr);
  EXPECT_EQ(restorer->current_rates()[kSsd].delay_s, 0.01);
  EXPECT_EQ(restorer->current_rates()[kGpu].delay_s, 0);
  const LoadRates after = rates_at(GetParam(), {2}).front();
  EXPECT_NEAR(after[kSsd].delay_s, 0.01, 1e-9);
  EXPECT_NEAR(after[kGpu].delay_s, 0, 1e-9);
}

// At 0.46 s of the 0.01 + 10 x 0.1 s of loads 0.55 s are left; of 0.5 s of computation four layers, 0.2 s,
// are done. Request fidelity spreads the computation evenly from the first byte to the end.
TEST_P(Rates, SayWhatIsLeftOfLoadsAndComputation) {
  const LoadRates rates = rates_at(GetParam(), {0.46}).front();
  EXPECT_NEAR(rates[kSsd].delay_s, 0.01 + 0.55, 1e-9);
  EXPECT_NEAR(rates[kGpu].delay_s, 0.3, GetParam() == Fidelity::layer ? 1e-9 : 0.03);
}

// Behind such a queue a pipeline starts late on both sides.
TEST(Makespan, StartsWhenTheLinkAndTheGpuAreFree) {
  LoadRates rates = idle_rates();
  rates[kSsd].delay_s = 0.3;
  // loads 0.3 + 10 x 0.1 s, the last computation 0.05 s
  EXPECT_NEAR(makespan_s(ten_layers(), rates), 1.35, 1e-12);
  rates[kGpu].delay_s = 2;
  // computation 2 + 10 x 0.05 s
  EXPECT_NEAR(makespan_s(ten_layers(), rates), 2.5, 1e-12);
  EXPECT_NEAR(layer_spans(ten_layers(), rates).back().compute_end_s, 2.5, 1e-12);
  EXPECT_EQ(makespan_s({}, rates), 0);
}

// Two restorations whose transfers run side by side want more than the whole GPU for a while: a step that
// begins then must still get its seconds.
TEST(Restorer, WhenIsTheDateAtWhichAStepHasHadItsSeconds) {
  FakeWorld world;
  Route slow, fast;
  slow.hops = {{.bytes_per_s = 1e9}};
  fast.hops = {{.bytes_per_s = 2e9}};
  LoadRates routes{};
  routes[index(Tier::ssd)] = {.route = &slow};
  routes[index(Tier::dram)] = {.route = &fast};
  const auto restorer = make_restorer(Fidelity::request, world, routes, [](auto...) {}, {});
  int checked = 0;
  double next_s = 0.01;
  world.run([&](double now_s) {
    if (now_s == 0) {
      for (Tier tier : {Tier::ssd, Tier::dram}) {
        // 10 layers of 10 ms (5 ms from DRAM) and 9 ms (4.8 ms) of computation each
        LayerWork layer{.layers = 10};
        layer.load_bytes[index(tier)] = 1e7;
        layer.compute_s = tier == Tier::ssd ? 9e-3 : 4.8e-3;
        restorer->start({.work = {layer}}, [](RestoreTimes) {});
      }
    }
    const double progress_s = restorer->progress_s(now_s);
    for (double work_s : {1e-4, 1e-3, 1e-2, 0.1}) {
      const double end_s = restorer->when(progress_s + work_s);
      EXPECT_GE(end_s, now_s + work_s - 1e-12);
      EXPECT_NEAR(restorer->progress_s(end_s), progress_s + work_s, 1e-9) << "at " << now_s;
      ++checked;
    }
    next_s = now_s + 0.003;
    return now_s > 0.4 ? -1.0 : next_s;
  });
  EXPECT_GT(checked, 400);
}

}  // namespace
}  // namespace kvcap::restorer_test
