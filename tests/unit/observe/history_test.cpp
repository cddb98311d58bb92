// The history in Prometheus beside the scrapes that it was made of.
#include "observe/history.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "observe/observation.h"
#include "observe/prometheus.h"
#include "unit/prometheus_server.h"

namespace kvcap::history_test {
namespace {

constexpr double kBegin_s = 1.8e9;

// A server of two engines that has answered so many requests.
std::string vllm_page(int requests, double started_s = 1.7e9) {
  std::string text = "process_start_time_seconds " + std::to_string(started_s) + "\n";
  for (const std::string engine : {"0", "1"}) {
    const auto labels = [&](const std::string& more) {
      return "{engine=\"" + engine + "\",model_name=\"org/m\"" + more + "} ";
    };
    const auto n = [&](double each) { return std::to_string(each * requests) + "\n"; };
    text += "vllm:request_success_total" + labels(",finished_reason=\"stop\"") + n(1) +
            "vllm:request_success_total" + labels(",finished_reason=\"length\"") + n(2) +
            "vllm:prefix_cache_queries_total" + labels("") + n(100) + "vllm:prefix_cache_hits_total" +
            labels("") + n(40) + "vllm:kv_offload_total_bytes_total" +
            labels(",transfer_type=\"CPU_to_GPU\"") + n(1e6) + "vllm:num_requests_running" + labels("") +
            std::to_string(requests % 7) + "\n" + "vllm:time_to_first_token_seconds_bucket" +
            labels(",le=\"0.1\"") + n(2) + "vllm:time_to_first_token_seconds_bucket" +
            labels(",le=\"+Inf\"") + n(3) + "vllm:time_to_first_token_seconds_sum" + labels("") + n(0.25) +
            "vllm:cache_config_info" +
            labels(",block_size=\"16\",num_gpu_blocks=\"1000\",cache_dtype=\"auto\"") + "1\n";
  }
  return text;
}

std::string sglang_page(int requests) {
  const std::string labels = "{engine_type=\"unified\",model_name=\"org/m\",tp_rank=\"0\"} ";
  const std::string n = std::to_string(requests) + "\n";
  return "sglang:num_requests_total" + labels + n + "sglang:num_running_reqs" + labels + "3\n" +
         "sglang:request_success_created" + labels + "1.7e9\n" + "sglang:e2e_request_latency_seconds_sum" +
         labels + n +
         "sglang:e2e_request_latency_seconds_bucket{le=\"+Inf\",engine_type=\"unified\",model_name=\"org/"
         "m\",tp_rank=\"0\"} " +
         n;
}

const std::map<std::string, std::string> kTarget = {
    {"instance", "10.0.0.1:8000"}, {"job", "vllm"}, {"node", "a\"b"}};

// `scrapes` pages, one every `every_s`.
std::vector<StoredScrape> scraped(int scrapes, double every_s, const std::function<std::string(int)>& page,
                                  const std::map<std::string, std::string>& target = kTarget) {
  std::vector<StoredScrape> all;
  for (int i = 0; i < scrapes; ++i) all.push_back({target, kBegin_s + every_s * i, page(i)});
  return all;
}

std::vector<std::string> lines_of(const std::vector<Snapshot>& samples) {
  std::vector<std::string> lines = {log_header("", 0, samples.front())};
  for (const Snapshot& one : samples) lines.push_back(log_line(one));
  return lines;
}

// The log of the scrapes themselves.
std::vector<std::string> expected(const std::vector<StoredScrape>& scrapes) {
  std::vector<Snapshot> samples;
  for (const StoredScrape& one : scrapes) {
    if (!one.page.empty())
      samples.push_back(snapshot_of(parse_metrics(one.page, "page"), one.unix_s, "page"));
  }
  return lines_of(samples);
}

HistoryOptions span(double seconds, double step_s, double start_s = kBegin_s) {
  return {.start_s = start_s, .end_s = kBegin_s + seconds, .step_s = step_s};
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(History, IsTheLogOfTheScrapesThatPrometheusMade) {
  const auto restarted = [](int i) { return vllm_page(i < 5 ? 100 + 3 * i : i, i < 5 ? 1.7e9 : 1.8e9 + 70); };
  for (const auto& page : {std::function<std::string(int)>(restarted), {sglang_page}}) {
    const std::vector<StoredScrape> scrapes = scraped(9, 15, page);
    const PrometheusServer server(scrapes);
    // Steps as long as the interval, shorter, and beside the scrapes.
    for (const HistoryOptions& options : {span(120, 15), span(125, 5), span(133, 15, kBegin_s + 7)}) {
      const ObservedLog log = read_history(server.address(), options);
      EXPECT_EQ(lines_of(log.samples), expected(scrapes)) << options.step_s << " " << options.start_s;
      EXPECT_TRUE(log.failures.empty());
      EXPECT_EQ(log.every_s, options.step_s);
    }
  }
}

TEST(History, NamesTheServerAsItsAddress) {
  const PrometheusServer server(scraped(2, 15, [](int i) { return vllm_page(i); }));
  HistoryOptions options = span(15, 15);
  options.matchers = "job=\"vllm\"";
  EXPECT_EQ(read_history(server.address() + "/", options).address,
            server.address() + "/ {job=\"vllm\",instance=\"10.0.0.1:8000\"}");
}

TEST(History, LongerThanOneAnswerIsReadInParts) {
  const auto small = [](int i) {
    return "vllm:num_requests_running 1\nvllm:request_success_total " + std::to_string(i) + "\n";
  };
  const std::vector<StoredScrape> scrapes = scraped(4500, 1, small);
  const PrometheusServer server(scrapes);
  const ObservedLog log = read_history(server.address(), span(4499, 1));
  EXPECT_EQ(lines_of(log.samples), expected(scrapes));
  // The second part begins with the scrape that the first one ended with.
  const ObservedLog fine = read_history(server.address(), span(1999.5, 0.5));
  EXPECT_EQ(fine.samples.size(), 2000U);
}

TEST(History, WithAGapHasFailedScrapes) {
  const std::vector<StoredScrape> scrapes =
      scraped(9, 15, [](int i) { return i == 3 || i == 4 ? "" : vllm_page(i); });
  const PrometheusServer server(scrapes);
  // Nor are times before the first or after the last scrape failures.
  const ObservedLog log = read_history(server.address(), span(900, 15, kBegin_s - 60));
  EXPECT_EQ(lines_of(log.samples), expected(scrapes));
  ASSERT_EQ(log.failures.size(), 2U);
  EXPECT_EQ(log.failures[0].unix_s, kBegin_s + 45);
  EXPECT_EQ(log.failures[1].reason, "Prometheus has no values for 2027-01-15 08:01:00 UTC");
}

TEST(History, KeepsValuesThatNoServerCanHaveAsAScrapeDoes) {
  const std::vector<StoredScrape> scrapes = scraped(2, 15, [](int i) {
    return "vllm:num_requests_running +Inf\nvllm:request_success_total " +
           std::string(i == 0 ? "NaN" : "-5") + "\nvllm:prefix_cache_hits_total 1e-3\n";
  });
  const PrometheusServer server(scrapes);
  EXPECT_EQ(lines_of(read_history(server.address(), span(15, 15)).samples), expected(scrapes));
}

TEST(History, OfSeveralServersNamesTheLabelsThatPickOne) {
  std::vector<StoredScrape> scrapes;
  for (const char* pod : {"llama-0", "llama-1"}) {
    const std::vector<StoredScrape> one =
        scraped(3, 15, [](int i) { return vllm_page(i); }, {{"job", "vllm"}, {"pod", pod}, {"node", pod}});
    scrapes.insert(scrapes.end(), one.begin(), one.end());
  }
  const PrometheusServer server(scrapes);
  EXPECT_EQ(
      error_of([&] { read_history(server.address(), span(30, 15)); }),
      server.address() +
          ": found 2 servers: {pod=\"llama-0\"} (org/m), {pod=\"llama-1\"} (org/m); allowed: one; pick it "
          "with --match, for example --match 'LABEL=\"VALUE\"'");
  EXPECT_EQ(server.queries(), 1U);
  HistoryOptions options = span(30, 15);
  options.matchers = "pod=\"llama-1\"";
  EXPECT_EQ(lines_of(read_history(server.address(), options).samples),
            expected({scrapes.begin() + 3, scrapes.end()}));
}

TEST(History, OfAServerWithoutLabelsDoesNotTakeOthersForIt) {
  const std::vector<StoredScrape> scrapes =
      scraped(3, 15,
              [](int i) {
                return "vllm:num_requests_running 1\nvllm:prompt_tokens_total " + std::to_string(i) + "\n";
              },
              {});
  std::vector<StoredScrape> all = scraped(3, 15, [](int) { return "process_start_time_seconds 5\n"; });
  all.insert(all.end(), scrapes.begin(), scrapes.end());
  const PrometheusServer server(all);
  const ObservedLog log = read_history(server.address(), span(30, 15));
  EXPECT_EQ(lines_of(log.samples), expected(scrapes));
  EXPECT_EQ(log.address, server.address() + " {}");
}

TEST(History, SaysWhatPrometheusSays) {
  PrometheusServer server({});
  const std::string address = server.address();
  const auto error = [&](const WebAnswer& page, const std::string& token = "") {
    server.answer_with(page);
    HistoryOptions options = span(30, 15);
    options.http.bearer_token = token;
    return error_of([&] { read_history(address, options); }).substr(address.size());
  };
  const auto refusal = [](const std::string& text) {
    return R"({"status": "error", "errorType": "x", "error": ")" + text + "\"}";
  };
  EXPECT_EQ(error({refusal("parse error: unexpected identifier"), 400}),
            ": Prometheus refuses the query: parse error: unexpected identifier");
  EXPECT_EQ(error({refusal("exceeded maximum resolution of 11,000 points"), 400}),
            ": Prometheus refuses the query: exceeded maximum resolution of 11,000 points; give a longer "
            "--step or a "
            "shorter time");
  EXPECT_EQ(error({refusal("too many samples"), 422}),
            ": Prometheus refuses the query: too many samples; give a longer --step or a shorter time");
  EXPECT_EQ(error({refusal("no store"), 200}), ": Prometheus reports the error: no store");
  EXPECT_EQ(error({"no", 401}),
            ": the server answers with status 401, expected 200; set PROMETHEUS_TOKEN to a bearer token");
  EXPECT_EQ(error({"no", 403}, "wrong"),
            ": the server answers with status 403, expected 200; it does not accept PROMETHEUS_TOKEN");
  EXPECT_EQ(server.authorization(), "Bearer wrong");
  EXPECT_EQ(
      error({"", 404}),
      ": the server answers with status 404, expected 200: no Prometheus server answers at this address");
  EXPECT_EQ(error({"", 503}), ": the server answers with status 503, expected 200");
  EXPECT_NE(error({"<html>"}).find(":1:1: "), std::string::npos);
  EXPECT_EQ(error({"{}"}),
            ": found JSON without a \"resultType\", allowed: the resultType \"matrix\" of an answer "
            "of Prometheus' /api/v1/query_range");
  EXPECT_EQ(
      error({R"({"status": "success", "data": {"resultType": "matrix", "result": []}})"}),
      ": found neither vllm:num_requests_running nor sglang:num_running_reqs from 2027-01-15 08:00:00 UTC to "
      "2027-01-15 08:00:30 UTC, allowed: a time and --match of a server that Prometheus scrapes");
}

TEST(History, SendsTheTokenToNoOtherServer) {
  PrometheusServer first({});
  const PrometheusServer second(scraped(2, 15, [](int i) { return vllm_page(i); }));
  first.answer_with({second.address() + "/api/v1/query_range?query=up&start=0&end=1&step=1", 302});
  HistoryOptions options = span(15, 15);
  options.http.bearer_token = "secret";
  EXPECT_NE(error_of([&] { read_history(first.address(), options); }).find("which is another host or port"),
            std::string::npos);
  EXPECT_EQ(second.queries(), 0U);
  options.http.allow_redirects = true;
  EXPECT_NE(error_of([&] { read_history(first.address(), options); }), "");
  EXPECT_EQ(first.authorization(), "Bearer secret");
  EXPECT_EQ(second.queries(), 1U);
  EXPECT_EQ(second.authorization(), "");
}

TEST(History, ReadsSavedAnswersInAnyParts) {
  const std::vector<StoredScrape> scrapes = scraped(6, 15, [](int i) { return vllm_page(i); });
  const auto part = [&](const std::string& metrics, int from, int to) {
    return query_range(scrapes, "{__name__=~\"" + metrics + "\"}", kBegin_s + 15 * from, kBegin_s + 15 * to,
                       15);
  };
  QueryAnswer answer;
  add_query_answer(answer, part("vllm:[^t].*", 0, 5), "a");
  // The times overlap.
  add_query_answer(answer,
                   "[" + part("vllm:t.*", 3, 5) + "," + part("vllm:t.*|process.*", 0, 4) + "," +
                       part("process.*", 5, 5) + "]",
                   "b");
  EXPECT_EQ(lines_of(history_of(answer, "a b").samples), expected(scrapes));
}

TEST(History, OfAnAnswerThatIsNoneIsAnError) {
  const auto error = [](const std::string& result) {
    return error_of([&] {
      QueryAnswer answer;
      add_query_answer(answer,
                       R"({"status": "success", "data": {"resultType": "matrix", "result": )" + result + "}}",
                       "file");
      history_of(answer, "file");
    });
  };
  const std::string metric = R"({"metric": {"__name__": "vllm:num_requests_running"}, "values": )";
  EXPECT_EQ(error("[" + metric + "[[1, \"2\"]]}]"), "");
  EXPECT_EQ(error("[" + metric + "[]}]"), "file: found series without values, allowed: at least one value");
  EXPECT_EQ(
      error("[]"),
      "file: found no metrics of an engine, allowed: metrics of vLLM (vllm:...) or SGLang (sglang:..., with "
      "--enable-metrics)");
  const std::string allowed =
      ", allowed: [UNIX_TIME, \"NUMBER\"] as a value of an answer of Prometheus' "
      "/api/v1/query_range";
  for (const char* pair :
       {"[1, 2]", "[1]", "[-1, \"2\"]", "[1e13, \"2\"]", "[1, \"2x\"]", "[1, \"\"]", "[\"1\", \"2\"]"})
    EXPECT_NE(error("[" + metric + "[" + pair + "]}]").find(allowed), std::string::npos) << pair;
  EXPECT_NE(error("[{}]").find("allowed: an object with \"metric\" and \"values\" as a series"),
            std::string::npos);
  EXPECT_NE(error("[{\"metric\": {\"job\": 3}}]").find("found 3, allowed: a text as a label"),
            std::string::npos);
}

}  // namespace
}  // namespace kvcap::history_test
