// Public data that are not part of the project: the folder that KVCAP_DATA names, else shared/data beside the
// project. Tests that need them are skipped without; tests/public_data.md lists those that stand in for them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kvcap {

inline std::string shared_data(const std::string& name = "") {
  const char* folder = std::getenv("KVCAP_DATA");
  return std::string(folder ? folder : KVCAP_SOURCE_DIR "/../shared/data") + "/" + name;
}

inline bool has_shared_data(const std::string& name = "") {
  return std::filesystem::exists(shared_data(name));
}

}  // namespace kvcap

// The test ends here, skipped, where the file is not there.
#define KVCAP_NEEDS_SHARED_DATA(name)                                                                \
  if (has_shared_data(name)) {                                                                       \
  } else                                                                                             \
    GTEST_SKIP() << "needs public data that are not part of the project (tests/public_data.md): no " \
                 << shared_data(name)
