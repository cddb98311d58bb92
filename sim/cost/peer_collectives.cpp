#include "cost/peer_collectives.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/collective_table.h"

namespace kvcap {
namespace {

// For one kind of server with 2, 4 and 8 GPUs: the latency of the smallest message, and the share of PCIe's
// bandwidth in one direction that large all-reduces reach (the "bus bandwidth" of nccl-tests). sigma:
// standard deviation of ln(measured time / derived time) over servers of the kind. Sources and their
// measurements: hwprofiles/efficiency.md.
struct PeerTimes {
  std::array<double, 3> latency_s;
  std::array<double, 3> share;
  double sigma = 0;
};
constexpr std::array kGroups = {2.0, 4.0, 8.0};

// One entry per value of Peer, in the order of the enum; each is at most as fast as the one before.
constexpr PeerTimes kPeerTimes[] = {
    {.latency_s = {4.2e-6, 12.7e-6, 24e-6}, .share = {0.75, 0.58, 0.47}, .sigma = 0.4},
    {.latency_s = {4.8e-6, 14.6e-6, 27.6e-6}, .share = {0.75, 0.58, 0.47}, .sigma = 0.6},
    {.latency_s = {10e-6, 20e-6, 40e-6}, .share = {0.5, 0.4, 0.2}, .sigma = 0.6}};
// Error if the kind of server is unknown and assumed to be `host`; a server with peer access is 2 to 3 times
// as fast.
constexpr double kUnknownSigma = 0.8;

// NCCL sends a flag with every word of small messages, so their bytes count twice; the engine's own kernel
// does not.
constexpr double kFlaggedBytes = 512 * 1024;
constexpr double kSmallestBytes = 256, kLargestBytes = 1 << 30;
constexpr int64_t kMostGroups = 64;  // largest group for collectives_of()

const PeerTimes& times_of(Peer peer) { return kPeerTimes[static_cast<std::size_t>(peer)]; }

// Interpolates linearly between logarithms.
double between(double x, double x0, double y0, double x1, double y1) {
  return y0 * std::pow(y1 / y0, std::log(x / x0) / std::log(x1 / x0));
}

// Returns the value for a group of any size. Beyond the largest measured group, the value is constant or, if
// `grows`, proportional to the number of GPUs.
double of_group(const std::array<double, 3>& values, double gpus, bool grows) {
  if (gpus >= kGroups.back()) return values.back() * (grows ? gpus / kGroups.back() : 1);
  const std::size_t i = gpus < kGroups[1] ? 0 : 1;
  return between(gpus, kGroups[i], values[i], kGroups[i + 1], values[i + 1]);
}

// Returns how often (t - 1) / t of the buffer crosses each link.
double passes_of(CollectiveKind kind) { return kind == &Collectives::all_reduce ? 2 : 1; }

bool has_custom_kernel(Peer peer, int64_t gpus) { return peer != Peer::host && gpus == 2; }

double derived_s(const Pcie& pcie, Peer peer, CollectiveKind kind, int64_t gpus, double bytes) {
  const PeerTimes& times = times_of(peer);
  const auto t = static_cast<double>(gpus);
  // A copy out of one GPU is a copy into its neighbour, so the slower direction limits both.
  const double link = std::min(pcie.d2h_bandwidth_bytes_per_s, pcie.h2d_bandwidth_bytes_per_s);
  const bool custom = kind == &Collectives::all_reduce && has_custom_kernel(peer, gpus);
  const double sent = bytes + (custom ? 0 : std::min(bytes, kFlaggedBytes));
  return of_group(times.latency_s, t, true) +
         passes_of(kind) * (t - 1) / t * sent / (link * of_group(times.share, t, false));
}

CollectiveTable group_of(const std::vector<CollectivePoint>& points, int64_t gpus) {
  std::vector<CollectivePoint> group;
  for (const CollectivePoint& point : points) {
    if (point.gpus == gpus) group.push_back(point);
  }
  return CollectiveTable(group);
}

// Interpolates between two measured group sizes. A smaller group takes the time of the smallest measured one;
// the time of a larger group is that of the largest, multiplied by the ratio of GPUs.
double measured_s(const std::vector<CollectivePoint>& points, int64_t gpus, double bytes) {
  int64_t below = 0, above = 0;
  for (const CollectivePoint& point : points) {
    if (point.gpus <= gpus) below = std::max(below, point.gpus);
    if (point.gpus >= gpus && (above == 0 || point.gpus < above)) above = point.gpus;
  }
  if (below == 0 || above == below) return group_of(points, above).time_s(bytes);
  const double below_s = group_of(points, below).time_s(bytes);
  const double wanted = static_cast<double>(gpus), less = static_cast<double>(below);
  if (above == 0) return below_s * wanted / less;
  const double above_s = group_of(points, above).time_s(bytes);
  return between(wanted, less, below_s, static_cast<double>(above), above_s);
}

// Returns the peer access of the server on which the profile's times were measured; nullopt: NVLink.
std::optional<Peer> measured_on(const HardwareProfile& hardware) {
  if (hardware.collectives->peer) return hardware.collectives->peer;
  return hardware.nvlink ? std::nullopt : peer_of(hardware);
}

// Returns the time on this profile's kind of server. Times that were measured on another kind serve as
// bounds: a server with a slower interconnect is never predicted to beat one with a faster interconnect.
double time_s(const HardwareProfile& hardware, CollectiveKind kind, int64_t gpus, double bytes) {
  const Peer peer = *peer_of(hardware);
  const double derived = derived_s(hardware.pcie, peer, kind, gpus, bytes);
  if (!hardware.collectives || ((*hardware.collectives).*kind).empty()) return derived;
  const double measured = measured_s((*hardware.collectives).*kind, gpus, bytes);
  const std::optional<Peer> on = measured_on(hardware);
  if (on == peer) return measured;
  return !on || *on < peer ? std::max(measured, derived) : std::min(measured, derived);
}

}  // namespace

std::optional<Peer> peer_of(const HardwareProfile& hardware) {
  if (hardware.nvlink && !hardware.peer) return std::nullopt;
  return hardware.peer.value_or(Peer::host);
}

bool has_own_collectives(const HardwareProfile& hardware) {
  return hardware.collectives && !hardware.collectives->all_reduce.empty() &&
         measured_on(hardware) == peer_of(hardware);
}

std::vector<CollectivePoint> collective_points(const HardwareProfile& hardware, CollectiveKind kind,
                                               int64_t gpus) {
  std::vector<CollectivePoint> points;
  if (gpus < 2) return points;
  if (hardware.collectives && (!peer_of(hardware) || has_own_collectives(hardware))) {
    for (const CollectivePoint& point : (*hardware.collectives).*kind) {
      if (point.gpus == gpus) points.push_back(point);
    }
  }
  if (!points.empty() || !peer_of(hardware)) return points;
  for (double bytes = kSmallestBytes; bytes <= kLargestBytes; bytes *= 2) {
    points.push_back({gpus, bytes, time_s(hardware, kind, gpus, bytes)});
  }
  return points;
}

std::optional<Collectives> collectives_of(const HardwareProfile& hardware) {
  const std::optional<Peer> peer = peer_of(hardware);
  if (!peer || hardware.gpu.count < 2) return hardware.collectives;
  Collectives all{.peer = peer};
  for (CollectiveKind kind : {&Collectives::all_reduce, &Collectives::all_gather, &Collectives::all_to_all}) {
    for (int64_t gpus = 2; gpus <= std::min(hardware.gpu.count, kMostGroups); ++gpus) {
      const std::vector<CollectivePoint> points = collective_points(hardware, kind, gpus);
      (all.*kind).insert((all.*kind).end(), points.begin(), points.end());
    }
  }
  return all;
}

std::optional<RegimeError> peer_error(const HardwareProfile& hardware) {
  if (!peer_of(hardware) || has_own_collectives(hardware)) return std::nullopt;
  return RegimeError{.sigma = hardware.peer ? times_of(*hardware.peer).sigma : kUnknownSigma};
}

bool has_custom_all_reduce(const HardwareProfile& hardware, int64_t gpus) {
  const std::optional<Peer> peer = peer_of(hardware);
  return !peer || has_custom_kernel(*peer, gpus);
}

std::string link_text(const HardwareProfile& hardware) {
  const std::optional<Peer> peer = peer_of(hardware);
  if (!peer) return "NVLink";
  if (!hardware.peer) return "PCIe (hardware.peer not given: host assumed)";
  return "PCIe (hardware.peer " + std::string(kPeerNames[static_cast<std::size_t>(*peer)]) + ")";
}

std::string peer_assumption(const HardwareProfile& hardware) {
  if (hardware.peer || !peer_of(hardware) || has_own_collectives(hardware)) return "";
  return "GPUs without NVLink are assumed to reach each other through the host; if the server has peer "
         "access, set hardware.peer to direct or switch (collectives 2 to 3 times as fast)";
}

}  // namespace kvcap
