// Rows that are well formed and cannot be true are left out, counted and told with their places; keys that
// are given twice are refused.
#include "workload/logs/odd_rows.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "unit/raw_files.h"
#include "workload/source.h"

namespace kvcap::odd_rows_test {
namespace {

using Notes = std::vector<std::string>;

class OddRow : public RawFiles {
 protected:
  Source open(const std::string& kind, const std::string& text) const {
    return open_source(holding(kind, text), 1);
  }
  // Of sources that do not say when their sessions arrive.
  Source open_drawn(const std::string& kind, const std::string& text) const {
    WorkloadOptions options = holding(kind, text);
    options.arrivals.process = ArrivalProcess::poisson;
    return open_source(options, 1);
  }
};

std::string csv(const std::string& rows) {
  return "id,arrival_s,input_tokens,output_tokens,ttft_s,e2el_s\n" + rows;
}

TEST_F(OddRow, ThatRepeatsAnEarlierOneIsLeftOut) {
  const Source source = open("csv", csv("a,0,5,1,1,2\nb,1,5,1,1,2\na,0,5,1,1,2\nb,1,5,1,1,2\n"));
  EXPECT_EQ(source.turns.size(), 2u);
  EXPECT_EQ(source.measured.size(), 2u);
  EXPECT_EQ(source.odd_rows.repeated, 2);
  EXPECT_EQ(source.notes, Notes{"2 rows are left out: an earlier row is the same (line 4, line 5)"});
  EXPECT_EQ(source.warnings, Notes{(folder_ / "t").string() + ": " + source.notes[0]});
}

TEST_F(OddRow, ThatDiffersInOneFieldIsRead) {
  for (const char* other :
       {"b,0,5,1,1,2", "a,1,5,1,1,2", "a,0,6,1,1,2", "a,0,5,2,1,2", "a,0,5,1,1.5,2", "a,0,5,1,1,3"}) {
    const Source source = open("csv", csv(std::string("a,0,5,1,1,2\n") + other + "\n"));
    EXPECT_EQ(source.turns.size(), 2u) << other;
    EXPECT_EQ(source.odd_rows.repeated, 0) << other;
  }
  const std::string header = "id,session,arrival_s,input_tokens,output_tokens\n";
  EXPECT_EQ(open("csv", header + "a,s,0,5,1\na,t,0,5,1\n").turns.size(), 2u);
  EXPECT_EQ(open("csv", header + "a,s,0,5,1\na,s,0,5,1\n").odd_rows.repeated, 1);
}

// Two requests of the same size may arrive at once; two are never measured alike below a millisecond.
TEST_F(OddRow, WithoutAnIdIsARepetitionOnlyWhereItsTimesAreFine) {
  const auto twice = [this](const std::string& row) { return open("csv", csv(row + "\n" + row + "\n")); };
  const Source coarse = twice(",1.0001,5,1,1.5,2");
  EXPECT_EQ(coarse.turns.size(), 2u);
  EXPECT_EQ(coarse.notes,
            Notes{"1 row is the same as an earlier one but read anyway, because nothing in such a "
                  "row identifies its request (line 3)"});
  EXPECT_TRUE(coarse.warnings.empty());
  EXPECT_EQ(twice(",0,5,1,1.0001,2.0002").turns.size(), 2u);  // as simulated batches are
  EXPECT_EQ(twice(",1.0001,5,1,1.0001,2").turns.size(), 1u);
  EXPECT_EQ(twice(",1.0001,5,1,1,2.0001").turns.size(), 1u);
}

TEST_F(OddRow, WhoseFirstTokenComesAfterItsEndIsLeftOut) {
  const Source source = open("csv", csv("a,0,5,1,1,2\nb,1,5,1,5,2\nc,2,5,1,2.001,2\nd,3,5,1,,2\n"));
  EXPECT_EQ(source.turns.size(), 3u);  // c is rounded
  EXPECT_EQ(source.odd_rows.impossible_times, 1);
  EXPECT_EQ(source.notes,
            Notes{"1 row is left out: the times are impossible (line 3); in the first a TTFT of 5 s is "
                  "above the end-to-end latency of 2 s"});
  EXPECT_EQ(source.warnings, Notes{(folder_ / "t").string() + ": " + source.notes[0]});
  EXPECT_EQ(open("csv", csv("a,0,5,1,2.0011,2\nb,1,5,1,1,2\n")).turns.size(), 1u);
}

TEST_F(OddRow, IsAnErrorWhereMostTimesAreImpossible) {
  EXPECT_EQ(refusal("csv", csv("a,0,5,1,5,2\nb,1,5,1,1,2\n")), "");
  EXPECT_EQ(
      refusal("csv", csv("a,0,5,1,5,2\nb,1,5,1,5,2\nc,2,5,1,1,2\nd,3,5,1,,\n")),
      "t: 2 of 3 requests have impossible times (line 2, line 3); in the first a TTFT of 5 s is above the "
      "end-to-end latency of 2 s, allowed: at most half of them (are the columns swapped?)");
}

TEST_F(OddRow, WhoseDateIsFarFromTheOthersIsLeftOut) {
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string good = "2024-01-01 00:00:00,10,2\n2024-01-01 00:00:01,10,2\n";
  for (const char* odd : {"1970-01-01 00:00:00,10,2\n", "2074-01-01 00:00:00,10,2\n"}) {
    const Source first = open("azure", header + odd + good);
    ASSERT_EQ(first.turns.size(), 2u) << odd;
    EXPECT_EQ(first.turns[1].time_s, 1) << odd;
    EXPECT_EQ(first.odd_rows.distant_dates, 1);
    EXPECT_TRUE(first.piece_begin.empty()) << "no row has pieces";
    EXPECT_EQ(first.notes,
              Notes{"1 row is left out: the date is more than a year from those of the other rows (line 2)"});
    EXPECT_EQ(first.warnings, Notes{(folder_ / "t").string() + ": " + first.notes[0]});
    EXPECT_EQ(open("azure", header + good + odd).turns.size(), 2u) << odd;
  }
  EXPECT_EQ(
      refusal("azure", header + "1974-01-01 00:00:00,10,2\n2024-01-01 00:00:00,10,2\n"),
      "t: found dates that are 50 years apart, with no year that contains most of them, allowed: gaps of "
      "at most a year");
}

TEST_F(OddRow, TakesItsPiecesWithIt) {
  WorkloadOptions options = holding("csv",
                                    "t,i,o,p\n2024-01-01 00:00:00,10,2,x\n1970-01-01 00:00:00,20,2,y\n"
                                    "2024-01-01 00:00:01,30,2,z\n");
  options.source.columns = "arrival=t,input=i,output=o,prompt=p";
  const Source source = open_source(options, 1);
  EXPECT_EQ(source.odd_rows.distant_dates, 1);
  EXPECT_EQ(source.piece_begin, (std::vector<uint64_t>{0, 1, 2}));
  ASSERT_EQ(source.pieces.size(), 2u);
  EXPECT_EQ(source.pieces[0].tokens, 10u);
  EXPECT_EQ(source.pieces[1].tokens, 30u);
}

TEST(DateRange, EndsAtGapsOfMoreThanAYear) {
  EXPECT_FALSE(range_of_dates("t", {}));
  EXPECT_FALSE(range_of_dates("t", {0, 365.0 * 86400}));
  const auto range = range_of_dates("t", {2e9, 5, 2e9 + 1, 2e9 + 2, 9e9});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first_s, 2e9);
  EXPECT_EQ(range->last_s, 2e9 + 2);
  EXPECT_THROW(range_of_dates("t", {0, 365.0 * 86400 + 1}), InputError);
}

TEST_F(OddRow, ShowsTheFirstFivePlaces) {
  std::string rows;
  for (int i = 0; i < 7; ++i) rows += "a,0,5,1,1,2\n";
  EXPECT_EQ(open("csv", csv(rows)).notes, Notes{"6 rows are left out: an earlier row is the same (line 3, "
                                                "line 4, line 5, line 6, line 7 and 1 more)"});
}

TEST_F(OddRow, IsToldByItsIndexInAList) {
  const std::string one =
      R"({"request_start_time":1.00025,"prompt_tokens":5,"output_tokens":2,"time_to_first_token_ms":1.5,"request_latency":2.00025})";
  const std::string two = R"({"requests":{"successful":[)" + one + "," + one + "]}}";
  EXPECT_EQ(open("guidellm", R"({"benchmarks":[)" + two + "]}").notes,
            Notes{"1 row is left out: an earlier row is the same (benchmarks.0.requests.successful.1)"});
}

// The gaps between its tokens are not counted either.
TEST_F(OddRow, LeavesNoGapsBehind) {
  const std::string row =
      R"({"metadata":{"request_start_ns":1000025},"metrics":{"input_sequence_length":{"value":10},)"
      R"("output_sequence_length":{"value":3},"request_latency":{"value":2.5001,"unit":"ms"},)"
      R"("inter_chunk_latency":{"value":[1,1],"unit":"ms"}}})"
      "\n";
  const Source source = open("aiperf", row + row);
  EXPECT_EQ(source.odd_rows.repeated, 1);
  EXPECT_EQ(source.measured_itls_s.size(), 2u);
}

TEST_F(OddRow, WithAKeyTwiceIsABadRow) {
  const std::string good = R"({"arrival_s":0,"input_tokens":1,"output_tokens":2})"
                           "\n";
  const std::string bad = R"({"arrival_s":1,"input_tokens":1,"output_tokens":2,"usage":{"a":1,"a":2}})";
  const std::string message = R"(t:2:68: usage: key "a" is given twice in one object)";
  EXPECT_EQ(refusal("jsonl", good + bad), message);
  WorkloadOptions options = holding("jsonl", good + bad);
  options.source.on_bad_row = BadRow::skip;
  EXPECT_EQ(open_source(options, 1).bad_rows_skipped, 1);
  // Equal keys of different objects are two.
  EXPECT_EQ(
      refusal("jsonl", R"({"arrival_s":0,"input_tokens":1,"output_tokens":2,"x":[{"a":1},{"a":1}],"a":1})"),
      "");
}

TEST_F(OddRow, WithAKeyTwiceIsRefusedInDocumentsWithItsLine) {
  EXPECT_EQ(refusal("guidellm", "{\"benchmarks\":[\n{\"requests\":{},\n\"requests\":{}}]}"),
            R"(t:3: benchmarks.0: key "requests" is given twice in one object)");
  EXPECT_EQ(
      refusal(
          "sharegpt",
          "[{\"id\":\"a\",\"conversations\":[\n{\"from\":\"human\",\n\"value\":\"x\",\"value\":\"y\"}]}]"),
      R"(t:3: 0.conversations.0: key "value" is given twice in one object)");
  EXPECT_EQ(refusal("sharegpt", "[\n{\"id\":\"a\",\"id\":\"b\",\"conversations\":[]}]"),
            R"(t:2: 0: key "id" is given twice in one object)");
}

// ---- readers of whole sessions ----

std::string session(const std::string& id, const std::string& arrival_s) {
  return R"({"id":")" + id + R"(","turns":[{"input_tokens":5,"output_tokens":1,"arrival_s":)" + arrival_s +
         "}]}\n";
}

TEST_F(OddRow, OfSessionsThatRepeatsAnEarlierOneIsLeftOut) {
  const Source source = open("sessions", session("a", "0") + session("b", "1") + session("a", "0"));
  EXPECT_EQ(source.sessions.size(), 2u);
  EXPECT_EQ(source.odd_rows.repeated, 1);
  EXPECT_EQ(source.notes, Notes{"1 row is left out: an earlier row is the same (line 3)"});
  EXPECT_EQ(open("sessions", session("a", "0") + session("a", "1")).sessions.size(), 2u);
}

TEST_F(OddRow, OfSessionsWhoseDateIsFarFromTheOthersIsLeftOut) {
  const std::string good = session("a", "0") + session("b", "60");
  const Source source = open("sessions", session("old", "1577880000") + good);
  ASSERT_EQ(source.sessions.size(), 2u);
  EXPECT_EQ(source.turns[1].time_s, 60);
  EXPECT_EQ(source.labels[0].id, "\"a\"");
  EXPECT_EQ(source.odd_rows.distant_dates, 1);
  EXPECT_EQ(source.notes,
            Notes{"1 row is left out: the date is more than a year from those of the other rows (line 1)"});
  EXPECT_EQ(
      refusal("sessions", session("a", "0") + session("b", "1577880000")),
      "t: found dates that are 50 years apart, with no year that contains most of them, allowed: gaps of "
      "at most a year");
}

// Sessions are read again without what is far from the others.
TEST_F(OddRow, OfSessionsInAPipeIsRefused) {
  const std::string pipe = (folder_ / "p").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  WorkloadOptions options = holding("sessions", "");
  options.source.path = pipe;
  std::thread writer(
      [&] { std::ofstream(pipe) << session("a", "0") + session("b", "60") + session("old", "1577880000"); });
  EXPECT_EQ(
      error_of(options),
      "p:3: arrives more than a year from the other sessions, and a pipe is read once; allowed: a file");
  writer.join();
}

TEST_F(OddRow, OfConversationsThatRepeatsAnEarlierOneIsLeftOut) {
  const auto conversation = [](const std::string& id, const std::string& said) {
    return R"({"id":")" + id + R"(","conversations":[{"from":"human","value":")" + said +
           R"("},{"from":"gpt","value":"yes"}]})";
  };
  const std::string one = conversation("a", "hello");
  const Source source = open_drawn("sharegpt", "[" + one + "," + conversation("b", "hello") + "," +
                                                   conversation("a", "olleh") + "," + one + "]");
  EXPECT_EQ(source.sessions.size(), 3u);
  EXPECT_EQ(source.odd_rows.repeated, 1);
  EXPECT_EQ(source.notes[0], "1 row is left out: an earlier row is the same (conversation 3)");
}

