// --assume, --as and --fetch: how to read a config.json with unknown keys or of an unknown family, and one
// that this machine lacks.
#pragma once

#include "commands/command_line.h"

namespace kvcap {

void declare_model_options(Command& command);

}  // namespace kvcap
