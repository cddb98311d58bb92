#include "run/drawn_scenario.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "cost/drawn_machine.h"
#include "cost/gemm.h"
#include "cost/peer_collectives.h"
#include "engine/versions/engines.h"
#include "engine/versions/host_times.h"
#include "engine/versions/step_errors.h"
#include "policy/table.h"
#include "run/machine.h"
#include "spec/engine_version.h"

namespace kvcap {
namespace {

// Limits of the measurements: context length in decode attention, and GPUs per collective.
constexpr int64_t kLongestMeasured = 131072;
constexpr int64_t kMostGpus = 8;

bool has_host_time(const ServingOptions& serving, const Gpu& gpu) {
  return serving.step_overhead_s > 0 || serving.step_overhead_per_sequence_s > 0 ||
         serving.request_overhead_s > 0 || serving.request_overhead_s_per_token > 0 ||
         gpu.kernel_overhead_s > 0 || gpu.host_overhead_per_layer_s > 0;
}

bool keeps_in(const Scenario& scenario, Tier tier) {
  if (!stores(with_preset(scenario.policy)) || !has_tier(scenario.hardware, tier)) return false;
  if (!scenario.policy.tiers) return true;
  return std::any_of(scenario.policy.tiers->begin(), scenario.policy.tiers->end(),
                     [tier](const TierOptions& one) { return one.kind == tier; });
}

// Returns the number of GPUs that exchange states or tokens.
int64_t collective_gpus(const Scenario& scenario) {
  const ServingOptions& serving = scenario.serving;
  return serving.gpus() * (scenario.model.experts ? serving.data_parallel_size : 1);
}

bool has_narrow_gemms(const ModelSpec& model) {
  const double activation = model.activation_bytes_per_element.value_or(model.hidden_bytes_per_element);
  return precision_of({activation, model.weight_bytes_per_element, 2}) != Precision::half;
}

}  // namespace

bool uses_regime(const Scenario& scenario, std::string_view regime) {
  const Gpu& gpu = scenario.hardware.gpu;
  const bool narrow = has_narrow_gemms(scenario.model) && (gpu.gemm_fp8 || gpu.gemm_fp4);
  if (regime == "gemm_few_rows" || regime == "gemm_many_rows") return !narrow;
  if (regime == "narrow_gemm") return narrow;
  if (regime == "grouped_gemm") return scenario.model.experts && gpu.grouped_gemm;
  if (regime == "decode_attention") return gpu.decode_attention.has_value();
  if (regime == "elementwise") return gpu.elementwise.has_value();
  if (regime == "collectives") return collective_gpus(scenario) > 1;
  const auto kept = [&](Tier tier) { return keeps_in(scenario, tier); };
  if (regime == "pcie") {
    return std::any_of(kHostTiers.begin(), kHostTiers.end(),
                       [&](Tier tier) { return tier != Tier::remote && kept(tier); });
  }
  for (Tier tier : kHostTiers) {
    if (regime == name(tier)) return kept(tier);
  }
  if (regime == "waiting") return scenario.serving.waiting_overhead_s > 0;
  if (regime == "host") return has_host_time(scenario.serving, gpu);
  if (regime == "kv_capacity") return !scenario.serving.kv_capacity_tokens;
  return true;
}

namespace {

// Collects sentences in order, without duplicates.
class Sentences {
 public:
  void add(const std::string& one) {
    if (std::find(all_.begin(), all_.end(), one) == all_.end()) all_.push_back(one);
  }
  std::vector<std::string> take() { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

// True iff the regime's error depends on how the GPUs reach each other; add_links() reports such errors.
bool is_of_peers(const HardwareProfile& hardware, const Regime& regime) {
  return regime.name == "collectives" && peer_error(hardware);
}

// Adds a sentence on the regimes for which the profile has only a default error, with the sigma of each.
void add_assumed(const std::vector<Scenario>& scenarios, const HardwareProfile& hardware,
                 Sentences& sentences) {
  std::string assumed;
  for (const Regime& regime : kRegimes) {
    const bool is_used = std::any_of(scenarios.begin(), scenarios.end(), [&](const Scenario& one) {
      return one.hardware.name == hardware.name && uses_regime(one, regime.name) &&
             !(one.hardware.errors.*regime.error) && !is_of_peers(hardware, regime);
    });
    if (!is_used || !(error_of(hardware, regime).sigma > 0)) continue;
    char sigma[32];
    std::snprintf(sigma, sizeof sigma, " %.2g", error_of(hardware, regime).sigma);
    assumed += (assumed.empty() ? "" : ", ") + std::string(regime.name) + sigma;
  }
  if (assumed.empty()) return;
  sentences.add(
      "profile " + hardware.name + " (" + hardware.provenance_kind +
      ") has no measured errors for some regimes; assumed standard deviations of ln(time): " + assumed);
}

// Adds a sentence on links between GPUs if no times were measured for them.
void add_links(const Scenario& scenario, Sentences& sentences) {
  const HardwareProfile& hardware = scenario.hardware;
  const int64_t gpus = collective_gpus(scenario);
  if (gpus == 1) return;
  const std::string group = "collectives of " + std::to_string(gpus) + " GPUs: no measured times";
  if (const std::string assumption = peer_assumption(hardware); !assumption.empty()) {
    sentences.add(assumption);
  } else if (peer_error(hardware)) {
    sentences.add(group + " over " + link_text(hardware) +
                  " on this machine; those of other servers are used");
  } else if (!has_own_collectives(hardware) || gpus > kMostGpus) {
    sentences.add(group + "; only a bandwidth is known");
  }
}

void add_unmeasured(const Scenario& scenario, Sentences& sentences) {
  const HardwareProfile& hardware = scenario.hardware;
  for (const Regime& regime : kRegimes) {
    const std::optional<RegimeError>& error = hardware.errors.*regime.error;
    if (!uses_regime(scenario, regime.name) || !error || error->outside.empty()) continue;
    if (is_of_peers(hardware, regime)) continue;
    sentences.add(regime.name == "steps" ? "not validated: " + error->outside
                                         : std::string(regime.name) + " was not measured " + error->outside);
  }
  if (scenario.model.kv_bytes_per_element < 2) {
    sentences.add("attention over 8-bit keys and values uses the kernel constants for 16 bits");
  }
  if (!hardware.gpu.decode_attention) {
    sentences.add("the profile has no kernel for decode attention; that for prompts is used");
  }
  add_links(scenario, sentences);
  const std::optional<EngineVersion> version = parse_engine_version(scenario.serving.engine_version);
  if (scenario.serving.engine == EngineKind::trtllm && scenario.serving.chunked_prefill) {
    sentences.add(
        "prompts are computed in slices, as TensorRT-LLM does with enable_chunked_prefill; by default it "
        "refuses prompts longer than max_num_tokens (serving.chunked_prefill=false)");
  }
  if (scenario.serving.request_overhead_s == 0) {
    sentences.add(
        "the simulated API server, tokenizer and router take no time (serving.request_overhead_s is 0)");
  } else if (scenario.serving.host_times == HostTimes::engine && version &&
             !host_times_of(scenario.serving.engine, *version).is_measured) {
    sentences.add("host times and sampler of " + std::string(engine_row(scenario.serving.engine).name) +
                  " were not measured; those of vLLM are used");
  }
}

}  // namespace

HardwareProfile with_engine_errors(const Scenario& scenario) {
  HardwareProfile hardware = scenario.hardware;
  const ServingOptions& serving = scenario.serving;
  const std::optional<EngineVersion> version = parse_engine_version(serving.engine_version);
  if (serving.host_times == HostTimes::none || !version) return hardware;
  MachineErrors& errors = hardware.errors;
  const HostTimeRow& host = host_times_of(serving.engine, *version);
  const StepErrorRow& steps = step_errors_of(serving.engine, *version, scenario.model.experts.has_value());
  if (!errors.host) errors.host = RegimeError{.sigma = host.sigma};
  if (!errors.waiting) errors.waiting = RegimeError{.sigma = host.waiting_sigma};
  if (!errors.steps) {
    errors.steps =
        RegimeError{.sigma = steps.sigma, .bias = steps.bias, .outside = std::string(steps.outside)};
  }
  return hardware;
}

Scenario drawn_scenario(const Scenario& scenario, int64_t draw) {
  return scenario_with(scenario, drawn_factors(with_engine_errors(scenario), scenario.seed, draw));
}

Scenario scenario_with(const Scenario& scenario, const RegimeFactors& factors) {
  Scenario drawn = scenario;
  drawn.hardware = machine_with(scenario.hardware, factors);
  ServingOptions& serving = drawn.serving;
  for (double* host_s : {&serving.step_overhead_s, &serving.step_overhead_per_sequence_s,
                         &serving.request_overhead_s, &serving.request_overhead_s_per_token}) {
    *host_s *= factor_of(factors, "host");
  }
  serving.waiting_overhead_s *= factor_of(factors, "waiting");
  if (!drawn.hardware.engine) drawn.hardware.engine.emplace();
  drawn.hardware.engine->kv_capacity_share *= factor_of(factors, "kv_capacity");
  return drawn;
}

std::vector<std::string> outside_validation(const std::vector<Scenario>& scenarios, int64_t longest_tokens) {
  Sentences sentences;
  std::vector<Scenario> stated = scenarios;
  for (Scenario& one : stated) one.hardware = with_engine_errors(one);
  for (const Scenario& scenario : stated) add_assumed(stated, scenario.hardware, sentences);
  for (const Scenario& scenario : stated) add_unmeasured(scenario, sentences);
  if (longest_tokens > kLongestMeasured) {
    sentences.add("contexts of " + std::to_string(longest_tokens) +
                  " tokens: attention was measured only up to " + std::to_string(kLongestMeasured));
  }
  return sentences.take();
}

}  // namespace kvcap
