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
#include "base/utf8.h"
#include "report/changes.h"
#include "report/find_files.h"
#include "report/read_inputs.h"
#include "report/read_result.h"
#include "report/report_data.h"
#include "report/takeaways.h"
#include "report/text_views.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPage = "<html><script type=\"application/json\" id=\"kvcap-data\"></script><p>end</p>";

// A result of three replications: p99 TTFT +- half_width_ms, stored KiB a token, SSD reads busy.
Json result(const std::string& policy, double p99_ms, double half_width_ms, double stored_kib, double busy,
            const std::string& scenario = "chat") {
  return {{"schema", "kvcap.result/1"},
          {"scenario", {{"name", scenario}, {"seed", 1}}},
          {"setting", policy},
          {"policy", policy},
          {"is_bound", policy == "ideal"},
          {"metrics",
           {{"stable", true},
            {"mean_ttft_ms", p99_ms / 4},
            {"p99_ttft_ms", p99_ms},
            {"mean_service_ttft_with_history_ms", p99_ms / 5},
            {"token_hit_rate", policy == "recompute" ? 0.0 : 0.9},
            {"request_hit_rate", 0.8},
            {"stored_bytes_per_token", 1024 * stored_kib},
            {"utilization", {{"gpu", 0.3}, {"ssd_read", busy}}},
            {"bound_by", "ssd_read"},
            {"ssd_writes", {{"lifetime_years", 2.5}}}}},
          {"intervals", {{"p99_ttft_ms", {{"mean", p99_ms}, {"half_width", half_width_ms}}}}}};
}

Json comparison(std::vector<Json> results, std::vector<Json> differences = {}) {
  return {{"schema", "kvcap.compare/1"},
          {"results", std::move(results)},
          {"differences", std::move(differences)}};
}

Json difference(const std::string& setting, const std::string& against, double value, double half_width) {
  return {{"setting", setting},
          {"against", against},
          {"metric", "p99_ttft_ms"},
          {"difference", value},
          {"interval", {value - half_width, value + half_width}}};
}

Json restoration(double hcache_s, double kv_offload_s) {
  const auto entry = [](const char* policy, double restore_s, double closed_form_s, double stored) -> Json {
    return {{"policy", policy},
            {"restore_s", restore_s},
            {"prefill_s", 0.01},
            {"ttft_s", restore_s + 0.01},
            {"closed_form_restore_s", closed_form_s},
            {"schedule", {{"hidden_layers", 30}, {"kv_layers", 2}, {"recompute_layers", 0}}},
            {"stored_bytes_per_token", stored},
            {"read_bytes", 1e9},
            {"bound", "io"}};
  };
  return {{"schema", "kvcap.restore/1"},
          {"model", "m"},
          {"hardware", "h"},
          {"tokens", 4096},
          {"new_tokens", 64},
          {"tier", "ssd"},
          {"policies",
           {entry("kv_offload", kv_offload_s, kv_offload_s, 1024 * 512),
            entry("hcache", hcache_s, hcache_s + 0.001, 1024 * 264), entry("ideal", 0, 0, 0)}}};
}

Json check(const std::string& id, const std::string& verdict, double error, bool promised = false) {
  return {{"id", id},       {"suite", "s"},         {"simulated", 1.0},   {"reference", {1.0, 2.0}},
          {"error", error}, {"promised", promised}, {"verdict", verdict}, {"reason", nullptr}};
}

Json validation(std::vector<Json> checks) {
  return {{"schema", "kvcap.validation/1"},
          {"checks", std::move(checks)},
          {"summary",
           {{"s", {{"inside", 1}, {"near", 1}, {"outside", 1}, {"not comparable", 1}, {"worst", "c"}}}}}};
}

ReportInput input(const std::string& name, Json content, bool is_before = false) {
  return {name, name + ".json", is_before, std::move(content)};
}

std::vector<std::string> said(const std::vector<ReportInput>& inputs, const std::string& page) {
  for (const auto& [name, sentences] : takeaways(inputs))
    if (name == page) return sentences;
  ADD_FAILURE() << "no page " << page;
  return {};
}

void expect_says(const std::vector<std::string>& sentences, const std::string& sentence) {
  std::string all;
  for (const std::string& one : sentences) all += one + "\n";
  EXPECT_NE(all.find(sentence), std::string::npos) << sentence << "\nis not in\n" << all;
}

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
      "kvcap.validation/1, kvcap.trace_stats/1, or the results.sqlite of a sweep";
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
  const std::vector<ReportInput> inputs = {
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
  EXPECT_EQ(skipped_, Names{path("inside/link.json") + ": is a link to outside of " + path("inside")});
  skipped_.clear();
  // A link that is asked for is followed.
  EXPECT_EQ(names("inside/link.json"), Names{"link"});
  EXPECT_EQ(names("door").size(), 2U);
}

