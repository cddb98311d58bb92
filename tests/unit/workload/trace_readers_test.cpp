// Traces of requests: what becomes of a row of Mooncake's, vLLM's, Azure's, BurstGPT's and plain CSV files,
// and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/raw_files.h"
#include "workload/logs/gz_file.h"
#include "workload/source.h"

namespace kvcap::trace_readers_test {
namespace {

class TraceFile : public RawFiles {
 protected:
  // {time, input, output} of all turns.
  static std::vector<std::array<double, 3>> turns_of(const Workload& workload) {
    std::vector<std::array<double, 3>> turns;
    for (const Turn& turn : workload.turns) {
      turns.push_back(
          {turn.time_s, static_cast<double>(turn.input_tokens), static_cast<double>(turn.output_tokens)});
    }
    return turns;
  }
};

using Turns = std::vector<std::array<double, 3>>;
using Cases = std::vector<std::pair<std::string, std::string>>;

std::vector<std::pair<uint64_t, uint32_t>> list(std::span<const Piece> pieces) {
  std::vector<std::pair<uint64_t, uint32_t>> pairs;
  for (const Piece& piece : pieces) pairs.emplace_back(piece.key, piece.tokens);
  return pairs;
}

using Pairs = std::vector<std::pair<uint64_t, uint32_t>>;

std::string request(const std::string& timestamp, int input, int output, const std::string& ids) {
  return R"({"timestamp":)" + timestamp + R"(,"input_length":)" + std::to_string(input) +
         R"(,"output_length":)" + std::to_string(output) + R"(,"hash_ids":[)" + ids + "]}\n";
}

TEST_F(TraceFile, OfMooncakeIsReadInBlocksOf512Tokens) {
  // The largest key of all is kept whole; keys one apart beyond 2^53 stay apart.
  const std::string text = request("1500", 1100, 7, "5,18446744073709551615,9007199254740993") +
                           request("4000.0", 1024, 8, "5,9007199254740992");
  const Workload workload = make_workload(holding("mooncake", gzip(text)), 1);
  EXPECT_EQ(turns_of(workload), (Turns{{0, 1100, 7}, {2.5, 1024, 8}}));
  EXPECT_EQ(workload.piece_keys, PieceKeys::prefix);
  EXPECT_EQ(list(workload.pieces_of(0)),
            (Pairs{{5, 512}, {18446744073709551615u, 512}, {9007199254740993u, 76}}));
  EXPECT_EQ(list(workload.pieces_of(1)), (Pairs{{5, 512}, {9007199254740992u, 512}}));
  EXPECT_EQ(workload.prompt_pieces_of(0).size(), 3u);
  // Nothing and then one block: their mean.
  EXPECT_DOUBLE_EQ(workload.mean_history_tokens(), 512 / 2.0);
  EXPECT_EQ(workload.context_tokens(), 512 + 512 + 76 + 512);
}

TEST_F(TraceFile, OfMooncakeMayHaveBlocksOfAnotherSize) {
  WorkloadOptions options = holding("mooncake", request("0", 33, 1, "1,2,3"));
  options.source.block_tokens = 16;
  EXPECT_EQ(list(make_workload(options, 1).pieces_of(0)), (Pairs{{1, 16}, {2, 16}, {3, 1}}));
}

std::string turn(const std::string& session, const std::string& when, int input, const std::string& ids) {
  return R"({"session_id":")" + session + R"(",)" + when + R"(,"input_length":)" + std::to_string(input) +
         R"(,"output_length":10)" + (ids.empty() ? "" : R"(,"hash_ids":[)" + ids + "]") + "}\n";
}

TEST_F(TraceFile, OfMooncakeMayHaveSessionsThatWaitAfterAnswers) {
  const std::string text = turn("a", R"("delay":0)", 1000, "0,1") + turn("b", R"("delay":0)", 1000, "0,2") +
                           turn("a", R"("delay":500)", 1000, "0,3");
  WorkloadOptions options = holding("mooncake", text);
  options.arrivals.process = ArrivalProcess::constant;
  const Source source = open_source(options, 1);
  ASSERT_EQ(source.sessions.size(), 2u);
  EXPECT_TRUE(std::isnan(source.think_time_s(0)));
  EXPECT_EQ(source.think_time_s(1), 0.5);
  EXPECT_EQ(source.notes,
            (std::vector<std::string>{
                "prompts of sessions are read as whole: hash_ids name their blocks from the beginning"}));
  const Workload workload = arrange(source, options, 1);
  EXPECT_EQ(workload.turns[1].time_s, 0.5);
  // Prompts are whole: the second turn has the first block and not 1,000 tokens of history.
  EXPECT_EQ(workload.histories_of(workload.sessions[0]), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(list(workload.pieces_of(1)), (Pairs{{0, 512}, {3, 488}}));
  EXPECT_EQ(refusal("mooncake", text), "t: found no arrivals, required where arrivals.process is \"trace\"");
}

TEST_F(TraceFile, OfMooncakeReplaysSessionsThatBeginByTheTraceAndWaitAfterAnswers) {
  const std::string text = turn("late", R"("timestamp":3000)", 100, "") +
                           turn("late", R"("delay":500)", 20, "") +
                           turn("early", R"("timestamp":1000)", 50, "");
  const Workload workload = make_workload(holding("mooncake", text), 1);
  EXPECT_FALSE(workload.absolute_times) << "later turns wait for the answer";
  ASSERT_EQ(workload.sessions.size(), 2u);
  // Sorted by their beginning: 1 s and 3 s of the trace.
  EXPECT_EQ(workload.turns[workload.sessions[0].first_turn].time_s, 0);
  EXPECT_EQ(workload.turns[workload.sessions[1].first_turn].time_s, 2);
  EXPECT_EQ(workload.turns[workload.sessions[1].first_turn + 1].time_s, 0.5);
  // Without blocks the tokens of a turn are new: 100 + 10 are its history.
  EXPECT_EQ(workload.histories_of(workload.sessions[1]), (std::vector<int64_t>{0, 110}));
  EXPECT_EQ(refusal("mooncake", text + turn("early", R"("delay":1)", 60, "1")),
            "t: hash_ids: found in 1 of 4 rows, allowed: in all or none of a file with session_id");
}

TEST_F(TraceFile, OfMooncakeIsRefusedWithPlaceAndReason) {
  const std::string good = request("10", 600, 5, "1,2");
  const std::string key = ", allowed: an integer from 0 to 18446744073709551615";
  const Cases cases = {
      {"", "t: contains no sessions"},
      {good + request("20", 600, 5, "1"),
       "t:2: hash_ids: found 1 ids, allowed: 2, one for each 512 tokens of input_length"},
      {good + request("20", 512, 5, "1,2"),
       "t:2: hash_ids: found 2 ids, allowed: 1, one for each 512 tokens of input_length"},
      {request("-1", 600, 5, "1,2"), "t:1: timestamp: found -1, allowed: milliseconds from 0 to 9e12"},
      {request("1e18", 600, 5, "1,2"), "t:1: timestamp: found 1e+18, allowed: milliseconds from 0 to 9e12"},
      {request("\"1\"", 600, 5, "1,2"), "t:1: timestamp: found \"1\", allowed: milliseconds from 0 to 9e12"},
      {request("0", 0, 5, ""), "t:1: input_length: found 0, allowed: an integer from 1 to 10000000"},
      {request("0", 6, -5, "1"), "t:1: output_length: found -5, allowed: an integer from 0 to 10000000"},
      {request("0", 20'000'000, 5, "1"),
       "t:1: input_length: found 20000000, allowed: an integer from 1 to 10000000"},
      {request("0", 600, 5, "1,-2"), "t:1: hash_ids.1: found -2" + key},
      {request("0", 600, 5, "1.5,2"), "t:1: hash_ids.0: found 1.5" + key},
      {request("0", 600, 5, "1,18446744073709551616"), "t:1: hash_ids.1: found 1.8446744073709552e+19" + key},
      {request("0", 600, 5, "1,1"), "t:1: hash_ids.1: found 1 with 88 tokens, allowed: 512, as before"},
      {good + request("10", 700, 5, "1,2"),
       "t:2: hash_ids.1: found 2 with 188 tokens, allowed: 88, as before"},
      {request("10", 1024, 5, "1,2") + request("10", 1024, 5, "3,2"),
       "t:2: hash_ids.1: found 2 after 3, allowed: after 1, as before (equal keys have the same text "
       "before them)"},
      {request("10", 1024, 5, "1,1"),
       "t:1: hash_ids.1: found 1 after 1, allowed: first, as before (equal keys have the same text before "
       "them)"},
      {good + R"({"timestamp":20,"input_length":600,"output_le)",
       "t:2:46: syntax error while parsing object key - invalid string: missing closing quote; last read: "
       "'\"output_le'; expected string literal"},
      {R"({"timestamp":20,"input_length":6,"output_length":1})", "t:1: hash_ids: missing, required"},
      {R"({"timestamp":20,"input_length":6,"output_length":1,"hash_ids":7})",
       "t:1: hash_ids: found 7, allowed: an array of integers"},
      {"[1]", "t:1: the line: found an array, allowed: an object"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(refusal("mooncake", text), expected) << text;
}

TEST_F(TraceFile, LeavesNoTraceOfBadRowsThatAreSkipped) {
  // The second row is bad in its last id: what its first ids said of 7 and 8 is forgotten.
  WorkloadOptions options =
      holding("mooncake", request("5", 1024, 5, "1,2") + request("90", 2048, 5, "7,8,1,9") +
                              request("6", 1024, 5, "8,7"));
  options.source.on_bad_row = BadRow::skip;
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.turns.size(), 2u);
  EXPECT_DOUBLE_EQ(workload.turns[1].time_s, 0.001);
  EXPECT_EQ(workload.bad_rows_skipped, 1);
  EXPECT_EQ(list(workload.pieces_of(1)), (Pairs{{8, 512}, {7, 512}}));
}

class VllmRun : public TraceFile {
 protected:
  // 40 + 20 tokens are three full blocks of 16, of which two end within the prompt; 10 + 5 are none.
  static constexpr const char* kRun =
      "request_id,arrival_s,input_tokens,output_tokens,ttft_s\n0,0.5,40,20,1\n1,0.75,10,5,2\n2,2,40,8,3\n";
  static std::string blocks() {
    return request("400", 40, 20, "0,1,2") + request("700", 10, 5, "") + request("1900", 40, 8, "0,1,2");
  }
  WorkloadOptions run(const std::string& rows, const std::string& lines) const {
    WorkloadOptions options = holding("vllm", rows);
    options.source.hash_ids = write("blocks", lines);
    return options;
  }
};

TEST_F(VllmRun, HasItsMeasuredArrivalsAndTheBlocksOfItsRequests) {
  const Workload workload = make_workload(run(kRun, blocks()), 1);
  EXPECT_EQ(turns_of(workload), (Turns{{0, 40, 20}, {0.25, 10, 5}, {1.5, 40, 8}}));
  EXPECT_EQ(list(workload.pieces_of(0)), (Pairs{{0, 16}, {1, 16}, {2, 16}}));
  EXPECT_EQ(list(workload.prompt_pieces_of(0)), (Pairs{{0, 16}, {1, 16}}));
  EXPECT_TRUE(workload.pieces_of(1).empty());
  EXPECT_TRUE(workload.notes.empty());
}

TEST_F(VllmRun, NeedsNoBlocks) {
  const Workload workload =
      make_workload(holding("vllm", "arrival_s,input_tokens,output_tokens\n3,40,20\n4,10,5\n"), 1);
  EXPECT_EQ(turns_of(workload), (Turns{{0, 40, 20}, {1, 10, 5}}));
  EXPECT_TRUE(workload.piece_begin.empty());
}

TEST_F(VllmRun, HasLatenciesWhereItsColumnsAre) {
  const Source source = open_source(
      holding("vllm", "arrival_s,input_tokens,output_tokens,e2e_s,ttft_s\n3,40,20,4,1\n4,10,5,6,2\n"), 1);
  ASSERT_EQ(source.measured.size(), 2U);
  EXPECT_EQ(source.measured[1].ttft_s, 2);
  EXPECT_EQ(source.measured[1].e2el_s, 6);
}

TEST_F(VllmRun, MayLackRequestsOfItsWorkload) {
  const Workload workload = make_workload(
      run("request_id,arrival_s,input_tokens,output_tokens\n2,0,40,8\n0,1,40,20\n", blocks()), 1);
  EXPECT_EQ(turns_of(workload), (Turns{{0, 40, 8}, {1, 40, 20}}));
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_EQ(without_folder(workload.notes[0]), "1 of 3 requests of blocks are not in t");
}

TEST_F(VllmRun, IsRefusedWithPlaceAndReason) {
  const std::string header = "request_id,arrival_s,input_tokens,output_tokens\n";
  const Cases rows = {
      {header + "3,0,40,20\n",
       "t:2: request_id: found 3, allowed: at most 2 (the lines of blocks, counted from 0)"},
      {header + "a,0,40,20\n", "t:2: request_id: found a, allowed: an integer from 0 to 10000000"},
      // The column's name says the unit, whatever the first number looks like.
      {header + "0,-1,40,20\n", "t:2: arrival_s: found -1, allowed: a number of s from 0 to 9e+09"},
      {header + "0,0,40,20\n0,1,40,20\n", "t:3: request_id: found 0, allowed: each request once"},
      {header + "0,0,41,20\n", "t:2: input_tokens: found 41, allowed: 40, as request 0 has in blocks"},
      {header + "0,0,40,21\n", "t:2: output_tokens: found 21, allowed: 20, as request 0 has in blocks"},
      {"arrival_s,input_tokens,output_tokens\n0,40,20\n",
       "t:1: request_id: no such column, the file has arrival_s, input_tokens, output_tokens"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(error_of(run(text, blocks())), expected) << text;
  const Cases lines = {
      {request("0", 40, 20, "0,1"),
       "blocks:1: hash_ids: found 2 ids, allowed: 3, one for each full 16 tokens of input_length + "
       "output_length"},
      {"{}", "blocks:1: input_length: missing, required"},
  };
  for (const auto& [text, expected] : lines) EXPECT_EQ(error_of(run(kRun, text)), expected) << text;
}

TEST_F(TraceFile, OfAzureCountsTimeFromItsFirstRow) {
  const Workload workload = make_workload(holding("azure", gzip("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                                                                "2023-12-31 23:59:59.6805900,374,44\r\n"
                                                                "2024-01-01 00:00:01.68059,396,109\r\n"
                                                                "2024-03-01 00:00:00+00:00,1,2\r\n")),
                                          1);
  // Leap year: 31 + 29 days after the new year.
  EXPECT_EQ(turns_of(workload), (Turns{{0, 374, 44}, {2, 396, 109}, {60 * 86400.0 + 0.31941, 1, 2}}));
  EXPECT_TRUE(workload.piece_begin.empty());
  // Columns are known by their names, and others may stand between them.
  const std::string more = "Model,TIMESTAMP,GeneratedTokens,ContextTokens\nx,2024-01-01 00:00:00,2,10\n";
  EXPECT_EQ(turns_of(make_workload(holding("azure", more), 1)), (Turns{{0, 10, 2}}));
}

TEST_F(TraceFile, HasNoLineOfMoreThan64MiB) {
  EXPECT_EQ(error_of(holding("jsonl", gzip(std::string((64 << 20) + 1, ' ')))),
            "t:1: line is longer than 64 MiB");
}

TEST_F(TraceFile, OfAzureIsRefusedWithPlaceAndReason) {
  const std::string good = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n";
  const std::string time = ", allowed: a time such as 2023-11-16 18:15:46.6805900";
  const std::string count = ", allowed: an integer from 1 to 10000000";
  const Cases cases = {
      {"", "t: contains no sessions"},
      {"TIMESTAMP,ContextTokens,GeneratedTokens\n", "t: contains no sessions"},
      {good + "2023-02-29 18:15:46,1,1", "t:3: TIMESTAMP: found 2023-02-29 18:15:46" + time},
      {good + "7257-11-16 18:15:46,1,1", "t:3: TIMESTAMP: found 7257-11-16 18:15:46" + time},
      {good + "2023-11-16 24:15:46,1,1", "t:3: TIMESTAMP: found 2023-11-16 24:15:46" + time},
      {good + "2023-11-16 18:15:46.,1,1", "t:3: TIMESTAMP: found 2023-11-16 18:15:46." + time},
      {good + "2023-11-16 18:15,1,1", "t:3: TIMESTAMP: found 2023-11-16 18:15" + time},
      {good + ",1,1", "t:3: TIMESTAMP: found nothing" + time},
      {good + "2023-11-16 18:15:47", "t:3: found 1 fields, allowed: 3, as many as the first line has"},
      {good + "2023-11-16 18:15:47,1,2,3", "t:3: found 4 fields, allowed: 3, as many as the first line has"},
      {good + "2023-11-16 18:15:47,,2", "t:3: ContextTokens: found nothing" + count},
      {good + "2023-11-16 18:15:47,-3,2", "t:3: ContextTokens: found -3" + count},
      {good + "2023-11-16 18:15:47,3.5,2", "t:3: ContextTokens: found 3.5" + count},
      {good + "2023-11-16 18:15:47,3,-1",
       "t:3: GeneratedTokens: found -1, allowed: an integer from 0 to 10000000"},
      {good + "2023-11-16 18:15:47,99999999999999999999,2",
       "t:3: ContextTokens: found 99999999999999999999" + count},
      {"TIMESTAMP,ContextTokens\n",
       "t:1: GeneratedTokens: no such column, the file has TIMESTAMP, ContextTokens"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(refusal("azure", text), expected) << text;
}

TEST_F(TraceFile, OfBurstGptLeavesFailedRequestsOut) {
  const std::string old =
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n"
      "45,GPT-4,1087,0,1087,API log\n"
      "45,GPT-4,0,0,0,API log\n"
      "118.5,GPT-4,417,276,693,Conversation log\n";
  const Workload workload = make_workload(holding("burstgpt", old), 1);
  EXPECT_EQ(turns_of(workload), (Turns{{0, 472, 18}, {113.5, 417, 276}}));
  EXPECT_EQ(workload.bad_rows_skipped, 0);
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_EQ(workload.notes[0], "2 failed requests (0 Response tokens) are left out");
  // Columns are known by their names.
  const std::string later =
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "19440110.0,1722ac82,43,GPT-4,906,446,1352,Conversation log\n"
      "19440112.0,,1,ChatGPT,36,29,65,API log\n";
  EXPECT_EQ(turns_of(make_workload(holding("burstgpt", later), 1)), (Turns{{0, 906, 446}, {2, 36, 29}}));
  const Cases cases = {
      {old + "200,GPT-4,0,1,1,API log\n",
       "t:6: Request tokens: found 0, allowed: an integer from 1 to 10000000"},
      {old + "200,GPT-4,1,-1,1,API log\n",
       "t:6: Response tokens: found -1, allowed: an integer from 0 to 10000000"},
      {old + "soon,GPT-4,1,1,2,API log\n",
       "t:6: Timestamp: found soon, allowed: a number of s from 0 to 9e+09"},
      {old + "200,GPT-4,1", "t:6: found 3 fields, allowed: 6, as many as the first line has"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(refusal("burstgpt", text), expected) << text;
}

TEST_F(TraceFile, OfCsvGathersTheTurnsOfASession) {
  WorkloadOptions options = holding("csv",
                                    "\xef\xbb\xbfsession, output_tokens, input_tokens, arrival_s\n"
                                    "b, 2, 1, 10\n"
                                    "a, 4, 3, 11\n"
                                    "b, 6, 5, 12.5\n");
  const Workload workload = make_workload(options, 1);
  ASSERT_EQ(workload.sessions.size(), 2u);
  EXPECT_EQ(workload.sessions[0].turn_count, 2u);
  EXPECT_EQ(turns_of(workload), (Turns{{0, 1, 2}, {2.5, 5, 6}, {1, 3, 4}}));
  EXPECT_EQ(open_source(options, 1).labels[1].id, "\"a\"");
  // One session is b with both its turns, not a.
  options.sessions = 1;
  EXPECT_EQ(turns_of(make_workload(options, 1)), (Turns{{0, 1, 2}, {2.5, 5, 6}}));

  const Workload single =
      make_workload(holding("csv", "arrival_s,input_tokens,output_tokens\n0,1,2\n0,3,4\n"), 1);
  EXPECT_EQ(single.sessions.size(), 2u);
}

TEST_F(TraceFile, OfCsvIsRefusedWithPlaceAndReason) {
  const std::string header = "arrival_s,input_tokens,output_tokens,session\n";
  const Cases cases = {
      {"arrival_s,input_token,output_tokens\n",
       "t:1: input_token: unknown column; did you mean \"input_tokens\"?"},
      {"0.5,10,20\n",
       "t: found a CSV with the columns 0.5, 10, 20, allowed: a first line that names the columns"},
      {"arrival_s,input_tokens\n",
       "t:1: output_tokens: no such column, the file has arrival_s, input_tokens; did you mean "
       "\"input_tokens\"?"},
      {"arrival_s,input_tokens,output_tokens,arrival_s\n",
       "t:1: arrival_s: found twice, allowed: each column once"},
      {header + "0,1,2,a\"b\n",
       "t:2: found a quote within a field, allowed: quotes around a whole field, with quotes inside it "
       "doubled"},
      {header + "0,1,2,a\n0,1,2,\"b\n0,1,2,c\n",
       "t:3: found a field without its closing quote, allowed: quotes around a whole field"},
      {header + "-1,1,2,a\n", "t:2: arrival_s: found -1, allowed: a number of s from 0 to 9e+09"},
      {header + "nan,1,2,a\n", "t:2: arrival_s: found nan, allowed: a number of s from 0 to 9e+09"},
      {header + "1700000000000,1,2,a\n",
       "t:2: arrival_s: found 1700000000000, allowed: a number of s from 0 to 9e+09"},
      {header + "2,1,2,a\n\n1,1,2\n", "t:4: found 3 fields, allowed: 4, as many as the first line has"},
      {header + "0,1.5,2,a\n", "t:2: input_tokens: found 1.5, allowed: an integer from 1 to 10000000"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(refusal("csv", text), expected) << text;

  WorkloadOptions options = holding("csv", header + "0,1,2,a\n5,1,x,a\n3,4,5,b\n");
  options.source.on_bad_row = BadRow::skip;
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(turns_of(workload), (Turns{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(without_folder(workload.notes[0]),
            "1 bad row skipped; the first: t:3: output_tokens: found x, allowed: an integer from 0 to "
            "10000000");
}

TEST_F(TraceFile, IsRefusedWhenItsCompressionIsCutOff) {
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "," + std::to_string(i * i + 1) + ",7\n";
  const std::string packed = gzip(text);
  EXPECT_EQ(refusal("csv", packed), "");
  EXPECT_EQ(refusal("csv", packed.substr(0, packed.size() / 2)), "t: cannot be read: unexpected end of file");
}

}  // namespace
}  // namespace kvcap::trace_readers_test
