// A RunResult as bytes, for the pipe between a forked worker and the program that started it. Both ends
// are the same binary, so the bytes are those of memory; this is no file format.
#pragma once

#include <string>
#include <string_view>

#include "metrics/result.h"

namespace kvcap {

std::string serialize(const RunResult& result);

// Throws std::runtime_error when the bytes are not one whole result, e.g. because the worker died while it
// wrote them.
RunResult deserialize(std::string_view bytes);

}  // namespace kvcap
