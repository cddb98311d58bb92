#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cost/routes.h"
#include "des/world.h"
#include "unit/cost_examples.h"
#include "unit/own_process.h"

namespace kvcap::simgrid_world_test {
namespace {

constexpr double kNever_s = std::numeric_limits<double>::infinity();

// DRAM and SSD are faster than PCIe, which both need on their way to the GPU.
HardwareProfile host_machine() {
  HardwareProfile hardware = machine();
  hardware.dram = Dram{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 100e9};
  hardware.ssd =
      Ssd{.capacity_bytes = 1e13, .read_bandwidth_bytes_per_s = 100e9, .write_bandwidth_bytes_per_s = 100e9};
  return hardware;
}

class SimgridWorld : public OwnProcess {
 protected:
  void SetUp() override {
    OwnProcess::SetUp();
    if (IsSkipped()) return;
    world_ =
        make_simgrid_world({{.hardware = &hardware_, .observer = [](Resource, double, double, double) {}}});
  }

  Node& node() const { return world_->node(0); }
  // Notes when it begins and ends.
  void move(Tier from, double alone_s, double latency_s = 0) {
    node().lane(from, Tier::hbm).move(alone_s, latency_s, [this](TransferPhase phase) {
      (phase == TransferPhase::began ? began_s_ : ended_s_).push_back(world_->now_s());
    });
  }
  // Does `begin` at time 0, and then nothing up to `until_s`.
  void run(const std::function<void()>& begin, double until_s) {
    world_->run([&, begun = false](double now_s) mutable {
      if (!std::exchange(begun, true)) begin();
      return now_s < until_s - 1e-6 ? until_s : -1;
    });
  }

  static void expect_dates(const std::vector<double>& dates, const std::vector<double>& expected) {
    ASSERT_EQ(dates.size(), expected.size());
    for (std::size_t i = 0; i < dates.size(); ++i) EXPECT_NEAR(dates[i], expected[i], 1e-8) << i;
  }