TEST_F(OddRow, OfDocumentsThatRepeatsAnEarlierOneIsLeftOut) {
  const std::string row = R"({"input":"a text","instructions":["what?"],"outputs":["that"]})"
                          "\n";
  const Source source = open_drawn("leval", row + row);
  EXPECT_EQ(source.sessions.size(), 1u);
  EXPECT_EQ(source.notes[0], "1 row is left out: an earlier row is the same (line 2)");
}

TEST_F(OddRow, OfAgentsThatRepeatsAnEarlierOneIsLeftOut) {
  const std::string row =
      R"({"id":"a","block_size":16,"requests":[{"type":"n","t":0,"in":16,"out":1,"hash_ids":[1]}]})"
      "\n";
  const Source source = open("weka", row + row);
  EXPECT_EQ(source.sessions.size(), 1u);
  EXPECT_EQ(source.odd_rows.repeated, 1);
  const std::string late =
      R"({"id":"a","block_size":16,"requests":[{"type":"n","t":0,"in":16,"out":1,"hash_ids":[1]},)"
      R"({"type":"n","t":1577880000,"in":16,"out":1,"hash_ids":[1]}]})";
  EXPECT_EQ(refusal("weka", late),
            "t:1: requests.1.t: found 1577880000, allowed: at most a year after the previous request");
  const auto turn = [](const std::string& number, const std::string& t_ms) {
    return R"({"session":"a","turn":)" + number + R"(,"t_ms":)" + t_ms +
           R"(,"input_length":5,"output_length":1,"hash_ids":[]})" + "\n";
  };
  EXPECT_EQ(refusal("lmcache_agent", turn("1", "0") + turn("2", "1577880000000")),
            "t:2: t_ms: found 1577880000000, allowed: at most a year after the session's previous row");
  EXPECT_EQ(refusal("lmcache_agent", turn("1", "0") + turn("1", "0")),
            "t:2: turn: found 1, allowed: more than 1, the session's previous turn");
}

