// Collectives over PCIe by the kind of peer access, against sums.
#include "cost/peer_collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/collective_table.h"
#include "cost/cost_model.h"
#include "cost/drawn_machine.h"
#include "cost/gpu_memory.h"
#include "laws/machines.h"
#include "run/drawn_scenario.h"
#include "scenario/load.h"
#include "text/result_sentences.h"
#include "unit/cost_examples.h"

namespace kvcap::peer_collectives_test {
namespace {

constexpr double kMiB = 1 << 20;
constexpr CollectiveKind kReduce = &Collectives::all_reduce;

// PCIe carries 25 GB/s to a GPU and 20 from one.
HardwareProfile pcie_machine(std::optional<Peer> peer = std::nullopt) {
  HardwareProfile hardware = machine();
  hardware.gpu.count = 16;
  hardware.nvlink.reset();
  hardware.peer = peer;
  return hardware;
}

double reduce_s(const HardwareProfile& hardware, int64_t gpus, double bytes = kMiB) {
  return CollectiveTable(collective_points(hardware, kReduce, gpus)).time_s(bytes);
}

TEST(PeerCollectives, TakeALatencyAndAShareOfPcieByTheKindOfServer) {
  // Twice 1/2, 3/4 or 7/8 of the buffer over a share of 20 GB/s; its first 512 KiB count twice in NCCL.
  const double sent = 1.5 * kMiB;
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::direct), 2), 4.2e-6 + kMiB / (0.75 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::direct), 4), 12.7e-6 + 1.5 * sent / (0.58 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::direct), 8), 24e-6 + 1.75 * sent / (0.47 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::pcie_switch), 2), 4.8e-6 + kMiB / (0.75 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::pcie_switch), 4), 14.6e-6 + 1.5 * sent / (0.58 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::pcie_switch), 8), 27.6e-6 + 1.75 * sent / (0.47 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::host), 2), 10e-6 + sent / (0.5 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::host), 4), 20e-6 + 1.5 * sent / (0.4 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::host), 8), 40e-6 + 1.75 * sent / (0.2 * 20e9));
  EXPECT_DOUBLE_EQ(reduce_s(pcie_machine(Peer::host), 2, 65536), 10e-6 + 2 * 65536 / (0.5 * 20e9));
}

TEST(PeerCollectives, OfOtherGroupsFollowFromThoseOfTwoFourAndEight) {
  // log2(3) - 1 of the way from 2 to 4 in octaves: 10 us grow to 15. Sixteen take 2 x 40 us.
  const double share = 0.5 * std::pow(0.4 / 0.5, std::log2(3) - 1), sent = 1.5 * kMiB;
  EXPECT_NEAR(reduce_s(pcie_machine(Peer::host), 3), 15e-6 + 4.0 / 3 * sent / (share * 20e9), 1e-12);
  EXPECT_NEAR(reduce_s(pcie_machine(Peer::host), 16), 80e-6 + 2 * 15.0 / 16 * sent / (0.2 * 20e9), 1e-12);
}

TEST(PeerCollectives, AreThoseOfTheHostWhereNobodySaysMore) {
  EXPECT_EQ(peer_of(pcie_machine()), Peer::host);
  EXPECT_EQ(reduce_s(pcie_machine(), 4), reduce_s(pcie_machine(Peer::host), 4));
  EXPECT_NE(peer_assumption(pcie_machine()).find("set hardware.peer to direct or switch"), std::string::npos);
  EXPECT_EQ(peer_assumption(pcie_machine(Peer::host)), "");
  EXPECT_EQ(peer_assumption(machine()), "");
}

TEST(PeerCollectives, DoNotUseNvlinkWherePeerIsGiven) {
  HardwareProfile hardware = machine();
  EXPECT_EQ(peer_of(hardware), std::nullopt);
  hardware.peer = Peer::host;
  EXPECT_DOUBLE_EQ(CostModel(llama_2_7b(), hardware, 2).all_reduce_s(kMiB),
                   10e-6 + 1.5 * kMiB / (0.5 * 20e9));
}

HardwareProfile measured_directly() {
  HardwareProfile hardware = pcie_machine(Peer::direct);
  hardware.collectives =
      Collectives{.peer = Peer::direct,
                  .all_reduce = {{2, 1024, 5e-6}, {2, kMiB, 60e-6}, {4, 1024, 11e-6}, {4, kMiB, 320e-6}}};
  return hardware;
}

