// Random data that is identical on every backend and in every reference: a value is a pure function of the
// seed and the index (splitmix64's finaliser).
#pragma once

#include <cstdint>

namespace kvcap::calibration {

#ifdef __CUDACC__
#define KVCAP_ANYWHERE __host__ __device__
#else
#define KVCAP_ANYWHERE
#endif

// Returns a value uniform on [-1, 1), with 24 bits.
KVCAP_ANYWHERE inline float random_value(uint64_t seed, uint64_t i) {
  uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xd1342543de82ef95ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * (1.0F / 8388608.0F) - 1.0F;
}

}  // namespace kvcap::calibration
