// The suite "uncertainty": checks the errors that profiles state, and which share of measured means lies
// inside model intervals. uncertainty.cpp describes both checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// Returns the checks of the stated errors. REQUIRES: the folder `data` contains the files of measured
// kernels.
std::vector<Check> stated_error_checks(const std::string& data);

// Coverage of a family of runs: how many measured means lie inside the 80 % interval of the drawn machines'
// means, and how many lie below that interval.
struct Coverage {
  int64_t contained = 0, below = 0, means = 0;
  std::vector<double> widths;  // ln(upper end / lower end) per mean
  std::vector<double> shifts;  // ln(measured / median of the drawn machines) per mean
  std::string gap;             // effects that the model is known to lack; empty: none

  void add(double measured, std::vector<double> drawn);
  void add(const Coverage& other);
  double share() const { return static_cast<double>(contained) / static_cast<double>(means); }
};

}  // namespace kvcap
