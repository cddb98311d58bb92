// Sessions that share documents and grow, whose turns have pieces or branch: how they are read, what they add
// up to, and when their turns arrive.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "engine/arrivals.h"
#include "engine/sessions.h"
#include "unit/cli.h"
#include "unit/raw_files.h"
#include "workload/source.h"
#include "workload/sources_table.h"
#include "workload/trace_stats.h"

namespace kvcap::branches_test {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Branches : public RawFiles {
 protected:
  WorkloadOptions holding(const std::string& text) const {
    WorkloadOptions options;
    options.source = {.kind = "sessions", .path = write("t", text)};
    return options;
  }
  Workload workload_of(const std::string& text, bool timed = false) const {
    WorkloadOptions options = holding(text);
    if (timed) options.arrivals.process = ArrivalProcess::trace;
    return make_workload(options, 1);
  }
};

// An agent: turn 0, two branches on it, one turn on the first branch, and a root of its own.
//
//   0 ─┬─ 1 ── 3
//      └─ 2
//   4
constexpr const char* kAgent =
    R"({"id":"a","context_tokens":1000,"context_id":"tools","history":"grow","turns":[)"
    R"({"input_tokens":100,"output_tokens":10},)"
    R"({"input_tokens":20,"output_tokens":2},)"
    R"({"input_tokens":30,"output_tokens":3,"parent":0},)"
    R"({"input_tokens":40,"output_tokens":4,"parent":1},)"
    R"({"input_tokens":50,"output_tokens":5,"parent":null}]})"
    "\n";

TEST_F(Branches, HaveTheHistoriesOfTheirAncestors) {
  const Workload workload = workload_of(kAgent);
  const Session& session = workload.sessions.front();
  EXPECT_TRUE(session.history_grows);
  EXPECT_EQ(workload.parents, (std::vector<int32_t>{-1, 0, 0, 1, -1}));
  EXPECT_EQ(workload.parent_of(session, 0), std::nullopt);
  EXPECT_EQ(workload.parent_of(session, 2), 0u);
  EXPECT_EQ(workload.parent_of(session, 3), 1u);
  EXPECT_EQ(workload.parent_of(session, 4), std::nullopt);
  // 1000; + 110 of turn 0, for both branches; + 22 of turn 1; the other root has the context alone.
  EXPECT_EQ(workload.histories_of(session), (std::vector<int64_t>{1000, 1110, 1110, 1132, 1000}));
  EXPECT_DOUBLE_EQ(workload.mean_history_tokens(), (1000 + 1110 + 1110 + 1132 + 1000) / 5.0);
  // The document, and what the turns add: 110 + 22 + 33 + 44 + 55.
  EXPECT_EQ(workload.context_tokens(), 1000 + 264);
}

TEST_F(Branches, WithTheParentsOfALineAreNone) {
  const Workload workload = workload_of(
      R"({"id":1,"turns":[{"input_tokens":1,"output_tokens":1,"parent":-1},{"input_tokens":1,"output_tokens":1,"parent":0}]})");
  EXPECT_TRUE(workload.parents.empty());
  EXPECT_EQ(workload.parent_of(workload.sessions[0], 1), 0u);
}

// Two sessions about a document of 100 tokens; a has two branches on its turn 0.
constexpr const char* kTwoSessions =
    R"({"id":"a","context_tokens":100,"context_id":"d","history":"grow","turns":[)"
    R"({"input_tokens":20,"output_tokens":5,"arrival_s":0,"pieces":[[7,10]]},)"
    R"({"input_tokens":30,"output_tokens":5,"arrival_s":10,"pieces":[[8,30]]},)"
    R"({"input_tokens":30,"output_tokens":5,"arrival_s":20,"pieces":[[8,30]],"parent":0}]})"
    "\n"
    R"({"id":"b","context_tokens":100,"context_id":"d","history":"grow","turns":[)"
    R"({"input_tokens":15,"output_tokens":5,"arrival_s":5,"pieces":[[7,10]]},)"
    R"({"input_tokens":8,"output_tokens":2,"arrival_s":30}]})"
    "\n";

TEST_F(Branches, StatsAreTheseSums) {
  const TraceStats stats = trace_stats(workload_of(kTwoSessions, true));
  EXPECT_EQ(stats.requests, 5);
  // In order of time: a.0 has the document before it; b.0 the document, and piece 7 of a.0; a.1 the document
  // and a.0's 25; a.2, another branch, the same and piece 8 of a.1; b.1 the document and b.0's 20.
  EXPECT_DOUBLE_EQ(stats.history_tokens.mean, (100 + 110 + 125 + 155 + 120) / 5.0);
  const double prompts = 120 + 115 + 155 + 155 + 128;
  EXPECT_DOUBLE_EQ(stats.history_token_share, (100 + 110 + 125 + 155 + 120) / prompts);
  // All of that but the document that nobody had asked about before a.0.
  EXPECT_DOUBLE_EQ(stats.infinite_cache_token_hit_rate, (0 + 110 + 125 + 155 + 120) / prompts);
  EXPECT_DOUBLE_EQ(stats.mean_request_hit_rate, (110 / 115.0 + 125 / 155.0 + 155 / 155.0 + 120 / 128.0) / 5);
  // Pieces of prompts: 7; 7; 7 and 8; 7 and 8; 7.
  EXPECT_EQ(stats.pieces, 7);
  EXPECT_EQ(stats.unique_pieces, 2);
  EXPECT_DOUBLE_EQ(stats.infinite_cache_block_hit_rate, (0 + 1 + 1 + 2 + 1) / 7.0);
  // The document, pieces 7 and 8, what a adds of its own (15 + 5 + 5), and b (10 + 10).
  EXPECT_EQ(stats.total_context_tokens, 100 + 10 + 30 + 25 + 20);
  EXPECT_DOUBLE_EQ(stats.context_tokens.max, 100);
  EXPECT_DOUBLE_EQ(stats.context_tokens.mean, 185 / 5.0);
  // b.0 finds what a.0 left: the document, piece 7 and its own 15 are used since. a.1 finds a.0's own 15,
  // used at 0 s, behind b.0's 10. a.2 finds a.0's, used by a.1 at 10 s, which used document, 7, 15, 8 and its
  // own 5. b.1 finds its 10 of 5 s; all but a.1's 5, used last at 10 s too, was used since: all there is,
  // 175.
  EXPECT_EQ(stats.reuses, 4);
  EXPECT_DOUBLE_EQ(stats.reuse_distance_s.mean, (5 + 10 + 10 + 25) / 4.0);
  EXPECT_DOUBLE_EQ(stats.reuse_distance_tokens.mean, (125 + 135 + 160 + 175) / 4.0);
}

TEST_F(Branches, StatsOfBlocksAreFoundOnlyBehindAKnownContext) {
  // Piece 7 stands behind two documents. As a prefix's key that would contradict itself, so it is a text;
  // told otherwise, the second document's first prompt finds nothing.
  const auto line = [](int id, const std::string& document) {
    return R"({"id":)" + std::to_string(id) + R"(,"context_tokens":50,"context_id":")" + document +
           R"(","piece_keys":"text","turns":[{"input_tokens":10,"output_tokens":5,"arrival_s":)" +
           std::to_string(id) + R"(,"pieces":[[7,10]]}]})" + "\n";
  };
  Workload workload = workload_of(line(0, "d") + line(1, "e"), true);
  EXPECT_DOUBLE_EQ(trace_stats(workload).infinite_cache_token_hit_rate, 10 / 120.0);
  workload.piece_keys = PieceKeys::prefix;
  EXPECT_DOUBLE_EQ(trace_stats(workload).infinite_cache_token_hit_rate, 0);
}

TEST_F(Branches, ReadBackAsTheyWere) {
  const std::string text = std::string(
      R"({"id":"plain","turns":[{"input_tokens":5,"output_tokens":6,"arrival_s":0.5,"pieces":[]}]})"
      "\n"
      R"({"id":"c","task":"qa","context_tokens":100,"context_id":"d","history":"context","turns":[{"input_tokens":20,"output_tokens":5,"arrival_s":0.5,"pieces":[[7,10]]},{"input_tokens":30,"output_tokens":5,"arrival_s":10.5,"pieces":[]}]})"
      "\n"
      R"({"id":3,"context_tokens":100,"context_id":"d","history":"grow","turns":[{"input_tokens":20,"output_tokens":5,"arrival_s":0.5,"pieces":[[7,10]]},{"input_tokens":30,"output_tokens":5,"arrival_s":10.5,"pieces":[[8,31]]},{"input_tokens":30,"output_tokens":5,"arrival_s":10.5,"pieces":[],"parent":0},{"input_tokens":30,"output_tokens":5,"arrival_s":1.5,"pieces":[],"parent":null}]})"
      "\n");
  EXPECT_EQ(session_lines(read_sessions(holding(text).source, {}, true)), text);
}

TEST_F(Branches, AreRefusedWithPlaceAndReason) {
  const auto turns = [](const std::string& second, const std::string& third = "") {
    return R"({"id":1,"turns":[{"input_tokens":1,"output_tokens":1,"arrival_s":5},)"
           R"({"input_tokens":1,"output_tokens":1)" +
           second + "}" + (third.empty() ? "" : R"(,{"input_tokens":1,"output_tokens":1)" + third + "}") +
           "]}";
  };
  const std::string allowed = "(an earlier turn of the session), or null or -1 for none";
  const std::pair<std::string, std::string> cases[] = {
      {turns(R"(,"parent":1)"), "t:1: turns.1.parent: found 1, allowed: an integer from 0 to 0 " + allowed},
      {turns(R"(,"parent":-2)"), "t:1: turns.1.parent: found -2, allowed: an integer from 0 to 0 " + allowed},
      {turns("", R"(,"parent":0.5)"),
       "t:1: turns.2.parent: found 0.5, allowed: an integer from 0 to 1 " + allowed},
      {R"({"id":1,"turns":[{"input_tokens":1,"output_tokens":1,"parent":0}]})",
       "t:1: turns.0.parent: found 0, allowed: null or -1 (the first turn has no parent)"},
      {turns(R"(,"arrival_s":9)", R"(,"parent":0,"arrival_s":4)"),
       "t:1: turns.2.arrival_s: found 4, allowed: no less than that of its parent, turn 0"},
      {turns(R"(,"arrival_s":9)", R"(,"parent":null,"arrival_s":4)"),
       "t:1: turns.2.arrival_s: found 4, allowed: no less than that of the session's first turn"},
      {turns(R"(,"arrival_s":9)", R"(,"parent":0,"arrival_s":6)"), ""},
      {R"({"id":1,"history":"grows","turns":[]})", "t:1: history: found \"grows\", allowed: grow, context"},
      {R"({"id":1,"history":null,"turns":[]})", "t:1: history: found null, allowed: grow, context"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(error_of(holding(text)), expected) << text;
}

TEST_F(Branches, OfRowsThatAreSkippedLeaveNothingBehind) {
  const std::string turn = R"({"input_tokens":9,"output_tokens":1,"pieces":)";
  // The first row's second turn contradicts its first: neither its document nor its pieces are remembered.
  WorkloadOptions options =
      holding(R"({"id":1,"context_id":"d","context_tokens":5,"turns":[)" + turn + "[[1,4]]}," + turn +
              "[[1,5]]}]}\n" + R"({"id":2,"context_id":"d","context_tokens":6,"turns":[)" + turn +
              "[[2,1],[1,3]]}]}\n");
  options.source.on_bad_row = BadRow::skip;
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.bad_rows_skipped, 1);
  EXPECT_EQ(workload.sessions[0].context_tokens, 6u);
  EXPECT_EQ(workload.pieces_of(0)[1].tokens, 3u);
}

TEST_F(Branches, SayThemselvesWhetherHistoryGrowsUnlessTheScenarioDoes) {
  const std::string turns =
      R"("turns":[{"input_tokens":10,"output_tokens":5},{"input_tokens":1,"output_tokens":1}]})"
      "\n";
  WorkloadOptions options = holding(R"({"id":1,"context_tokens":100,)" + turns +
                                    R"({"id":2,"context_tokens":100,"history":"grow",)" + turns +
                                    R"({"id":3,"history":"context",)" + turns + R"({"id":4,)" + turns);
  const auto grows = [&] {
    std::vector<bool> list;
    for (const Session& one : make_workload(options, 1).sessions) list.push_back(one.history_grows);
    return list;
  };
  EXPECT_EQ(grows(), (std::vector<bool>{false, true, false, true}));
  options.source.history = History::grow;
  EXPECT_EQ(grows(), (std::vector<bool>{true, true, true, true}));
  options.source.history = History::context;
  EXPECT_EQ(grows(), (std::vector<bool>{false, false, false, false}));
}

TEST_F(Branches, MixSessionsWithAndWithoutPieces) {
  const Workload workload = workload_of(
      R"({"id":1,"turns":[{"input_tokens":10,"output_tokens":5}]})"
      "\n"
      R"({"id":2,"turns":[{"input_tokens":10,"output_tokens":5},{"input_tokens":10,"output_tokens":5,"pieces":[[1,10],[2,5]]}]})"
      "\n"
      R"({"id":3,"turns":[{"input_tokens":10,"output_tokens":5}]})"
      "\n");
  EXPECT_EQ(workload.piece_begin, (std::vector<uint64_t>{0, 0, 0, 2, 2}));
  EXPECT_EQ(workload.pieces_of(2).size(), 2u);
  EXPECT_EQ(workload.prompt_pieces_of(2).size(), 1u);
  EXPECT_EQ(workload.own_tokens_of(1), 15);
  EXPECT_EQ(workload.own_tokens_of(2), 0);
  // The pieces, and the first turn of the session with a later one; a session of one turn leaves nothing that
  // anybody finds.
  EXPECT_EQ(workload.context_tokens(), 15 + 15);
  EXPECT_DOUBLE_EQ(workload.mean_history_tokens(), 15 / 4.0);
}

// ---- arrivals ----

// Turns 1 and 2 wait for turn 0, 3 for 1; 4 is a root 6 s after the session's first. Another session at 100
// s.
Workload agent() {
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 5}, {.first_turn = 5, .turn_count = 1}};
  workload.turns = {{10, 10, 1}, {10, 10, 5}, {10, 10, 2}, {10, 10, 3}, {10, 10, 6}, {10, 10, 100}};
  workload.parents = {-1, 0, 0, 1, -1, -1};
  return workload;
}

