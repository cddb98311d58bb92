// Prints warnings on stderr.
#pragma once

#include <string>

namespace kvcap {

// Prints "kvcap: warning: text", once per process and text.
void warn(const std::string& text);

}  // namespace kvcap