TEST_F(ReportFolder, LeavesOutWhatIsNotOfKvcapAndRefusesWhatIsBroken) {
  write("f/a.json", result("hcache", 1, 0, 1, 0).dump());
  write("f/other.json", R"({"traceEvents": []})");
  write("f/scenario.json", R"({"schema": "kvcap.scenario/1"})");
  const std::vector<ReportInput> inputs =
      read_inputs({path("f"), path("f/a.json")}, {path("f/a.json")}, skipped_);
  ASSERT_EQ(inputs.size(), 2U);  // the same file is read once a side
  EXPECT_EQ(inputs[0].name, "f/a");
  EXPECT_EQ(inputs[1].name, "a");
  EXPECT_TRUE(inputs[1].is_before);
  ASSERT_EQ(skipped_.size(), 2U);
  EXPECT_EQ(skipped_[0], path("f/other.json") + ": is no document of kvcap");
  EXPECT_TRUE(skipped_[1].starts_with(path("f/scenario.json") + ": schema: found")) << skipped_[1];
  write("f/b.json", R"({"schema": "kvcap.result/1", )");
  EXPECT_THROW(read_inputs({path("f")}, {}, skipped_), InputError);
  write("empty/none.txt", "");
  EXPECT_THROW(read_inputs({path("empty")}, {}, skipped_), InputError);
}

TEST_F(ReportFolder, GivesEveryInputANameOfItsOwn) {
  for (const char* name : {"x/run/result.json", "y/run/result.json"})
    write(name, result("hcache", 1, 0, 1, 0).dump());
  const std::vector<ReportInput> inputs =
      read_inputs({path("x/run"), path("y/run")}, {path("x/run"), path("y/run")}, skipped_);
  Names found;
  for (const ReportInput& one : inputs) found.push_back(one.name);
  EXPECT_EQ(found, (Names{"run", "run 2", "run (before)", "run (before) 2"}));
}

TEST_F(ReportFolder, RefusesAFileThatIsTooLarge) {
  write("big.json", "{");
  fs::resize_file(path("big.json"), kMostInputBytes + 1);
  try {
    read_inputs({path("big.json")}, {}, skipped_);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), path("big.json") + ": is larger than 200 MB, the most that is read of one file");
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
                                             "sweep", "plan", "validation", "changes"}));
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

// ---- takeaways ----

TEST(Takeaways, SayByHowMuchTheBestIsAhead) {
  // Paired: 182 - 260 = -78 +- 8; 1 - 182/260 = 30 %, 1 - 264/512 = 48.4 %.
  const Json compare =
      comparison({result("kv_offload", 260, 30, 512, 0.9), result("hcache", 182, 20, 264, 0.8)},
                 {difference("hcache", "kv_offload", -78, 8)});
  const std::vector<ReportInput> inputs = {input("chat", compare)};
  expect_says(
      said(inputs, "overview"),
      "hcache lowers p99 TTFT by 30.0 % against kv_offload (182 against 260 ms, 78.0 +-8.0 ms lower) and "
      "stores 48.4 % fewer bytes.");
  expect_says(said(inputs, "latency"), "hcache lowers p99 TTFT by 30.0 %");
  expect_says(said(inputs, "cache"),
              "What came from stored state of every 100 prompt tokens (history and new): 90.0 with "
              "kv_offload and hcache.");
  expect_says(said(inputs, "cache"), "It stores 48.4 % fewer bytes than kv_offload.");
  expect_says(said(inputs, "resources"), "hcache is bound by reads from the SSDs (busy 80.0 % of the time).");
  expect_says(said(inputs, "resources"), "hcache uses up the rated writes of the SSDs in 2.50 years.");
  EXPECT_TRUE(said(inputs, "restoration").empty());
  EXPECT_TRUE(said(inputs, "changes").empty());
}

TEST(Takeaways, HalveAndDoNotKnow) {
  const auto headline_of = [](double p99_ms, double half_width_ms) {
    return said({input("chat", comparison({result("recompute", 200, half_width_ms, 0, 0.2),
                                           result("kv_offload", p99_ms, half_width_ms, 512, 0.9)}))},
                "overview")
        .front();
  };
  // As if independent: sqrt(2) 10.
  EXPECT_EQ(headline_of(100, 10),
            "kv_offload halves p99 TTFT against recompute (100 against 200 ms, 100 +-14 ms lower).");
  EXPECT_EQ(
      headline_of(190, 10),
      "Whether kv_offload or recompute has the lower p99 TTFT these runs cannot tell (190 against 200 ms, "
      "10 +-14 ms lower).");
}

