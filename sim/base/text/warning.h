// What a user has to see at once, whatever the command prints: a line on stderr.
#pragma once

#include <string>

namespace kvcap {

// "kvcap: warning: text", once a process for each text.
void warn(const std::string& text);

}  // namespace kvcap
