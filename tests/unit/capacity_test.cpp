// The search for the highest load, on formulas in place of simulations.
#include "plan/capacity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "unit/cli.h"

namespace kvcap {
namespace {

// A machine whose p99 TTFT is 100 ms / (1 - load / limit) and that is saturated from `limit` on. Runs of
// fewer than `least_sessions` do not tell.
struct Machine {
  double limit = 10;
  int64_t least_sessions = 0;
  std::vector<double> of_seeds = {1, 1, 1, 1};  // what the limit is multiplied by
  std::vector<LoadAsk> asked;

  RunLoads run() {
    return [this](const std::vector<LoadAsk>& asks) {
      std::vector<RunResult> results;
      for (const LoadAsk& ask : asks) {
        asked.push_back(ask);
        const double share = ask.load / (limit * of_seeds[static_cast<std::size_t>(ask.seed)]);
        const bool tells = ask.sessions >= least_sessions;
        const char* verdict = !tells ? "undecided" : share < 1 ? "stable" : "saturated";
        RunResult& result = results.emplace_back();
        result.metrics = {{"stable.verdict", std::string(verdict)},
                          {"p99_ttft_ms", share < 1 ? 100 / (1 - share) : 150},
                          {"warmup.detected_turns", 0.0},
                          {"rejected", 0.0},
                          {"truncated", 0.0},
                          {"request_throughput", ask.load}};
        result.session_count = ask.sessions;
        result.turn_count = ask.sessions;
      }
      return results;
    };
  }
};

CapacityQuestion question(double most_ms) {
  return {.meet = {{.metric = "p99_ttft_ms", .max = most_ms}}, .guess = 1};
}

// 100 / (1 - load / 10) <= 500: load <= 8.
TEST(Capacity, IsTheHighestLoadThatMeetsTheTarget) {
  for (double guess : {0.01, 1.0, 8.0, 500.0}) {
    Machine machine;
    CapacityQuestion asked = question(500);
    asked.guess = guess;
    const CapacityAnswer answer = find_capacity(asked, machine.run());
    EXPECT_LE(answer.load.mean, 8);
    EXPECT_GE(answer.load.mean, 8 / 1.02);
    EXPECT_EQ(answer.limit, "p99_ttft_ms");
  }
}

// Beyond the limit p99 TTFT looks well: what is saturated counts.
TEST(Capacity, EndsWhereTheLoadSaturates) {
  Machine machine;
  const CapacityAnswer answer = find_capacity(question(1e9), machine.run());
  EXPECT_LE(answer.load.mean, 10);
  EXPECT_GE(answer.load.mean, 10 / 1.02);
  EXPECT_EQ(answer.limit, "stable");
}

TEST(Capacity, HasTheIntervalOfItsSeeds) {
  Machine machine{.of_seeds = {0.9, 1, 1.1, 1}};
  const CapacityAnswer answer = find_capacity(question(500), machine.run());
  // Of 7.2, 8, 8.8 and 8: standard deviation 0.653, t(3) 3.182 over 2.
  EXPECT_NEAR(answer.load.mean, 8, 0.17);
  EXPECT_NEAR(answer.load.half_width, 3.182 * 0.653 / 2, 0.15);
}

TEST(Capacity, MakesRunsLongerUntilTheyTell) {
  Machine machine{.least_sessions = 3000};
  const CapacityAnswer answer = find_capacity(question(500), machine.run());
  EXPECT_GE(answer.load.mean, 8 / 1.02);
  std::set<int64_t> lengths;
  for (const LoadAsk& ask : machine.asked) lengths.insert(ask.sessions);
  EXPECT_TRUE(lengths.contains(1000) && lengths.contains(4000));
}

// Next to its bound a 99th percentile needs many turns; far from it few do.
TEST(Capacity, MakesRunsLongerWhereATargetIsNear) {
  Machine machine;
  find_capacity(question(500), machine.run());
  for (const LoadAsk& ask : machine.asked) {
    const double p99_ms = ask.load < 10 ? 100 / (1 - ask.load / 10) : 150;
    const bool is_far = p99_ms < 200 || ask.load > 9.5;
    EXPECT_TRUE(!is_far || ask.sessions == 500) << ask.load;
  }
  EXPECT_TRUE(std::any_of(machine.asked.begin(), machine.asked.end(),
                          [](const LoadAsk& ask) { return ask.sessions == 32000; }));
}

TEST(Capacity, EndsWhereNothingEverMisses) {
  const RunLoads fine = [](const std::vector<LoadAsk>& asks) {
    std::vector<RunResult> results(asks.size());
    for (RunResult& result : results) {
      result.metrics = {{"stable.verdict", std::string("stable")},
                        {"p99_ttft_ms", 1.0},
                        {"warmup.detected_turns", 0.0},
                        {"rejected", 0.0},
                        {"truncated", 0.0},
                        {"request_throughput", 1.0}};
      result.turn_count = 1'000'000;
    }
    return results;
  };
  CapacityQuestion asked = question(500);
  asked.closed_loop = true;
  const CapacityAnswer answer = find_capacity(asked, fine);
  EXPECT_GE(answer.load.mean, 64);
  EXPECT_EQ(answer.limit, "");
}

TEST(Capacity, IsNoneWhereTheLeastLoadMisses) {
  Machine machine;
  const CapacityAnswer answer = find_capacity(question(90), machine.run());
  EXPECT_EQ(answer.load.mean, 0);
  EXPECT_TRUE(answer.curve.empty());
}

TEST(Capacity, OfAClosedLoopIsAWholeNumberOfSessions) {
  Machine machine{.limit = 40};
  CapacityQuestion asked = question(501);
  asked.closed_loop = true;
  const CapacityAnswer answer = find_capacity(asked, machine.run());
  EXPECT_EQ(answer.load.mean, 32);       // of 40, 0.8
  EXPECT_EQ(answer.load.half_width, 1);  // all seeds agree, and 33 misses
  for (const LoadAsk& ask : machine.asked) EXPECT_EQ(ask.load, std::round(ask.load));
}

TEST(Capacity, HasACurveFromAQuarterToBeyond) {
  Machine machine;
  const CapacityAnswer answer = find_capacity(question(500), machine.run());
  ASSERT_EQ(answer.curve.size(), 8U);
  EXPECT_NEAR(answer.curve.front().ask.load, 0.25 * answer.load.mean, 1e-9);
  EXPECT_NEAR(answer.curve.back().ask.load, 1.25 * answer.load.mean, 1e-9);
  EXPECT_EQ(answer.curve.front().missed, "");
  EXPECT_EQ(answer.curve.back().missed, "p99_ttft_ms");
}

TEST(Capacity, OfRejectedTurnsIsNoneUnlessATargetAllowsThem) {
  const RunLoads rejects = [](const std::vector<LoadAsk>& asks) {
    std::vector<RunResult> results(asks.size());
    for (std::size_t i = 0; i < asks.size(); ++i) {
      results[i].metrics = {{"stable.verdict", std::string(asks[i].load < 5 ? "stable" : "saturated")},
                            {"p99_ttft_ms", 1.0},
                            {"warmup.detected_turns", 0.0},
                            {"rejected", 3.0},
                            {"rejected_share", 0.01},
                            {"truncated", 0.0},
                            {"request_throughput", 1.0}};
      results[i].turn_count = 1'000'000;
    }
    return results;
  };
  EXPECT_EQ(find_capacity(question(500), rejects).limit, "rejected");
  CapacityQuestion allowed = question(500);
  allowed.meet.push_back({.metric = "rejected_share", .max = 0.02});
  EXPECT_GE(find_capacity(allowed, rejects).load.mean, 5 / 1.02);
}

using CapacityCommand = Cli;

TEST_F(CapacityCommand, FindsALoadThatMeetsTheTargetsAndOneThatMisses) {
  const std::string scenario = std::string(KVCAP_SOURCE_DIR) + "/scenarios/chat-7b.json";
  const Outcome outcome =
      kvcap({"capacity", scenario, "--meet", "p99_ttft_ms<=1000", "--seeds", "1", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const nlohmann::json answer = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(answer["schema"], "kvcap.capacity/1");
  EXPECT_EQ(answer["unit"], "requests_per_s");
  const double capacity = answer["capacity"]["mean"];
  EXPECT_GT(capacity, 0.4);
  EXPECT_LT(capacity, 2);
  bool beyond = false;
  for (const nlohmann::json& one : answer["attempts"]) {
    if (one["requests_per_s"] <= capacity) continue;
    beyond = true;
    EXPECT_FALSE(one["missed"].is_null());
  }
  EXPECT_TRUE(beyond);
}

TEST_F(CapacityCommand, ExitsWith2AndOneLineForBadInput) {
  const std::string folder = std::string(KVCAP_SOURCE_DIR) + "/scenarios/";
  for (const auto& [args, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{folder + "chat-7b.json", "--set", "slo.ttft_ms=null", "--set", "slo.tpot_ms=null"},
            "slo: missing, required without --meet"},
           {{folder + "chat-7b.json", "--meet", "p99_ttft_ms<5"}, "--meet: found \"p99_ttft_ms<5\""},
           {{folder + "chat-7b.json", "--meet", "p99_tft_ms<=5"}, "did you mean \"p99_ttft_ms\""},
           {{folder + "chat-7b.json", "--meet", "output_throughput>=5"},
            "allowed: one that a higher load makes worse"},
           {{folder + "mooncake.json", "--meet", "p99_ttft_ms<=5"},
            "workload.arrivals.process: found \"trace\""}}) {
    std::vector<std::string> command = {"capacity"};
    command.insert(command.end(), args.begin(), args.end());
    const Outcome outcome = kvcap(command);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace kvcap
