// Plan files: bad ones, and small ones whose search by simulation finds what exhaustive search finds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "advise/search.h"
#include "advise/simulator.h"
#include "base/input_error.h"
#include "plan/break_even.h"
#include "unit/advise/decided.h"

namespace kvcap::plan_file_test {
namespace {

class PlanFile : public testing::Test {
 protected:
  PlanFile() : folder_(std::filesystem::temp_directory_path() / ("kvcap_plan_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~PlanFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& search, const std::string& meet,
                    const std::string& rest = R"(, "sizes": "profile")") const {
    const std::string path = (folder_ / "plan.json").string();
    std::ofstream(path)
        << R"({"schema": "kvcap.plan/1", "base": {"model": "llama-2-7b", "hardware": "h100-sxm",
      "serving": {"max_model_len": 16384}, "schema": "kvcap.scenario/1", "workload": {"source": {"kind": "chat"}, "sessions": 60}},
      "search": )"
        << search << R"(, "meet": )" << meet << rest << "}";
    return path;
  }
  // The message without the folder.
  std::string refusal(const std::string& search, const std::string& meet,
                      const std::string& rest = R"(, "sizes": "profile")") const {
    const std::string path = write(search, meet, rest);
    try {
      check_values(load_plan(path), path);
    } catch (const InputError& error) {
      std::string message = error.what();
      for (std::size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;) {
        message.erase(at, folder_.string().size() + 1);
      }
      return message;
    }
    return "";
  }

  std::filesystem::path folder_;
};

constexpr const char* kSearch = R"({"policy.name": ["hcache", "kv_offload"]})";
constexpr const char* kMeet = R"({"p99_ttft_ms": {"max": 500}})";

TEST_F(PlanFile, HasItsOwnNameElseThatOfItsFile) {
  EXPECT_EQ(load_plan(write(kSearch, kMeet)).name, "plan");
  EXPECT_EQ(load_plan(write(kSearch, kMeet, R"(, "name": "mine")")).name, "mine");
}

TEST_F(PlanFile, AppliesObjectsBeforeWhatIsInside) {
  const Plan plan = load_plan(write(
      R"({"hardware.ssd.count": {"min": 1, "max": 8, "factor": 2}, "hardware": ["h100-sxm"],
          "hardware.gpu.count, serving.tensor_parallel_size": [1, 2]})",
      kMeet));
  EXPECT_EQ(changes_at(plan.search, {0, 3, 1}),
            (Changes{"hardware=h100-sxm", "hardware.ssd.count=8", "hardware.gpu.count=2",
                     "serving.tensor_parallel_size=2"}));
  EXPECT_EQ(plan.base.path, (folder_ / "plan.json").string() + "#base");
}

TEST_F(PlanFile, SetsWhatIsInsideOfASearchedObjectAfterIt) {
  const Plan plan = load_plan(write(R"({"hardware": ["h100-sxm", "l40s"]})", kMeet),
                              {"hardware.gpu.price_usd_per_hour=1", "seed=3"});
  EXPECT_EQ(changes_at(plan, {1}), (Changes{"seed=3", "hardware=l40s", "hardware.gpu.price_usd_per_hour=1"}));
}

