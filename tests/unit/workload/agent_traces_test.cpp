// Sessions of agents: what becomes of the rows of kv-cache-tester's and LMCache's traces, which requests wait
// for which, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/key_map.h"
#include "unit/raw_files.h"
#include "unit/shared_data.h"
#include "workload/logs/gz_file.h"
#include "workload/logs/lines.h"
#include "workload/source.h"
#include "workload/sources_table.h"
#include "workload/trace_stats.h"

namespace kvcap::agent_traces_test {
namespace {

using Tokens = std::vector<uint32_t>;

// Blocks of 4 tokens. The third request of the main agent no longer has blocks 3 to 5, and it waits for a
// sub-agent, which ended at 20 s and had lasted 12 s.
const std::string kSession =
    R"({"id":"a","block_size":4,"hash_id_scope":"local","tool_tokens":6,"system_tokens":3,"requests":[)"
    R"({"t":0.0,"type":"n","in":14,"out":3,"h":[1,3],"api_time":2.0,"think_time":0.0},)"
    R"({"t":5.0,"type":"n","in":23,"out":1,"h":[1,5],"api_time":1.0,"think_time":3.0},)"
    R"({"t":20.0,"type":"subagent","duration_ms":12000,"tool_tokens":4,"system_tokens":0,"requests":[)"
    R"({"t":0.0,"type":"n","in":9,"out":2,"h":[10,11],"api_time":4.0,"think_time":0.0},)"
    R"({"t":6.0,"type":"n","in":13,"out":2,"h":[10,12],"api_time":5.0,"think_time":2.0}]},)"
    R"({"t":25.0,"type":"s","in":20,"out":0,"h":[1,2,6,8],"think_time":19.0},)"
    R"({"t":40.0,"type":"n","in":17,"out":2,"h":[1,2,6,7],"api_time":1.0,"think_time":99.0}]})"
    "\n";

class AgentTrace : public RawFiles {
 protected:
  WorkloadOptions holding(const std::string& kind, const std::string& text) const {
    WorkloadOptions options;
    options.source.kind = kind;
    options.source.path = write("t", text);
    return options;
  }
  WorkloadOptions weka(const std::string& text) const { return holding("weka", text); }
  std::string refusal(const std::string& text) const { return error_of(weka(text)); }
};

Tokens sizes(std::span<const Piece> pieces) {
  Tokens tokens;
  for (const Piece& piece : pieces) tokens.push_back(piece.tokens);
  return tokens;
}

std::vector<double> times_of(const Workload& workload) {
  std::vector<double> times;
  for (const Turn& turn : workload.turns) times.push_back(turn.time_s);
  return times;
}

bool mentions(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

TEST_F(AgentTrace, OfWekaHasOnePieceForBlocksThatEveryPromptHasTogether) {
  const Workload workload = make_workload(weka(kSession), 1);
  ASSERT_EQ(workload.turns.size(), 6u);
  EXPECT_FALSE(workload.sessions[0].history_grows);
  // Of the blocks 1 to 3, the third request of the main agent has 1 and 2 alone.
  EXPECT_EQ(sizes(workload.pieces_of(0)), (Tokens{8, 4}));
  EXPECT_EQ(sizes(workload.pieces_of(1)), (Tokens{8, 4, 8}));
  EXPECT_EQ(sizes(workload.pieces_of(2)), (Tokens{8}));
  EXPECT_EQ(sizes(workload.pieces_of(3)), (Tokens{8, 4}));
  EXPECT_EQ(sizes(workload.pieces_of(4)), (Tokens{8, 8, 4}));
  EXPECT_EQ(sizes(workload.pieces_of(5)), (Tokens{8, 8}));
  EXPECT_EQ(workload.pieces_of(4)[0].key, workload.pieces_of(0)[0].key);
  EXPECT_EQ(workload.pieces_of(5)[1].key, workload.pieces_of(4)[1].key);
  EXPECT_NE(workload.pieces_of(4)[1].key, workload.pieces_of(1)[1].key);
  EXPECT_NE(workload.pieces_of(2)[0].key, workload.pieces_of(0)[0].key);
}

TEST_F(AgentTrace, OfWekaLetsTheMainAgentWaitForItsSubAgent) {
  WorkloadOptions options = weka(kSession);
  options.arrivals = {.process = ArrivalProcess::constant, .sessions_per_s = 1};
  const Workload workload = make_workload(options, 1);
  EXPECT_TRUE(workload.parents.empty());  // each request waits for the one before it
  // The sub-agent begins at 20 - 12 s, 2 s after the end of the request that launched it at 5 + 1 s, and ends
  // at 8 + 6 + 5 = 19 s, 6 s before the next request, which has no api_time: the last one counts from its
  // arrival, 40 - 25 s.
  EXPECT_EQ(times_of(workload), (std::vector<double>{0, 3, 2, 2, 6, 15}));
  EXPECT_FALSE(workload.absolute_times);
  EXPECT_TRUE(mentions(workload.notes, "1 requests have no api_time"));
  EXPECT_TRUE(mentions(workload.notes, "1 requests without output tokens are served with one"));
  EXPECT_EQ(workload.turns[4].output_tokens, 1u);
}

TEST_F(AgentTrace, OfWekaIsReplayedAtItsOwnTimesWhereATimetableIsAskedFor) {
  WorkloadOptions options = weka(kSession + replaced(kSession, R"("id":"a")", R"("id":"b")"));
  options.arrivals = {.process = ArrivalProcess::constant, .sessions_per_s = 0.1};
  options.think_time.distribution = ThinkDistribution::timetable;
  const Workload workload = make_workload(options, 1);
  EXPECT_TRUE(workload.absolute_times);
  EXPECT_EQ(times_of(workload), (std::vector<double>{0, 5, 8, 14, 25, 40, 10, 15, 18, 24, 35, 50}));
  options.arrivals = {.process = ArrivalProcess::closed_loop, .concurrency = 1};
  EXPECT_EQ(error_of(options),
            "workload.think_time.distribution: found \"timetable\", allowed: auto, constant, exponential, "
            "lognormal, recorded (with closed_loop a session's beginning depends on the machine)");
}

TEST_F(AgentTrace, OfWekaMayLaunchSubAgentsSideBySideAndSomeThatNobodyWaitsFor) {
  const auto sub = [](const std::string& id, const std::string& t, const std::string& duration,
                      const std::string& api_time) {
    return R"({"t":)" + t + R"(,"type":"subagent","duration_ms":)" + duration +
           R"(,"requests":[{"t":0,"type":"n","in":4,"out":1,"h":[)" + id + "," + id + R"(],"api_time":)" +
           api_time + "}]},";
  };
  const std::string session =
      R"({"id":1,"block_size":4,"hash_id_scope":"local","requests":[)"
      R"({"t":0,"type":"n","in":4,"out":1,"h":[1,1],"api_time":10,"think_time":0},)" +
      sub("20", "40", "29000", "28.5") + sub("21", "25", "14500", "14") + sub("22", "12", "null", "100") +
      R"({"t":50,"type":"n","in":8,"out":1,"h":[1,2],"api_time":1,"think_time":40}]})";
  WorkloadOptions options = weka(session);
  const Workload workload = make_workload(options, 1);
  // All three follow the first request, and the last one follows the sub-agent that ended last: at
  // 11 + 28.5 s. The one without a duration ends long after.
  EXPECT_EQ(workload.parents, (std::vector<int32_t>{-1, 0, 0, 0, 1}));
  EXPECT_EQ(times_of(workload), (std::vector<double>{0, 1, 0.5, 2, 50 - 39.5}));
}

TEST_F(AgentTrace, OfWekaSharesNothingBetweenSessionsUnlessToldThatEqualToolsAreTheSame) {
  const std::string other =
      replaced(replaced(kSession, R"("id":"a")", R"("id":"b")"), "[1,5]", "[1,3,20,21]");
  const std::string third = replaced(kSession, R"("system_tokens":3)", R"("system_tokens":99)");
  WorkloadOptions options = weka(kSession + other + third);
  const Workload alone = make_workload(options, 1);
  KeySet keys;
  for (std::size_t turn : {0u, 6u, 12u}) EXPECT_TRUE(keys.insert(alone.pieces_of(turn)[0].key));
  EXPECT_TRUE(mentions(alone.notes, "sessions share no text"));
  options.source.shared_tools = true;
  const Workload shared = make_workload(options, 1);
  // 6 + 3 tokens are two full blocks; the sub-agents' 4 tokens are one.
  EXPECT_EQ(shared.pieces_of(0)[0].key, shared.pieces_of(6)[0].key);
  EXPECT_EQ(sizes(shared.pieces_of(1)), (Tokens{8, 4, 8}));
  EXPECT_NE(shared.pieces_of(0)[1].key, shared.pieces_of(6)[1].key);
  EXPECT_NE(shared.pieces_of(0)[0].key, shared.pieces_of(12)[0].key);
  EXPECT_EQ(sizes(shared.pieces_of(2)), (Tokens{4, 4}));
  EXPECT_EQ(shared.pieces_of(2)[0].key, shared.pieces_of(8)[0].key);
  EXPECT_NE(shared.pieces_of(2)[1].key, shared.pieces_of(8)[1].key);
  EXPECT_TRUE(mentions(shared.notes, "assumed: tools and system prompts of equal size"));
}

TEST_F(AgentTrace, OfWekaLeavesOutDuplicatesAndSaysSo) {
  const std::string twice = replaced(kSession, R"("id":"a")", R"("id":"b","dup_of_earlier":true)");
  const Workload workload = make_workload(weka(kSession + twice), 1);
  EXPECT_EQ(workload.sessions.size(), 1u);
  EXPECT_TRUE(mentions(workload.notes, "1 sessions are left out: according to dup_of_earlier"));
}

TEST_F(AgentTrace, OfWekaMayListItsBlocksOneByOneWithOneThatIsNotFull) {
  const std::string scope = R"("hash_id_scope":"local",)";
  const std::string listed =
      replaced(replaced(kSession, R"("h":[1,5])", R"("hash_ids":[1,2,3,4,5,9])"), scope, "");
  const Workload workload = make_workload(weka(listed), 1);
  EXPECT_EQ(sizes(workload.pieces_of(1)), (Tokens{8, 4, 8}));
  EXPECT_EQ(guess_source(write("listed", listed)).name, "weka");
}

TEST_F(AgentTrace, StatsOfWekaAreTheseSums) {
  WorkloadOptions options = weka(kSession);
  options.arrivals = {.process = ArrivalProcess::constant, .sessions_per_s = 1};
  const TraceStats stats = trace_stats(make_workload(options, 1));
  // Prompts of 14 + 23 + 9 + 13 + 20 + 17; found are 0, blocks 1 to 3, 0, blocks 10 and 11, 1 and 2, and 1,
  // 2, 6 and 7.
  EXPECT_DOUBLE_EQ(stats.infinite_cache_token_hit_rate, (12 + 8 + 8 + 16) / 96.0);
  EXPECT_EQ(stats.pieces, 2 + 3 + 1 + 2 + 3 + 2);
  EXPECT_EQ(stats.unique_pieces, 7);
}

TEST_F(AgentTrace, OfWekaIsRefusedWithPlaceAndReason) {
  const std::string scope = R"("hash_id_scope":"local")";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "t: contains no sessions"},
      {replaced(kSession, scope, R"("hash_id_scope":"global")"),
       "t:1: hash_id_scope: found \"global\", allowed: \"local\""},
      {kSession + replaced(kSession, R"("in":23)", R"("in":24)"),
       "t:2: requests.1.h: found 5 blocks, allowed: 6, the full ones of 24 tokens"},
      {replaced(kSession, "[1,5]", "[1,5,6]"),
       "t:1: requests.1.h: found 3 numbers, allowed: pairs of a first and a last block"},
      {replaced(kSession, "[1,5]", "[5,1]"),
       "t:1: requests.1.h.1: found 1, allowed: an integer from 5, the range's first, to 10000004"},
      {replaced(kSession, "[1,2,6,8]", "[1,2,4,6]"),
       "t:1: requests.3.h: found 4 after 2, allowed: after 3, as before (equal ids have the same text "
       "before "
       "them)"},
      {replaced(kSession, R"("type":"s")", R"("type":"x")"),
       "t:1: requests.3.type: found \"x\", allowed: \"n\", \"s\", \"subagent\""},
      {replaced(kSession, R"("t":6.0)", R"("t":-6.0)"),
       "t:1: requests.2.requests.1.t: found -6.0, allowed: a number from 0 to 1e10"},
      {replaced(kSession, R"("out":3)", R"("out":null)"),
       "t:1: requests.0.out: found null, allowed: an integer from 0 to 10000000"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(refusal(text), message);
  EXPECT_EQ(refusal(R"({"id":"a","block_size":4,"requests":[{"t":0,"type":"n","in":8,"out":1,"h":[1,2]},)"
                    R"({"t":5,"type":"n","in":4,"out":1,"h":[2,2]}]})"),
            "t:1: requests.1.h: found 2 first, allowed: after 1, as before (equal ids have the same text "
            "before them)");
  WorkloadOptions options = weka(kSession);
  options.source.history = History::grow;
  EXPECT_NE(error_of(options).find("workload.source.history: found \"grow\""), std::string::npos);
}

TEST_F(AgentTrace, OfWekaIsKnownByItsBeginningAndReadsBackAfterConversion) {
  const WorkloadOptions options = weka(gzip(kSession));
  EXPECT_EQ(guess_source(options.source.path).name, "weka");
  const Workload before = make_workload(options, 1);
  WorkloadOptions converted = holding("sessions", session_lines(open_source(options, 1)));
  const Workload after = make_workload(converted, 1);
  EXPECT_EQ(times_of(after), times_of(before));
  EXPECT_EQ(after.parents, before.parents);
  EXPECT_FALSE(after.sessions[0].history_grows);
  for (std::size_t turn = 0; turn < 6; ++turn) {
    EXPECT_EQ(sizes(after.pieces_of(turn)), sizes(before.pieces_of(turn)));
  }
}

double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size()))];
}

