// HostTimeRow: the host times of an engine version, and the speed of its kernels relative to the profile's.
//
// Host times also depend on the server's CPU, so all have a large error (regime `host`). A profile that was
// measured with an engine has its own times (EngineTimes).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/options.h"
#include "spec/engine_version.h"

namespace kvcap {

struct HostTimeRow {
  EngineKind engine = EngineKind::vllm;
  EngineVersion from;  // valid up to the next row's version
  // Values as in ServingOptions.
  double request_overhead_s = 0;
  double request_overhead_s_per_token = 0;
  double step_overhead_s = 0;
  double step_overhead_per_sequence_s = 0;
  double waiting_overhead_s = 0;
  std::string_view source;
  // Standard deviations of ln(measured / given), for the request and step times and for waiting_overhead_s.
  double sigma = 0;
  double waiting_sigma = 0;
  bool is_measured = true;   // false: not measured with this engine; the values are vLLM's
  double kernel_factor = 1;  // times of dense layers' kernels relative to the profile's, which are vLLM's
};

std::span<const HostTimeRow> host_time_table();  // ordered by engine and version
const HostTimeRow& host_times_of(EngineKind engine, EngineVersion version);

// Returns the additional step_overhead_s of a connector that works layer by layer, e.g. LMCache's with
// use_layerwise: vLLM then replays one CUDA graph per layer instead of one per step.
double piecewise_graphs_s(EngineVersion version, int64_t layers);

}  // namespace kvcap
