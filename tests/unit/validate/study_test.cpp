// Studies: what their expressions mean, what is refused before anything runs, and those that the project
// ships.
#include "validate/studies/study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/input_error.h"
#include "text/validation_text.h"
#include "unit/cli.h"
#include "validate/studies/expression.h"

namespace kvcap::study_test {
namespace {

double value(const std::string& expression) {
  return evaluate(expression, [](const std::string& name) -> double {
    if (name == "off.mean_ttft_ms") return 300;
    if (name == "mean_ttft_ms") return 100;
    throw InputError("no " + name);
  });
}

TEST(Expression, IsArithmeticOverNamesWithDots) {
  EXPECT_EQ(value("off.mean_ttft_ms / mean_ttft_ms - 1"), 2);  // 300 / 100 - 1
  EXPECT_EQ(value("min(4, 3, 5) + 2^10"), 1027);
  EXPECT_EQ(value("floor(2.7) + ceil(2.1)"), 5);
  EXPECT_EQ(value("off.mean_ttft_ms > 200 && mean_ttft_ms < 200"), 1);
  EXPECT_EQ(value("1 > 2 ? 3 : 4"), 4);
}

TEST(Expression, SaysWhatIsNone) {
  for (const char* wrong : {"mean_ttft_ms = 212", "x = 3 > 2", "1 +", "min(", "2 ** 3", "1, 2", "\"text\""}) {
    EXPECT_THROW(value(wrong), InputError) << wrong;
  }
  try {
    value("mean_ttft_ms / other");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "no other");
  }
}

// Between (1, 10) and (2, 1000) the logarithm is a straight line: 100 lies in the middle.
TEST(Expression, FindsWhereACurveCrossesAValue) {
  EXPECT_NEAR(value("log_crossing(100, 1, 10, 2, 1000)"), 1.5, 1e-12);
  EXPECT_NEAR(value("log_crossing(100, 0, 1, 1, 10, 2, 1000)"), 1.5, 1e-12);
  EXPECT_TRUE(std::isnan(value("log_crossing(5000, 1, 10, 2, 1000)")));
}

class StudyFile : public testing::Test {
 protected:
  StudyFile()
      : folder_(std::filesystem::temp_directory_path() / ("kvcap_study_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "chat.json") << R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b",
        "hardware": "a100-40g-4x-pm9a3", "workload": {"source": {"kind": "chat"}, "sessions": 20},
        "policy": {"name": "hcache", "tiers": [{"kind": "ssd"}]}})";
    std::ofstream(folder_ / "chat.csv") << "server,tp\na,1\n";
  }
  ~StudyFile() override { std::filesystem::remove_all(folder_); }

  Study study(const std::string& members, bool quick = false) const {
    const std::string text = R"({"schema": "kvcap.study/1", "scenario": "chat.json", )" + members + "}";
    return read_study(text, (folder_ / "mine.json").string(), false, {.quick = quick});
  }
  std::vector<Check> checks(const std::string& members, bool quick = false) const {
    const Study one = study(members, quick);
    return run_studies({&one, 1});
  }
  // The message without the folder.
  std::string refusal(const std::string& members) const {
    try {
      checks(members);
    } catch (const InputError& error) {
      std::string message = error.what();
      for (std::size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;)
        message.erase(at, folder_.string().size() + 1);
      return message;
    }
    return "";
  }
  static std::string one_check(const std::string& members) {
    return R"("checks": [{"id": "a", )" + members + "}]";
  }

  std::filesystem::path folder_;
};

// KV of Llama-2-7B: 2 x 32 layers x 4,096 x 2 bytes = 524,288 a token.
TEST_F(StudyFile, ComparesFiguresOfItsScenarioWithWhatIsGiven) {
  const Check check =
      checks(one_check(R"("value": "model.kv_bytes_per_token / 2^20", "reference": 0.5)")).front();
  EXPECT_EQ(check.simulated, std::vector{0.5});
  EXPECT_EQ(check.verdict, Agreement::inside);
  EXPECT_TRUE(check.promised);
}