TEST_F(PlanFile, IsRefusedWithOneLineThatSaysWhere) {
  EXPECT_EQ(refusal(kSearch, kMeet), "");
  EXPECT_EQ(
      refusal(kSearch, R"({"p99_ttft_m": {"max": 500}})"),
      "plan.json: meet.p99_ttft_m: found the metric \"p99_ttft_m\", allowed: a metric of the result; did "
      "you mean \"p99_ttft_ms\"?");
  const std::string bounds = R"(, allowed: {"min": NUMBER}, {"max": NUMBER} or both)";
  EXPECT_EQ(refusal(kSearch, R"({"p99_ttft_ms": {}})"),
            "plan.json: meet.p99_ttft_ms: found an object" + bounds);
  EXPECT_EQ(refusal(kSearch, R"({"p99_ttft_ms": 500})"), "plan.json: meet.p99_ttft_ms: found 500" + bounds);
  EXPECT_EQ(refusal(kSearch, R"({"p99_ttft_ms": {"maxx": 500}})"),
            "plan.json: meet.p99_ttft_ms.maxx: unknown key; did you mean \"max\"?");
  EXPECT_EQ(refusal(kSearch, R"({"p99_ttft_ms": {"max": "500"}})"),
            "plan.json: meet.p99_ttft_ms.max: found \"500\", allowed: a number from -1e+21 to 1e+21");
  EXPECT_EQ(
      refusal(R"({"hardware.ssd.count": {"min": 1, "max": 8}})", kMeet),
      R"(plan.json: search.hardware.ssd.count: found {"min":1,"max":8}, allowed: min and max with either step or factor)");
  EXPECT_EQ(refusal(R"({"hardware.ssd.count": {"min": 4, "max": 1, "step": 1}})", kMeet),
            "plan.json: search.hardware.ssd.count.max: found 1, allowed: a number of at least min");
  EXPECT_EQ(refusal(R"({"hardware.ssd.count": 4})", kMeet),
            "plan.json: search.hardware.ssd.count: found 4, allowed: a list of values, or {\"min\", \"max\", "
            "\"step\"}");
  EXPECT_EQ(refusal(kSearch, kMeet, R"(, "minimise": "x")"),
            "plan.json: minimise: unknown key; did you mean \"minimize\"?");
  EXPECT_EQ(refusal(kSearch, kMeet, R"(, "max_replications": 0)"),
            "plan.json: max_replications: found 0, allowed: an integer from 1 to 1000");
}

TEST_F(PlanFile, IsHeldToTheBoundsThatItsTargetsName) {
  const Plan plan = load_plan(write(kSearch, R"({"mean_ttft_ms": {"min": 1}, "p90_ttft_ms": {"max": 2},
                                                 "p99_ttft_ms": {"min": 3, "max": 3}})"));
  constexpr double kNone = std::numeric_limits<double>::infinity();
  ASSERT_EQ(plan.meet.size(), 3U);
  EXPECT_EQ(plan.meet[0].min, 1);
  EXPECT_EQ(plan.meet[0].max, kNone);
  EXPECT_EQ(plan.meet[1].min, -kNone);
  EXPECT_EQ(plan.meet[1].max, 2);
  EXPECT_EQ(plan.meet[2].min, 3);
  EXPECT_EQ(plan.meet[2].max, 3);
}

TEST_F(PlanFile, IsOneObject) {
  const std::string path = (folder_ / "plan.json").string();
  std::ofstream(path) << "[]";
  try {
    load_plan(path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), path + ": found an array, allowed: an object");
  }
}

TEST_F(PlanFile, IsRefusedWhereItSpansTooMuch) {
  const auto three_lists_of = [](int size) {
    std::string values = "[1";
    for (int i = 2; i <= size; ++i) values += "," + std::to_string(i);
    values += "]";
    return R"({"seed":)" + values + R"(,"serving.max_num_seqs":)" + values + R"(,"fleet.replicas":)" +
           values + R"(,"policy.name":["kv_offload"],"hardware.gpu.price_includes_storage":[false]})";
  };
  const std::string allowed = ", allowed: at most 20000";
  EXPECT_EQ(refusal(three_lists_of(30), kMeet),
            "plan.json: search: found 27000 combinations without the longest range" + allowed);
  EXPECT_EQ(refusal(three_lists_of(20), kMeet, ""),
            "plan.json: search: found 56000 combinations without the longest range (including storage "
            "sizes; \"sizes\": \"profile\" keeps the profile's sizes)" +
                allowed);
}

