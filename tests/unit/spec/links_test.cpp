// Rates over the bytes of one piece, both directions of a link, and what one copy moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "cost/routes.h"
#include "des/world.h"
#include "laws/machines.h"
#include "scenario/load.h"
#include "spec/rate_curve.h"
#include "unit/own_process.h"

namespace kvcap::links_test {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * kKiB;

const std::vector<RatePoint> kPoints = {{1000, 1e9}, {4000, 4e9}, {16000, 8e9}};

TEST(RateCurve, GoesThroughItsPointsAndIsAPowerOfTheBytesBetweenThem) {
  const RateCurve curve(kPoints);
  for (const RatePoint& point : kPoints) {
    EXPECT_NEAR(curve.bytes_per_s(point.block_bytes), point.bytes_per_s, 1e-3);
  }
  // From 1000 to 4000 the rate rises as the bytes do: every piece takes 1000/1e9 = 1 us
  EXPECT_NEAR(curve.bytes_per_s(2000), 2e9, 1e-3);
  EXPECT_NEAR(curve.bytes_per_s(3000), 3e9, 1e-3);
  // From 4000 to 16000 it doubles where the bytes quadruple: half-way in log(bytes), 8000, sqrt(4 x 8)
  // = 5.657
  EXPECT_NEAR(curve.bytes_per_s(8000), std::sqrt(4e9 * 8e9), 1);
}

TEST(RateCurve, GivesPiecesBelowItsTimeAndAboveItsRate) {
  const RateCurve curve(kPoints);
  // 100 bytes take 1 us as 1000 do: 1e8 bytes/s
  EXPECT_DOUBLE_EQ(curve.bytes_per_s(100), 1e8);
  EXPECT_DOUBLE_EQ(curve.bytes_per_s(1e9), 8e9);
}

TEST(RateCurve, NeverFallsWithTheBytesOfAPiece) {
  const RateCurve curve(kPoints);
  double before = 0;
  for (double bytes = 1; bytes < 1e6; bytes *= 1.1) {
    EXPECT_GE(curve.bytes_per_s(bytes), before) << bytes;
    before = curve.bytes_per_s(bytes);
  }
}

TEST(RateCurve, OfAnSsdLiesBetweenThoseOfTheMeasuredQueueDepths) {
  const std::vector<SsdPoint> points = {{4096, 1e8, 1}, {65536, 1e9, 1}, {4096, 4e8, 16}, {65536, 4e9, 16}};
  const auto rate = [&](std::optional<int64_t> depth, double bytes) {
    return RateCurve(at_queue_depth(points, depth)).bytes_per_s(bytes);
  };
  EXPECT_NEAR(rate(1, 4096), 1e8, 1e-3);
  EXPECT_NEAR(rate(16, 65536), 4e9, 1e-3);
  // 4 is half-way from 1 to 16 in log(depth): 1e8 x sqrt(4)
  EXPECT_NEAR(rate(4, 4096), 2e8, 1);
  EXPECT_NEAR(rate(4, 65536), 2e9, 10);
  EXPECT_NEAR(rate(64, 4096), 4e8, 1e-3);
  EXPECT_NEAR(rate({}, 4096), 4e8, 1e-3);
  EXPECT_TRUE(at_queue_depth({}, 4).empty());
}

HardwareProfile curved() {
  HardwareProfile hardware;
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 8e9, .d2h_bandwidth_bytes_per_s = 8e9};
  hardware.pcie.h2d_curve = kPoints;
  hardware.dram = Dram{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 1e12};
  hardware.ssd = Ssd{.count = 2,
                     .capacity_bytes = 1e12,
                     .read_bandwidth_bytes_per_s = 4e9,
                     .write_bandwidth_bytes_per_s = 4e9};
  return hardware;
}

