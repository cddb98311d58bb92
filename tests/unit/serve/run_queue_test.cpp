// Runs of kvcap serve: one at a time, bounded in number, cancelled with all their processes. A script stands
// in for kvcap.
#include "serve/run_queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "serve/child.h"

namespace kvcap::run_queue_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

bool comes_true(const std::function<bool()>& is_true) {
  for (int tries = 0; tries < 1000; ++tries) {
    if (is_true()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// True also for what nobody has waited for.
bool is_gone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z";
}

class RunQueues : public testing::Test {
 protected:
  RunQueues() : folder_(fs::temp_directory_path() / ("kvcap_queue_" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "out");
    // Called as "compare ... --progress --out FOLDER" and "report FOLDER -o FILE --title TITLE".
    std::ofstream(folder_ / "kvcap") << R"(#!/bin/sh
if [ "$1" = report ]; then echo "page of $2" > "$4"; exit; fi
case $2 in
long) mkdir -p "$5"; sleep 100 & echo $! > ")"
                                     << (folder_ / "pid").string() << R"("; wait ;;
bad) echo "kvcap: it is bad" >&2; exit 2 ;;
*) mkdir -p "$5"
   echo '{"progress":"simulating","share":0.5}' >&2
   echo '{"finished":"hcache","seed":1,"metrics":{"mean_ttft_ms":7}}' >&2
   echo 'kvcap: a warning' >&2
   echo "the answer" ;;
esac
)";
    fs::permissions(folder_ / "kvcap", fs::perms::owner_all);
  }
  ~RunQueues() override { fs::remove_all(folder_); }

  RunQueueOptions options() const {
    return {.program = (folder_ / "kvcap").string(),
            .folder = folder_ / "out",
            .most_waiting = 2,
            .most_kept = 3};
  }
  static Json run(const RunQueue& queue, int64_t id) { return Json::parse(queue.run_json(id)); }
  static bool reaches(const RunQueue& queue, int64_t id, const std::string& state) {
    return comes_true([&] { return run(queue, id)["state"] == state; });
  }
  // The process that a long run has started.
  pid_t grandchild() const {
    pid_t pid = 0;
    EXPECT_TRUE(comes_true([&] { return static_cast<bool>(std::ifstream(folder_ / "pid") >> pid); }));
    return pid;
  }

  fs::path folder_;
};

TEST_F(RunQueues, KeepWhatARunSaysAndItsReport) {
  RunQueue queue(options());
  EXPECT_EQ(queue.add({"compare", "short"}), 1);
  ASSERT_TRUE(reaches(queue, 1, "done"));
  const Json one = run(queue, 1);
  EXPECT_EQ(one["command"], "kvcap compare short");
  EXPECT_EQ(one["progress"], "simulating");
  EXPECT_EQ(one["share"], 0.5);
  EXPECT_EQ(one["finished"][0]["metrics"]["mean_ttft_ms"], 7);
  EXPECT_EQ(one["messages"], "kvcap: a warning\n");
  EXPECT_EQ(one["answer"], "the answer\n");
  EXPECT_EQ(queue.report(1), "page of " + (folder_ / "out/run-1").string() + "\n");
  EXPECT_EQ(queue.report(2), std::nullopt);
  EXPECT_EQ(queue.run_json(2), "");
}

TEST_F(RunQueues, RunOneAtATimeAndRefuseMoreThanMayWait) {
  RunQueue queue(options());
  queue.add({"compare", "long"});
  ASSERT_TRUE(reaches(queue, 1, "running"));
  EXPECT_EQ(queue.add({"compare", "short"}), 2);
  EXPECT_EQ(queue.add({"compare", "bad"}), 3);
  EXPECT_EQ(queue.add({"compare", "short"}), std::nullopt);
  EXPECT_EQ(run(queue, 2)["state"], "waiting");
  EXPECT_TRUE(queue.cancel(2));
  EXPECT_TRUE(queue.cancel(1));
  EXPECT_TRUE(reaches(queue, 1, "cancelled"));
  EXPECT_TRUE(reaches(queue, 3, "failed"));
  EXPECT_EQ(run(queue, 2)["state"], "cancelled");
  EXPECT_EQ(run(queue, 3)["messages"], "kvcap: it is bad\n");
  EXPECT_FALSE(queue.cancel(1)) << "it has ended";
  EXPECT_FALSE(queue.cancel(9)) << "there is none";
}

TEST_F(RunQueues, CancelARunWithItsProcessesAndItsFolder) {
  RunQueue queue(options());
  queue.add({"compare", "long"});
  const pid_t pid = grandchild();
  EXPECT_FALSE(is_gone(pid));
  queue.cancel(1);
  ASSERT_TRUE(reaches(queue, 1, "cancelled"));
  EXPECT_TRUE(comes_true([&] { return is_gone(pid); }));
  EXPECT_FALSE(fs::exists(folder_ / "out/run-1"));
}

TEST_F(RunQueues, EndWithTheRunThatIsRunning) {
  pid_t pid = 0;
  {
    RunQueue queue(options());
    queue.add({"compare", "long"});
    pid = grandchild();
    queue.add({"compare", "short"});
  }
  EXPECT_TRUE(comes_true([&] { return is_gone(pid); }));
  EXPECT_FALSE(fs::exists(folder_ / "out/run-2"));
}

TEST_F(RunQueues, ForgetTheOldestAndLeaveResultsOfEarlierSessions) {
  fs::create_directories(folder_ / "out/run-1");
  RunQueue queue(options());
  for (int64_t id = 2; id <= 8; ++id) {
    ASSERT_EQ(queue.add({"compare", "bad"}), id);
    ASSERT_TRUE(reaches(queue, id, "failed"));
  }
  const Json list = Json::parse(queue.list_json());
  EXPECT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0]["id"], 8);
  EXPECT_EQ(queue.run_json(2), "");
}

TEST_F(RunQueues, SayThatAProgramCannotBeStarted) {
  RunQueue queue({.program = (folder_ / "none").string(), .folder = folder_ / "out"});
  queue.add({"compare"});
  EXPECT_TRUE(reaches(queue, 1, "failed"));
}

TEST(RunChild, GivesBothOutputsAndTheExitCode) {
  std::string output, errors;
  const ChildEnd end =
      run_child("/bin/sh", {"-c", "echo out; echo err >&2; cat; ls /proc/self/fd | wc -l; exit 7"},
                {.on_output = [&](std::string_view text) { output += text; },
                 .on_errors = [&](std::string_view text) { errors += text; }});
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_FALSE(end.was_stopped);
  EXPECT_EQ(output, "out\n4\n") << "stdin, stdout, stderr, and the folder that ls reads";
  EXPECT_EQ(errors, "err\n");
  EXPECT_EQ(run_child("/bin/sh", {"-c", "kill -TERM $$"}, {}).exit_code, 128 + SIGTERM);
}

}  // namespace
}  // namespace kvcap::run_queue_test
