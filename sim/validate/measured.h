// What was measured on real machines, beside what the shipped profiles and a whole simulated run give. The
// measurements are no part of this project: they are read from a folder beside it, and without it nothing is
// compared.
#pragma once

#include <string>
#include <vector>

#include "validate/check.h"

namespace kvcap {

// GEMM and attention times of `folder`/hardware/*.csv against the cost model with the profiles' coefficients:
// relative errors in the median and at the 90th percentile.
std::vector<Check> kernel_checks(const std::string& folder);

// A real vLLM run (`folder`/vllm-real) against scenarios/measured/vllm-rtx-4090.json: latencies, their
// correlation request by request, makespan and throughput.
std::vector<Check> vllm_run_checks(const std::string& folder);

// Eight runs of vLLM on H100s (`folder`/runs/vllm-h100): means by model, workload and request rate, and the
// median of their errors.
std::vector<Check> vllm_h100_checks(const std::string& folder);

}  // namespace kvcap
