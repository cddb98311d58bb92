// The room of kvcap report: documents in, data, sentences and tables out.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/text/utf8.h"
#include "documents/results.h"
#include "report/changes.h"
#include "report/find_files.h"
#include "report/read_inputs.h"
#include "report/report_data.h"
#include "report/text_views.h"
#include "unit/report_documents.h"

namespace kvcap::report_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPage = "<html><script type=\"application/json\" id=\"kvcap-data\"></script><p>end</p>";

std::string message_of(const std::string& text) {
  try {
    read_document(text, "f.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// ---- reading ----

TEST(ReportReading, TakesEveryDocumentOfItsSchemas) {
  const std::pair<const char*, const char*> documents[] = {
      {"kvcap.result/1", R"("policy": "p", "metrics": {})"},
      {"kvcap.compare/1", R"("results": [], "differences": [])"},
      {"kvcap.restore/1", R"("policies": [])"},
      {"kvcap.plan_result/1", R"("judged": [])"},
      {"kvcap.break_even/1", R"("cells": [])"},
      {"kvcap.capacity/1", R"("capacity": {}, "curve": [{}, 1])"},
      {"kvcap.validation/1", R"("checks": [])"},
      {"kvcap.trace_stats/1", R"("requests": 1)"},
  };
  for (const auto& [schema, rest] : documents) {
    const Json document =
        read_document(R"({"schema": ")" + std::string(schema) + "\", " + rest + "}", "f.json");
    EXPECT_EQ(document["schema"], schema);
    // Whatever is missing in it, there is something to show and nothing to stumble over.
    const Report report{"t", {input("f", document), input("g", document, true)}};
    EXPECT_FALSE(report_json(report).empty());
    EXPECT_FALSE(report_markdown(report).empty());
    EXPECT_FALSE(report_csv(report).empty());
  }
}

TEST(ReportReading, RefusesWhatItCannotShowInOneLine) {
  EXPECT_EQ(message_of("{\n  \"a\": ]"),
            "f.json:2:8: syntax error while parsing value - unexpected ']'; "
            "expected '[', '{', or a literal");
  const std::string known =
      ", allowed: kvcap.result/1, kvcap.compare/1, kvcap.restore/1, kvcap.plan_result/1, kvcap.break_even/1, "
      "kvcap.capacity/1, kvcap.validation/1, kvcap.trace_stats/1, or the results.sqlite of a sweep";
  EXPECT_EQ(message_of(R"({"schema": "kvcap.scenario/1"})"),
            "f.json: schema: found \"kvcap.scenario/1\"" + known);
  EXPECT_EQ(message_of("[]"), "f.json: schema: found none" + known);
  EXPECT_EQ(message_of(R"({"schema": "kvcap.result/1", "policy": "p"})"),
            "f.json: metrics: found nothing, allowed in kvcap.result/1: an object");
  EXPECT_EQ(message_of(R"({"schema": "kvcap.compare/1", "results": [{"policy": 1}], "differences": []})"),
            "f.json: results.0: policy: found number, allowed in kvcap.result/1: a string");
  EXPECT_EQ(message_of(std::string(101, '[')), "f.json: is nested deeper than 100 levels");
  EXPECT_NE(message_of(R"({"schema": "kvcap.trace_stats/1", "requests": 1e999})"), "");
}

TEST(ReportReading, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(valid_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
  EXPECT_EQ(valid_utf8("\xFFz"), "\uFFFDz");
  EXPECT_EQ(valid_utf8("\xC3"), "\uFFFD");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), "\uFFFD\uFFFD");                 // longer than need be
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");       // a surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80").substr(0, 3), "\uFFFD");  // beyond U+10FFFF
  const Json document =
      read_document("{\"schema\": \"kvcap.trace_stats/1\", \"notes\": [\"\xFF\"]}", "f.json");
  EXPECT_EQ(document["notes"][0], "\uFFFD");
}

TEST(ReportReading, BringsAResultBackAsItWas) {
  const RunResult read = read_result(result("hcache", 180, 20, 264, 0.8));
  EXPECT_EQ(read.scenario_name, "chat");
  EXPECT_EQ(read.policy, "hcache");
  EXPECT_FALSE(read.is_bound);
  EXPECT_EQ(read.number("p99_ttft_ms"), 180);
  EXPECT_EQ(read.number("utilization.ssd_read"), 0.8);
  EXPECT_EQ(read.number("stable"), 1);
  ASSERT_EQ(read.intervals.size(), 1U);
  EXPECT_EQ(read.intervals[0].half_width, 20);
  const std::vector<Difference> differences =
      read_differences(comparison({}, {difference("a", "b", -70, 8)}));
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].difference, -70);
  EXPECT_EQ(differences[0].half_width, 8);
  Json with_pairs = comparison({}, {difference("a", "b", -70, 8)});
  with_pairs["pairs"] = {difference("c", "a", 1, 2)};
  EXPECT_EQ(read_differences(with_pairs).size(), 2U);
}

