// Tests results on plausible machines: intervals, rankings, finalists of a plan, and --draws.
#include "advise/draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "metrics/model_report.h"
#include "text/model_text.h"
#include "text/plan/plan_text.h"
#include "unit/cli.h"

namespace kvcap::draws_test {
namespace {

using Json = nlohmann::json;

RunResult run_with(double ttft_ms, double hit_rate = 0.5) {
  RunResult result;
  result.turn_count = 10;
  result.metrics = {{"mean_ttft_ms", ttft_ms}, {"token_hit_rate", hit_rate}, {"stable", 1.0}};
  return result;
}

// Ratios to the nominal run are 0.8, 0.9, ..., 1.8; their 10 % and 90 % quantiles are 0.9 and 1.7.
TEST(ModelIntervals, AreTheResultTimesWhatMachinesMakeOfIt) {
  std::vector<RunResult> drawn;
  for (int i = 8; i <= 18; ++i) drawn.push_back(run_with(50 * 0.1 * i, 0.5 + 0.05 * (i - 8)));
  drawn.push_back({});  // could not run
  const std::vector<ModelInterval> intervals = model_intervals(run_with(100, 0.9), run_with(50), drawn);
  ASSERT_EQ(intervals.size(), 2U);
  EXPECT_EQ(intervals[0].name, "mean_ttft_ms");
  EXPECT_NEAR(intervals[0].low, 90, 1e-9);
  EXPECT_NEAR(intervals[0].high, 170, 1e-9);
  EXPECT_EQ(intervals[0].draws, 11);
  EXPECT_EQ(intervals[1].high, 1);  // a share is at most 1
}

TEST(ModelIntervals, RankSettingsMachineByMachine) {
  const std::vector<std::vector<RunResult>> drawn = {{run_with(1), run_with(2), run_with(3), run_with(4)},
                                                     {run_with(2), run_with(2), run_with(1), {}}};
  const std::vector<RunResult> whole = {run_with(2), run_with(2)};
  const std::vector<Ranking> all = rankings({"a", "b"}, whole, whole, drawn);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].setting, "a");
  EXPECT_EQ(all[0].metric, "mean_ttft_ms");
  EXPECT_DOUBLE_EQ(all[0].share, (1 + 0.5 + 0 + 1) / 4);
  EXPECT_DOUBLE_EQ(all[1].share, (0 + 0.5 + 1 + 0) / 4);
  EXPECT_EQ(machines_text(0.969, 32), "97 % of 32 plausible machines");
  EXPECT_EQ(machines_text(1, 32), "all 32 plausible machines");
}

// Short runs of 10 and 40 ms, whole ones of 100 and 50: machines that make a 0.4 and 0.6 times as slow leave
// it at 40 and 60 ms, of which one is below b's 50.
TEST(ModelIntervals, RankWholeRunsWhereShortOnesAreOtherwise) {
  const std::vector<RunResult> whole = {run_with(100), run_with(50)}, nominal = {run_with(10), run_with(40)};
  const std::vector<std::vector<RunResult>> drawn = {
      {run_with(10), run_with(12), run_with(4), run_with(6)},
      {run_with(40), run_with(30), run_with(40), run_with(40)}};
  const std::vector<Ranking> all = rankings({"a", "b"}, whole, nominal, drawn);
  EXPECT_DOUBLE_EQ(all[0].share, 0.25);
  EXPECT_DOUBLE_EQ(all[1].share, 0.75);
  EXPECT_NE(reversed_ranking({"a", "b"}, whole, nominal, 50).find("runs of 50 sessions rank a before b"),
            std::string::npos);
  EXPECT_EQ(reversed_ranking({"a", "b"}, whole, {run_with(2), run_with(1)}, 50), "");
}

TEST(PlanDraws, ScaleWhatWasMeasuredOverSeeds) {
  EXPECT_DOUBLE_EQ(on_machine(200, 100, 130), 260);
  EXPECT_DOUBLE_EQ(on_machine(0, 0, 0.25), 0.25);
  EXPECT_DOUBLE_EQ(on_machine(0.5, 0, 0.25), 0.75);
}

