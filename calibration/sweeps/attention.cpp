#include <algorithm>
#include <cmath>

#include "calibration/fit.h"
#include "calibration/sweeps/sweeps.h"

namespace kvcap::calibration {
namespace {

struct Heads {
  int64_t query_heads, kv_heads, head_dim;
};

// Heads of whole models and of shares on several GPUs: Llama-2-7B, Llama-3-8B, 70B on one and on eight GPUs.
constexpr Heads kAttentionHeads[] = {{32, 32, 128}, {32, 8, 128}, {64, 8, 128}, {8, 1, 128}};

struct AttentionOperands {
  Buffer q, kv, out;
};

Attention attention_of(const AttentionTime& one, const AttentionOperands& operands, int64_t kv_offset_bytes) {
  Attention at{one.format,      one.batch,    one.new_tokens, one.cached_tokens,
               one.query_heads, one.kv_heads, one.head_dim};
  at.q_stride = at.out_stride = one.query_heads * one.head_dim;
  at.kv_stride = 2 * one.kv_heads * one.head_dim;
  at.q = operands.q.data();
  at.k = operands.kv.at(kv_offset_bytes);
  at.v = operands.kv.at(kv_offset_bytes + one.kv_heads * one.head_dim * bytes_of(one.format));
  at.out = operands.out.data();
  return at;
}

int64_t kv_bytes(const AttentionTime& one) {
  return one.batch * (one.cached_tokens + one.new_tokens) * 2 * one.kv_heads * one.head_dim *
         bytes_of(one.format);
}

int64_t q_bytes(const AttentionTime& one) {
  return one.batch * one.new_tokens * one.query_heads * one.head_dim * bytes_of(one.format);
}

std::vector<AttentionTime> wanted(Format format) {
  std::vector<AttentionTime> all;
  for (const Heads& heads : kAttentionHeads) {
    const auto add = [&](int64_t batch, int64_t new_tokens, int64_t cached) {
      all.push_back(
          {format, batch, new_tokens, cached, heads.query_heads, heads.kv_heads, heads.head_dim, {}});
    };
    for (const int64_t tokens : {16, 64, 128, 192, 256, 512, 1024, 2048, 4096, 8192, 16384}) {
      for (const int64_t cached : {0, 512, 2048, 4096, 16384}) add(1, tokens, cached);
    }
    for (const int64_t batch : {1, 4, 16, 64, 256}) {
      for (const int64_t context : {128, 512, 2048, 4096, 8192, 32768}) add(batch, 1, context - 1);
    }
  }
  return all;
}

}  // namespace

std::vector<AttentionTime> sweep_attention(const Sweep& sweep, double flops_per_s,
                                           std::vector<std::string>* notes) {
  const double budget_s = sweep.budgets.attention_s;
  Bench& bench = sweep.bench;
  const DeviceInfo info = bench.backend().info();
  const Format format = info.formats.front();
  const Effort effort{.batches = sweep.thorough ? 5 : 3, .batch_s = 3e-4, .cold = true};
  // A conservative estimate at a quarter of the GEMM rate; run_points() enforces the budget.
  const auto call_s = [&](const AttentionTime& one) {
    return attention_flops(one) / (0.25 * flops_per_s) + 1e-5;
  };

  std::vector<AttentionTime> planned = wanted(format);
  const double most_kv_bytes = std::min(8e9, info.memory_bytes / 8);
  std::erase_if(planned, [&](const AttentionTime& one) {
    return static_cast<double>(kv_bytes(one)) > most_kv_bytes || call_s(one) > budget_s / 60;
  });
  double cost_s = 0;
  for (const AttentionTime& one : planned) cost_s += effort.cost_s(call_s(one));
  // Takes every second, third, ... point if all points exceed the budget.
  const auto stride = static_cast<std::size_t>(std::max(1.0, std::ceil(cost_s / budget_s)));
  std::vector<AttentionTime> taken;
  for (std::size_t i = 0; i < planned.size(); i += stride) taken.push_back(planned[i]);

  // Keys and values are cold, as after a layer's GEMMs: consecutive calls use different parts of a pool.
  int64_t kv_pool_bytes = sweep.cold_bytes();
  int64_t query_bytes = 0;
  for (const AttentionTime& one : taken) {
    kv_pool_bytes = std::max(kv_pool_bytes, kv_bytes(one));
    query_bytes = std::max(query_bytes, q_bytes(one));
  }
  if (taken.empty()) return {};
  const AttentionOperands operands{bench.backend().allocate(Place::device, query_bytes),
                                   bench.backend().allocate(Place::device, kv_pool_bytes),
                                   bench.backend().allocate(Place::device, query_bytes)};
  bench.stream().fill_random(format, operands.q.data(), operands.q.bytes() / bytes_of(format), 3);
  bench.stream().fill_random(format, operands.kv.data(), operands.kv.bytes() / bytes_of(format), 4);
  bench.stream().synchronize();

  std::vector<AttentionTime> times;
  std::vector<Point> points;
  for (const AttentionTime& one : taken) {
    const std::string key = "attention/" + name(format) + "/" + std::to_string(one.batch) + "/" +
                            std::to_string(one.new_tokens) + "/" + std::to_string(one.cached_tokens) + "/" +
                            std::to_string(one.query_heads) + "/" + std::to_string(one.kv_heads) + "/" +
                            std::to_string(one.head_dim);
    points.push_back({key,
                      [&, one] {
                        const int64_t places = std::max<int64_t>(1, kv_pool_bytes / kv_bytes(one));
                        return bench.time(
                            [&](Stream& stream, int64_t i) {
                              stream.attention(attention_of(one, operands, i % places * kv_bytes(one)));
                            },
                            effort, Launch::graph);
                      },
                      [&times, one](const Sample& sample) {
                        times.push_back(one);
                        times.back().time = sample;
                      }});
  }
  const int64_t left_out = run_points(sweep, "attention", points, budget_s);
  notes->push_back(std::to_string(times.size()) +
                   " attention calls were measured, prefill with and without a cached prefix and decode; " +
                   std::to_string(left_out) + " left out for time");
  return times;
}

}  // namespace kvcap::calibration
