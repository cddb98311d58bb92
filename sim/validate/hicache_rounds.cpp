// Chats in rounds under SGLang's HiCache: 20 clients, each of which sends all that was said, the answer too,
// and a fixed number of tokens more, four of them at a time and in a random order
// (benchmark/hicache/bench_multiturn.py).
//
//   Qwen3-8B on one A100-40GB, rounds of 4,096 tokens, answers of one token: Mooncake's SSD benchmark
//   (docs/source/performance/mooncake/ssd-offload-benchmark-results.md@3b5a594), whose launch lines say page
//   size, ratio and wait_complete. No client begins a round before all have ended the last one. Ten rounds
//   were asked for, nine are plotted: the prompts of the tenth, 40,969 tokens, are longer than the model's
//   40,960. The printed means are those of nine rounds times 0.9 in all four arms (within 0.5 %): refused
//   requests count as answered after 0 s. The A100-80G of the catalogue with the memory of 40 GB: its driver
//   reports 39.39 GiB, of which the engine finds 38.9 free.
//
//   Qwen3-14B on two A10, 10 rounds of 2,048 tokens, answers of 16
//   (docs/source/performance/sglang/sglang-hicache-benchmark-results-v1.md@3b5a594). A10s from their
//   datasheet with the efficiencies of the L40S.
//
// Mooncake's master evicts at 0.95 here and not at 0.9: that was its default up to 2026 (its pages said so in
// July, kvcache-ai/Mooncake#3022), and the benchmarks are taken to be older. Its 80gb and 150gb are GiB, as
// its clients read them (_parse_global_segment_size).
//
// SGLang keeps 1.5 MB for each token of a prefill chunk and 2 MB for each sequence of its largest CUDA graph
// out of the static share of memory (python/sglang/srt/server_args.py): on the A100-40GB
// 1 - (4,096 x 1.5 + 32 x 2) / 40,960 = 0.848, on an A10 1 - (2,048 x 1.5 + 24 x 2) / 23,028 = 0.864.
#include <algorithm>

#include "base/random.h"
#include "validate/published_stacks.h"

