// kvcap report as its users meet it: what goes where, what it leaves behind, and what it says of bad input.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/embedded_pages.h"
#include "unit/cli.h"
#include "unit/process.h"
#include "unit/shell_word.h"

namespace kvcap::report_command_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class ReportCommand : public Cli {
 protected:
  // A small comparison in the folder `name`.
  void compare(const std::string& name, const std::string& sessions = "20") const {
    ASSERT_EQ(kvcap({"compare", path("chat.json"), "--policies", "kv_offload,hcache", "--set",
                     "workload.sessions=" + sessions, "--out", path(name)})
                  .exit_code,
              0);
  }
};

TEST_F(ReportCommand, MakesDataOfFoldersAndFiles) {
  compare("demo");
  const Outcome outcome = kvcap({"report", path("demo"), "--format", "json", "--title", "A \"title\""});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json data = Json::parse(outcome.out);
  EXPECT_EQ(data["schema"], "kvcap.report/1");
  EXPECT_EQ(data["title"], "A \"title\"");
  ASSERT_EQ(data["inputs"].size(), 1U);
  EXPECT_EQ(data["inputs"][0]["name"], "demo");
  const Json compared = Json::parse(read_file(path("demo") + "/compare.json"));
  EXPECT_EQ(data["inputs"][0]["content"], compared);
  EXPECT_FALSE(compared["results"][1]["by_history"].empty());
  EXPECT_FALSE(data["takeaways"]["overview"].empty());
  for (const char* page : {"latency", "cache", "resources"})
    EXPECT_FALSE(data["takeaways"][page].empty()) << page;
  // Byte by byte the same again.
  EXPECT_EQ(kvcap({"report", path("demo"), "--format", "json", "--title", "A \"title\""}).out, outcome.out);
}

