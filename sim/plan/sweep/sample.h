// Samples of a box, one coordinate at a time. Every coordinate draws from a stream of its own name, so that
// a further one leaves the others as they were.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kvcap {

// random: independent points. latin_hypercube: each of `points` equal slices of a coordinate is hit once.
enum class SampleMethod : uint8_t { random, latin_hypercube };

// The coordinate `name` of each point, in (0, 1).
std::vector<double> sample(SampleMethod method, std::size_t points, uint64_t seed, std::string_view name);

}  // namespace kvcap
