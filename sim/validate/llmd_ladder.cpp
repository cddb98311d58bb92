// A real fleet of eight vLLM servers, Qwen3-32B on two H100s each, behind llm-d's router (llm-d/llm-d guides,
// f949302d, read as ladders of request rates), beside a simulated one: 750 prompts in 150 groups, 6,000
// tokens that a group shares and 1,200 of its own, 1,000 tokens of answer, over and over; 15 requests/s for
// 50 s to warm up, then a ladder of rates, each until all is answered. The same with SGLang's servers, with
// the router's approximate index, and with two servers of Qwen3.5-4B on an RTX PRO 6000 each (suite stacks);
// of the last two kinds the 90th percentile of TTFT is published. Rates at which requests ran into the
// client's timeout of 300 s are left out: requests wait here until they are answered.
// Nothing is fitted: profile, KV capacity and routing are as they come. Which prompt comes when is drawn at
// random, since that is not known.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>

#include "base/random.h"
#include "metrics/quantiles.h"
#include "metrics/serialize.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "validate/measured.h"
#include "validate/measured_run.h"
#include "workload/csv.h"

namespace kvcap {
namespace {

constexpr std::string_view kVllm = "qwen3-32b_8xTP2_H100_v1", kSglang = "sglang_qwen3-32b_8xTP2_H100",
                           kHybrid = "qwen3.5-4b_2xTP1_RTXPRO6000";
struct LadderArm {
  std::string_view ladder, name, routing, router = "{}";

  bool publishes_90th() const { return ladder != kVllm; }
};
// llm-d's defaults: weights of 2, 1 and 1, and 31,250 blocks of 64 tokens that it remembers of each server
// (llm-d-router@ebab687).
constexpr std::string_view kApproximate =
    R"({"index": "approximate", "index_tokens": 2000000, "prefix_weight": 2, "kv_weight": 1, "queue_weight": 1})";
constexpr std::array kArms = {LadderArm{kVllm, "round_robin", "round_robin"},
                              LadderArm{kVllm, "precise_prefix", "prefix_aware"}};
constexpr std::array kStackArms = {LadderArm{kVllm, "approx_prefix", "weighted", kApproximate},
                                   LadderArm{kSglang, "round_robin", "round_robin"},
                                   LadderArm{kSglang, "approx_prefix", "weighted", kApproximate},
                                   LadderArm{kHybrid, "approx_prefix", "weighted", kApproximate}};
constexpr uint32_t kGroups = 150, kPromptsOfGroup = 5;
constexpr uint32_t kGroupTokens = 6000, kOwnPromptTokens = 1200, kOutputTokens = 1000;
constexpr double kPause_s = 600;  // between stages: long enough for every one to end

struct Rung {
  double rate = 0, stage_s = 0;
  double output_tokens_per_s = 0, ttft_s = 0;  // mean TTFT, or its 90th percentile
};

// The rates of an arm, and of all arms of its ladder.
std::map<std::string, std::vector<Rung>> ladder_of(const std::string& path, const LadderArm& arm) {
  static constexpr std::array kColumns = {
      CsvColumn{"ladder"}, CsvColumn{"arm"},         CsvColumn{"rate_rps"},   CsvColumn{"stage_s"},
      CsvColumn{"tok_s"},  CsvColumn{"ttft_mean_s"}, CsvColumn{"ttft_p90_s"}, CsvColumn{"failures"}};
  std::map<std::string, std::vector<Rung>> arms;
  for_each_csv_row(path, BadRow::error, kColumns, true, [&](const CsvRow& row) {
    const bool failed = !row.text(7).empty() && !row.text(7).starts_with("0/");
    if (row.text(0) != arm.ladder || failed) return true;
    const auto number = [&](std::size_t i) { return std::strtod(std::string(row.text(i)).c_str(), nullptr); };
    arms[std::string(row.text(1))].push_back(
        {number(2), number(3), number(4), number(arm.publishes_90th() ? 6 : 5)});
    return true;
  });
  return arms;
}

struct Ladder {
  Workload workload;
  std::vector<double> begins_s;  // of the stages, the warm-up first
};

Ladder arrivals_of(const std::vector<Rung>& rungs) {
  std::vector<Rung> stages = {{.rate = 15, .stage_s = 50}};
  stages.insert(stages.end(), rungs.begin(), rungs.end());
  std::vector<uint32_t> order(std::size_t{kGroups} * kPromptsOfGroup);
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const RandomStream random(1, "llm-d");
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(random.uniform(i, 0) * static_cast<double>(i + 1))]);
  }
  Ladder ladder;
  Workload& workload = ladder.workload;
  workload.absolute_times = true;
  workload.piece_begin = {0};
  double begin_s = 0;
  for (const Rung& stage : stages) {
    ladder.begins_s.push_back(begin_s);
    std::vector<double> dates_s;
    for (int64_t i = 0; i < std::llround(stage.rate * stage.stage_s); ++i) {
      const uint64_t draw = workload.turns.size() + static_cast<uint64_t>(i);
      dates_s.push_back(begin_s + stage.stage_s * random.uniform(draw, 1));
    }
    std::sort(dates_s.begin(), dates_s.end());
    for (const double date_s : dates_s) {
      const auto turn = static_cast<uint32_t>(workload.turns.size());
      const uint32_t prompt = order[turn % order.size()];
      workload.sessions.push_back({.first_turn = turn, .turn_count = 1});
      workload.turns.push_back({kGroupTokens + kOwnPromptTokens, kOutputTokens, date_s});
      workload.pieces.push_back({prompt / kPromptsOfGroup, kGroupTokens});
      workload.pieces.push_back({kGroups + prompt, kOwnPromptTokens});
      workload.piece_begin.push_back(workload.pieces.size());
    }
    begin_s += stage.stage_s + kPause_s;
  }
  return ladder;
}