TEST_F(ReportCommand, WritesTheFileAsideAndInTheFormOfItsName) {
  compare("demo");
  write("r.md", "# kvcap: what was there before");
  const Outcome outcome = kvcap({"report", path("demo"), "-o", path("r.md")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(read_file(path("r.md")).starts_with("# kvcap: demo\n"));
  const Outcome printed = kvcap({"report", path("demo"), "--format", "markdown"});
  EXPECT_EQ(printed.out, read_file(path("r.md")));
  ASSERT_EQ(kvcap({"report", path("demo"), "-o", path("r.csv")}).exit_code, 0);
  EXPECT_TRUE(read_file(path("r.csv"))
                  .starts_with("input,setting,metric,value,half_width\ndemo,kv_offload,duration,"));
  const Outcome nowhere = kvcap({"report", path("demo"), "-o", path("no/such/r.md")});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_EQ(std::count(nowhere.err.begin(), nowhere.err.end(), '\n'), 1);
  for (const auto& file : fs::directory_iterator(folder_))
    EXPECT_EQ(file.path().string().find(".part"), std::string::npos) << file.path();
}

TEST_F(ReportCommand, WritesThePageOrSaysHowToGetIt) {
  compare("demo");
  const Outcome outcome = kvcap({"report", path("demo"), "-o", path("r.html")});
  if (embedded_report_page().html.empty()) {
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find("the page for html was "), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
    EXPECT_FALSE(fs::exists(path("r.html")));
    GTEST_SKIP() << "this build has no page: " << embedded_report_page().missing;
  }
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string html = read_file(path("r.html"));
  const std::string begin = "<script type=\"application/json\" id=\"kvcap-data\">";
  const std::size_t first = html.find(begin) + begin.size();
  const std::string data = html.substr(first, html.find("</script>", first) - first);
  EXPECT_EQ(Json::parse(data)["schema"], "kvcap.report/1");
  EXPECT_LT(html.size() - data.size(), 3'000'000U);
}

TEST_F(ReportCommand, ReadsASweepAndLeavesItAlone) {
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json",
    "grid": {"policy.name": ["kv_offload", "hcache"]}, 
    "points": [{"workload.sessions": 20}, {"model": "llama-2-70b"}]})");
  ASSERT_EQ(kvcap({"sweep", path("s.json"), "--out", path("swept?#%")}).exit_code, 3);  // two do not fit
  const std::string file = path("swept?#%/results.sqlite");
  const auto before = fs::last_write_time(file);
  const Outcome outcome = kvcap({"report", path("swept?#%"), "--format", "json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(fs::last_write_time(file), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(path("swept?#%")), {}), 1);
  const Json rows = Json::parse(outcome.out)["inputs"][0]["content"];
  EXPECT_EQ(rows["schema"], "kvcap.sweep_rows/1");
  EXPECT_EQ(rows["rows"], 4);
  EXPECT_EQ(rows["total_rows"], 4);
  const Json& columns = rows["columns"];
  std::vector<std::string> parameters = rows["parameters"];
  std::sort(parameters.begin(), parameters.end());
  EXPECT_EQ(parameters, (std::vector<std::string>{"model", "policy.name", "workload.sessions"}));
  for (const Json& metric : rows["metrics"])
    EXPECT_EQ(columns[metric.get<std::string>()].size(), 4U) << metric;
  for (std::size_t i = 0; i < 4; ++i) {
    const bool ran = columns["status"][i] == "ok";
    EXPECT_EQ(ran, columns["model"][i].is_null());
    EXPECT_EQ(ran, columns["p99_ttft_ms"][i].is_number());
  }
  EXPECT_EQ(rows["base"]["schema"], "kvcap.scenario/1");
  // A file that cannot be written to, in a folder that cannot either.
  chmod(file.c_str(), 0400);
  chmod(path("swept?#%").c_str(), 0500);
  EXPECT_EQ(kvcap({"report", file, "--format", "json"}).exit_code, 0);
  chmod(path("swept?#%").c_str(), 0700);
}

TEST_F(ReportCommand, ComparesTwoSides) {
  compare("old", "20");
  compare("new", "25");
  const Outcome outcome = kvcap({"report", path("new"), "--before", path("old"), "--format", "markdown"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("<summary>Before and after</summary>"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("one run each, so chance is not excluded"), std::string::npos) << outcome.out;
  const Json data =
      Json::parse(kvcap({"report", path("new"), "--before", path("old"), "--format", "json"}).out);
  EXPECT_EQ(data["inputs"][1]["side"], "before");
  EXPECT_EQ(data["takeaways"]["changes"].size(), 3U);  // the verdict, kv_offload and hcache
}

// The same sessions twice, 100 ms slower on one side.
TEST_F(ReportCommand, PairsRunsOfOneWorkloadAndRequiresTheirDifference) {
  const auto run = [&](const std::string& name, const std::string& overhead_s) {
    const Outcome outcome = kvcap({"run", path("chat.json"), "--json", "--set", "serving.max_model_len=32768",
                                   "--set", "workload.sessions=20", "--set", "replications=3", "--set",
                                   "serving.request_overhead_s=" + overhead_s});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    write(name, outcome.out);
  };
  run("old.json", "0.1");
  run("new.json", "0.2");
  const auto gate = [&](const std::string& condition) {
    return kvcap({"report", path("new.json"), "--before", path("old.json"), "--format", "markdown",
                  "--require", condition});
  };
  const Outcome passed = gate("mean_ttft_ms<=+0.2s");
  ASSERT_EQ(passed.exit_code, 0) << passed.err;
  EXPECT_NE(passed.out.find("- After: new (/"), std::string::npos) << passed.out;
  EXPECT_NE(passed.out.find("- Before: old (/"), std::string::npos) << passed.out;
  EXPECT_NE(passed.out.find("<summary>Results after</summary>"), std::string::npos) << passed.out;
  const Outcome worse = gate("mean_ttft_ms<=+1%");
  EXPECT_EQ(worse.exit_code, 3);
  EXPECT_NE(worse.err.find("% from before to new"), std::string::npos) << worse.err;
  EXPECT_NE(worse.err.find("; the whole interval is beyond the bound"), std::string::npos) << worse.err;
  const auto [mean_ms, half_width_ms] = [&] {
    const std::size_t found = worse.err.find("found ") + 6, sign = worse.err.find("+-") + 2;
    return std::pair(std::stod(worse.err.substr(found)), std::stod(worse.err.substr(sign)));
  }();
  EXPECT_GT(half_width_ms, 0);
  const Outcome undecided = gate("mean_ttft_ms<=+" + std::to_string(mean_ms) + "%");
  EXPECT_EQ(undecided.exit_code, 3);
  EXPECT_NE(undecided.err.find("; undecided: the interval contains the bound"), std::string::npos)
      << undecided.err;
  EXPECT_EQ(gate("mean_ttft_ms<=500").exit_code, 2) << "no difference";
  EXPECT_EQ(kvcap({"report", path("new.json"), "--format", "csv", "--require", "mean_ttft_ms<=+1%"}).err,
            "kvcap: report: --before: missing, required for --require\n");
}

// An answer that rejects turns, or a machine that serves less than arrives, passes no gate on latencies.
TEST_F(ReportCommand, RequiresNoDifferenceOfWhatIsNotServed) {
  const Outcome ran = kvcap({"run", path("chat.json"), "--json", "--set", "serving.max_model_len=32768",
                             "--set", "workload.sessions=20", "--set", "replications=3"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  write("old.json", ran.out);
  const auto gate = [&](const std::function<void(Json&)>& change) {
    Json after = Json::parse(ran.out);
    change(after["metrics"]);
    write("new.json", after.dump());
    return kvcap({"report", path("new.json"), "--before", path("old.json"), "--format", "markdown",
                  "--require", "mean_ttft_ms<=+50%"});
  };
  const Outcome same = gate([](Json&) {});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  const Outcome rejects = gate([](Json& metrics) { metrics["rejected"] = 5; });
  EXPECT_EQ(rejects.exit_code, 3);
  EXPECT_NE(rejects.err.find("5 turns rejected"), std::string::npos) << rejects.err;
  const Outcome saturated = gate([](Json& metrics) { metrics["stable"]["verdict"] = "saturated"; });
  EXPECT_EQ(saturated.exit_code, 3);
  EXPECT_NE(saturated.err.find("found a saturated machine"), std::string::npos) << saturated.err;
}

TEST_F(ReportCommand, TakesWhatAPipeSays) {
  const std::string kvcap = shell_word(kvcap_program());
  const std::string command =
      "bash -c \"" + kvcap + " report <(" + kvcap + " run " + shell_word(path("chat.json")) +
      " --set workload.sessions=20 --json) --format markdown >" + shell_word(path("piped")) + "\"";
  ASSERT_EQ(shell_status(command), 0);
  EXPECT_NE(read_file(path("piped")).find("| p99 TTFT | ms |"), std::string::npos);
}

TEST_F(ReportCommand, ExitsWith2AndOneLineForBadInput) {
  write("broken.json", "{\"schema\": \"kvcap.result/1\", ");
  write("unknown.json", R"({"schema": "kvcap.dream/1"})");
  write("results.sqlite", "no database");
  write("cut.sqlite", "SQLite format 3 and then nothing");
  write("good.json", R"({"schema": "kvcap.trace_stats/1", "requests": 1})");
  fs::create_directory(path("none"));
  write("none/readme.txt", "nothing");
  const std::string known =
      "kvcap.result/1, kvcap.compare/1, kvcap.restore/1, kvcap.plan_result/1, kvcap.break_even/1, "
      "kvcap.capacity/1, kvcap.validation/1, kvcap.trace_stats/1";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{path("no.json")}, path("no.json") + ": cannot be read: No such file or directory"},
      {{path("broken.json")}, path("broken.json") + ":1:30: syntax error"},
      {{path("unknown.json")}, path("unknown.json") + ": schema: found \"kvcap.dream/1\", allowed: " + known},
      {{path("results.sqlite")}, path("results.sqlite") + ": is not a sweep results file"},
      {{path("cut.sqlite")}, path("cut.sqlite") + ": is not a sweep results file"},
      {{path("none")},
       path("none") + ": contains nothing to report, looked for: results.sqlite and JSON of " + known},
      {{path("good.json"), "--format", "pdf"}, "--format: found \"pdf\", allowed: html, markdown, csv, json"},
      {{path("good.json"), "--format", "markdwon"}, "did you mean \"markdown\"?"},
      {{path("good.json"), "--format", "html"}, "report: -o: missing, required for html"},
      {{path("good.json"), "--before", path("no"), "--format", "csv"}, path("no") + ": cannot be read"},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> command = {"report", "--format", "markdown"};
    if (std::find(arguments.begin(), arguments.end(), "--format") != arguments.end()) command.resize(1);
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Outcome outcome = kvcap(command);
    EXPECT_EQ(outcome.exit_code, 2) << message;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err << "\n" << message;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST_F(ReportCommand, RefusesADatabaseThatIsDamaged) {
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json",
    "points": [{"workload.sessions": 20}, {"workload.sessions": 21}]})");
  ASSERT_EQ(kvcap({"sweep", path("s.json"), "--out", path("swept")}).exit_code, 0);
  const std::string whole = read_file(path("swept/results.sqlite"));
  ASSERT_GT(whole.size(), 20'000U);
  for (const std::size_t from : {std::size_t{100}, std::size_t{4096}, whole.size() / 2}) {
    std::string damaged = whole;
    std::fill(damaged.begin() + static_cast<std::ptrdiff_t>(from), damaged.end(), '\xA5');
    write("damaged.sqlite", damaged);
    const Outcome outcome = kvcap({"report", path("damaged.sqlite"), "--format", "json"});
    EXPECT_EQ(outcome.exit_code, 2) << from;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("damaged.sqlite: "), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace kvcap::report_command_test
