// GemmModel: converts the shape of a GEMM into seconds with a GPU's efficiency model. Private to cost/; other
// modules use CostModel.
//
// A measured table applies to its own shapes and number formats. For all others (other shapes, other formats,
// the experts of a layer) a smooth maximum is fitted to its points: the fit predicts how the time changes
// from a measured GEMM to the wanted one, and the table corrects the error of the fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

// Weights of one GEMM C[m, n] = A[m, k] B[k, n] on one GPU.
struct GemmShape {
  int64_t n = 0;
  int64_t k = 0;
};

// `groups` GEMMs of the same weight shape in one kernel, with `rows` rows each. One group is a plain GEMM;
// several are the experts of a layer, for which both numbers are expectations and need not be whole.
struct GemmRows {
  double rows = 0;
  double groups = 1;
  bool grouped = false;  // runs in the kernel for experts, even if only one expert is reached
};

// Bytes per element of A, B and C.
struct ElementBytes {
  double activation = 2;
  double weight = 2;
  double output = 2;
};

// Precision in which the matrix units multiply: that of the wider operand, to which the other one is
// expanded. Four-bit weights with 16-bit activations are multiplied in 16 bits.
enum class Precision : uint8_t { half, fp8, fp4 };
// Bytes per element, including scales.
inline constexpr double kMostFourBitBytes = 0.75, kMostEightBitBytes = 1.25;
Precision precision_of(const ElementBytes& bytes);
double peak_flops(const Gpu& gpu, Precision precision);

// Returns the part of the time that grows with the work. `constant`: max(F/(P e), B/W). `smooth_max`: ((F/(P
// e))^3 + (B/(W b))^3)^(1/3). F: flops, B: bytes, P: the GPU's 16-bit peak or `peak`, W: memory bandwidth, e
// and b: the model's efficiency and bandwidth_efficiency.
double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double flops, double bytes);
double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double peak, double flops, double bytes);

// Returns the time that every call takes in addition to its work: constant_s of smooth_max, wave and blocks;
// 0 for the other models.
double fixed_s(const Efficiency& efficiency);

// Returns the smooth maximum that fits measured GEMMs of one number format best: least squares on ln(model /
// measured), with at most 512 evenly spread points. Parameters that the points do not determine stay near 0.8
// of the peak and of the bandwidth.
Efficiency smooth_fit(const Gpu& gpu, const std::vector<GemmPoint>& points);

// Measured times of one weight shape in one number format, in order of m.
struct GemmCurve {
  struct Neighbours;

  GemmShape shape;
  std::vector<GemmPoint> points;

  Neighbours neighbours(double rows) const;
  double time_s(double rows, bool* extrapolated) const;
};

// One efficiency model of one GPU, prepared for queries.
class GemmModel {
 public:
  GemmModel(const Efficiency& efficiency, const Gpu& gpu);

  // Returns the time. Sets *extrapolated if the table lacks the GEMM's shape, rows or number format. Groups
  // of experts do not count as extrapolated: they never have points of their own.
  double time_s(GemmRows rows, GemmShape shape, ElementBytes bytes, bool* extrapolated) const;

 private:
  // Measured GEMMs of one number format.
  struct Table {
    ElementBytes bytes;
    std::vector<GemmCurve> curves;
    Efficiency fit;
    std::size_t points = 0;

    const GemmCurve& nearest(GemmShape shape) const;
  };
  double formula_s(const Efficiency& efficiency, GemmRows rows, GemmShape shape, ElementBytes bytes) const;
  double table_s(const Table& table, double rows, GemmShape shape, bool* extrapolated) const;
  const Table& nearest_table(const ElementBytes& bytes) const;

  Efficiency efficiency_;  // without its points, which are in tables_
  Gpu gpu_;                // only its rates are used, not its efficiency models
  std::vector<Table> tables_;
};

// All GEMMs of one GPU in one number format: plain GEMMs and those of experts.
class Gemms {
 public:
  Gemms(const Gpu& gpu, ElementBytes bytes);
  double time_s(GemmRows rows, GemmShape shape, bool* extrapolated) const;

 private:
  ElementBytes bytes_;
  GemmModel plain_;
  std::optional<GemmModel> grouped_;
};

}  // namespace kvcap
