// The parts of a launch line that write_line.cpp puts together.
#pragma once

#include <string>
#include <vector>

#include "launch/flags.h"
#include "scenario/json.h"
#include "scenario/scenario.h"

namespace kvcap {

struct LineParts {
  std::vector<std::string> variables, words;  // each with its value
};

// Whether the engine's line divides its tensor parallel GPUs among the ranks.
bool divides_gpus(const Scenario& scenario, Stack engine);
// The flags of fields of `serving` that the engine does not have by itself.
void add_serving(const Scenario& scenario, Stack engine, LineParts& parts);
// The flags of the policy's stack and its tiers. False where no stack of this engine does what the scenario
// says.
bool add_storage(const Scenario& scenario, Stack engine, LineParts& parts);

// A value as a line spells it: without the quotes of a JSON string.
std::string plain_text(const Json& value);

}  // namespace kvcap