TEST_F(StudyFile, TakesEveryValueInEverySettingInOrder) {
  const Check check =
      checks(
          R"("settings": {"large": {"model": "llama-2-13b"}, "twice": {"serving.tensor_parallel_size": 2, "hardware.gpu.count": 2}},)" +
          one_check(R"("each": [{}, "large"], "by": [{"seed": 3}, {"seed": 4}],
      "value": ["scenario.seed", "model.kv_bytes_per_token / 2^20", "twice.scenario.serving.tensor_parallel_size"],
      "reference": [3, 0.5, 2, 4, 0.5, 2, 3, 0.78125, 2, 4, 0.78125, 2], "inside": 0)"))
          .front();
  // 13B: 2 x 40 layers x 5,120 x 2 bytes
  EXPECT_EQ(check.error, 0);
  EXPECT_EQ(check.verdict, Agreement::inside);
}

TEST_F(StudyFile, SimulatesWhatAnExpressionNamesAndNothingTwice) {
  const std::vector<Check> both = checks(
      R"("settings": {"off": {"policy.name": "kv_offload"}}, "checks": [
      {"id": "a", "value": "off.mean_ttft_ms / mean_ttft_ms", "reference": {"from": 1, "to": 100}},
      {"id": "b", "value": ["off.mean_ttft_ms", "mean_ttft_ms"], "holds": "x1 > x2 && x2 > 0"}])");
  EXPECT_EQ(both[0].verdict, Agreement::inside);
  EXPECT_EQ(both[1].verdict, Agreement::inside);
  EXPECT_EQ(both[0].simulated[0], both[1].simulated[0] / both[1].simulated[1]);
}

TEST_F(StudyFile, ReplacesTheWorkloadByStoredContexts) {
  const Check check =
      checks(one_check(
                 R"("set": {"contexts": {"count": 3, "tokens": 512}}, "value": "completed", "reference": 3)"))
          .front();
  EXPECT_EQ(check.simulated, std::vector{3.0});
}

TEST_F(StudyFile, TakesTheQuickPartOfASettingWhereItIsAskedTo) {
  const std::string members = R"("settings": {"runs": {"seed": 7, "quick": {"seed": 8}}}, )" +
                              one_check(R"("set": "runs", "value": "scenario.seed", "reference": 7)");
  EXPECT_EQ(checks(members).front().simulated, std::vector{7.0});
  EXPECT_EQ(checks(members, true).front().simulated, std::vector{8.0});
}

TEST_F(StudyFile, TakesTheMeanOverSettingsOrTheErrorOfThemAll) {
  const std::string numbers =
      R"("each": [{"seed": 10}, {"seed": 12}, {"seed": 20}], "value": "scenario.seed", )";
  EXPECT_EQ(checks(one_check(numbers + R"("summary": "mean", "reference": 14)")).front().simulated,
            std::vector{14.0});
  // 0 %, 20 %, 100 %
  const std::string references = R"("reference": [10, 10, 10], )";
  const Check median =
      checks(one_check(numbers + references + R"("summary": "median_error", "at_most": 0.2)")).front();
  EXPECT_NEAR(median.error, 0.2, 1e-12);
  EXPECT_EQ(median.cases.size(), 3U);
  const Check worst =
      checks(one_check(numbers + references + R"("summary": "worst_error", "at_most": 0.9)")).front();
  EXPECT_NEAR(worst.error, 1, 1e-12);
  EXPECT_EQ(worst.verdict, Agreement::outside);
}

nlohmann::json points_of(const Check& check) {
  return nlohmann::json::parse(validation_json({check}))["checks"][0]["curve"]["points"];
}

