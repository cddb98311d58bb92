// kvcap show memory: the use of one GPU's memory, term by term, and the rest for KV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvcap {

struct ShowMemoryArgs {
  std::string scenario;  // empty: only model and hardware
  std::string model, hardware, engine;
  std::optional<int64_t> gpus;
  std::vector<std::string> overrides;
  bool json = false;
};
void show_memory(const ShowMemoryArgs& args);

}  // namespace kvcap
