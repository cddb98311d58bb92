#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "cost/cost_model.h"
#include "metrics/statistics/quantiles.h"
#include "scenario/load.h"
#include "validate/kernels/kernel_times.h"
#include "validate/kernels/measured.h"
#include "validate/kernels/measured_attention.h"
#include "validate/kernels/measured_gemm.h"
#include "validate/kernels/measured_mla.h"

namespace kvcap {
namespace {

// Below 64 rows these sources have few GEMMs, whose times are rounded to a microsecond; measured_gemm.h
// judges such rows.
constexpr int64_t kLeastTokens = 64;

struct KernelSet {
  std::string id;
  std::string profile;
  std::string file;
  std::string device;          // as the file names it
  double median = 0, p90 = 0;  // relative errors up to which README vouches for it
  std::string reason = {};     // why it is farther off and nothing is promised
  bool fitted = false;         // the profile was fitted to these rows
};

// GEMM tables, and prefill attention of a kernel that no profile describes.
const KernelSet kGemms[] = {
    {"gemm.rtx-4090", "rtx-4090", "gemm_llmservingsim.csv", "rtx4090", 0.09, 0.25,
     "no test: the profile was fitted to these rows", true},
    {"gemm.rtx-pro-6000", "rtx-pro-6000", "gemm_llmservingsim.csv", "rtxpro6000", 0.09, 0.25},
    {"gemm.h100.vllm", "h100-sxm", "gemm_llmservingsim.csv", "h100", 0.09, 0.25},
    {"gemm.a100-80g.vidur", "a100-80g-sxm", "gemm_vidur.csv", "a100", 0.09, 0.25,
     "another A100 and an older cuBLAS than those the profile is fitted to"},
};
const KernelSet kPrefixes[] = {
    {"prefix.h100-sxm", "h100-sxm", "attn_chunked_prefill.csv", "h100", 0.09, 0.26,
     "16 heads, FlashAttention-2 of vLLM 0; the profile has FlashAttention-3 over whole prompts"},
};

std::vector<double> gemm_errors(const KernelSet& set, const std::string& folder) {
  const Gpu gpu = load_hardware(set.profile).gpu;
  std::vector<double> errors;
  for_each_kernel_row(folder + set.file, {{"device"}, {"tokens"}, {"n"}, {"k"}, {"t_ms"}}, 1,
                      [&](const CsvRow& row, const std::vector<double>& x) {
                        if (row.text(0) != set.device || x[0] < kLeastTokens) return;
                        const double modelled_s =
                            gemm_s(gpu.gemm, gpu, whole(x[0]), whole(x[1]), whole(x[2]), 2, 2);
                        errors.push_back(std::abs(modelled_s / (x[3] * 1e-3) - 1));
                      });
  return errors;
}

std::vector<double> prefix_errors(const KernelSet& set, const std::string& folder) {
  const Gpu gpu = load_hardware(set.profile).gpu;
  std::vector<double> errors;
  for_each_kernel_row(
      folder + set.file, {{"device"}, {"chunk"}, {"cached_kv"}, {"q_heads"}, {"kv_heads"}, {"t_ms"}}, 1,
      [&](const CsvRow& row, const std::vector<double>& x) {
        if (row.text(0) != set.device || x[1] == 0) return;
        const double modelled_s =
            attention_s(gpu.attention, gpu, {.new_tokens = whole(x[0]), .cached_tokens = whole(x[1])},
                        whole(x[2]), whole(x[3]), 128, 2);
        errors.push_back(std::abs(modelled_s / (x[4] * 1e-3) - 1));
      });
  return errors;
}

using Errors = std::vector<double> (*)(const KernelSet& set, const std::string& folder);

void add(std::vector<Check>& checks, const KernelSet& set, const std::string& kernel,
         const std::string& folder, Errors errors_of) {
  Check check{.id = set.id,
              .suite = "measured",
              .what = kernel + ", profile " + set.profile + ": relative error of its time, ",
              .claim = Claim::at_most,
              .promised = set.reason.empty(),
              .reason = set.reason};
  if (set.fitted) {
    check.role = Role::fitted;
    check.tuned = {"gpu.gemm"};
  }
  if (!std::filesystem::exists(folder + set.file)) {
    check.promised = false;
    check.reason = "no " + folder + set.file + " (--data)";
    checks.push_back(std::move(check));
    return;
  }
  std::vector<double> errors = errors_of(set, folder);
  std::sort(errors.begin(), errors.end());
  const auto promise = [&](const std::string& which, double quantile, double most) {
    Check one = check;
    one.id += "." + which;
    one.what += which + " of " + std::to_string(errors.size());
    one.simulated = {quantile_of_sorted(errors, quantile)};
    one.reference = {most};
    judge(one);
    checks.push_back(std::move(one));
  };
  promise("median", 0.5, set.median);
  promise("p90", 0.9, set.p90);
}

}  // namespace

std::vector<Check> kernel_checks(const std::string& data) {
  const std::string folder = data + "/hardware/";
  std::vector<Check> checks;
  for (const KernelSet& set : kGemms) add(checks, set, "a GEMM", folder, gemm_errors);
  for (const KernelSet& set : kPrefixes) {
    add(checks, set, "prefill attention over a cached prefix", folder, prefix_errors);
  }
  const std::vector<Check> attention = attention_checks(data);
  checks.insert(checks.end(), attention.begin(), attention.end());
  const std::vector<Check> latents = mla_checks(data);
  checks.insert(checks.end(), latents.begin(), latents.end());
  const std::vector<Check> gemms = gemm_checks(data);
  checks.insert(checks.end(), gemms.begin(), gemms.end());
  return checks;
}

}  // namespace kvcap
