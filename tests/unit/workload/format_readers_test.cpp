// Logs of other programs: what becomes of their rows, that each file is known by how it begins, and what is
// refused.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "unit/raw_files.h"
#include "workload/logs/gz_file.h"
#include "workload/source.h"
#include "workload/sources_table.h"

namespace kvcap::format_readers_test {
namespace {

using Turns = std::vector<std::array<double, 3>>;  // time, input, output

class ForeignLog : public RawFiles {
 protected:
  // Reads a file that has to be known for what it is.
  Source open(const std::string& kind, const std::string& text) const {
    const WorkloadOptions options = holding(kind, text);
    EXPECT_EQ(guess_source(options.source.path).name, kind);
    return open_source(options, 1);
  }
  static Turns turns_of(const Source& source) {
    Turns turns;
    for (const Turn& turn : source.turns) {
      turns.push_back(
          {turn.time_s, static_cast<double>(turn.input_tokens), static_cast<double>(turn.output_tokens)});
    }
    return turns;
  }
  static std::vector<std::array<double, 2>> measured_of(const Source& source) {
    std::vector<std::array<double, 2>> list;
    for (const MeasuredTimes& one : source.measured) list.push_back({one.ttft_s, one.e2el_s});
    return list;
  }
};

using Measured = std::vector<std::array<double, 2>>;

std::string guide_request(const std::string& start, int input, int output, const std::string& more = "") {
  return R"({"request_id":"r","request_start_time":)" + start + R"(,"prompt_tokens":)" +
         std::to_string(input) + R"(,"output_tokens":)" + std::to_string(output) +
         R"(,"time_to_first_token_ms":250.0,"request_latency":2.5,"output":"text")" + more + "}";
}

TEST_F(ForeignLog, OfGuideLlmIsAllItsBenchmarks) {
  const std::string first = R"({"requests":{"successful":[)" + guide_request("1700000010.5", 30, 4) + "," +
                            guide_request("1700000010.0", 10, 2) +
                            R"(],"errored":[{"request_id":"e"}],"incomplete":[]}})";
  const std::string second =
      R"({"requests":{"successful":[)" +
      guide_request("1700000020.0", 50, 5, R"(,"info":{"conversation_id":"c","turn_index":0})") + "," +
      guide_request("1700000021.0", 60, 6, R"(,"info":{"conversation_id":"c","turn_index":1})") + "]}}";
  const Source source = open("guidellm", R"({"metadata":{"version":1},"args":{"rate":[1]},"benchmarks":[)" +
                                             first + "," + second + "]}");
  // The second turn's prompt of 60 has the 55 tokens before it.
  EXPECT_EQ(turns_of(source), (Turns{{0, 10, 2}, {0.5, 30, 4}, {10, 50, 5}, {11, 5, 6}}));
  EXPECT_EQ(measured_of(source)[3], (std::array<double, 2>{0.25, 2.5}));
  EXPECT_EQ(source.notes[1], "1 failed request is left out");
  EXPECT_EQ(source.notes[2], "the file has 2 benchmarks, which are read as one log, one after the other");
  EXPECT_EQ(refusal("guidellm", R"({"benchmarks":[{"requests":{"successful":[)" +
                                    guide_request("1700000010.5", 30, 4) + "," +
                                    guide_request("1700000010.5", 0, 4) + "]}}]}"),
            "t: benchmarks.0.requests.successful.1: prompt_tokens: found 0, allowed: an integer from 1 to "
            "10000000");
  EXPECT_EQ(refusal("guidellm", R"({"benchmarks":[{"requests":{}}]})"),
            "t: benchmarks.0.requests.successful: missing, required");
  EXPECT_EQ(refusal("guidellm", "{}"), "t: benchmarks: missing, required: a benchmarks.json of GuideLLM");
}

TEST_F(ForeignLog, OfGuideLlmLeavesOutWhatWasNotMeasured) {
  // Measured from 20 to 30 s; requests take 2.5 s. The second straddles the beginning.
  const std::string text =
      R"({"benchmarks":[{"scheduler_metrics":{"measure_start_time":1700000020.0,"measure_end_time":1700000030.0},)"
      R"("metrics":{"request_totals":{"successful":9}},"requests":{"successful":[)" +
      guide_request("1700000010.0", 10, 2) + "," + guide_request("1700000019.0", 20, 2) + "," +
      guide_request("1700000025.0", 30, 2) + "," + guide_request("1700000031.0", 40, 2) +
      R"(],"errored":[{},{}],"incomplete":[{}]}}]})";
  const Source source = open("guidellm", text);
  EXPECT_EQ(turns_of(source), (Turns{{0, 20, 2}, {6, 30, 2}}));
  EXPECT_EQ(source.notes[0], "1 warm-up, 1 cool-down, 1 cancelled and 2 failed requests are left out");
  EXPECT_EQ(source.notes[1],
            "the file has 4 of 9 successful requests (--sample-requests): the server saw a higher rate");
  EXPECT_EQ(source.warnings.size(), 1u);
}

TEST_F(ForeignLog, OfGuideLlmKeepsAMeasuredRequestWithoutALatency) {
  std::string unknown = guide_request("1700000025.0", 30, 2);
  unknown.replace(unknown.find(R"("request_latency":2.5,)"), 22, "");
  const Source source = open(
      "guidellm",
      R"({"benchmarks":[{"scheduler_metrics":{"measure_start_time":1700000020.0,"measure_end_time":1700000030.0},)"
      R"("requests":{"successful":[)" +
          guide_request("1700000021.0", 20, 2) + "," + unknown + "]}}]}");
  EXPECT_EQ(turns_of(source), (Turns{{0, 20, 2}, {4, 30, 2}}));
}

TEST_F(ForeignLog, OfGuideLlmBeginsAConversationAgainInEachBenchmark) {
  const auto benchmark = [](const std::string& start, int input) {
    return R"({"requests":{"successful":[)" +
           guide_request(start, input, 5, R"(,"info":{"conversation_id":"c"})") + "]}}";
  };
  const Source source = open("guidellm", R"({"benchmarks":[)" + benchmark("1700000020.0", 50) + "," +
                                             benchmark("1700000040.0", 60) + "]}");
  EXPECT_EQ(source.sessions.size(), 2u);
  EXPECT_EQ(turns_of(source), (Turns{{0, 50, 5}, {20, 60, 5}}));
}

std::string ai_request(const std::string& start_ns, int input, int output, const std::string& session) {
  return R"({"metadata":{"session_num":0,"x_correlation_id":")" + session +
         R"(","conversation_id":"d","turn_index":0,)" + R"("request_start_ns":)" + start_ns +
         R"(,"was_cancelled":false},"metrics":{"input_sequence_length":)" + R"({"value":)" +
         std::to_string(input) + R"(,"unit":"tokens"},"output_sequence_length":{"value":)" +
         std::to_string(output) + R"(,"unit":"tokens"},"time_to_first_token":{"value":255.5,"unit":"ms"},)" +
         R"("request_latency":{"value":1.5,"unit":"s"},"inter_chunk_latency":{"value":[5.0,6.0],"unit":"ms"}},"error":null})" +
         "\n";
}

