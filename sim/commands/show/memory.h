// kvcap show memory: prints how one GPU's memory is used, term by term, and what is left for KV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvcap {

struct ShowMemoryArgs {
  std::string scenario;  // empty: model and hardware are given instead
  std::string model, hardware, engine;
  std::optional<int64_t> gpus;
  std::vector<std::string> overrides;
  bool json = false;
};
void show_memory(const ShowMemoryArgs& args);

}  // namespace kvcap
