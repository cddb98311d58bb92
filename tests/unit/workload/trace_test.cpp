// Statistics of traces, and kvcap trace itself.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "unit/process.h"
#include "unit/programs.h"
#include "unit/raw_files.h"
#include "unit/shared_data.h"
#include "unit/shell_word.h"
#include "workload/logs/gz_file.h"
#include "workload/logs/lines.h"
#include "workload/source.h"
#include "workload/sources_table.h"
#include "workload/trace_stats.h"

namespace kvcap::trace_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string data(const std::string& name) { return shared_data("traces/" + name); }

std::string text_of(const std::string& path) {
  LineReader lines(path);
  std::string text;
  for (std::string_view line; lines.next(line);) text += std::string(line) + "\n";
  return text;
}

WorkloadOptions sessions_in(const std::string& path) {
  WorkloadOptions options;
  options.source.kind = "sessions";
  options.source.path = path;
  return options;
}

class Trace : public RawFiles {
 protected:
  TraceStats stats_of(const std::string& text, bool timed) {
    WorkloadOptions options = sessions_in(write("t.jsonl", text));
    if (timed) options.arrivals.process = ArrivalProcess::trace;
    return trace_stats(make_workload(options, 1));
  }

  struct Outcome {
    int exit_code;
    std::string out, err;
  };
  Outcome kvcap(const std::string& arguments) const {
    const std::string folder = folder_.string();
    const std::string command = "cd " + shell_word(folder) + " && " + shell_word(kvcap_program()) +
                                " trace " + arguments + " >out 2>err";
    const int status = shell_status(command);
    return {WEXITSTATUS(status), text_of(folder + "/out"), text_of(folder + "/err")};
  }
};

// a: 100 in, 28 out at 0 s, 36 in, 36 out at 10 s; b: 64 in, 64 out at 5 s.
constexpr const char* kTwoChats =
    R"({"id":"a","turns":[{"input_tokens":100,"output_tokens":28,"arrival_s":0},{"input_tokens":36,"output_tokens":36,"arrival_s":10}]}
{"id":"b","turns":[{"input_tokens":64,"output_tokens":64,"arrival_s":5}]}
)";

TEST_F(Trace, StatsOfTwoChatsAreTheseSums) {
  const TraceStats stats = stats_of(kTwoChats, true);
  EXPECT_EQ(stats.sessions, 2);
  EXPECT_EQ(stats.requests, 3);
  EXPECT_EQ(stats.duration_s, 10);
  EXPECT_DOUBLE_EQ(stats.multi_turn_share, 0.5);
  EXPECT_DOUBLE_EQ(stats.turns.mean, 1.5);
  EXPECT_DOUBLE_EQ(stats.input_tokens.mean, (100 + 36 + 64) / 3.0);
  EXPECT_DOUBLE_EQ(stats.input_tokens.median, 64);
  EXPECT_DOUBLE_EQ(stats.input_tokens.p90, 64 + 0.8 * (100 - 64));
  EXPECT_DOUBLE_EQ(stats.history_tokens.mean, 128 / 3.0);
  EXPECT_DOUBLE_EQ(stats.context_tokens.max, 200);
  EXPECT_EQ(stats.total_context_tokens, 200 + 128);
  // Prompts are 100, 128 + 36 and 64; 128 of them are history, all of it seen before.
  EXPECT_DOUBLE_EQ(stats.history_token_share, 128.0 / 328);
  EXPECT_DOUBLE_EQ(stats.infinite_cache_token_hit_rate, 128.0 / 328);
  EXPECT_DOUBLE_EQ(stats.mean_request_hit_rate, 128.0 / 164 / 3);
  // 2, 3 and 1 blocks, 1, 2 and 1 of them full; 2 found.
  EXPECT_DOUBLE_EQ(stats.infinite_cache_block_hit_rate, 2.0 / 6);
  EXPECT_DOUBLE_EQ(stats.infinite_cache_full_block_hit_rate, 2.0 / 4);
  EXPECT_EQ(stats.reuses, 1);
  EXPECT_DOUBLE_EQ(stats.reuse_distance_tokens.mean, 128 + 128);  // b lies between, and a itself
  EXPECT_DOUBLE_EQ(stats.reuse_distance_s.mean, 10);
  ASSERT_EQ(stats.miss_ratio_curve.size(), 1U);
  EXPECT_EQ(stats.miss_ratio_curve[0].capacity_tokens, 256);
  EXPECT_DOUBLE_EQ(stats.miss_ratio_curve[0].token_miss_ratio, 1 - 128.0 / 328);
}