TEST(Takeaways, OfARestorationAreTheseFactors) {
  // 80 / 40; |40 - 41| / (40 + 10).
  const std::vector<ReportInput> inputs = {input("r", restoration(0.04, 0.08))};
  const std::vector<std::string> sentences = said(inputs, "restoration");
  expect_says(sentences,
              "hcache brings 4,096 tokens of m back from ssd on h in 40.0 ms: 2.00x faster than kv_offload.");
  expect_says(sentences, "hcache keeps 264 KiB a token");
  expect_says(sentences, "loading binds.");
  expect_says(sentences, "differ by at most 2.00 % of TTFT (hcache).");
  EXPECT_EQ(said(inputs, "overview").front(), sentences.front());
}

TEST(Takeaways, OfValidationsCountVerdictsAndPromises) {
  std::vector<Json> checks = {check("a", "inside", 0, true), check("b", "near", 0.05),
                              check("c", "outside", 0.5), check("d", "not comparable", 9)};
  expect_says(
      said({input("v", validation(checks))}, "validation"),
      "Of 3 numbers beside published, measured or analytic ones 1 are inside, 1 near and 1 outside; 1 "
      "cannot be compared.");
  expect_says(said({input("v", validation(checks))}, "validation"), "All 1 that are promised hold.");
  expect_says(said({input("v", validation(checks))}, "validation"), "Farthest off is c, 50.0 %.");
  checks[2]["promised"] = true;
  expect_says(said({input("v", validation(checks))}, "validation"), "Farther off than promised: c.");
}

Json sweep(std::vector<double> p99_ms, std::vector<int> stable) {
  return {{"schema", "kvcap.sweep_rows/1"},
          {"name", "s"},
          {"parameters", {"hardware.ssd.count", "policy.name"}},
          {"metrics", {"p99_ttft_ms", "stable"}},
          {"rows", 4},
          {"total_rows", 4},
          {"columns",
           {{"hardware.ssd.count", {1, 1, 4, 4}},
            {"policy.name", {"a", "b", "a", "b"}},
            {"p99_ttft_ms", std::move(p99_ms)},
            {"stable", std::move(stable)},
            {"status", {"ok", "ok", "ok", "failed"}}}},
          {"base", nullptr}};
}

TEST(Takeaways, OfSweepsNameTheBestPointAndWhatMattersMost) {
  Json rows = sweep({400, 800, 100, 0}, {1, 1, 1, 0});
  rows["columns"]["p99_ttft_ms"][3] = nullptr;
  const std::vector<std::string> sentences = said({input("s", rows)}, "sweep");
  // Medians: 600 with 1 SSD, 100 with 4; 250 with a, 800 with b.
  expect_says(sentences,
              "hardware.ssd.count moves p99 TTFT most: its median is 100 ms at 4 and 600 ms at 1.");
  expect_says(sentences,
              "p99 TTFT is least at hardware.ssd.count=4 policy.name=a, 100 ms, and greatest at "
              "hardware.ssd.count=1 policy.name=b, 800 ms.");
  expect_says(sentences,
              "3 of 4 points ran, 1 failed; 1 cannot serve their rate and are left out below. One "
              "run a point, so small differences may be chance.");
}

TEST(Takeaways, OfPlansNameTheAnswerAndItsRivals) {
  Json plan = {{"schema", "kvcap.plan_result/1"},
               {"name", "p"},
               {"minimize", "cost.usd_per_hour"},
               {"simulations", 12},
               {"answer",
                {{"changes", {"hardware.ssd.count=2"}},
                 {"metrics",
                  {{"cost.usd_per_hour", {{"mean", 5.5}, {"interval", nullptr}}},
                   {"p99_ttft_ms", {{"mean", 400}, {"interval", {380, 420}}}}}}}},
               {"purchase", "1x A100, 2 SSDs"},
               {"binding", "p99_ttft_ms"},
               {"rivals", {{{"changes", {"x=1"}}}}},
               {"judged", Json::array()}};
  std::vector<std::string> sentences = said({input("p", plan)}, "plan");
  expect_says(sentences,
              "Buy 1x A100, 2 SSDs: cost.usd_per_hour 5.50, p99 TTFT 400 +-20 ms (12 simulations).");
  expect_says(sentences, "These runs cannot tell it from 1 other configuration.");
  expect_says(sentences, "The target with the least room is p99_ttft_ms.");
  plan["answer"] = nullptr;
  plan["nearest"] = {{"changes", {"x=1", "y=2"}}, {"reason", "p99_ttft_ms"}};
  sentences = said({input("p", plan)}, "plan");
  expect_says(sentences,
              "No configuration meets every target (12 simulations). Nearest is x=1 y=2, which misses "
              "p99_ttft_ms.");
}