TEST(BranchingArrivals, FollowTheAnswersOfTheirParents) {
  const Workload workload = agent();
  Arrivals arrivals(workload);
  const Arrival first = arrivals.pop();
  EXPECT_EQ(first.time_s, 1);
  EXPECT_EQ(arrivals.next_s(), 1 + 6);  // the other root, whatever becomes of turn 0
  EXPECT_EQ(arrivals.time_after(first, 2), 2 + 2);
  arrivals.answered(first, 2);
  const Arrival second = arrivals.pop();  // turn 2 at 2 + 2, before turn 1 at 2 + 5
  EXPECT_EQ(second.turn, 2u);
  EXPECT_EQ(second.time_s, 4);
  EXPECT_EQ(arrivals.time_after(second, 5), kNever);
  const Arrival branch = arrivals.pop();
  EXPECT_EQ(branch.turn, 1u);
  EXPECT_EQ(branch.time_s, 7);
  const Arrival root = arrivals.pop();
  EXPECT_EQ(root.turn, 4u);
  EXPECT_EQ(root.time_s, 7);
  arrivals.answered(branch, 20);
  const Arrival last = arrivals.pop();
  EXPECT_EQ(last.turn, 3u);
  EXPECT_EQ(last.time_s, 20 + 3);
  for (const Arrival& one : {root, second, last}) arrivals.answered(one, 30);
  EXPECT_EQ(arrivals.next_s(), 100);
  EXPECT_FALSE(arrivals.ended());
  arrivals.answered(arrivals.pop(), 101);
  EXPECT_TRUE(arrivals.ended());
}