// The numbers are 3, 6, 4, 8: x repeats, the other lists are dealt out.
TEST_F(StudyFile, PlacesItsNumbersInPublishedFigures) {
  const std::string numbers = R"("each": [{"seed": 3}, {"seed": 4}],
      "value": ["scenario.seed", "2 * scenario.seed"], "reference": [1, 2, 5, 9], "curve": {"x_axis": "load", )";
  const Check one = checks(one_check(numbers + R"("x": [10, "most"], "figure": ["F 1", "F 2"],
      "y_axis": "ms", "series": ["hcache", null, "ideal", "hcache, 7B"]})"))
                        .front();
  EXPECT_EQ(nlohmann::json::parse(validation_json({one}))["checks"][0]["curve"]["x_axis"], "load");
  EXPECT_EQ(points_of(one), nlohmann::json::parse(R"([
      {"figure": "F 1", "y_axis": "ms", "series": "hcache", "x": 10, "simulated": 3, "published": 1},
      {"figure": "F 2", "y_axis": "ms", "series": "ideal", "x": 10, "simulated": 4, "published": 5},
      {"figure": "F 2", "y_axis": "ms", "series": "hcache, 7B", "x": "most", "simulated": 8, "published": 9}])"));
  const Check figured = checks(one_check(numbers + R"("x": {"value": "10 * scenario.seed"}, "figure": "F",
      "series": "hcache"})"))
                            .front();
  ASSERT_EQ(figured.points.size(), 4U);
  EXPECT_EQ(points_of(figured)[1]["x"], 30);
  EXPECT_EQ(points_of(figured)[2]["x"], 40);
  EXPECT_EQ(points_of(figured)[3]["y_axis"], "a") << "the check's description";
}

TEST_F(StudyFile, APointHasTheRangeOrTheReferenceOfItsNumber) {
  const std::string numbers = R"("each": [{"seed": 3}, {"seed": 4}], "value": "scenario.seed", "curve":
      {"figure": "F", "series": "hcache", "x": [1, 2], "x_axis": "load"}, )";
  const Check range = checks(one_check(numbers + R"("reference": {"from": 1, "to": 5})")).front();
  EXPECT_EQ(points_of(range)[1]["published"], (nlohmann::json{1, 5}));
  const Check summed =
      checks(one_check(numbers + R"("reference": [3, 5], "summary": "worst_error", "at_most": 1)")).front();
  ASSERT_EQ(summed.points.size(), 2U);
  EXPECT_EQ(points_of(summed)[1]["simulated"], 4);
  EXPECT_EQ(points_of(summed)[1]["published"], 5);
  const Check ordered = checks(one_check(numbers + R"("holds": "x1 < x2")")).front();
  EXPECT_TRUE(points_of(ordered)[0]["published"].is_null());
  const Check plain = checks(one_check(R"("value": "1", "reference": 1)")).front();
  EXPECT_FALSE(nlohmann::json::parse(validation_json({plain}))["checks"][0].contains("curve"));
}

// An empty cell is no number: its error is none, and no summary hides it.
TEST_F(StudyFile, SummarisesNoErrorsWhereOneIsUnknown) {
  std::ofstream(folder_ / "gaps.csv") << "\"s\" ; t\n10;10\n12;\n";
  const Check one = checks(R"("tables": {"gaps": {"csv": "gaps.csv", "set": {"seed": "{s}"}}}, )" +
                           one_check(R"("rows": "gaps", "value": "scenario.seed", "reference": "row.t",
                                       "summary": "worst_error", "at_most": 0.5)"))
                        .front();
  EXPECT_EQ(one.verdict, Agreement::outside);
}

TEST_F(StudyFile, HoldsSharesWithinPoints) {
  const std::string number = R"("set": {"seed": 1}, "value": "scenario.seed / 10", "points": true, )";
  EXPECT_EQ(checks(one_check(number + R"("reference": 0.108)")).front().verdict,
            Agreement::inside);  // 0.8 points
  EXPECT_EQ(checks(one_check(number + R"("reference": 0.14)")).front().verdict, Agreement::near);
  EXPECT_EQ(checks(one_check(number + R"("reference": 0.16)")).front().verdict, Agreement::outside);
}

TEST_F(StudyFile, MakesARunOfEveryRowOfATableThatIsWanted) {
  std::ofstream(folder_ / "bench.csv") << "server,seed,seeds,note\na,3,4,\nb,5,6,x\na,7,,y\n";
  const std::string members = R"("settings": {"server a": {"serving.max_num_seqs": 17}}, "tables":
      {"rows of a": {"csv": "bench.csv", "where": {"server": "a"}, "if": "seed > 3",
                     "set": ["server {server}", {"seed": "{seed + 1}", "name": "run {seed}"}]},
       "with seeds": {"csv": "bench.csv", "where": {"server": ["a", "b"]}, "if": "seeds > 0",
                      "set": {"seed": "{seed}"}}}, )";
  const Check one = checks(members + one_check(R"("rows": "rows of a", "value": ["scenario.seed",
      "scenario.serving.max_num_seqs", "row.seed"], "reference": [8, 17, 7])"))
                        .front();
  EXPECT_EQ(one.error, 0);
  const Check both =
      checks(members + one_check(R"("rows": ["with seeds", "rows of a"], "value": "scenario.seed",
      "reference": "row.seed", "summary": "worst_error", "at_most": 0.1)"))
          .front();
  EXPECT_EQ(both.cases.size(), 3U);
  EXPECT_NEAR(both.error, 1.0 / 7, 1e-12);  // 8 where the row says 7
}

TEST_F(StudyFile, SelectsRowsByEmptyCellsAndByNumbers) {
  std::ofstream(folder_ / "cells.csv") << "kind,seed\n,3\nx,4\n,5\n";
  const Check one = checks(R"("tables": {"t": {"csv": "cells.csv", "where": {"kind": "", "seed": [4, 5]},
                               "set": {"seed": "{seed}"}}}, )" +
                           one_check(R"("rows": "t", "value": "scenario.seed", "reference": 5)"))
                        .front();
  EXPECT_EQ(one.simulated, std::vector{5.0});
}

