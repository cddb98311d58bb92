#include "base/build_id.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace kvcap::build_id_test {
namespace {

TEST(BuildId, IsWhatTheLinkerHasWrittenIntoThisProgram) {
  const std::string id = linker_build_id();
  ASSERT_EQ(id.size(), 40U) << id;  // SHA-1
  std::string bytes("GNU\0", 4);
  for (std::size_t i = 0; i < id.size(); i += 2)
    bytes += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::string beginning(size_t{1} << 16, '\0');  // notes are loaded, and stand before the code
  program.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  EXPECT_NE(beginning.find(bytes), std::string::npos);
}

}  // namespace
}  // namespace kvcap::build_id_test