TEST_F(Trace, StatsCountADocumentOnce) {
  // d is asked about at 0, 2 and 3 s, e at 1 s.
  std::string text;
  const std::pair<const char*, int> asked[] = {{"d", 100}, {"e", 50}, {"d", 100}, {"d", 100}};
  for (int i = 0; i < 4; ++i) {
    text += R"({"id":)" + std::to_string(i) + R"(,"context_tokens":)" + std::to_string(asked[i].second) +
            R"(,"context_id":")" + asked[i].first +
            R"(","turns":[{"input_tokens":10,"output_tokens":5,"arrival_s":)" + std::to_string(i) + "}]}\n";
  }
  const TraceStats stats = stats_of(text, true);
  EXPECT_EQ(stats.total_context_tokens, 150);
  EXPECT_DOUBLE_EQ(stats.context_tokens.mean, 75);
  EXPECT_DOUBLE_EQ(stats.history_token_share, 350.0 / 390);
  EXPECT_DOUBLE_EQ(stats.infinite_cache_token_hit_rate, 200.0 / 390);
  EXPECT_EQ(stats.reuses, 2);
  EXPECT_DOUBLE_EQ(stats.reuse_distance_tokens.max, 150);
  EXPECT_DOUBLE_EQ(stats.reuse_distance_tokens.mean, (150 + 100) / 2.0);
}

TEST_F(Trace, StatsOfDrawnArrivalsHaveNoDuration) {
  const TraceStats stats = stats_of(R"({"id":"a","turns":[{"input_tokens":1,"output_tokens":1}]})", false);
  EXPECT_FALSE(stats.duration_s);
  EXPECT_EQ(stats.reuses, 0);
  EXPECT_TRUE(std::isnan(stats.reuse_distance_s.mean));
}

