// The libFuzzer program: KVCAP_FUZZ_TARGET names the target.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/targets.h"

namespace {

const kvcap::FuzzTarget& chosen_target() {
  const char* name = std::getenv("KVCAP_FUZZ_TARGET");
  for (const kvcap::FuzzTarget& target : kvcap::fuzz_targets()) {
    if (name && target.name == name) return target;
  }
  std::fprintf(stderr, "KVCAP_FUZZ_TARGET must be one of:");
  for (const kvcap::FuzzTarget& target : kvcap::fuzz_targets()) {
    std::fprintf(stderr, " %.*s", static_cast<int>(target.name.size()), target.name.data());
  }
  std::fprintf(stderr, "\n");
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const kvcap::FuzzTarget& target = chosen_target();
  target.read({reinterpret_cast<const char*>(data), size});
  return 0;
}
