// Turns as several calls of the model: how they are divided, when they arrive, and what their records add up
// to.
#include "workload/calls.h"

#include <gtest/gtest.h>

#include "base/input_error.h"
#include "engine/arrivals.h"
#include "metrics/calls.h"

namespace kvcap::calls_test {
namespace {

// Two questions of 30 tokens, at 0 and 1 s, and at 2 s one without chunks.
Workload questions() {
  Workload workload;
  workload.piece_keys = PieceKeys::text;
  workload.piece_begin = {0};
  const auto add = [&](std::vector<Piece> chunks, uint32_t input, double time_s) {
    workload.sessions.push_back(
        {.first_turn = static_cast<uint32_t>(workload.turns.size()), .turn_count = 1});
    workload.turns.push_back({.input_tokens = input, .output_tokens = 8, .time_s = time_s});
    workload.pieces.insert(workload.pieces.end(), chunks.begin(), chunks.end());
    workload.piece_begin.push_back(workload.pieces.size());
  };
  add({{1, 100}, {2, 200}}, 330, 0);
  add({{2, 200}, {3, 300}}, 530, 1);
  add({}, 40, 2);
  workload.sessions[1].priority = 3;
  return workload;
}

TEST(Calls, OfMapReduceAreOneAChunkAndOneOverTheSummaries) {
  const Workload divided = divided_into_calls(questions(), {.kind = MapKind::reduce, .map_tokens = 64});
  ASSERT_EQ(divided.sessions.size(), 7u);
  // chunk + question, and two summaries + question
  const std::vector<uint32_t> inputs = {130, 230, 158, 230, 330, 158, 40};
  const std::vector<uint32_t> outputs = {64, 64, 8, 64, 64, 8, 8};
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(divided.turns[i].input_tokens, inputs[i]) << i;
    EXPECT_EQ(divided.turns[i].output_tokens, outputs[i]) << i;
    EXPECT_EQ(divided.calls[i].asked_session, i / 3) << i;
    EXPECT_EQ(divided.calls[i].answers, i % 3 == 2 || i == 6) << i;
    EXPECT_EQ(divided.sessions[i].priority, i / 3 == 1 ? 3 : 0) << i;
    EXPECT_EQ(divided.calls[i].after, i == 2 || i == 5 ? 2u : 0u) << i;
  }
  ASSERT_EQ(divided.pieces_of(4).size(), 1u);
  EXPECT_EQ(divided.pieces_of(4)[0].key, 3u);
  EXPECT_TRUE(divided.pieces_of(5).empty());
}

TEST(Calls, SayWhatAnAnswerIsAndWhatItsTtftCounts) {
  const auto note_of = [](MapKind kind) {
    return divided_into_calls(questions(), {.kind = kind, .map_tokens = 64}).notes.back();
  };
  EXPECT_EQ(note_of(MapKind::reduce),
            "each turn is divided into one call per chunk, for a summary of 64 tokens, and one call over "
            "all summaries (policy.map_tokens is an assumption); TTFT is that of the last call");
  EXPECT_EQ(note_of(MapKind::rerank),
            "each turn is divided into one call per chunk, for an answer and a score of 64 tokens "
            "(policy.map_tokens is an assumption); TTFT ends with the last call, because no answer is chosen "
            "before");
}

// 2 x 3e9 tokens of summaries are no 32-bit prompt.
TEST(Calls, WithMoreSummariesThanAPromptCanCountAreRefused) {
  try {
    divided_into_calls(questions(), {.kind = MapKind::reduce, .map_tokens = 3'000'000'000});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "policy.map_tokens: found 3000000000, allowed: at most 2147483632 (2 chunks of one prompt)");
  }
}

TEST(Calls, OfMapRerankAnswerAndScoreEach) {
  const Workload divided = divided_into_calls(questions(), {.kind = MapKind::rerank, .map_tokens = 4});
  ASSERT_EQ(divided.sessions.size(), 5u);
  EXPECT_EQ(divided.turns[1].input_tokens, 230u);
  EXPECT_EQ(divided.turns[1].output_tokens, 12u);  // 8 + 4
  EXPECT_FALSE(divided.calls[1].answers);
  EXPECT_TRUE(divided.calls[4].answers);  // nothing to choose from
  EXPECT_EQ(divided.turns[4].output_tokens, 8u);
}

TEST(Calls, ThatWaitArriveWhenTheLastOfTheOthersHasEnded) {
  const Workload divided = divided_into_calls(questions(), {.kind = MapKind::reduce, .map_tokens = 64});
  Arrivals arrivals(divided);
  const Arrival first = arrivals.pop(), second = arrivals.pop();
  EXPECT_EQ(first.session, 0u);
  EXPECT_EQ(second.session, 1u);
  EXPECT_EQ(arrivals.next_s(), 1);  // the next question, not the call that waits
  arrivals.answered(second, 0.3);
  EXPECT_EQ(arrivals.next_s(), 1);
  arrivals.answered(first, 0.5);
  EXPECT_EQ(arrivals.next_s(), 0.5);
  const Arrival reduce = arrivals.pop();
  EXPECT_EQ(reduce.session, 2u);
  EXPECT_EQ(reduce.time_s, 0.5);
  arrivals.answered(reduce, 0.9);
  EXPECT_EQ(arrivals.next_s(), 1);
}

TEST(Calls, ThatWaitForARefusedOneNeverArrive) {
  const Workload divided = divided_into_calls(questions(), {.kind = MapKind::reduce, .map_tokens = 64});
  Arrivals arrivals(divided);
  const Arrival first = arrivals.pop(), second = arrivals.pop();
  EXPECT_EQ(arrivals.refused(second, 0.4), 1u);
  arrivals.answered(first, 0.5);
  EXPECT_EQ(arrivals.next_s(), 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(arrivals.refused(arrivals.pop(), 1), i == 0 ? 1u : 0u);
  EXPECT_FALSE(arrivals.ended());
  arrivals.answered(arrivals.pop(), 3);
  EXPECT_TRUE(arrivals.ended());
}

TurnRecord record(uint32_t session, double arrival_s, double ttft_s, double e2el_s) {
  return {.session = session,
          .history_tokens = 100,
          .input_tokens = 30,
          .output_tokens = 64,
          .hit_tokens = 90,
          .tier_hit_tokens = {0, 60, 30, 0},
          .tier_used_tokens = {0, 20, 10, 0},
          .cold = session == 0,
          .node = static_cast<uint16_t>(session),
          .retries = 1,
          .arrival_s = arrival_s,
          .ttft_s = ttft_s,
          .service_ttft_s = ttft_s - 0.125,
          .e2el_s = e2el_s,
          .load_s = static_cast<float>(session)};
}

TEST(Calls, MergeIntoTheTurnThatTheyAnswer) {
  const std::vector<CallOfTurn> of_session = {{.asked_session = 0, .output_tokens = 8},
                                              {.asked_session = 0, .output_tokens = 8},
                                              {.asked_session = 0, .answers = true, .output_tokens = 8}};
  // Summaries end at 1.5 and 2 s after the arrival at 10 s; the answer begins 0.5 s later and ends at 13 s.
  const std::vector<TurnRecord> turns =
      merged_calls({record(1, 10, 0.5, 2), record(0, 10, 0.75, 1.5), record(2, 12, 0.5, 1)}, of_session);
  ASSERT_EQ(turns.size(), 1u);
  const TurnRecord& turn = turns[0];
  EXPECT_EQ(turn.session, 0u);
  EXPECT_EQ(turn.arrival_s, 10);
  EXPECT_DOUBLE_EQ(turn.ttft_s, 2.5);
  EXPECT_DOUBLE_EQ(turn.service_ttft_s, 2.5 - 0.125);
  EXPECT_DOUBLE_EQ(turn.e2el_s, 3);
  EXPECT_EQ(turn.output_tokens, 8u);
  EXPECT_EQ(turn.history_tokens, 300u);
  EXPECT_EQ(turn.input_tokens, 90u);
  EXPECT_EQ(turn.hit_tokens, 270u);
  EXPECT_EQ(turn.tier_hit_tokens, (std::array<uint32_t, 5>{0, 180, 90, 0, 0}));
  EXPECT_EQ(turn.tier_used_tokens, (std::array<uint32_t, 5>{0, 60, 30, 0, 0}));
  EXPECT_EQ(turn.retries, 3);
  EXPECT_EQ(turn.node, 2);    // that answered
  EXPECT_EQ(turn.load_s, 1);  // of the summary that was the last
  EXPECT_FALSE(turn.cold);
  EXPECT_FALSE(turn.rejected);
}

TEST(Calls, MergeIntoATurnThatIsAnsweredWhenTheLastHasEnded) {
  const std::vector<CallOfTurn> of_session = {{.asked_session = 0, .output_tokens = 8, .warmup = true},
                                              {.asked_session = 1, .output_tokens = 8},
                                              {.asked_session = 1, .output_tokens = 8}};
  std::vector<TurnRecord> records = {record(0, 0, 1, 3), record(1, 5, 1, 2), record(2, 5, 1, 4)};
  std::vector<TurnRecord> turns = merged_calls(records, of_session);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_TRUE(turns[0].warmup);
  EXPECT_DOUBLE_EQ(turns[0].ttft_s, 3);
  EXPECT_FALSE(turns[1].warmup);
  EXPECT_EQ(turns[1].session, 1u);
  EXPECT_DOUBLE_EQ(turns[1].ttft_s, 4);
  EXPECT_DOUBLE_EQ(turns[1].e2el_s, 4);
  records[1].rejected = true;
  EXPECT_TRUE(merged_calls(records, of_session)[1].rejected);
}

}  // namespace
}  // namespace kvcap::calls_test
