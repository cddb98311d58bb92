// Computes times of collectives over NVLink, or over PCIe with the peer access of a server. Times measured in
// a profile apply to the kind of server that they were measured on. For other kinds they are derived from
// PCIe's bandwidth with shares and latencies measured on servers of that kind (hwprofiles/efficiency.md,
// Collectives); between such servers times differ by a factor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

// Returns the peer access that collectives use; none: NVLink.
std::optional<Peer> peer_of(const HardwareProfile& hardware);

// True iff the profile has measured times for the links that its collectives use.
bool has_own_collectives(const HardwareProfile& hardware);

using CollectiveKind = std::vector<CollectivePoint> Collectives::*;

// Returns the points of one group, in order of bytes. Empty: NVLink without measured times, or a single GPU.
std::vector<CollectivePoint> collective_points(const HardwareProfile& hardware, CollectiveKind kind,
                                               int64_t gpus);

// Returns the points of all groups of the server over PCIe, measured or derived; over NVLink, those of the
// profile.
std::optional<Collectives> collectives_of(const HardwareProfile& hardware);

// Returns the error of the server's kind if the profile has no measured times for it.
std::optional<RegimeError> peer_error(const HardwareProfile& hardware);

// True iff engines reduce with their own kernel, which reads the other GPUs' memory: over NVLink, and over
// PCIe between two GPUs with peer access (vLLM, custom_all_reduce.py). Otherwise NCCL reduces.
bool has_custom_all_reduce(const HardwareProfile& hardware, int64_t gpus);

// Returns "NVLink", "PCIe (hardware.peer host)" or "PCIe (hardware.peer not given, taken for host)".
std::string link_text(const HardwareProfile& hardware);

// Returns the assumption about a server whose profile does not give hardware.peer; empty: none.
std::string peer_assumption(const HardwareProfile& hardware);

}  // namespace kvcap