TEST_F(StudyFile, ComparesNothingWhereATableIsNotThere) {
  const Check one = checks(R"("tables": {"all": {"csv": "$KVCAP_DATA/nowhere/bench.csv"}}, )" +
                           one_check(R"("rows": "all", "value": "scenario.seed", "reference": "row.seed")"))
                        .front();
  EXPECT_EQ(one.verdict, Agreement::not_comparable);
  EXPECT_EQ(one.reason, "no $KVCAP_DATA/nowhere/bench.csv (--data)");
}

TEST_F(StudyFile, ComparesNothingWhereAnInlineScenarioNamesDataThatIsNotThere) {
  const Check one =
      checks(one_check(R"("value": "scenario.seed", "reference": 1, "scenario": {"schema": "kvcap.scenario/1",
          "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3", "policy": "recompute",
          "workload": {"source": {"kind": "csv", "path": "$KVCAP_DATA/nowhere/log.csv"}}})"))
          .front();
  EXPECT_EQ(one.verdict, Agreement::not_comparable);
  EXPECT_EQ(one.reason, "no $KVCAP_DATA/nowhere/log.csv (--data)");
}

// Sessions are numbered from 0: the last ten of twenty.
// 2 x 8192^3 flops at 0.64 of 312 TFLOP/s take 5.506 ms: half of what was measured, an error of 0.5.
TEST_F(StudyFile, ComparesMeasuredKernels) {
  std::ofstream(folder_ / "gemm.csv") << "gpu,m,n,k,t_ms\na100,8192,8192,8192,11.0127\n"
                                         "a100,4096,8192,8192,5.5063\nh100,8192,8192,8192,1\n";
  const auto kernels = [this](const std::string& kernel, const std::string& machines) {
    return R"("kernels": {"machines": {"here": [{"id": "mine", "profile": "a100-40g-4x-pm9a3",
        "names": {"gpu": "a100"}}]}, "sets": [{"name": "gemms", "kernel": ")" +
           kernel + R"(", "machines": ")" + machines + R"(", "what": "GEMMs of {id}: error",
        "tables": [{"csv": ")" +
           (folder_ / "gemm.csv").string() + R"(", "where": {"gpu": ["{gpu}"]},
        "calls": {"m": "m", "n": "n", "k": "k", "time_ms": "t_ms"}}], "fitted": "m == 4096", "median": 0.1, "p90": 0.6,
        "checks": [{"id": "gemm.{id}"}, {"id": "gemm.fitted", "fitted_to": "gpu.gemm"}]}]})";
  };
  const std::vector<Check> all = checks(kernels("gemm_alone", "here"));
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].id, "gemm.mine.median");
  EXPECT_EQ(all[0].what, "GEMMs of mine: error, median of 1");
  EXPECT_NEAR(all[0].simulated[0], 0.5, 1e-3);
  EXPECT_EQ(all[0].verdict, Agreement::outside);
  EXPECT_TRUE(all[0].promised);
  EXPECT_EQ(all[1].verdict, Agreement::inside);
  EXPECT_EQ(all[2].role, Role::fitted);
  EXPECT_FALSE(all[2].promised);
  EXPECT_NE(refusal(kernels("gem_alone", "here")).find("did you mean \"gemm_alone\"?"), std::string::npos);
  EXPECT_NE(refusal(kernels("gemm_alone", "there")).find("a list of kernels.machines"), std::string::npos);
}

