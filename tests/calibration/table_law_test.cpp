// The profile of a machine whose kernels follow smooth_max exactly, measured into a table at the
// calibration's own grid, predicts every catalogue model as smooth_max does.
#include <gtest/gtest.h>

#include "calibration/models.h"
#include "cost/cost_model.h"
#include "scenario/load.h"

namespace kvcap::table_law_test {
namespace {

// H100's numbers, with an FP8 peak.
HardwareProfile smooth_machine() {
  HardwareProfile hardware = load_hardware("h100-sxm-8x");
  hardware.collectives.reset();
  Gpu& gpu = hardware.gpu;
  gpu.peak_flops_fp8 = 2 * gpu.peak_flops;
  gpu.gemm = {.model = EfficiencyModel::smooth_max,
              .efficiency = 0.8,
              .bandwidth_efficiency = 0.9,
              .constant_s = 4e-6};
  gpu.gemm_fp8 = gpu.gemm_fp4 = gpu.grouped_gemm = gpu.grouped_gemm_fp8 = gpu.grouped_gemm_fp4 = {};
  gpu.grouped_gemm_w4a16 = {};
  return hardware;
}

HardwareProfile measured(HardwareProfile hardware, const std::vector<calibration::MeasuredShape>& shapes,
                         const std::vector<int64_t>& rows) {
  Gpu& gpu = hardware.gpu;
  Efficiency table{.model = EfficiencyModel::table};
  for (const calibration::MeasuredShape& shape : shapes) {
    for (const int64_t m : rows) {
      if (m > shape.max_rows) continue;
      const double time_s = gemm_s(gpu.gemm, gpu, m, shape.shape.n, shape.shape.k, 2, 2);
      table.points.push_back({m, shape.shape.n, shape.shape.k, time_s});
    }
  }
  gpu.gemm = table;
  return hardware;
}

// Every model as it is, with 8-bit weights that are expanded, and in FP8 arithmetic; the table has neither.
std::vector<ModelSpec> whole_catalogue() {
  std::vector<ModelSpec> models;
  for (const ModelSpec& shape : calibration::catalogue_models()) {
    ModelSpec model = load_model(shape.name);
    models.push_back(model);
    model.weight_bytes_per_element = 1;
    model.name += ", 8-bit weights";
    models.push_back(model);
    model.activation_bytes_per_element = 1;
    model.name += ", FP8";
    models.push_back(model);
  }
  return models;
}

void expect_same_times(const HardwareProfile& smooth, const HardwareProfile& table, double tolerance) {
  for (const ModelSpec& model : whole_catalogue()) {
    for (const int64_t t : {1, 4}) {
      if (model.num_attention_heads % t != 0) continue;
      const CostModel expected(model, smooth, t);
      const CostModel predicted(model, table, t);
      for (const int64_t tokens : {17, 100, 512, 777, 3000, 8192}) {
        const double ratio = predicted.prefill_s({tokens, 0}) / expected.prefill_s({tokens, 0});
        EXPECT_NEAR(ratio, 1, tolerance) << model.name << ", prefill of " << tokens << ", " << t;
      }
      for (const int64_t sequences : {1, 3, 24, 100, 300}) {
        const double ratio = predicted.decode_step_s(sequences, 1000 * sequences) /
                             expected.decode_step_s(sequences, 1000 * sequences);
        EXPECT_NEAR(ratio, 1, tolerance) << model.name << ", decode of " << sequences << ", " << t;
      }
    }
  }
}

TEST(GemmTableLaw, ACompleteCalibrationPredictsEveryCatalogueModelAsTheMachineItMeasured) {
  const HardwareProfile smooth = smooth_machine();
  const std::vector<calibration::MeasuredShape> shapes =
      calibration::gemm_shapes(calibration::catalogue_models());
  expect_same_times(smooth, measured(smooth, shapes, calibration::staircase_rows()), 0.005);
}

TEST(GemmTableLaw, ATableOfOneModelPredictsTheOthersToo) {
  const HardwareProfile smooth = smooth_machine();
  const std::vector<calibration::MeasuredShape> shapes = calibration::gemm_shapes({load_model("llama-2-7b")});
  // Rows a factor of two apart: a straight line in (ln m, ln t) errs most at the knee.
  expect_same_times(smooth, measured(smooth, shapes, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048}),
                    0.03);
}

}  // namespace
}  // namespace kvcap::table_law_test
