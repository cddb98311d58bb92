// Engines that run short of room.
//
//   vLLM's watermark: Qwen2.5-7B on one GB200 with 299,584 tokens of KV, no prefix cache, 450 prompts of
//   1,000 tokens and answers of 5,000, both even within 20 %, 128 at a time (vllm-project/vllm pull request
//   44594, which says all of this).
//
//   Dynamo's disks: Qwen3-8B on one H100 with 38 GiB of KV on the GPU, 50 GB of DRAM, 500 GB of disk without
//   its frequency filter and blocks of 128 tokens (ai-dynamo/dynamo issue 4774). LMBenchmark's
//   synthetic-multi-round-qa sends the prompts (long_input_short_output_run.sh with 30 users, read with
//   multi-round-qa.py): 2 requests/s for 100 s, each user one every 15 s, up to 20 of them, who share 1,000
//   tokens and have 20,000 of their own. The first users are at rounds of their own when the run begins, but
//   nothing is cached of them; every 9.5 s another user joins. The issue reports 1.27 s under Dynamo 0.6.1
//   and 8.23 s under 0.7.0, both with the disk; the first is simulated. Its drive is not named: the
//   profile's is taken.
#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "validate/published_stacks.h"

namespace kvcap {
namespace {

Workload prompts_within_a_fifth() {
  const RandomStream random(4, "watermark");
  Workload workload;
  workload.concurrency = 128;
  const auto length = [&](uint64_t i, uint64_t which, double mean) {
    return static_cast<uint32_t>(std::lround(mean * (0.8 + 0.4 * random.uniform(i, which))));
  };
  for (uint32_t i = 0; i < 450; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({length(i, 0, 1000), length(i, 1, 5000)});
  }
  return workload;
}

void add_watermarks(std::vector<StackRun>& experiments) {
  for (const char* watermark : {"0", "0.02", "0.05", "0.1", "0.15"}) {
    StackRun one{
        .run = {stack_scenario(R"("model": "qwen2.5-7b", "hardware": "gb200-4x", "policy": "recompute",
                "serving": {"max_num_seqs": 256, "max_num_batched_tokens": 8192, "max_model_len": 8192,
                "prefix_caching": false, "kv_capacity_tokens": 299584, "watermark": )" +
                               std::string(watermark) + "}"),
                prompts_within_a_fifth()},
        .answers = {}};
    const std::string id = "wm" + std::string(watermark) + "-";
    const auto add = [&](const std::string& name, const std::function<double(const RunResult&)>& of) {
      one.answers.emplace_back(id + name, of);
    };
    add("preemptions", [](const RunResult& run) { return run.number("preemptions"); });
    add("output_throughput",
        [](const RunResult& run) { return tokens_per_s(run, true) - tokens_per_s(run, false); });
    add("ttft_p50", [](const RunResult& run) { return ttft_quantile_s(run, 0.5); });
    add("ttft_p99", [](const RunResult& run) { return ttft_quantile_s(run, 0.99); });
    add("itl_p99", [](const RunResult& run) { return run.number("p99_itl_ms"); });
    add("e2el_p50", [](const RunResult& run) { return run.number("median_e2el_ms") / 1e3; });
    experiments.push_back(std::move(one));
  }
}

constexpr double kBenchmark_s = 100;

// Users of LMBenchmark, each a session. A request goes out 15 s after the one before, or with its answer.
Workload users() {
  constexpr uint32_t kUsers = 30, kRounds = 20;
  constexpr uint32_t kSharedTokens = 1010, kOwnTokens = 20020, kQuestionTokens = 30, kAnswerTokens = 100;
  constexpr double kBetweenRequests_s = 15;  // 30 users, 2 requests/s
  constexpr double kBetweenUsers_s = kBetweenRequests_s * (kRounds - 1) / kUsers;
  struct User {
    double first_s = 0;
    uint32_t rounds = 0;
  };
  std::vector<User> users;
  for (uint32_t user = 1; user < kUsers; ++user) {
    const double passed_s = kBetweenUsers_s * (kUsers - user);
    const auto passed = static_cast<uint32_t>(passed_s / kBetweenRequests_s) + 1;
    users.push_back({passed * kBetweenRequests_s - passed_s, kRounds - passed});
  }
  for (double join_s = 0; join_s < kBenchmark_s; join_s += kBetweenUsers_s) {
    users.push_back({join_s, kRounds});
  }
  std::stable_sort(users.begin(), users.end(),
                   [](const User& a, const User& b) { return a.first_s < b.first_s; });
  Workload workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  for (const User& user : users) {
    const auto first = static_cast<uint32_t>(workload.turns.size());
    double time_s = user.first_s;
    for (uint32_t round = 0; round < user.rounds && time_s < kBenchmark_s; ++round) {
      const uint32_t begin_tokens = round == 0 ? kSharedTokens + kOwnTokens : 0;
      workload.turns.push_back({begin_tokens + kQuestionTokens, kAnswerTokens, time_s});
      if (round == 0) workload.pieces.push_back({0, kSharedTokens});
      workload.piece_begin.push_back(workload.pieces.size());
      time_s += kBetweenRequests_s;
    }
    workload.sessions.push_back(
        {.first_turn = first, .turn_count = static_cast<uint32_t>(workload.turns.size()) - first});
  }
  return workload;
}

// Of requests that are answered before the benchmark ends, as it prints it.
double answered_ttft_s(const RunResult& run) {
  double sum_s = 0, turns = 0;
  for (const TurnRecord& turn : run.turns) {
    if (turn.arrival_s + turn.e2el_s > kBenchmark_s) continue;
    sum_s += turn.ttft_s;
    ++turns;
  }
  return sum_s / turns;
}

void add_disk(std::vector<StackRun>& experiments) {
  StackRun one{
      .run = {stack_scenario(R"("model": "qwen3-8b", "hardware": "h100-sxm", "serving": {"block_size": 128,
                "max_num_batched_tokens": 8192, "max_num_seqs": 256, "kv_capacity_tokens": 276700},
                "policy": {"name": "kvbm", "tiers": [{"kind": "dram", "capacity_bytes": 50e9},
                {"kind": "ssd", "capacity_bytes": 500e9, "after_uses": 1}]})"),
              users()},
      .answers = {{"i4774-off", answered_ttft_s}}};
  experiments.push_back(std::move(one));
}

}  // namespace

std::vector<StackRun> pressure_experiments() {
  std::vector<StackRun> experiments;
  add_watermarks(experiments);
  add_disk(experiments);
  return experiments;
}

}  // namespace kvcap
