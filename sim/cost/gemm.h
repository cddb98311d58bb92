// How a GPU's efficiency model turns flops and bytes, or the shape of a GEMM, into seconds. Private to
// cost/: others ask CostModel.
//
// A measured table answers for the shapes and number formats that it holds. For all else (other shapes, other
// formats, the experts of a layer) it is read through a smooth maximum that is fitted to its points: the fit
// says how the time changes from a measured GEMM to the wanted one, and the table how far the fit is off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spec/hardware_profile.h"

namespace kvcap {

// The weights of one GEMM C[m, n] = A[m, k] B[k, n] on one GPU.
struct GemmShape {
  int64_t n = 0;
  int64_t k = 0;
};

// `groups` GEMMs of the same weight shape in one kernel, `rows` rows each. One group is a plain GEMM;
// several are the experts of a layer, where both numbers are expectations and need not be whole.
struct GemmRows {
  double rows = 0;
  double groups = 1;
  bool grouped = false;  // by the kernel of experts, even where only one of them is reached
};

// Bytes of one element of A, B and C.
struct ElementBytes {
  double activation = 2;
  double weight = 2;
  double output = 2;
};

// What the matrix units multiply: operands are expanded to the wider of the two. Four-bit weights that meet
// 16-bit activations are multiplied in 16 bits.
enum class Precision : uint8_t { half, fp8, fp4 };
Precision precision_of(const ElementBytes& bytes);
double peak_flops(const Gpu& gpu, Precision precision);

// The part that grows with the work, for `constant`: max(F/(P e), B/W), and for `smooth_max`:
// ((F/(P e))^3 + (B/(W b))^3)^(1/3). P is the GPU's 16-bit peak, or `peak`.
double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double flops, double bytes);
double roofline_s(const Efficiency& efficiency, const Gpu& gpu, double peak, double flops, double bytes);

// The part that every call pays: c of smooth_max and wave, 0 for the others.
double fixed_s(const Efficiency& efficiency);

// The smooth maximum that comes nearest to measured GEMMs of one number format: least squares on
// ln(model / measured), of at most 512 points that are spread evenly. What the points do not determine stays
// near 0.8 of the peak and of the bandwidth.
Efficiency smooth_fit(const Gpu& gpu, const std::vector<GemmPoint>& points);

// The measured times of one weight shape in one number format, in order of m.
struct GemmCurve {
  struct Neighbours;

  GemmShape shape;
  std::vector<GemmPoint> points;

  Neighbours neighbours(double rows) const;
  double time_s(double rows, bool* extrapolated) const;
};

// One efficiency model of one GPU, ready to be asked.
class GemmModel {
 public:
  GemmModel(const Efficiency& efficiency, const Gpu& gpu);

  // *extrapolated is set when a table does not hold the GEMM's shape, rows and number format. A group of
  // experts is no extrapolation: it never has points of its own.
  double time_s(GemmRows rows, GemmShape shape, ElementBytes bytes, bool* extrapolated) const;

 private:
  // The measured GEMMs of one number format.
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

  Efficiency efficiency_;  // without points
  Gpu gpu_;                // its rates; its efficiency models are not used
  std::vector<Table> tables_;
};

// All GEMMs of one GPU in one number format: plain ones, and those of experts.
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