// A value that no configuration accepts can be no answer; a pair that does not go together can be left out.
TEST_F(PlanFile, IsRefusedForAValueThatNothingAccepts) {
  EXPECT_EQ(refusal(R"({"hardware.gpu.count": [1, 2], "serving.tensor_parallel_size": [1, 2]})", kMeet), "");
  const std::string typo = refusal(R"({"policy.name": ["hcache", "kv_ofload"]})", kMeet);
  EXPECT_TRUE(
      typo.starts_with("plan.json: search.policy.name: no configuration accepts kv_ofload: --set "
                       "policy.name=kv_ofload: found \"kv_ofload\""))
      << typo;
  EXPECT_TRUE(typo.ends_with("did you mean \"kv_offload\"?")) << typo;
  const std::string path = refusal(R"({"hardware.sdd.count": [1]})", kMeet);
  EXPECT_NE(path.find("did you mean \"ssd\"?"), std::string::npos) << path;
}

// Every point of the plan on the whole workload.
struct Exhausted {
  double least = std::numeric_limits<double>::infinity();
  std::size_t meeting = 0, all = 0;
};
Exhausted exhaust(const Plan& plan, Simulator& simulator) {
  std::vector<Changes> all = {{}};
  for (const Dimension& dimension : plan.search) {
    std::vector<Changes> finer;
    for (const Changes& changes : all) {
      for (const std::string& value : dimension.values) {
        finer.push_back(changes);
        for (const std::string& path : dimension.paths) finer.back().push_back(path + "=" + value);
      }
    }
    all = std::move(finer);
  }
  Judge judge(plan, simulator);
  Exhausted found{.all = all.size()};
  for (const Candidate* one : decided(judge, all)) {
    if (one->verdict != Judgement::meets) continue;
    ++found.meeting;
    found.least = std::min(found.least, one->metric("cost.usd_per_hour").mean);
  }
  return found;
}

void expect_the_same(const Plan& plan) {
  Simulator simulator(plan);
  Judge judge(plan, simulator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);
  const Exhausted found = exhaust(plan, simulator);
  EXPECT_GT(found.meeting, 0U);
  EXPECT_LT(found.meeting, found.all);
  EXPECT_DOUBLE_EQ(result.best->metric("cost.usd_per_hour").mean, found.least);
}

TEST_F(PlanFile, FindsBySimulationWhatExhaustiveSearchFinds) {
  expect_the_same(load_plan(write(
      R"({"hardware": ["l40s", "a100-80g-sxm"], "policy.name": ["recompute", "hcache"],
          "hardware.dram.capacity_bytes": {"min": 1e10, "max": 8e10, "factor": 2},
          "policy.tiers": [[{"kind": "dram"}]]})",
      R"({"token_hit_rate": {"min": 0.7}, "p99_ttft_ms": {"max": 1000}})", R"(, "max_replications": 3)")));
}

TEST_F(PlanFile, SearchesStorageBehindANetwork) {
  expect_the_same(load_plan(write(
      R"({"policy.name": ["kv_offload"], "serving.prefix_caching": [false],
          "hardware.remote": [{"capacity_bytes": 0, "bandwidth_bytes_per_s": 5e9, "price_usd_per_gb_hour": 1e-3}],
          "hardware.remote.capacity_bytes": {"min": 1e10, "max": 8e10, "factor": 2},
          "hardware.dram.capacity_bytes": {"min": 1e10, "max": 4e10, "factor": 4},
          "policy.tiers": [[{"kind": "remote"}], [{"kind": "dram"}, {"kind": "remote"}]]})",
      R"({"token_hit_rate": {"min": 0.5}})", R"(, "max_replications": 3)")));
}

