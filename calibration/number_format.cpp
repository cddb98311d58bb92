#include "calibration/number_format.h"

#include <cmath>
#include <cstring>

#include "base/check.h"

namespace kvcap::calibration {
namespace {

double half_value(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

double float8_value(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const double fraction = bits & 7;
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  if ((bits & 0x7f) == 0x7f) return std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -9);
  return sign * std::ldexp(fraction + 8, exponent - 10);
}

}  // namespace

double value_at(Format format, const std::byte* data, int64_t i) {
  if (format == Format::float32) {
    float value = 0;
    std::memcpy(&value, data + i * 4, 4);
    return static_cast<double>(value);
  }
  if (format == Format::float8) return float8_value(std::to_integer<uint8_t>(data[i]));
  uint16_t bits = 0;
  std::memcpy(&bits, data + i * 2, 2);
  if (format == Format::float16) return half_value(bits);
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, 4);
  return static_cast<double>(value);
}

std::vector<float> numbers(Format format, const std::byte* data, int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(value_at(format, data, i));
  }
  return values;
}

void store(Format format, float value, std::byte* to) {
  if (format == Format::float32) {
    std::memcpy(to, &value, 4);
    return;
  }
  uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  uint16_t half = 0;
  if (format == Format::bfloat16) {
    half = static_cast<uint16_t>((bits + 0x8000U) >> 16);
  } else {  // normal numbers only
    const auto exponent = static_cast<int>((bits >> 23) & 0xff) - 127 + 15;
    KVCAP_CHECK(exponent > 0 && exponent < 31 && (bits >> 31) == 0);
    half = static_cast<uint16_t>((static_cast<uint32_t>(exponent) << 10) +
                                 (((bits & 0x7fffffU) + 0x1000U) >> 13));
  }
  std::memcpy(to, &half, 2);
}

}  // namespace kvcap::calibration
