// The data sets that the generator `few_shot` knows.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

std::vector<std::string> few_shot_datasets();

}  // namespace kvcap