TEST(ReportReading, GroupsSingleResultsOfOneScenario) {
  const std::vector<ReportDocument> inputs = {
      input("a", result("hcache", 1, 0, 1, 0)), input("b", result("hcache", 2, 0, 1, 0)),
      input("c", result("hcache", 3, 0, 1, 0, "other")), input("d", result("hcache", 4, 0, 1, 0), true)};
  const std::vector<ResultGroup> groups = result_groups(inputs, false);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].name, "a");
  EXPECT_EQ(groups[0].labels, (std::vector<std::string>{"hcache", "hcache (2)"}));
  EXPECT_EQ(groups[1].name, "c");
  EXPECT_EQ(result_groups(inputs, true).size(), 1U);
}

// ---- folders ----

class ReportFolder : public testing::Test {
 protected:
  ReportFolder() : folder_(fs::temp_directory_path() / ("kvcap_report_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~ReportFolder() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> names(const std::string& name) {
    std::vector<std::string> found;
    for (const FoundFile& file : find_files(path(name), skipped_)) found.push_back(file.name);
    return found;
  }

  fs::path folder_;
  std::vector<std::string> skipped_;
};

using Names = std::vector<std::string>;

TEST_F(ReportFolder, TakesAComparisonOnceAndWhatLiesBesideIt) {
  for (const char* name :
       {"demo/compare.json", "demo/restore.json", "demo/hcache/result.json", "demo/hcache/requests.csv",
        "demo/table.txt", "demo/sub/results.sqlite", "demo/sub/shards/0-of-3.sqlite", "run/result.json"})
    write(name, "{}");
  EXPECT_EQ(names("demo"), (Names{"demo", "demo/restore", "demo/sub"}));
  EXPECT_EQ(names("run"), Names{"run"});
  EXPECT_EQ(names("run/result.json"), Names{"run"});
  EXPECT_EQ(names("demo/restore.json"), Names{"restore"});
  EXPECT_EQ(names("demo/hcache"), Names{"hcache"});  // asked for by itself
  EXPECT_TRUE(skipped_.empty());
  EXPECT_THROW(names("none"), InputError);
}

TEST_F(ReportFolder, FollowsNoLinkOutOfIt) {
  write("outside/secret.json", "{}");
  write("inside/a.json", "{}");
  fs::create_symlink(path("outside/secret.json"), path("inside/link.json"));
  fs::create_symlink(path("outside"), path("inside/folder"));
  fs::create_symlink("a.json", path("inside/b.json"));
  fs::create_symlink("loop.json", path("inside/loop.json"));
  fs::create_symlink(path("inside"), path("door"));
  EXPECT_EQ(names("inside"), (Names{"inside/a", "inside/b"}));
  EXPECT_EQ(skipped_, Names{path("inside/link.json") + ": is a link that leads outside " + path("inside")});
  skipped_.clear();
  // A link that is asked for is followed.
  EXPECT_EQ(names("inside/link.json"), Names{"link"});
  EXPECT_EQ(names("door").size(), 2U);
}

TEST_F(ReportFolder, LeavesOutWhatIsNotOfKvcapAndRefusesWhatIsBroken) {
  write("f/a.json", result("hcache", 1, 0, 1, 0).dump());
  write("f/other.json", R"({"traceEvents": []})");
  write("f/scenario.json", R"({"schema": "kvcap.scenario/1"})");
  const std::vector<ReportDocument> inputs =
      read_inputs({path("f"), path("f/a.json")}, {path("f/a.json")}, skipped_);
  ASSERT_EQ(inputs.size(), 2U);  // the same file is read once a side
  EXPECT_EQ(inputs[0].name, "f/a");
  EXPECT_EQ(inputs[1].name, "a");
  EXPECT_TRUE(inputs[1].is_before);
  ASSERT_EQ(skipped_.size(), 2U);
  EXPECT_EQ(skipped_[0], path("f/other.json") + ": is not a document of kvcap");
  EXPECT_TRUE(skipped_[1].starts_with(path("f/scenario.json") + ": schema: found")) << skipped_[1];
  write("f/b.json", R"({"schema": "kvcap.result/1", )");
  EXPECT_THROW(read_inputs({path("f")}, {}, skipped_), InputError);
  write("empty/none.txt", "");
  EXPECT_THROW(read_inputs({path("empty")}, {}, skipped_), InputError);
}

TEST_F(ReportFolder, GivesEveryInputANameOfItsOwn) {
  for (const char* name : {"x/run/result.json", "y/run/result.json"})
    write(name, result("hcache", 1, 0, 1, 0).dump());
  const std::vector<ReportDocument> inputs =
      read_inputs({path("x/run"), path("y/run")}, {path("x/run"), path("y/run")}, skipped_);
  Names found;
  for (const ReportDocument& one : inputs) found.push_back(one.name);
  EXPECT_EQ(found, (Names{"run", "run 2", "run (before)", "run (before) 2"}));
}

TEST_F(ReportFolder, RefusesAFileThatIsTooLarge) {
  write("big.json", "{");
  fs::resize_file(path("big.json"), kMostInputBytes + 1);
  try {
    read_inputs({path("big.json")}, {}, skipped_);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), path("big.json") + ": is larger than 200 MB, the limit for one file");
  }
}

