// kvcap sweep as its users meet it: what lands in the results file, and what is left of it when the program
// is stopped in the middle.
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "unit/cli.h"

namespace kvcap::sweep_command_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using Rows = std::vector<std::vector<std::string>>;

// Null is "NULL".
Rows sql(const std::string& path, const std::string& query) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK) << path;
  sqlite3_busy_timeout(database, 10'000);
  Rows rows;
  const auto keep = [](void* all, int columns, char** values, char**) {
    std::vector<std::string>& row = static_cast<Rows*>(all)->emplace_back();
    for (int i = 0; i < columns; ++i) row.emplace_back(values[i] ? values[i] : "NULL");
    return 0;
  };
  char* error = nullptr;
  sqlite3_exec(database, query.c_str(), keep, &rows, &error);
  EXPECT_EQ(error, nullptr) << error << ": " << query;
  sqlite3_free(error);
  sqlite3_close(database);
  return rows;
}

class SweepCommand : public Cli {
 protected:
  // Quick points: three fields of a chat of 20 sessions.
  void write_sweep(const std::string& name, const std::string& parts) const {
    write(name, R"({"schema": "kvcap.sweep/1", "base": "chat.json", )" + parts + "}");
  }
  std::vector<std::string> command(const std::string& sweep, const std::string& out,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"sweep", path(sweep), "--out", path(out)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string results(const std::string& out) const { return path(out) + "/results.sqlite"; }
  // All rows but for what is no result.
  std::string exported(const std::string& sweep, const std::string& out) const {
    const Outcome outcome = kvcap(command(sweep, out, {"--collect", "--json"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }
};

TEST_F(SweepCommand, WritesARowAPointWithItsMetrics) {
  write_sweep("s.json", R"("grid": {"policy.name": ["kv_offload", "hcache"], "seed": [1, 2]},
      "points": [{"workload.sessions": 20}])");
  const Outcome outcome = kvcap(command("s.json", "swept"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("sweep: 4 points: 4 ok; ")) << outcome.err;
  const Outcome run = kvcap({"run", path("chat.json"), "--json", "--set", "policy.name=hcache", "--set",
                             "seed=2", "--set", "workload.sessions=20"});
  const Json result = Json::parse(run.out);
  const Rows rows =
      sql(results("swept"), R"(SELECT point, status, error, mean_ttft_ms, "cost.total_usd", bound_by,
      "stable.verdict", intervals, scenario FROM results WHERE "policy.name" = 'hcache' AND seed = 2)");
  ASSERT_EQ(rows.size(), 1U);
  const std::vector<std::string>& row = rows[0];
  EXPECT_EQ(row[0], "3");
  EXPECT_EQ(row[1], "ok");
  EXPECT_EQ(row[2], "NULL");
  EXPECT_NEAR(std::stod(row[3]), result["metrics"]["mean_ttft_ms"].get<double>(), 1e-9);
  EXPECT_NEAR(std::stod(row[4]), result["metrics"]["cost"]["total_usd"].get<double>(), 1e-9);
  EXPECT_EQ(row[5], result["metrics"]["bound_by"].get<std::string>());
  EXPECT_EQ(row[6], "undecided");  // of 20 sessions
  EXPECT_EQ(row[7], "NULL");
  EXPECT_EQ(Json::parse(row[8]), result["scenario"]);
  EXPECT_EQ(sql(results("swept"), "PRAGMA journal_mode"), Rows{{"wal"}});
  // Nothing but the file is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(path("swept")), {}), 1);
}

// As kvcap run makes it longer, and the point beside it not.
TEST_F(SweepCommand, MakesRunsLongerUntilTheyTellTheLongRun) {
  write_sweep(
      "s.json",
      R"("grid": {"workload.run_length": ["fixed", "steady"]}, "points": [{"workload.sessions": 40}])");
  const Outcome outcome = kvcap(command("s.json", "swept"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Rows rows =
      sql(results("swept"), "SELECT mean_ttft_ms, completed, \"stable.verdict\" FROM results ORDER BY point");
  ASSERT_EQ(rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const Outcome run = kvcap({"run", path("chat.json"), "--json", "--set", "workload.sessions=40", "--set",
                               std::string("workload.run_length=") + (i == 0 ? "fixed" : "steady")});
    const Json metrics = Json::parse(run.out)["metrics"];
    EXPECT_NEAR(std::stod(rows[i][0]), metrics["mean_ttft_ms"].get<double>(), 1e-9);
    EXPECT_EQ(std::stod(rows[i][1]), metrics["completed"].get<double>());
    EXPECT_EQ(rows[i][2], metrics["stable"]["verdict"].get<std::string>());
  }
  EXPECT_GE(std::stod(rows[1][1]), 2 * std::stod(rows[0][1]));
}

TEST_F(SweepCommand, CombinesReplications) {
  write_sweep("s.json", R"("points": [{"workload.sessions": 20, "replications": 3}])");
  ASSERT_EQ(kvcap(command("s.json", "swept")).exit_code, 0);
  const Outcome run =
      kvcap({"run", path("chat.json"), "--json", "--set", "workload.sessions=20", "--set", "replications=3"});
  const Rows rows = sql(results("swept"), "SELECT mean_ttft_ms, intervals FROM results");
  const Json result = Json::parse(run.out), intervals = Json::parse(rows.at(0)[1]);
  EXPECT_NEAR(std::stod(rows[0][0]), result["metrics"]["mean_ttft_ms"].get<double>(), 1e-9);
  EXPECT_EQ(intervals, result["intervals"]);
}

TEST_F(SweepCommand, ComputesIdenticalPointsOnce) {
  write_sweep("s.json", R"("points": [{"workload.sessions": 20}, {"workload.sessions": 20, "seed": 1}])");
  const Outcome outcome = kvcap(command("s.json", "swept"));
  EXPECT_TRUE(outcome.err.starts_with("sweep: 2 points, 1 different: 1 ok; ")) << outcome.err;
  EXPECT_EQ(sql(results("swept"), "SELECT count(*) FROM points"), Rows{{"1"}});
  EXPECT_EQ(sql(results("swept"), "SELECT count(mean_ttft_ms) FROM results"), Rows{{"2"}});
}

TEST_F(SweepCommand, MakesARowOfWhatFailsAndGoesOn) {
  write_sweep("s.json", R"("limits": {"timeout_s": 1}, "points": [{"workload.sessions": 20},
      {"model": "llama-2-70b"}, {"workload.sessions": 200000, "fidelity": "layer"}])");
  const Outcome outcome = kvcap(command("s.json", "swept"));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_NE(outcome.err.find("kvcap: 2 points without a result"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("3 points: 1 ok, 1 failed, 1 timed out"), std::string::npos) << outcome.err;
  const Rows rows =
      sql(results("swept"), "SELECT status, error, mean_ttft_ms IS NULL, scenario FROM results");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0][0], "ok");
  EXPECT_EQ(rows[1][0], "failed");
  EXPECT_NE(rows[1][1].find(": model llama-2-70b does not fit: "), std::string::npos) << rows[1][1];
  EXPECT_EQ(rows[1][2], "1");
  EXPECT_EQ(Json::parse(rows[1][3])["model"]["name"], "llama-2-70b");
  EXPECT_EQ(rows[2][0], "timeout");
  EXPECT_EQ(rows[2][1], "the simulation of point 3, seed 1 took longer than 1 s");
}

TEST_F(SweepCommand, LooksAtEverythingBeforeItRunsAnything) {
  write_sweep("s.json", R"("points": [{"seed": 1}, {"seed": -1}])");
  Outcome outcome = kvcap(command("s.json", "swept"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "kvcap: " + path("s.json") +
                ": points.1: seed=-1: found -1, allowed: an integer from 0 to 9007199254740991\n");
  EXPECT_FALSE(fs::exists(path("swept")));
  write("bad.jsonl", "{\"id\": 1}\n");
  write_sweep("s.json",
              R"("points": [{"seed": 1}, {"workload.source": {"kind": "sessions", "path": "bad.jsonl"}}])");
  outcome = kvcap(command("s.json", "swept"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("bad.jsonl:1"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(path("swept")));
  for (const char* shard : {"2/2", "1", "-1/2", "a/b", "1/2x"}) {
    outcome = kvcap(command("s.json", "swept", {"--shard", shard}));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.err, "kvcap: --shard: found \"" + std::string(shard) +
                               "\", allowed: I/N with I from 0 to N - 1, e.g. 0/8\n");
  }
}

TEST_F(SweepCommand, ResumesOnlyWhatIsMissingOrFailed) {
  write_sweep("s.json", R"("points": [{"workload.sessions": 20}, {"model": "llama-2-70b"}])");
  ASSERT_EQ(kvcap(command("s.json", "swept")).exit_code, 3);
  Outcome outcome = kvcap(command("s.json", "swept"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err, "kvcap: " + results("swept") +
                             ": already exists; use --resume to complete it, or another --out\n");
  // One more point, and a mark on the row that has to stay.
  sql(results("swept"), "UPDATE points SET notes = 'kept' WHERE status = 'ok'");
  write_sweep(
      "s.json",
      R"("points": [{"workload.sessions": 20}, {"model": "llama-2-70b"}, {"workload.sessions": 21}])");
  outcome = kvcap(command("s.json", "swept", {"--resume"}));
  EXPECT_TRUE(outcome.err.starts_with("sweep: 3 points: 2 ok (1 before), 1 failed; ")) << outcome.err;
  EXPECT_EQ(sql(results("swept"), "SELECT status, notes = 'kept' FROM results"),
            (Rows{{"ok", "1"}, {"failed", "NULL"}, {"ok", "0"}}));
  write("other", "no results");
  fs::create_directory(path("strange"));
  fs::rename(path("other"), results("strange"));
  outcome = kvcap(command("s.json", "strange", {"--resume"}));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "kvcap: " + results("strange") + ": is not a sweep results file: not an SQLite database\n");
}

TEST_F(SweepCommand, RunsAgainWhatAnotherBuildHasRun) {
  write_sweep("s.json", R"("points": [{"workload.sessions": 20}, {"workload.sessions": 21}])");
  ASSERT_EQ(kvcap(command("s.json", "swept")).exit_code, 0);
  sql(results("swept"), "UPDATE points SET build = 'another', notes = 'theirs' WHERE rowid = 1");
  const Outcome outcome = kvcap(command("s.json", "swept", {"--resume"}));
  EXPECT_TRUE(outcome.err.starts_with("sweep: 2 points: 2 ok (1 before); ")) << outcome.err;
  EXPECT_EQ(sql(results("swept"), "SELECT count(*) FROM points WHERE build = 'another' OR notes = 'theirs'"),
            Rows{{"0"}});
}

TEST_F(SweepCommand, CollectsNoRowInPlaceOfAFinishedOne) {
  write_sweep("s.json", R"("points": [{"workload.sessions": 20}, {"workload.sessions": 21}])");
  ASSERT_EQ(kvcap(command("s.json", "swept")).exit_code, 0);
  sql(results("swept"), "UPDATE points SET notes = 'ours'");
  ASSERT_EQ(kvcap(command("s.json", "swept", {"--shard", "0/1"})).exit_code, 0);
  sql(path("swept") + "/shards/0-of-1.sqlite", "UPDATE points SET status = 'failed', notes = 'theirs'");
  ASSERT_EQ(kvcap(command("s.json", "swept", {"--collect"})).exit_code, 0);
  EXPECT_EQ(sql(results("swept"), "SELECT status, notes FROM results"),
            (Rows{{"ok", "ours"}, {"ok", "ours"}}));
}

TEST_F(SweepCommand, FindsFinishedPointsOfOtherSweeps) {
  write_sweep("a.json", R"("points": [{"workload.sessions": 20}, {"workload.sessions": 21}])");
  write_sweep("b.json", R"("grid": {"workload.sessions": [21, 22], "seed": [1]})");
  ASSERT_EQ(kvcap(command("a.json", "a", {"--cache", path("cache")})).exit_code, 0);
  Outcome outcome = kvcap(command("b.json", "b", {"--cache", path("cache")}));
  EXPECT_TRUE(outcome.err.starts_with("sweep: 2 points: 2 ok (1 cached); ")) << outcome.err;
  ASSERT_EQ(kvcap(command("b.json", "plain")).exit_code, 0);
  EXPECT_EQ(exported("b.json", "b"), exported("b.json", "plain"));
  const std::string folder = fs::directory_iterator(path("cache"))->path().filename();
  EXPECT_TRUE(folder.starts_with("kvcap-")) << folder;
  EXPECT_EQ(folder.find(' '), std::string::npos) << folder;
  // What a disk has lost is computed again.
  for (const auto& file : fs::recursive_directory_iterator(path("cache"))) {
    if (file.is_regular_file()) fs::resize_file(file.path(), file.file_size() / 2);
  }
  outcome = kvcap(command("b.json", "again", {"--cache", path("cache")}));
  EXPECT_TRUE(outcome.err.starts_with("sweep: 2 points: 2 ok; ")) << outcome.err;
  EXPECT_EQ(exported("b.json", "again"), exported("b.json", "plain"));
}

TEST_F(SweepCommand, PrintsCsvAndJson) {
  write_sweep("s.json",
              R"("points": [{"workload.sessions": 20, "name": "a \"b\", c"}, {"model": "llama-2-70b"}])");
  const Outcome json = kvcap(command("s.json", "swept", {"--json"}));
  const Outcome csv = kvcap(command("s.json", "swept", {"--collect", "--csv"}));
  const Json object = Json::parse(json.out);
  EXPECT_EQ(object["schema"], "kvcap.sweep_results/1");
  ASSERT_EQ(object["results"].size(), 2U);
  const Json& first = object["results"][0];
  EXPECT_EQ(first["name"], "a \"b\", c");
  EXPECT_EQ(first["workload.sessions"], 20);
  EXPECT_EQ(first["scenario"]["workload"]["sessions"], 20);
  EXPECT_TRUE(object["results"][1]["mean_ttft_ms"].is_null());
  const std::string header = csv.out.substr(0, csv.out.find('\n'));
  EXPECT_TRUE(header.starts_with("point,key,workload.sessions,name,model,status,error,duration,")) << header;
  EXPECT_EQ(header.find("scenario"), std::string::npos);
  EXPECT_NE(csv.out.find(",20,\"a \"\"b\"\", c\",,ok,,"), std::string::npos) << csv.out;
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 3);
}

// 60 points of a few milliseconds each.
constexpr const char* kManyPoints = R"("points": [{"workload.sessions": 30}],
    "grid": {"policy.name": ["kv_offload", "hcache"], "seed": [1, 2, 3, 4, 5, 6]},
    "sample": {"method": "random", "points": 5, "ranges": {"workload.arrivals.sessions_per_s": [0.05, 0.5]}})";

TEST_F(SweepCommand, LosesNothingThatWasFinishedWhenItIsKilled) {
  write_sweep("s.json", kManyPoints);
  // Kills come after most of what a sweep does before it runs anything.
  const auto now_s = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double began_s = now_s();
  ASSERT_EQ(kvcap(command("s.json", "whole")).exit_code, 0);
  const double ran_s = now_s();
  const std::string whole = exported("s.json", "whole");
  const double exported_s = now_s();
  const double idle_s = 0.5 * (exported_s - ran_s);
  std::uniform_real_distribution<> wait_s(idle_s, std::max(1.1 * idle_s, 0.4 * (ran_s - began_s)));
  std::mt19937 random(20);
  int folder = 0, kills_in_the_middle = 0;
  std::map<std::string, std::string> finished;
  const auto out = [&folder] { return "killed" + std::to_string(folder); };
  for (int round = 0; round < 20; ++round) {
    const pid_t pid = start(command("s.json", out(), {"--resume"}));
    std::this_thread::sleep_for(std::chrono::duration<double>(wait_s(random)));
    kill(pid, SIGKILL);
    finish(pid);
    if (!fs::exists(results(out())) || fs::file_size(results(out())) == 0) continue;
    ASSERT_EQ(sql(results(out()), "PRAGMA integrity_check"), Rows{{"ok"}});
    if (sql(results(out()), "SELECT 1 FROM sqlite_master WHERE name = 'points'").empty()) continue;
    std::map<std::string, std::string> now;
    for (const auto& row : sql(results(out()), "SELECT key, mean_ttft_ms FROM points")) now[row[0]] = row[1];
    for (const auto& [key, value] : finished) ASSERT_EQ(now[key], value);
    if (now.size() > finished.size() && now.size() < 60) ++kills_in_the_middle;
    finished = std::move(now);
    if (finished.size() < 60) continue;
    EXPECT_EQ(exported("s.json", out()), whole);
    finished.clear();
    ++folder;
  }
  EXPECT_GE(kills_in_the_middle, 3);
  const Outcome outcome = kvcap(command("s.json", out(), {"--resume"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(exported("s.json", out()), whole);
}

TEST_F(SweepCommand, SurvivesAFullDisk) {
  write_sweep("s.json", kManyPoints);
  const auto small_disk = [] {
    const rlimit limit{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
  };
  const Outcome full = finish(start(command("s.json", "swept"), small_disk));
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_NE(full.err.find("results.sqlite"), std::string::npos) << full.err;
  EXPECT_EQ(std::count(full.err.begin(), full.err.end(), '\n'), 1) << full.err;
  EXPECT_EQ(sql(results("swept"), "PRAGMA integrity_check"), Rows{{"ok"}});
  const Rows left = sql(results("swept"), "SELECT count(*) FROM points");
  EXPECT_GT(std::stoi(left[0][0]), 0);
  EXPECT_LT(std::stoi(left[0][0]), 60);
  const Outcome outcome = kvcap(command("s.json", "swept", {"--resume"}));
  EXPECT_TRUE(outcome.err.starts_with("sweep: 60 points: 60 ok (" + left[0][0] + " before); "))
      << outcome.err;
}

TEST_F(SweepCommand, ExitsWith130AndKeepsWhatHasEndedWhenInterrupted) {
  write_sweep("s.json", R"("points": [{"workload.sessions": 20}, {"workload.sessions": 21},
      {"workload.sessions": 200000, "fidelity": "layer"}])");
  const pid_t pid = start(command("s.json", "swept", {"--jobs", "1"}));
  for (int i = 0; i < 3000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (!fs::exists(results("swept"))) continue;
    if (sql(results("swept"), "SELECT 1 FROM sqlite_master WHERE name = 'points'").empty()) continue;
    if (sql(results("swept"), "SELECT count(*) FROM points") == Rows{{"2"}}) break;
  }
  // Nobody else may write meanwhile.
  const Outcome second = kvcap(command("s.json", "swept", {"--resume"}));
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_EQ(second.err, "kvcap: " + results("swept") + ": is being written by another kvcap sweep\n");
  kill(pid, SIGINT);
  const Outcome outcome = finish(pid);
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(sql(results("swept"), "SELECT count(*) FROM results WHERE status = 'ok'"), Rows{{"2"}});
}

TEST_F(SweepCommand, GivesTheSameRowsFromShards) {
  write_sweep("s.json", kManyPoints);
  ASSERT_EQ(kvcap(command("s.json", "whole")).exit_code, 0);
  for (const char* shard : {"0/3", "2/3"})
    ASSERT_EQ(kvcap(command("s.json", "parts", {"--shard", shard})).exit_code, 0);
  EXPECT_EQ(sql(path("parts") + "/shards/0-of-3.sqlite", "SELECT count(*) FROM points"), Rows{{"20"}});
  Outcome outcome = kvcap(command("s.json", "parts", {"--collect"}));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(
      outcome.err,
      "sweep: 40 of 60 different points collected from 2 shards\n"
      "kvcap: 20 points are missing, the first is point 1; run their shards again with --resume, or all "
      "of them with --resume alone\n");
  ASSERT_EQ(kvcap(command("s.json", "parts", {"--shard", "1/3"})).exit_code, 0);
  write("parts/shards/3-of-9.sqlite", "");  // of a task that was killed as it began
  outcome = kvcap(command("s.json", "parts", {"--collect", "--json"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, exported("s.json", "whole"));
}

}  // namespace
}  // namespace kvcap::sweep_command_test