namespace kvcap {
namespace {

constexpr uint32_t kClients = 20;
constexpr int64_t kAtOnce = 4;
constexpr uint64_t kOrders = 8;  // of clients; which one the benchmark drew is not said: figures are means

struct Rounds {
  uint32_t count = 0;
  uint32_t input_tokens = 0, output_tokens = 0;  // of each
  bool barrier = false;                          // none begins before all of the last one have ended
  int times = 1;                                 // the same chats so often
};

// A request: the client's next one.
using Order = std::vector<uint32_t>;  // of clients

// Whether the client still waits for an answer, if kAtOnce requests run.
bool is_served(const Order& order, uint32_t client) {
  const std::size_t from = order.size() - std::min<std::size_t>(order.size(), kAtOnce);
  return std::find(order.begin() + static_cast<std::ptrdiff_t>(from), order.end(), client) != order.end();
}

// Any client may be next that is not served and has rounds left, with a barrier each once in a round.
Order random_order(const Rounds& rounds, uint64_t number) {
  const RandomStream random(3 + number, "rounds");
  Order order;
  std::vector<uint32_t> done(kClients, 0);
  for (uint64_t draw = 0; order.size() < std::size_t{kClients} * rounds.count; ++draw) {
    const auto round = static_cast<uint32_t>(order.size() / kClients);
    std::vector<uint32_t> ready;
    for (uint32_t client = 0; client < kClients; ++client) {
      if (rounds.barrier ? done[client] == round : done[client] < rounds.count && !is_served(order, client)) {
        ready.push_back(client);
      }
    }
    // All who are left are served: the next place is for one of them, a little later.
    for (uint32_t client = 0; ready.empty() && client < kClients; ++client) {
      if (done[client] < rounds.count) ready.push_back(client);
    }
    const uint32_t chosen =
        ready[static_cast<std::size_t>(random.uniform(draw, 0) * static_cast<double>(ready.size()))];
    ++done[chosen];
    order.push_back(chosen);
  }
  return order;
}

Workload chats_in_rounds(uint64_t number, const Rounds& rounds) {
  Workload workload;
  workload.concurrency = kAtOnce;
  if (rounds.barrier) workload.round_sessions = kClients;
  workload.piece_begin = {0};
  const Order order = random_order(rounds, number);
  for (int time = 0; time < rounds.times; ++time) {
    std::vector<uint32_t> done(kClients, 0);
    for (const uint32_t client : order) {
      const uint32_t round = done[client]++;
      const auto turn = static_cast<uint32_t>(workload.turns.size());
      workload.sessions.push_back({.first_turn = turn, .turn_count = 1});
      workload.turns.push_back(
          {(round + 1) * rounds.input_tokens + round * rounds.output_tokens, rounds.output_tokens});
      for (uint32_t said = 0; said <= round; ++said) {
        const uint64_t key = 2 * (uint64_t{client} * rounds.count + said);
        workload.pieces.push_back({key, rounds.input_tokens});
        workload.pieces.push_back({key + 1, rounds.output_tokens});
      }
      workload.piece_begin.push_back(workload.pieces.size());
    }
  }
  return workload;
}

// From the first request of the last time on.
MeasuredWindow last_time_of(const RunResult& run, const Rounds& rounds) {
  const auto all = std::size_t{kClients} * rounds.count;
  MeasuredWindow window{.from_s = run.turns.back().arrival_s};
  for (const TurnRecord& turn : run.turns) {
    if (turn.session + all >= run.turns.size()) window.from_s = std::min(window.from_s, turn.arrival_s);
  }
  return window;
}

bool is_of_round(const TurnRecord& turn, uint32_t round) { return turn.session / kClients == round; }

double hit_percent(const RunResult& run, uint32_t round) {
  double hits = 0, tokens = 0;
  for (const TurnRecord& turn : run.turns) {
    if (!is_of_round(turn, round)) continue;
    hits += turn.hit_tokens;
    tokens += turn.history_tokens + turn.input_tokens;
  }
  return 100 * hits / tokens;
}

double round_ttft_s(const RunResult& run, uint32_t round) {
  double sum_s = 0;
  for (const TurnRecord& turn : run.turns) sum_s += is_of_round(turn, round) ? turn.ttft_s : 0;
  return sum_s / kClients;
}

struct HicacheArm {
  std::string rounds, total;  // as entries call it
  std::string policy;
};

// `answered`: the share of requests that were not refused.
void add_totals(StackRun& one, const std::string& set, const std::string& arm, const Rounds& rounds,
                double answered = 1) {
  one.answers.emplace_back(set + "-ttft-" + arm, [rounds, answered](const RunResult& run) {
    return answered * mean_ttft_s(run, last_time_of(run, rounds));
  });
  one.answers.emplace_back(set + "-in-" + arm, [rounds](const RunResult& run) {
    return tokens_per_s(run, false, last_time_of(run, rounds));
  });
}

constexpr const char* kHostCache = R"({"kind": "dram", "capacity_over_gpu": 2})";

void add_a100(std::vector<StackRun>& experiments, uint64_t number) {
  const std::string waits =
      R"("name": "hicache", "prefetch_on_arrival": "wait", "tiers": [)" + std::string(kHostCache) + ", ";
  const std::vector<HicacheArm> arms = {
      {"gpu", "GPU_only", R"("name": "recompute")"},
      {"l2", "+L2_(ratio_2)", R"("name": "hicache", "tiers": [)" + std::string(kHostCache) + "]"},
      {"moon", "+Mooncake_80GB",
       waits + R"({"kind": "mooncake_store", "evict_at": 0.95, "capacity_bytes": 85899345920}])"},
      // What leaves Mooncake's memory stays on its SSDs: one tier as large as these, as fast as they read.
      {"ssd", "+Mooncake+SSD", waits + R"({"kind": "remote", "eviction": "none"}])"}};
  const Rounds rounds{.count = 9, .input_tokens = 4096, .output_tokens = 1, .barrier = true};
  for (const HicacheArm& arm : arms) {
    const bool on_ssd = arm.rounds == "ssd";
    StackRun one{
        .run = {stack_scenario(
                    R"("model": "qwen3-8b", "hardware": "a100-80g-sxm", "serving": {"engine": "sglang",
                    "block_size": 64, "max_num_batched_tokens": 4096, "gpu_memory_utilization": 0.848,
                    "max_model_len": 40960}, "policy": {)" +
                        arm.policy + "}",
                    {"hardware.gpu.memory_bytes=41.77e9", "hardware.gpu.memory_bandwidth_bytes_per_s=1555e9",
                     // Two HDR ports; five NVMe.
                     on_ssd ? "hardware.remote={\"capacity_bytes\": 14e12, \"bandwidth_bytes_per_s\": 27e9}"
                            : "hardware.remote={\"capacity_bytes\": 85899345920, \"bandwidth_bytes_per_s\": "
                              "50e9}"}),
                chats_in_rounds(number, rounds)},
        .answers = {}};
    add_totals(one, "moonssd", arm.total, rounds, 0.9);
    for (uint32_t round = 0; round < rounds.count; ++round) {
      const std::string id = "moonssd-" + arm.rounds + "-r" + std::to_string(round);
      one.answers.emplace_back(id + "-hit",
                               [round](const RunResult& run) { return hit_percent(run, round); });
      one.answers.emplace_back(id + "-ttft",
                               [round](const RunResult& run) { return round_ttft_s(run, round); });
    }
    experiments.push_back(std::move(one));
  }
}

void add_a10(std::vector<StackRun>& experiments, uint64_t number) {
  const std::string waits =
      R"("name": "hicache", "prefetch_on_arrival": "wait", "tiers": [)" + std::string(kHostCache) +
      R"(, {"kind": "mooncake_store", "evict_at": 0.95, "capacity_bytes": 161061273600}])";
  const std::vector<HicacheArm> arms = {
      {"", "GPU_only", R"("name": "recompute")"},
      {"", "+L2", R"("name": "hicache", "tiers": [)" + std::string(kHostCache) + "]"},
      {"", "+Mooncake_150GB", waits},
      {"", "populated_Mooncake", waits}};
  for (const HicacheArm& arm : arms) {
    // Populated: the same chats went before, and are no part of the figures.
    const Rounds rounds{.count = 10,
                        .input_tokens = 2048,
                        .output_tokens = 16,
                        .times = arm.total == "populated_Mooncake" ? 2 : 1};
    StackRun one{
        .run = {stack_scenario(
                    R"("model": {"name": "qwen3-14b", "num_hidden_layers": 40, "hidden_size": 5120,
                    "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
                    "intermediate_size": 17408, "vocab_size": 151936, "max_position_embeddings": 40960,
                    "torch_dtype": "bfloat16"}, "hardware": "l40s-8x", "serving": {"engine": "sglang",
                    "tensor_parallel_size": 2, "block_size": 64, "max_num_batched_tokens": 2048,
                    "gpu_memory_utilization": 0.864}, "policy": {)" +
                        arm.policy + "}",
                    {"hardware.gpu.memory_bytes=24146608128", "hardware.gpu.peak_flops=125e12",
                     "hardware.gpu.memory_bandwidth_bytes_per_s=600e9", "hardware.gpu.sm_count=72",
                     "hardware.remote={\"capacity_bytes\": 161061273600, \"bandwidth_bytes_per_s\": 25e9}"}),
                chats_in_rounds(number, rounds)},
        .answers = {}};
    add_totals(one, "hicacheA10", arm.total, rounds);
    experiments.push_back(std::move(one));
  }
}

}  // namespace

std::vector<StackRun> hicache_experiments() {
  std::vector<StackRun> experiments;
  for (uint64_t number = 0; number < kOrders; ++number) {
    add_a100(experiments, number);
    add_a10(experiments, number);
  }
  return experiments;
}

}  // namespace kvcap
