#include "scenario/servers.h"

#include <string_view>

#include "scenario/load.h"

namespace kvcap {

std::string server_of(const HardwareProfile& profile, const std::string& name, int64_t gpus) {
  if (profile.gpu.count >= gpus) return name;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    const std::string_view other = entry.name;
    const bool is_of_gpu = other.starts_with(name + "-") && other.ends_with("x") &&
                           other.find('-', name.size() + 1) == std::string::npos;
    if (is_of_gpu && load_hardware(std::string(other)).gpu.count >= gpus) return std::string(other);
  }
  return name;
}

}  // namespace kvcap
