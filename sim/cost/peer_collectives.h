// Computes the times of collectives over NVLink, or over PCIe with the peer access of a server. A profile's
// measured times apply only to the kind of server on which they were measured. For other kinds, the times are
// derived from PCIe's bandwidth, with shares and latencies measured on servers of that kind
// (hwprofiles/efficiency.md, Collectives). Servers with peer access are 2 to 3 times as fast as servers that
// copy through the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

// Returns the peer access that collectives use; nullopt: they use NVLink.
std::optional<Peer> peer_of(const HardwareProfile& hardware);

// True iff the profile has measured times for the links that its collectives use.
bool has_own_collectives(const HardwareProfile& hardware);

using CollectiveKind = std::vector<CollectivePoint> Collectives::*;

// Returns the timing points of one group size, by ascending bytes. Returns none for NVLink without measured
// times and for a single GPU.
std::vector<CollectivePoint> collective_points(const HardwareProfile& hardware, CollectiveKind kind,
                                               int64_t gpus);

// Returns the timing points of collectives for every group size in the server: over PCIe measured or derived,
// over NVLink from the profile.
std::optional<Collectives> collectives_of(const HardwareProfile& hardware);

// Returns the error of the derived times for this kind of server; nullopt if the profile has measured times
// for it, or NVLink.
std::optional<RegimeError> peer_error(const HardwareProfile& hardware);

// True iff engines reduce with their own kernel, which reads the other GPUs' memory: over NVLink, and over
// PCIe between two GPUs with peer access (vLLM, custom_all_reduce.py). Otherwise NCCL reduces.
bool has_custom_all_reduce(const HardwareProfile& hardware, int64_t gpus);

// Returns "NVLink", "PCIe (hardware.peer host)" or "PCIe (hardware.peer not given: host assumed)".
std::string link_text(const HardwareProfile& hardware);

// Returns what is assumed about a server whose profile lacks hardware.peer; empty if nothing is.
std::string peer_assumption(const HardwareProfile& hardware);

}  // namespace kvcap
