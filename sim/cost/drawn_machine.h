// Draws a plausible machine: a hardware profile whose times differ from the stated ones by errors that are
// consistent with the measurements (spec/machine_errors.h). The result is an ordinary HardwareProfile for the
// cost model: the drawn factor of a regime divides efficiencies and rates, and multiplies constants and
// measured times.
//
// A draw is the same machine everywhere (common random numbers): all configurations of one kind of hardware
// have the same errors, and an engine has the same errors on all hardware. Draws 2 k and 2 k + 1 have
// opposite signs, so that errors cancel on average.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "spec/hardware_profile.h"

namespace kvcap {

// Returns the error that is assumed for a regime if the profile states none. Its standard deviation depends
// on the kind of provenance:
//   measured  : 0.15; a fit to one GPU's kernels and the same kernels of other programs and versions differ
//             by up to 0.18 (hwprofiles/sources.md)
//   paper     : 0.25; the GEMM efficiencies implied by HCache's figures for three models are 0.42 to 0.69
//   datasheet : 0.25 and a bias of 0.15, because nominal rates are not reached
RegimeError default_error(std::string_view provenance_kind);

// Returns the regime's error as the profile states it, or else the default.
RegimeError error_of(const HardwareProfile& hardware, const Regime& regime);

// The ratio of measured to simulated time of every regime, in the order of kRegimes.
using RegimeFactors = std::array<double, kRegimes.size()>;
RegimeFactors drawn_factors(const HardwareProfile& hardware, uint64_t seed, int64_t draw);
double factor_of(const RegimeFactors& factors, std::string_view regime);

// Returns the profile with all times multiplied by their regimes' factors. No efficiency exceeds 1, because
// kernels do not exceed the datasheet's peaks.
HardwareProfile machine_with(HardwareProfile hardware, const RegimeFactors& factors);

// Returns the profile with the kernel times of dense layers multiplied by `factor`; experts and links are
// unchanged.
HardwareProfile with_slower_kernels(const HardwareProfile& hardware, double factor);

// Returns machine_with(drawn_factors()): a pure function of its arguments.
HardwareProfile drawn_machine(const HardwareProfile& hardware, uint64_t seed, int64_t draw);

}  // namespace kvcap