TEST(Route, WithACurveTakesThePiecesAtTheRateOfTheirSize) {
  const Route way = route(curved(), 1, Tier::dram, Tier::hbm);
  // 4 MB: in 1000 pieces of 4000 bytes at 4 GB/s, in 4000 of 1000 bytes at 1 GB/s, in one at 8 GB/s
  EXPECT_NEAR(way.seconds(4e6, 1000), 4e6 / 4e9, 1e-12);
  EXPECT_NEAR(way.seconds(4e6, 4000), 4e6 / 1e9, 1e-12);
  EXPECT_NEAR(way.seconds(4e6, 1), 4e6 / 8e9, 1e-12);
  // The other direction has none: bandwidth alone.
  EXPECT_NEAR(route(curved(), 1, Tier::hbm, Tier::dram).seconds(4e6, 4000), 4e6 / 8e9, 1e-12);
}

TEST(Route, OfAGroupDividesEveryPieceOverItsGpus) {
  const Route way = route(curved(), 2, Tier::dram, Tier::hbm);
  // 4000 bytes are 2000 on each of two GPUs, at 2 GB/s each: 4 MB at 4 GB/s
  EXPECT_NEAR(way.seconds(4e6, 1000), 4e6 / (2 * 2e9), 1e-12);
}

TEST(Route, NeverExceedsTheBandwidthHoweverFastTheCurve) {
  HardwareProfile hardware = curved();
  hardware.pcie.h2d_bandwidth_bytes_per_s = 3e9;
  EXPECT_NEAR(route(hardware, 1, Tier::dram, Tier::hbm).seconds(4e6, 1000), 4e6 / 3e9, 1e-12);
}

TEST(Route, OfSsdsReadsAllOfThemAtTheRateOfTheRequestsSize) {
  HardwareProfile hardware = curved();
  hardware.pcie.h2d_curve.clear();
  hardware.ssd->read_curve = {{4000, 1e9, 1}, {16000, 2e9, 1}};
  const Route way = route(hardware, 1, Tier::ssd, Tier::hbm);
  // Two devices in requests of 4000 bytes: 2 x 1 GB/s; of 16000: 2 x 2 GB/s
  EXPECT_NEAR(way.seconds(4e6, 1000), 4e6 / 2e9, 1e-12);
  EXPECT_NEAR(way.seconds(4e6, 250), 4e6 / 4e9, 1e-12);
}

TEST(Route, FromAnSsdCrossesDramTwiceUnlessItGoesAroundIt) {
  HardwareProfile hardware = curved();
  hardware.dram->bandwidth_bytes_per_s = 2e9;
  hardware.ssd->gpu_direct = false;
  EXPECT_NEAR(route(hardware, 1, Tier::ssd, Tier::hbm).seconds(4e6, 0), 2 * 4e6 / 2e9, 1e-12);
  EXPECT_NEAR(route(hardware, 1, Tier::ssd, Tier::hbm).bytes_per_s(), 1e9, 1);
  hardware.ssd->gpu_direct = true;
  EXPECT_NEAR(route(hardware, 1, Tier::ssd, Tier::hbm).seconds(4e6, 0), 4e6 / 8e9, 1e-12);
}

TEST(Route, TakesTheDirectionOfPcieThatItsBytesGo) {
  HardwareProfile hardware = curved();
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 8e9, .d2h_bandwidth_bytes_per_s = 4e9};
  const Route in = route(hardware, 1, Tier::dram, Tier::hbm), out = route(hardware, 1, Tier::hbm, Tier::dram);
  EXPECT_EQ(in.hops.back().resource, Resource::pcie_h2d);
  EXPECT_EQ(out.hops.back().resource, Resource::pcie_d2h);
  EXPECT_NEAR(in.seconds(4e6, 0), 4e6 / 8e9, 1e-12);
  EXPECT_NEAR(out.seconds(4e6, 0), 4e6 / 4e9, 1e-12);
}

TEST(Route, OfAGroupSharesTheRequestsOfPcie) {
  // A thousand requests of 10 us, half of them at each of two GPUs.
  HardwareProfile hardware = curved();
  hardware.pcie = {
      .h2d_bandwidth_bytes_per_s = 8e9, .d2h_bandwidth_bytes_per_s = 8e9, .request_overhead_s = 10e-6};
  EXPECT_DOUBLE_EQ(route(hardware, 1, Tier::dram, Tier::hbm).seconds(0, 1000), 10e-3);
  EXPECT_DOUBLE_EQ(route(hardware, 2, Tier::dram, Tier::hbm).seconds(0, 1000), 5e-3);
}

