#include "cost/drawn_machine.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "cost/peer_collectives.h"

namespace kvcap {
namespace {

constexpr int64_t kFewRows = 64;

void slow_share(double& share, double factor) { share = std::min(1.0, share / factor); }

void slow_gemm(Efficiency& gemm, double few, double many) {
  slow_share(gemm.efficiency, many);
  slow_share(gemm.bandwidth_efficiency, few);
  gemm.constant_s *= few;
  for (GemmPoint& point : gemm.points) point.time_s *= point.m < kFewRows ? few : many;
  if (gemm.quantize_bandwidth_efficiency) slow_share(*gemm.quantize_bandwidth_efficiency, many);
}

void slow_gemm(std::optional<Efficiency>& gemm, double factor) {
  if (gemm) slow_gemm(*gemm, factor, factor);
}

void slow_attention(Efficiency& attention, double factor) {
  slow_share(attention.efficiency, factor);
  slow_share(attention.bandwidth_efficiency, factor);
  attention.constant_s *= factor;
  attention.block_s *= factor;
}

void slow_decode(DecodeEfficiency& decode, double factor) {
  slow_share(decode.bandwidth_efficiency, factor);
  slow_share(decode.ramp_efficiency, factor);
  decode.constant_s *= factor;
  decode.block_s *= factor;
}

template <class Point>
void slow_curve(std::vector<Point>& curve, double factor) {
  for (Point& point : curve) point.bytes_per_s /= factor;
}

void slow_collectives(HardwareProfile& hardware, double factor) {
  if (hardware.nvlink) {
    hardware.nvlink->bandwidth_bytes_per_s /= factor;
    hardware.nvlink->latency_s *= factor;
  }
  hardware.collectives = collectives_of(hardware);
  if (!hardware.collectives) return;
  for (auto points : {&Collectives::all_reduce, &Collectives::all_gather, &Collectives::all_to_all}) {
    for (CollectivePoint& point : (*hardware.collectives).*points) point.time_s *= factor;
  }
}

void slow_pcie(Pcie& pcie, double factor) {
  pcie.h2d_bandwidth_bytes_per_s /= factor;
  pcie.d2h_bandwidth_bytes_per_s /= factor;
  pcie.request_overhead_s *= factor;
  slow_curve(pcie.h2d_curve, factor);
  slow_curve(pcie.d2h_curve, factor);
}

void slow_ssd(Ssd& ssd, double factor) {
  ssd.read_bandwidth_bytes_per_s /= factor;
  ssd.write_bandwidth_bytes_per_s /= factor;
  ssd.request_overhead_s *= factor;
  ssd.sync_write_s *= factor;
  slow_curve(ssd.read_curve, factor);
  slow_curve(ssd.write_curve, factor);
}

void slow_devices(Devices& devices, double factor) {
  devices.read_bandwidth_bytes_per_s /= factor;
  devices.write_bandwidth_bytes_per_s /= factor;
  devices.latency_s *= factor;
}

void slow_remote(Remote& remote, double factor) {
  remote.bandwidth_bytes_per_s /= factor;
  remote.latency_s *= factor;
  remote.lookup_s *= factor;
  slow_curve(remote.curve, factor);
}

}  // namespace

RegimeError default_error(std::string_view provenance_kind) {
  if (provenance_kind == "measured") return {.sigma = 0.15};
  if (provenance_kind == "paper") return {.sigma = 0.25};
  return {.sigma = 0.25, .bias = 0.15};
}

RegimeError error_of(const HardwareProfile& hardware, const Regime& regime) {
  // Stated errors of collectives apply only to the kind of server on which they were measured.
  if (regime.name == "collectives") {
    if (const std::optional<RegimeError> peers = peer_error(hardware)) return *peers;
  }
  const std::optional<RegimeError>& stated = hardware.errors.*regime.error;
  if (stated) return *stated;
  if (regime.name == "steps" || regime.name == "waiting") return {};  // errors of engines, not of hardware
  // Capacities follow from shapes, which are known.
  if (regime.name == "kv_capacity") return {.sigma = 0.05};
  return default_error(hardware.provenance_kind);
}

RegimeFactors drawn_factors(const HardwareProfile& hardware, uint64_t seed, int64_t draw) {
  const auto pair = static_cast<uint64_t>(draw / 2);
  const double sign = draw % 2 == 0 ? 1 : -1;
  RegimeFactors factors{};
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    const Regime& regime = kRegimes[i];
    const RegimeError error = error_of(hardware, regime);
    const std::string engine = "machine/" + std::string(regime.kernel);
    const std::string kind = "/" + hardware.gpu.name;
    const RandomStream common(seed, regime.machine ? engine + kind : engine);
    const RandomStream own(seed, "machine/" + std::string(regime.name) + "/shapes" + kind);
    factors[i] =
        std::exp(error.bias + sign * (error.sigma * common.normal(pair) +
                                      error.shape_sigma / std::sqrt(regime.shapes) * own.normal(pair)));
  }
  return factors;
}