// One server, constant answers: of two seeds the waits differ, and each is that of Lindley's recursion.
TEST_F(StudyFile, DrawsSeedsAndFillsTheWorkloadInFromOtherSimulations) {
  const std::string members =
      R"("settings": {"alone": {"contexts": {"count": 1, "tokens": 0, "output_tokens": 20}}},
      "set": {"policy.name": "recompute", "serving.max_num_seqs": 1, "workload": {"kind": "poisson_turns", "turns": 50,
        "per_s": "{600 / alone.mean_e2el_ms}", "seed": "{row.seed}", "output_tokens": 20, "is_drawn": 0,
        "context_tokens": 0, "warmup_turns": 0, "service_s": "{alone.mean_e2el_ms / 1000}", "longer_services": 1}},
      "seeds": {"count": 2}, "checks": [
        {"id": "mean", "value": "turns.mean_queue_ms", "reference": 1, "summary": "interval"},
        {"id": "waits", "value": "turns.mean_queue_ms / alone.mean_e2el_ms", "reference": "law.lindley_wait",
         "summary": "farthest", "inside": 0.1}])";
  const std::vector<Check> all = checks(members);
  ASSERT_EQ(all[0].half_width.size(), 1U);
  EXPECT_GT(all[0].half_width[0], 0);
  EXPECT_EQ(all[1].simulated.size(), 1U);
  EXPECT_EQ(all[1].verdict, Agreement::inside) << all[1].simulated[0] << " " << all[1].reference[0];
}

TEST_F(StudyFile, ReadsTurnsWithinBounds) {
  const std::vector<Check> all = checks(
      R"("set": {"workload.source.kind": "random", "workload.source.output_tokens": 5}, "settings": {"late": {"turns": {"from_session": 10}}}, "checks": [
      {"id": "a", "value": ["turns.count", "late.turns.count", "late.turns.output_tokens", "turns.prompt_tokens"],
       "reference": [20, 10, 50, 20480]},
      {"id": "b", "value": "turns.mean_ttft_ms", "reference": "mean_ttft_ms", "inside": 1e-9}])");
  EXPECT_EQ(all[0].error, 0);
  EXPECT_EQ(all[1].verdict, Agreement::inside);
}

TEST_F(StudyFile, ShowsWithoutAVerdictWhatIsNotToBeJudged) {
  const Check one = checks(one_check(R"("value": "scenario.seed", "reference": 5, "judged": false)")).front();
  EXPECT_EQ(one.verdict, Agreement::not_comparable);
  EXPECT_EQ(one.simulated.size(), 1U);
}