// ---- units ----

TEST_F(OddRow, WithAUnitThatDoesNotExistIsABadRow) {
  const auto record = [](const std::string& unit, const std::string& size) {
    return R"({"metadata":{"request_start_ns":1},"metrics":{"input_sequence_length":{"value":9,"unit":")" +
           size +
           R"("},"output_sequence_length":{"value":2,"unit":"tokens"},"request_latency":{"value":5,"unit":)" +
           unit + "}}}\n";
  };
  EXPECT_EQ(refusal("aiperf", record("\"ms\"", "tokens")), "");
  EXPECT_EQ(refusal("aiperf", record("\"ms\"", "tokens") + record("\"parsecs\"", "tokens")),
            R"(t:2: metrics.request_latency.unit: found "parsecs", allowed: sec, ms, us, ns)");
  EXPECT_EQ(refusal("aiperf", record("7", "tokens")),
            "t:1: metrics.request_latency.unit: found 7, allowed: sec, ms, us, ns");
  EXPECT_EQ(refusal("aiperf", record("\"ms\"", "words")),
            R"(t:1: metrics.input_sequence_length.unit: found "words", allowed: tokens)");
  WorkloadOptions options = holding("aiperf", record("\"ms\"", "tokens") + record("\"parsecs\"", "tokens"));
  options.source.on_bad_row = BadRow::skip;
  EXPECT_EQ(open_source(options, 1).bad_rows_skipped, 1);
}

