// A plausible machine: a hardware profile whose times are off by errors that are consistent with what was
// measured (spec/machine_errors.h). It is an ordinary HardwareProfile, so that the cost model knows nothing
// of it: efficiencies and rates are divided by exp(x), constants and measured times are multiplied by it.
//
// The same draw means the same machine everywhere (common random numbers): every configuration of one kind of
// hardware has the same errors, and what belongs to an engine is off alike on all hardware. Draws come in
// pairs of opposite sign, 2 k and 2 k + 1, so that errors cancel in the mean of all.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "spec/hardware_profile.h"

namespace kvcap {

// What is assumed of a regime that a profile states no error of: wide, by the kind of its provenance.
//   measured  : 0.15; between fits of one GPU's kernels and the same kernels of other programs and versions
//               lie up to 0.18 (hwprofiles/README.md)
//   paper     : 0.25; the GEMM efficiencies that HCache's own figures imply for three models are 0.42 to 0.69
//   datasheet : 0.25 and a bias of 0.15, for nominal rates are not reached
RegimeError default_error(std::string_view provenance_kind);

// What the profile states, else the default.
RegimeError error_of(const HardwareProfile& hardware, const Regime& regime);

// measured / simulated of every regime, in the order of kRegimes.
using RegimeFactors = std::array<double, kRegimes.size()>;
RegimeFactors drawn_factors(const HardwareProfile& hardware, uint64_t seed, int64_t draw);
double factor_of(const RegimeFactors& factors, std::string_view regime);

// With these errors. No efficiency exceeds 1: a kernel is at most as fast as the datasheet's peaks allow.
HardwareProfile machine_with(HardwareProfile hardware, const RegimeFactors& factors);

// With kernels of dense layers that take `factor` times as long; experts and links as they are.
HardwareProfile with_slower_kernels(const HardwareProfile& hardware, double factor);

// Both in one: a pure function of its arguments.
HardwareProfile drawn_machine(const HardwareProfile& hardware, uint64_t seed, int64_t draw);

}  // namespace kvcap