TEST(BranchingArrivals, EndWithARefusedTurnWhileOthersAreServed) {
  const Workload workload = agent();
  Arrivals arrivals(workload);
  arrivals.answered(arrivals.pop(), 2);
  const Arrival second = arrivals.pop();
  EXPECT_EQ(second.turn, 2u);
  const Arrival branch = arrivals.pop();
  std::vector<uint32_t> unborn;
  // Turn 1 is refused at 7 s: 3, which would follow it, and the root 4, which has not arrived, never do.
  EXPECT_EQ(arrivals.refused(branch, 7, &unborn), 2u);
  EXPECT_EQ(unborn, (std::vector<uint32_t>{3, 4}));
  EXPECT_EQ(arrivals.next_s(), 100);  // of the other session
  arrivals.answered(second, 9);       // in flight: served as if nothing had happened
  EXPECT_EQ(arrivals.next_s(), 100);
  const Arrival other = arrivals.pop();
  EXPECT_EQ(other.session, 1u);
  EXPECT_EQ(other.number, 3 + 2);
  arrivals.answered(other, 101);
  EXPECT_TRUE(arrivals.ended());
}

TEST(BranchingArrivals, MayBeRefusedTwice) {
  const Workload workload = agent();
  Arrivals arrivals(workload);
  arrivals.answered(arrivals.pop(), 2);
  const Arrival second = arrivals.pop(), branch = arrivals.pop(), root = arrivals.pop();
  EXPECT_EQ(arrivals.refused(second, 7), 1u);
  EXPECT_EQ(arrivals.refused(root, 7), 0u);
  EXPECT_FALSE(arrivals.ended());
  EXPECT_EQ(arrivals.refused(branch, 8), 0u);
  EXPECT_EQ(arrivals.refused(arrivals.pop(), 100), 0u);
  EXPECT_TRUE(arrivals.ended());
}

