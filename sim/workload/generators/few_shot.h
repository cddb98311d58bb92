// Names of the data sets that the generator `few_shot` supports.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

std::vector<std::string> few_shot_datasets();

}  // namespace kvcap
