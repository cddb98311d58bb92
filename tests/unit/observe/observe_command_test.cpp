// kvcap observe against a small real server: one that answers, one that is slow, fails, dies or starts over.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "unit/cli.h"
#include "unit/metrics_server.h"
#include "unit/prometheus_server.h"

namespace kvcap::observe_command_test {
namespace {

using Json = nlohmann::json;

// After so many requests, each of 100 tokens of which 40 were found.
std::string page(int requests) {
  const std::string n = std::to_string(requests);
  return "vllm:request_success_total{engine=\"0\",finished_reason=\"stop\",model_name=\"m\"} " + n + ".0\n" +
         "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} " + n + "00.0\n" +
         "vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} " + std::to_string(40 * requests) +
         ".0\n" + "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2.0\n" +
         "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.1\",model_name=\"m\"} " + n + ".0\n" +
         "vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"+Inf\",model_name=\"m\"} " + n + ".0\n" +
         "vllm:time_to_first_token_seconds_sum{engine=\"0\",model_name=\"m\"} " + n + ".0\n";
}

class ObserveCommand : public Cli {
 protected:
  // Observes until the server has served so many scrapes, then ends as Ctrl-C does.
  Outcome observe_until(const MetricsServer& server, int served, const std::string& every = "0.02",
                        const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"observe", server.address(), "--every", every,
                                          "--out",   path("log"),      "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const pid_t pid = start(arguments);
    EXPECT_TRUE(server.wait_until_served(served));
    kill(pid, SIGINT);
    return finish(pid);
  }
};

TEST_F(ObserveCommand, CtrlCEndsTheObservationWithWhatWasGathered) {
  const MetricsServer server([](int request) { return ServedPage{page(10 * request)}; });
  const Outcome outcome = observe_until(server, 5);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json seen = Json::parse(outcome.out);
  const auto scrapes = seen["scrapes"].get<int>();
  EXPECT_GE(scrapes, 4);
  EXPECT_EQ(seen["counters"]["requests"], 10 * (scrapes - 1));
  EXPECT_EQ(seen["token_hit_rate"], 0.4);
  EXPECT_EQ(seen["gauges"]["running"]["mean"], 2);
  EXPECT_EQ(seen["address"], server.address());
  // And the log says the same again.
  EXPECT_EQ(kvcap({"observe", path("log"), "--json"}).out, outcome.out);
}

TEST_F(ObserveCommand, EndsByItselfAfterTheTimeThatIsGiven) {
  const MetricsServer server([](int request) { return ServedPage{page(request)}; });
  const Outcome outcome = kvcap({"observe", server.address(), "--every", "0.5", "--for", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(server.served(), 3);  // at 0, 0.5 and 1 s
  EXPECT_NE(outcome.out.find("3 scrapes"), std::string::npos) << outcome.out;
}

TEST_F(ObserveCommand, AnErrorOfTheServerIsNotedAndNotTheEnd) {
  const MetricsServer server([](int request) {
    return request == 2 ? ServedPage{"oh", 500} : ServedPage{page(request)};
  });
  const Outcome outcome = observe_until(server, 6);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json seen = Json::parse(outcome.out);
  EXPECT_EQ(seen["failed_scrapes"], 1);
  EXPECT_EQ(seen["restarts"], 0);
  EXPECT_EQ(seen["notes"][0], "1 scrape failed; the last one: " + server.address() +
                                  ": the server answers with status 500, expected 200");
  EXPECT_NE(read_file(path("log")).find("\"failed\":"), std::string::npos);
}

TEST_F(ObserveCommand, AServerThatDiesLeavesWhatItSaid) {
  MetricsServer server([](int request) { return ServedPage{page(request)}; });
  const pid_t pid = start({"observe", server.address(), "--every", "0.05", "--out", path("log"), "--json"});
  ASSERT_TRUE(server.wait_until_served(3));
  server.stop();
  for (int i = 0; i < 1000 && read_file(path("log")).find("\"failed\":") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  kill(pid, SIGTERM);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json seen = Json::parse(outcome.out);
  EXPECT_GE(seen["scrapes"], 3);
  EXPECT_GE(seen["failed_scrapes"], 1);
}

TEST_F(ObserveCommand, AServerThatStartsOverIsCountedOn) {
  const MetricsServer server(
      [](int request) { return ServedPage{page(request < 3 ? 100 + request : request)}; });
  const Outcome outcome = observe_until(server, 7);
  const Json seen = Json::parse(outcome.out);
  EXPECT_EQ(seen["restarts"], 1);
  // 100, 101, 102, then 3, 4, ...: 2 before the restart, and all after it.
  const auto scrapes = seen["scrapes"].get<int>();
  EXPECT_EQ(seen["counters"]["requests"], 2 + scrapes - 1);
}

// It takes three intervals for each answer: scrapes in between are left out, none is lost.
TEST_F(ObserveCommand, ASlowServerIsScrapedAsOftenAsItAnswers) {
  const MetricsServer server([](int request) { return ServedPage{page(request), 200, 0.15}; });
  const Outcome outcome = observe_until(server, 3, "0.05");
  const Json seen = Json::parse(outcome.out);
  EXPECT_EQ(seen["failed_scrapes"], 0);
  EXPECT_GE(seen["scrapes"], 3);
}

TEST_F(ObserveCommand, AnAnswerThatTakesTooLongFails) {
  const MetricsServer server([](int request) {
    return ServedPage{page(request), 200, request == 0 ? 0 : 1.0};
  });
  const Outcome outcome =
      kvcap({"observe", server.address(), "--every", "0.1", "--for", "0.1", "--timeout", "0.2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 scrape failed"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("within 0.200 s"), std::string::npos) << outcome.out;
}

TEST_F(ObserveCommand, WhatIsNoServerOfMetricsIsRefusedInOneLine) {
  const MetricsServer web([](int) { return ServedPage{"<!doctype html>\n<p>hello"}; });
  const MetricsServer other([](int) { return ServedPage{"go_threads 3\n"}; });
  const MetricsServer broken([](int) { return ServedPage{"", 503}; });
  const auto refusal = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("log")));
    return outcome.err;
  };
  const auto of = [&](const std::string& address) {
    return refusal({"observe", address, "--out", path("log"), "--for", "1"});
  };
  EXPECT_NE(of(web.address()).find(":1: found \"<!doctype html>\""), std::string::npos);
  EXPECT_NE(of(other.address()).find("only metrics such as \"go_threads\""), std::string::npos);
  EXPECT_NE(of(broken.address()).find("status 503"), std::string::npos);
  EXPECT_NE(of(other.address() + "/elsewhere").find("status 404"), std::string::npos);
  EXPECT_NE(of("http://127.0.0.1:1").find("http://127.0.0.1:1: no connection"), std::string::npos);
  EXPECT_NE(of("http://127.0.0.1:port").find("with the port \"port\""), std::string::npos);
  EXPECT_NE(of("http://").find("allowed: http://HOST[:PORT][/PATH]"), std::string::npos);
  EXPECT_NE(refusal({"observe", path("nothing.txt")}).find("cannot be read"), std::string::npos);
  EXPECT_NE(refusal({"observe", other.address(), "--every", "0"}).find("--every: found 0"),
            std::string::npos);
  EXPECT_NE(refusal({"observe", other.address(), path("chat.json")}).find("one address, or files"),
            std::string::npos);
}

TEST_F(ObserveCommand, ALogThatIsThereIsNotOverwritten) {
  const MetricsServer server([](int request) { return ServedPage{page(request)}; });
  write("log", "mine");
  const Outcome outcome = kvcap({"observe", server.address(), "--for", "1", "--out", path("log")});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--out: " + path("log") + " already exists; choose another file or remove it"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(read_file(path("log")), "mine");
  EXPECT_EQ(server.served(), 0);
  // Nor by another command: a server's past cannot be made again.
  write("metrics.txt", page(3));
  std::filesystem::remove(path("log"));
  ASSERT_EQ(kvcap({"observe", path("metrics.txt"), "--out", path("log")}).exit_code, 0);
  EXPECT_EQ(kvcap({"run", path("chat.json"), "--perfetto", path("log")}).exit_code, 2);
}

std::string stamped(int requests, const std::string& ms) {
  std::string text = page(requests);
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + ms.size() + 2))
    text.insert(at, " " + ms);
  return text;
}

TEST_F(ObserveCommand, SavedPagesAreScrapesAtTheirTimes) {
  // Given in any order.
  write("late.txt", stamped(30, "1700000020000"));
  write("early.txt", stamped(10, "1700000000000"));
  const Outcome outcome = kvcap({"observe", path("late.txt"), path("early.txt"), "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json seen = Json::parse(outcome.out);
  EXPECT_EQ(seen["duration_s"], 20);
  EXPECT_EQ(seen["requests_per_s"], 1);
  EXPECT_TRUE(seen["notes"].empty()) << seen["notes"];
}

TEST_F(ObserveCommand, RedirectionsAreFollowed) {
  const MetricsServer server([](int request) { return ServedPage{page(request)}; });
  const Outcome outcome = kvcap({"observe", server.address() + "/moved", "--for", "0.01", "--every", "0.1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

// Three scrapes, as Prometheus has them: 20 s apart from 2023-11-14T22:13:20Z on.
std::vector<StoredScrape> three_scrapes(const std::string& instance) {
  std::vector<StoredScrape> scrapes;
  for (int i = 0; i < 3; ++i)
    scrapes.push_back({{{"instance", instance}, {"job", "vllm"}}, 1.7e9 + 20 * i, page(10 + 5 * i * i)});
  return scrapes;
}

TEST_F(ObserveCommand, AHistoryIsSummarisedAndLoggedAsItsScrapes) {
  const PrometheusServer server(three_scrapes("a:8000"));
  std::vector<std::string> pages = {"observe"};
  for (int i = 0; i < 3; ++i) {
    write("page" + std::to_string(i), stamped(10 + 5 * i * i, std::to_string(1700000000 + 20 * i) + "000"));
    pages.push_back(path("page" + std::to_string(i)));
  }
  pages.emplace_back("--json");
  Json scrapes = Json::parse(kvcap(pages).out);
  setenv("PROMETHEUS_TOKEN", "secret\n", 1);
  for (const std::vector<std::string>& times :
       {std::vector<std::string>{"--start", "2023-11-14T22:13:20Z", "--end", "2023-11-14T23:14:00+01:00"},
        {"--start", "1700000000", "--end", "1700000040.5"},
        {"--last", "1min", "--end", "2023-11-14 22:14:00"}}) {
    std::vector<std::string> arguments = {"observe",   "--history", server.address(),     "--step",
                                          "20s",       "--match",   " {job=\"vllm\", } ", "--out",
                                          path("log"), "--json"};
    arguments.insert(arguments.end(), times.begin(), times.end());
    const Outcome outcome = kvcap(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    Json history = Json::parse(outcome.out);
    EXPECT_EQ(history["address"], server.address() + " {job=\"vllm\",instance=\"a:8000\"}");
    history["address"] = scrapes["address"];
    EXPECT_EQ(history, scrapes) << times[1];
    EXPECT_EQ(kvcap({"observe", path("log"), "--json"}).out, outcome.out);
    std::filesystem::remove(path("log"));
  }
  unsetenv("PROMETHEUS_TOKEN");
  EXPECT_EQ(server.authorization(), "Bearer secret");
}

TEST_F(ObserveCommand, AHistoryEndsNow) {
  std::vector<StoredScrape> scrapes = three_scrapes("a:8000");
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const double now_s = std::chrono::duration<double>(since_1970).count();
  for (int i = 0; i < 3; ++i) scrapes[i].unix_s = now_s - 100 + 45 * i;
  const PrometheusServer server(scrapes);
  const Outcome outcome =
      kvcap({"observe", "--history", server.address(), "--last", "2min", "--step", "5", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["scrapes"], 3);
}

TEST_F(ObserveCommand, SavedAnswersOfPrometheusAreAHistory) {
  write("a.json", query_range(three_scrapes("a:8000"), "{__name__=~\"vllm:.*\"}", 1.7e9, 1.7e9 + 40, 20));
  const Outcome outcome = kvcap({"observe", path("a.json"), "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json seen = Json::parse(outcome.out);
  EXPECT_EQ(seen["scrapes"], 3);
  EXPECT_EQ(seen["counters"]["requests"], 20);
  write("page", page(3));
  EXPECT_EQ(kvcap({"observe", path("a.json"), path("page")}).err,
            "kvcap: found scrapes and answers of Prometheus, allowed: files of one kind\n");
  std::filesystem::resize_file(path("a.json"), 200'000'001);
  EXPECT_EQ(kvcap({"observe", path("a.json")}).err,
            "kvcap: " + path("a.json") +
                ": found an answer of more than 200 MB, allowed: one file per metric or day\n");
}

TEST_F(ObserveCommand, TheTimesOfAHistoryAreChecked) {
  const PrometheusServer server(three_scrapes("a:8000"));
  const auto refusal = [&](std::vector<std::string> more, const std::string& source = "") {
    std::vector<std::string> arguments = {"observe", source.empty() ? server.address() : source};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
    return outcome.err;
  };
  EXPECT_EQ(
      refusal({"--history"}),
      "kvcap: --history: found no time, allowed: --last 2h, or --start TIME with or without --end TIME\n");
  EXPECT_EQ(refusal({"--history", "--last", "2h", "--start", "1"}),
            "kvcap: --history: found --last and --start, allowed: one of them\n");
  EXPECT_EQ(refusal({"--history", "--last", "2h", "--for", "9"}),
            "kvcap: --history: found --for, allowed: --last, the time to look back\n");
  EXPECT_EQ(
      refusal({"--last", "2h"}),
      "kvcap: --last: found without --history, allowed: with --history, which reads what Prometheus has "
      "stored\n");
  EXPECT_EQ(refusal({"--history", "--last", "2hours"}),
            "kvcap: --last: found \"2hours\", allowed: a time from 1s, such as 30s, 15min, 2h or 7d\n");
  EXPECT_EQ(
      refusal({"--history", "--start", "yesterday"}),
      "kvcap: --start: found \"yesterday\", allowed: 2026-01-31T09:05:00Z, another offset than Z, or Unix "
      "seconds\n");
  EXPECT_EQ(
      refusal({"--history", "--start", "50", "--end", "50"}),
      "kvcap: --start: found \"50\", allowed: a time that begins after 1970 and before --end, 1970-01-01 "
      "00:00:50 UTC\n");
  EXPECT_EQ(
      refusal({"--history", "--start", "0", "--end", "400000", "--step", "1"}),
      "kvcap: --step: found \"1\", allowed: at least 2s from 1970-01-01 00:00:00 UTC to 1970-01-05 15:06:40 "
      "UTC\n");
  EXPECT_EQ(refusal({"--history", "--last", "2h"}, path("chat.json")),
            "kvcap: --history: found \"" + path("chat.json") +
                "\", allowed: the address of one Prometheus server, http://HOST:9090\n");
  setenv("PROMETHEUS_TOKEN", "two\nlines", 1);
  EXPECT_EQ(
      refusal({"--history", "--last", "2h"}),
      "kvcap: PROMETHEUS_TOKEN: found a blank or another character that a token cannot contain, allowed: "
      "a bearer token\n");
  unsetenv("PROMETHEUS_TOKEN");
  EXPECT_EQ(server.queries(), 0U);
}

}  // namespace
}  // namespace kvcap::observe_command_test