// Three sessions of two turns, 4 s of thinking.
Workload loop(int64_t concurrency) {
  Workload workload;
  for (uint32_t i = 0; i < 3; ++i) {
    workload.sessions.push_back({.first_turn = 2 * i, .turn_count = 2});
    workload.turns.push_back({10, 10, 0});
    workload.turns.push_back({10, 10, 4});
  }
  workload.concurrency = concurrency;
  return workload;
}

TEST(ClosedLoop, BeginsASessionWhenAnotherEnds) {
  const Workload workload = loop(2);
  Arrivals arrivals(workload);
  const Arrival a = arrivals.pop(), b = arrivals.pop();
  EXPECT_EQ(a.time_s + b.time_s, 0);
  EXPECT_EQ(arrivals.next_s(), kNever);
  arrivals.answered(a, 1);
  EXPECT_EQ(arrivals.next_s(), 5);  // a's second turn: a has not ended
  arrivals.answered(arrivals.pop(), 6);
  const Arrival c = arrivals.pop();
  EXPECT_EQ(c.session, 2u);
  EXPECT_EQ(c.time_s, 6);
  EXPECT_EQ(arrivals.next_s(), kNever);
}

// Five sessions, two at a time, three a round.
TEST(ClosedLoop, BeginsARoundWhenAllOfTheLastOneHaveEnded) {
  Workload workload;
  for (uint32_t i = 0; i < 5; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({10, 10, 0});
  }
  workload.concurrency = 2;
  workload.round_sessions = 3;
  Arrivals arrivals(workload);
  const Arrival a = arrivals.pop(), b = arrivals.pop();
  EXPECT_EQ(arrivals.next_s(), kNever);
  arrivals.answered(a, 1);
  const Arrival c = arrivals.pop();
  EXPECT_EQ(c.time_s, 1);
  arrivals.answered(b, 2);
  EXPECT_EQ(arrivals.next_s(), kNever) << "c is under way";
  arrivals.answered(c, 5);
  const Arrival d = arrivals.pop(), e = arrivals.pop();
  EXPECT_EQ(d.session + e.session, 3u + 4u);
  EXPECT_EQ(d.time_s + e.time_s, 10);
  arrivals.answered(d, 6);
  arrivals.answered(e, 7);
  EXPECT_TRUE(arrivals.ended());
}