Scenario scenario_of(const LadderArm& arm) {
  const bool is_hybrid = arm.ladder == kHybrid;
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "name": "llm-d", "model": ")" +
          std::string(is_hybrid ? "qwen3.5-4b" : "qwen3-32b") + R"(", "hardware": ")" +
          std::string(is_hybrid ? "rtx-pro-6000" : "h100-sxm-8x") +
          R"(", "policy": "recompute", "workload": {"source": {"kind": "chat"}},
      "serving": {"engine": ")" +
          std::string(arm.ladder == kSglang ? "sglang" : "vllm") + R"(", "tensor_parallel_size": )" +
          std::string(is_hybrid ? "1" : "2") +
          R"(, "max_num_seqs": 1024, "max_num_batched_tokens": 8192, "max_model_len": 16384},
      "fleet": {"replicas": )" +
          std::string(is_hybrid ? "2" : "8") + R"(, "routing": ")" + std::string(arm.routing) +
          R"(", "router": )" + std::string(arm.router) + "}}",
      "llm-d", {});
}

// What the simulated fleet reaches in the stage that begins at begin_s.
Rung rung_of(const RunResult& result, double begin_s, double end_s, bool of_90th = false) {
  Rung rung;
  double turns = 0, last_s = 0;
  std::vector<double> waits_s;
  for (const TurnRecord& turn : result.turns) {
    if (turn.arrival_s < begin_s || turn.arrival_s >= end_s) continue;
    ++turns;
    rung.ttft_s += turn.ttft_s;
    waits_s.push_back(turn.ttft_s);
    rung.output_tokens_per_s += turn.output_tokens;
    last_s = std::max(last_s, turn.arrival_s + turn.e2el_s);
  }
  std::sort(waits_s.begin(), waits_s.end());
  rung.ttft_s = of_90th ? quantile_of_sorted(waits_s, 0.9) : rung.ttft_s / turns;
  rung.output_tokens_per_s /= last_s - begin_s;
  return rung;
}

Check begin(const LadderArm& arm, const std::string& id, const std::string& what) {
  std::string servers = "eight vLLM servers on 16 H100s";
  if (arm.ladder == kSglang) servers = "eight SGLang servers on 16 H100s";
  if (arm.ladder == kHybrid) servers = "two vLLM servers of Qwen3.5-4B on two RTX PRO 6000";
  return {.id = "llm-d." + id, .suite = "measured", .what = servers + " behind llm-d's router, " + what};
}

// Of every rate: output tokens a second, mean TTFT.
std::vector<double> means_of(const RunResult& result, const std::vector<Rung>& rungs,
                             const std::vector<double>& begins_s) {
  std::vector<double> means;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const Rung ours = rung_of(result, begins_s[i + 1], begins_s[i + 1] + rungs[i].stage_s + kPause_s);
    means.push_back(ours.output_tokens_per_s);
    means.push_back(ours.ttft_s);
  }
  return means;
}

}  // namespace

