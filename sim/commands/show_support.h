// kvcap show support: what the times of a model on each GPU with each engine rest on.
#pragma once

#include <string>

namespace kvcap {

// Prints one row per GPU of the catalogue and one column per engine. `model`: a name or a path; empty: what
// profiles have for each class of kernels, and engines for host times. Throws InputError for an unknown
// model.
void show_support(const std::string& model, bool json);

}  // namespace kvcap