  const HardwareProfile hardware_ = host_machine();
  std::unique_ptr<World> world_;
  std::vector<double> began_s_, ended_s_;
};

TEST_F(SimgridWorld, LeavesSignalsToTheCaller) {
  run([&] { move(Tier::dram, 1); }, 2);
  for (const int number : {SIGINT, SIGSEGV, SIGBUS}) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    EXPECT_TRUE(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) << number;
  }
}

TEST_F(SimgridWorld, ServesALaneInOrderAndSharesLinksBetweenLanes) {
  run(
      [&] {
        move(Tier::dram, 1);
        move(Tier::dram, 1);
        move(Tier::ssd, 1);
        EXPECT_TRUE(began_s_.empty());  // not before this returns
      },
      10);
  // Two lanes at half the rate of PCIe each, then one alone.
  expect_dates(began_s_, {0, 0, 2});
  expect_dates(ended_s_, {2, 2, 3});
}

TEST_F(SimgridWorld, LetsNoBytesFlowDuringALatency) {
  run(
      [&] {
        move(Tier::dram, 1, 0.5);
        move(Tier::ssd, 1);
      },
      10);
  // Half a second alone; what is left of it, another half, takes twice as long, and so does as much of the
  // other.
  expect_dates(began_s_, {0, 0});
  expect_dates(ended_s_, {1.5, 2});
}

TEST_F(SimgridWorld, EndsWhatTakesNoTimeAtOnceButNeverBeforeTheCallerReturns) {
  run(
      [&] {
        for (int i = 0; i < 3; ++i) move(Tier::dram, 0);
        node().restore_compute().run(0, [this] { ended_s_.push_back(world_->now_s()); });
        EXPECT_TRUE(ended_s_.empty());
      },
      10);
  expect_dates(ended_s_, {0, 0, 0, 0});
}

TEST_F(SimgridWorld, SaysWhatALaneAndAQueueHaveStillToDo) {
  std::vector<double> pending_s;
  world_->run([&](double now_s) -> double {
    if (now_s == 0) {
      move(Tier::dram, 1);
      move(Tier::dram, 1);
      for (int i = 0; i < 3; ++i) node().restore_compute().run(1, [] {});
      return 0.25;
    }
    pending_s = {node().lane(Tier::dram, Tier::hbm).pending_s(), node().restore_compute().pending_s(),
                 node().restore_compute().served_s()};
    return -1;
  });
  expect_dates(pending_s, {1.75, 2.75, 0.25});
}

// SimGrid counts the bytes of one activity in 64 bits.
TEST_F(SimgridWorld, CarriesMoreBytesThanAnIntegerCounts) {
  constexpr double kYears_s = 1e9;  // x 26 GB/s = 2.6e19 bytes
  double pending_s = 0;
  world_->run([&](double now_s) -> double {
    if (now_s == 0) move(Tier::dram, kYears_s);
    if (now_s > 0 && now_s < kYears_s) pending_s = node().lane(Tier::dram, Tier::hbm).pending_s();
    return now_s < kYears_s / 4 ? kYears_s / 4 : now_s < kYears_s ? 2 * kYears_s : -1;
  });
  EXPECT_NEAR(pending_s, 0.75 * kYears_s, 1);
  ASSERT_EQ(ended_s_.size(), 1U);
  EXPECT_NEAR(ended_s_[0], kYears_s, 1);
}

// Beyond 97 days SimGrid's clock may miss a date that it adds up to by more than it takes for equal.
TEST_F(SimgridWorld, ReachesDatesThatAreMoreThanTwiceAsFarAway) {
  const std::vector<double> dates = {3.3, 2456640367.3947105, 7499217964.517663};
  std::size_t called = 0;
  world_->run([&](double now_s) -> double {
    if (called < dates.size()) {
      if (called == 0 || now_s >= dates[called - 1] - 1e-5) ++called;
      return dates[called - 1];
    }
    if (now_s < dates.back() - 1e-5) return dates.back();
    // And so do transfers, where nobody waits for a date.
    if (called++ == dates.size()) {
      node().lane(Tier::dram, Tier::hbm).move(2 * dates.back() + 0.3, 0, [this](TransferPhase phase) {
        if (phase == TransferPhase::ended) ended_s_.push_back(world_->now_s());
        world_->wake();
      });
    }
    return ended_s_.empty() ? kNever_s : -1;
  });
  ASSERT_EQ(ended_s_.size(), 1U);
  EXPECT_NEAR(ended_s_[0], 3 * dates.back(), 1);
}

// An alarm that is called off must not slow down the one that follows it.
TEST_F(SimgridWorld, CallsTheLoopWhenItAskedHoweverOftenItChangesItsMind) {
  std::vector<double> calls_s;
  const auto wake = [this](TransferPhase phase) {
    if (phase == TransferPhase::ended) world_->wake();
  };
  world_->run([&](double now_s) -> double {
    calls_s.push_back(now_s);
    if (now_s == 0) {
      for (int i = 0; i < 4; ++i) node().lane(Tier::dram, Tier::hbm).move(0.25, 0, wake);
    }
    return now_s > 40 ? -1 : 60 - static_cast<double>(calls_s.size());
  });
  expect_dates(calls_s, {0, 0.25, 0.5, 0.75, 1, 55});
}

TEST_F(SimgridWorld, DoesNotCallTheLoopWhenItHasPutItOff) {
  std::vector<double> calls_s;
  world_->run([&](double now_s) -> double {
    calls_s.push_back(now_s);
    if (now_s == 0) node().restore_compute().run(1, [this] { world_->wake(); });
    const std::vector<double> next_s = {5, kNever_s, 9};
    if (calls_s.size() == 2) node().restore_compute().run(7, [this] { world_->wake(); });
    return calls_s.size() <= next_s.size() ? next_s[calls_s.size() - 1] : -1;
  });
  expect_dates(calls_s, {0, 1, 8, 9});
}

// Time passes without SimGrid while nothing is under way: its clock stays behind, what it moves does not.
TEST_F(SimgridWorld, MovesBytesInTimeAfterDatesAtWhichNothingMoved) {
  const std::vector<double> dates_s = {0, 1e7, 1e7 + 0.5, 1e7 + 3, 2e7, 2e7 + 1};
  std::size_t calls = 0;
  world_->run([&](double now_s) -> double {
    EXPECT_NEAR(now_s, dates_s[calls], 1e-8);
    if (calls == 1 || calls == 4) move(Tier::dram, 2);
    if (calls == 2) node().restore_compute().run(0.25, [this] { ended_s_.push_back(world_->now_s()); });
    return ++calls < dates_s.size() ? dates_s[calls] : -1;
  });
  expect_dates(began_s_, {1e7, 2e7});
  expect_dates(ended_s_, {1e7 + 0.75, 1e7 + 2});
}

struct Flow {
  Tier from, to;
  double start_s = 0, alone_s = 0;
  double left_bytes = 0, bytes_per_s = 0, end_s = kNever_s;
};

// How often the bytes of a flow cross each link; the flash of an SSD is one for reads and writes.
std::map<int, int> crossings_of(const HardwareProfile& hardware, const Flow& flow) {
  std::map<int, int> crossings;
  for (const Hop& hop : route(hardware, 1, flow.from, flow.to).hops) {
    crossings[static_cast<int>(hop.resource)] += hop.crossings;
    if (hop.resource == Resource::ssd_read || hop.resource == Resource::ssd_write) ++crossings[-1];
  }
  return crossings;
}

// Max-min sharing by progressive filling: all rates grow alike until a link is full. The flows on it keep
// theirs, and the others grow on.
void share(const HardwareProfile& hardware, const std::vector<Flow*>& flows) {
  std::map<int, double> left = {
      {-1, std::max(hardware.ssd->read_bandwidth_bytes_per_s, hardware.ssd->write_bandwidth_bytes_per_s)}};
  for (const Flow* flow : flows) {
    for (const Hop& hop : route(hardware, 1, flow->from, flow->to).hops)
      left[static_cast<int>(hop.resource)] = hop.bytes_per_s;
  }
  std::vector<Flow*> growing = flows;
  for (double level = 0; !growing.empty();) {
    double grows = kNever_s;
    std::map<int, int> users;
    for (const Flow* flow : growing) {
      for (const auto& [link, times] : crossings_of(hardware, *flow)) users[link] += times;
    }
    for (const auto& [link, times] : users) grows = std::min(grows, left[link] / times);
    level += grows;
    for (const auto& [link, times] : users) left[link] -= grows * times;
    std::erase_if(growing, [&](Flow* flow) {
      flow->bytes_per_s = level;
      const auto crossings = crossings_of(hardware, *flow);
      return std::any_of(crossings.begin(), crossings.end(),
                         [&](const auto& one) { return left[one.first] < 1; });
    });
  }
}

// Sets the ends of flows, which are in order of their starts; each lane carries one after the other.
void carry(const HardwareProfile& hardware, std::vector<Flow>& flows) {
  for (double now_s = 0;;) {
    std::vector<Flow*> carried;
    double next_s = kNever_s;
    for (Flow& flow : flows) {
      const bool is_behind = std::any_of(carried.begin(), carried.end(), [&](const Flow* other) {
        return other->from == flow.from && other->to == flow.to;
      });
      if (flow.start_s > now_s) next_s = std::min(next_s, flow.start_s);
      if (flow.start_s <= now_s && flow.end_s == kNever_s && !is_behind) carried.push_back(&flow);
    }
    if (carried.empty() && next_s == kNever_s) return;
    share(hardware, carried);
    for (const Flow* flow : carried) next_s = std::min(next_s, now_s + flow->left_bytes / flow->bytes_per_s);
    for (Flow* flow : carried) {
      flow->left_bytes -= (next_s - now_s) * flow->bytes_per_s;
      if (flow->left_bytes < 1) flow->end_s = next_s;
    }
    now_s = next_s;
  }
}

TEST_F(SimgridWorld, EndsTransfersWhenTheirSharesOfTheLinksEndThem) {
  const std::vector<std::pair<Tier, Tier>> lanes = {{Tier::dram, Tier::hbm},
                                                    {Tier::ssd, Tier::hbm},
                                                    {Tier::hbm, Tier::dram},
                                                    {Tier::hbm, Tier::ssd},
                                                    {Tier::dram, Tier::ssd}};
  const RandomStream random(5, "flows");
  std::vector<Flow> flows;
  double start_s = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const auto& [from, to] = lanes[static_cast<std::size_t>(random.uniform(i, 0) * 5)];
    start_s += 0.4 * random.exponential(i, 1);
    Flow flow{from, to, start_s, 0.01 + random.exponential(i, 2)};
    flow.left_bytes = flow.alone_s * route(hardware_, 1, from, to).bytes_per_s();
    flows.push_back(flow);
  }
  std::vector<double> ends_s(flows.size());
  std::size_t begun = 0;
  world_->run([&](double now_s) -> double {
    for (; begun < flows.size() && flows[begun].start_s <= now_s + 1e-9; ++begun) {
      node()
          .lane(flows[begun].from, flows[begun].to)
          .move(flows[begun].alone_s, 0, [&, i = begun](TransferPhase phase) {
            if (phase == TransferPhase::ended) ends_s[i] = world_->now_s();
          });
    }
    if (begun < flows.size()) return flows[begun].start_s;
    return now_s < 1000 ? 1000 : -1;
  });
  carry(hardware_, flows);
  int64_t alone = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    EXPECT_NEAR(ends_s[i], flows[i].end_s, 1e-7) << i;
    alone += std::abs(flows[i].end_s - flows[i].start_s - flows[i].alone_s) < 1e-6;
  }
  EXPECT_GT(alone, 10);  // had their routes to themselves
  EXPECT_LT(alone, 100);
}

TEST_F(SimgridWorld, TellsNothingOfWhatWasLostWithItsNode) {
  bool computed = false;
  world_->run([&](double now_s) -> double {
    if (now_s == 0) {
      for (int i = 0; i < 3; ++i) move(Tier::dram, 1);
      for (int i = 0; i < 3; ++i) node().restore_compute().run(1, [&] { computed = true; });
      return 0.5;
    }
    if (now_s < 1) {
      world_->drop_all(0);
      EXPECT_EQ(node().lane(Tier::dram, Tier::hbm).pending_s(), 0);
      EXPECT_EQ(node().restore_compute().pending_s(), 0);
      return 4;
    }
    if (now_s < 5) {
      move(Tier::dram, 1);
      return 10;
    }
    return -1;
  });
  EXPECT_FALSE(computed);
  expect_dates(began_s_, {0, 4});
  expect_dates(ended_s_, {5});
}

}  // namespace
}  // namespace kvcap::simgrid_world_test
