// Logs that do not say which prompts share text: that hits are recognised by TTFT, that their share is fitted
// beside the machine, and what a fit without them does to another workload.
#include "fit/prompt_hits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "run/drawn_scenario.h"
#include "text/fit_text.h"
#include "unit/cli.h"
#include "unit/fit_runs.h"

namespace kvcap::fit_test {
namespace {

using enum SharedText;

int64_t hit_tokens(const Workload& workload, std::size_t turn) {
  int64_t tokens = 0;
  for (const Piece& piece : workload.pieces_of(turn)) tokens += piece.tokens;
  return tokens;
}

// Requests of 1,204 to 2,400 tokens.
Workload long_requests(std::size_t count, double rate_per_s, uint64_t seed = 1) {
  Workload workload = requests(count, rate_per_s, seed);
  for (Turn& turn : workload.turns) turn.input_tokens += 1200;
  return workload;
}

// The profile with the engine's own times, 6 ms a request and 2.5 us a token.
Scenario engine_scenario() { return base_scenario({"serving.host_times=engine"}); }

// A server with kernels 4 % slower than the profile's and 8 ms before the queue.
Scenario slower_server() {
  RegimeFactors factors;
  factors.fill(1);
  for (std::size_t i = 0; i < kRegimes.size(); ++i) {
    if (kRegimes[i].kernel == "gemm" || kRegimes[i].kernel == "attention") factors[i] = 1.04;
  }
  Scenario scenario = scenario_with(engine_scenario(), factors);
  scenario.serving.request_overhead_s = 0.008;
  return scenario;
}

// The log of such a server whose prompts share text, without a word of it.
FitRun log_with(SharedText shared, double hit_share, const Workload& workload) {
  const bool shares = shared != nothing;
  FitRun run = measured_on(slower_server(), shares ? with_hits(workload, shared, hit_share, 16) : workload,
                           engine_scenario());
  run.workload = workload;
  run.hits = hits_in_ttft(run.scenario, run.workload, run.measured);
  return run;
}

// Error of mean TTFT of the server's other requests, none of which share text.
double ttft_error_elsewhere(const FitAnswer& answer) {
  const FitRun other = measured_on(slower_server(), long_requests(300, 4, 9), engine_scenario());
  const FitRun predicted = measured_on(scenario_at(other, answer.parameters, answer.x), other.workload);
  double measured_s = 0, predicted_s = 0;
  for (const MeasuredTimes& one : other.measured) measured_s += one.ttft_s;
  for (const MeasuredTimes& one : predicted.measured) predicted_s += one.ttft_s;
  return predicted_s / measured_s - 1;
}

TEST(PromptHits, AreWholeBlocksOfEachPromptWhoseSumIsTheShare) {
  const Workload plain = long_requests(400, 4);
  const Workload sharing = with_hits(plain, share_of_each_prompt, 0.4, 16);
  double tokens = 0, hits = 0;
  for (std::size_t i = 0; i < plain.turns.size(); ++i) {
    EXPECT_EQ(hit_tokens(sharing, i) % 16, 0);
    EXPECT_NEAR(static_cast<double>(hit_tokens(sharing, i)), 0.4 * plain.turns[i].input_tokens, 16);
    tokens += plain.turns[i].input_tokens;
    hits += static_cast<double>(hit_tokens(sharing, i));
  }
  EXPECT_NEAR(hits / tokens, 0.4, 0.001);
  EXPECT_EQ(sharing.pieces_of(0)[0].key, sharing.pieces_of(1)[0].key);
}

TEST(PromptHits, OfTheSameFirstTokensAreAsManyInAllPrompts) {
  Workload plain;
  for (const uint32_t tokens : {100U, 1000U, 2000U, 2500U}) {
    plain.sessions.push_back({.first_turn = static_cast<uint32_t>(plain.turns.size()), .turn_count = 1});
    plain.turns.push_back({tokens, 10, 0});
  }
  // 0.2 of 5,600 tokens are 280 of each of four prompts: 17.5 blocks of 16.
  const Workload sharing = with_hits(plain, first_tokens_of_all_prompts, 0.2, 16);
  EXPECT_EQ(hit_tokens(sharing, 0), 96);  // at least one token is computed
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NEAR(static_cast<double>(hit_tokens(sharing, i)), 280, 16);
}

TEST(PromptHits, TakeTheBlocksOfLongPromptsTogether) {
  Workload plain;
  plain.sessions.push_back({.first_turn = 0, .turn_count = 1});
  plain.turns.push_back({1'000'000, 10, 0});
  const Workload sharing = with_hits(plain, share_of_each_prompt, 0.5, 16);
  EXPECT_LE(sharing.pieces.size(), 512U);
  EXPECT_NEAR(static_cast<double>(hit_tokens(sharing, 0)), 500'000, 2000);
}

TEST(PromptHits, AreRecognisedByTtftThatGrowsTooSlowlyWithThePrompt) {
  const FitRun run = log_with(share_of_each_prompt, 0.4, long_requests(300, 4));
  EXPECT_EQ(run.hits.shared, share_of_each_prompt) << run.hits.evidence;
  EXPECT_TRUE(run.hits.are_fitted());
}

TEST(PromptHits, AreRecognisedByTtftThatIsTooShortForAll) {
  const FitRun run = log_with(first_tokens_of_all_prompts, 0.45, long_requests(300, 4));
  EXPECT_EQ(run.hits.shared, first_tokens_of_all_prompts) << run.hits.evidence;
}

TEST(PromptHits, AreNotSeenWhereNothingIsShared) {
  const FitRun run = log_with(nothing, 0, long_requests(300, 4));
  EXPECT_EQ(run.hits.shared, nothing) << run.hits.evidence;
  EXPECT_TRUE(run.hits.are_unknown);
  EXPECT_NE(run.hits.evidence.find("would not show"), std::string::npos);
}

TEST(PromptHits, AreNotGuessedFromRequestsThatDelayEachOther) {
  const FitRun run = log_with(share_of_each_prompt, 0.4, long_requests(300, 400));
  EXPECT_EQ(run.hits.shared, nothing) << run.hits.evidence;
  EXPECT_NE(run.hits.evidence.find("too few"), std::string::npos) << run.hits.evidence;
}

TEST(PromptHits, NeedTwentyRequestsThatWereAnsweredAlone) {
  const FitRun enough = log_with(share_of_each_prompt, 0.8, long_requests(20, 0.05));
  const FitRun too_few = log_with(share_of_each_prompt, 0.8, long_requests(19, 0.05));
  EXPECT_EQ(enough.hits.shared, share_of_each_prompt) << enough.hits.evidence;
  EXPECT_TRUE(too_few.hits.evidence.starts_with("19 requests")) << too_few.hits.evidence;
  EXPECT_NE(too_few.hits.evidence.find("too few"), std::string::npos);
}

// Only the first prompt is longer than the others: the growth rests on it.
TEST(PromptHits, AreSoughtInTheGrowthOfTtftIfASinglePromptIsLonger) {
  Workload workload = long_requests(20, 0.05);
  for (Turn& turn : workload.turns) turn.input_tokens = 1000;
  EXPECT_NE(log_with(nothing, 0, workload).hits.evidence.find(" alone is "), std::string::npos);
  workload.turns.front().input_tokens = 2200;
  const std::string evidence = log_with(nothing, 0, workload).hits.evidence;
  EXPECT_NE(evidence.find(" grows with the prompt by "), std::string::npos) << evidence;
}

// Every other TTFT is half as long again: the growth is known to some 0.1 of it, not exactly.
TEST(PromptHits, AreSeenOnlyWhereTtftsScatterLessThanTheyFallShort) {
  const Workload workload = long_requests(40, 0.05);
  FitRun run = measured_on(engine_scenario(), workload, engine_scenario());
  for (std::size_t i = 0; i < run.measured.size(); i += 2) run.measured[i].ttft_s *= 1.5;
  run.hits = hits_in_ttft(run.scenario, workload, run.measured);
  EXPECT_EQ(run.hits.shared, nothing) << run.hits.evidence;
  EXPECT_EQ(run.hits.evidence.find("+- 0.0"), std::string::npos) << run.hits.evidence;
}

TEST(PromptHits, AreKnownWherePromptsHavePiecesContextsOrHistories) {
  Workload workload = requests(2, 1);
  EXPECT_FALSE(says_shared_text(workload));
  workload.sessions[1].context_tokens = 5;
  EXPECT_TRUE(says_shared_text(workload));
  EXPECT_TRUE(says_shared_text(with_hits(requests(2, 1), share_of_each_prompt, 0.5, 16)));
  Workload turns = requests(2, 1);
  turns.sessions = {{.first_turn = 0, .turn_count = 2}};
  EXPECT_TRUE(says_shared_text(turns));
}

void expect_better_elsewhere(SharedText shared, double hit_share, double most_before, double most_after) {
  const FitRun run = log_with(shared, hit_share, long_requests(400, 4));
  FitRun blind = run;
  blind.hits = {};
  const double before = ttft_error_elsewhere(fit({blind}));
  const FitAnswer answer = fit({run});
  const double after = ttft_error_elsewhere(answer);
  const FitEstimate& share = estimate(answer, "hit_share");
  const auto [low, high] = share.interval();
  std::printf(
      "hit share %.3f: fitted %.3f (%.3f to %.3f); TTFT of requests that share nothing: %+.1f %% "
      "without hits, %+.1f %% with them\n",
      hit_share, share.parameter.value_of(share.x), low, high, 100 * before, 100 * after);
  EXPECT_LE(low, hit_share);
  EXPECT_GE(high, hit_share);
  EXPECT_LT(before, most_before);
  EXPECT_LT(std::abs(after), most_after);
}

TEST(PromptHits, FittedBesideTheMachinePredictRequestsThatShareNothing) {
  expect_better_elsewhere(share_of_each_prompt, 0.4, -0.15, 0.05);
}

TEST(PromptHits, OfACommonPrefixFittedBesideTheMachinePredictRequestsThatShareNothing) {
  expect_better_elsewhere(first_tokens_of_all_prompts, 0.45, -0.15, 0.08);
}

TEST(PromptHits, BelongToTheirRunAndNotToTheProfile) {
  FitRun run = log_with(share_of_each_prompt, 0.4, long_requests(40, 4));
  run.hits = {.are_unknown = true, .shared = share_of_each_prompt, .given = std::nullopt, .evidence = "slow"};
  FitRun judged = run;
  judged.name = "judged";
  judged.only_judged = true;
  const FitParameters parameters = parameters_of({run, judged});
  ASSERT_EQ(parameters.all.back().name, "hit_share");
  EXPECT_EQ(parameters.all.back().of_run, "run");
  const Eigen::VectorXd x = parameters.mean;
  EXPECT_DOUBLE_EQ(parameters.all.back().value_of(std::log(0.75)), 0.25);
  EXPECT_EQ(parameters.all.back().value_of(0.1), 0);
  EXPECT_FALSE(workload_at(run, parameters, x).pieces.empty());
  EXPECT_TRUE(workload_at(judged, parameters, x).pieces.empty());
  const HardwareProfile profile = profile_at(run, parameters, x, x.cwiseAbs());
  EXPECT_EQ(profile.engine->kv_capacity_share, 1);
  run.hits.given = 0.5;
  EXPECT_EQ(parameters_of({run}).all.size(), parameters.all.size() - 1);
  const Workload given = workload_at(run, {}, {});
  EXPECT_NEAR(static_cast<double>(hit_tokens(given, 0)), 0.5 * given.turns[0].input_tokens, 16);
}

TEST(PromptHits, AreToldInTheFirstLinesOfTheAnswer) {
  FitRun run{.name = "log.csv", .scenario = base_scenario(), .workload = requests(2, 1)};
  run.hits = {.are_unknown = true,
              .shared = share_of_each_prompt,
              .given = std::nullopt,
              .evidence = "TTFT grows slowly"};
  FitAnswer answer;
  answer.estimates = {{.parameter = {.name = "hit_share", .meaning = "", .of_run = "log.csv"},
                       .x = std::log(0.6),
                       .low = std::log(0.5),
                       .high = std::log(0.75),
                       .sigma = 0.1,
                       .prior_sigma = 1}};
  const std::string text = fit_text({run}, answer);
  EXPECT_EQ(text.find("log.csv does not show which prompts share text. The server found part of the prompts"),
            text.find("\n\n") + 2)
      << text;
  EXPECT_NE(text.find("hit_share                            0.400   0.250 to 0.500"), std::string::npos)
      << text;
  EXPECT_NE(fit_notes({run}, answer)[1].find("a hit share of 40.0 % (25.0 % to 50.0 %)"), std::string::npos);
  EXPECT_NE(fit_json({run}, answer).find("\"hits\": \"log.csv does not show"), std::string::npos);
  run.hits.given = 0;
  EXPECT_NE(fit_text({run}, {}).find("By --hit-share, none do."), std::string::npos);
}

class HitShareCommand : public Cli {};

TEST_F(HitShareCommand, IsRefusedWhereTheLogSaysWhatIsShared) {
  write("log.csv",
        "arrival_s,input_tokens,output_tokens,ttft_s,e2el_s,prompt_id\n0,100,5,0.1,0.2,a\n"
        "1,100,5,0.1,0.2,a\n");
  const auto fit_with = [&](const char* share) {
    return kvcap({"fit", path("log.csv"), "--base", "h100-sxm", "--model", "llama-3.1-8b", "--hit-share",
                  share, "--out", path("mine.json")});
  };
  const Outcome named = fit_with("0.5");
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_NE(named.err.find("shows which prompts share text"), std::string::npos) << named.err;
  for (const char* share : {"1", "-0.1", "half"}) {
    const Outcome refused = fit_with(share);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_NE(refused.err.find("allowed: a number from 0 to below 1"), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace kvcap::fit_test