// ---- sweeps ----

class SweepRows : public ReportFolder {
 protected:
  SweepRows() {
    EXPECT_EQ(sqlite3_open(path("results.sqlite").c_str(), &database_), SQLITE_OK);
    sql("PRAGMA journal_mode = WAL");
    sql("PRAGMA wal_autocheckpoint = 0");
    sql("PRAGMA application_id = 1802920801");  // "kvca"
  }
  ~SweepRows() override { sqlite3_close(database_); }
  void sql(const std::string& statements) {
    char* error = nullptr;
    sqlite3_exec(database_, statements.c_str(), nullptr, nullptr, &error);
    EXPECT_EQ(error, nullptr) << error << ": " << statements;
    sqlite3_free(error);
  }
  // Row i has n = i and, but for every seventh, p99_ttft_ms = 2 i.
  void make_rows(int count) {
    sql("CREATE TABLE swept (point INTEGER, key TEXT, n NUMERIC);"
        "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i + 1 < " +
        std::to_string(count) +
        ") INSERT INTO swept SELECT i, 'k', i FROM c;"
        "CREATE VIEW results AS SELECT point, key, n, CASE WHEN n % 7 THEN 'ok' END AS status, NULL AS error,"
        " '{\"name\": \"s\"}' AS scenario, CASE WHEN n % 7 THEN 2.0 * n END AS p99_ttft_ms,"
        " NULL AS intervals, NULL AS notes, NULL AS quality_note, 'b' AS build FROM swept");
  }

  sqlite3* database_ = nullptr;
};

TEST_F(SweepRows, AreThinnedEvenlyBeyondTheMost) {
  make_rows(5003);
  const Json rows = read_sweep_rows(path("results.sqlite"));
  EXPECT_EQ(rows["total_rows"], 5003);
  EXPECT_EQ(rows["rows"], kMostSweepRows);
  EXPECT_EQ(rows["name"], "s");
  EXPECT_EQ(rows["parameters"], Json({"n"}));
  EXPECT_EQ(rows["metrics"], Json({"p99_ttft_ms"}));
  const Json& n = rows["columns"]["n"];
  ASSERT_EQ(std::ssize(n), kMostSweepRows);
  EXPECT_EQ(n[0], 0);
  for (std::size_t i = 1; i < n.size(); ++i) {
    const int step = n[i].get<int>() - n[i - 1].get<int>();
    EXPECT_TRUE(step == 2 || step == 3) << step;  // 5003 / 2000
  }
  for (std::size_t i = 0; i < n.size(); ++i) {
    const bool ran = n[i].get<int>() % 7 != 0;
    EXPECT_EQ(rows["columns"]["status"][i], ran ? "ok" : "missing");
    EXPECT_EQ(rows["columns"]["p99_ttft_ms"][i], ran ? Json(2.0 * n[i].get<int>()) : Json());
  }
}

TEST_F(SweepRows, AreReadWhileASweepWrites) {
  make_rows(3);
  ASSERT_GT(fs::file_size(path("results.sqlite-wal")), 0U);  // nothing is in the file itself yet
  EXPECT_EQ(read_sweep_rows(path("results.sqlite"))["rows"], 3);
}

TEST_F(SweepRows, AreMissingWhereASweepWasStoppedAtItsBegin) {
  EXPECT_THROW(read_sweep_rows(path("results.sqlite")), InputError);
}

// ---- data and page ----

