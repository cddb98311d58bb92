// How much memory a process may take, so that what needs more is refused before any is taken.
#pragma once

#include <cstdint>
#include <string>

namespace kvcap {

// The least of the machine's memory, the limit of this process (ulimit -v) and that of its control group.
int64_t memory_bytes();

// Throws InputError where `count` of something take more than memory_bytes(), each at least `bytes_of_one`:
// "WHAT: found 100000000, which take 40 GB of memory or more, allowed: at most ...".
void refuse_beyond_memory(const std::string& what, int64_t count, double bytes_of_one);

}  // namespace kvcap
