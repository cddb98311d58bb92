#include "calibration/models.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cost/layer_shapes.h"
#include "scenario/load.h"

namespace kvcap::calibration::models_test {
namespace {

void expect_same(const std::vector<GemmShape>& a, const std::vector<GemmShape>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].n, b[i].n);
    EXPECT_EQ(a[i].k, b[i].k);
  }
}

TEST(Models, AModelHasTheShapesThatTheSimulatorComputesWith) {
  int models = 0;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    SCOPED_TRACE(entry.name);
    const LayerShapes mine = layer_shapes(read_model(entry.text), 1);
    const LayerShapes simulated = layer_shapes(load_model(std::string(entry.name)), 1);
    ASSERT_EQ(mine.kinds.size(), simulated.kinds.size());
    for (std::size_t i = 0; i < mine.kinds.size(); ++i) {
      expect_same(mine.kinds[i].gemms, simulated.kinds[i].gemms);
      ASSERT_EQ(mine.kinds[i].experts.has_value(), simulated.kinds[i].experts.has_value());
      if (mine.kinds[i].experts) expect_same(mine.kinds[i].experts->gemms, simulated.kinds[i].experts->gemms);
    }
    expect_same({mine.kv_projection}, {simulated.kv_projection});
    ++models;
  }
  EXPECT_GT(models, 10);
}

// Llama-2-7B: QKV 3 x 4096 wide, K+V 2 x 4096, up and gate 2 x 11008; half of each on two GPUs.
TEST(Models, ShapesAreThoseOfProjectionsOnOneGpuAndOnSeveral) {
  const std::vector<MeasuredShape> shapes = gemm_shapes(catalogue_models());
  const auto has = [&](int64_t n, int64_t k) {
    return std::any_of(shapes.begin(), shapes.end(),
                       [&](const MeasuredShape& s) { return s.shape.n == n && s.shape.k == k; });
  };
  EXPECT_TRUE(has(12288, 4096));
  EXPECT_TRUE(has(8192, 4096));
  EXPECT_TRUE(has(22016, 4096));
  EXPECT_TRUE(has(4096, 11008));
  EXPECT_TRUE(has(6144, 4096));
  EXPECT_TRUE(has(4096, 5504));
  EXPECT_FALSE(has(4096, 11009));
}

TEST(Models, RowsShowBothSidesOfATile) {
  const std::vector<int64_t> rows = staircase_rows();
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_EQ(rows.front(), 1);
  EXPECT_EQ(rows.back(), 16384);
  for (const int64_t step : {64, 128, 256, 512, 1024, 2048}) {
    EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), step));
    EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), step + 8));
  }
}

}  // namespace
}  // namespace kvcap::calibration::models_test