double factor_of(const RegimeFactors& factors, std::string_view regime) {
  const auto found = std::find_if(kRegimes.begin(), kRegimes.end(),
                                  [regime](const Regime& one) { return one.name == regime; });
  KVCAP_CHECK(found != kRegimes.end());
  return factors[static_cast<std::size_t>(found - kRegimes.begin())];
}

HardwareProfile machine_with(HardwareProfile hardware, const RegimeFactors& factors) {
  const auto of = [&factors](std::string_view regime) { return factor_of(factors, regime); };
  const auto of_kernel = [&](std::string_view regime) { return of("steps") * of(regime); };
  Gpu& gpu = hardware.gpu;
  const double few = of_kernel("gemm_few_rows");
  slow_gemm(gpu.gemm, few, of_kernel("gemm_many_rows"));
  // The constant model has no bandwidth efficiency: its memory-bound GEMMs run at the nominal bandwidth.
  if (gpu.gemm.model == EfficiencyModel::constant) gpu.memory_bandwidth_bytes_per_s /= few;
  slow_gemm(gpu.gemm_fp8, of_kernel("narrow_gemm"));
  slow_gemm(gpu.gemm_fp4, of_kernel("narrow_gemm"));
  for (auto grouped :
       {&Gpu::grouped_gemm, &Gpu::grouped_gemm_fp8, &Gpu::grouped_gemm_fp4, &Gpu::grouped_gemm_w4a16}) {
    slow_gemm(gpu.*grouped, of_kernel("grouped_gemm"));
  }
  slow_attention(gpu.attention, of_kernel("prefill_attention"));
  if (gpu.decode_attention) slow_decode(*gpu.decode_attention, of_kernel("decode_attention"));
  if (gpu.elementwise) {
    slow_share(gpu.elementwise->bandwidth_efficiency, of_kernel("elementwise"));
    gpu.elementwise->constant_s *= of_kernel("elementwise");
  }
  gpu.kernel_overhead_s *= of("host");
  gpu.host_overhead_per_layer_s *= of("host");
  slow_collectives(hardware, of_kernel("collectives"));
  slow_pcie(hardware.pcie, of("pcie"));
  if (hardware.dram) hardware.dram->bandwidth_bytes_per_s /= of("dram");
  for (Tier tier : kTiers) {
    if (std::optional<Devices>& part = hardware.devices[index(tier)]) slow_devices(*part, of(name(tier)));
  }
  if (hardware.ssd) slow_ssd(*hardware.ssd, of("ssd"));
  if (hardware.remote) slow_remote(*hardware.remote, of("remote"));
  return hardware;
}

HardwareProfile with_slower_kernels(const HardwareProfile& hardware, double factor) {
  if (factor == 1) return hardware;
  RegimeFactors factors{};
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    const Regime& one = kRegimes[i];
    const bool is_kernel = one.kernel == "gemm" || one.kernel == "attention" || one.kernel == "elementwise";
    factors[i] = is_kernel && one.name != "grouped_gemm" ? factor : 1;
  }
  return machine_with(hardware, factors);
}

HardwareProfile drawn_machine(const HardwareProfile& hardware, uint64_t seed, int64_t draw) {
  return machine_with(hardware, drawn_factors(hardware, seed, draw));
}

}  // namespace kvcap
