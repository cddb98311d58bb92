#include "calibration/datasheet.h"

#include <gtest/gtest.h>

namespace kvcap::calibration::datasheet_test {
namespace {

TEST(Datasheet, KnowsGpusByTheNamesOfTheirDrivers) {
  EXPECT_EQ(datasheet_flops("NVIDIA A100-SXM4-80GB"), 312e12);
  EXPECT_EQ(datasheet_flops("NVIDIA H100 80GB HBM3"), 989e12);
  EXPECT_EQ(datasheet_flops("NVIDIA H100 PCIe"), 756e12);
  EXPECT_EQ(datasheet_flops("NVIDIA GH200 480GB"), 989e12);
  EXPECT_EQ(datasheet_flops("NVIDIA A40-48Q"), 149.7e12);
  EXPECT_EQ(datasheet_flops("A30"), 165e12);
  EXPECT_EQ(engine_efficiency("NVIDIA GH200 480GB"), 0.60);
  EXPECT_EQ(engine_efficiency("NVIDIA A100-PCIE-40GB"), 0.54);
}

TEST(Datasheet, DoesNotTakeAGpuForOneWhoseNameItsOwnBeginsOrEndsWith) {
  for (const char* name :
       {"NVIDIA RTX A4000", "NVIDIA RTX A3000 Laptop GPU", "NVIDIA A10", "NVIDIA GB200", ""}) {
    EXPECT_EQ(datasheet_flops(name), std::nullopt) << name;
    EXPECT_EQ(engine_efficiency(name), std::nullopt) << name;
  }
}

TEST(Datasheet, AWordThatIsThereLaterIsFound) { EXPECT_TRUE(has_words("A4000 beside an A40", "A40")); }

}  // namespace
}  // namespace kvcap::calibration::datasheet_test
