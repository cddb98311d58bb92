// One measured kernel beside the time that a shipped profile gives it.
#pragma once

#include <cmath>
#include <string>

namespace kvcap {

struct KernelTime {
  std::string profile;
  std::string regime;  // of the profile's errors (spec/machine_errors.h)
  std::string source;  // the program that measured
  double modelled_s = 0, measured_s = 0;
  bool fitted = false;  // the profile was fitted to this row
  std::string part;     // of the regime, for tables

  double error() const { return std::abs(modelled_s / measured_s - 1); }
  double log_ratio() const { return std::log(measured_s / modelled_s); }
};

}  // namespace kvcap