TEST_F(Trace, DocumentsAreRefusedWhereTheyContradict) {
  const std::string turns = R"(,"turns":[{"input_tokens":1,"output_tokens":1}]})";
  const std::pair<std::string, std::string> cases[] = {
      {R"({"id":1,"context_id":"d")" + turns, "t.jsonl:1: context_tokens: missing, required"},
      {R"({"id":1,"context_id":"d","context_tokens":0)" + turns,
       "t.jsonl:1: context_tokens: found 0, allowed: at least 1 where context_id is given"},
      {R"({"id":1,"context_id":null,"context_tokens":5)" + turns,
       "t.jsonl:1: context_id: found null, allowed: a string or an integer"},
      {R"({"id":1,"context_id":"d","context_tokens":5)" + turns + "\n" +
           R"({"id":2,"context_id":"d","context_tokens":6)" + turns,
       "t.jsonl:2: context_tokens: found 6, allowed: 5, as before for this context_id"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(error_of(sessions_in(write("t.jsonl", text))), expected) << text;
  }
  WorkloadOptions options =
      sessions_in(write("t.jsonl", R"({"id":1,"context_id":"d","context_tokens":5)" + turns));
  EXPECT_EQ(error_of(options), "");
  options.source.history = History::grow;
  EXPECT_EQ(error_of(options), "");
}

TEST(TraceStatsOfData, AreThoseOfItsDescription) {
  KVCAP_NEEDS_SHARED_DATA("traces/leval.jsonl");
  const TraceStats plain = trace_stats(make_workload(sessions_in(data("sharegpt_turns.jsonl")), 1));
  EXPECT_EQ(plain.sessions, 5678);
  EXPECT_EQ(plain.requests, 30731);
  EXPECT_NEAR(plain.turns.mean, 5.41, 0.005);
  EXPECT_NEAR(plain.multi_turn_share, 0.796, 0.0005);
  EXPECT_NEAR(plain.input_tokens.mean, 151.5, 0.05);
  EXPECT_EQ(plain.input_tokens.median, 30);
  EXPECT_NEAR(plain.output_tokens.mean, 438.7, 0.05);
  EXPECT_EQ(plain.output_tokens.median, 415);
  EXPECT_EQ(plain.output_tokens.p90, 834);
  EXPECT_NEAR(plain.history_tokens.mean, 2189, 0.5);
  EXPECT_EQ(plain.history_tokens.median, 1574);
  EXPECT_NEAR(plain.history_token_share, 0.935, 0.0005);
  const TraceStats repaired =
      trace_stats(make_workload(sessions_in(data("sharegpt_turns_repaired.jsonl")), 1));
  EXPECT_EQ(repaired.requests, 31432);
  EXPECT_NEAR(repaired.input_tokens.mean, 118.2, 0.05);
  EXPECT_EQ(repaired.input_tokens.median, 27);
  EXPECT_NEAR(repaired.output_tokens.mean, 458.8, 0.05);
  EXPECT_NEAR(repaired.history_tokens.mean, 2226, 0.6);
  EXPECT_NEAR(repaired.history_token_share, 0.950, 0.0005);
  // A chat's history is all its own, so that a store which keeps everything finds all of it.
  EXPECT_EQ(repaired.infinite_cache_token_hit_rate, repaired.history_token_share);
  const TraceStats leval = trace_stats(make_workload(sessions_in(data("leval.jsonl")), 1));
  EXPECT_EQ(leval.sessions, 424);
  EXPECT_EQ(leval.requests, 2074);
  EXPECT_NEAR(leval.context_tokens.mean, 10701.6, 0.05);
  EXPECT_EQ(leval.context_tokens.max, 68558);
  EXPECT_NEAR(leval.input_tokens.mean, 47.92, 0.005);
  EXPECT_NEAR(leval.output_tokens.mean, 55.63, 0.005);
  // Every document but its first question: all history less one context each.
  const double history = leval.history_tokens.mean * 2074, documents = 10701.6 * 424;
  EXPECT_NEAR(leval.infinite_cache_token_hit_rate,
              leval.history_token_share * (history - documents) / history, 1e-4);
}

TEST(SessionLines, OfTheShippedTracesReadBackAsTheyWere) {
  for (const char* name : {"leval-100.jsonl", "sharegpt-100.jsonl", "sample-chat.jsonl"}) {
    const std::string path = std::string(KVCAP_SOURCE_DIR "/traces/") + name;
    EXPECT_TRUE(session_lines(read_sessions({.kind = "sessions", .path = path}, {}, false)) == text_of(path))
        << name;
  }
}

TEST(SessionLines, ReadBackAsTheyWere) {
  const char* names[] = {"sharegpt_turns_repaired.jsonl", "leval.jsonl", "leval_estimated_context.jsonl"};
  for (const char* name : names) {
    KVCAP_NEEDS_SHARED_DATA("traces/" + std::string(name));
    const SourceOptions options{.kind = "sessions", .path = data(name)};
    EXPECT_TRUE(session_lines(read_sessions(options, {}, false)) == text_of(data(name))) << name;
  }
}

TEST_F(Trace, SessionLinesKeepEveryField) {
  const std::string text =
      R"({"id":"\"q\"","task":"q a","context_tokens":9,"context_id":7,"turns":[{"input_tokens":1,"output_tokens":2,"arrival_s":0.1},{"input_tokens":3,"output_tokens":4,"arrival_s":1e-9}]})";
  SourceOptions options{.kind = "sessions", .path = write("t.jsonl", "")};
  const std::string valid = std::string(text).replace(text.find("1e-9"), 4, "12345.678");
  options.path =
      write("t.jsonl", valid + "\n" + R"({"id":-3,"turns":[{"input_tokens":5,"output_tokens":6}]})" + "\n");
  EXPECT_EQ(session_lines(read_sessions(options, {}, false)), text_of(options.path));
}

