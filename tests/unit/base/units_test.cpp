// Numbers with units, as people write them on the command line.
#include "base/text/units.h"

#include <gtest/gtest.h>

namespace kvcap {
namespace {

double number(std::string_view text, std::string_view name) {
  return number_with_unit(text, unit_of(name)).value_or(-1);
}

TEST(Units, AreDecimalInLowerCaseAndBinaryInUpperCase) {
  EXPECT_EQ(number("4k", "max_num_batched_tokens"), 4000);
  EXPECT_EQ(number("4K", "max_num_batched_tokens"), 4 * 1024);
  EXPECT_EQ(number("2.5m", "sessions"), 2.5e6);
  EXPECT_EQ(number("17", "sessions"), 17);
}

TEST(Units, OfBytesAreThoseOfDataSheetsAndOfMemory) {
  EXPECT_EQ(number("512GB", "capacity_bytes"), 512e9);
  EXPECT_EQ(number("512 GiB", "capacity_bytes"), 512.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(number("3.5TB", "capacity_bytes"), 3.5e12);
  EXPECT_EQ(number("50GB/s", "read_bandwidth_bytes_per_s"), 50e9);
  EXPECT_EQ(number("50GB", "read_bandwidth_bytes_per_s"), 50e9);
  EXPECT_EQ(number("50GB/s", "capacity_bytes"), -1) << "a size is no rate";
}

TEST(Units, OfTimeFollowTheUnitOfTheName) {
  EXPECT_EQ(number("40s", "mean_s"), 40);
  EXPECT_EQ(number("200ms", "mean_s"), 0.2);
  EXPECT_EQ(number("2min", "mean_s"), 120);
  EXPECT_EQ(number("40", "mean_s"), 40);
  EXPECT_EQ(number("2s", "p99_ttft_ms"), 2000);
  EXPECT_EQ(number("500", "p99_ttft_ms"), 500);
  EXPECT_EQ(number("500ms", "p99_ttft_ms"), 500);
  EXPECT_EQ(number("2s", "requests_per_s"), -1) << "a rate is no time";
}

TEST(Units, OfAnotherQuantityAreRefused) {
  EXPECT_EQ(number("4GB", "sessions"), -1);
  EXPECT_EQ(number("40s", "capacity_bytes"), -1);
  EXPECT_EQ(number("GB", "capacity_bytes"), -1);
  EXPECT_EQ(number("", "capacity_bytes"), -1);
  EXPECT_EQ(number("4GBs", "capacity_bytes"), -1);
}

}  // namespace
}  // namespace kvcap
