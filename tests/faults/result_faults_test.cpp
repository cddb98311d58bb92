// What a sweep has written, damaged or dated wrongly; and workers that are killed.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "faults/faults.h"

namespace kvcap::result_faults_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ResultFaults : public Faults {
 protected:
  void write_sweep(const std::string& parts) const {
    write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", )" + parts + "}");
  }
  std::vector<std::string> resume() const {
    return {"sweep", path("s.json"), "--out", path("made"), "--resume"};
  }
  std::string results() const { return path("made/results.sqlite"); }
  Json rows() const {
    const Outcome outcome = kvcap({"sweep", path("s.json"), "--out", path("made"), "--collect", "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out)["results"];
  }
  // Kills the worker of a process that has one at a time, once it has lived for a while. The worker must be
  // one that lives for minutes.
  static void kill_worker_of(pid_t pid) {
    std::vector<pid_t> before;
    for (int i = 0; i < 600; ++i) {
      const std::vector<pid_t> now = children_of(pid);
      if (now.size() == 1 && now == before) {
        kill(now[0], SIGKILL);
        return;
      }
      before = now;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ADD_FAILURE() << "no worker is at work";
    kill(pid, SIGINT);
  }
};

// Whatever byte is wrong: a file that is refused in one line, or a result; never a crash, never a hang.
TEST_F(ResultFaults, OfADamagedFileAreToldInOneLine) {
  write_sweep(R"("grid": {"workload.sessions": [20, 21, 22], "seed": [1, 2]})");
  ASSERT_EQ(kvcap(resume()).exit_code, 0);
  const std::string whole = read_file(results());
  ASSERT_GT(whole.size(), 8192U);
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  std::vector<std::string> damaged = {"",
                                      "SQLite format 3",
                                      std::string(whole.size(), '\0'),
                                      "garbage" + whole.substr(7),
                                      whole.substr(0, 100),
                                      whole.substr(0, 4096),
                                      whole.substr(0, whole.size() / 2),
                                      whole.substr(0, whole.size() - 1)};
  for (int i = 0; i < 6; ++i) {
    std::string one = whole;
    const std::size_t page = below(one.size() / 4096) * 4096;
    for (int bytes = 0; bytes < 200; ++bytes) one[page + below(4096)] = static_cast<char>(random());
    damaged.push_back(std::move(one));
  }
  for (const std::string& bytes : damaged) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"report", path("made"), "--format", "json"},
          {"sweep", path("s.json"), "--out", path("made"), "--collect", "--csv"},
          resume()}) {
      fs::remove_all(path("made"));
      fs::create_directory(path("made"));
      std::ofstream(results(), std::ios::binary) << bytes;
      const Outcome outcome = finish(start(command, with_little_memory));
      if (outcome.exit_code == 2) expect_refused(outcome, command[0]);
      EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 2 || outcome.exit_code == 3)
          << command[0] << " " << outcome.exit_code << " " << outcome.err;
    }
  }
}

// A clock that went back: everything that was written lies in the future.
TEST_F(ResultFaults, AreNoneWhereFilesAreFromTheFuture) {
  write_sweep(R"("grid": {"workload.sessions": [20, 21]})");
  std::vector<std::string> command = resume();
  command.insert(command.end(), {"--cache", path("cache")});
  ASSERT_EQ(kvcap(command).exit_code, 0);
  const Json before = rows();
  const auto future = fs::file_time_type::clock::now() + std::chrono::hours(24 * 365);
  for (const char* folder : {"made", "cache"}) {
    for (const auto& entry : fs::recursive_directory_iterator(path(folder)))
      fs::last_write_time(entry.path(), future);
  }
  write_sweep(R"("grid": {"workload.sessions": [20, 21, 22]})");
  const Outcome outcome = kvcap(command);
  EXPECT_TRUE(outcome.err.starts_with("sweep: 3 points: 3 ok (2 before); ")) << outcome.err;
  fs::remove_all(path("made"));
  EXPECT_TRUE(kvcap(command).err.starts_with("sweep: 3 points: 3 ok (3 cached)"));
  const Json after = rows();
  ASSERT_EQ(after.size(), 3U);
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i]);
}

TEST_F(ResultFaults, OfKilledWorkersCostTheirPointsOnlyAndAreMendedByAResume) {
  write_sweep(
      R"("points": [{"workload.sessions": 20}, {"workload.sessions": 600, "fidelity": "layer"},
      {"workload.sessions": 21}])");
  std::vector<std::string> command = resume();
  command.insert(command.end(), {"--jobs", "1"});
  const pid_t pid = start(command);
  kill_worker_of(pid);  // the second point
  kill_worker_of(pid);  // which runs once more
  Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("kvcap: 1 point without a result: the rows say why"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("3 points: 2 ok, 1 failed; "), std::string::npos) << outcome.err;
  EXPECT_NE(
      outcome.err.find("sweep: the first failure: the simulation of point 2, seed 1 died twice: Killed"),
      std::string::npos)
      << outcome.err;
  const Json before = rows();
  EXPECT_EQ(before[1]["status"], "failed");
  outcome = kvcap(resume());
  EXPECT_TRUE(outcome.err.starts_with("sweep: 3 points: 3 ok (2 before); ")) << outcome.err;
  const Json after = rows();
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[2], before[2]);
}