TEST(Route, OfARemoteTierHasItsLatency) {
  HardwareProfile hardware = curved();
  hardware.remote = Remote{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 1e9, .latency_s = 2e-3};
  EXPECT_EQ(route(hardware, 1, Tier::remote, Tier::hbm).latency_s, 2e-3);
  EXPECT_EQ(route(hardware, 1, Tier::hbm, Tier::remote).latency_s, 2e-3);
  EXPECT_EQ(route(hardware, 1, Tier::dram, Tier::hbm).latency_s, 0);
}

TEST(Route, FewerLargerPiecesAreNeverSlower) {
  for (const RatePoint& last : {RatePoint{64000, 8e9}, RatePoint{64000, 9e9}}) {
    HardwareProfile hardware = curved();
    hardware.pcie.h2d_curve.push_back(last);
    const Route way = route(hardware, 1, Tier::dram, Tier::hbm);
    double before_s = 0;
    for (double pieces = 1; pieces < 1e6; pieces = std::ceil(1.5 * pieces)) {
      EXPECT_GE(way.seconds(1e8, pieces), before_s) << pieces;
      before_s = way.seconds(1e8, pieces);
    }
  }
}

TEST(Route, MoreBlocksOfOneSizeTakeLonger) {
  const Route way = route(curved(), 1, Tier::dram, Tier::hbm);
  for (double block : {100.0, 1000.0, 3000.0, 9000.0, 1e6}) {
    EXPECT_NEAR(way.seconds(20 * block, 20), 2 * way.seconds(10 * block, 10), 1e-15) << block;
  }
}

std::vector<double> ends_of_both_directions(const HardwareProfile& hardware, double in_bytes,
                                            double out_bytes, double block_bytes) {
  const auto world =
      make_simgrid_world({{.hardware = &hardware, .observer = [](Resource, double, double, double) {}}});
  std::vector<double> ends_s = {0, 0};
  const auto move = [&](Tier from, Tier to, double bytes, double& end_s) {
    const double alone_s = route(hardware, 1, from, to).seconds(bytes, bytes / block_bytes);
    world->node(0).lane(from, to).move(alone_s, 0, [&](TransferPhase) { end_s = world->now_s(); });
  };
  world->run([&, begun = false](double now_s) mutable {
    if (!std::exchange(begun, true)) {
      if (in_bytes > 0) move(Tier::dram, Tier::hbm, in_bytes, ends_s[0]);
      if (out_bytes > 0) move(Tier::hbm, Tier::dram, out_bytes, ends_s[1]);
    }
    return now_s < 100 - 1e-6 ? 100.0 : -1.0;
  });
  return ends_s;
}

HardwareProfile duplex_machine(double share) {
  HardwareProfile hardware;
  hardware.pcie = {.h2d_bandwidth_bytes_per_s = 10e9, .d2h_bandwidth_bytes_per_s = 10e9};
  hardware.pcie.duplex_share = share;
  hardware.dram = Dram{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 1e12};
  return hardware;
}

class Duplex : public OwnProcess {};

TEST_F(Duplex, TwoCopiesAtOnceShareWhatBothDirectionsCarryTogether) {
  // 0.75 x (10 + 10) = 15 GB/s: 7.5 each. 5 GB out are over at 5/7.5 = 0.667 s, of 10 GB in 5 are left, at
  // 10 GB/s again: 0.667 + 0.5 = 1.167 s
  const std::vector<double> ends_s = ends_of_both_directions(duplex_machine(0.75), 10e9, 5e9, 1e6);
  EXPECT_NEAR(ends_s[0], 5 / 7.5 + 0.5, 1e-6);
  EXPECT_NEAR(ends_s[1], 5 / 7.5, 1e-6);
}

TEST_F(Duplex, OneDirectionAloneIsAsFastAsEver) {
  EXPECT_NEAR(ends_of_both_directions(duplex_machine(0.5), 10e9, 0, 1e6)[0], 1, 1e-6);
}