TEST_F(ForeignLog, OfAiPerfHasSessionsAndItsGaps) {
  const std::string failed =
      R"({"metadata":{"request_start_ns":1759879161119147826},"metrics":{},"error":{"code":499}})"
      "\n";
  const Source source = open("aiperf", ai_request("1759813208532900363", 60, 3, "b") + failed +
                                           ai_request("1759813207532900363", 50, 9, "a") +
                                           ai_request("1759813209532900363", 100, 3, "b"));
  EXPECT_EQ(turns_of(source), (Turns{{0, 50, 9}, {1, 60, 3}, {2, 37, 3}}));
  EXPECT_EQ(measured_of(source)[0], (std::array<double, 2>{0.2555, 1.5}));
  EXPECT_EQ(source.measured_itls_s.size(), 6u);
  EXPECT_FLOAT_EQ(source.measured_itls_s[1], 0.006f);
  EXPECT_EQ(source.notes[1], "1 failed request is left out");
  std::string counted = ai_request("1759813207532900363", 50, 9, "a");
  counted.insert(counted.find(R"("input_sequence_length")"),
                 R"("usage_prompt_tokens":{"value":61,"unit":"tokens"},)");
  EXPECT_EQ(open("aiperf", counted).turns[0].input_tokens, 61u);
  EXPECT_EQ(refusal("aiperf", ai_request("-1", 1, 1, "a")),
            "t:1: metadata.request_start_ns: found -1, allowed: a time of at least 0");
  EXPECT_EQ(refusal("aiperf", R"({"metadata":{"request_start_ns":1},"metrics":{}})"),
            "t:1: metrics.input_sequence_length.value: missing, required");
}

