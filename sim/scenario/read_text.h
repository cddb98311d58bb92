#pragma once

#include <string>

namespace kvcap {

// A whole file; InputError where it cannot be read.
std::string read_text(const std::string& path);

}  // namespace kvcap