TEST_F(Duplex, WithoutAShareDirectionsDoNotSlowEachOther) {
  const std::vector<double> ends_s = ends_of_both_directions(duplex_machine(1), 10e9, 10e9, 1e6);
  EXPECT_NEAR(ends_s[0], 1, 1e-6);
  EXPECT_NEAR(ends_s[1], 1, 1e-6);
}

Scenario on_h100(const std::vector<std::string>& changes) {
  return parse_scenario(R"({"schema": "kvcap.scenario/1", "model": "llama-3.1-8b", "hardware": "h100-sxm",
    "workload": {"source": {"kind": "chat"}, "sessions": 1, "arrivals": {"sessions_per_s": 1}},
    "policy": {"name": "kv_offload", "tiers": [{"kind": "dram"}]}})",
                        "h100.json", changes);
}

TEST_F(Duplex, OfTheH100CarriesWhatWasMeasuredInBlocksOf2MiB) {
  const HardwareProfile hardware = on_h100({}).hardware;
  // 47.75 GB/s to the device, 46.2 GB/s from it, 83.4 GB/s both at once: bytes that take a second each alone.
  const std::vector<double> ends_s = ends_of_both_directions(hardware, 47.75e9, 46.2e9, 2 * kMiB);
  const double all_s = std::max(ends_s[0], ends_s[1]);
  EXPECT_NEAR((47.75 + 46.2) / all_s, 83.4, 0.01 * 83.4);
}

double load_s(const std::vector<std::string>& changes, int64_t tokens) {
  const Machine machine(on_h100(changes), tokens, tokens);
  const Hit hit{.tier = Tier::dram, .tokens = tokens};
  const Restoration restoration =
      machine.policy().restore({.history_tokens = tokens}, {&hit, 1}, machine.idle_rates());
  return total_load_s(restoration, Tier::dram, machine.route(Tier::dram, Tier::hbm));
}

TEST(BlockLayout, DecidesTheBytesOfOneCopy) {
  // Llama-3.1-8B has 4096 bytes of KV a token and layer, 32 layers. 16,000 tokens are 2.097 GB, in
  //   chunks of 64 tokens of a layer   256 KiB   31.76 GB/s
  //   blocks of 16 tokens of a layer    64 KiB   14.42 GB/s
  //   the same of all layers             2 MiB   47.75 GB/s
  constexpr double kBytes = 16000.0 * 32 * 4096;
  EXPECT_NEAR(load_s({}, 16000), kBytes / 31.76e9, 1e-6);
  EXPECT_NEAR(load_s({"policy.block_layout=layer"}, 16000), kBytes / 14.42e9, 1e-6);
  EXPECT_NEAR(load_s({"policy.block_layout=cross_layer"}, 16000), kBytes / 47.75e9, 1e-6);
  // Blocks of 64 tokens of a layer are today's chunks.
  EXPECT_NEAR(load_s({"policy.block_layout=layer", "serving.block_size=64"}, 16000), kBytes / 31.76e9, 1e-6);
}

TEST(BlockLayout, LargerBlocksAndMoreLayersAreNeverSlower) {
  double before_s = 0;
  for (const char* size : {"128", "64", "32", "16", "8"}) {
    const std::string block = std::string("serving.block_size=") + size;
    const double layer_s = load_s({"policy.block_layout=layer", block}, 12800);
    const double all_s = load_s({"policy.block_layout=cross_layer", block}, 12800);
    EXPECT_LE(all_s, layer_s) << size;
    EXPECT_GE(layer_s, before_s) << size;
    before_s = layer_s;
  }
}

TEST(BlockLayout, MoreTokensTakeLonger) {
  for (const char* layout : {"layer", "cross_layer"}) {
    double before_s = 0;
    for (int64_t tokens = 16; tokens <= 100000; tokens *= 2) {
      const double loaded_s = load_s({std::string("policy.block_layout=") + layout}, tokens);
      EXPECT_GT(loaded_s, before_s) << layout << tokens;
      before_s = loaded_s;
    }
  }
}

