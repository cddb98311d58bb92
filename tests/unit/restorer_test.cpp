// The GPU's time as steps see it while restorations compute.
#include "serving/restorer.h"

#include <gtest/gtest.h>

#include "unit/fake_world.h"

namespace kvcap {
namespace {

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
}  // namespace kvcap