// The answer runs once on the machine of its profile and once on each drawn one.
TEST(PlanDraws, RunTheFinalistsOnPlausibleMachines) {
  const Plan plan{.name = "test",
                  .base = std::string(KVCAP_SOURCE_DIR) + "/scenarios/demo.json",
                  .meet = {{.metric = "p99_ttft_ms", .max = 1e6}}};
  RunResult length = run_with(100);
  length.session_count = 50;
  length.metrics.emplace_back("p99_ttft_ms", 100.0);
  const Candidate answer{.changes = {"workload.sessions=50"}, .verdict = Judgement::meets, .runs = {length}};
  PlanResult result;
  EXPECT_EQ(draw_finalists(plan, result, {.draws = 2}).draws, 0);
  result.best = &answer;
  EXPECT_EQ(draw_finalists(plan, result, {.draws = 0}).draws, 0);
  const PlanDraws draws = draw_finalists(plan, result, {.draws = 2});
  EXPECT_EQ(draws.draws, 2);
  ASSERT_EQ(draws.finalists.size(), 1U);
  EXPECT_EQ(draws.finalists[0].meets, 1);
  EXPECT_EQ(draws.still_best, 1);
  const std::vector<ModelInterval>& intervals = draws.finalists[0].intervals;
  ASSERT_EQ(intervals[0].name, "p99_ttft_ms");
  EXPECT_LT(intervals[0].low, intervals[0].high) << "the drawn machines differ";
}

// Four machines, of which the last runs neither of two settings. The answer at 2 $ meets 100 ms on the first
// and the third; on the third the other one does too, for less.
TEST(PlanDraws, CountTheMachinesInWhichTheAnswerStillHolds) {
  Plan plan{.name = "test", .base = "", .meet = {{.metric = "p99_ttft_ms", .max = 100}}};
  const auto run = [](double usd_per_hour, double p99_ttft_ms) {
    RunResult result;
    result.turn_count = 1;
    result.metrics = {{"cost.usd_per_hour", usd_per_hour}, {"p99_ttft_ms", p99_ttft_ms}, {"stable", true}};
    return result;
  };
  const Candidate answer{.changes = {"kind=a"}, .verdict = Judgement::meets, .runs = {run(2, 80)}};
  const Candidate cheaper{.changes = {"kind=b"}, .verdict = Judgement::misses, .runs = {run(1, 200)}};
  const ModelDraws runs{
      .draws = 4,
      .sessions = 50,
      .is_shortened = true,
      .nominal = {run(2, 40), run(1, 200)},
      .drawn = {{run(2, 45), run(2, 60), run(2, 50), {}}, {run(1, 101), run(1, 300), run(1, 99), {}}}};
  const PlanDraws draws = judge_finalists(plan, {&answer, &cheaper}, runs);
  EXPECT_EQ(draws.finalists[0].meets, 0.5);
  EXPECT_EQ(draws.finalists[1].meets, 0.25);
  ASSERT_EQ(draws.finalists[0].intervals.size(), 2U);
  for (const ModelInterval& one : draws.finalists[0].intervals) EXPECT_EQ(one.draws, 3) << one.name;
  EXPECT_EQ(draws.still_best, 0.25);
  EXPECT_EQ(plan_draws_text(plan, draws), R"(
How far the model can be trusted, on 4 plausible machines, which agree with the measurements (runs
of 50 sessions):
  the answer meets every target on 50 % of 4 plausible machines and is the cheapest of 2 finalists
    that do on 25 % of 4 plausible machines
  p99_ttft_ms: 80 % of machines lie in 92.0..116
  kind=b at cost.usd_per_hour 1.00 meets them on 25 % of 4 plausible machines
)");
  EXPECT_EQ(plan_draws_text(plan, {}), "");
}

class DrawsOfCompare : public Cli {};

