// Times of collectives by what carries them: NVLink, or PCIe with the kind of peer access that a server has.
// Those that a profile measured hold for the kind of server that they were measured on. For another kind they
// follow from PCIe's bandwidth by shares and latencies that were measured on servers of that kind
// (hwprofiles/README.md, Collectives), which differ among themselves by a factor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

// What carries collectives; none: NVLink.
std::optional<Peer> peer_of(const HardwareProfile& hardware);

// Whether the profile has measured times of what carries its collectives.
bool has_own_collectives(const HardwareProfile& hardware);

using CollectiveKind = std::vector<CollectivePoint> Collectives::*;

// Points of one group, in order of bytes. Empty: NVLink without measured times, or a single GPU.
std::vector<CollectivePoint> collective_points(const HardwareProfile& hardware, CollectiveKind kind,
                                               int64_t gpus);

// Over PCIe: those of all groups that the server has, measured or not. Over NVLink: the profile's.
std::optional<Collectives> collectives_of(const HardwareProfile& hardware);

// Of a kind of server, where the profile has no measured times of it.
std::optional<RegimeError> peer_error(const HardwareProfile& hardware);

// Whether engines reduce by a kernel of their own, which reads the other GPUs' memory: over NVLink, and over
// PCIe between two GPUs with peer access (vLLM, custom_all_reduce.py). Else NCCL does.
bool has_custom_all_reduce(const HardwareProfile& hardware, int64_t gpus);

// "NVLink", "PCIe (hardware.peer host)", "PCIe (hardware.peer not given, taken for host)".
std::string link_text(const HardwareProfile& hardware);

// What is assumed of a server whose profile does not say hardware.peer; empty: nothing.
std::string peer_assumption(const HardwareProfile& hardware);

}  // namespace kvcap
