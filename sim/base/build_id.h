// The name of this build of the program, so that what one build has computed is not taken for another's.
#pragma once

#include <string>

namespace kvcap {

// Hexadecimal digits that the linker took from the contents of the program that runs (ld --build-id); empty
// where it was not asked to.
std::string linker_build_id();

}  // namespace kvcap
