// --assume and --as: how a config.json with unknown keys or of an unknown family is read all the same.
#pragma once

#include "commands/command_line.h"

namespace kvcap {

void declare_model_options(Command& command);

}  // namespace kvcap
