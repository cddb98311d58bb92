// Kernels of the CPU backend: Eigen in float32 on the calling thread. backend.h defines the arguments.
#pragma once

#include "calibration/backend.h"

namespace kvcap::calibration {

void compute(const Gemm& gemm);
void compute(const Attention& attention);
void compute(const Rope& rope);
void compute(const RmsNorm& norm);
void compute(const SiluMultiply& silu);
void compute(const Add& add);
void compute(const MoveRows& move);
void compute(const AttentionMass& mass);
void compute(const RowDistance& distance);
void compute(const MarkLargest& mark);

}  // namespace kvcap::calibration
