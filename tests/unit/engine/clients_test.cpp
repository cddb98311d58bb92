// Clients that give up: when they send a request again, what a scenario says of them, and how results count
// what they did not get.
#include <gtest/gtest.h>

#include <cmath>

#include "base/input_error.h"
#include "engine/arrivals.h"
#include "metrics/calls.h"
#include "metrics/statistics/percentile_share.h"
#include "metrics/trace_events.h"
#include "metrics/unserved.h"
#include "metrics/write.h"
#include "scenario/load.h"
#include "unit/recorded_turns.h"
#include "workload/workload.h"

namespace kvcap::clients_test {
namespace {

// ---- when they send again ----

Workload one_request(const RetryOptions& retries) {
  Workload workload;
  workload.sessions.push_back({.first_turn = 0, .turn_count = 1});
  workload.turns.push_back({.input_tokens = 10, .output_tokens = 10, .time_s = 3});
  workload.clients = {.timeout_s = 10, .retries = retries};
  return workload;
}

// 0.5, 1, 2, 3, 3 s after the ends of attempts that last 10 s each.
TEST(Clients, WaitTwiceAsLongEachTimeButNoLongerThanTheyMay) {
  const Workload workload = one_request({.count = 5, .max_backoff_s = 3, .jitter = 0});
  Arrivals arrivals(workload);
  double sent_s = 3;
  for (const double backoff_s : {0.5, 1.0, 2.0, 3.0, 3.0}) {
    const Arrival attempt = arrivals.pop();
    EXPECT_EQ(attempt.time_s, sent_s);
    EXPECT_EQ(attempt.earlier_s, sent_s - 3);
    EXPECT_EQ(arrivals.next_give_up_s(), sent_s + 10);
    EXPECT_FALSE(attempt.is_given_up(sent_s + 9.999));
    EXPECT_TRUE(attempt.is_given_up(sent_s + 10));
    EXPECT_FALSE(arrivals.is_last(arrivals.give_up()));
    sent_s += 10 + backoff_s;
    EXPECT_EQ(arrivals.next_s(), sent_s);
  }
  const Arrival last = arrivals.pop();
  EXPECT_EQ(last.attempt, 5U);
  EXPECT_TRUE(arrivals.is_last(arrivals.give_up()));
  EXPECT_TRUE(std::isinf(arrivals.next_s()));
  arrivals.refused(last, sent_s + 10);
  EXPECT_TRUE(arrivals.ended());
}

TEST(Clients, TakeUpToTheJitterOffTheirBackoffs) {
  double least_s = 1, most_s = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Workload workload = one_request({.count = 1, .jitter = 0.25});
    workload.clients.seed = seed;
    Arrivals arrivals(workload);
    arrivals.pop();
    arrivals.give_up();
    const double backoff_s = arrivals.next_s() - 13;
    least_s = std::min(least_s, backoff_s);
    most_s = std::max(most_s, backoff_s);
  }
  EXPECT_GE(least_s, 0.375);
  EXPECT_LT(least_s, 0.38);
  EXPECT_LE(most_s, 0.5);
  EXPECT_GT(most_s, 0.495);
}

TEST(Clients, GiveNothingUpThatIsAnsweredOrRefused) {
  for (const bool is_answered : {true, false}) {
    const Workload workload = one_request({.count = 2});
    Arrivals arrivals(workload);
    const Arrival attempt = arrivals.pop();
    if (is_answered) {
      arrivals.answered(attempt, 5);
    } else {
      arrivals.refused(attempt, 5);
    }
    EXPECT_TRUE(std::isinf(arrivals.next_give_up_s()));
    EXPECT_TRUE(arrivals.ended());
  }
}

// Retries are no turns of their own: the second turn is the second.
TEST(Clients, WarmUpEndsAfterItsTurnsWhateverIsSentAgain) {
  Workload workload = one_request({.count = 3});
  workload.sessions.push_back({.first_turn = 1, .turn_count = 1});
  workload.turns.push_back({.input_tokens = 10, .output_tokens = 10, .time_s = 100});
  workload.warmup_turns = 1;
  Arrivals arrivals(workload);
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_TRUE(arrivals.pop().warmup);
    arrivals.give_up();
  }
  arrivals.answered(arrivals.pop(), 90);
  EXPECT_FALSE(arrivals.pop().warmup);
}

// ---- what scenarios say ----

Scenario with(const std::string& workload) {
  return parse_scenario(
      R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
                            "policy": "recompute", "workload": {"source": {"kind": "chat"}, )" +
          workload + "}}",
      "test.json", {});
}

