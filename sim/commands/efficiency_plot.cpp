#include "commands/efficiency_plot.h"

#include <algorithm>
#include <cstdio>

#include "cost/cost_model.h"

namespace kvcap {
namespace {

constexpr double kElementBytes = 2;
constexpr int64_t kHidden = 4096;
constexpr int64_t kWide = 12288;   // QKV of Llama-2-7B
constexpr int64_t kNarrow = 2048;  // K+V of Llama-3-8B
constexpr int64_t kHeads = 32;
constexpr int64_t kHeadDim = 128;

double gemm_share(const Gpu& gpu, int64_t tokens, int64_t width) {
  const double time_s = gemm_s(gpu.gemm, gpu, tokens, width, kHidden, kElementBytes, kElementBytes);
  return 2 * static_cast<double>(tokens) * static_cast<double>(width * kHidden) / time_s / gpu.peak_flops;
}

double attention_share(const Gpu& gpu, int64_t tokens) {
  const double time_s = attention_s(gpu.attention, gpu, {tokens, 0}, kHeads, kHeads, kHeadDim, kElementBytes);
  const auto n = static_cast<double>(tokens);
  return 2 * n * n * static_cast<double>(kHeads * kHeadDim) / time_s / gpu.peak_flops;
}

}  // namespace

std::string efficiency_plot(const Gpu& gpu) {
  std::string text =
      "share of peak_flops reached, by the efficiency models above (bar: QKV)\n"
      "          QKV 12288x4096   K+V 2048x4096   attention 32x128\n"
      " tokens                %               %                  %\n";
  for (int64_t tokens = 1; tokens <= 16384; tokens *= 2) {
    const double wide = gemm_share(gpu, tokens, kWide);
    char line[100];
    std::snprintf(line, sizeof line, "%7lld %16.1f %15.1f %18.1f  |", static_cast<long long>(tokens),
                  100 * wide, 100 * gemm_share(gpu, tokens, kNarrow), 100 * attention_share(gpu, tokens));
    const auto bar = static_cast<std::size_t>(std::clamp(wide, 0.0, 1.0) * 36 + 0.5);
    text += line + std::string(bar, '#') + '\n';
  }
  return text;
}

}  // namespace kvcap