TEST_F(DrawsOfCompare, AddModelIntervalsAndTheShareOfMachines) {
  const std::vector<std::string> command = {"compare",          path("chat.json"), "--policies",
                                            "recompute,hcache", "--draws",         "6"};
  std::vector<std::string> as_json = command;
  as_json.emplace_back("--json");
  const Outcome first = kvcap(as_json);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(kvcap(as_json).out, first.out);  // byte for byte
  const Json compared = Json::parse(first.out);
  EXPECT_EQ(compared["model"]["draws"], 6);
  EXPECT_FALSE(compared["model"]["outside_validation"].empty());
  for (const Json& result : compared["results"]) {
    const Json& interval = result["model_intervals"]["mean_ttft_ms"];
    EXPECT_LT(interval["low"], interval["high"]);
    EXPECT_EQ(interval["share"], 0.8);
    EXPECT_EQ(interval["draws"], 6);
  }
  bool ranked = false;
  for (const Json& one : compared["model"]["rankings"]) {
    if (one["setting"] != "hcache" || one["metric"] != "mean_ttft_ms") continue;
    ranked = true;
    EXPECT_EQ(one["against"], "recompute");
    const double machines = 6 * one["share_of_machines"].get<double>();
    EXPECT_EQ(machines, std::round(machines));
  }
  EXPECT_TRUE(ranked);
  const std::string brief = kvcap(command).out;
  EXPECT_NE(brief.find("80 % of 6 plausible machines"), std::string::npos);
  EXPECT_EQ(brief.find(" beats "), std::string::npos) << "the runs are too short to tell";
  EXPECT_EQ(brief.find("(paper) has no measured errors for some"), std::string::npos);
  std::vector<std::string> explained = command;
  explained.emplace_back("--explain");
  EXPECT_NE(kvcap(explained).out.find("(paper) has no measured errors for some"), std::string::npos);
}

TEST_F(DrawsOfCompare, ChangeNothingElse) {
  const std::vector<std::string> command = {"compare",          path("chat.json"), "--policies",
                                            "recompute,hcache", "--json",          "--draws"};
  const auto with = [&](const char* draws) {
    std::vector<std::string> all = command;
    all.emplace_back(draws);
    return Json::parse(kvcap(all).out);
  };
  Json some = with("2"), none = with("0");
  EXPECT_FALSE(none.contains("model"));
  some.erase("model");
  for (Json& result : some["results"]) result.erase("model_intervals");
  EXPECT_EQ(some, none);
}

TEST_F(DrawsOfCompare, RefuseANumberThatIsNone) {
  const Outcome outcome =
      kvcap({"compare", path("chat.json"), "--policies", "recompute,hcache", "--draws", "-1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--draws"), std::string::npos);
}

TEST_F(DrawsOfCompare, RefuseAnErrorOfNoRegime) {
  const Outcome outcome =
      kvcap({"run", path("chat.json"), "--set", "hardware.errors.gem_few_rows.sigma=0.1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("gemm_few_rows"), std::string::npos) << outcome.err;
}

TEST_F(DrawsOfCompare, SayInHowManyMachinesAPlanStillHolds) {
  write("plan.json", R"({"schema": "kvcap.plan/1", "name": "small", "max_replications": 3, "base":
        {"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "l40s",
         "serving": {"max_model_len": 16384},
         "workload": {"source": {"kind": "chat"}, "arrivals": {"sessions_per_s": 0.03}, "sessions": 60},
         "policy": {"tiers": [{"kind": "ssd"}]}},
        "search": {"policy.name": ["recompute", "hcache"]}, "meet": {"p99_ttft_ms": {"max": 100000}}})");
  const Outcome json = kvcap({"plan", path("plan.json"), "--draws", "4", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const Json model = Json::parse(json.out)["model"];
  EXPECT_EQ(model["draws"], 4);
  ASSERT_FALSE(model["finalists"].empty());
  const double met = model["finalists"][0]["meets_share"], best = model["still_best_share"];
  EXPECT_LE(best, met);
  EXPECT_TRUE(model["finalists"][0]["model_intervals"].contains("p99_ttft_ms"));
}

// --draws auto takes no more turns than the runs.
TEST(AffordableDraws, NeedNoMoreTurnsThanTheRuns) {
  const std::vector<Scenario> two(2);
  RunResult run;
  run.session_count = 1000;
  run.turn_count = 100'000;
  // 33 runs of 50 of 1,000 sessions: 33 x 5,000 x 2 = 330,000 turns; 200,000 are enough for 20 of them, one
  // of which is on the nominal machine.
  EXPECT_EQ(affordable_draws(two, {run, run}), 19);
  run.session_count = 10'000;
  run.turn_count = 500'000;
  // A 33rd of the sessions suffices: 304 of 10,000.
  EXPECT_EQ(affordable_draws(two, {run, run}), 31);
  run.session_count = 50;
  run.turn_count = 25'000;
  EXPECT_EQ(affordable_draws(two, {run, run}), 0) << "one run of all sessions is not enough for a draw";
  run.turn_count = 100;
  EXPECT_EQ(affordable_draws(two, {run, run}), 32) << "6,600 turns take no time";
}

}  // namespace
}  // namespace kvcap::draws_test