TEST(ClosedLoop, BeginsASessionWhenAnotherIsRefused) {
  const Workload workload = loop(1);
  Arrivals arrivals(workload);
  EXPECT_EQ(arrivals.refused(arrivals.pop(), 3), 1u);
  const Arrival next = arrivals.pop();
  EXPECT_EQ(next.session, 1u);
  EXPECT_EQ(next.time_s, 3);
  EXPECT_EQ(next.number, 2);
}

TEST(ClosedLoop, OfMorePlacesThanSessionsBeginsAllAtOnce) {
  const Workload workload = loop(1'000'000);
  Arrivals arrivals(workload);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(arrivals.pop().session, i);
  EXPECT_EQ(arrivals.next_s(), kNever);
}

// Two questions of two map calls and one over their summaries; one question at a time.
TEST(ClosedLoop, CountsTheCallsOfATurnAsOne) {
  Workload workload;
  for (uint32_t i = 0; i < 6; ++i) {
    workload.sessions.push_back({.first_turn = i, .turn_count = 1});
    workload.turns.push_back({10, 10, 0});
    workload.calls.push_back({.asked_session = i / 3, .answers = i % 3 == 2, .after = i % 3 == 2 ? 2u : 0u});
  }
  workload.concurrency = 1;
  Arrivals arrivals(workload);
  const Arrival a = arrivals.pop(), b = arrivals.pop();
  EXPECT_EQ(arrivals.next_s(), kNever);
  arrivals.answered(a, 1);
  arrivals.answered(b, 2);
  const Arrival reduce = arrivals.pop();
  EXPECT_EQ(reduce.session, 2u);
  EXPECT_EQ(arrivals.next_s(), kNever);
  arrivals.answered(reduce, 5);
  for (uint32_t session : {3u, 4u}) {
    const Arrival next = arrivals.pop();
    EXPECT_EQ(next.session, session);
    EXPECT_EQ(next.time_s, 5);
  }
  EXPECT_EQ(arrivals.next_s(), kNever);
}