TEST_F(ForeignLog, OfAiPerfLeavesOutWarmUpAndCancelledRequests) {
  const auto in_phase = [](const std::string& phase, const std::string& start_ns) {
    return replaced(ai_request(start_ns, 50, 9, "a"), R"("was_cancelled")",
                    R"("benchmark_phase":")" + phase + R"(","was_cancelled")");
  };
  const std::string warm = in_phase("warmup", "1759813207532900363");
  const std::string cancelled = replaced(in_phase("profiling", "1759813208532900363"),
                                         R"("was_cancelled":false)", R"("was_cancelled":true)");
  const Source source =
      open("aiperf", warm + warm + cancelled + in_phase("profiling", "1759813209532900363"));
  EXPECT_EQ(turns_of(source), (Turns{{0, 50, 9}}));
  EXPECT_EQ(source.notes[0], "2 warm-up and 1 cancelled requests are left out");
  EXPECT_EQ(refusal("aiperf", warm + warm), "t: contains no sessions: 2 warm-up requests are left out");
}

std::string perf_request(double start_s, const std::string& info, const std::string& error = "null") {
  return R"({"start_time":)" + std::to_string(start_s) + R"(,"end_time":)" + std::to_string(start_s + 2) +
         R"(,"request":"{\"prompt\": 1}","response":"x","info":)" + info + R"(,"error":)" + error + "}";
}

TEST_F(ForeignLog, OfInferencePerfHasItsTokensAndTheirTimes) {
  // As versions before and after multimodal requests write it; the clock's zero means nothing.
  const std::string old_info =
      R"({"input_tokens":100,"output_tokens":3,"output_token_times":[101.25,101.5,102.0]})";
  const std::string new_info =
      R"({"request_metrics":{"text":{"input_tokens":40}},"input_tokens":40,"extra_info":{"user_session":"u"},)"
      R"("response_metrics":{"output_tokens":7,"server_usage":{"completion_tokens":8},"output_token_times":[]}})";
  const Source source =
      open("inference_perf", "[" + perf_request(101, old_info) + "," + perf_request(100.5, new_info) + "," +
                                 perf_request(99, "null") + "," +
                                 perf_request(98, old_info, R"({"error_type":"t","error_msg":"m"})") + "]");
  EXPECT_EQ(turns_of(source), (Turns{{0, 40, 8}, {0.5, 100, 3}}));
  EXPECT_TRUE(std::isnan(source.measured[0].ttft_s)) << "it was not streamed";
  EXPECT_EQ(measured_of(source)[1], (std::array<double, 2>{0.25, 2}));
  EXPECT_EQ(source.measured_itls_s, (std::vector<float>{0.25f, 0.5f}));
  EXPECT_EQ(source.labels[0].id, "\"u\"");
  EXPECT_EQ(source.notes[1], "2 failed requests are left out");
  EXPECT_EQ(refusal("inference_perf", "[" + perf_request(1, R"({"output_tokens":3})") + "]"),
            "t: requests.0: info.request_metrics.text.input_tokens: missing, required");
  EXPECT_EQ(refusal("inference_perf", "[" + perf_request(101.4, old_info) + "]"),
            "t: requests.0: info.output_token_times: found 101.25, allowed: seconds that ascend, none before "
            "start_time");
  EXPECT_EQ(refusal("inference_perf", "{}"),
            "t: found no array of requests, allowed: inference-perf's per_request_lifecycle_metrics.json");
}

