// MachineErrors: the distribution of x = ln(measured time / simulated time) for each regime of a machine, as
// stated in `errors` of a hardware profile. x has three parts:
//
//   x = bias + sigma z + shape_sigma y
//
// z is common to all kernels of a class on one engine and machine (the effect of another version of a
// library, or another server of the same kind): one standard normal number per class. y belongs to a single
// measured kernel (one shape, one number of rows). A step sums the times of `shapes` kernels, so that their y
// partly cancel: y contributes shape_sigma / sqrt(shapes) to the error of a whole model.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap {

struct RegimeError {
  double sigma = 0;        // common to all shapes
  double shape_sigma = 0;  // for a single kernel
  double bias = 0;         // mean of ln(measured / simulated)
  std::string outside;     // description of the part that was never measured; shown with results
};

// If an error is absent, nothing was measured beyond the points of the fit, and default_error() is assumed
// (cost/drawn_machine.h). The errors `steps`, `host` and `waiting` belong to an engine
// (engine/versions/step_errors.h, host_times.h).
struct MachineErrors {
  std::optional<RegimeError> gemm_few_rows, gemm_many_rows;  // 16-bit operands: below 64 rows; from 64 on
  std::optional<RegimeError> narrow_gemm;                    // FP8 and FP4
  std::optional<RegimeError> grouped_gemm;                   // all experts of a layer
  std::optional<RegimeError> prefill_attention, decode_attention;
  std::optional<RegimeError> elementwise;
  std::optional<RegimeError> collectives;
  std::optional<RegimeError> pcie, dram, cxl, ssd, remote;
  std::optional<RegimeError> steps;        // all kernels of a step together
  std::optional<RegimeError> host;         // CPU time per step, request or layer
  std::optional<RegimeError> waiting;      // CPU time per step for requests that wait
  std::optional<RegimeError> kv_capacity;  // ln(the engine's tokens / derived tokens)
};

// A row of the table of regimes. Regimes with the same `kernel` share z. If `machine` is true, the regime
// belongs to the server, not to the engine, and z is drawn separately for each kind of server.
struct Regime {
  std::string_view name;  // key in `errors`
  std::string_view meaning;
  std::string_view kernel;
  std::optional<RegimeError> MachineErrors::*error;
  double shapes = 1;  // number of equally weighted kernels over which a step sums
  bool machine = false;
};

// A layer has four GEMMs; with their shares of the time (Llama: 0.25, 0.08, 0.45, 0.22), their errors average
// out like those of three equal GEMMs.
inline constexpr double kShapesOfALayer = 3;

inline constexpr std::array kRegimes = {
    Regime{"gemm_few_rows", "GEMMs of fewer than 64 rows, which stream weights", "gemm",
           &MachineErrors::gemm_few_rows, kShapesOfALayer},
    Regime{"gemm_many_rows", "GEMMs of 64 and more rows", "gemm", &MachineErrors::gemm_many_rows,
           kShapesOfALayer},
    Regime{"narrow_gemm", "GEMMs in FP8 and FP4", "gemm", &MachineErrors::narrow_gemm, kShapesOfALayer},
    Regime{"grouped_gemm", "all experts of a layer", "gemm", &MachineErrors::grouped_gemm, 2},
    Regime{"prefill_attention", "attention of prompts", "attention", &MachineErrors::prefill_attention},
    Regime{"decode_attention", "attention of one query per sequence", "attention",
           &MachineErrors::decode_attention},
    Regime{"elementwise", "norms, activations, residual adds", "elementwise", &MachineErrors::elementwise},
    Regime{"collectives", "collectives between GPUs", "collectives", &MachineErrors::collectives},
    Regime{"pcie", "copies between host and GPU", "pcie", &MachineErrors::pcie, 1, true},
    Regime{"dram", "bandwidth of the host's memory", "dram", &MachineErrors::dram, 1, true},
    Regime{"cxl", "reads and writes of CXL memory", "cxl", &MachineErrors::cxl, 1, true},
    Regime{"ssd", "reads and writes of SSDs", "ssd", &MachineErrors::ssd, 1, true},
    Regime{"remote", "the remote store", "remote", &MachineErrors::remote, 1, true},
    Regime{"steps", "steps of an engine, in addition to the errors of their kernels", "steps",
           &MachineErrors::steps},
    Regime{"waiting", "CPU time per step for each waiting request", "waiting", &MachineErrors::waiting},
    Regime{"host", "CPU time per layer, step or request", "host", &MachineErrors::host},
    Regime{"kv_capacity", "tokens in an engine's KV cache, divided by the derived number", "kv_capacity",
           &MachineErrors::kv_capacity}};

}  // namespace kvcap
