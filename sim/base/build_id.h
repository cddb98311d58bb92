// Identifies this build of the program, so that cached results of another build are not reused.
#pragma once

#include <string>

namespace kvcap {

// Returns the linker's build id of the running program (ld --build-id) in hexadecimal, or "" if the program
// was linked without one.
std::string linker_build_id();

}  // namespace kvcap