// Machines and policies as the scenarios of this project have them, under the plan's workload and targets:
// what meets them is no cheaper than the answer.
TEST_F(PlanFile, IsAsGoodAsWhatPeopleHaveSetUpByHand) {
  const std::string path = write(
      R"({"hardware": ["a100-80g-sxm", "h100-sxm"], "policy.name": ["kv_offload", "hcache"],
          "policy.tiers": [[{"kind": "ssd"}]],
          "hardware.ssd.count": {"min": 1, "max": 4, "factor": 2}})",
      R"({"p99_ttft_ms": {"max": 400}, "token_hit_rate": {"min": 0.5}})", R"(, "max_replications": 6)");
  const Plan plan = load_plan(path);
  Simulator simulator(plan);
  Judge judge(plan, simulator);
  const PlanResult result = find_plan(plan, judge);
  ASSERT_NE(result.best, nullptr);

  std::vector<Changes> by_hand;
  for (const char* name : {"chat-7b", "leval-8b-h100", "mooncake", "papers/cached_attention/figure_22"}) {
    std::ifstream file(std::string(KVCAP_SOURCE_DIR "/scenarios/") + name + ".json");
    const auto scenario = nlohmann::json::parse(file);
    by_hand.push_back({"hardware=" + scenario["hardware"].get<std::string>(),
                       "policy=" + scenario["policy"].dump(),
                       "serving.tensor_parallel_size=" +
                           std::to_string(scenario["serving"].value("tensor_parallel_size", 1))});
  }
  std::size_t meeting = 0;
  for (const Candidate* one : decided(judge, by_hand)) {
    ASSERT_NE(one->verdict, Judgement::cannot_run) << one->reason;
    if (one->verdict != Judgement::meets) continue;
    ++meeting;
    EXPECT_LE(result.best->metric("cost.usd_per_hour").mean, one->metric("cost.usd_per_hour").mean);
  }
  EXPECT_GT(meeting, 0U);
}

// hcache reads half of what kv_offload reads: with one SSD it is first; recompute is where nothing is worth
// reading, for a few tokens.
TEST_F(PlanFile, MapsWhoWinsWhereAndWhereTheClosedFormPutsTheLine) {
  const Plan plan = load_plan(write(kSearch, kMeet,
                                    R"(, "break_even": {"policies": ["recompute", "kv_offload", "hcache"],
      "across": {"tokens": [64, 256, 1024, 4096]}, "down": {"hardware.ssd.count": [1, 8]},
      "set": {"hardware": "a100-40g-4x-pm9a3", "hardware.ssd.read_bandwidth_bytes_per_s": 0.8e9}})"));
  const BreakEvenMap map = break_even_map(plan);
  ASSERT_EQ(map.rows.size(), 2U);
  for (const std::vector<BreakEvenCell>& row : map.rows) {
    for (const BreakEvenCell& cell : row) {
      ASSERT_GE(cell.winner, 0);
      std::vector<double> ttfts_s;
      for (const Contestant& one : cell.policies) ttfts_s.push_back(one.ttft_s);
      std::sort(ttfts_s.begin(), ttfts_s.end());
      EXPECT_DOUBLE_EQ(cell.lead, ttfts_s[1] / ttfts_s[0]);
      for (const Contestant& one : cell.policies) {
        EXPECT_EQ(one.reason, "");
        EXPECT_NEAR(one.ttft_s, one.closed_form_ttft_s, 0.02 * one.closed_form_ttft_s);
      }
    }
  }
  EXPECT_EQ(map.rows[0][0].winner, 0);
  EXPECT_EQ(map.rows[0][3].winner, 2);
  ASSERT_FALSE(map.boundaries.empty());
  for (const Boundary& one : map.boundaries) {
    EXPECT_NEAR(one.simulated, one.closed_form, 0.1 * one.closed_form);
    // Where straight lines through the TTFTs of its two columns meet.
    const std::vector<BreakEvenCell>& row = map.rows[one.row];
    const auto right = static_cast<std::size_t>(
        std::find_if(row.begin() + 1, row.end(),
                     [&](const BreakEvenCell& cell) { return cell.winner == one.to; }) -
        row.begin());
    const auto ahead_s = [&](std::size_t column) {
      const std::vector<Contestant>& policies = row[column].policies;
      return policies[static_cast<std::size_t>(one.to)].ttft_s -
             policies[static_cast<std::size_t>(one.from)].ttft_s;
    };
    const std::vector<double>& tokens = plan.break_even->across.numbers;
    const double share = ahead_s(right - 1) / (ahead_s(right - 1) - ahead_s(right));
    EXPECT_NEAR(one.simulated, tokens[right - 1] + share * (tokens[right] - tokens[right - 1]), 1e-6);
  }
}

