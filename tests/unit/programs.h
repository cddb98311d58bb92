// Where the programs that tests start are: beside the tests, or where the environment says (./dev mutate).
#pragma once

#include <cstdlib>
#include <string>

namespace kvcap {

inline std::string program(const char* variable, const char* built) {
  const char* other = std::getenv(variable);
  return other ? other : built;
}
inline std::string kvcap_program() { return program("KVCAP_BINARY", KVCAP_BINARY); }
inline std::string calibrate_program() { return program("KVCAP_CALIBRATE", KVCAP_CALIBRATE); }

}  // namespace kvcap
