// Numbers as the formats of a backend store them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibration/backend.h"

namespace kvcap::calibration {

double value_at(Format format, const std::byte* data, int64_t index);
std::vector<float> numbers(Format format, const std::byte* data, int64_t count);
// Stores a value; of float16 only positive normal numbers.
void store(Format format, float value, std::byte* to);

}  // namespace kvcap::calibration
