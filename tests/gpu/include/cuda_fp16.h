// Stand-in of CUDA's header: 16-bit floats, rounded to the nearest and of two the even one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

struct __half {
  uint16_t bits;
};
struct __nv_bfloat16 {
  uint16_t bits;
};

inline float __half2float(__half x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000U) << 16;
  const uint32_t size = static_cast<uint32_t>(x.bits & 0x7fffU) << 13;
  // Exponents of float16 are 112 smaller, also of numbers below the normal ones.
  const float value = x.bits % 0x8000U >= 0x7c00U ? std::bit_cast<float>(size | 0x7f800000U)
                                                  : std::bit_cast<float>(size) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

inline __half __float2half_rn(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float size = std::fabs(x);
  if (std::isnan(x)) return {static_cast<uint16_t>(sign | 0x7e00U)};
  if (size >= 65520.0F) return {static_cast<uint16_t>(sign | 0x7c00U)};
  if (size < 0x1p-14F) {  // multiples of 2^-24
    return {static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(size * 0x1p24F)))};
  }
  const uint32_t rounded = (bits & 0x7fffffffU) + 0xfffU + (bits >> 13 & 1U);
  return {static_cast<uint16_t>(sign | (rounded - (112U << 23)) >> 13)};
}

inline float __bfloat162float(__nv_bfloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return {static_cast<uint16_t>(bits >> 16 | 0x40U)};
  return {static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16)};
}