TEST_F(OddRow, WithAUnitBehindItsNumberIsABadRow) {
  EXPECT_EQ(refusal("csv", csv("a,0,5,1,1,2\nb,1,5,1,5 parsecs,9\n")),
            "t:3: ttft_s: found 5 parsecs, allowed: a time of at least 0");
}

TEST_F(OddRow, WhoseColumnHasAnotherUnitIsRefused) {
  const auto refused = [this](const std::string& column) {
    WorkloadOptions options = holding("csv", "at,in,out," + column + "\n0,5,1,2\n");
    options.source.columns = "arrival=at,input=in,output=out,e2el=" + column;
    return error_of(options);
  };
  for (const char* column : {"took_ms", "took (ms)", "took", "admin", "tookMs"})
    EXPECT_EQ(refused(column), "") << column;
  EXPECT_EQ(refused("took (parsecs)"),
            "t: took (parsecs): found the unit parsecs, allowed: s, ms, us, ns (NAME:ms gives the unit)");
  for (const char* column : {"took_min", "took_minutes", "took_hours", "took_days"})
    EXPECT_NE(refused(column).find(": found the unit "), std::string::npos) << column;
}

// The index is that of the file's arrays, and the gaps of a request go with it.
TEST_F(OddRow, OfABenchIsToldByItsIndex) {
  const Source source = open(
      "vllm_bench", R"({"request_rate":"inf","input_lens":[5,5,5,5,6],"output_lens":[0,2,3,3,2],)"
                    R"("errors":["failed","","","",""],"start_times":[1,1.5,2.00025,2.00025,3],)"
                    R"("ttfts":[0,0.1,0.10005,0.10005,0.2],"itls":[[],[0.3],[0.1,0.2],[0.1,0.2],[0.5]]})");
  EXPECT_EQ(source.turns.size(), 3u);
  EXPECT_EQ(source.measured_itls_s, (std::vector<float>{0.3f, 0.1f, 0.2f, 0.5f}));
  EXPECT_EQ(source.notes[0], "1 row is left out: an earlier row is the same (request 3)");
}

}  // namespace
}  // namespace kvcap::odd_rows_test
