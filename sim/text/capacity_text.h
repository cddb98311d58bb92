// Writes the curve of a capacity: times and goodput over the load.
#pragma once

#include <string>

#include "plan/capacity.h"

namespace kvcap {

struct CapacityColumn {
  const char* metric;
  bool is_alarm = false;  // shown only if it is not 0
};
inline constexpr CapacityColumn kCapacityColumns[] = {
    {"mean_ttft_ms"},       {"p99_ttft_ms"},           {"p99_tpot_ms"},       {"rejected_share", true},
    {"failed_share", true}, {"truncated_share", true}, {"output_throughput"}, {"request_goodput"}};

// Returns one row per load: metrics, a bar for the requests served, and the targets missed.
std::string curve_text(const CapacityQuestion& question, const CapacityAnswer& answer);

}  // namespace kvcap
