// The loop behind every advice, and the looks of the judge that it uses.
#include "advise/perturb.h"

#include <gtest/gtest.h>

#include <utility>

namespace kvcap::perturb_test {
namespace {

// The first seed takes as many ms as the change says, the others 100 ms more.
class SlowerLater : public Evaluator {
 public:
  std::vector<Answer> run(const std::vector<Ask>& asks) override {
    std::vector<Answer> answers;
    for (const Ask& ask : asks) {
      const double first_ms = std::stod(ask.changes.front().substr(3));
      answers.emplace_back().result.metrics = {
          {"p99_ttft_ms", first_ms * ask.context_scale + (ask.replication > 0 ? 100 : 0)}, {"stable", true}};
    }
    runs += std::ssize(asks);
    return answers;
  }
  void begin(const std::string& name) override { step = name; }

  int64_t runs = 0;
  std::string step;
};

const Plan kPlan{.name = "test", .base = "", .meet = {{.metric = "p99_ttft_ms", .max = 60}}};

TEST(Perturb, JudgesWhatIsProposedRoundByRoundAndTellsItInOrder) {
  SlowerLater machine;
  Judge judge(kPlan, machine);
  std::vector<std::vector<Trial>> rounds = {{{{"ms=10"}}, {{"ms=20"}, 2}}, {{{"ms=30"}}}, {}};
  auto next = rounds.begin();
  std::vector<double> told;
  const auto tell = [&](const std::vector<const Candidate*>& judged) {
    for (const Candidate* one : judged) told.push_back(one->metric("p99_ttft_ms").mean);
  };
  perturb({"a step", Look::one_seed, [&] { return *next++; }, tell}, judge);
  EXPECT_EQ(told, (std::vector<double>{10, 40, 30}));
  EXPECT_EQ(next, rounds.end());
  EXPECT_EQ(machine.runs, 3);
  EXPECT_EQ(machine.step, "a step");
}

TEST(Perturb, RunsNothingThatWasJudgedBefore) {
  SlowerLater machine;
  Judge judge(kPlan, machine);
  const Candidate* before = judge.look({{{"ms=10"}}}).front();
  EXPECT_EQ(machine.runs, 3);
  const Candidate* told = nullptr;
  const auto tell = [&](const std::vector<const Candidate*>& judged) { told = judged.front(); };
  for (Look look : {Look::one_seed, Look::verdict, Look::intervals}) {
    perturb({"", look, once({{{"ms=10"}}}), tell}, judge);
    EXPECT_EQ(std::exchange(told, nullptr), before);
    EXPECT_EQ(machine.runs, 3);
  }
}

TEST(Judge, LooksAtASettingUnderTheSeedsThatWereAskedFor) {
  SlowerLater machine;
  Judge judge(kPlan, machine);
  const auto runs = [&](const std::string& change, Look how) {
    return judge.look({{{change}}, {{change}}}, how).back()->runs.size();
  };
  EXPECT_EQ(runs("ms=10", Look::one_seed), 1U);
  EXPECT_EQ(runs("ms=10", Look::verdict), 3U);
  EXPECT_EQ(runs("ms=121", Look::verdict), 1U);  // more than twice the bound
  EXPECT_EQ(runs("ms=121", Look::intervals), 3U);
}

TEST(Judge, JudgesByTheFirstSeedAloneIfAsked) {
  SlowerLater machine;
  Judge judge(kPlan, machine);
  const Candidate& all = *judge.look({{{"ms=50"}}}).front();
  EXPECT_EQ(all.verdict, Judgement::unclear);
  const Candidate first = judge.by_first_seed(all);
  EXPECT_EQ(first.verdict, Judgement::meets);
  EXPECT_EQ(first.reason, "");
  EXPECT_EQ(first.runs.size(), 1U);
  EXPECT_EQ(all.runs.size(), 3U);
}

}  // namespace
}  // namespace kvcap::perturb_test