// SQLite itself goes on writing into a file that has no name any more.
TEST_F(ResultFaults, ThatVanishWhileASweepRunsAreNoSuccess) {
  write_sweep(
      R"("points": [{"workload.sessions": 20}, {"workload.sessions": 600, "fidelity": "layer"},
      {"workload.sessions": 21}])");
  const auto vanish = {std::function<void()>([this] { fs::remove(results()); }),
                       std::function<void()>([this] { fs::rename(path("made"), path("moved")); }),
                       std::function<void()>([this] { fs::rename(path("chat.json"), results()); })};
  for (const auto& happen : vanish) {
    fs::remove_all(path("made"));
    fs::remove_all(path("moved"));
    std::vector<std::string> command = resume();
    command.insert(command.end(), {"--jobs", "1"});
    const pid_t pid = start(command);
    wait_for_worker_of(pid);
    happen();
    const Outcome outcome = finish(pid);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("results.sqlite: "), std::string::npos) << outcome.err;
  }
}

// What was finished before is there, and what the workload was read from is needed no more.
TEST_F(ResultFaults, AreWholeWhereTheInputsOfASweepVanish) {
  ASSERT_EQ(kvcap({"trace", "generate", path("t.jsonl"), "--sessions", "20"}).exit_code, 0);
  write("base.json", R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", "hardware": "a100-40g-4x-pm9a3",
        "workload": {"source": {"kind": "sessions", "path": "t.jsonl"}}})");
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "base.json", "grid": {"seed": [1, 2, 3, 4]}})");
  const pid_t pid = start(resume());
  for (int i = 0; i < 600 && !fs::exists(results()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (const char* file : {"s.json", "base.json", "t.jsonl"}) fs::rename(path(file), path(file) + ".gone");
  const Outcome outcome = finish(pid);
  for (const char* file : {"s.json", "base.json", "t.jsonl"}) fs::rename(path(file) + ".gone", path(file));
  if (outcome.exit_code != 0) expect_refused(outcome, "a sweep whose files vanished");
  EXPECT_EQ(kvcap(resume()).exit_code, 0);
  for (const Json& row : rows()) EXPECT_EQ(row["status"], "ok");
}

TEST_F(ResultFaults, OfASweepOnAFullDiskStayAndAreCompletedByAResume) {
  std::string seeds = "0";
  for (int i = 1; i < 40; ++i) seeds += "," + std::to_string(i);
  write_sweep(R"("grid": {"workload.sessions": [5], "seed": [)" + seeds + "]}");
  const auto on_a_disk_of_200_kb = [] {
    const rlimit limit{200'000, 200'000};  // bytes of a file
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  expect_refused(finish(start(resume(), on_a_disk_of_200_kb)), "a sweep on a full disk");
  const Outcome outcome = kvcap(resume());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("40 ok ("), std::string::npos) << "some before: " << outcome.err;
}

TEST_F(ResultFaults, OfAnotherSweepStayAndAreTold) {
  write_sweep(
      R"("points": [{"workload.sessions": 19}, {"workload.sessions": 20}, {"workload.sessions": 21}])");
  ASSERT_EQ(kvcap(resume()).exit_code, 0);
  write_sweep(R"("points": [{"workload.sessions": 21}, {"workload.sessions": 22}])");
  const Outcome outcome = kvcap(resume());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.err.find("2 ok (1 before); the file also has 2 points of another sweep"),
            std::string::npos)
      << outcome.err;
}

TEST_F(ResultFaults, OfALockedFileAreOneLineWithinSeconds) {
  write_sweep(R"("points": [{"workload.sessions": 20}])");
  ASSERT_EQ(kvcap(resume()).exit_code, 0);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path("made/results.sqlite").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const Outcome outcome = kvcap(resume());
  sqlite3_close(other);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("results.sqlite: is locked by another program"), std::string::npos)
      << outcome.err;
}

