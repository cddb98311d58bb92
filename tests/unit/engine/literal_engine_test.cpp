// The literal engine does what the specification beside the project does, which is a program: what tests
// compare with the literal engine is compared with that program.
#include "reference/literal_engine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reference/engine_model.h"
#include "reference/random_requests.h"

namespace kvcap::reference::literal_engine_test {
namespace {

// ---- by hand ----

// Blocks of 4 tokens; a step lasts 10 ms and 1 ms a sequence.
EngineOptions options(bool async) {
  return {.block_size = 4,
          .blocks = 100,
          .max_num_seqs = 8,
          .max_num_batched_tokens = 64,
          .async_scheduling = async,
          .step_overhead_s = 0.010,
          .step_overhead_per_sequence_s = 0.001};
}
std::vector<Outcome> run(const EngineOptions& with, const std::vector<Request>& requests) {
  return run_literally(with, requests).outcomes;
}

TEST(LiteralEngine, YieldsOneTokenAStep) {
  const Outcome one = run(options(false), {{0, 1.0, {{7, 10}}, 3}}).front();
  ASSERT_EQ(one.token_dates_s.size(), 3U);
  EXPECT_NEAR(one.token_dates_s[0], 1.011, 1e-12);
  EXPECT_NEAR(one.token_dates_s[2], 1.033, 1e-12);
  EXPECT_NEAR(one.ttft_s, 0.011, 1e-12);
  EXPECT_NEAR(one.e2el_s, 0.033, 1e-12);
}

TEST(LiteralEngine, ComputesALongPromptInSlicesOfTheBudget) {
  EXPECT_NEAR(run(options(false), {{0, 0, {{7, 64}}, 1}}).front().ttft_s, 0.011, 1e-12);
  EXPECT_NEAR(run(options(false), {{0, 0, {{7, 65}}, 1}}).front().ttft_s, 0.022, 1e-12);
}

TEST(LiteralEngine, FindsThePrefixThatARequestOfTheSameStepComputes) {
  const std::vector<Outcome> both = run(options(false), {{0, 0, {{7, 10}}, 1}, {1, 0, {{7, 10}}, 1}});
  EXPECT_EQ(both[0].hit_tokens, 0);
  EXPECT_EQ(both[1].hit_tokens, 8);
}

TEST(LiteralEngine, ComputesTheLastTokenOfAFullHitAgain) {
  const std::vector<Outcome> both = run(options(false), {{0, 0, {{7, 8}}, 1}, {1, 1, {{7, 8}}, 1}});
  EXPECT_EQ(both[1].hit_tokens, 4);
}

TEST(LiteralEngine, AdmitsInTheStepAfterNextWhatArrivesDuringAStepIfItPlansAhead) {
  const std::vector<Request> requests = {{0, 0, {{7, 4}}, 9}, {1, 0.001, {{8, 4}}, 1}};
  // Steps of one sequence end at 11 and 22 ms; the step with both lasts 12 ms.
  EXPECT_NEAR(run(options(false), requests)[1].ttft_s, 0.011 + 0.012 - 0.001, 1e-12);
  EXPECT_NEAR(run(options(true), requests)[1].ttft_s, 0.022 + 0.012 - 0.001, 1e-12);
}

TEST(LiteralEngine, LastsAsLongAsTheSlowerOfGpuAndHostIfItPlansAhead) {
  const GpuTime gpu_s = [](std::span<const SliceOfStep>) { return 0.004; };
  const GpuTime slow_s = [](std::span<const SliceOfStep>) { return 0.040; };
  const std::vector<Request> one = {{0, 0, {{7, 4}}, 1}};
  EXPECT_NEAR(run_literally(options(false), one, gpu_s).outcomes[0].ttft_s, 0.015, 1e-12);
  EXPECT_NEAR(run_literally(options(true), one, gpu_s).outcomes[0].ttft_s, 0.011, 1e-12);
  EXPECT_NEAR(run_literally(options(true), one, slow_s).outcomes[0].ttft_s, 0.040, 1e-12);
}

TEST(LiteralEngine, TellsTheGpuWhatEveryStepComputes) {
  std::vector<SliceOfStep> seen;
  const GpuTime gpu_s = [&seen](std::span<const SliceOfStep> step) {
    seen.insert(seen.end(), step.begin(), step.end());
    return 0.0;
  };
  run_literally(options(false), std::vector<Request>{{0, 0, {{7, 70}}, 2}}, gpu_s);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].tokens, 64);
  EXPECT_FALSE(seen[0].yields_token);
  EXPECT_EQ(seen[1].tokens, 6);
  EXPECT_EQ(seen[1].cached_tokens, 64);
  EXPECT_TRUE(seen[1].yields_token);
  EXPECT_FALSE(seen[1].is_decode);
  EXPECT_EQ(seen[2].tokens, 1);
  EXPECT_EQ(seen[2].cached_tokens, 70);
  EXPECT_TRUE(seen[2].is_decode);
}

