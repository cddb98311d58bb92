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

// vLLM on one and on two A100 PCIe (`folder`/runs/user_runs_a100pcie_tp.csv): what the second brings.
std::vector<Check> tensor_parallel_pcie_checks(const std::string& folder);

// Means of TTFT and TPOT of vLLM servers at a closed-loop concurrency (`folder`/runs/silicon_agg.csv.gz): the
// rows that can be expressed, and how many cannot, by reason.
std::vector<Check> silicon_checks(const std::string& folder);

// A fleet of vLLM servers behind llm-d's router (`folder`/runs/llmd_ladders.csv): output tokens a second and
// mean TTFT over a ladder of request rates, with two ways of routing.
std::vector<Check> llmd_checks(const std::string& folder);
// The same ladder with the router's approximate index, and with SGLang's servers (suite stacks).
std::vector<Check> llmd_stack_checks(const std::string& folder);

}  // namespace kvcap