TEST_F(ForeignLog, OfVidurAndSplitwiseAreTimesAndLengths) {
  EXPECT_EQ(turns_of(open("vidur",
                          "arrived_at,num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
                          "0.0,374,44,418,8.5\n0.5,396.0,109,505,3.6\n")),
            (Turns{{0, 374, 44}, {0.5, 396, 109}}));
  const std::string lengths = ",num_prefill_tokens,num_decode_tokens\n0,374,44\n1,2,0\n";
  WorkloadOptions options = holding("vidur", lengths);
  EXPECT_EQ(guess_source(options.source.path).name, "vidur");
  options.arrivals.process = ArrivalProcess::poisson;
  const Source source = open_source(options, 1);
  ASSERT_EQ(source.turns.size(), 1u);
  EXPECT_TRUE(std::isnan(source.turns[0].time_s)) << "this file has lengths alone";
  EXPECT_EQ(source.notes[0], "1 request without output tokens is left out");

  const std::string header =
      "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n";
  EXPECT_EQ(turns_of(open("splitwise", header + "0,2,0,0.02,1,2162,5\n1,2,0,0.04,1,50,6\n")),
            (Turns{{0.02, 2162, 5}, {0.04, 50, 6}}));
  EXPECT_EQ(refusal("splitwise", header + "0,2,0,0.02,4,2162,5\n"),
            "t:2: batch_size: found 4, allowed: 1, as splitwise-sim writes");
}

TEST_F(ForeignLog, OfMultiRoundQaHasWholePromptsOfUsers) {
  const Source source = open("multi_round_qa",
                             "prompt_tokens,generation_tokens,ttft,generation_time,user_id,question_id,"
                             "launch_time,finish_time\n"
                             "1000,100,0.25,1.0,7,1,1700000000.0,1700000001.25\n"
                             "1120,100,0.5,1.0,7,2,1700000010.0,1700000011.5\n"
                             "0,0,0.0,1.0,8,1,1700000011.0,1700000012.0\n");
  // 1,120 less 1,000 + 100.
  EXPECT_EQ(turns_of(source), (Turns{{0, 1000, 100}, {10, 20, 100}}));
  EXPECT_EQ(measured_of(source)[1], (std::array<double, 2>{0.5, 1.5}));
  EXPECT_EQ(source.notes[0], "1 request without output tokens is left out");
}

TEST_F(ForeignLog, OfGenAiPerfHasEstimatedTokens) {
  const std::string text =
      R"({"service_kind":"openai","endpoint":"v1/chat/completions","experiments":[{"experiment":
{"mode":"concurrency","value":1},"requests":[{"timestamp":1000000000,"request_inputs":{"payload":
"{\"messages\":[{\"role\":\"user\",\"content\":\"one two three four\"}],\"model\":\"m\"}"},
"response_timestamps":[1250000000,1500000000],"response_outputs":[
{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"five \"}}]}\n\n"},
{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"six\"}}]}\n\n"}]}]}],"version":"1"})";
  const Source source = open("genai_perf", text);
  // 18 characters in 4 words: 0.135 x 18 + 0.78 x 4 = 5.55; 8 in 2: 1.08 + 1.56 = 2.64.
  EXPECT_EQ(turns_of(source), (Turns{{1, 6, 3}}));
  EXPECT_EQ(measured_of(source), (Measured{{0.25, 0.5}}));
  EXPECT_EQ(source.measured_itls_s, (std::vector<float>{0.25f}));
  EXPECT_NE(source.notes.back().find("estimated"), std::string::npos);
}