TEST(BlockLayout, CountsTheBlocksThatAreSaved) {
  const auto saves = [](const std::vector<std::string>& changes, int64_t tokens) {
    return Machine(on_h100(changes), 1000, 1000).policy().save_requests(tokens);
  };
  // 100 tokens: 2 chunks of 64 or 7 blocks of 16, in each of 32 layers or at once
  EXPECT_DOUBLE_EQ(saves({}, 100), 32 * 2);
  EXPECT_DOUBLE_EQ(saves({"policy.block_layout=layer"}, 100), 32 * 7);
  EXPECT_DOUBLE_EQ(saves({"policy.block_layout=cross_layer"}, 100), 7);
}

TEST(BlockLayout, OfAllLayersCannotBeComputedLayerByLayer) {
  try {
    on_h100({"policy.block_layout=cross_layer", "policy.preload=layerwise"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(
        std::string(error.what()).find("found \"cross_layer\" with preload \"layerwise\", allowed: layer"),
        std::string::npos)
        << error.what();
  }
}

TEST(Curves, RiseFromPointToPoint) {
  const auto error_of = [](const std::string& change) -> std::string {
    try {
      on_h100({change});
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_NE(
      error_of(
          R"(hardware.pcie.h2d_curve=[{"block_bytes":2,"bytes_per_s":5},{"block_bytes":2,"bytes_per_s":6}])")
          .find("hardware.pcie.h2d_curve.1.block_bytes: found 2, allowed: more than that of the previous "
                "point, 2"),
      std::string::npos);
  EXPECT_NE(
      error_of(
          R"(hardware.ssd.read_curve=[{"block_bytes":2,"bytes_per_s":5},{"block_bytes":4,"bytes_per_s":4}])")
          .find("hardware.ssd.read_curve.1.bytes_per_s: found 4, allowed: at least the rate at smaller "
                "block_bytes, 5"),
      std::string::npos);
  // Another queue depth is another curve.
  EXPECT_EQ(
      error_of(
          R"(hardware.ssd.read_curve=[{"block_bytes":4,"bytes_per_s":5},{"block_bytes":2,"bytes_per_s":6,"queue_depth":8}])"),
      "none");
}

TEST(Curves, SayWhenABandwidthIsOutOfTheirReach) {
  const auto notes = [](const std::string& change) { return on_h100({change}).notes; };
  const auto is_note = [](const std::string& note) {
    return note.find(
               "hardware.pcie.h2d_bandwidth_bytes_per_s 100000000000 is not reached: h2d_curve ends at") == 0;
  };
  const std::vector<std::string> faster = notes("hardware.pcie.h2d_bandwidth_bytes_per_s=100e9");
  EXPECT_EQ(std::count_if(faster.begin(), faster.end(), is_note), 1) << (faster.empty() ? "" : faster.back());
  EXPECT_EQ(notes("hardware.pcie.h2d_bandwidth_bytes_per_s=26e9").size(), notes("seed=1").size());
}

// A thousand requests of 10 us over four drives: 2.5 ms beside nothing to move.
TEST(SsdRequests, AreDividedOverTheDrives) {
  HardwareProfile machine;
  machine.gpu.count = 1;
  machine.pcie = {.h2d_bandwidth_bytes_per_s = 1e12, .d2h_bandwidth_bytes_per_s = 1e12};
  machine.ssd = Ssd{.count = 4,
                    .capacity_bytes = 1e12,
                    .read_bandwidth_bytes_per_s = 1e9,
                    .write_bandwidth_bytes_per_s = 1e9,
                    .request_overhead_s = 10e-6};
  EXPECT_DOUBLE_EQ(route(machine, 1, Tier::ssd, Tier::hbm).seconds(0, 1000), 2.5e-3);
  EXPECT_DOUBLE_EQ(route(machine, 1, Tier::hbm, Tier::ssd).seconds(0, 1000), 2.5e-3);
  EXPECT_DOUBLE_EQ(route(machine, 1, Tier::ssd, Tier::hbm).seconds(4e6, 0), 1e-3);  // 4 MB at 4 GB/s
}

}  // namespace
}  // namespace kvcap::links_test
