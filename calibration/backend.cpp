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
  }
  KVCAP_BUG("unknown format");
}

void Backend::read_direct(int, int64_t, const Buffer&, int64_t, int64_t) {
  KVCAP_BUG("this backend cannot read files into device memory");
}

}  // namespace kvcap::calibration