std::string lookup(const std::string& id, double time_s, int tokens, const std::string& hashes) {
  return R"({"timestamp":)" + std::to_string(time_s) + R"(,"request_id":")" + id +
         R"(","model_name":"m","chunk_size":256,"seq_len":)" + std::to_string(tokens) +
         R"(,"dtypes":["bfloat16"],"shapes":[[32,256,128]],"chunk_hashes":[)" + hashes + "]}\n";
}

TEST_F(ForeignLog, OfLmcacheLookupsSharesFullChunks) {
  const Source source = open("lmcache_lookup", lookup("a", 1711929601, 600, R"("0xab","0xcd")") +
                                                   lookup("b", 1711929602.5, 300, R"("0xab")") +
                                                   lookup("a", 1711929603, 600, R"("0xab","0xcd")"));
  EXPECT_EQ(turns_of(source), (Turns{{0, 600, 1}, {1.5, 300, 1}}));
  ASSERT_EQ(source.pieces.size(), 3u);
  EXPECT_EQ(source.pieces[0].key, source.pieces[2].key);
  EXPECT_EQ(source.pieces[1].tokens, 256u);
  EXPECT_EQ(source.notes, (std::vector<std::string>{"the log has no answers: every request generates 1 token",
                                                    "1 further lookup of the same requests is left out"}));
  EXPECT_EQ(refusal("lmcache_lookup", lookup("a", 1, 511, R"("0xab","0xcd")")),
            "t:1: chunk_hashes: found 2 hashes, allowed: at most 1, one for each full 256 tokens of seq_len");
  EXPECT_EQ(refusal("lmcache_lookup", lookup("a", 1, 512, R"("x","y")") + lookup("b", 2, 512, R"("y")")),
            "t:2: chunk_hashes.0: found 1 first, allowed: after 0, as before (equal keys have the same text "
            "before "
            "them)");
}

std::string chat_turn(int chat, int parent, double time_s, int input, const std::string& ids) {
  return R"({"chat_id":)" + std::to_string(chat) + R"(,"parent_chat_id":)" + std::to_string(parent) +
         R"(,"timestamp":)" + std::to_string(time_s) + R"(,"input_length":)" + std::to_string(input) +
         R"(,"output_length":7,"type":"text","turn":1,"hash_ids":[)" + ids + "]}\n";
}

TEST_F(ForeignLog, OfBailianHasChatsOfWholePrompts) {
  const Source source = open("bailian", chat_turn(1, -1, 0.5, 20, "5,6") + chat_turn(2, 99, 1, 33, "6,5,6") +
                                            chat_turn(3, 1, 2, 40, "5,6,6") + chat_turn(4, 3, 3, 16, "5"));
  // 3 follows 1 and 4 follows 3; 2 follows a chat from before the trace.
  EXPECT_EQ(turns_of(source), (Turns{{0.5, 20, 7}, {2, 40, 7}, {3, 16, 7}, {1, 33, 7}}));
  ASSERT_EQ(source.sessions.size(), 2u);
  EXPECT_EQ(source.histories, (std::vector<History>{History::context, History::context}));
  // 5 | 5,6(4 tokens) of 20; 5 | 5,6 | 5,6,6 of 40; 5 of 16; 6 | 6,5 | 6,5,6(1).
  ASSERT_EQ(source.pieces.size(), 9u);
  const auto key = [&](std::size_t i) { return source.pieces[i].key; };
  EXPECT_EQ(key(0), key(2));
  EXPECT_EQ(key(0), key(5));
  EXPECT_NE(key(1), key(3)) << "4 tokens of a block are not the block";
  EXPECT_NE(key(0), key(7)) << "block 5 stands after 6 here";
  EXPECT_EQ(source.pieces[1].tokens, 4u);
  EXPECT_EQ(source.pieces[8].tokens, 1u);
  const WorkloadOptions options =
      holding("bailian", chat_turn(1, -1, 0, 20, "5,6") + chat_turn(2, 1, 1, 40, "5,6,6"));
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.histories_of(workload.sessions[0]), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(refusal("bailian", chat_turn(1, -1, 0, 20, "5")),
            "t:1: hash_ids: found 1 ids, allowed: 2, one for each 16 tokens of input_length");
}