TEST(Takeaways, OfBreakEvenMapsCountWins) {
  const auto cell = [](const char* across, const char* winner, const char* expected) -> Json {
    return {{"across", across}, {"down", "512"}, {"winner", winner}, {"closed_form_winner", expected}};
  };
  const Json map = {
      {"schema", "kvcap.break_even/1"},
      {"across", "bandwidth"},
      {"down", "tokens"},
      {"cells",
       {cell("1", "recompute", "recompute"), cell("2", "hcache", "recompute"),
        cell("3", "hcache", "hcache")}},
      {"boundaries", {{{"down", "512"}, {"from", "recompute"}, {"to", "hcache"}, {"simulated", 1.5}}}}};
  const std::vector<std::string> sentences = said({input("b", map)}, "sweep");
  expect_says(sentences, "Of 3 pairs of bandwidth and tokens are won: hcache 2, recompute 1.");
  expect_says(sentences, "The closed form names the same winner in 2 of 3.");
  expect_says(sentences, "At tokens 512, recompute gives way to hcache at bandwidth 1.50.");
}

TEST(Takeaways, OfTracesSayWhatACacheCanFind) {
  const Json stats = {{"schema", "kvcap.trace_stats/1"},
                      {"infinite_cache_token_hit_rate", 0.8},
                      {"history_token_share", 0.9},
                      {"total_context_tokens", 5000},
                      {"miss_ratio_curve",
                       {{{"capacity_tokens", 100}, {"token_miss_ratio", 0.6}},
                        {{"capacity_tokens", 1000}, {"token_miss_ratio", 0.25}},
                        {{"capacity_tokens", 2000}, {"token_miss_ratio", 0.2}}}}};
  const std::vector<std::string> sentences = said({input("t", stats)}, "cache");
  expect_says(sentences,
              "A store that keeps everything finds 80.0 % of all prompt tokens; history is 90.0 %");
  // The first that finds 0.9 x 0.8 = 0.72.
  expect_says(sentences, "LRU over 1,000 tokens finds 75.0 %, of 5,000 tokens that there are.");
}

TEST(Takeaways, NameTheirInputWhereSeveralSpeak) {
  const std::vector<ReportInput> inputs = {input("r1", restoration(0.04, 0.08)),
                                           input("r2", restoration(0.02, 0.08))};
  expect_says(said(inputs, "restoration"), "r1: hcache brings");
  expect_says(said(inputs, "restoration"), "r2: hcache brings");
}

// ---- before and after ----

TEST(Changes, OfResultsHaveIntervalsAsIfIndependent) {
  const std::vector<ReportInput> inputs = {
      input("new", comparison({result("hcache", 182, 3, 264, 0.8), result("ideal", 80, 3, 0, 0.8)})),
      input("old", comparison({result("hcache", 260, 4, 264, 0.8), result("kv_offload", 1, 1, 1, 0)}), true)};
  const std::vector<Change> all = changes(inputs);
  const auto p99 = std::find_if(all.begin(), all.end(),
                                [](const Change& change) { return change.metric == "p99_ttft_ms"; });
  ASSERT_NE(p99, all.end());
  EXPECT_EQ(p99->setting, "hcache");
  EXPECT_EQ(p99->difference(), -78);
  EXPECT_DOUBLE_EQ(p99->half_width, 5);  // 3 and 4
  EXPECT_TRUE(p99->can_tell());
  EXPECT_TRUE(std::none_of(all.begin(), all.end(), [](const Change& c) { return c.setting != "hcache"; }));
  expect_says(said(inputs, "changes"),
              "new, hcache: mean TTFT 19.5 ms lower (45.5 against 65.0 ms before), p99 TTFT "
              "78.0 +-5.0 ms lower (182 against 260 ms before)");
}

