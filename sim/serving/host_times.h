// HostTimeRow: what an engine spends beside the GPU, by its version, and how its kernels compare with those
// that the profiles describe.
//
// A server's own times follow its CPU, too, so that all have a wide error (regime `host`); a profile that was
// measured with an engine has its own (EngineTimes).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "serving/options.h"
#include "spec/engine_version.h"

namespace kvcap {

struct HostTimeRow {
  EngineKind engine = EngineKind::vllm;
  EngineVersion from;  // up to the next row's
  // As in ServingOptions.
  double request_overhead_s = 0;
  double request_overhead_s_per_token = 0;
  double step_overhead_s = 0;
  double step_overhead_per_sequence_s = 0;
  double waiting_overhead_s = 0;
  std::string_view source;
  // Standard deviations of ln(measured / these): of the times of requests and steps, and of the last one.
  double sigma = 0;
  double waiting_sigma = 0;
  bool is_measured = true;   // with this engine; false: the values are those of vLLM
  double kernel_factor = 1;  // times of dense layers' kernels over the profiles', which are vLLM's
};

std::span<const HostTimeRow> host_time_table();  // ordered by engine and version
const HostTimeRow& host_times_of(EngineKind engine, EngineVersion version);

// More of step_overhead_s where a connector works layer by layer, as LMCache's does with use_layerwise: vLLM
// then replays a CUDA graph for each layer's piece instead of one for the step.
double piecewise_graphs_s(EngineVersion version, int64_t layers);

}  // namespace kvcap