constexpr const char* kBlisHeader =
    "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,streaming,"
    "input_tokens,output_tokens,text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model,"
    "deadline_us,"
    "server_input_tokens,arrival_time_us,send_time_us,first_chunk_time_us,last_chunk_time_us,num_chunks,"
    "status,"
    "error_message,finish_reason\n";
std::string blis_row(const std::string& session, int round, const std::string& group, int input, int server,
                     int sent_us, const std::string& status = "ok") {
  return "1,c,t,s," + session + "," + std::to_string(round) + "," + group + "," +
         (group.empty() ? "0" : "100") + ",true," + std::to_string(input) + ",10,0,0,0,0,0,,0," +
         std::to_string(server) + ",1000000," + std::to_string(sent_us) + ",1500000,3000000,10," + status +
         ",\"a, b\",stop\n";
}

TEST_F(ForeignLog, OfBlisHasSharedPrefixesAndRounds) {
  const Source source =
      open("blis", kBlisHeader + blis_row("", 0, "g", 30, 0, 0) + blis_row("s", 0, "g", 40, 150, 1250000) +
                       blis_row("s", 1, "g", 60, 200, 1400000) + blis_row("", 0, "", 5, 0, 0, "timeout"));
  // 30 + 100; the server's 150; 200 less the 150 + 10 before.
  EXPECT_EQ(turns_of(source), (Turns{{1, 130, 10}, {1.25, 150, 10}, {1.4, 40, 10}}));
  EXPECT_EQ(measured_of(source)[0], (std::array<double, 2>{0.5, 2}));
  EXPECT_EQ(measured_of(source)[1], (std::array<double, 2>{0.25, 1.75}));
  ASSERT_EQ(source.pieces.size(), 2u);
  EXPECT_EQ(source.pieces[0].key, source.pieces[1].key);
  EXPECT_EQ(source.pieces[1].tokens, 100u);
  EXPECT_EQ(source.notes[0], "1 request whose status is not ok is left out");
  EXPECT_EQ(refusal("blis", kBlisHeader + blis_row("", 0, "g", 30, 0, 2000000)),
            "t:2: first_chunk_time_us: found 1500000, allowed: a time not before the request's start");
}

TEST_F(ForeignLog, OfBlisHasATokenBehindThePrefixThoughTheServerCountedFewer) {
  const Source source =
      open("blis", kBlisHeader + blis_row("", 0, "g", 30, 80, 0) + blis_row("", 0, "g", 30, 101, 1250000));
  EXPECT_EQ(turns_of(source), (Turns{{1, 101, 10}, {1.25, 101, 10}}));
}

std::string otlp_span(const std::string& start, const std::string& attributes) {
  return R"({"spanId":"ab","name":"chat m","startTimeUnixNano":")" + start +
         R"(","endTimeUnixNano":"1700000009000000000","attributes":[)" + attributes + "]}";
}
std::string int_attribute(const std::string& key, int value) {
  return R"({"key":")" + key + R"(","value":{"intValue":")" + std::to_string(value) + R"("}})";
}

