// kvcap show support: what the times of a model on each GPU with each engine rest on.
#pragma once

#include <string>

#include "scenario/scenario.h"

namespace kvcap {

// Prints one row per GPU of the catalogue and one column per engine. `model`: a name or a path; empty: what
// profiles have for each class of kernels, and engines for host times. Throws InputError for an unknown
// model.
void show_support(const std::string& model, bool json);

// Returns what the times of a scenario rest on, in the words of kvcap show support; "paper" for the machine
// of a paper, which that table leaves out.
std::string evidence_word(const Scenario& scenario);

}  // namespace kvcap
