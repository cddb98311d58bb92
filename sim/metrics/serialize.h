// Converts a RunResult to bytes and back, for the pipe between a forked worker and its parent process. Both
// ends are the same binary, so values are copied as they are in memory; this is not a file format.
#pragma once

#include <string>
#include <string_view>

#include "metrics/result.h"

namespace kvcap {

std::string serialize(const RunResult& result);

// Throws std::runtime_error if the bytes are not one complete result, e.g. because the worker died while
// writing.
RunResult deserialize(std::string_view bytes);

}  // namespace kvcap
