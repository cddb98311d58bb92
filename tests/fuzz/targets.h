// Fuzz targets: one per kind of file that a user gives to kvcap, each read from arbitrary bytes. A target
// returns if the bytes were read or refused with InputError; anything else (a crash, a hang, another
// exception, a failed CHECK) is a bug. The target "values" decodes the bytes to numbers of a scenario, runs
// it (soak/edge_values.h), and throws if a law is broken.
#pragma once

#include <span>
#include <string_view>

namespace kvcap {

struct FuzzTarget {
  std::string_view name;  // also the name of its corpus folder
  void (*read)(std::string_view bytes);
  int damages = 500;  // mutations of each corpus file in the short fuzz
};

// Called at the end of each process that a target starts, to collect its coverage.
inline void (*at_end_of_process)() = nullptr;

std::span<const FuzzTarget> fuzz_targets();

}  // namespace kvcap
