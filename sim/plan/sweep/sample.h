// Draws samples of a box, one coordinate at a time. Every coordinate uses a random stream that its name
// selects, so that adding a coordinate does not change the others.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kvcap {

// random: independent points. latin_hypercube: each of `points` equal slices of a coordinate holds one point.
enum class SampleMethod : uint8_t { random, latin_hypercube };

// Returns the coordinate `name` of each point, in (0, 1).
std::vector<double> sample(SampleMethod method, std::size_t points, uint64_t seed, std::string_view name);

}  // namespace kvcap