// Layer-wise preload computes what is new beside the loads, and no prefill follows.
TEST_F(PlanFile, ClosedFormsOfFusedRestorationsContainThePrefill) {
  const Plan plan = load_plan(write(kSearch, kMeet,
                                    R"(, "break_even": {"policies": ["recompute", "cached_attention"],
      "across": {"tokens": [1024, 4096]}, "down": {"hardware.ssd.count": [1]},
      "set": {"hardware": "a100-40g-4x-pm9a3"}})"));
  const BreakEvenMap map = break_even_map(plan);
  for (const BreakEvenCell& cell : map.rows[0]) {
    for (const Contestant& one : cell.policies) {
      EXPECT_EQ(one.reason, "");
      EXPECT_NEAR(one.ttft_s, one.closed_form_ttft_s, 0.02 * one.closed_form_ttft_s);
    }
  }
}

// A share of 1/16 of 800 sessions, and of 60, is 50; prompts twice as long have the same answers.
TEST_F(PlanFile, RunsFiftySessionsAtLeastAndLengthensPromptsAlone) {
  const std::string search = R"({"workload.sessions": [60, 800]})";
  const Plan plan = load_plan(write(search, kMeet, ""));
  Simulator simulator(plan);
  const auto ask = [](const char* sessions, double share, double scale) {
    return Ask{.changes = {std::string("workload.sessions=") + sessions, "policy.name=recompute"},
               .share = share,
               .context_scale = scale};
  };
  const std::vector<Answer> answers =
      simulator.run({ask("60", 1.0 / 16, 1), ask("800", 1.0 / 16, 1), ask("60", 1, 1), ask("60", 1, 2)});
  for (const Answer& answer : answers) ASSERT_EQ(answer.reason, "");
  EXPECT_EQ(answers[0].result.session_count, 50);
  EXPECT_EQ(answers[1].result.session_count, 50);
  EXPECT_EQ(answers[2].result.session_count, 60);
  EXPECT_EQ(answers[3].result.number("total_output_tokens"), answers[2].result.number("total_output_tokens"));
  EXPECT_GT(answers[3].result.number("total_input_tokens"), answers[2].result.number("total_input_tokens"));
}

TEST_F(PlanFile, TakesWholeSizesOfContextsAlone) {
  for (const char* values : {R"(["x"])", R"(["64k"])", "[-5]", "[0]", "[64.5]", "[1e30]"}) {
    const std::string path = write(kSearch, kMeet,
                                   std::string(R"(, "break_even": {"policies": ["recompute", "kv_offload"],
      "across": {"hardware.ssd.count": [1, 8]}, "down": {"tokens": )") +
                                       values + "}}");
    try {
      load_plan(path);
      FAIL() << values << " was taken";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()),
                path + ": break_even.down.tokens: found an array, allowed: integers from 1 to 100000000");
    }
  }
}

TEST_F(PlanFile, ReachesTheEndOfARangeBelowZero) {
  const Plan plan = load_plan(write(R"({"seed": {"min": -3, "max": -1, "step": 1}})", kMeet, ""));
  EXPECT_EQ(plan.search.front().numbers, (std::vector<double>{-3, -2, -1}));
}

}  // namespace
}  // namespace kvcap::plan_file_test
