// Finds how much memory this process may use, so that larger inputs are refused before anything is allocated.
#pragma once

#include <cstdint>
#include <string>

namespace kvcap {

// Returns the smallest of the machine's memory, the limit of this process (ulimit -v) and the limit of its
// control group.
int64_t memory_bytes();

// Throws InputError if `count` items of at least `bytes_of_one` bytes each exceed memory_bytes(): "WHAT:
// found 100000000, which take 40 GB of memory or more, allowed: at most ...".
void refuse_beyond_memory(const std::string& what, int64_t count, double bytes_of_one);

}  // namespace kvcap
