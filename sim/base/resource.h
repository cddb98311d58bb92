// Resource: a device or link with limited capacity; the names are those of `utilization` in a result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvcap {

// nic: between nodes; named only if nodes send each other KV (serving/handover.h).
enum class Resource : uint8_t { gpu, pcie_h2d, pcie_d2h, nvlink, dram, ssd_read, ssd_write, remote, nic };

inline constexpr std::size_t kResourceCount = 9;
inline constexpr std::array<std::string_view, kResourceCount> kResourceNames = {
    "gpu", "pcie_h2d", "pcie_d2h", "nvlink", "dram", "ssd_read", "ssd_write", "remote", "nic"};

constexpr std::size_t index(Resource resource) { return static_cast<std::size_t>(resource); }

}  // namespace kvcap
