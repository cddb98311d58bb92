// The two special values of floating-point numbers: not a number (not known) and infinity (no bound).
#pragma once

#include <limits>

namespace kvcap {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace kvcap
