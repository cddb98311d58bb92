// Whole pages of plans, made by hand: every sentence that an answer can have stands in one of them.
#include "text/plan/plan_text.h"

#include <gtest/gtest.h>

#include <array>
#include <list>
#include <utility>

#include "base/text/format.h"

namespace kvcap::plan_text_test {
namespace {

// The same under each of two seeds, but for `p99_ttft_ms`, which is one more under the second.
struct Made {
  Changes changes;
  Judgement verdict = Judgement::meets;
  std::string reason;
  double usd_per_hour = 3, p99_ttft_ms = 100;
};

class PlanText : public testing::Test {
 protected:
  PlanText() {
    plan_.name = "test";
    plan_.base = std::string(KVCAP_SOURCE_DIR) + "/scenarios/demo.json";
    plan_.meet = {{.metric = "p99_ttft_ms", .max = 200}, {.metric = "token_hit_rate", .min = 0.5}};
    report_.plan = &plan_;
    report_.simulations = 1234;
    report_.purchase = "a machine";
    report_.result.configurations = 12;
  }

  const Candidate* made(const Made& one) {
    Candidate candidate{.changes = one.changes, .verdict = one.verdict, .reason = one.reason};
    for (int seed = 0; seed < 2; ++seed) {
      RunResult& run = candidate.runs.emplace_back();
      run.session_count = 100;
      run.metrics = {{"cost.usd_per_hour", one.usd_per_hour},
                     {"p99_ttft_ms", one.p99_ttft_ms + seed},
                     {"cost.gpu_usd", one.usd_per_hour},
                     {"token_hit_rate", 0.75},
                     {"bottleneck.gpu", 0.6},
                     {"bottleneck.ssd_read", 0.004},
                     {"bottleneck.none", 0.396},
                     {"rejected", 0.0},
                     {"truncated", one.verdict == Judgement::misses ? 7.0 : 0.0}};
    }
    return &candidates_.emplace_back(std::move(candidate));
  }

  // The page's lines that hold `text`.
  std::string lines_with(const std::string& text) const {
    const std::string folder = std::string(KVCAP_SOURCE_DIR) + "/";
    std::string lines, all = plan_text(report_, {"A verdict."});
    for (std::size_t at; (at = all.find(folder)) != std::string::npos;) all.erase(at, folder.size());
    while (!all.empty()) {
      const std::size_t end = all.find('\n');
      if (all.substr(0, end).find(text) != std::string::npos) lines += all.substr(0, end + 1);
      all.erase(0, end + 1);
    }
    return lines;
  }

