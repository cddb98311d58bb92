// Draws random points for a sweep, one coordinate at a time. The name of a coordinate selects its random
// stream, so adding a coordinate does not change the others.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace kvcap {

// random: independent points. latin_hypercube: each of `points` equal slices of a coordinate contains one
// point.
enum class SampleMethod : uint8_t { random, latin_hypercube };

// Returns the coordinate `name` of each point, in (0, 1).
std::vector<double> sample(SampleMethod method, std::size_t points, uint64_t seed, std::string_view name);

}  // namespace kvcap