TEST(Clients, ThatRetryAreANumberOrSayHow) {
  const Scenario number = with(R"("client_timeout_s": 600, "retries": 2)");
  EXPECT_EQ(*number.workload.client_timeout_s, 600);
  EXPECT_EQ(number.workload.retries->count, 2);
  EXPECT_EQ(number.workload.retries->backoff_s, 0.5);
  EXPECT_EQ(number.workload.retries->multiplier, 2);
  EXPECT_EQ(number.workload.retries->max_backoff_s, 8);
  EXPECT_EQ(number.workload.retries->jitter, 0.25);
  const Scenario object =
      with(R"("client_timeout_s": 60, "retries": {"count": 3, "backoff_s": 1, "jitter": 0})");
  EXPECT_EQ(object.workload.retries->count, 3);
  EXPECT_EQ(object.workload.retries->backoff_s, 1);
  EXPECT_EQ(object.workload.retries->jitter, 0);
  const Workload workload = make_workload(object.workload, 9);
  EXPECT_EQ(workload.clients.timeout_s, 60);
  EXPECT_EQ(workload.clients.retries.count, 3);
  EXPECT_EQ(workload.clients.seed, 9U);
  EXPECT_TRUE(std::isinf(make_workload(with(R"("sessions": 5)").workload, 9).clients.timeout_s));
}

std::string error_of(const std::string& workload) {
  try {
    with(workload);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(Clients, ThatAScenarioSpellsWronglyAreRefusedInALine) {
  EXPECT_EQ(error_of(R"("client_timeout_s": 0)"),
            "test.json: workload.client_timeout_s: found 0, allowed: a number from 1e-12 to 10000000000");
  EXPECT_EQ(error_of(R"("retries": 2.5)"),
            "test.json: workload.retries.count: found 2.5, allowed: an integer from 0 to 1000");
  EXPECT_EQ(error_of(R"("retries": "twice")"),
            "test.json: workload.retries: found \"twice\", allowed: an object or its count");
  EXPECT_EQ(error_of(R"("retries": {"backoff_s": 1})"),
            "test.json: workload.retries.count: missing, required");
  EXPECT_NE(error_of(R"("retries": {"count": 1, "backof_s": 1})").find("did you mean \"backoff_s\""),
            std::string::npos);
}

TEST(Clients, ThatNeverGiveUpNeverRetryWhichANoteSays) {
  const auto says = [](const Scenario& scenario) {
    return std::any_of(scenario.notes.begin(), scenario.notes.end(), [](const std::string& note) {
      return note.starts_with("workload.retries is not used");
    });
  };
  EXPECT_TRUE(says(with(R"("retries": 2)")));
  EXPECT_FALSE(says(with(R"("retries": 2, "client_timeout_s": 1)")));
  EXPECT_FALSE(says(with(R"("retries": 0)")));
}

// ---- how results count ----

TurnRecord failed(uint32_t session, double arrival_s) {
  TurnRecord record = turn(session, 0, arrival_s, 0);
  record.failed = true;
  record.abandoned = 3;
  record.service_ttft_s = record.ttft_s = 0;
  record.e2el_s = 30;
  return record;
}

TEST(Clients, ThatGotNoAnswerAreCountedAndLeftOutOfLatencies) {
  Recorder recorder(6);
  record_four(recorder);
  recorder.turn(failed(2, 5));
  recorder.turn(failed(3, 6));
  for (int attempt = 0; attempt < 6; ++attempt) recorder.abandoned();
  recorder.wasted(700, 20);
  recorder.wasted(50, 3);
  RunFacts f = facts();
  f.duration_s = 40;
  f.slo_ttft_ms = 1000;
  const RunResult result = recorder.finish(f);
  EXPECT_EQ(result.number("completed"), 4);
  EXPECT_EQ(result.number("failed"), 2);
  EXPECT_EQ(result.number("rejected"), 0);
  EXPECT_EQ(result.number("abandoned"), 6);
  EXPECT_NEAR(result.number("failed_share"), 2.0 / 6, 1e-12);
  EXPECT_EQ(result.number("wasted_prompt_tokens"), 750);
  EXPECT_EQ(result.number("wasted_output_tokens"), 23);
  EXPECT_EQ(result.number("total_output_tokens"), 44);
  EXPECT_NEAR(result.number("mean_ttft_ms"), 250, 1e-9);
  EXPECT_DOUBLE_EQ(result.number("request_throughput"), 4 / 40.0);
  EXPECT_DOUBLE_EQ(result.number("request_goodput"), 4 / 40.0);
  EXPECT_EQ(text(result, "stable.verdict"), "saturated");
  EXPECT_EQ(
      text(result, "stable.reason"),
      "clients give up 33.3 % of the turns for good; a load counts as served only if at most 1.00 % fail");
  EXPECT_EQ(unserved(result, [](std::string_view) { return false; }), "failed");
  EXPECT_EQ(unserved(result, [](std::string_view metric) { return metric == "failed_share"; }), "");
}

// One of a hundred is as many as a 99th percentile leaves out.
TEST(Clients, MayLeaveAHundredthOfALoadThatIsServed) {
  for (const uint32_t failing : {1U, 2U}) {
    Recorder recorder(100);
    for (uint32_t i = 0; i < 100; ++i) {
      recorder.turn(i < failing ? failed(i, i) : turn(i, 0, i, 0.1));
    }
    RunFacts f = facts();
    f.closed_loop = true;
    EXPECT_EQ(text(recorder.finish(f), "stable.verdict"), failing == 1 ? "stable" : "saturated");
  }
}

// Of 100, 200, 300 and 400 ms and one that never came two are beyond 300 ms.
TEST(Clients, ThatGotNoAnswerAreBeyondEveryBound) {
  std::vector<TurnRecord> turns;
  for (uint32_t i = 1; i <= 4; ++i) turns.push_back(turn(i, 0, i, 0.1 * i));
  turns.push_back(failed(5, 5));
  EXPECT_NEAR(share_beyond(turns, "p99_ttft_ms", 300.5), 2.0 / 5, 1e-12);
  turns.back().warmup = true;
  EXPECT_NEAR(share_beyond(turns, "p99_ttft_ms", 300.5), 1.0 / 4, 1e-12);
}

// 100 ms of a TTFT of 400 are an earlier attempt's; a quarter of it is no service.
TEST(Clients, WhatTheyWaitedBeforeIsNoQueueing) {
  Recorder recorder(1);
  TurnRecord record = turn(0, 0, 0, 0.4);
  record.service_ttft_s = 0.2;
  record.earlier_s = 0.15;
  record.load_s = record.restore_compute_s = record.restore_s = 0;
  recorder.turn(record);
  const RunResult result = recorder.finish(facts());
  EXPECT_NEAR(result.number("ttft_breakdown_ms.retries"), 150, 1e-9);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.queue"), 50, 1e-9);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.prefill"), 199, 1e-4);
  EXPECT_NEAR(result.number("mean_queue_ms"), 50, 1e-9);
}

