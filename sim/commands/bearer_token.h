// Reads bearer tokens from environment variables.
#pragma once

#include <string>

namespace kvcap {

// Returns the token in the environment variable without trailing line ends, which tokens copied from files
// often have; empty if the variable is not set. Throws InputError for a value that cannot be a token.
std::string bearer_token(const char* variable);

}  // namespace kvcap
