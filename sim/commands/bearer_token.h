// Reads bearer tokens from environment variables.
#pragma once

#include <string>

namespace kvcap {

// Returns the variable's token, without the line end that files of tokens have; empty if it is not set.
// Throws InputError if it cannot be a token.
std::string bearer_token(const char* variable);

}  // namespace kvcap
