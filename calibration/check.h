// Checks every operation of a backend on random data against a float64 reference on the host with the same
// rounded inputs. The error is ||out - reference|| / ||reference||. Outputs are NaN before the call, so that
// an unwritten element is detected.
#pragma once

#include <string>
#include <vector>

#include "calibration/backend.h"

namespace kvcap::calibration {

struct CheckedOperation {
  std::string what;  // "attention float16: 100 queries over 300 cached, 8/2 heads of 128"
  double error = 0;  // NaN if an element is NaN, or if the operation failed
  double bound = 0;  // expected rounding error of this format

  bool right() const { return error <= bound; }
};

// Every operation in one format.
std::vector<CheckedOperation> check_format(Backend& backend, Format format);
// GEMMs in float8.
std::vector<CheckedOperation> check_float8(Backend& backend, Scaling scaling);
// Every operation in every format, GEMMs in float8, and the all-reduce.
std::vector<CheckedOperation> check_backend(Backend& backend);
// Checks the all-reduce over several devices: every device must hold the sum.
CheckedOperation check_all_reduce(Collective& collective);

}  // namespace kvcap::calibration