TEST_F(Trace, StatsCommandPrintsNamesOfTheContract) {
  write("t.jsonl", kTwoChats);
  const Outcome outcome = kvcap("stats t.jsonl --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json stats = Json::parse(outcome.out);
  EXPECT_EQ(stats["schema"], "kvcap.trace_stats/1");
  EXPECT_EQ(stats["format"], "sessions");
  EXPECT_NE(kvcap("stats t.jsonl").out.find("\nread as sessions: kvcap's session JSONL\n"),
            std::string::npos);
  EXPECT_EQ(stats["requests"], 3);
  EXPECT_EQ(stats["sessions"], 2);
  EXPECT_EQ(stats["duration_s"], 10);
  EXPECT_EQ(stats["mean_output_tokens"], (28 + 36 + 64) / 3.0);
  EXPECT_EQ(stats["median_reuse_distance_tokens"], 256);
  EXPECT_EQ(stats["history_token_share"], 128.0 / 328);
  EXPECT_EQ(stats["infinite_cache_token_hit_rate"], 128.0 / 328);
  EXPECT_EQ(stats["infinite_cache_block_hit_rate"], 2.0 / 6);
  EXPECT_EQ(stats["notes"], Json::array());
  EXPECT_NE(kvcap("stats t.jsonl").out.find("history's share of prompt tokens                39.0 %"),
            std::string::npos);
}

TEST_F(Trace, ConvertsWhatItCanReadAndGuessesTheFormat) {
  write(
      "raw.json",
      R"([{"id":"x","conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"Hello world"},{"from":"gpt","value":"Hello world"}]}])");
  const Outcome outcome = kvcap("convert raw.json out.jsonl.gz");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("1 began with an answer"), std::string::npos);
  EXPECT_NE(outcome.err.find("out.jsonl.gz: 1 session, 1 turn\n"), std::string::npos);
  EXPECT_EQ(text_of((folder_ / "out.jsonl.gz").string()),
            "{\"id\":\"x\",\"turns\":[{\"input_tokens\":3,\"output_tokens\":3}]}\n");
  EXPECT_EQ(kvcap("convert out.jsonl.gz again.jsonl").exit_code, 0);
  EXPECT_EQ(text_of((folder_ / "again.jsonl").string()), text_of((folder_ / "out.jsonl.gz").string()));
  for (const auto& file : fs::directory_iterator(folder_)) {
    EXPECT_EQ(file.path().string().find(".part"), std::string::npos) << file.path();
  }
}

// Times that count from each session's beginning are no arrivals on one clock.
TEST_F(Trace, ConvertsSessionsOfAgentsWithTheirThinkTimesAlone) {
  const std::string row =
      R"("block_size":4,"requests":[{"t":0,"type":"n","in":4,"out":1,"h":[1,1],"api_time":1,"think_time":0},)"
      R"({"t":9,"type":"n","in":9,"out":1,"h":[1,2],"api_time":1,"think_time":8}]})";
  write("w.jsonl", R"({"id":"a",)" + row + "\n" + R"({"id":"b",)" + row + "\n");
  const Outcome outcome = kvcap("convert w.jsonl out.jsonl");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("arrival_s is not written"), std::string::npos);
  const std::string converted = text_of((folder_ / "out.jsonl").string());
  const Json first = Json::parse(converted.substr(0, converted.find('\n')));
  EXPECT_FALSE(first["turns"][1].contains("arrival_s"));
  EXPECT_EQ(first["turns"][1]["think_s"], 8);
  EXPECT_EQ(first["history"], "context");
  // Arrivals are drawn.
  const Outcome stats = kvcap("stats out.jsonl --set workload.arrivals.process=constant --json");
  EXPECT_TRUE(Json::parse(stats.out)["duration_s"].is_null()) << stats.out;
}

