#include "drawn_scenario.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cost/drawn_machine.h"
#include "cost/gemm.h"
#include "machine.h"
#include "policy/table.h"

namespace kvcap {
namespace {

// Decode attention was measured up to contexts of so many tokens, and collectives of so many GPUs.
constexpr int64_t kLongestMeasured = 131072;
constexpr int64_t kMostGpus = 8;

bool has_host_time(const ServingOptions& serving, const Gpu& gpu) {
  return serving.step_overhead_s > 0 || serving.step_overhead_per_sequence_s > 0 ||
         serving.request_overhead_s > 0 || gpu.kernel_overhead_s > 0 || gpu.host_overhead_per_layer_s > 0;
}

bool keeps_in(const Scenario& scenario, Tier tier) {
  if (!stores(with_preset(scenario.policy)) || !has_tier(scenario.hardware, tier)) return false;
  if (!scenario.policy.tiers) return true;
  return std::any_of(scenario.policy.tiers->begin(), scenario.policy.tiers->end(),
                     [tier](const TierOptions& one) { return one.kind == tier; });
}

bool has_narrow_gemms(const ModelSpec& model) {
  const double activation = model.activation_bytes_per_element.value_or(model.hidden_bytes_per_element);
  return precision_of({activation, model.weight_bytes_per_element, 2}) != Precision::half;
}

bool uses(const Scenario& scenario, std::string_view regime) {
  const Gpu& gpu = scenario.hardware.gpu;
  const bool narrow = has_narrow_gemms(scenario.model) && (gpu.gemm_fp8 || gpu.gemm_fp4);
  if (regime == "gemm_few_rows" || regime == "gemm_many_rows") return !narrow;
  if (regime == "narrow_gemm") return narrow;
  if (regime == "grouped_gemm") return scenario.model.experts && gpu.grouped_gemm;
  if (regime == "decode_attention") return gpu.decode_attention.has_value();
  if (regime == "elementwise") return gpu.elementwise.has_value();
  if (regime == "collectives") return scenario.serving.tensor_parallel_size > 1;
  if (regime == "pcie") return keeps_in(scenario, Tier::dram) || keeps_in(scenario, Tier::ssd);
  if (regime == "dram") return keeps_in(scenario, Tier::dram);
  if (regime == "ssd") return keeps_in(scenario, Tier::ssd);
  if (regime == "remote") return keeps_in(scenario, Tier::remote);
  if (regime == "host") return has_host_time(scenario.serving, gpu);
  if (regime == "kv_capacity") return !scenario.serving.kv_capacity_tokens;
  return true;
}

std::string per_cent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

}  // namespace

Scenario drawn_scenario(const Scenario& scenario, int64_t draw) {
  const RegimeFactors factors = drawn_factors(scenario.hardware, scenario.seed, draw);
  Scenario drawn = scenario;
  drawn.hardware = machine_with(scenario.hardware, factors);
  ServingOptions& serving = drawn.serving;
  for (double* host_s : {&serving.step_overhead_s, &serving.step_overhead_per_sequence_s,
                         &serving.request_overhead_s}) {
    *host_s *= factor_of(factors, "host");
  }
  if (serving.kv_capacity_tokens) return drawn;
  const auto derived = static_cast<double>(derived_kv_capacity_tokens(scenario));
  const auto blocks = static_cast<int64_t>(derived * factor_of(factors, "kv_capacity") /
                                           static_cast<double>(serving.block_size));
  if (blocks > 0) serving.kv_capacity_tokens = blocks * serving.block_size;
  return drawn;
}

std::vector<std::string> outside_validation(const Scenario& scenario, int64_t longest_tokens) {
  const HardwareProfile& hardware = scenario.hardware;
  std::vector<std::string> sentences;
  std::string assumed;
  for (const Regime& regime : kRegimes) {
    if (!uses(scenario, regime.name) || hardware.errors.*regime.error) continue;
    const RegimeError error = error_of(hardware, regime);
    assumed += (assumed.empty() ? "" : ", ") + std::string(regime.name) + " (" + per_cent(error.sigma) + ")";
  }
  if (!assumed.empty()) {
    sentences.push_back("profile " + hardware.name + " (" + hardware.provenance_kind +
                        ") has no measured errors of these; standard deviations are assumed: " + assumed);
  }
  for (const Regime& regime : kRegimes) {
    const std::optional<RegimeError>& error = hardware.errors.*regime.error;
    if (!uses(scenario, regime.name) || !error || error->outside.empty()) continue;
    sentences.push_back(std::string(regime.name) + ": not measured: " + error->outside);
  }
  if (scenario.model.kv_bytes_per_element < 2) {
    sentences.emplace_back("attention over 8-bit keys and values: the kernels' constants are those of 16 bits");
  }
  if (!hardware.gpu.decode_attention) {
    sentences.emplace_back("decode attention: the profile has no kernel for it and takes the prompts'");
  }
  const int64_t gpus = scenario.serving.tensor_parallel_size;
  if (gpus > 1 && (!hardware.collectives || gpus > kMostGpus)) {
    sentences.push_back("collectives of " + std::to_string(gpus) + " GPUs: no measured times, only a bandwidth");
  }
  if (longest_tokens > kLongestMeasured) {
    sentences.push_back("contexts of " + std::to_string(longest_tokens) + " tokens: attention was measured up to " +
                        std::to_string(kLongestMeasured));
  }
  if (scenario.serving.request_overhead_s == 0) {
    sentences.emplace_back("API server, tokenizer and router: serving.request_overhead_s is 0");
  }
  return sentences;
}

}  // namespace kvcap