TEST_F(StudyFile, NamesPlaceAndNearestWhereSomethingIsWrong) {
  struct Wrong {
    std::string members, message;
  };
  const std::string fine = R"("value": "scenario.seed", "reference": 1)";
  const Wrong all[] = {
      {R"("check": [])", R"(mine.json: check: unknown key; did you mean "checks"?)"},
      {R"("notes": [])", "mine.json: checks: missing, required"},
      {R"("checks": [])", "mine.json: checks: found an array, allowed: at least one check"},
      {R"("checks": [{"value": "1", "reference": 1}])", "mine.json: checks.0.id: missing, required"},
      {one_check(R"("value": "1")"), "mine.json: checks.0.reference: missing, required"},
      {one_check(R"("reference": 1)"), "mine.json: checks.0.value: missing, required"},
      {one_check(R"("value": "1", "reference": [1, 2])"),
       "mine.json: checks.0: reference: found 2 numbers, allowed: 1, one for each simulated one"},
      {one_check(R"("value": "mean_tfft_ms", "reference": 1)"),
       R"(mine.json: checks.0: found the name "mean_tfft_ms", allowed: a setting's name and a figure; did you mean "mean_ttft_ms"?)"},
      {one_check(R"("value": "machine.prefil_s", "reference": 1)"),
       R"(mine.json: checks.0: found the name "machine.prefil_s", allowed: a setting's name and a figure; did you mean "machine.prefill_s"?)"},
      {one_check(R"("value": "restore_s", "reference": 1)"),
       "mine.json: checks.0: contexts.tokens: missing, required by machine.* and restore_s"},
      {one_check(R"("value": "machine.prefill_s", "reference": 1)"),
       "mine.json: checks.0: contexts.tokens: missing, required by machine.* and restore_s"},
      {one_check(R"("value": "scenario.nothing", "reference": 1)"),
       R"(mine.json: checks.0: "scenario.nothing" is not a number of the resolved scenario)"},
      {one_check(R"("set": "of", )" + fine),
       R"(mine.json: checks.0.set: found "of", allowed: the name of a setting)"},
      {R"("settings": {"off": {}}, )" + one_check(R"("set": "of", )" + fine),
       R"(mine.json: checks.0.set: found "of", allowed: the name of a setting; did you mean "off"?)"},
      {R"("settings": {"machine": {}}, )" + one_check(fine),
       "mine.json: settings.machine: machine already names a metric or a group of figures; choose another "
       "name"},
      {R"("settings": {"cost": {}}, )" + one_check(fine),
       "mine.json: settings.cost: cost already names a metric or a group of figures; choose another name"},
      {one_check(R"("role": "tset", )" + fine),
       R"(mine.json: checks.0.role: found "tset", allowed: test, fitted, input; did you mean "test"?)"},
      {one_check(R"("tolerance": -1, )" + fine),
       "mine.json: checks.0.tolerance: found -1, allowed: a number from 0"},
      {one_check(R"("value": "scenario.seed", "reference": {"from": 1, "until": 2})"),
       R"(mine.json: checks.0.reference.until: unknown key, allowed: from, to)"},
      {one_check(R"("each": [], )" + fine),
       "mine.json: checks.0.each: found an array, allowed: at least one setting"},
      {one_check(R"("set": {"contexts": {"token": 1}}, )" + fine),
       R"(mine.json: checks.0.set.contexts.token: unknown key; did you mean "tokens"?)"},
      {R"("tables": {"t": {"csv": "chat.csv"}}, )" + one_check(R"("rows": "u", )" + fine),
       R"(mine.json: checks.0.rows: found "u", allowed: the name of a table)"},
      {R"("tables": {"t": {"file": "none.csv"}}, )" + one_check(fine),
       R"(mine.json: tables.t.file: unknown key, allowed: csv, where, if, set)"},
      {R"("tables": {"t": {"csv": "chat.csv", "where": {"sever": "a"}}}, )" + one_check(fine),
       R"(mine.json: tables.t: no column "sever" in the table; did you mean "server"?)"},
      {R"("tables": {"t": {"csv": "chat.csv", "where": {"server": {}}}}, )" + one_check(fine),
       "mine.json: tables.t.where.server: found an object, allowed: a text or a number"},
      {R"("tables": {"t": {"csv": "chat.csv", "if": "tp > 9"}}, )" + one_check(fine),
       "mine.json: tables.t: found an object, allowed: conditions that at least one row meets"},
      {one_check(R"("set": {"turns": {"from": 1}}, )" + fine),
       R"(mine.json: checks.0.set.turns.from: unknown key)"},
      {one_check(R"("summary": "worst_error", "value": "1", "holds": "x1 > 0")"),
       R"(mine.json: checks.0.summary: found "worst_error", allowed: none or mean together with holds)"},
      {one_check(R"("value": ["1", "2"], "at_most": 5)"),
       "mine.json: checks.0: at_most: found 2 numbers, allowed: one, or a summary of them"},
      {one_check(R"("value": "1", "reference": 1, "at_most": 5)"),
       "mine.json: checks.0.at_most: found 5, allowed: a reference or at_most, or both with a summary"},
      {R"("tables": {"t": {"csv": "typo.csv"}}, )" + one_check(fine),
       R"(mine.json: tables.t.csv: found "typo.csv", allowed: a file that exists)"},
      {R"("tables": {"t": {"csv": "chat.csv", "set": {"seed": "{tp / 0}"}}}, )" + one_check(fine),
       "mine.json: tables.t: {tp / 0}: found no number in a row"},
      {one_check(R"("summary": "median_error", "value": "scenario.seed", "reference": 1)"),
       "mine.json: checks.0.at_most: missing, required"},
      {one_check(R"("curve": {"figures": "F"}, )" + fine),
       R"(mine.json: checks.0.curve.figures: unknown key; did you mean "figure"?)"},
      {one_check(R"("curve": {"figure": "F", "series": "s", "x_axis": "load", "x": [1, 2]}, )" + fine),
       "mine.json: checks.0.curve.x: found 2 items, allowed: a count that divides 1, the count of the "
       "check's numbers"},
      {one_check(R"("curve": {"figure": [], "series": "s", "x_axis": "load", "x": 1}, )" + fine),
       "mine.json: checks.0.curve.figure: found 0 items, allowed: a count that divides 1, the count of the "
       "check's numbers"},
      {one_check(R"("curve": {"figure": "F", "series": "s", "x_axis": "load", "x": [true]}, )" + fine),
       "mine.json: checks.0.curve.x.0: found true, allowed: a number"},
      {one_check(R"("scenario": "chatt.json", )" + fine),
       "mine.json: checks.0: chatt.json: cannot be read: No such file"},
      {one_check(R"("set": {"policy.nam": "hcache"}, )" + fine),
       R"(mine.json: checks.0: --set policy.nam=hcache: unknown key; did you mean "name"?)"}};
  for (const Wrong& one : all) {
    const std::string said = refusal(one.members);
    EXPECT_EQ(said.substr(0, one.message.size()), one.message) << said;
  }
}