TEST_F(Trace, ConvertsBlocksAndSaysWhatOfThemCanBeFoundAgain) {
  write("m.jsonl",
        R"({"timestamp":250,"input_length":600,"output_length":5,"hash_ids":[0,1]}
{"timestamp":1500,"input_length":512,"output_length":6,"hash_ids":[0]}
)");
  ASSERT_EQ(kvcap("convert m.jsonl out.jsonl").exit_code, 0);
  EXPECT_EQ(
      text_of((folder_ / "out.jsonl").string()),
      R"({"id":0,"turns":[{"input_tokens":600,"output_tokens":5,"arrival_s":0.25,"pieces":[[0,512],[1,88]]}]}
{"id":1,"turns":[{"input_tokens":512,"output_tokens":6,"arrival_s":1.5,"pieces":[[0,512]]}]}
)");
  const Outcome direct = kvcap("stats m.jsonl --json");
  EXPECT_EQ(replaced(direct.out, R"("format": "mooncake")", R"("format": "sessions")"),
            kvcap("stats out.jsonl --json").out);
  const Json stats = Json::parse(direct.out);
  EXPECT_EQ(stats["duration_s"], 1.25);
  EXPECT_EQ(stats["request_gap_cv"], Json());
  EXPECT_EQ(stats["pieces"], 3);
  EXPECT_EQ(stats["unique_pieces"], 2);
  EXPECT_EQ(stats["infinite_cache_token_hit_rate"], 512.0 / 1112);
  EXPECT_EQ(stats["infinite_cache_full_block_hit_rate"], 1.0 / 2);
  EXPECT_EQ(stats["notes"], Json::array());
  EXPECT_NE(kvcap("stats m.jsonl").out.find("  hit rate, full pieces of 512 tokens           50.0 %"),
            std::string::npos);
}

TEST_F(Trace, SaysWhereNoReuseCanShow) {
  write("a.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,374,44\n");
  const Json stats = Json::parse(kvcap("stats a.csv --json").out);
  EXPECT_EQ(stats["pieces"], 0);
  ASSERT_EQ(stats["notes"].size(), 1u);
  EXPECT_EQ(stats["notes"][0],
            "no request shares a prefix or a session with an earlier one: there is no reuse to see");
}

TEST_F(Trace, GeneratesPromptsInPieces) {
  ASSERT_EQ(kvcap("generate prefixes.jsonl --format few_shot --sessions 30").exit_code, 0);
  ASSERT_EQ(kvcap("generate chunks.jsonl --format rag --set workload.source.base_queries=10").exit_code, 0);
  for (const auto& [kind, name] :
       {std::pair<std::string, std::string>{"few_shot", "prefixes.jsonl"}, {"rag", "chunks.jsonl"}}) {
    WorkloadOptions options;
    options.source.kind = kind;
    options.source.base_queries = 10;
    if (kind == "few_shot") options.sessions = 30;
    const Source drawn = open_source(options, 1);
    options.source = {.kind = "sessions", .path = (folder_ / name).string()};
    const Source read = open_source(options, 1);
    EXPECT_EQ(session_lines(read), session_lines(drawn)) << name;
    EXPECT_EQ(read.piece_keys, drawn.piece_keys) << name;
    EXPECT_EQ(read.sessions.size(), kind == "rag" ? 40u : 30u) << name;
  }
  // Nodes of a tree have no common size.
  const Json stats = Json::parse(kvcap("stats prefixes.jsonl --json").out);
  EXPECT_EQ(stats["block_tokens"], Json());
  EXPECT_EQ(stats["infinite_cache_full_block_hit_rate"], Json());
  EXPECT_GT(stats["infinite_cache_token_hit_rate"], 0.5);
}

TEST_F(Trace, GeneratesTheSameFileAgain) {
  const std::string command = " --format long_context --sessions 50 --seed 4 --set workload.source.tasks=tpo";
  EXPECT_EQ(kvcap("generate a.jsonl" + command).exit_code, 0);
  EXPECT_EQ(kvcap("generate b.jsonl.gz" + command).exit_code, 0);
  const std::string lines = text_of((folder_ / "a.jsonl").string());
  EXPECT_EQ(lines, text_of((folder_ / "b.jsonl.gz").string()));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 50);
  EXPECT_NE(lines.find(R"("task":"tpo","context_tokens":)"), std::string::npos);
  EXPECT_NE(lines.find(R"("context_id":"tpo-)"), std::string::npos);
}

