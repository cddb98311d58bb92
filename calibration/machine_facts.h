// How the GPUs of a machine are attached, as Linux and the driver say it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace kvcap::calibration {

// Returns "NUMA node 1" of the PCI device "0000:3B:00.0"; empty if it has none or the kernel does not say.
std::string numa_text(std::string bus_id, const std::filesystem::path& devices = "/sys/bus/pci/devices");

// Returns what `nvidia-smi topo -m` calls the links between `count` GPUs, one row per GPU, and marks those
// without peer access: "links between GPUs: GPU0 X NV18, GPU1 NV18 X". `topology` may be empty.
std::string links_text(const std::string& topology, int64_t count,
                       const std::function<bool(int64_t from, int64_t to)>& has_peer_access);

}  // namespace kvcap::calibration