TEST_F(ForeignLog, OfOpenTelemetryIsReadAsOtlp) {
  const std::string talk = R"(,{"key":"gen_ai.conversation.id","value":{"stringValue":"c"}})";
  const std::string first = int_attribute("gen_ai.usage.input_tokens", 100) + "," +
                            int_attribute("gen_ai.usage.output_tokens", 20) + talk +
                            R"(,{"key":"gen_ai.response.time_to_first_chunk","value":{"doubleValue":0.5}})";
  const std::string second = int_attribute("gen_ai.usage.prompt_tokens", 150) + "," +
                             int_attribute("gen_ai.usage.completion_tokens", 1) + talk;
  const std::string agent = int_attribute("gen_ai.usage.input_tokens", 250) + "," +
                            int_attribute("gen_ai.usage.output_tokens", 25) +
                            R"(,{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}})";
  const auto line = [](const std::string& spans) {
    return R"({"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[)" + spans + "]}]}]}\n";
  };
  const Source source =
      open("otel",
           line(otlp_span("1700000003000000000", second) + "," + otlp_span("1700000000000000000", agent)) +
               line(otlp_span("1700000001000000000", first) + "," + otlp_span("1700000001000000000", "") +
                    "," + otlp_span("1700000001000000000", int_attribute("gen_ai.usage.input_tokens", 8))));
  EXPECT_EQ(turns_of(source), (Turns{{0, 100, 20}, {2, 30, 1}}));
  EXPECT_EQ(measured_of(source)[0], (std::array<double, 2>{0.5, 8}));
  EXPECT_EQ(source.notes[2], "2 spans of other operations or without tokens are left out");
  EXPECT_EQ(source.notes[3], "1 call without output tokens (failed, embeddings) is left out");
  EXPECT_EQ(
      refusal("otel", line(otlp_span("soon", first))),
      "t: object 1, span \"ab\": startTimeUnixNano: found \"soon\", allowed: a number of ns from 0 to 9e+18");
}

TEST_F(ForeignLog, OfOpenTelemetryIsReadFlat) {
  const Source source = open("otel", R"({"name":"chat","start_time":"2024-01-01T00:00:01.5Z","attributes":
{"gen_ai.usage.input_tokens":7,"gen_ai.usage.output_tokens":8}}
{"name":"chat","start_time":"2024-01-01T00:00:00Z","gen_ai.usage.input_tokens":5,"gen_ai.usage.output_tokens":6})");
  EXPECT_EQ(turns_of(source), (Turns{{0, 5, 6}, {1.5, 7, 8}}));
  EXPECT_TRUE(source.measured.empty());
}

// A flat span with all that a call needs, in the names of today.
constexpr const char* kFlatSpan =
    R"({"startTimeUnixNano":1000000000,"endTimeUnixNano":4000000000,"gen_ai.usage.input_tokens":7,)"
    R"("gen_ai.usage.output_tokens":8,"gen_ai.response.time_to_first_chunk":0.5})";

TEST_F(ForeignLog, OfOpenTelemetryIsReadUnderEveryNameOfItsFields) {
  const std::pair<const char*, std::vector<const char*>> fields[] = {
      {"startTimeUnixNano", {"start_time_unix_nano"}},
      {"endTimeUnixNano", {"end_time_unix_nano"}},
      {"gen_ai.usage.input_tokens", {"gen_ai.usage.prompt_tokens"}},
      {"gen_ai.usage.output_tokens", {"gen_ai.usage.completion_tokens"}},
      {"gen_ai.response.time_to_first_chunk",
       {"gen_ai.server.time_to_first_token", "gen_ai.latency.time_to_first_token"}}};
  const auto expect_all = [this](const std::string& span, const char* name) {
    const Source source = open_source(holding("otel", span), 1);
    EXPECT_EQ(turns_of(source), (Turns{{1, 7, 8}})) << name;
    EXPECT_EQ(measured_of(source), (Measured{{0.5, 3}})) << name;
  };
  expect_all(kFlatSpan, "today's");
  for (const auto& [today, others] : fields) {
    for (const char* other : others) expect_all(replaced(kFlatSpan, today, other), other);
  }
  // These are dates, or seconds.
  const std::string dated =
      replaced(replaced(kFlatSpan, R"("startTimeUnixNano":1000000000)", R"("START":"1970-01-01T00:00:01Z")"),
               R"("endTimeUnixNano":4000000000)", R"("END":4)");
  for (const auto& [start, end] : {std::pair{"start_time", "end_time"}, {"startTime", "endTime"}}) {
    expect_all(replaced(replaced(dated, "START", start), "END", end), start);
  }
}

