// How far measured times lie from simulated ones: for each regime of a machine the distribution of
// x = ln(measured time / simulated time), as a hardware profile states it in `errors`. Three parts:
//
//   x = bias + sigma z + shape_sigma y
//
// z is common to all kernels of a class on one engine and machine (another version of a library, another
// server of the same kind): one standard normal number a class. y belongs to a single measured kernel (one
// shape, one number of rows): a step sums over `shapes` of them, over which it averages out, so that a whole
// model's share is shape_sigma / sqrt(shapes).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace kvcap {

struct RegimeError {
  double sigma = 0;        // of what all shapes share
  double shape_sigma = 0;  // of a single kernel
  double bias = 0;         // mean of ln(measured / simulated)
  std::string outside;     // what of the regime was never measured, in words; answers repeat it
};

// Absent: nothing was measured apart from the fit, and default_error() is assumed (cost/drawn_machine.h). Of
// steps, host and waiting an engine has its own (serving/step_errors.h, host_times.h).
struct MachineErrors {
  std::optional<RegimeError> gemm_few_rows, gemm_many_rows;  // 16-bit operands; below 64 rows, and above
  std::optional<RegimeError> narrow_gemm;                    // FP8 and FP4
  std::optional<RegimeError> grouped_gemm;                   // all experts of a layer
  std::optional<RegimeError> prefill_attention, decode_attention;
  std::optional<RegimeError> elementwise;
  std::optional<RegimeError> collectives;
  std::optional<RegimeError> pcie, dram, cxl, ssd, remote;
  std::optional<RegimeError> steps;        // all kernels of a step together
  std::optional<RegimeError> host;         // time of a step, of a request, of a layer on the CPU
  std::optional<RegimeError> waiting;      // time of the CPU that requests which wait cost a step
  std::optional<RegimeError> kv_capacity;  // of tokens, not of time: ln(engine's / derived)
};

// One regime. Regimes of one `kernel` share z. Those of `machine` are parts of a server and not of an engine:
// their z is drawn anew for each kind of server.
struct Regime {
  std::string_view name;  // in `errors`
  std::string_view meaning;
  std::string_view kernel;
  std::optional<RegimeError> MachineErrors::*error;
  double shapes = 1;  // kernels that a step sums over, as many as weigh alike
  bool machine = false;
};

// A layer has four GEMMs; their shares of the time (Llama: 0.25, 0.08, 0.45, 0.22) weigh as three alike.
inline constexpr double kShapesOfALayer = 3;

inline constexpr std::array kRegimes = {
    Regime{"gemm_few_rows", "GEMMs of fewer than 64 rows, which stream weights", "gemm",
           &MachineErrors::gemm_few_rows, kShapesOfALayer},
    Regime{"gemm_many_rows", "GEMMs of 64 and more rows", "gemm", &MachineErrors::gemm_many_rows,
           kShapesOfALayer},
    Regime{"narrow_gemm", "GEMMs in FP8 and FP4", "gemm", &MachineErrors::narrow_gemm, kShapesOfALayer},
    Regime{"grouped_gemm", "all experts of a layer", "gemm", &MachineErrors::grouped_gemm, 2},
    Regime{"prefill_attention", "attention of prompts", "attention", &MachineErrors::prefill_attention},
    Regime{"decode_attention", "attention of one query a sequence", "attention",
           &MachineErrors::decode_attention},
    Regime{"elementwise", "norms, activations, residual adds", "elementwise", &MachineErrors::elementwise},
    Regime{"collectives", "collectives between GPUs", "collectives", &MachineErrors::collectives},
    Regime{"pcie", "copies between host and GPU", "pcie", &MachineErrors::pcie, 1, true},
    Regime{"dram", "bandwidth of the host's memory", "dram", &MachineErrors::dram, 1, true},
    Regime{"cxl", "reads and writes of CXL memory", "cxl", &MachineErrors::cxl, 1, true},
    Regime{"ssd", "reads and writes of SSDs", "ssd", &MachineErrors::ssd, 1, true},
    Regime{"remote", "the remote store", "remote", &MachineErrors::remote, 1, true},
    Regime{"steps", "steps of an engine, beside the errors of their kernels", "steps", &MachineErrors::steps},
    Regime{"waiting", "time of the CPU for a request that waits, in every step", "waiting",
           &MachineErrors::waiting},
    Regime{"host", "time of the CPU for a layer, a step or a request", "host", &MachineErrors::host},
    Regime{"kv_capacity", "tokens of KV cache that an engine has, over those derived", "kv_capacity",
           &MachineErrors::kv_capacity}};

}  // namespace kvcap
