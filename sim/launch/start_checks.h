// Settings of a launch line with which its engine does not start, whatever the GPUs are.
#pragma once

#include <map>
#include <string>

#include "launch/launch_line.h"

namespace kvcap {

// Throws InputError if the line's engine refuses these fields, each "serving.block_size" with its value: more
// tokens than the model has positions, fewer visible GPUs than ranks, experts or blocks that cannot be
// divided, or a KV format that the checkpoint's format excludes.
void refuse_what_does_not_start(const LaunchLine& line, const std::map<std::string, std::string>& fields);

}  // namespace kvcap
