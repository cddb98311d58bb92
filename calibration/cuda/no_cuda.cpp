#include "calibration/backend.h"

namespace kvcap::calibration {

std::unique_ptr<Backend> make_cuda_backend(std::string* why) {
  *why = "this program was built without CUDA";
  return nullptr;
}

}  // namespace kvcap::calibration
