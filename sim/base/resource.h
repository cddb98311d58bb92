// Resource: a device or link with limited capacity; the names are those of `utilization` in a result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvcap {

enum class Resource : uint8_t {
  gpu,
  pcie_h2d,
  pcie_d2h,
  nvlink,
  dram,
  ssd_read,
  ssd_write,
  remote,
  nic,  // between nodes; shown only if nodes send each other KV (engine/handover/handover.h)
  cxl_read,
  cxl_write
};

struct ResourceRow {
  std::string_view name, title;
  std::string_view words;  // in sentences: "is bound by the GPU"
};

// In the order of the enumeration.
inline constexpr std::array kResources = {
    ResourceRow{"gpu", "GPU", "the GPU"},
    ResourceRow{"pcie_h2d", "PCIe to GPU", "the PCIe link to the GPU"},
    ResourceRow{"pcie_d2h", "PCIe from GPU", "the PCIe link from the GPU"},
    ResourceRow{"nvlink", "NVLink", "NVLink"},
    ResourceRow{"dram", "DRAM", "DRAM"},
    ResourceRow{"ssd_read", "SSD read", "reads from the SSDs"},
    ResourceRow{"ssd_write", "SSD write", "writes to the SSDs"},
    ResourceRow{"remote", "remote", "the remote store"},
    ResourceRow{"nic", "between nodes", "the NICs"},
    ResourceRow{"cxl_read", "CXL memory read", "reads from the CXL memory"},
    ResourceRow{"cxl_write", "CXL memory write", "writes to the CXL memory"},
};

inline constexpr std::size_t kResourceCount = kResources.size();
inline constexpr auto kResourceNames = [] {
  std::array<std::string_view, kResourceCount> names;
  for (std::size_t i = 0; i < kResourceCount; ++i) names[i] = kResources[i].name;
  return names;
}();
static_assert(kResourceCount == static_cast<std::size_t>(Resource::cxl_write) + 1);

constexpr std::size_t index(Resource resource) { return static_cast<std::size_t>(resource); }

}  // namespace kvcap