// "{files}" stands for all kinds of files.
std::string with_files(std::string message) {
  std::string names;
  for (const SourceRow& row : source_table()) {
    if (!row.is_generated) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  const std::string mark = "{files}";
  const std::size_t at = message.find(mark);
  return at == std::string::npos ? message : message.replace(at, mark.size(), names);
}

TEST_F(Trace, ConvertsAnyLogByItsColumns) {
  write("log.csv",
        "id;timestamp;prompt_tokens;completion_tokens;conversation_id\n"
        "2;2024-01-01T00:00:05Z;150;30;\"a;b\"\n1;2024-01-01T00:00:00Z;100;20;\"a;b\"\n");
  const std::string columns =
      " --columns arrival=timestamp,input=prompt_tokens,output=completion_tokens,session=conversation_id";
  const Outcome outcome = kvcap("convert log.csv a.jsonl --input-is whole_prompt" + columns);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(text_of((folder_ / "a.jsonl").string()),
            R"({"id":"a;b","turns":[{"input_tokens":100,"output_tokens":20,"arrival_s":0.0},)"
            R"({"input_tokens":30,"output_tokens":30,"arrival_s":5.0}]})"
            "\n");
  EXPECT_NE(outcome.err.find("note: 1 of 2 rows follow a row that arrived later"), std::string::npos);
  EXPECT_NE(outcome.err.find("note: inputs are read as whole prompts"), std::string::npos);
  EXPECT_EQ(kvcap("convert log.csv b.jsonl" + columns).exit_code, 0);
  EXPECT_NE(text_of((folder_ / "b.jsonl").string()).find(R"("input_tokens":150)"), std::string::npos);
}

TEST_F(Trace, ExitsWith2AndOneLineForBadInput) {
  write("t.jsonl", kTwoChats);
  const std::pair<const char*, const char*> cases[] = {
      {"stat t.jsonl",
       "kvcap: trace: found \"stat\", allowed: stats, convert, generate; did you mean \"stats\"?\n"},
      {"stats", "kvcap: trace stats: files: found 0, allowed: 1\n"},
      {"convert t.jsonl", "kvcap: trace convert: files: found 1, allowed: 2, FROM and TO\n"},
      {"stats absent.jsonl", "kvcap: absent.jsonl: cannot be read: No such file or directory\n"},
      {"stats t.jsonl --format leval", "kvcap: t.jsonl:1: input: missing, required\n"},
      {"stats t.jsonl --format sharegtp",
       "kvcap: --format: found \"sharegtp\", allowed: {files}; did you mean \"sharegpt\"?\n"},
      {"stats t.jsonl --columns input=a", "kvcap: workload.source.columns: output: missing, required\n"},
      {"stats t.jsonl --format azure --columns input=a,output=b",
       "kvcap: workload.source.columns: found \"input=a,output=b\", allowed: none with kind azure (csv, "
       "jsonl have "
       "columns)\n"},
      {"stats t.jsonl --input-is whole",
       "kvcap: trace stats: workload.source.input_is: found \"whole\", allowed: automatic, new_tokens, "
       "whole_prompt; did you mean \"whole_prompt\"?\n"},
      {"generate new.jsonl --format sessions",
       "kvcap: --format: found \"sessions\", allowed: chat, long_context, agents, few_shot, rag, random\n"},
      {"generate new.jsonl --sessions 0",
       "kvcap: trace generate: workload.sessions: found 0, allowed: an integer from 1 to 100000000\n"},
      {"generate new.jsonl --set workload.source.zipf_alpha=-1",
       "kvcap: --set workload.source.zipf_alpha=-1: found -1, allowed: a number from 0 to 10\n"},
      {"convert t.jsonl absent/new.jsonl", "kvcap: absent/new.jsonl: cannot be written: No such folder\n"},
      {"convert t.jsonl new.jsonl --json", "kvcap: trace convert: --json: allowed with stats only\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.err, with_files(message));
    EXPECT_EQ(outcome.out, "");
    EXPECT_FALSE(fs::exists(folder_ / "new.jsonl")) << arguments;
  }
}

}  // namespace
}  // namespace kvcap::trace_test
