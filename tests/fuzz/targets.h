// Every kind of file that a user hands to kvcap, read from bytes that may be anything. A target returns when
// the bytes were read or refused with InputError; whatever else happens (a crash, a hang, another exception,
// a broken CHECK) is a bug.
#pragma once

#include <span>
#include <string_view>

namespace kvcap {

struct FuzzTarget {
  std::string_view name;  // and of the folder of its corpus
  void (*read)(std::string_view bytes);
};

std::span<const FuzzTarget> fuzz_targets();

}  // namespace kvcap
