// Logs that are not as their format has them: values that are null, names that other formats have too, rows
// twice or in another order, and files in another encoding.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "unit/raw_files.h"
#include "workload/logs/log_time.h"
#include "workload/source.h"
#include "workload/sources_table.h"

namespace kvcap::odd_logs_test {
namespace {

using Turns = std::vector<std::array<double, 3>>;  // time, input, output
using Notes = std::vector<std::string>;

class OddLog : public RawFiles {
 protected:
  static Turns turns_of(const Source& source) {
    Turns turns;
    for (const Turn& turn : source.turns) {
      turns.push_back(
          {turn.time_s, static_cast<double>(turn.input_tokens), static_cast<double>(turn.output_tokens)});
    }
    return turns;
  }
  Source open(const std::string& kind, const std::string& text) const {
    return open_source(holding(kind, text), 1);
  }
  std::string guessed(const std::string& text) const {
    return std::string(guess_source(write("g", text)).name);
  }
};

TEST_F(OddLog, OfVllmBenchMayHaveNullForAnArray) {
  const std::string head = R"({"request_rate":1,"total_input_tokens":1,"burstiness":1.0,"input_lens":[1],)";
  EXPECT_EQ(refusal("vllm_bench", head + R"("output_lens":null})"),
            "t: output_lens: missing, required with input_lens");
  EXPECT_EQ(turns_of(open("vllm_bench", head + R"("output_lens":[2],"ttfts":null,"errors":null})")),
            (Turns{{0, 1, 2}}));
}

TEST_F(OddLog, IsOfVllmOnlyWithoutTheColumnsOfCsv) {
  const std::string header = "request_id,arrival_s,input_tokens,output_tokens";
  EXPECT_EQ(guessed(header + ",ttft_s\nx,0,1,2,3\n"), "vllm");
  for (const char* more : {"session", "e2el_s", "prompt_id"}) {
    EXPECT_EQ(guessed(header + "," + more + "\nx,0,1,2,3\n"), "csv") << more;
  }
  // Names are whole: e2e_s is vLLM's, and a session_kind is no session.
  EXPECT_EQ(guessed("\"request_id\"; arrival_s ;input_tokens;output_tokens;session_kind\r\n"), "vllm");
  const Source source = open("csv", header + ",session\nr1,0,10,2,a\nr2,1,5,2,a\nr3,2,7,2,\n");
  EXPECT_EQ(turns_of(source), (Turns{{0, 10, 2}, {1, 5, 2}, {2, 7, 2}}));
  ASSERT_EQ(source.sessions.size(), 2u);
  EXPECT_EQ(source.labels[1].id, "\"r3\"");
}

// Each log has one request that was answered and one that was not.
TEST_F(OddLog, LeavesOutWhatHasNoOutputTokensInEachFormat) {
  const auto guide = [](int start, int output) {
    return R"({"request_start_time":)" + std::to_string(start) + R"(,"prompt_tokens":10,"output_tokens":)" +
           std::to_string(output) + "}";
  };
  const auto chat = [](int number, int output) {
    const std::string name = std::to_string(number);
    return R"({"chat_id":)" + name + R"(,"parent_chat_id":-1,"timestamp":)" + name +
           R"(,"input_length":10,"output_length":)" + std::to_string(output) + R"(,"hash_ids":[1]})" + "\n";
  };
  const auto record = [](int start_ns, int output) {
    return R"({"metadata":{"request_start_ns":)" + std::to_string(start_ns) +
           R"(},"metrics":{"input_sequence_length":{"value":10},"output_sequence_length":{"value":)" +
           std::to_string(output) + "}}}\n";
  };
  const auto block = [](int time_ms, int output) {
    return R"({"timestamp":)" + std::to_string(time_ms) + R"(,"input_length":10,"output_length":)" +
           std::to_string(output) + R"(,"hash_ids":[1]})" + "\n";
  };
  const std::string blis =
      "request_id,session_id,round_index,prefix_group,prefix_length,input_tokens,output_tokens,"
      "arrival_time_us,status\n";
  const std::pair<const char*, std::string> cases[] = {
      {"azure",
       "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,10,2\n2024-01-01 00:00:01,10,0\n"},
      {"guidellm",
       R"({"benchmarks":[{"requests":{"successful":[)" + guide(1, 2) + "," + guide(2, 0) + "]}}]}"},
      {"bailian", chat(1, 2) + chat(2, 0)},
      {"aiperf", record(1, 2) + record(2, 0)},
      {"mooncake", block(0, 2) + block(1, 0)},
      {"blis", blis + "0,,0,,0,10,2,0,ok\n1,,0,,0,10,0,5,ok\n"},
      {"vllm", "request_id,arrival_s,input_tokens,output_tokens\n0,0,10,2\n1,1,10,0\n"},
      {"csv", "arrival_s,input_tokens,output_tokens\n0,10,2\n1,10,0\n"},
  };
  for (const auto& [kind, text] : cases) {
    const Source source = open(kind, text);
    ASSERT_EQ(source.turns.size(), 1u) << kind;
    EXPECT_EQ(source.turns[0].output_tokens, 2u) << kind;
    EXPECT_EQ(source.notes, Notes{"1 request without output tokens is left out"}) << kind;
  }
  EXPECT_EQ(refusal("mooncake", block(0, 0) + block(1, 0)),
            "t: contains no sessions: none of 2 requests has output tokens");
}

TEST_F(OddLog, MayHaveNothingForTheTokensOfAFailedRequest) {
  const Notes left_out = {"3 requests without output tokens are left out"};
  const Source csv = open("csv", "arrival_s,input_tokens,output_tokens\n0,1,2\n1,,\n2,3,null\n3,4,NaN\n");
  EXPECT_EQ(turns_of(csv), (Turns{{0, 1, 2}}));
  EXPECT_EQ(csv.notes, left_out);
  const std::string first = R"({"arrival_s":0,"input_tokens":1,"output_tokens":2})"
                            "\n";
  const Source json = open("jsonl", first + R"({"arrival_s":1,"input_tokens":1,"output_tokens":null}
{"arrival_s":2,"input_tokens":1}
{"arrival_s":2,"input_tokens":1,"output_tokens":""}
)");
  EXPECT_EQ(turns_of(json), (Turns{{0, 1, 2}}));
  EXPECT_EQ(json.notes, left_out);
  // Null is not absent.
  EXPECT_EQ(refusal("jsonl", first + R"({"arrival_s":1,"input_tokens":null,"output_tokens":2})"),
            "t:2: input_tokens: found nothing, allowed: an integer from 1 to 10000000");
  EXPECT_EQ(refusal("jsonl", R"({"arrival_s":1,"input_tokens":1,"output_tokens":null})"),
            "t: contains no sessions: none of 1 request has output tokens");
  EXPECT_EQ(refusal("jsonl", R"({"arrival_s":1,"input_tokens":1})"),
            "t: output_tokens: no such column, the file has arrival_s, input_tokens; did you mean "
            "\"input_tokens\"?");
}

TEST_F(OddLog, KeepsWholePromptsWhereHistoriesDoNotGrow) {
  WorkloadOptions options =
      holding("csv", "arrival_s,input_tokens,output_tokens,session\n0,100,20,a\n1,150,30,a\n2,200,9,a\n");
  options.source.input_is = InputIs::whole_prompt;
  EXPECT_EQ(open_source(options, 1).turns[2].input_tokens, 20u);  // 200 less 150 + 30
  options.source.history = History::context;
  EXPECT_EQ(turns_of(open_source(options, 1)), (Turns{{0, 100, 20}, {1, 150, 30}, {2, 200, 9}}));
  EXPECT_EQ(open_source(options, 1).notes, Notes{});
  WorkloadOptions chats = holding(
      "bailian",
      R"({"chat_id":1,"parent_chat_id":-1,"timestamp":1,"input_length":1,"output_length":1,"hash_ids":[1]})");
  chats.source.history = History::grow;
  EXPECT_EQ(error_of(chats),
            "t: workload.source.history: found \"grow\", allowed: automatic, context (inputs of "
            "bailian are whole prompts)");
}

TEST_F(OddLog, WarnsOfWholePromptsThatAreShorterThanTheirContext) {
  const auto session = [](int first_input) {
    return R"({"id":1,"context_tokens":50,"history":"grow","turns":[{"input_tokens":)" +
           std::to_string(first_input) +
           R"(,"output_tokens":5,"arrival_s":0},{"input_tokens":80,"output_tokens":5,"arrival_s":1}]})";
  };
  WorkloadOptions options = holding("sessions", session(51));
  options.source.input_is = InputIs::whole_prompt;
  const Source fits = open_source(options, 1);
  EXPECT_EQ(turns_of(fits), (Turns{{0, 1, 5}, {1, 24, 5}}));  // 51 less 50; 80 less 51 + 5
  EXPECT_TRUE(fits.warnings.empty());
  options.source.path = write("t", session(50));
  const Source too_short = open_source(options, 1);
  EXPECT_EQ(turns_of(too_short), (Turns{{0, 50, 5}, {1, 25, 5}}));
  ASSERT_EQ(too_short.warnings.size(), 1u);
  EXPECT_EQ(too_short.warnings[0],
            "in 1 turn at the beginning of a session the prompt is no longer than context_tokens, which it "
            "should contain: all of it is read as new tokens");
}

// 100 + 50 new ones, of which the answers' 300 tokens are not in the next prompt: 100, 150, 200, ...
std::string reasoning_log(int later_turns, int step = 50) {
  std::string text = "arrival_s,input_tokens,output_tokens,session\n";
  for (int i = 0; i <= later_turns; ++i) {
    text += std::to_string(i) + "," + std::to_string(100 + step * i) + ",300,a\n";
  }
  return text;
}

TEST_F(OddLog, OfReasoningModelsIsWarnedOfAsPerhapsWholePrompts) {
  const Source source = open("csv", reasoning_log(5));
  ASSERT_EQ(source.warnings.size(), 1u);
  EXPECT_EQ(
      source.warnings[0],
      "inputs are read as new tokens, but they may be whole prompts: in 5 of 5 later turns the input is "
      "longer than the previous input, as it is where the answers' reasoning is not kept in the next prompt; "
      "then history counts twice; the longest context has 650 tokens if inputs are whole prompts, 3150 if "
      "they are new tokens; set --input-is or workload.source.input_is to whole_prompt to subtract the "
      "history; a turn whose prompt lacks a part of the previous answer then starts a context of its own");
  EXPECT_TRUE(open("csv", reasoning_log(4)).warnings.empty());
  EXPECT_TRUE(open("csv", reasoning_log(5, 0)).warnings.empty()) << "equal inputs hold nothing";
}

TEST_F(OddLog, OfReasoningModelsSaysWhyWholePromptsStartContexts) {
  const auto note_on = [&](const std::string& text) {
    WorkloadOptions options = holding("csv", text);
    options.source.input_is = InputIs::whole_prompt;
    return open_source(options, 1).notes.at(0);
  };
  const std::string text = note_on(reasoning_log(5));
  EXPECT_NE(
      text.find("in 5 of 5 later turns nothing is left (history cut or edited, or in 5 of them the answers' "
                "reasoning is not kept in the next prompt), and the turn starts a context"),
      std::string::npos)
      << text;
  // 100, 80, 60: none of them holds the one before.
  const std::string shrinking = note_on(reasoning_log(2, -20));
  EXPECT_NE(shrinking.find("(history cut or edited, or the inputs are new tokens)"), std::string::npos)
      << shrinking;
}

TEST_F(OddLog, LosesNoRowsAfterAStrayQuote) {
  const auto read = [&](const std::string& rows) {
    WorkloadOptions options = holding("csv", "arrival_s,input_tokens,output_tokens,session\n" + rows);
    options.source.on_bad_row = BadRow::skip;
    return open_source(options, 1);
  };
  // Nothing ends the quote; another one ends it, with the wrong number of fields; another one follows it.
  for (const char* rows :
       {"0,1,2,a\n1,3,4,\"b\n2,5,6,c\n3,7,8,d\n", "0,1,2,a\n1,3,4,\"b\n2,5,6,c\n3,7,8,d\",x\n",
        "0,1,2,a\n1,3,4,\"b\n2,5,6,c\n3,7,8,d\"x\n"}) {
    const Source source = read(rows);
    ASSERT_GE(source.turns.size(), 2u) << rows;
    EXPECT_EQ(turns_of(source)[1], (std::array<double, 3>{2, 5, 6})) << rows;
    EXPECT_EQ(source.bad_rows_skipped + std::ssize(source.turns), 4) << rows;
  }
  const Source source = read("0,1,2,a\n1,3,4,\"b\n2,5,6,c\n\n3,7,x,d\n");
  EXPECT_EQ(without_folder(source.notes[0]),
            "2 bad rows skipped; the first: t:3: found a field without its closing quote, allowed: quotes "
            "around a whole field");
}

TEST_F(OddLog, HasItsEarliestSessionsWhereverTheyStand) {
  WorkloadOptions options =
      holding("csv", "arrival_s,input_tokens,output_tokens\n5,5,1\n6,6,1\n1,1,1\n2,2,1\n");
  options.sessions = 2;
  EXPECT_EQ(turns_of(open_source(options, 1)), (Turns{{1, 1, 1}, {2, 2, 1}}));
  // Of logs that are written in order only those are read that have shown rows in another one.
  const auto azure = [](const std::string& seconds) {
    std::string text = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
    for (char one : seconds) text += std::string("2024-01-01 00:00:0") + one + "," + one + ",1\n";
    return text;
  };
  options.source.kind = "azure";
  options.source.path = write("t", azure("2341"));
  EXPECT_EQ(turns_of(open_source(options, 1)), (Turns{{0, 2, 1}, {1, 3, 1}}));
  options.source.path = write("t", azure("3241"));
  EXPECT_EQ(turns_of(open_source(options, 1)), (Turns{{0, 1, 1}, {1, 2, 1}}));
}

TEST_F(OddLog, OfBailianMayHaveAChatBeforeTheOneThatItFollows) {
  const auto chat = [](int number, int parent, double time_s) {
    return R"({"chat_id":)" + std::to_string(number) + R"(,"parent_chat_id":)" + std::to_string(parent) +
           R"(,"timestamp":)" + std::to_string(time_s) + R"(,"input_length":)" + std::to_string(number) +
           R"(,"output_length":1})" + "\n";
  };
  const Source source =
      open("bailian", chat(3, 2, 2) + chat(2, 1, 1) + chat(1, -1, 0) + chat(4, 99, 3) + chat(5, 99, 4));
  ASSERT_EQ(source.sessions.size(), 3u) << "nobody has seen chat 99";
  EXPECT_EQ(turns_of(source), (Turns{{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {4, 5, 1}}));
  EXPECT_EQ(open("bailian", chat(1, 2, 0) + chat(2, 1, 1) + chat(3, 3, 2)).sessions.size(), 2u);
}

TEST(TimeUnits, AreWordsAtTheEndOfNames) {
  const std::pair<const char*, std::optional<TimeUnit>> cases[] = {
      {"elapsedMs", TimeUnit::ms},   {"latencyMS", TimeUnit::ms}, {"ttft1Ms", TimeUnit::ms},
      {"startMillis", TimeUnit::ms}, {"tookUs", TimeUnit::us},    {"waitMicroseconds", TimeUnit::us},
      {"timeNanos", TimeUnit::ns},   {"tookNs", TimeUnit::ns},    {"tookSeconds", TimeUnit::s},
      {"items", std::nullopt},       {"status", std::nullopt},    {"Ms", std::nullopt},
      {"responses", std::nullopt},   {"RPMS", std::nullopt}};
  for (const auto& [name, unit] : cases) EXPECT_EQ(unit_of_name(name), unit) << name;
}

TEST_F(OddLog, OfAiPerfMayHaveGapsInAnyUnit) {
  for (const auto& [unit, gap] : {std::pair{"ns", "5e6"}, {"us", "5000"}, {"ms", "5"}, {"sec", "0.005"}}) {
    const Source source = open(
        "aiperf", std::string(R"({"metadata":{"request_start_ns":1},"metrics":{"input_sequence_length":)") +
                      R"({"value":1},"output_sequence_length":{"value":2},"inter_chunk_latency":{"value":[)" +
                      gap + R"(],"unit":")" + unit + R"("}}})");
    ASSERT_EQ(source.measured_itls_s.size(), 1u);
    EXPECT_FLOAT_EQ(source.measured_itls_s[0], 0.005f) << unit;
  }
}

TEST_F(OddLog, MayBeginWithAByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  const std::string row = R"({"arrival_s":1,"input_tokens":2,"output_tokens":3})";
  for (const char* kind : {"csv", "jsonl"}) {
    EXPECT_EQ(turns_of(open(kind, mark + row)), (Turns{{1, 2, 3}}));
    EXPECT_EQ(turns_of(open(kind, mark + "arrival_s,input_tokens,output_tokens\n1,2,3\n")),
              (Turns{{1, 2, 3}}));
  }
  EXPECT_EQ(guessed(mark + row), "jsonl");
  EXPECT_EQ(turns_of(open("mooncake",
                          mark + R"({"timestamp":0,"input_length":9,"output_length":1,"hash_ids":[1]})")),
            (Turns{{0, 9, 1}}));
  const std::string refused = "t: found UTF-16, allowed: UTF-8 (iconv -f UTF-16 -t UTF-8)";
  EXPECT_EQ(refusal("csv", std::string("\xff\xfe"
                                       "a\0,\0",
                                       6)),
            refused);
  EXPECT_EQ(refusal("mooncake", std::string("\xfe\xff\0{", 4)), refused);
}

TEST_F(OddLog, IsOfShareGptOrLEvalOnlyWithTheirKeys) {
  EXPECT_EQ(guessed(R"([{"id":"a","conversations":[]}])"), "sharegpt");
  EXPECT_EQ(guessed(R"( [ {"id":"a","items":[{"from":"human","value":"x)"), "sharegpt");
  EXPECT_EQ(guessed(R"({"instructions":["a"],"outputs":["b"],"input":"c"})"), "leval");
  EXPECT_EQ(guessed(R"({"input":"c","instructions":["a"]})"), "leval");
  EXPECT_EQ(guessed(R"({"source":"gateway","arrival_s":1})"), "jsonl");
  const std::string array = R"([{"arrival_s":1,"input_tokens":2,"output_tokens":3}])";
  const std::string refused = "t: found an array of objects, allowed: one object per line (jq -c '.[]')";
  EXPECT_EQ(refusal("jsonl", array), refused);
  EXPECT_EQ(refusal("csv", "\n" + array), refused);
  EXPECT_THROW(guessed(array), InputError);
}

TEST_F(OddLog, CountsRequestsWithTheIdOfAnother) {
  const std::string rows =
      "arrival_s,input_tokens,output_tokens,id\n0,1,1,a\n1,1,1,b\n2,1,1,a\n3,1,1,\n4,1,1,\n";
  const Source source = open("csv", rows);
  EXPECT_EQ(source.turns.size(), 5u);
  EXPECT_EQ(source.notes,
            Notes{"1 request has the id of an earlier one, but not the same row: all are read"});
  EXPECT_EQ(open("csv", "arrival_s,input_tokens,output_tokens,id,session\n0,1,1,1,a\n1,1,1,1,b\n").notes,
            Notes{});
  const std::string span =
      R"({"spanId":"ab","start_time":"2024-01-01T00:00:00Z","gen_ai.usage.input_tokens":7,"gen_ai.usage.output_tokens":8})";
  EXPECT_EQ(open("otel", span).notes, Notes{});
  EXPECT_EQ(open("otel", span + "\n" + span + "\n" + span).notes,
            Notes{"2 rows are left out: an earlier row is the same (call 2, call 3)"});
}

TEST_F(OddLog, MayHaveBlanksBetweenItsColumns) {
  WorkloadOptions options = holding("csv", "t x,i,o\n0,1,2\n");
  options.source.columns = " arrival = t x:ms , input=i, output=o";
  EXPECT_EQ(turns_of(open_source(options, 1)), (Turns{{0, 1, 2}}));
}

TEST_F(OddLog, OfBlisHasItsFirstRoundFirst) {
  const auto log = [](int later_us, const std::string& prefix) {
    return "request_id,session_id,round_index,prefix_group,prefix_length,input_tokens,output_tokens,"
           "arrival_time_us,status\n1,s,1,g," +
           prefix + ",300,10," + std::to_string(later_us) + ",ok\n0,s,0,g," + prefix + ",20,10,1000000,ok\n";
  };
  EXPECT_EQ(refusal("blis", log(0, "100")),
            "t: session_id s: found round_index 1 first, allowed: 0, whose prompt begins with the "
            "prefix_group");
  EXPECT_EQ(refusal("blis", log(2000000, "100")), "");
  EXPECT_EQ(refusal("blis", log(0, "0")), "") << "no prefix, no matter";
}

}  // namespace
}  // namespace kvcap::odd_logs_test