TEST(ReportData, FollowsItsContract) {
  const Report report{"T", {input("a", restoration(0.04, 0.08)), input("b", restoration(0.04, 0.08), true)}};
  const Json data = Json::parse(report_json(report));
  EXPECT_EQ(data["schema"], "kvcap.report/1");
  EXPECT_EQ(data["title"], "T");
  EXPECT_FALSE(data["kvcap_version"].get<std::string>().empty());
  ASSERT_EQ(data["inputs"].size(), 2U);
  EXPECT_EQ(data["inputs"][0]["name"], "a");
  EXPECT_EQ(data["inputs"][0]["path"], "a.json");
  EXPECT_EQ(data["inputs"][0]["side"], "after");
  EXPECT_EQ(data["inputs"][1]["side"], "before");
  EXPECT_EQ(data["inputs"][0]["content"], restoration(0.04, 0.08));
  std::vector<std::string> pages;
  for (const auto& [page, sentences] : data["takeaways"].items()) pages.push_back(page);
  EXPECT_EQ(pages, (std::vector<std::string>{"overview", "latency", "cache", "resources", "restoration",
                                             "sweep", "plan", "capacity", "validation", "changes"}));
}

TEST(ReportData, NoTextBreaksOutOfThePage) {
  const std::vector<std::string> hostile = {"</script><script>alert(1)</script>",
                                            "<!--",
                                            "<script>",
                                            "]]>",
                                            "\" onload=\"x",
                                            "'",
                                            "&lt;/script&gt;",
                                            std::string("\x00\x01\x1F\x7F", 4),
                                            "\u2028\u2029",
                                            "\xFF\xFE",
                                            "\\u003c/script>"};
  for (const std::string& text : hostile) {
    Json content = result(valid_utf8(text), 1, 0, 1, 0, valid_utf8(text));
    const Report report{text, {{text, text, false, content}}};
    const std::string html = report_html(kPage, report);
    const std::string begin = "id=\"kvcap-data\">", end = "</script><p>end</p>";
    const std::size_t first = html.find(begin) + begin.size();
    ASSERT_TRUE(html.ends_with(end));
    const std::string data = html.substr(first, html.size() - end.size() - first);
    EXPECT_EQ(data.find_first_of("<>&"), std::string::npos) << text;
    EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](char c) { return c >= ' ' && c < '\x7F'; })) << text;
    const Json read = Json::parse(data);
    EXPECT_EQ(read["inputs"][0]["content"], content);
    EXPECT_EQ(read["title"], valid_utf8(text));
  }
}

// ---- text ----

TEST(ReportMarkdown, HasATableAnInputAndTheDifferences) {
  const Report report{
      "T|<b>",
      {input("new",
             comparison({result("kv_offload", 260, 30, 512, 0.9), result("hcache", 182, 20, 264, 0.8)})),
       input("r", restoration(0.04, 0.08)), input("v", validation({check("c", "outside", 0.5)})),
       input("s", sweep({400, 800, 100, 0}, {"stable", "stable", "stable", "saturated"})),
       input("old", comparison({result("hcache", 260, 10, 264, 0.8)}), true)}};
  const std::string text = report_markdown(report);
  EXPECT_TRUE(text.starts_with("# T\\|&lt;b>\n\n- ")) << text;
  const auto expect_line = [&](const std::string& line) {
    EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos) << line << "\nis not in\n" << text;
  };
  expect_line("|  |  | kv\\_offload | hcache |");
  expect_line("| --- | --- | ---: | ---: |");
  expect_line("| p99 TTFT | ms | 260 +-30 | 182 +-20 |");
  expect_line("| stored | KiB/token | 512 | 264 |");
  expect_line("| hcache | 40.0 | 50.0 | 41.0 | 30/2/0 | 264 | io |");
  expect_line("| s | c | 1 | 1 | 1 | 1 |");
  expect_line("| c |  | 1.00 | 1.00 / 2.00 | 50.0 % |");
  expect_line(
      "| SSDs | policy | status | mean TTFT (ms) | p99 TTFT (ms) | token hit rate (%) | cost ($/M tokens) |");
  expect_line("| 4 | a | ok | - | 100 | - | - |");
  expect_line("| new, hcache | p99 TTFT | ms | 260 | 182 | -78 +-22 |");
}

