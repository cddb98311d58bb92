// Tests that make a SimGrid world. SimGrid has one engine a process, so ctest gives each of them a process of
// its own; in one that runs several, all but the first are skipped.
#pragma once

#include <gtest/gtest.h>

#include <utility>

namespace kvcap {

class OwnProcess : public testing::Test {
 protected:
  void SetUp() override {
    static bool is_taken = false;
    if (std::exchange(is_taken, true)) GTEST_SKIP() << "needs a process of its own: ctest -R " << suite();
  }

 private:
  static const char* suite() {
    return testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  }
};

}  // namespace kvcap
