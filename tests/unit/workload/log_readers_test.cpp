// Logs that operators have: times in any form, rows in any order, quoted fields, columns of any name, inputs
// that are whole prompts, and results of benchmarks with what they measured.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/raw_files.h"
#include "workload/arrivals.h"
#include "workload/logs/log_columns.h"
#include "workload/logs/log_time.h"
#include "workload/readers/long_turns.h"
#include "workload/readers/vllm_bench.h"
#include "workload/source.h"
#include "workload/sources_table.h"

namespace kvcap::log_readers_test {
namespace {

using Turns = std::vector<std::array<double, 3>>;  // time, input, output

TEST(LogTime, ReadsDatesWithTOrBlankFractionAndOffset) {
  const int64_t noon = *parse_date_ns("2024-02-29T12:00:00Z");
  EXPECT_EQ(noon, 1'709'208'000'000'000'000);  // date -d 2024-02-29T12:00:00Z +%s
  EXPECT_EQ(parse_date_ns("2024-02-29 12:00:00"), noon);
  EXPECT_EQ(parse_date_ns("2024-02-29T13:30:00.5+01:30"), noon + 500'000'000);
  EXPECT_EQ(parse_date_ns("2024-02-29T04:00:00,000000001-0800"), noon + 1);
  EXPECT_EQ(parse_date_ns("2024-02-29 12:00:00.009930+00"), noon + 9'930'000);
  EXPECT_EQ(parse_date_ns("2024-02-29 12:00:00 UTC"), noon);
  EXPECT_EQ(parse_date_ns("2024-02-29 12:30:00 +0030"), noon);
  for (const char* bad : {"2023-02-29T12:00:00Z", "2024-02-29", "2024-02-29T12:00", "2024-02-29T12:00:00.",
                          "2024-02-29T12:00:00+1", "2024-02-29T12:00:00+19:00", "2024-02-29X12:00:00", ""}) {
    EXPECT_FALSE(parse_date_ns(bad)) << bad;
  }
}

TEST(LogTime, KeepsNanosecondsSince1970) {
  EXPECT_EQ(parse_time_ns("1700000000123456789", TimeUnit::ns), 1'700'000'000'123'456'789);
  EXPECT_EQ(parse_time_ns("1700000000.123456789", TimeUnit::s), 1'700'000'000'123'456'789);
  EXPECT_EQ(parse_time_ns("1.5", TimeUnit::us), 1'500);
  for (const char* bad : {"-1", "nan", "1s", "", "9000000001"})
    EXPECT_FALSE(parse_time_ns(bad, TimeUnit::s)) << bad;
}

TEST(LogTime, TakesTheUnitFromTheNameElseFromTheSize) {
  const std::pair<TimeUnit, std::vector<std::string>> names[] = {
      {TimeUnit::s, {"t_s", "t_sec", "t_secs", "t_seconds", "t (s)"}},
      {TimeUnit::ms, {"arrival_ms", "t_msec", "t_millis", "t_milliseconds", "t (ms)"}},
      {TimeUnit::us, {"t_us", "t_micros", "t_microseconds"}},
      {TimeUnit::ns, {"t_ns", "t_nanos", "t_nanoseconds", "time_unix_nano"}}};
  for (const auto& [unit, list] : names) {
    for (const std::string& name : list) EXPECT_EQ(unit_of_name(name), unit) << name;
  }
  EXPECT_EQ(unit_of_name("startTimeUnixNano"), TimeUnit::ns);
  EXPECT_EQ(unit_of_name("timestamp"), std::nullopt);
  struct Case {
    const char* text;
    int64_t ns;
    const char* note;
  };
  const Case cases[] = {
      {"1700000000.25", 1'700'000'000'250'000'000,
       "times in t are read as seconds since 1970, by their size"},
      {"1700000000250", 1'700'000'000'250'000'000,
       "times in t are read as milliseconds since 1970, by their size"},
      {"1700000000250000", 1'700'000'000'250'000'000,
       "times in t are read as microseconds since 1970, by their size"},
      {"1700000000250000000", 1'700'000'000'250'000'000,
       "times in t are read as nanoseconds since 1970, by their size"},
      {"2.5", 2'500'000'000, "times in t are read as seconds since the log's own zero: no unit is given"},
      {"2023-11-14T22:13:20.25Z", 1'700'000'000'250'000'000, ""},
  };
  for (const Case& one : cases) {
    LogClock clock("t");
    EXPECT_EQ(clock.read_ns(one.text), one.ns) << one.text;
    EXPECT_EQ(clock.note(), one.note);
  }
  EXPECT_EQ(LogClock("t_ms").read_ns("2.5"), 2'500'000);
  EXPECT_EQ(LogClock("t", TimeUnit::us).read_ns("2.5"), 2'500);
  EXPECT_EQ(LogClock("t").read_ns("50000000000"), std::nullopt) << "between seconds and milliseconds";
}

TEST(LogTime, HoldsAllRowsToTheFormOfTheFirst) {
  LogClock clock("t");
  ASSERT_TRUE(clock.read_ns("1700000000250"));
  EXPECT_FALSE(clock.read_ns("1700000000"));
  EXPECT_FALSE(clock.read_ns("2023-11-14T22:13:20Z"));
  EXPECT_EQ(clock.allowed(), "a number of ms since 1970, as in the first row (NAME:ms gives another unit)");
}

TEST(LogColumns, AreNamedWithTheirUnits) {
  const LogColumns columns =
      parse_log_columns("arrival=ts:ms,input=usage.prompt_tokens,output=Response tokens,ttft=first_s");
  EXPECT_EQ(columns[kArrival].name, "ts");
  EXPECT_EQ(columns[kArrival].unit, TimeUnit::ms);
  EXPECT_EQ(columns[kInput].name, "usage.prompt_tokens");
  EXPECT_EQ(columns[kOutput].name, "Response tokens");
  EXPECT_EQ(columns[kTtft].unit, std::nullopt);
  EXPECT_TRUE(columns[kSession].name.empty());
  const std::pair<const char*, const char*> cases[] = {
      {"inputs=a,output=b",
       "workload.source.columns: found inputs, allowed: arrival, input, output, session, ttft, e2el, prompt, "
       "id; "
       "did you mean \"input\"?"},
      {"input=a", "workload.source.columns: output: missing, required"},
      {"input=a,output", "workload.source.columns: found output, allowed: field=column"},
      {"input=a,output=b,input=c", "workload.source.columns: found input twice, allowed: each field once"},
  };
  for (const auto& [text, expected] : cases) {
    try {
      parse_log_columns(text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(), expected);
    }
  }
}

class LogFile : public RawFiles {
 protected:
  WorkloadOptions holding(const std::string& kind, const std::string& text,
                          const std::string& columns = "") const {
    WorkloadOptions options;
    options.source.kind = kind;
    options.source.path = write("t", text);
    options.source.columns = columns;
    options.arrivals.process = ArrivalProcess::trace;
    return options;
  }
  static Source open(const WorkloadOptions& options) { return open_source(options, 1); }
  static Turns turns_of(const Source& source) {
    Turns turns;
    for (const Turn& turn : source.turns) {
      turns.push_back(
          {turn.time_s, static_cast<double>(turn.input_tokens), static_cast<double>(turn.output_tokens)});
    }
    return turns;
  }
  std::string guessed(const std::string& text) const {
    return std::string(guess_source(write("g", text)).name);
  }
};

TEST_F(LogFile, MayHaveQuotesSeparatorsAndLineEndsInFields) {
  const Source source = open(holding("csv",
                                     "\"arrival_s\";session;input_tokens;output_tokens\r\n"
                                     "0;\"a;\"\"b\"\"\nc\";10;20\r\n"
                                     "1.5; d ;30;40\r\n"));
  EXPECT_EQ(turns_of(source), (Turns{{0, 10, 20}, {1.5, 30, 40}}));
  EXPECT_EQ(source.labels[0].id, R"("a;\"b\"\nc")");
  EXPECT_EQ(source.labels[1].id, R"("d")");
  const std::string header = "arrival_s\tinput_tokens\toutput_tokens\tsession\n";
  EXPECT_EQ(turns_of(open(holding("csv", header + "0\t1\t2\ta,b\n"))), (Turns{{0, 1, 2}}));
  // The row that begins in line 2 ends in line 3; the bad one begins in line 4.
  EXPECT_EQ(error_of(holding("csv", header + "0\t1\t2\t\"a\nb\"\n1\tx\t2\tc\n")),
            "t:4: input_tokens: found x, allowed: an integer from 1 to 10000000");
}

TEST_F(LogFile, GoesOnAfterABadlyQuotedRow) {
  WorkloadOptions options =
      holding("csv", "arrival_s,input_tokens,output_tokens,session\n0,1,2,a\n1,3,4,b\"c\n2,5,6,\"d,e\"\n");
  options.source.on_bad_row = BadRow::skip;
  const Source source = open(options);
  EXPECT_EQ(turns_of(source), (Turns{{0, 1, 2}, {2, 5, 6}}));
  EXPECT_EQ(source.bad_rows_skipped, 1);
}

TEST_F(LogFile, IsSortedByArrivalWithANote) {
  const Source source = open(holding("csv",
                                     "arrival_s,input_tokens,output_tokens,session,ttft_s\n"
                                     "5,1,1,a,0.5\n2,2,2,b,0.2\n2,3,3,a,0.3\n9,4,4,b,0.9\n"));
  // b is first with its turns of 2 and 9; a has 2 before 5. Equal times keep the order of their rows.
  EXPECT_EQ(turns_of(source), (Turns{{2, 2, 2}, {9, 4, 4}, {2, 3, 3}, {5, 1, 1}}));
  ASSERT_EQ(source.measured.size(), 4u);
  EXPECT_EQ(source.measured[1].ttft_s, 0.9);
  EXPECT_EQ(source.measured[2].ttft_s, 0.3);
  EXPECT_TRUE(std::isnan(source.measured[0].e2el_s));
  EXPECT_EQ(source.notes.front(),
            "2 of 4 rows follow a row that arrived later; all rows are sorted by arrival");
  EXPECT_TRUE(open(holding("csv", "arrival_s,input_tokens,output_tokens\n1,1,1\n1,2,2\n")).notes.empty());
}

TEST_F(LogFile, HasColumnsOfAnyNameInCsvAndJsonl) {
  const std::string columns =
      "arrival=ts,input=usage.prompt_tokens,output=usage.completion_tokens,"
      "session=conv,ttft=ttft_ms,e2el=took:ms";
  const Source json = open(holding(
      "csv",
      R"({"ts":"2024-01-01T00:00:02Z","usage":{"prompt_tokens":7,"completion_tokens":8},"conv":3,"ttft_ms":250,"took":2000}
{"ts":"2024-01-01T00:00:00Z","usage":{"prompt_tokens":5,"completion_tokens":6,"x":null},"model":"m","ttft_ms":null}
)",
      columns));
  EXPECT_EQ(turns_of(json), (Turns{{0, 5, 6}, {2, 7, 8}}));
  EXPECT_EQ(json.labels[1].id, "\"3\"");
  EXPECT_TRUE(std::isnan(json.measured[0].ttft_s));
  EXPECT_EQ(json.measured[1].ttft_s, 0.25);
  EXPECT_EQ(json.measured[1].e2el_s, 2);
  const Source csv = open(holding("jsonl",
                                  "ts,usage.prompt_tokens,usage.completion_tokens,conv,ttft_ms,took,more\n"
                                  "1700000001500,7.0,8,x,1,2,3\n1700000000000,5,6,y,1,2,3\n",
                                  columns));
  EXPECT_EQ(turns_of(csv), (Turns{{0, 5, 6}, {1.5, 7, 8}}));
  EXPECT_EQ(csv.notes.back(), "times in ts are read as milliseconds since 1970, by their size");
}

TEST_F(LogFile, MayLackArrivalsWhereTheyAreDrawn) {
  WorkloadOptions options = holding("csv", "i,o\n7,8\n5,6\n", "input=i,output=o");
  EXPECT_EQ(error_of(options), "t: found no arrivals, required where arrivals.process is \"trace\"");
  options.arrivals.process = ArrivalProcess::constant;
  EXPECT_EQ(make_workload(options, 1).turns[1].time_s, 10);
}

TEST_F(LogFile, NamesItsColumnsWhereOneIsMissing) {
  const std::string csv = "when,prompt_tokens,answer\n1,2,3\n";
  EXPECT_EQ(error_of(holding("csv", csv, "arrival=when,input=prompt_token,output=answer")),
            "t:1: prompt_token: no such column, the file has when, prompt_tokens, answer; did you mean "
            "\"prompt_tokens\"?");
  const std::string json = R"({"when":1,"usage":{"in":2,"out":3}})";
  EXPECT_EQ(
      error_of(holding("csv", json, "arrival=when,input=usage.inn,output=usage.out")),
      "t:1: usage.inn: no such column, the file has usage.in, usage.out, when; did you mean \"usage.in\"?");
  EXPECT_EQ(error_of(holding("csv", json, "arrival=when,input=usage.in,output=usage.out,session=whem")),
            "t: whem: no such column, the file has usage.in, usage.out, when; did you mean \"when\"?");
}

TEST_F(LogFile, LeavesOutWhatHasNoAnswerAndKeepsWhatHasNoSession) {
  const Source source = open(holding("csv",
                                     "arrival_s,input_tokens,output_tokens,session\n"
                                     "0,1,2,a\n1,5,0,a\n2,3,4,\n"));
  EXPECT_EQ(turns_of(source), (Turns{{0, 1, 2}, {2, 3, 4}}));
  EXPECT_EQ(source.notes,
            (std::vector<std::string>{"1 request without output tokens is left out",
                                      "1 request without a session's name is a session of its own"}));
}

TEST_F(LogFile, SharesPromptsThatAreEqual) {
  const std::string columns = "arrival=t,input=i,output=o,prompt=p";
  const Source source = open(holding("csv", "t,i,o,p\n0,100,5,x\n1,50,6,y\n2,100,7,x\n", columns));
  ASSERT_EQ(source.pieces.size(), 3u);
  EXPECT_EQ(source.pieces[0].key, source.pieces[2].key);
  EXPECT_NE(source.pieces[0].key, source.pieces[1].key);
  EXPECT_EQ(source.pieces[2].tokens, 100u);
  // Counts of one text may differ by its template.
  const Source other = open(holding("csv", "t,i,o,p\n0,100,5,x\n1,98,6,x\n2,99,6,x\n", columns));
  for (const Piece& piece : other.pieces) EXPECT_EQ(piece.tokens, 98u);
  EXPECT_EQ(turns_of(other)[0][1], 100);
  EXPECT_EQ(
      other.notes.front(),
      "2 requests have a different input length than earlier requests with the same prompt: equal prompts "
      "share their first tokens, up to the shortest length");
}

// Prompts 100, 100 + 20 + 30 = 150, then a history that was cut (40), then 40 + 10 + 5 = 55.
constexpr const char* kWholePrompts =
    "arrival_s,input_tokens,output_tokens,session\n0,100,20,a\n1,150,30,a\n2,40,10,a\n3,55,10,a\n";

TEST_F(LogFile, TakesHistoryOutOfWholePrompts) {
  WorkloadOptions options = holding("csv", kWholePrompts);
  options.source.input_is = InputIs::whole_prompt;
  const Source source = open(options);
  EXPECT_EQ(turns_of(source), (Turns{{0, 100, 20}, {1, 30, 30}, {2, 40, 10}, {3, 5, 10}}));
  EXPECT_EQ(source.parents, (std::vector<int32_t>{-1, 0, -1, 2}));
  const Workload workload = arrange(source, options, 1);
  EXPECT_EQ(workload.histories_of(workload.sessions[0]), (std::vector<int64_t>{0, 120, 0, 50}));
  ASSERT_EQ(source.notes.size(), 1u);
  EXPECT_EQ(
      source.notes[0],
      "inputs are read as whole prompts: a turn's new tokens are its prompt minus the previous prompt and "
      "answer; in 1 of 3 later turns nothing is left (history cut or edited), and the turn starts a context "
      "of its own; the longest context has 180 tokens if inputs are whole prompts, 415 if they are new "
      "tokens; set --input-is or workload.source.input_is to new_tokens to change that");
}

TEST_F(LogFile, IsRecognisedAsNewTokensWhereInputsDoNotGrow) {
  const std::string header = "arrival_s,input_tokens,output_tokens,session\n0,100,20,a\n";
  const auto note_on = [&](const std::string& rows) {
    WorkloadOptions options = holding("csv", header + rows);
    options.source.input_is = InputIs::whole_prompt;
    return open(options).notes.at(0);
  };
  const std::string or_new = "edited, or the inputs are new tokens)";
  EXPECT_NE(note_on("1,50,30,a\n2,80,10,a\n").find(or_new), std::string::npos);
  EXPECT_EQ(note_on("1,50,30,a\n2,81,10,a\n").find(or_new), std::string::npos);
}

TEST_F(LogFile, IsReadAsWholePromptsWhereAllInputsProveIt) {
  const std::string header = "arrival_s,input_tokens,output_tokens,session\n";
  const std::string growing = "0,100,20,a\n1,150,30,a\n2,200,10,a\n3,230,10,a\n4,300,1,a\n";
  // 150 less 100 + 20, 200 less 150 + 30, ...; new tokens ascend so with a chance of 1/5!.
  const Source source = open(holding("csv", header + growing));
  EXPECT_EQ(turns_of(source), (Turns{{0, 100, 20}, {1, 30, 30}, {2, 20, 10}, {3, 20, 10}, {4, 60, 1}}));
  ASSERT_EQ(source.notes.size(), 1u);
  EXPECT_EQ(
      source.notes[0],
      "inputs are read as whole prompts: in all 4 later turns the input is at least as long as the "
      "previous input and answer together; the longest context has 301 tokens if inputs are whole prompts, "
      "1051 if they are new tokens; set --input-is or workload.source.input_is to new_tokens to change that");
  EXPECT_EQ(source.warnings, source.notes) << "it stands beside every answer";
  // The last prompt is its history and nothing else: it starts a context.
  const Source repeated = open(holding("csv", header + growing + "5,301,1,a\n"));
  EXPECT_EQ(turns_of(repeated).back(), (std::array<double, 3>{5, 301, 1}));
  EXPECT_EQ(repeated.parents.back(), -1);
  // What the user says holds.
  WorkloadOptions asked = holding("csv", header + growing);
  asked.source.input_is = InputIs::new_tokens;
  EXPECT_EQ(open(asked).turns[1].input_tokens, 150u);
  EXPECT_NE(open(asked).notes.at(0).find("they look like whole prompts"), std::string::npos);
  // Three turns ascend with a chance of 1/3!, two such sessions with 1/36, which is below 1/20.
  const std::string three = "0,100,20,a\n1,150,30,a\n2,200,10,a\n";
  EXPECT_EQ(open(holding("csv", header + three)).turns[1].input_tokens, 150u);
  const std::string other = "0.5,100,20,b\n1.5,150,30,b\n2.5,200,10,b\n";
  EXPECT_EQ(open(holding("csv", header + three + other)).turns[1].input_tokens, 30u);
}

TEST_F(LogFile, IsRecognisedAsWholePromptsWhereInputsGrow) {
  const std::string header = "arrival_s,input_tokens,output_tokens,session\n";
  // Four of five, so that nothing is proven.
  const std::string growing =
      header + "0,100,20,a\n1,150,30,a\n2,200,10,a\n3,230,10,a\n4,300,1,a\n5,200,1,a\n";
  const Source source = open(holding("csv", growing));
  EXPECT_EQ(source.turns[1].input_tokens, 150u) << "it is only said";
  ASSERT_EQ(source.notes.size(), 1u);
  EXPECT_EQ(
      source.notes[0],
      "inputs are read as new tokens, but they look like whole prompts: in 4 of 5 later turns the input is "
      "at least as long as the previous input and answer together; then history counts twice; the longest "
      "context has 301 tokens if inputs are whole prompts, 1252 if they are new tokens; set --input-is or "
      "workload.source.input_is to whole_prompt to subtract the history");
  // Three of four are not four of five.
  EXPECT_TRUE(open(holding("csv", header + "0,100,20,a\n1,150,30,a\n2,200,10,a\n3,230,10,a\n4,9,1,a\n"))
                  .notes.empty());
  // One later turn shows nothing.
  EXPECT_TRUE(open(holding("csv", header + "0,100,20,a\n1,150,30,a\n")).notes.empty());
  // Our own format too.
  const Source own =
      open(holding("sessions", R"({"id":1,"turns":[{"input_tokens":9,"output_tokens":1,"arrival_s":0},)"
                               R"({"input_tokens":20,"output_tokens":1,"arrival_s":1},)"
                               R"({"input_tokens":30,"output_tokens":1,"arrival_s":2}]})"));
  EXPECT_EQ(own.notes.size(), 1u);
}

TEST(LongTurns, AreCountedWithTheLongest) {
  // Prompt and answer: 30; 30 + 40 + 5 = 75; 10.
  Workload workload;
  workload.sessions = {{.first_turn = 0, .turn_count = 2}, {.first_turn = 2, .turn_count = 1}};
  workload.turns = {{10, 20, 0}, {40, 5, 0}, {9, 1, 0}};
  EXPECT_EQ(turns_beyond(workload, 30).count, 1);
  EXPECT_EQ(turns_beyond(workload, 29).count, 2);
  EXPECT_EQ(turns_beyond(workload, 29).longest_tokens, 75);
  EXPECT_EQ(note_on_long_turns(workload, 75), "");
  EXPECT_EQ(note_on_long_turns(workload, 74),
            "1 of 3 turns have more than max_model_len (74) tokens in prompt and answer, the longest 75: "
            "serving.overflow decides what happens to them (metrics.truncated, metrics.rejected)");
}

std::string bench(const std::string& more, const std::string& rate = "2.5") {
  return R"({"date":"20260101-000000","backend":"vllm","model_id":"m","num_prompts":4,"request_rate":)" +
         rate +
         R"(,"burstiness":1.0,"max_concurrency":null,"duration":3.5,"completed":3,"total_input_tokens":60,)"
         R"("total_output_tokens":9,"mean_ttft_ms":150.0,"output_throughput":2.57)" +
         more + "}";
}
constexpr const char* kDetails =
    R"(,"input_lens":[10,20,30,40],"output_lens":[3,2,0,4],"ttfts":[0.1,0.2,0.0,0.0],)"
    R"("itls":[[0.01,0.03],[0.5],[],[0.25]],"generated_texts":["x","y","","z"],"errors":["","","timeout",""])";

TEST_F(LogFile, OfVllmBenchHasStartsAndWhatWasMeasured) {
  const std::string text = bench(std::string(kDetails) + R"(,"start_times":[100.5,100.0,101,102.25])");
  EXPECT_EQ(guessed(text), "vllm_bench");
  const Source source = open(holding("vllm_bench", text));
  EXPECT_EQ(turns_of(source), (Turns{{0, 20, 2}, {0.5, 10, 3}, {2.25, 40, 4}}));
  ASSERT_EQ(source.measured.size(), 3u);
  EXPECT_DOUBLE_EQ(source.measured[0].ttft_s, 0.2);
  EXPECT_DOUBLE_EQ(source.measured[0].e2el_s, 0.7);
  EXPECT_DOUBLE_EQ(source.measured[1].e2el_s, 0.14);
  EXPECT_TRUE(std::isnan(source.measured[2].ttft_s)) << "it was not streamed";
  EXPECT_EQ(source.measured_itls_s, (std::vector<float>{0.01f, 0.03f, 0.5f, 0.25f}));
  EXPECT_EQ(source.notes.back(), "1 failed request is left out");
}

TEST_F(LogFile, OfSglangMayHaveARateWithoutALimitAsPythonWritesIt) {
  const std::string text = bench(kDetails, "Infinity") + "\n";
  EXPECT_EQ(guessed(text), "vllm_bench");
  const Source source = open(holding("vllm_bench", text));
  EXPECT_EQ(turns_of(source), (Turns{{0, 10, 3}, {0, 20, 2}, {0, 40, 4}}));
  EXPECT_EQ(refusal("vllm_bench", bench(kDetails, "Infinit")).substr(0, 15), "t: syntax error");
  // A text may have such words.
  EXPECT_EQ(open(holding("vllm_bench", replaced(text, R"("x")", R"("\"NaN")"))).turns.size(), 3u);
}

TEST_F(LogFile, OfVllmBenchTakesARequestWithoutTokensAsFailed) {
  const std::string silent = replaced(kDetails, R"("timeout")", R"("")");
  const Source source = open(holding("vllm_bench", bench(silent + R"(,"start_times":[0,1,2,3])")));
  EXPECT_EQ(turns_of(source), (Turns{{0, 10, 3}, {1, 20, 2}, {3, 40, 4}}));
  EXPECT_EQ(source.notes.back(), "1 failed request is left out");
}

TEST_F(LogFile, OfVllmBenchDrawsArrivalsWhereThereAreNone) {
  const Source drawn = open(holding("vllm_bench", bench(kDetails)));
  EXPECT_EQ(drawn.turns[0].time_s, 0);
  EXPECT_GT(drawn.turns[1].time_s, 0);
  EXPECT_EQ(drawn.notes.back(),
            "the file has no start_times: arrivals are drawn as the bench draws them, at 2.5 requests/s with "
            "burstiness 1.0");
  // Burstiness is the shape of gamma gaps: 4 halves their variation.
  std::string even = bench(kDetails);
  even.replace(even.find("\"burstiness\":1.0"), 16, "\"burstiness\":4.0");
  const ArrivalOptions gamma = {.process = ArrivalProcess::gamma, .requests_per_s = 2.5, .cv = 0.5};
  EXPECT_NEAR(open(holding("vllm_bench", even)).turns[2].time_s, draw_arrivals(gamma, 1, 3, 1)[2], 1e-9);
  const Source at_once = open(holding("vllm_bench", bench(kDetails, "\"inf\"")));
  EXPECT_EQ(at_once.turns[2].time_s, 0);
  std::string held_back = bench(std::string(kDetails) + R"(,"start_times":[1,2,3,4])");
  held_back.replace(held_back.find("null"), 4, "16");
  EXPECT_EQ(
      open(holding("vllm_bench", held_back)).notes.back(),
      "the bench had at most 16 requests in flight, so the starts depend on the server that it measured: "
      "workload.arrivals closed_loop with concurrency 16 reproduces this limit on any machine");
}

TEST_F(LogFile, OfVllmBenchTellsItsSummaryWithoutDetails) {
  const std::vector<BenchRun> runs =
      read_bench_runs(write("b", bench("") + "\n" + bench("", "\"inf\"")), BadRow::error);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].model_id, "m");
  EXPECT_EQ(runs[0].request_rate, 2.5);
  EXPECT_EQ(runs[1].request_rate, std::nullopt);
  EXPECT_EQ(runs[0].max_concurrency, std::nullopt);
  EXPECT_EQ(runs[0].backend, "vllm");
  EXPECT_EQ(runs[0].date, "20260101-000000");
  EXPECT_EQ(runs[0].num_prompts, 4);
  EXPECT_EQ(runs[0].completed, 3);
  EXPECT_EQ(runs[0].failed, std::nullopt);
  EXPECT_EQ(runs[0].total_input_tokens, 60);
  EXPECT_EQ(runs[0].total_output_tokens, 9);
  EXPECT_EQ(runs[0].duration_s, 3.5);
  EXPECT_EQ(runs[0].metrics.at("mean_ttft_ms"), 150);
  EXPECT_EQ(runs[0].metrics.at("output_throughput"), 2.57);
  EXPECT_TRUE(runs[0].requests.empty());
}

TEST_F(LogFile, OfVllmBenchIsRefusedWithPlaceAndReason) {
  const std::pair<std::string, std::string> cases[] = {
      {bench(""),
       "t: input_lens: missing, required: run vllm bench serve with --save-result --save-detailed, or "
       "SGLang's "
       "bench_serving with --output-details"},
      {bench(kDetails) + bench(kDetails),
       "t: found 2 results of vllm bench serve, allowed: one (--append-result, and SGLang's bench_serving "
       "always, write one per line)"},
      {bench(R"(,"input_lens":[1,2],"output_lens":[1])"),
       "t: output_lens: found 1 entries, allowed: 2, as many as input_lens has"},
      {bench(R"(,"input_lens":[1,-2],"output_lens":[1,1])"),
       "t: input_lens.1: found -2, allowed: an integer from 1 to 10000000"},
      {bench(R"(,"input_lens":[1],"output_lens":[1],"ttfts":["x"])"),
       "t: ttfts.0: found \"x\", allowed: seconds of at least 0"},
      {"{\"a\":1}", "t: found an object without request_rate, allowed: results of vllm bench serve"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(error_of(holding("vllm_bench", text)), expected) << text;
}

}  // namespace
}  // namespace kvcap::log_readers_test
