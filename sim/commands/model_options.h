// --assume and --as: what the user takes upon himself where a config.json holds what nobody understands.
#pragma once

#include "commands/command_line.h"

namespace kvcap {

void declare_model_options(Command& command);

}  // namespace kvcap
