#include "calibration/backend.h"

#include "base/check.h"

namespace kvcap::calibration {

std::string name(Format format) {
  switch (format) {
    case Format::float32:
      return "float32";
    case Format::float16:
      return "float16";
    case Format::bfloat16:
      return "bfloat16";
    case Format::float8:
      return "float8";
  }
  KVCAP_BUG("unknown format");
}

void Stream::move_rows(const MoveRows&) { throw BackendError("this backend cannot move rows"); }

void Stream::attention_mass(const AttentionMass&) {
  throw BackendError("this backend cannot tell how much attention keys get");
}

void Stream::mark_largest(const MarkLargest&) {
  throw BackendError("this backend cannot find the largest values");
}
void Stream::row_distance(const RowDistance&) { throw BackendError("this backend cannot compare rows"); }

void Backend::read_direct(int, int64_t, const Buffer&, int64_t, int64_t) {
  KVCAP_BUG("this backend cannot read files into device memory");
}

}  // namespace kvcap::calibration