// 200 ms before admission, 80 of them in the API server: 120 in the queue, in both places that say it.
TEST(Clients, WhatTheApiServerTakesIsNoQueueing) {
  Recorder recorder(1);
  TurnRecord record = turn(0, 0, 0, 0.4);
  record.service_ttft_s = 0.2;
  record.api_s = 0.08F;
  record.load_s = record.restore_compute_s = record.restore_s = 0;
  recorder.turn(record);
  const RunResult result = recorder.finish(facts());
  EXPECT_NEAR(result.number("ttft_breakdown_ms.api"), 80, 1e-4);
  EXPECT_NEAR(result.number("ttft_breakdown_ms.queue"), 120, 1e-4);
  EXPECT_NEAR(result.number("mean_queue_ms"), 120, 1e-4);
}

TEST(Clients, OfACallThatFailedGetNoTurn) {
  TurnRecord answered = turn(0, 0, 0, 0.1), gone = failed(1, 0);
  const std::vector<CallOfTurn> calls = {{.asked_session = 0}, {.asked_session = 0, .answers = true}};
  const TurnRecord whole = merged_calls({answered, gone}, calls).front();
  EXPECT_TRUE(whole.failed);
  EXPECT_EQ(whole.abandoned, 3);
  gone.rejected = true;
  gone.failed = false;
  answered.failed = true;
  const TurnRecord refused = merged_calls({answered, gone}, calls).front();
  EXPECT_TRUE(refused.rejected);
  EXPECT_FALSE(refused.failed);
}

TEST(Clients, AndTheirAttemptsStandInRequestsAndTraces) {
  TurnRecord again = turn(1, 0, 2, 0.4);
  again.abandoned = 1;
  again.earlier_s = 0.1;
  std::string csv;
  requests_csv(std::vector<TurnRecord>{failed(0, 1), again}, [&](std::string_view piece) { csv += piece; });
  EXPECT_NE(csv.find(",truncated,failed,abandoned,earlier_ms,api_ms\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",0,0,,,,,,,,,0,0,0,1,3,0,0\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",0,0,0,0,1,100,0\n"), std::string::npos) << csv;
  const std::string trace = TraceEvents().json("test", {failed(0, 1), again});
  EXPECT_NE(trace.find("session 0, turn 0, failed"), std::string::npos);
  EXPECT_NE(trace.find(R"("abandoned":3)"), std::string::npos);
  EXPECT_NE(trace.find("abandoned attempts"), std::string::npos);
}

}  // namespace
}  // namespace kvcap::clients_test