TEST_F(ForeignLog, OfOpenTelemetryHasCallsOfTheseOperationsAlone) {
  const auto calls = [this](const char* operation) {
    const std::string span =
        replaced(kFlatSpan, "{", R"({"gen_ai.operation.name":")" + std::string(operation) + R"(",)");
    return open_source(holding("otel", span + "\n" + kFlatSpan), 1).turns.size() - 1;
  };
  for (const char* one : {"chat", "text_completion", "generate_content"}) EXPECT_EQ(calls(one), 1u) << one;
  for (const char* one : {"embeddings", "execute_tool", "Chat"}) EXPECT_EQ(calls(one), 0u) << one;
}

TEST_F(ForeignLog, OfOpenTelemetryMayEndACallAsItStartsAndNotBefore) {
  const auto ending = [](const char* ns) { return replaced(kFlatSpan, "4000000000", ns); };
  const std::string at_once =
      replaced(ending("1000000000"), R"("gen_ai.response.time_to_first_chunk":0.5)", R"("x":1)");
  EXPECT_EQ(open_source(holding("otel", at_once), 1).measured[0].e2el_s, 0);
  EXPECT_EQ(refusal("otel", ending("999999999")),
            "t: object 1: endTimeUnixNano: found 999999999, allowed: a time not before startTimeUnixNano");
}

TEST_F(ForeignLog, OfBurstGptHasSessionsInItsThirdPart) {
  const Source source =
      open("burstgpt",
           "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
           "10.0,s,43,GPT-4,100,50,150,Conversation log\n"
           "20.0,,2,ChatGPT,36,29,65,API log\n"
           "30.0,s,1,GPT-4,170,5,175,Conversation log\n"
           "40.0,s,1,GPT-4,90,5,95,Conversation log\n");
  EXPECT_EQ(turns_of(source), (Turns{{10, 100, 50}, {30, 20, 5}, {40, 90, 5}, {20, 36, 29}}));
  EXPECT_EQ(source.parents[2], kNoParent);
  EXPECT_NE(source.notes[0].find("in 1 of 2 later turns nothing is left"), std::string::npos)
      << source.notes[0];
}

TEST_F(ForeignLog, OfAzure2024IsThatOf2023) {
  EXPECT_EQ(turns_of(open("azure",
                          "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                          "2024-05-10 00:00:00.009930+00:00,2162,5\n"
                          "2024-05-10 00:00:01.009930+00:00,2399,6\n")),
            (Turns{{0, 2162, 5}, {1, 2399, 6}}));
}

// The files that fuzzing begins with are one of each kind.
TEST(SourceTable, KnowsTheFilesOfEachKindAndTakesNoOthers) {
  const std::filesystem::path corpus = std::filesystem::path(KVCAP_SOURCE_DIR) / "tests/fuzz/corpus";
  int files = 0;
  for (const SourceRow& row : source_table()) {
    if (row.is_generated) continue;
    for (const auto& file : std::filesystem::directory_iterator(corpus / row.name)) {
      EXPECT_EQ(guess_source(file.path().string()).name, row.name) << file.path();
      ++files;
    }
  }
  EXPECT_GE(files, 17);
}

TEST_F(ForeignLog, IsOpenedWhenCompressedAndRefusedWhenBroken) {
  const std::string text =
      R"({"benchmarks":[{"requests":{"successful":[)" + guide_request("1.5", 1, 1) + "]}}]}";
  EXPECT_EQ(turns_of(open("guidellm", gzip(text))), (Turns{{1.5, 1, 1}}));
  EXPECT_EQ(refusal("guidellm", text.substr(0, 60)).rfind("t: syntax error", 0), 0u)
      << refusal("guidellm", text.substr(0, 60));
  EXPECT_EQ(refusal("guidellm", gzip(text).substr(0, 40)), "t: cannot be read: unexpected end of file");
  EXPECT_EQ(refusal("otel", std::string(200, '[')), "t: is nested deeper than 100 levels");
}

}  // namespace
}  // namespace kvcap::format_readers_test