// ---- the table ----

TEST(SourceTable, HasEachNameOnceAndAllThatARowNeeds) {
  std::set<std::string_view> names;
  for (const SourceRow& row : source_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.summary.empty()) << row.name;
    EXPECT_NE(row.open, nullptr) << row.name;
    EXPECT_FALSE(row.is_generated && (row.has_arrivals || row.sniff)) << row.name;
    EXPECT_EQ(&source_row(row.name), &row);
  }
  EXPECT_EQ(source_names().size(), source_table().size());
}

TEST(SourceTable, IsWhatThePagesList) {
  const std::string root(KVCAP_SOURCE_DIR);
  for (const std::vector<std::string>& files :
       {std::vector<std::string>{"/traces/formats.md", "/traces/generators.md"}, {"/scenarios/format.md"}}) {
    std::string text;
    for (const std::string& file : files) text += read_file(root + file);
    for (const SourceRow& row : source_table()) {
      EXPECT_NE(text.find(std::string(row.name) + "`"), std::string::npos)
          << files.front() << " " << row.name;
    }
  }
}

// A branch whose sibling was refused is served all the same, and again when its node fails.
TEST_F(Branches, KeepTheirHistoryWhenTheirSessionIsRefused) {
  const Workload workload = workload_of(kAgent);
  Sessions sessions(workload, {}, {}, 100000);
  const Arrival root{.session = 0, .turn = 0}, branch{.session = 0, .turn = 2};
  sessions.close(root, sessions.open(root), nullptr);
  EXPECT_EQ(sessions.open(branch).history_tokens, 1110);
  sessions.end(0);
  EXPECT_EQ(sessions.open(branch).history_tokens, 1110);
}

// A turn on a context alone: nobody goes on from its answer, but others may use the piece that it completes.
TEST_F(Branches, LeaveThePiecesOfTheirAnswers) {
  const Workload workload = workload_of(
      R"({"id":1,"context_tokens":100,"history":"context","turns":[)"
      R"({"input_tokens":10,"output_tokens":30,"pieces":[[7,10],[8,20]]},{"input_tokens":10,"output_tokens":3}]})"
      "\n");
  Sessions sessions(workload, {}, {}, 100000);
  const Arrival first{.session = 0, .turn = 0};
  const std::vector<Part> left = sessions.close(first, sessions.open(first), nullptr);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].tokens, 100);
  EXPECT_EQ(left[1].tokens, 20);
}

}  // namespace
}  // namespace kvcap::branches_test