TEST(LiteralEngine, PreemptsTheLastAdmittedWhichFindsItsBlocksAgain) {
  EngineOptions tight = options(false);
  tight.blocks = 5;
  // 2 blocks each; both grow into their third blocks in the same step, and there is one.
  const EngineRun both = run_literally(tight, std::vector<Request>{{0, 0, {{7, 8}}, 5}, {1, 0, {{8, 8}}, 5}});
  EXPECT_EQ(both.outcomes[0].preemptions, 0);
  EXPECT_EQ(both.outcomes[1].preemptions, 1);
  // The last one has got its first token by then, and begins again when the first one has ended.
  EXPECT_NEAR(both.outcomes[0].e2el_s, 0.012 + 4 * 0.011, 1e-12);
  EXPECT_NEAR(both.outcomes[1].e2el_s, both.outcomes[0].e2el_s + 4 * 0.011, 1e-12);
}

TEST(LiteralEngine, RefusesWhatCanNeverFitAndServesTheNext) {
  EngineOptions tight = options(false);
  tight.blocks = 2;
  const std::vector<Outcome> both = run(tight, {{0, 0, {{7, 8}}, 2}, {1, 0, {{8, 8}}, 1}});
  EXPECT_TRUE(both[0].refused);
  EXPECT_TRUE(both[0].token_dates_s.empty());
  EXPECT_FALSE(both[1].refused);
}

// ---- against the specification ----

TEST(EngineModel, IsWhatTheLiteralEngineDoes) {
  if (const std::string why = EngineModel::missing(); !why.empty()) GTEST_SKIP() << why;
  const EngineModel model;
  int64_t preemptions = 0, hits = 0, refused = 0;
  std::size_t evictions = 0;
  for (uint64_t number = 1; number <= 24; ++number) {
    const RandomCase one = random_case(number);
    SCOPED_TRACE("case " + std::to_string(number) + ": " + describe(one.options));
    const EngineRun specified = model.run(one.options, one.requests);
    const EngineRun run = run_literally(one.options, one.requests);
    ASSERT_EQ(run.outcomes.size(), specified.outcomes.size());
    for (std::size_t i = 0; i < run.outcomes.size(); ++i) {
      const Outcome& outcome = run.outcomes[i];
      SCOPED_TRACE("request " + std::to_string(outcome.id));
      ASSERT_EQ(outcome.refused, specified.outcomes[i].refused);
      ASSERT_EQ(outcome.hit_tokens, specified.outcomes[i].hit_tokens);
      ASSERT_EQ(outcome.preemptions, specified.outcomes[i].preemptions);
      ASSERT_NEAR(outcome.ttft_s, specified.outcomes[i].ttft_s, 1e-9);
      ASSERT_NEAR(outcome.e2el_s, specified.outcomes[i].e2el_s, 1e-9);
      refused += outcome.refused;
      hits += outcome.hit_tokens;
    }
    ASSERT_EQ(run.evicted, specified.evicted);
    preemptions += run.preemptions();
    evictions += run.evicted.size();
  }
  // The cases reach what they are there to reach.
  EXPECT_GT(hits, 1000);
  EXPECT_GT(preemptions, 20);
  EXPECT_GT(evictions, 1000U);
  EXPECT_GT(refused, 0);
}

// What the generator promises, counted over the cases that other tests run.
TEST(RandomRequests, CoverWhatTheEnginesDifferIn) {
  int64_t sliced = 0, single = 0, with_answers = 0, bursts = 0, preempting = 0, steps = 0;
  for (uint64_t number = 1; number <= 200; ++number) {
    const RandomCase one = random_case(number);
    double before_s = -1;
    for (std::size_t i = 0; i < one.requests.size(); ++i) {
      const Request& request = one.requests[i];
      ASSERT_EQ(request.id, static_cast<int64_t>(i));
      ASSERT_GE(request.arrival_s, before_s);
      ASSERT_GE(prompt_tokens(request), 1);
      ASSERT_GE(request.output_tokens, 1);
      if (request.arrival_s == before_s) ++bursts;
      if (prompt_tokens(request) > one.options.max_num_batched_tokens) ++sliced;
      if (request.output_tokens == 1) ++single;
      for (const TextPart& part : request.prompt) {
        ASSERT_NE(part.text, answer_text(request.id));
        if (part.text >= answer_text(0)) ++with_answers;
      }
      before_s = request.arrival_s;
    }
    const EngineRun run = run_literally(one.options, one.requests);
    if (run.preemptions() > 0) ++preempting;
    steps += run.steps;
    for (const Outcome& outcome : run.outcomes) {
      ASSERT_EQ(std::ssize(outcome.token_dates_s),
                outcome.refused ? 0 : one.requests[static_cast<std::size_t>(outcome.id)].output_tokens);
    }
  }
  EXPECT_GT(sliced, 500);
  EXPECT_GT(single, 500);
  EXPECT_GT(with_answers, 500);
  EXPECT_GT(bursts, 500);
  EXPECT_GT(preempting, 40);
  EXPECT_GT(steps, 10000);
}

}  // namespace
}  // namespace kvcap::reference::literal_engine_test
