// The libFuzzer program; the environment variable KVCAP_FUZZ_TARGET selects the target.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
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

// Clang's coverage counters, one per branch.
extern "C" uint8_t __start___sancov_cntrs[], __stop___sancov_cntrs[];

// Collects coverage of the processes that a target starts: their counters return to libFuzzer through shared
// memory.
class SharedCoverage {
 public:
  SharedCoverage() {
    void* memory = mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    counters_ = static_cast<uint8_t*>(memory);
  }
  void leave() { std::copy(__start___sancov_cntrs, __stop___sancov_cntrs, counters_); }
  void take() {
    std::transform(counters_, counters_ + size(), __start___sancov_cntrs, __start___sancov_cntrs,
                   [](uint8_t child, uint8_t own) { return std::max(child, own); });
    std::fill(counters_, counters_ + size(), uint8_t{0});
  }

 private:
  static std::size_t size() {
    return static_cast<std::size_t>(__stop___sancov_cntrs - __start___sancov_cntrs);
  }

  uint8_t* counters_ = nullptr;
};

SharedCoverage& coverage() {
  static SharedCoverage shared;
  return shared;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  static const kvcap::FuzzTarget& target = chosen_target();
  coverage();  // must precede the start of processes
  kvcap::at_end_of_process = [] { coverage().leave(); };
  target.read({reinterpret_cast<const char*>(data), size});
  coverage().take();
  return 0;
}
