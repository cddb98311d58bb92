// Every kind of file that a user hands to kvcap, read from bytes that may be anything. A target returns when
// the bytes were read or refused with InputError; whatever else happens (a crash, a hang, another exception,
// a broken CHECK) is a bug. The target "values" takes its bytes as choices of numbers for a scenario that it
// runs (soak/edge_values.h), and throws when a law is broken.
#pragma once

#include <span>
#include <string_view>

namespace kvcap {

struct FuzzTarget {
  std::string_view name;  // and of the folder of its corpus
  void (*read)(std::string_view bytes);
  int damages = 500;  // that the short fuzz does to each file of the corpus
};

// Called at the end of each process that a target starts, for whoever wants to know what it has come through.
inline void (*at_end_of_process)() = nullptr;

std::span<const FuzzTarget> fuzz_targets();

}  // namespace kvcap