TEST(Changes, SayWhereRunsCannotTellAndWhereNothingChanged) {
  const auto sentences = [](double p99_ms) {
    Json now = result("hcache", 100, 30, 264, 0.8), then = result("hcache", p99_ms, 40, 264, 0.8);
    for (Json* one : {&now, &then}) (*one)["metrics"].erase("mean_ttft_ms");
    return said({input("new", now), input("old", then, true)}, "changes");
  };
  expect_says(sentences(120), "new, hcache: these runs cannot tell whether p99 TTFT has changed.");
  expect_says(sentences(100), "new, hcache: as before.");
}

TEST(Changes, MatchRestorationsChecksAndSweeps) {
  const std::vector<ReportInput> inputs = {
      input("r", restoration(0.04, 0.08)),
      input("v", validation({check("a", "inside", 0.01), check("b", "near", 0.05), check("c", "inside", 0)})),
      input("s", sweep({100, 200, 300, 400}, {1, 1, 1, 1})),
      input("r0", restoration(0.05, 0.08), true),
      input("v0", validation({check("a", "near", 0.06), check("b", "inside", 0.02), check("c", "inside", 0)}),
            true),
      input("s0", sweep({110, 220, 330, 440}, {1, 1, 1, 1}), true)};
  const std::vector<std::string> sentences = said(inputs, "changes");
  expect_says(sentences, "r, hcache: restoration 10.0 ms lower (40.0 against 50.0 ms before).");
  expect_says(sentences, "r, kv_offload: as before.");
  expect_says(sentences, "v: of 3 checks of both sides 1 have a better verdict (a) and 1 a worse one (b).");
  // Medians of four points: 250 and 275.
  expect_says(sentences,
              "s, median of 4 points: p99 TTFT 25.0 ms lower (250 against 275 ms before); one run each");
}

TEST(Changes, SaySoWhereNothingMatches) {
  expect_says(said({input("r", restoration(1, 2)), input("v", validation({}), true)}, "changes"),
              "Both sides have nothing in common that could be compared.");
}

// ---- text ----

TEST(ReportMarkdown, HasATableAnInputAndTheDifferences) {
  const Report report{
      "T|<b>",
      {input("new",
             comparison({result("kv_offload", 260, 30, 512, 0.9), result("hcache", 182, 20, 264, 0.8)})),
       input("r", restoration(0.04, 0.08)), input("v", validation({check("c", "outside", 0.5)})),
       input("s", sweep({400, 800, 100, 0}, {1, 1, 1, 0})),
       input("old", comparison({result("hcache", 260, 10, 264, 0.8)}), true)}};
  const std::string text = report_markdown(report);
  EXPECT_TRUE(text.starts_with("# T\\|&lt;b>\n\n- ")) << text;
  const auto expect_line = [&](const std::string& line) {
    EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos) << line << "\nis not in\n" << text;
  };
  expect_line("|  |  | kv\\_offload | hcache |");
  expect_line("| --- | --- | ---: | ---: |");
  expect_line("| TTFT p99 | ms | 260 +-30 | 182 +-20 |");
  expect_line("| stored | KiB/token | 512 | 264 |");
  expect_line("| hcache | 40.0 | 50.0 | 41.0 | 30/2/0 | 264 | io |");
  expect_line("| s | c | 1 | 1 | 1 | 1 |");
  expect_line("| c |  | 1.00 | 1.00 / 2.00 | 50.0 % |");
  expect_line("| 4 | a | ok | - | 100 | - | - |");
  expect_line("| new, hcache | p99 TTFT | ms | 260 | 182 | -78 +-22 |  |");
}

TEST(ReportCsv, HasARowAFigure) {
  const Report report{
      "T",
      {input("new, x", comparison({result("hcache", 182.5, 20, 264, 0.8)},
                                  {difference("hcache", "kv_offload", -78, 8)})),
       input("r", restoration(0.04, 0.08)), input("=1+1", validation({check("c", "outside", 0.5)})),
       input("s", sweep({400, 800, 100, 50}, {1, 1, 1, 0}))}};
  const std::string text = report_csv(report);
  EXPECT_TRUE(text.starts_with("input,setting,metric,value,half_width\n"));
  for (const char* line :
       {"\"new, x\",hcache,p99_ttft_ms,182.5,20\n", "\"new, x\",hcache,utilization.gpu,0.3,\n",
        "\"new, x\",hcache - kv_offload,p99_ttft_ms,-78,8\n", "r,hcache,restore_s,0.04,\n",
        "r,hcache,schedule.hidden_layers,30,\n", "'=1+1,c,reference.1,2,\n",
        "s,hardware.ssd.count=4 policy.name=a,p99_ttft_ms,100,\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace kvcap