TEST(ReportMarkdown, PrintsEachNoteOnceAndNamesTheSettingsThatAloneHaveIt) {
  Json one = result("kv_offload", 260, 30, 512, 0.9), other = result("hcache", 182, 20, 264, 0.8);
  one["notes"] = {"acceptance is assumed", "loads block"};
  other["notes"] = {"acceptance is assumed"};
  const std::string text = report_markdown({"T", {input("new", comparison({one, other}))}});
  EXPECT_NE(text.find("### Notes\n\n- acceptance is assumed\n- kv\\_offload: loads block\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(report_markdown({"T", {input("new", comparison({result("hcache", 1, 1, 1, 1)}))}}).find("Notes"),
            std::string::npos);
}

// Notes of the launch line.
TEST(ReportMarkdown, OfACapacityPrintsItsWarnings) {
  Json capacity = capacity_document();
  capacity["warnings"] =
      Json::array({{{"flag", "--moe-backend"}, {"text", "--moe-backend chooses kernels"}}});
  const std::string text = report_markdown({"T", {input("c", capacity)}});
  EXPECT_NE(text.find("### Notes\n\n- --moe-backend chooses kernels\n"), std::string::npos) << text;
}

// A table of every `across` by every `down` would have a million cells.
TEST(ReportMarkdown, OfCellsThatAreNoGridHasNoTable) {
  Json cells = Json::array();
  for (int i = 0; i < 1000; ++i) cells.push_back({{"across", i}, {"down", i}, {"winner", "hcache"}});
  const Json map = {{"schema", "kvcap.break_even/1"}, {"across", "x"}, {"down", "y"}, {"cells", cells}};
  const std::string text = report_markdown({"T", {input("map", map)}});
  EXPECT_NE(text.find("the cells do not form a grid"), std::string::npos) << text.substr(0, 400);
  EXPECT_LT(text.size(), 10000u);
}

TEST(ReportMarkdown, OfASweepShowsWhatIsRejectedOrTruncatedWhereAnythingIs) {
  Json rows = sweep({400, 800, 100, 900}, {"stable", "stable", "stable", "stable"});
  rows["columns"]["rejected"] = {0, 0, 70, 0};
  rows["columns"]["truncated"] = {0, 0, 0, 0};
  const std::string text = report_markdown({"T", {input("s", rows)}});
  EXPECT_NE(text.find("| 4 | a | ok | - | 100 | 70.0 | - | - |"), std::string::npos) << text;
  EXPECT_EQ(text.find("truncated"), std::string::npos) << text;
  // 100 ms is that of the turns that were not rejected: no best point.
  EXPECT_NE(text.find("The lowest p99 TTFT is 400 ms (1 SSD, a)"), std::string::npos) << text;
  EXPECT_NE(text.find("1 leave turns unanswered, and these sentences leave them out"), std::string::npos)
      << text;
}

TEST(ReportCsv, HasARowAFigure) {
  const Report report{
      "T",
      {input("new, x", comparison({result("hcache", 182.5, 20, 264, 0.8)},
                                  {difference("hcache", "kv_offload", -78, 8)})),
       input("r", restoration(0.04, 0.08)), input("=1+1", validation({check("c", "outside", 0.5)})),
       input("s", sweep({400, 800, 100, 50}, {"stable", "stable", "stable", "saturated"}))}};
  const std::string text = report_csv(report);
  EXPECT_TRUE(text.starts_with("input,setting,metric,value,half_width\n"));
  for (const char* line :
       {"\"new, x\",hcache,p99_ttft_ms,182.5,20\n", "\"new, x\",hcache,utilization.gpu,0.3,\n",
        "\"new, x\",hcache - kv_offload,p99_ttft_ms,-78,8\n", "r,hcache,restore_s,0.04,\n",
        "r,hcache,schedule.hidden_layers,30,\n", "'=1+1,c,reference.1,2,\n",
        "s,hardware.ssd.count=4 policy.name=a,p99_ttft_ms,100,\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST(ReportMarkdown, OfACapacityHasALoadARowAndWhatIsRejected) {
  const std::string text = report_markdown({"T", {input("c", capacity_document())}});
  for (const char* line :
       {"| requests/s | mean TTFT ms | p99 TTFT ms | p99 TPOT ms | rejected % | output tokens/s | goodput "
        "requests/s | misses |",
        "| 1.00 | 25.0 | 100 | 20.0 | 0 | 100 | 0.900 |  |",
        "| 2.50 | 225 | 900 | 20.0 | 4.00 | 250 | 2.25 | p99 TTFT |"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nis not in\n" << text;
  EXPECT_EQ(text.find("truncated"), std::string::npos);
}

TEST(ReportCsv, OfACapacityHasItsIntervalAndLoadsAsSettings) {
  const std::string text = report_csv({"T", {input("c", capacity_document())}});
  for (const char* line : {"c,,capacity.requests_per_s,2,\n", "c,,capacity.requests_per_s.to,2.2,\n",
                           "c,requests_per_s=2.5,p99_ttft_ms,900,5\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace kvcap::report_test
