// --assume, --as and --fetch: options to read a config.json that has unknown keys, is of an unknown family,
// or is missing on this machine.
#pragma once

#include "commands/command_line.h"

namespace kvcap {

void declare_model_options(Command& command);

}  // namespace kvcap
