// What the suite "uncertainty" is made of: errors that profiles state, computed again, and the share of
// measured means that model intervals contain. See uncertainty.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// REQUIRES: the files of kernels are in the folder `data`.
std::vector<Check> stated_error_checks(const std::string& data);

// Of a family of measured means: how many lie inside the 80 % interval of those of the drawn machines, and
// how many below its lower end.
struct Coverage {
  int64_t contained = 0, below = 0, means = 0;
  std::vector<double> widths;  // ln(upper end / lower end)
  std::vector<double> shifts;  // ln(measured / the drawn machines' median)
  std::string gap;             // what is known to be missing from the model; empty: nothing

  void add(double measured, std::vector<double> drawn);
  void add(const Coverage& other);
  double share() const { return static_cast<double>(contained) / static_cast<double>(means); }
};

}  // namespace kvcap
