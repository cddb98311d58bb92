// Some hundred measured kernels that are part of the project (tests/data/kernels.csv): the profiles of the
// catalogue predict them. kvcap validate --suite measured compares all rows of their sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cost/cost_model.h"
#include "metrics/statistics/quantiles.h"
#include "scenario/load.h"
#include "workload/logs/csv.h"

namespace kvcap::measured_sample_test {
namespace {

constexpr int64_t kHeadDim = 128;
constexpr double kElementBytes = 2;

struct Kernel {
  std::string profile;
  int64_t tokens, n, k, batch, context_tokens;  // of attention, n and k are heads of queries and of KV
  double time_s;
};

double gemm_time_s(const Kernel& kernel, const HardwareProfile& hardware) {
  return gemm_s(hardware.gpu.gemm, hardware.gpu, kernel.tokens, kernel.n, kernel.k, kElementBytes,
                kElementBytes);
}

double prefill_time_s(const Kernel& kernel, const HardwareProfile& hardware) {
  return attention_s(hardware.gpu.attention, hardware.gpu,
                     {.new_tokens = kernel.tokens, .cached_tokens = kernel.context_tokens}, kernel.n,
                     kernel.k, kHeadDim, kElementBytes);
}

double decode_time_s(const Kernel& kernel, const HardwareProfile& hardware) {
  ModelSpec model;
  model.num_hidden_layers = 1;
  model.head_dim = kHeadDim;
  model.num_attention_heads = kernel.n;
  model.num_key_value_heads = kernel.k;
  model.hidden_size = model.intermediate_size = kernel.n * kHeadDim;
  const DecodeAttention time = CostModel(model, hardware, 1).decode_attention_layer_s(kernel.batch);
  return time.fixed_s + time.per_context_token_s * static_cast<double>(kernel.batch * kernel.context_tokens);
}

std::vector<Kernel> kernels_of(const std::string& kind) {
  const char* const columns[] = {"kernel",        "profile", "tokens",         "n_or_query_heads",
                                 "k_or_kv_heads", "batch",   "context_tokens", "time_ms"};
  std::vector<CsvColumn> names;
  for (const char* column : columns) names.push_back({column});
  std::vector<Kernel> kernels;
  for_each_csv_row(
      KVCAP_SOURCE_DIR "/tests/data/kernels.csv", BadRow::error, names, true, [&](const CsvRow& row) {
        const auto number = [&](std::size_t i) { return std::atoll(std::string(row.text(i)).c_str()); };
        if (row.text(0) != kind) return true;
        kernels.push_back({std::string(row.text(1)), number(2), number(3), number(4), number(5), number(6),
                           std::atof(std::string(row.text(7)).c_str()) * 1e-3});
        return true;
      });
  return kernels;
}

using Predict = double (*)(const Kernel& kernel, const HardwareProfile& hardware);

// Relative errors of each profile.
void expect_within(const std::string& kind, Predict predict, double median, double p90) {
  std::map<std::string, std::vector<double>> errors;
  for (const Kernel& kernel : kernels_of(kind)) {
    errors[kernel.profile].push_back(
        std::abs(predict(kernel, load_hardware(kernel.profile)) / kernel.time_s - 1));
  }
  EXPECT_GE(errors.size(), 3U) << kind;
  for (auto& [profile, all] : errors) {
    std::sort(all.begin(), all.end());
    std::printf("  %s of %s, %zu kernels: error %.1f %% in the median, %.1f %% at the 90th percentile\n",
                kind.c_str(), profile.c_str(), all.size(), 100 * quantile_of_sorted(all, 0.5),
                100 * quantile_of_sorted(all, 0.9));
    EXPECT_LE(quantile_of_sorted(all, 0.5), median) << kind << " of " << profile;
    EXPECT_LE(quantile_of_sorted(all, 0.9), p90) << kind << " of " << profile;
  }
}

TEST(MeasuredSample, GemmsAreWithinTwelvePercentInTheMedian) {
  expect_within("gemm", gemm_time_s, 0.12, 0.30);
}

TEST(MeasuredSample, PrefillAttentionIsWithinTwelvePercentInTheMedian) {
  expect_within("prefill", prefill_time_s, 0.12, 0.40);
}

TEST(MeasuredSample, DecodeAttentionIsWithinTwelvePercentInTheMedian) {
  expect_within("decode", decode_time_s, 0.12, 0.40);
}

}  // namespace
}  // namespace kvcap::measured_sample_test
