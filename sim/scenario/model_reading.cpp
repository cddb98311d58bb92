#include "scenario/model_reading.h"

namespace kvcap {

ModelReading& model_reading() {
  static ModelReading reading;
  return reading;
}

}  // namespace kvcap