#ifndef __SANITIZE_ADDRESS__  // which itself takes all addresses
TEST_F(ResultFaults, BeyondTheMemoryAreRefusedBeforeItIsTaken) {
  const std::string allowed = " in the 1.1 GB that this process may take\n";
  const std::string sessions =
      "workload.sessions: found 100000000, which take 40 GB of memory or more, allowed: at most 2684354" +
      allowed;
  const std::string chat = path("chat.json");
  EXPECT_EQ(refused({"run", chat, "--set", "workload.sessions=100000000"}, with_little_memory).err,
            "kvcap: " + sessions);
  EXPECT_EQ(
      refused({"trace", "generate", path("t.jsonl"), "--sessions", "100000000"}, with_little_memory).err,
      "kvcap: " + sessions);
  // One session of a file, drawn again and again.
  write("few.jsonl", R"({"id": 1, "turns": [{"input_tokens": 9, "output_tokens": 9}]})");
  EXPECT_EQ(refused({"trace", "stats", path("few.jsonl"), "--format", "sessions", "--sessions", "100000000"},
                    with_little_memory)
                .err,
            "kvcap: " + sessions);
  EXPECT_EQ(
      refused({"compare", chat, "--over", "seed=1,2", "--set", "replications=10000"}, with_little_memory).err,
      "kvcap: replications of all settings: found 20000, which take 1.8 GB of memory or more, allowed: at "
      "most 11930" +
          allowed);
  std::string seeds = "0";
  for (int i = 1; i < 3'000; ++i) seeds += "," + std::to_string(i);
  write_sweep(R"("grid": {"seed": [)" + seeds + R"(], "workload.sessions": [1)" + seeds + "]}");
  EXPECT_EQ(refused(resume(), with_little_memory).err,
            "kvcap: points: found 9000000, which take 1.8 GB of memory or more, allowed: at most 5368709" +
                allowed);
  EXPECT_FALSE(fs::exists(path("t.jsonl")));
}
#endif

TEST_F(ResultFaults, OfMoreSettingsThanAreComparedAreRefusedBeforeTheyAreMade) {
  std::string seeds = "0";
  for (int i = 1; i < 9'000; ++i) seeds += "," + std::to_string(i);
  const std::string line =
      "kvcap: compare: found more than 500 settings, allowed: at most 500; kvcap sweep runs more\n";
  for (std::vector<std::string> command :
       {std::vector<std::string>{"--over", "seed=" + seeds},
        {"--over", "seed=" + seeds, "--over", "workload.sessions=" + seeds, "--over", "name=" + seeds}}) {
    command.insert(command.begin(), {"compare", path("chat.json")});
    EXPECT_EQ(refused(command, with_little_memory).err, line);
  }
}

TEST_F(ResultFaults, OfAKilledWorkerAreOneLineForARunAndLeaveNoFolder) {
  const pid_t pid = start({"run", path("chat.json"), "--out", path("made/of/folders"), "--set",
                           "workload.sessions=20000", "--set", "fidelity=layer"});
  kill_worker_of(pid);
  kill_worker_of(pid);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(
      outcome.err,
      "kvcap: the simulation of chat (policy hcache, seed 1) died twice: Killed (memory may be short)\n");
  EXPECT_FALSE(fs::exists(path("made")));
}

// Of two settings the second never ends: the first is kept, and --resume takes it from there.
TEST_F(ResultFaults, OfAKilledComparisonAreKeptForAResume) {
  std::vector<std::string> command = {"compare", path("chat.json"),
                                      "--out",   path("made"),
                                      "--draws", "0",
                                      "--over",  "workload.sessions=20,20000",
                                      "--set",   "fidelity=layer"};
  const pid_t pid = start(command);
  const auto has_one = [&] {
    return fs::exists(path("made/.finished")) && !fs::is_empty(path("made/.finished"));
  };
  for (int i = 0; i < 600 && !has_one(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill_worker_of(pid);
  kill_worker_of(pid);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("setting 2 of 2"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("; finished runs are kept: --resume completes the others\n"), std::string::npos)
      << outcome.err;
  ASSERT_TRUE(has_one());
  // One that ends in place of the second.
  command[7] = "workload.sessions=20,21";
  command.push_back("--resume");
  EXPECT_EQ(kvcap(command).exit_code, 0);
  EXPECT_FALSE(fs::exists(path("made/.finished")));
  EXPECT_TRUE(fs::exists(path("made/compare.json")));
}

// Limits that a shell sets are named, with what raises them.
TEST_F(ResultFaults, OfFewFilesNameTheLimit) {
  write_sweep(R"("grid": {"workload.sessions": [5, 6, 7, 8]})");
  const auto with_few_files = [] {
    const rlimit limit{9, 9};
    setrlimit(RLIMIT_NOFILE, &limit);
  };
  std::vector<std::string> command = resume();
  command.insert(command.end(), {"--jobs", "4"});
  EXPECT_TRUE(refused(command, with_few_files)
                  .err.ends_with(": Too many open files (ulimit -n raises their number)\n"));
  const Outcome compared = refused({"compare", path("chat.json"), "--policies", "recompute,hcache", "--set",
                                    "workload.sessions=5", "--out", path("compared")},
                                   with_few_files);
  EXPECT_TRUE(compared.err.ends_with(": Too many open files (ulimit -n raises their number)\n"))
      << compared.err;
}

// Durations are measured with a clock that nobody sets, and no result depends on the date.
TEST(Clocks, AreSteady) {
  for (const auto& file : fs::recursive_directory_iterator(fs::path(KVCAP_SOURCE_DIR) / "sim")) {
    // An observation of a server has a date.
    if (!file.is_regular_file() || file.path().filename() == "scrape.cpp") continue;
    const std::string text = read_file(file.path());
    for (const char* clock : {"system_clock", "high_resolution_clock", "gettimeofday", "CLOCK_REALTIME",
                              "time(nullptr)", "time(NULL)", "last_write_time"})
      EXPECT_EQ(text.find(clock), std::string::npos) << file.path() << " " << clock;
  }
}

}  // namespace
}  // namespace kvcap::result_faults_test