TEST(PeerCollectives, ThatWereMeasuredHoldForTheirKindOfServerAndBoundSlowerOnes) {
  HardwareProfile hardware = measured_directly();
  EXPECT_TRUE(has_own_collectives(hardware));
  EXPECT_DOUBLE_EQ(reduce_s(hardware, 2), 60e-6);
  // Of three GPUs, log2(3) - 1 of the way from 60 to 320 us in logarithms.
  EXPECT_NEAR(reduce_s(hardware, 3), 60e-6 * std::pow(320.0 / 60, std::log2(3) - 1), 1e-11);
  EXPECT_NEAR(reduce_s(hardware, 8), 2 * 320e-6, 1e-11);
  hardware.peer = Peer::host;
  EXPECT_FALSE(has_own_collectives(hardware));
  EXPECT_DOUBLE_EQ(reduce_s(hardware, 2), 10e-6 + 1.5 * kMiB / (0.5 * 20e9));  // 167 us, more than 60
  EXPECT_DOUBLE_EQ(reduce_s(hardware, 4), 320e-6);                             // more than 20 + 295
  hardware.peer.reset();
  EXPECT_FALSE(has_own_collectives(hardware));
  EXPECT_DOUBLE_EQ(reduce_s(hardware, 2), 10e-6 + 1.5 * kMiB / (0.5 * 20e9));
}

TEST(PeerCollectives, OfAFasterKindAreAtMostThoseOfASlowerOne) {
  HardwareProfile hardware = measured_directly();
  hardware.collectives->peer = Peer::host;
  EXPECT_DOUBLE_EQ(reduce_s(hardware, 2), 60e-6);                                       // less than 4.2 + 70
  EXPECT_DOUBLE_EQ(reduce_s(hardware, 4), 12.7e-6 + 1.5 * 1.5 * kMiB / (0.58 * 20e9));  // less than 320
}

TEST(PeerCollectives, OfAProfileThatNamesNoServerAreItsOwn) {
  HardwareProfile hardware = measured_directly();
  hardware.collectives->peer.reset();
  hardware.peer.reset();
  EXPECT_TRUE(has_own_collectives(hardware));
  EXPECT_DOUBLE_EQ(reduce_s(hardware, 2), 60e-6);
}

TEST(PeerCollectives, HaveTheErrorOfAKindOfServerUnlessTheyWereMeasured) {
  const auto error = [](const HardwareProfile& hardware) {
    for (const Regime& regime : kRegimes) {
      if (regime.name == "collectives") return error_of(hardware, regime).sigma;
    }
    return 0.0;
  };
  HardwareProfile hardware = measured_directly();
  hardware.errors.collectives = RegimeError{.sigma = 0.3};
  EXPECT_EQ(error(hardware), 0.3);
  hardware.peer = Peer::host;
  EXPECT_EQ(error(hardware), 0.6);
  hardware.peer = Peer::pcie_switch;
  EXPECT_EQ(error(hardware), 0.6);
  hardware.peer.reset();
  EXPECT_EQ(error(hardware), 0.8);
  hardware.collectives.reset();
  hardware.peer = Peer::direct;
  EXPECT_EQ(error(hardware), 0.4);
}

TEST(PeerCollectives, AreDrawnOfAllGroupsAndApartFromCopies) {
  const HardwareProfile hardware = pcie_machine(Peer::host);
  RegimeFactors factors;
  factors.fill(1);
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    if (kRegimes[i].name == "collectives") factors[i] = 1.5;
    if (kRegimes[i].name == "pcie") factors[i] = 3;
  }
  const HardwareProfile slow = machine_with(hardware, factors);
  for (int64_t gpus : {2, 3, 8, 16}) {
    EXPECT_NEAR(reduce_s(slow, gpus), 1.5 * reduce_s(hardware, gpus), 1e-12) << gpus;
  }
  EXPECT_DOUBLE_EQ(slow.pcie.d2h_bandwidth_bytes_per_s, 20e9 / 3);
}

TEST(PeerCollectives, AreTheEnginesOwnKernelOnlyBetweenTwoGpusWithPeerAccess) {
  EXPECT_TRUE(has_custom_all_reduce(machine(), 8));
  EXPECT_TRUE(has_custom_all_reduce(pcie_machine(Peer::direct), 2));
  EXPECT_TRUE(has_custom_all_reduce(pcie_machine(Peer::pcie_switch), 2));
  EXPECT_FALSE(has_custom_all_reduce(pcie_machine(Peer::direct), 4));
  EXPECT_FALSE(has_custom_all_reduce(pcie_machine(Peer::host), 2));
  EXPECT_FALSE(has_custom_all_reduce(pcie_machine(), 2));
}