std::vector<MeasuredRun> llmd_runs(const std::string& data) {
  const std::string path = data + "/runs/llmd_ladders.csv";
  if (!std::filesystem::exists(path)) return {};
  const std::map<std::string, std::vector<Rung>> measured = ladder_of(path, kArms[0]);
  std::vector<MeasuredRun> runs;
  for (const LadderArm& arm : kArms) {
    const std::vector<Rung>& rungs = measured.at(std::string(arm.name));
    Ladder ladder = arrivals_of(rungs);
    MeasuredRun run{
        .family = "llm-d." + std::string(arm.name),
        .scenario = scenario_of(arm),
        .workload = std::move(ladder.workload),
        .measured = {},
        .simulated = [rungs, begins_s = ladder.begins_s](
                         const RunResult& result) { return means_of(result, rungs, begins_s); },
        .gap = arm.name == "precise_prefix"
                   ? "50 to 80 ms of router, API and tokenizer are not modelled, nor that sequences "
                     "with one prefix may read its keys from the L2 cache"
                   : ""};
    for (const Rung& rung : rungs) {
      run.measured.push_back(rung.output_tokens_per_s);
      run.measured.push_back(rung.ttft_s);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

static std::string_view reason_of(const LadderArm& arm, bool of_tokens) {
  if (arm.ladder == kHybrid) {
    return of_tokens
               ? "the GPU's kernels are of its attention and GEMMs; those of recurrent layers are not "
                 "measured"
               : "from 20 requests/s on requests wait 130 s there and 6 to 96 s here, where more of them run "
                 "at once: how many that server admits is not said";
  }
  const bool finds = arm.routing != "round_robin";
  if (arm.ladder == kSglang) {
    if (finds) {
      return of_tokens
                 ? "how much of prompts SGLang prefills beside decodes, and its overheads, are not known"
                 : "50 to 80 ms of router, API and tokenizer are not modelled";
    }
    return of_tokens ? "not explained"
                     : "the queue of an overloaded fleet: what a step takes too little adds up";
  }
  if (of_tokens) {
    return finds ? "at 40 and more requests/s the KV memory is full: sequences with one prefix may read its "
                   "keys "
                   "from the L2 cache, which is not modelled"
                 : "steps that compute prompts beside decodes are too short";
  }
  return finds ? "50 to 80 ms that the router, the API and the tokenizer of 7,200 tokens take are not "
                 "modelled; at 40 and more requests/s as above"
               : "the queue of an overloaded fleet: what a step takes too little adds up";
}

static std::vector<Check> ladder_checks(const std::string& data, std::span<const LadderArm> arms,
                                        const std::string& suite) {
  const std::string path = data + "/runs/llmd_ladders.csv";
  const auto begin_in_suite = [&](const LadderArm& arm, const std::string& id, const std::string& what) {
    Check check = begin(arm, id, what);
    if (suite == "stacks") check.id = "stacks." + check.id;
    check.suite = suite;
    return check;
  };
  if (!std::filesystem::exists(path)) {
    Check missing = begin_in_suite(arms[0], "ladder", "a ladder of request rates");
    missing.reason = "no " + path + " (--data)";
    return {missing};
  }
  std::vector<std::vector<Rung>> measured;
  for (const LadderArm& arm : arms) measured.push_back(ladder_of(path, arm).at(std::string(arm.name)));
  const std::vector<std::string> results =
      run_in_workers(arms.size(), [&](std::size_t i, std::atomic<int64_t>& done) {
        return serialize(
            simulate(scenario_of(arms[i]), arrivals_of(measured[i]).workload, {.finished_turns = &done}));
      });
  std::vector<Check> checks;
  for (std::size_t which = 0; which < arms.size(); ++which) {
    const LadderArm& arm = arms[which];
    const bool of_90th = arm.publishes_90th();
    const std::vector<Rung>& rungs = measured[which];
    const std::vector<double> begins_s = arrivals_of(rungs).begins_s;
    const RunResult result = deserialize(results[which]);
    std::vector<double> rates, waits;
    std::vector<Check::Case> rate_cases, wait_cases;
    for (std::size_t i = 0; i < rungs.size(); ++i) {
      const double end_s = begins_s[i + 1] + rungs[i].stage_s + kPause_s;
      const Rung ours = rung_of(result, begins_s[i + 1], end_s, of_90th);
      rates.push_back(std::abs(ours.output_tokens_per_s / rungs[i].output_tokens_per_s - 1));
      waits.push_back(std::abs(ours.ttft_s / rungs[i].ttft_s - 1));
      rate_cases.push_back({ours.output_tokens_per_s, rungs[i].output_tokens_per_s});
      wait_cases.push_back({1e3 * ours.ttft_s, 1e3 * rungs[i].ttft_s});
    }
    std::string name(arm.name);
    if (arm.ladder == kSglang) name = "sglang." + name;
    if (arm.ladder == kHybrid) name = "qwen3.5-4b." + name;
    const auto add = [&](bool of_tokens, const std::string& what, std::vector<double> errors, double most,
                         const std::vector<Check::Case>& cases) {
      std::sort(errors.begin(), errors.end());
      Check check = begin_in_suite(arm, name + (of_tokens ? ".tokens" : ".ttft"),
                                   std::string(arm.name) + ": " + what + ", median error of " +
                                       std::to_string(errors.size()) + " rates");
      check.claim = Claim::at_most;
      check.simulated = {quantile_of_sorted(errors, 0.5)};
      check.reference = {most};
      check.cases = cases;
      check.reason = reason_of(arm, of_tokens);
      judge(check);
      checks.push_back(std::move(check));
    };
    add(true, "output tokens a second until all is answered", rates, 0.15, rate_cases);
    add(false, of_90th ? "90th percentile of TTFT" : "mean TTFT", waits, 0.2, wait_cases);
  }
  return checks;
}

std::vector<Check> llmd_checks(const std::string& data) { return ladder_checks(data, kArms, "measured"); }
std::vector<Check> llmd_stack_checks(const std::string& data) {
  return ladder_checks(data, kStackArms, "stacks");
}

}  // namespace kvcap