  Plan plan_;
  PlanReport report_;
  std::list<Candidate> candidates_;
};

TEST_F(PlanText, OfAnAnswerSaysEverythingThatFollowsFromIt) {
  const Candidate* best = made({.changes = {"hardware=h100-sxm"}});
  const Candidate* dear =
      made({.changes = {"hardware=h100-sxm", "hardware.ssd.count=2"}, .usd_per_hour = 6, .p99_ttft_ms = 25});
  const Candidate* slow = made({.changes = {"hardware=h100-sxm", "name=slow"},
                                .verdict = Judgement::misses,
                                .reason = "p99_ttft_ms",
                                .usd_per_hour = 1,
                                .p99_ttft_ms = 400});
  PlanResult& result = report_.result;
  result.dropped = 3;
  result.cannot_run = 1;
  result.cannot_run_reason = "no room";
  result.best = best;
  result.next_better = slow;
  result.front = {slow, best, dear};
  result.judged = {slow, best, dear};
  result.implied = {.verified = 4, .wrong = 1, .same = 2, .not_looked_at = 5};
  using Why = Discarded::Why;
  result.discarded = {
      {.value = "a", .why = Why::dearer, .objective = 4},
      {.value = "b", .why = Why::dearer, .objective = 5, .is_estimate = true},
      {.value = "c", .why = Why::misses, .objective = 2, .reason = "p99_ttft_ms", .found = 300},
      {.value = "d", .why = Why::unclear, .objective = 2, .reason = "p99_ttft_ms", .found = 201},
      {.value = "e", .why = Why::misses, .objective = 1, .is_estimate = true, .reason = "unstable"},
      {.value = "f", .why = Why::unclear, .objective = 1, .reason = "stable"},
      {.value = "g", .why = Why::cannot_run, .reason = "no room"}};
  report_.purchase_notes = {"Prices are of a list."};
  report_.advice.marginals = {{.what = "hardware.ssd.count 1 -> 2",
                               .candidate = slow,
                               .objective = {0.5, 0},
                               .quality = {-10, 2},
                               .unit = ResourceUnit::terabyte,
                               .units = 4},
                              {.what = "hardware.ssd.read_bandwidth_bytes_per_s 1000000000 -> 2000000000",
                               .candidate = best,
                               .objective = {0, 0},
                               .quality = {3, 1},
                               .has_price = false}};
  report_.advice.stresses = {
      {"holds", best},
      {"misses", slow},
      {"misses another", made({.verdict = Judgement::misses, .reason = "token_hit_rate"})},
      {"saturated", made({.verdict = Judgement::misses, .reason = "unstable"})},
      {"unclear", made({.verdict = Judgement::unclear, .reason = "stable"})},
      {"cannot run", made({.verdict = Judgement::cannot_run, .reason = "no room"})}};
  report_.advice.prices = {{"GPU price +20 %", 3.6, best}, {"GPU price x 2", 6, dear}};
  report_.advice.why = {.runner_up = dear,
                        .objective = {-3, 0.25},
                        .costs = {{"DRAM", {0.1, 0}}, {"GPU", {-3.1, 0}}, {"SSD", {0.001, 0}}},
                        .ttft_ms = {40, 5},
                        .ttft_parts_ms = {{"queue", {-7, 1}},
                                          {"lookup", {6, 1}},
                                          {"load", {-5, 1}},
                                          {"restore_compute", {4, 1}},
                                          {"prefill", {-3, 1}},
                                          {"batching", {45, 1}}}};
  report_.advice.flips = {{.what = "traffic", .factor = 1.25, .holds = 1.125, .reason = "p99_ttft_ms"},
                          {.what = "prompts", .factor = 1.5, .holds = 1.5, .reason = "unstable"},
                          {.what = "sessions", .factor = 2, .holds = 1, .reason = "stable"},
                          {.what = "SSD price", .factor = 0.5, .holds = 0.5, .better = {"hardware=l40s"}},
                          {.what = "GPU price", .factor = 8, .holds = 8, .is_found = false}};
  EXPECT_EQ(
      lines_with(""),
      R"(test: 12 configurations, 1,234 simulations, 3 judged on the whole workload; 3 combinations dropped
on short ones, 1 cannot run (the first: no room)

A verdict.
  p99 TTFT 100 +-6 ms, wanted: at most 200 ms
  token hit rate 75.0 %, wanted: at least 50.0 %
  kvcap run scenarios/demo.json --set hardware=h100-sxm --set workload.run_length=steady --set workload.warmup=steady --set replications=2
Prices are of a list.
11 configurations would be better than the answer and were ruled out because larger ones miss the
targets. To check this, 4 of them ran, and 1 met the targets; 2 lie between two of equal figures,
and 5 did not run.
The verdicts use 95.0 % intervals.

Pareto front of what has been judged, cost per hour against p99 TTFT (only stable configurations):

          cost per hour             p99 TTFT    meets
 a             1.00 $/h           400 +-6 ms       no   hardware=h100-sxm name=slow
 b             3.00 $/h           100 +-6 ms      yes   hardware=h100-sxm
 c             6.00 $/h        25.5 +-6.4 ms      yes   hardware=h100-sxm ssd.count=2

         400 |a
             |
             |
             |
             |
             |
             |                            b
             |
             |
             |
             |
        25.5 |                                                                       c
             +------------------------------------------------------------------------
              1.00                                                                6.00

The next cheaper configuration that was judged, hardware=h100-sxm name=slow at 1.00 $/h, misses p99
TTFT (400 +-6 ms).

Busiest resource, by share of the time: gpu 60.0 %, none 39.6 %.
Against the runner-up, hardware=h100-sxm ssd.count=2: cost per hour -3.00 +-0.25 $/h (GPU -3.10,
DRAM +0.100); mean TTFT +40.0 +-5.0 ms: 45.0 +-1.0 more sharing steps with others, 7.0 +-1.0 less
queueing, 6.0 +-1.0 more looking up, 5.0 +-1.0 less loading, 4.0 +-1.0 more projecting or
recomputing, 3.0 +-1.0 less prefilling. Its busiest resource: gpu 60.0 %, none 39.6 %.

A little more of each resource:
  SSDs 1 -> 2: p99 TTFT -10.0 +-2.0 ms for cost per hour +0.500 $/h; per TB: -2.50 for +0.125; then
    it misses p99 TTFT (400 +-6 ms)
  SSD read bandwidth 1.00 GB/s -> 2.00 GB/s: p99 TTFT +3.0 +-1.0 ms for cost per hour 0 $/h (a link,
    not for sale by itself)
No resource for sale clearly lowers p99 TTFT without missing a target.

How far the answer holds:
  holds: holds, p99 TTFT 100 +-6 ms
  misses: misses p99 TTFT (400 +-6 ms)
  misses another: misses token hit rate (75.0 %), p99 TTFT 100 +-6 ms
  saturated: is saturated, p99 TTFT 100 +-6 ms
  unclear: may be saturated, p99 TTFT 100 +-6 ms
  cannot run: cannot run: no room
  GPU price +20 %: 3.60 $/h, still the best of what was judged
  GPU price x 2: 6.00 $/h; then better: hardware=h100-sxm ssd.count=2

Where the answer flips, the nearest first (one seed a step):
  traffic x 1.25 (holds at x 1.12): the answer misses p99 TTFT
  prompts x 1.50: the answer is saturated
  sessions x 2.00 (holds at x 1.00): the answer may be saturated
  SSD price x 0.500: cheaper is hardware=l40s
  GPU price x 8.00: the answer still holds

Left out, each with the setting that comes nearest:
  a: meets the targets at cost per hour 4.00 $/h
  b: at least cost per hour 5.00 $/h
  c: misses p99 TTFT (300 ms) at cost per hour 2.00 $/h
  d: may miss p99 TTFT (201 ms) at cost per hour 2.00 $/h
  e: saturated, on a short workload, at cost per hour 1.00 $/h
  f: may be saturated at cost per hour 1.00 $/h
  g: cannot run: no room

Commands that repeat the rows:
 a  kvcap run scenarios/demo.json --set hardware=h100-sxm --set name=slow --set workload.run_length=steady --set workload.warmup=steady --set replications=2
 b  kvcap run scenarios/demo.json --set hardware=h100-sxm --set workload.run_length=steady --set workload.warmup=steady --set replications=2
 c  kvcap run scenarios/demo.json --set hardware=h100-sxm --set hardware.ssd.count=2 --set workload.run_length=steady --set workload.warmup=steady --set replications=2
)");
}

TEST_F(PlanText, WithoutAnAnswerNamesTheNearest) {
  report_.result.nearest = made({.changes = {"hardware=h100-sxm"},
                                 .verdict = Judgement::misses,
                                 .reason = "unstable",
                                 .p99_ttft_ms = 900});
  EXPECT_EQ(
      lines_with(""),
      R"(test: 12 configurations, 1,234 simulations, 0 judged on the whole workload; 0 combinations dropped
on short ones, 0 cannot run

A verdict.
  p99 TTFT 900 +-6 ms, wanted: at most 200 ms
  token hit rate 75.0 %, wanted: at least 50.0 %
  truncated 7.00 turns a run
  kvcap run scenarios/demo.json --set hardware=h100-sxm --set workload.run_length=steady --set workload.warmup=steady --set replications=2
The verdicts use 95.0 % intervals.
)");
}

TEST_F(PlanText, SaysHowMuchMoreASaturatedNearestIsOfferedThanItServes) {
  report_.result.nearest = made({.changes = {"hardware=h100-sxm"},
                                 .verdict = Judgement::misses,
                                 .reason = "unstable",
                                 .p99_ttft_ms = 100});
  for (RunResult& run : candidates_.back().runs) run.metrics.push_back({"offered_load", 1.84});
  EXPECT_EQ(lines_with("wanted"),
            "  p99 TTFT 100 +-6 ms, wanted: at most 200 ms\n"
            "  token hit rate 75.0 %, wanted: at least 50.0 %\n"
            "  offered load 184 %, wanted: less than 100 %\n");
}

TEST_F(PlanText, SaysWhatItDoesNotTellApart) {
  report_.result.best = made({.changes = {"hardware=h100-sxm"}});
  report_.result.rivals = {
      made({.changes = {"kind=b"}, .usd_per_hour = 2}),
      made({.changes = {"kind=c"}, .verdict = Judgement::unclear, .reason = "stable", .usd_per_hour = 2}),
      made({.changes = {"kind=d"},
            .verdict = Judgement::unclear,
            .reason = "p99_ttft_ms",
            .p99_ttft_ms = 200})};
  EXPECT_EQ(lines_with("kind="), R"(  kind=b at 2.00 $/h cannot be told apart
  kind=c at 2.00 $/h may be saturated
  kind=d at 3.00 $/h may miss p99 TTFT (200 +-6 ms)
)");
  EXPECT_EQ(lines_with("Not clear"), "Not clear after 24 seeds:\n");
}

TEST_F(PlanText, HasLettersForTwentySixRowsOfTheFront) {
  for (int i = 0; i < 27; ++i)
    report_.result.front.push_back(made({.changes = {"name=" + std::to_string(i)}}));
  EXPECT_NE(lines_with(" name=25").find(" z "), std::string::npos);
  EXPECT_NE(lines_with(" name=26").find(" * "), std::string::npos);
}

TEST_F(PlanText, SaysWhatWasRuledOutUnseenOnlyWhereSomethingWas) {
  EXPECT_EQ(lines_with("ruled out"), "");
  report_.result.implied = {.verified = 1, .same = 1};
  EXPECT_NE(lines_with("ruled out"), "");
}

TEST_F(PlanText, SaysThatNothingCheaperHadToBeJudged) {
  Candidate one = *made({.changes = {"hardware=h100-sxm"}});
  one.runs.pop_back();
  report_.result.best = &one;
  EXPECT_EQ(lines_with("Nothing cheaper"), "Nothing cheaper had to be judged on the whole workload.\n");
}

TEST_F(PlanText, SaysHowTheNextCheaperOneFails) {
  report_.result.best = made({.changes = {"hardware=h100-sxm"}});
  using Case = std::pair<Made, std::string>;
  for (const auto& [cheaper, why] :
       {Case{{.verdict = Judgement::misses, .reason = "unstable"}, "is saturated."},
        Case{{.verdict = Judgement::unclear, .reason = "stable"}, "may be saturated."},
        Case{{.verdict = Judgement::misses, .reason = "token_hit_rate"}, "misses token hit rate (75.0 %)."},
        Case{{.verdict = Judgement::unclear, .reason = "token_hit_rate"},
             "may miss token hit rate (75.0 %)."}}) {
    Made next = cheaper;
    next.changes = {"kind=b"};
    report_.result.next_better = made(next);
    const std::string sentence = "The next cheaper configuration that was judged, kind=b at 3.00 $/h, " + why;
    // The longest one ends on the next line.
    EXPECT_EQ(lines_with("next cheaper"), wrapped({sentence}).substr(0, wrapped({sentence}).find('\n') + 1));
  }
}

TEST_F(PlanText, SaysWhichResourceBringsMost) {
  const Candidate* best = report_.result.best = made({.changes = {"hardware=h100-sxm"}});
  Marginal more{
      .what = "hardware.ssd.count 1 -> 2", .candidate = best, .objective = {0.5, 0}, .quality = {-10, 2}};
  const auto last = [&] {
    report_.advice.marginals = {more};
    return lines_with("One more dollar") + lines_with("The largest gain") + lines_with("No resource");
  };
  EXPECT_EQ(last(), "One more dollar per hour is best spent on SSDs: 20.0 ms of p99 TTFT.\n");
  more.objective = {0, 0};
  EXPECT_EQ(last(), "The largest gain comes from SSDs.\n");
  more.quality = {-10, 10};
  EXPECT_EQ(last(), "No resource for sale clearly lowers p99 TTFT without missing a target.\n");
  more.quality = {-10, 9};
  plan_.minimize = "cost.gpu_usd";
  more.objective = {0.5, 0};
  EXPECT_EQ(last(), "The largest gain comes from SSDs.\n");
  more.candidate = made({.verdict = Judgement::misses, .reason = "token_hit_rate"});
  EXPECT_EQ(last(), "No resource for sale clearly lowers p99 TTFT without missing a target.\n");
  more.has_price = false;
  EXPECT_EQ(last(), "");
}

TEST_F(PlanText, OfACommandHasTheLengthThatTheRunsHad) {
  Candidate one = *made({.changes = {"hardware=h100-sxm"}});
  const std::string whole = candidate_command(plan_, one);
  EXPECT_EQ(whole.find("workload.sessions"), std::string::npos) << whole;
  EXPECT_NE(whole.find("replications=2"), std::string::npos) << whole;
  one.first_share = 2;
  EXPECT_NE(candidate_command(plan_, one).find("workload.sessions=100"), std::string::npos);
}

}  // namespace
}  // namespace kvcap::plan_text_test