Scenario served(const std::string& hardware, int64_t gpus, const std::vector<std::string>& changes = {}) {
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "model": "qwen2.5-7b", "policy": "recompute", "hardware": ")" +
          hardware + R"(", "workload": {"source": {"kind": "chat"}}, "serving": {"engine_version": "0.19.0",
          "sampling": {"temperature": 0}, "max_model_len": 4096, "gpu_memory_utilization": 0.75,
          "tensor_parallel_size": )" +
          std::to_string(gpus) + "}}",
      "tp", changes);
}

bool says(const std::vector<std::string>& sentences, const std::string& text) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& one) { return one.find(text) != std::string::npos; });
}

TEST(Peer, ThatNobodyGaveIsNamedInTheAnswerOfSeveralGpus) {
  const std::string assumed = "assumed to reach each other through the host";
  const auto names_it = [&](const Scenario& scenario) {
    Workload workload;
    workload.sessions.push_back({.first_turn = 0, .turn_count = 1});
    workload.turns.push_back({100, 2});
    const RunResult result = laws::run(scenario, workload);
    const bool in_words = says(sentences({{{"one", &result}}, {}}), assumed);
    EXPECT_EQ(in_words, says(result.notes, assumed));
    EXPECT_EQ(in_words, says(outside_validation({scenario}, 4096), assumed));
    return in_words;
  };
  EXPECT_TRUE(names_it(served("l40s-8x", 2)));
  EXPECT_FALSE(names_it(served("l40s-8x", 1)));
  EXPECT_FALSE(names_it(served("rtx-pro-6000-8x", 2)));
  const Scenario known = served("l40s-8x", 2, {"hardware.peer=switch"});
  EXPECT_FALSE(names_it(known));
  EXPECT_TRUE(says(outside_validation({known}, 4096),
                   "collectives of 2 GPUs: no measured times over PCIe (hardware.peer switch)"));
  EXPECT_TRUE(says(outside_validation({served("rtx-pro-6000-8x", 2)}, 4096),
                   "collectives was not measured on servers whose GPUs reach each other in another way"));
}

TEST(Peer, OfTheRtxPro6000IsDirectAndItsTableIsNotTheHosts) {
  const auto reduce = [](const char* peer) {
    const Scenario scenario = served("rtx-pro-6000-8x", 2, {std::string("hardware.peer=") + peer});
    return CostModel(scenario.model, scenario.hardware, 2).all_reduce_s(65536);
  };
  EXPECT_DOUBLE_EQ(reduce("direct"), 6.187e-6);
  // 10 us, and 64 KiB twice at half of 50.5 GB/s.
  EXPECT_DOUBLE_EQ(reduce("host"), 10e-6 + 2 * 65536 / (0.5 * 50.5e9));
}

// A hundred requests of 512 and 256 tokens, eight at a time, and the same once more, which finds their
// prompts cached: the second hundred took 2.63 requests a second on one of two A100s of two NUMA nodes
// and 3.655 on both (cssnoeasy/a100-vllm-benchmark-blog e4226b0f).
TEST(TensorParallelOverPcie, BringsWhatItBroughtAUser) {
  const auto requests_per_s = [](int64_t gpus) {
    Workload workload;
    workload.concurrency = 8;
    workload.round_sessions = 100;
    workload.piece_begin = {0};
    for (uint32_t i = 0; i < 200; ++i) {
      workload.sessions.push_back({.first_turn = i, .turn_count = 1});
      workload.turns.push_back({512, 256});
      workload.pieces.push_back({1 + i % 100, 512});
      workload.piece_begin.push_back(workload.pieces.size());
    }
    const RunResult result =
        laws::run(served("a100-80g-pcie", gpus, {"hardware.gpu.count=2", "hardware.peer=host"}), workload);
    std::array<double, 2> end_s{};
    for (const TurnRecord& turn : result.turns) {
      double& end = end_s[turn.session / 100];
      end = std::max(end, turn.arrival_s + turn.e2el_s);
    }
    return 100 / (end_s[1] - end_s[0]);
  };
  EXPECT_NEAR(requests_per_s(1) / 2.63, 1, 0.1);
  EXPECT_NEAR(requests_per_s(2) / requests_per_s(1) / (3.655 / 2.63), 1, 0.1);
}

}  // namespace
}  // namespace kvcap::peer_collectives_test
