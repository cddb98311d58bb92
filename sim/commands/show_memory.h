// kvcap show memory: where the memory of one GPU goes, term by term, and what is left for KV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvcap {

struct ShowMemoryArgs {
  std::string scenario;  // empty: model and hardware alone
  std::string model, hardware;
  std::optional<int64_t> gpus;
  std::vector<std::string> overrides;
  bool json = false;
};
void show_memory(const ShowMemoryArgs& args);

}  // namespace kvcap