// The description of the data counts duplicates; without the mark they are read as well.
TEST_F(AgentTrace, OfWekaHasTheFiguresOfItsDescription) {
  const std::string name = "traces/weka_cc_traces_739.jsonl.gz";
  KVCAP_NEEDS_SHARED_DATA(name);
  std::string text;
  LineReader lines(shared_data(name));
  for (std::string_view line; lines.next(line); text += '\n') {
    std::string one(line);
    const std::size_t at = one.find("\"dup_of_earlier\":true");
    if (at != std::string::npos) one.replace(at + 17, 4, "null");
    text += one;
  }
  const Workload all = make_workload(weka(text), 1);
  EXPECT_EQ(all.sessions.size(), 710u);
  EXPECT_EQ(all.turns.size(), 49334u);
  std::vector<double> prompts, answers;
  for (const Turn& turn : all.turns) {
    prompts.push_back(turn.input_tokens);
    answers.push_back(turn.output_tokens);
  }
  EXPECT_EQ(std::lround(quantile(prompts, 0.1) / 1000), 42);
  EXPECT_EQ(std::lround(quantile(prompts, 0.5) / 1000), 104);
  EXPECT_EQ(std::lround(quantile(prompts, 0.9) / 1000), 234);
  EXPECT_EQ(quantile(answers, 0.5), 216);
  EXPECT_NEAR(trace_stats(all).infinite_cache_token_hit_rate, 0.963, 0.0005);

  WorkloadOptions options;
  options.source = {.kind = "weka", .path = shared_data(name)};
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.sessions.size(), 692u);
  EXPECT_EQ(workload.turns.size(), 46218u);
  EXPECT_LT(workload.pieces.size(), 2'000'000u);  // written out they are 85 million blocks
  std::vector<double> pauses;
  for (const Session& session : workload.sessions) {
    for (const Turn& turn : workload.turns_of(session).subspan(1)) pauses.push_back(turn.time_s);
  }
  EXPECT_NEAR(quantile(pauses, 0.5), 10, 1);
  // Counted with a set of blocks for each session: 5,261,427,072 of 5,467,403,989 tokens.
  EXPECT_DOUBLE_EQ(trace_stats(workload).infinite_cache_token_hit_rate, 5261427072.0 / 5467403989.0);
}

