// kvcap serve as its users meet it: its one line, what it leaves behind, and Ctrl-C, which ends everything.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/embedded_pages.h"
#include "unit/cli.h"
#include "unit/web_client.h"

namespace kvcap::serve_command_line_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kLongRun =
    R"({"scenario": "demo", "policies": ["hcache"], "workload.sessions": "60000"})";
constexpr const char* kShortRun =
    R"({"scenario": "demo", "policies": ["hcache"], "workload.sessions": "5", "replications": "1", "draws": "0"})";

class ServeProgram : public Cli {
 protected:
  void SetUp() override {
    if (embedded_serve_page().html.empty()) GTEST_SKIP() << embedded_serve_page().missing;
  }

  static bool comes_true(const std::function<bool()>& is_true) {
    for (int tries = 0; tries < 1000; ++tries) {
      if (is_true()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  static bool is_gone(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    return !(file >> number >> name >> state) || state == "Z";
  }
  // Processes below a process, of all its threads.
  static std::vector<pid_t> all_below(pid_t pid) {
    std::vector<pid_t> all;
    std::error_code gone;
    for (const auto& thread : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
      std::ifstream list(thread.path() / "children");
      for (pid_t child; list >> child;) {
        all.push_back(child);
        for (const pid_t one : all_below(child)) all.push_back(one);
      }
    }
    return all;
  }

  pid_t serve(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "serve");
    write("out", "");
    const pid_t pid = start(arguments);
    EXPECT_TRUE(comes_true([&] { return read_file(path("out")).ends_with('\n'); }));
    const std::string line = read_file(path("out"));
    origin_ = line.substr(0, line.find("/?"));
    const std::size_t token = line.find("token=") + 6;
    token_ = line.substr(token, line.find(' ') - token);
    return pid;
  }
  ClientAnswer ask(const std::string& target, const std::string& body = "") const {
    return ask_server(origin_, {.method = body.empty() ? "GET" : "POST",
                                .target = target,
                                .headers = {{"X-Kvcap-Token", token_}, {"Content-Type", "application/json"}},
                                .body = body});
  }
  // Starts a long run and returns its processes: the comparison and at least one worker.
  std::vector<pid_t> start_long_run(pid_t server) const {
    EXPECT_EQ(ask("/api/runs", kLongRun).status, 201);
    std::vector<pid_t> processes;
    EXPECT_TRUE(comes_true([&] { return (processes = all_below(server)).size() >= 2; }));
    return processes;
  }
  static void expect_gone(const std::vector<pid_t>& processes) {
    for (const pid_t one : processes) EXPECT_TRUE(comes_true([one] { return is_gone(one); })) << one;
  }

  std::string origin_, token_;
};

TEST_F(ServeProgram, EndsAllItsProcessesAtCtrlC) {
  for (const int ending : {SIGINT, SIGTERM}) {
    setenv("TMPDIR", folder_.c_str(), 1);
    const pid_t pid = serve();
    unsetenv("TMPDIR");
    const std::vector<pid_t> processes = start_long_run(pid);
    for (int times = 0; times < 20 && kill(pid, ending) == 0; ++times) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const Outcome outcome = finish(pid);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_NE(outcome.out.find("Ctrl-C ends it"), std::string::npos) << outcome.out;
    expect_gone(processes);
    for (const auto& entry : fs::directory_iterator(folder_))
      EXPECT_EQ(entry.path().string().find("kvcap-serve"), std::string::npos) << entry.path();
  }
}

TEST_F(ServeProgram, LeavesNoProcessWhenItIsKilled) {
  const pid_t pid = serve({"--out", path("results")});
  const std::vector<pid_t> processes = start_long_run(pid);
  kill(pid, SIGKILL);
  finish(pid);
  expect_gone(processes);
}

TEST_F(ServeProgram, KeepsResultsInTheFolderOfOut) {
  const pid_t pid = serve({path("chat.json"), "--out", path("results")});
  EXPECT_EQ(Json::parse(ask("/api/form").body)["choices"]["scenarios"][1]["name"], path("chat.json"));
  ASSERT_EQ(ask("/api/runs", kShortRun).body, R"({"id":1})");
  EXPECT_TRUE(comes_true([&] { return Json::parse(ask("/api/runs/1").body)["state"] == "done"; }));
  const ClientAnswer report = ask("/runs/1/report");
  EXPECT_EQ(report.body, read_file(path("results") + "/run-1/report.html"));
  EXPECT_TRUE(report.headers.at("Content-Security-Policy").starts_with("sandbox allow-scripts "));
  kill(pid, SIGINT);
  EXPECT_EQ(finish(pid).exit_code, 0);
  const Json compared = Json::parse(read_file(path("results") + "/run-1/compare.json"));
  EXPECT_EQ(compared["results"][0]["policy"], "hcache");
}

TEST_F(ServeProgram, RefusesBadOptionsInALine) {
  EXPECT_EQ(kvcap({"serve", path("none.json")}).exit_code, 2);
  EXPECT_EQ(kvcap({"serve", "--port", "70000"}).err,
            "kvcap: --port: found \"70000\", allowed: an integer from 0 to 65535\n");
  EXPECT_EQ(kvcap({"serve", "--port", "x"}).err,
            "kvcap: --port: found \"x\", allowed: an integer from 0 to 65535\n");
  EXPECT_TRUE(
      kvcap({"serve", "--host", "0.0.0.0"})
          .err.starts_with(
              "kvcap: --host: found \"0.0.0.0\", allowed: none, because only this machine reaches the page"));
  const Outcome folder = kvcap({"serve", "--out", path("chat.json")});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_NE(folder.err.find("--out: "), std::string::npos) << folder.err;
}

}  // namespace
}  // namespace kvcap::serve_command_line_test
