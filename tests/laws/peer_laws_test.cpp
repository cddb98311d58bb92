// Laws of links between GPUs without NVLink, for every such profile of the catalogue.
#include <gtest/gtest.h>

#include "cost/collective_table.h"
#include "cost/peer_collectives.h"
#include "scenario/load.h"

namespace kvcap::laws::peer_laws_test {
namespace {

constexpr CollectiveKind kKinds[] = {&Collectives::all_reduce, &Collectives::all_gather,
                                     &Collectives::all_to_all};
constexpr double kSizes[] = {1, 4096, 57344, 262144, 1e6, 8e6, 5e8, 4e9};

std::vector<HardwareProfile> without_nvlink() {
  std::vector<HardwareProfile> servers;
  for (const auto& entry : catalogue(Catalogue::hardware)) {
    HardwareProfile server = load_hardware(std::string(entry.name));
    server.gpu.count = 16;
    if (!server.nvlink) servers.push_back(server);
  }
  return servers;
}

double seconds(HardwareProfile server, Peer peer, CollectiveKind kind, int64_t gpus, double bytes) {
  server.peer = peer;
  return CollectiveTable(collective_points(server, kind, gpus)).time_s(bytes);
}

TEST(Peer, ThroughTheHostIsNeverFasterThanASwitchNorThatFasterThanDirectAccess) {
  ASSERT_GE(without_nvlink().size(), 10);
  for (const HardwareProfile& server : without_nvlink()) {
    for (CollectiveKind kind : kKinds) {
      for (int64_t gpus : {2, 3, 4, 6, 8, 16}) {
        for (double bytes : kSizes) {
          const auto of = [&](Peer peer) { return seconds(server, peer, kind, gpus, bytes); };
          const double least = 1 - 1e-9;
          EXPECT_GE(of(Peer::host), least * of(Peer::pcie_switch)) << server.name << gpus << " " << bytes;
          EXPECT_GE(of(Peer::pcie_switch), least * of(Peer::direct)) << server.name << gpus << " " << bytes;
        }
      }
    }
  }
}

TEST(Peer, MakesAnAllReduceOfMoreGpusNoCheaper) {
  for (const HardwareProfile& server : without_nvlink()) {
    for (Peer peer : {Peer::direct, Peer::pcie_switch, Peer::host}) {
      for (double bytes : kSizes) {
        double before_s = 0;
        for (int64_t gpus = 2; gpus <= 16; ++gpus) {
          const double now_s = seconds(server, peer, &Collectives::all_reduce, gpus, bytes);
          EXPECT_GE(now_s, (1 - 1e-9) * before_s) << server.name << " " << gpus << " " << bytes;
          before_s = now_s;
        }
      }
    }
  }
}

}  // namespace
}  // namespace kvcap::laws::peer_laws_test
