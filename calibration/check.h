// Is what a backend computes right? Every operation on random data, against a reference in float64 that runs
// over the same (rounded) inputs on the host. Errors are ||out - reference|| / ||reference||; outputs are NaN
// before, so that an element that nothing wrote is seen.
#pragma once

#include <string>
#include <vector>

#include "calibration/backend.h"

namespace kvcap::calibration {

struct CheckedOperation {
  std::string what;  // "attention float16: 100 queries over 300 cached, 8/2 heads of 128"
  double error = 0;  // NaN where an element is
  double bound = 0;  // of rounding in this format

  bool right() const { return error <= bound; }
};

std::vector<CheckedOperation> check_backend(Backend& backend);
// Part of the above where there are several devices; all of them must have the sum.
CheckedOperation check_all_reduce(Collective& collective);

}  // namespace kvcap::calibration
