// --draws: the number of plausible machines to draw for model intervals.
#pragma once

#include <cstdint>
#include <string>

#include "commands/command_line.h"

namespace kvcap {

void add_draws(Command& command, std::string& draws);
// Returns the number; kAutoDraws for "auto". Throws InputError.
int64_t draws_of(const std::string& draws);

}  // namespace kvcap