// ---- LMCache ----

std::string request(const std::string& session, int turn, int t_ms, int input, int output,
                    const std::string& ids) {
  return R"({"session":")" + session + R"(","turn":)" + std::to_string(turn) + R"(,"t_ms":)" +
         std::to_string(t_ms) + R"(,"input_length":)" + std::to_string(input) + R"(,"output_length":)" +
         std::to_string(output) + R"(,"hash_ids":[)" + ids + "]}\n";
}

TEST_F(AgentTrace, OfLmcacheIsReadTurnByTurnInBlocksOf16Tokens) {
  const std::string text = request("a", 1, 0, 40, 5, "0,1") + request("b", 1, 0, 35, 0, "0,7") +
                           request("a", 2, 2500, 50, 6, "0,1,2") + request("b", 2, 100, 0, 4, "") +
                           request("b", 3, 700, 16, 4, "0");
  WorkloadOptions options = holding("lmcache_agent", text);
  EXPECT_EQ(guess_source(options.source.path).name, "lmcache_agent");
  options.arrivals = {.process = ArrivalProcess::constant, .sessions_per_s = 1};
  const Workload workload = make_workload(options, 1);
  ASSERT_EQ(workload.sessions.size(), 2u);
  EXPECT_EQ(times_of(workload), (std::vector<double>{0, 2.5, 1, 0.7}));
  EXPECT_EQ(sizes(workload.pieces_of(1)), (Tokens{16, 16, 16}));
  EXPECT_EQ(workload.pieces_of(2)[0].key, 0u);
  EXPECT_EQ(workload.turns[2].output_tokens, 1u);
  EXPECT_TRUE(mentions(workload.notes, "1 requests without input tokens are left out"));
  EXPECT_TRUE(mentions(workload.notes, "1 requests without output tokens are served with one"));
  options.sessions = 1;
  EXPECT_EQ(make_workload(options, 1).turns.size(), 2u);
}

