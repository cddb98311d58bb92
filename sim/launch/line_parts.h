// Functions that write parts of a launch line; write_line.cpp joins the parts.
#pragma once

#include <string>
#include <vector>

#include "launch/flags/flags.h"
#include "scenario/json.h"
#include "scenario/scenario.h"

namespace kvcap {

struct LineParts {
  std::vector<std::string> variables, words;  // environment variables and flags, each with its value
};

// Returns the name by which an engine loads the model: its first name on Hugging Face, or else its name in
// kvcap.
std::string served_name(const ModelSpec& model);
// True iff the engine's line divides its tensor parallel GPUs among the ranks.
bool divides_gpus(const Scenario& scenario, Stack engine);
// Adds the flags for fields of `serving` that differ from the engine's defaults.
void add_serving(const Scenario& scenario, Stack engine, LineParts& parts);
// Adds the flags of the policy's stack and its tiers. Returns false if no stack of this engine matches the
// scenario.
bool add_storage(const Scenario& scenario, Stack engine, LineParts& parts);

// Returns a value as written on a command line: a string loses its JSON quotes.
std::string plain_text(const Json& value);

}  // namespace kvcap