TEST_F(Cli, AStudyOfOnesOwnFailsWhereItsNumbersAreOutside) {
  const auto study = [&](const char* reference) {
    write("mine.json",
          std::string(R"({"schema": "kvcap.study/1", "scenario": "chat.json", "checks": [{"id": "kv",
        "value": "model.kv_bytes_per_token", "unit": "bytes", "reference": )") +
              reference + "}]}");
    return kvcap({"validate", path("mine.json"), "--out", path("folder")});
  };
  const Outcome fine = study("524288");
  EXPECT_EQ(fine.exit_code, 0) << fine.err;
  EXPECT_NE(fine.out.find("mine: 1 inside"), std::string::npos) << fine.out;
  const Outcome outside = study("600000");
  EXPECT_EQ(outside.exit_code, 3);
  EXPECT_NE(outside.err.find("outside the stated accuracy: kv"), std::string::npos) << outside.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "folder" / "validation.json"));
  const Outcome mixed = kvcap({"validate", path("mine.json"), "--suite", "twin"});
  EXPECT_EQ(mixed.exit_code, 2);
  EXPECT_EQ(kvcap({"validate", path("chat.json")}).exit_code, 2);
}

// The example of a server's own figures, as a user would run it in CI.
TEST_F(Cli, TheExampleOfAServersOwnBenchHolds) {
  const Outcome done = kvcap({"validate", KVCAP_SOURCE_DIR "/scenarios/studies/bench.json"});
  EXPECT_EQ(done.exit_code, 0) << done.out << done.err;
  EXPECT_NE(done.out.find("bench.itl "), std::string::npos) << done.out;
}

// The first pass of what the project ships: everything but what simulations give. ./dev validate runs them
// all.
TEST(ShippedStudies, SayOfEveryNumberWhatItIsAndWhyOfWhatCannotBeCompared) {
  std::set<std::string> ids;
  for (const char* suite : {"papers", "fidelity", "stacks", "measured"}) {
    const std::vector<Study> studies = shipped_studies(suite);
    EXPECT_FALSE(studies.empty()) << suite;
    for (const Study& study : studies) {
      for (const StudyCheck& one : study.checks) {
        EXPECT_TRUE(ids.insert(one.check.id).second) << one.check.id;
        EXPECT_NE(one.check.what, one.check.id);
        EXPECT_TRUE(!one.values.empty() || !one.check.reason.empty()) << one.check.id;
        EXPECT_TRUE(std::string_view(suite) == "fidelity" || !one.check.source.empty()) << one.check.id;
      }
    }
  }
}

}  // namespace
}  // namespace kvcap::study_test
