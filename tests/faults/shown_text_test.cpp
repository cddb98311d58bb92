// What names, flags, logs and metrics bring into a terminal, Markdown and CSV: no character that is obeyed.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text/plain_text.h"
#include "faults/faults.h"

namespace kvcap::shown_text_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Colours, a bell, another window title, a cleared screen, backwards text, an escape sequence of 8 bits.
const std::string kStrange = "n\x1b[31m\x07\x1b]0;t\x07\x1b[2J\x7f\u202e\u009b1m";

class ShownText : public Faults {
 protected:
  // Writes the metrics of a server of this model to a file.
  void write_metrics(const std::string& name, const std::string& model, const std::string& requests) const {
    const std::string labels = "{model_name=\"" + model + "\"} ";
    write(name, "vllm:request_success_total" + labels + requests + "\nvllm:num_requests_running" + labels +
                    "2\n" + "vllm:prompt_tokens_total" + labels + "500\n");
  }
  static void expect_plain(const std::string& text, const std::string& what) {
    EXPECT_EQ(text, plain_page(text)) << what;
    EXPECT_NE(text, "") << what;
  }
  Outcome shown(const Words& arguments, int exit_code = 0) const {
    const Outcome outcome = kvcap(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments[0] << " " << outcome.err;
    expect_plain(outcome.out + outcome.err, arguments[0]);
    return outcome;
  }
};

TEST_F(ShownText, OfNamesIsPlain) {
  const Words named = {"--set", "name=" + kStrange,
                       "--set", "model.name=" + kStrange,
                       "--set", "hardware.gpu.name=" + kStrange};
  const auto with_names = [&](Words arguments) {
    arguments.insert(arguments.end(), named.begin(), named.end());
    return arguments;
  };
  const Outcome run = shown(with_names({"run", path("chat.json"), "--out", path("made")}));
  EXPECT_NE(run.out.find("n\\u001b[31m\\u0007"), std::string::npos) << run.out;
  const Outcome json = shown(with_names({"run", path("chat.json"), "--json"}));
  EXPECT_EQ(nlohmann::json::parse(json.out)["scenario"]["name"], kStrange);
  shown(with_names({"compare", path("chat.json"), "--policies", "hcache,ideal", "--out", path("both")}));
  shown({"restore", "--model", "llama-2-7b", "--hardware", "a100-40g-4x-pm9a3", "--tokens", "99", "--set",
         "model.name=" + kStrange});
  for (const std::string format : {"markdown", "csv"}) {
    const Outcome report =
        shown({"report", path("made"), path("both"), "--format", format, "--title", kStrange});
    const bool names_scenarios = format == "markdown";
    EXPECT_EQ(report.out.find("u001b") != std::string::npos, names_scenarios) << report.out.substr(0, 500);
    ASSERT_EQ(kvcap({"report", path("both"), "--format", format, "-o", path(format), "--title", kStrange})
                  .exit_code,
              0);
    expect_plain(read_file(path(format)), format);
  }
  for (const char* file : {"made/run.log", "made/requests.csv", "both/table.txt"})
    expect_plain(read_file(path(file)), file);
}

TEST_F(ShownText, OfASweepIsPlain) {
  const std::string name = nlohmann::json(kStrange + "\n\t").dump();
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"workload.sessions": [20],
      "name": [)" + name +
                      R"(], "model.name": [)" + name + "]}}");
  const Outcome csv = shown({"sweep", path("s.json"), "--out", path("made"), "--csv"});
  EXPECT_NE(csv.out.find("\\u202e"), std::string::npos) << csv.out.substr(0, 500);
  const Outcome json = shown({"sweep", path("s.json"), "--out", path("made"), "--resume", "--json"});
  EXPECT_TRUE(nlohmann::json::accept(json.out));
}

TEST_F(ShownText, OfMetricsIsPlain) {
  write_metrics("one", kStrange, "10");
  EXPECT_NE(shown({"observe", path("one")}).out.find("\\u001b[31m"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(shown({"observe", path("one"), "--json"}).out)["models"][0], kStrange);
  write("other", "go_\x1b[31m 1\n");
  EXPECT_NE(shown({"observe", path("other")}, 2).err.find("go_\\u001b[31m"), std::string::npos);
}

TEST_F(ShownText, OfFilesIsPlain) {
  write(kStrange, "arrival_s,input_tokens,output_tokens\n0,5,1\n1,5,\x1b[31m\n");
  const Outcome refused = shown({"trace", "stats", path(kStrange), "--format", "csv"}, 2);
  EXPECT_NE(refused.err.find("found \\u001b[31m, allowed:"), std::string::npos) << refused.err;
}

TEST_F(ShownText, OfAnswersInJsonMeansTheSame) {
  ASSERT_EQ(kvcap({"run", path("chat.json"), "--out", path("made"), "--set", "name=" + kStrange}).exit_code,
            0);
  const Outcome printed = kvcap({"report", path("made"), "--format", "json"});
  EXPECT_EQ(printed.out, plain_page(printed.out));
  EXPECT_NE(printed.out.find("u001b"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(printed.out));
}

// Names of 100 kB are cut in messages and tables, and whole in JSON.
TEST_F(ShownText, IsShort) {
  const std::string longest(100'000, 'n');
  const std::string quoted = '"' + longest + '"';
  write("long.json", R"({"schema": "kvcap.scenario/1", "model": )" + quoted + R"(, "hardware": "l40s",
      "workload": {"source": {"kind": "chat"}}})");
  EXPECT_NE(refused({"run", path("long.json")}).err.find(" bytes)... "), std::string::npos);
  write("key.json", R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b", )" + quoted + ": 1}");
  EXPECT_NE(refused({"run", path("key.json")}).err.find(" bytes)... "), std::string::npos);
  const Outcome run = kvcap({"run", path("chat.json"), "--set", "name=" + longest});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_LT(run.out.size() + run.err.size(), 10'000U);
  const Outcome json = kvcap({"run", path("chat.json"), "--set", "name=" + longest, "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["scenario"]["name"], longest);
  write_metrics("one", longest, "-5");
  const Outcome observed = kvcap({"observe", path("one")});
  EXPECT_EQ(observed.exit_code, 0) << observed.err.substr(0, 500);
  EXPECT_LT(observed.out.size() + observed.err.size(), 10'000U);
}

}  // namespace
}  // namespace kvcap::shown_text_test
