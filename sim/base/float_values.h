// Special values of doubles: kNaN (not known) and kInfinity (no bound).
#pragma once

#include <limits>

namespace kvcap {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace kvcap