TEST_F(AgentTrace, OfLmcacheIsRefusedWithPlaceAndReason) {
  const std::string good = request("a", 1, 10, 40, 5, "0,1");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {good + request("a", 1, 20, 40, 5, "0,1"),
       "t:2: turn: found 1, allowed: more than 1, the session's previous turn"},
      {good + request("a", 2, 9, 40, 5, "0,1"),
       "t:2: t_ms: found 9, allowed: no less than in the session's previous row"},
      {good +
           R"({"session":"a","turn":2,"t_ms":31536000011,"input_length":40,"output_length":5,"hash_ids":[0,1]})",
       "t:2: t_ms: found 31536000011, allowed: at most a year after the session's previous row"},
      {good + request("a", 2, 10, 48, 5, "0,1"),
       "t:2: hash_ids: found 2 ids, allowed: 3, one for each full 16 tokens of input_length"},
      {good + request("a", 2, 10, 40, 5, "1,0"),
       "t:2: hash_ids.0: found 1 first, allowed: after 0, as before (equal keys have the same text before "
       "them)"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(error_of(holding("lmcache_agent", text)), message);
}

TEST_F(AgentTrace, OfLmcacheHasTheFiguresOfItsData) {
  KVCAP_NEEDS_SHARED_DATA("traces/lmcache_agent_miniswe.jsonl.gz");
  WorkloadOptions options;
  options.source = {.kind = "lmcache_agent", .path = shared_data("traces/lmcache_agent_miniswe.jsonl.gz")};
  const Workload miniswe = make_workload(options, 1);
  EXPECT_EQ(miniswe.sessions.size(), 20u);
  EXPECT_EQ(miniswe.turns.size(), 402u);
  EXPECT_NEAR(trace_stats(miniswe).infinite_cache_token_hit_rate, 0.9342, 0.0005);
  options.source.path = shared_data("traces/lmcache_agent_taubench.jsonl.gz");
  const Workload taubench = make_workload(options, 1);
  EXPECT_EQ(taubench.sessions.size(), 24u);
  EXPECT_EQ(taubench.turns.size(), 471u);
  EXPECT_TRUE(mentions(taubench.notes, "283 requests without output tokens"));
}

}  // namespace
}  // namespace kvcap::agent_traces_test
