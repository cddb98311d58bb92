// Full disks, foreign links, folders without rights, Ctrl-C at any moment: what was there stays, or is whole.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/embedded_pages.h"
#include "faults/faults.h"
#include "unit/process.h"
#include "unit/programs.h"
#include "unit/shell_word.h"

namespace kvcap::output_faults_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class OutputFaults : public Faults {
 protected:
  // The arguments as a shell has them, with its redirections.
  Outcome in_shell(const std::string& arguments) const {
    const std::string command = "cd " + shell_word(folder_) + " && " + shell_word(kvcap_program()) + " " +
                                arguments + " 2>err" +
                                (arguments.find('>') == std::string::npos ? " >out" : "");
    const int status = shell_status(command);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(path("out")),
            read_file(path("err"))};
  }
  // Of reports; a program that was built without Node.js has no html.
  static std::vector<std::string> formats() {
    std::vector<std::string> names = {"markdown", "csv", "json"};
    if (!embedded_report_page().html.empty()) names.emplace_back("html");
    return names;
  }
  // Every command that writes files; --out and -o lead into the folder `made`.
  std::vector<std::vector<std::string>> writers() const {
    return {{"run", path("chat.json"), "--out", path("made")},
            {"run", path("chat.json"), "--perfetto", path("made/timeline.json")},
            {"compare", path("chat.json"), "--policies", "hcache,ideal", "--out", path("made")},
            {"report", path("old"), "-o", path("made/report.csv")},
            {"trace", "generate", path("made/chat.jsonl"), "--sessions", "500"},
            {"trace", "generate", path("made/chat.jsonl.gz"), "--sessions", "500"}};
  }
  void write_old_results() const {
    ASSERT_EQ(kvcap({"run", path("chat.json"), "--out", path("old")}).exit_code, 0);
    for (const auto& command : writers()) {
      fs::create_directories(path("made"));
      ASSERT_EQ(kvcap(command).exit_code, 0);
    }
  }
};

// Exit code 2, one line, and the file as it was.
TEST_F(OutputFaults, ReplaceNothingThatTheCommandReads) {
  write_old_results();
  const std::string result = path("old/result.json"), chat = path("chat.json"),
                    sessions = path("made/chat.jsonl");
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {chat, {"run", chat, "--perfetto", chat}},
      {result, {"report", result, "-o", result}},
      {result, {"report", path("old"), "--before", result, "-o", result, "--format", "json"}},
      {sessions, {"trace", "convert", sessions, path("made/../made/chat.jsonl")}}};
  for (const auto& [file, command] : cases) {
    const std::string before = read_file(file);
    const Outcome outcome = kvcap(command);
    EXPECT_EQ(outcome.exit_code, 2) << command[0];
    EXPECT_NE(outcome.err.find("which this command reads, allowed: another file"), std::string::npos)
        << outcome.err;
    EXPECT_EQ(read_file(file), before);
  }
}

// Of a folder, of a scenario inside of a result, of a workload; under another name, too.
TEST_F(OutputFaults, ReplaceNothingThatTheCommandFindsByItself) {
  write_old_results();
  const std::string result = path("old/result.json"), turns = path("made/hcache/requests.csv");
  fs::create_hard_link(result, path("hard.json"));
  fs::create_symlink("old/result.json", path("soft.json"));
  const auto from_turns = [&](std::vector<std::string> command) {
    command.insert(command.end(), {"--set", "workload.source.kind=vllm", "--set",
                                   "workload.source.path=" + turns, "--out", path("made")});
    return command;
  };
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {result, {"report", path("old"), "-o", result, "--format", "json"}},
      {result, {"report", path("old"), "-o", path("hard.json"), "--format", "json"}},
      {result, {"report", path("old"), "-o", path("soft.json"), "--format", "json"}},
      {result, {"report", path("chat.json"), "--before", path("old"), "-o", result, "--format", "json"}},
      {result, {"run", result + "#scenario", "--out", path("old")}},
      {result, {"run", path("soft.json") + "#scenario", "--perfetto", path("hard.json")}},
      {turns, from_turns({"compare", path("chat.json"), "--policies", "hcache,ideal"})}};
  for (const auto& [file, command] : cases) {
    const std::string before = read_file(file);
    const Outcome outcome = kvcap(command);
    EXPECT_EQ(outcome.exit_code, 2) << command[0] << " " << command[1];
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(read_file(file), before) << command[0] << " " << command[1];
  }
}

TEST_F(OutputFaults, OfOneCommandHaveAPathEach) {
  fs::create_directory(path("made"));
  fs::create_symlink("made", path("link"));
  for (const char* name : {"made/result.json", "made/../made/run.log", "link/requests.csv"}) {
    EXPECT_EQ(refused({"run", path("chat.json"), "--out", path("made"), "--perfetto", path(name)}).err,
              "kvcap: --perfetto: found \"" + path(name) +
                  "\", which this command writes already, allowed: another file\n");
    EXPECT_TRUE(fs::is_empty(path("made")));
  }
}

// A pipe waits for its reader for seconds, before the simulation of minutes.
TEST_F(OutputFaults, ThatArePipesWithoutAReaderAreRefusedWithinSeconds) {
  write_old_results();
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string line =
      "kvcap: " + path("pipe") + ": is a pipe without a reader: No such device or address\n";
  EXPECT_EQ(refused({"run", path("chat.json"), "--perfetto", path("pipe"), "--set",
                     "workload.sessions=200000", "--set", "fidelity=layer"})
                .err,
            line);
  EXPECT_EQ(refused({"report", path("old"), "--format", "csv", "-o", path("pipe")}).err, line);
  EXPECT_TRUE(kvcap({"trace", "generate", path("pipe"), "--sessions", "3"}).err.ends_with(line));
  // With one it is an output as others.
  EXPECT_EQ(in_shell("report " + path("old") + " --format csv -o " + path("pipe") + " & cat " + path("pipe") +
                     " >" + path("read") + "; wait $!")
                .exit_code,
            0);
  EXPECT_TRUE(read_file(path("read")).starts_with("input,setting,metric,"));
}

TEST_F(OutputFaults, ReplaceNoFileThatKvcapDidNotWrite) {
  write_old_results();
  const std::string chat = path("chat.json");
  fs::create_directories(path("mine/hcache"));
  const auto refuses = [&](const std::string& file, const std::vector<std::string>& command) {
    for (const std::string text :
         {"my notes", R"({"schema": "kvcap.scenario/1"})", R"({"schema": "other/1"})"}) {
      std::ofstream(path(file)) << text;
      const Outcome outcome = kvcap(command);
      EXPECT_EQ(outcome.exit_code, 2) << file << " " << text;
      EXPECT_NE(outcome.err.find("was not written by kvcap"), std::string::npos) << outcome.err;
      EXPECT_EQ(read_file(path(file)), text);
    }
    fs::remove(path(file));
  };
  for (const std::string name : {"result.json", "requests.csv", "run.log"}) {
    refuses("mine/" + name, {"run", chat, "--out", path("mine")});
    refuses("mine/hcache/" + name, {"compare", chat, "--policies", "hcache,ideal", "--out", path("mine")});
  }
  refuses("mine/table.txt", {"compare", chat, "--policies", "hcache,ideal", "--out", path("mine")});
  refuses("mine/timeline", {"run", chat, "--perfetto", path("mine/timeline")});
  for (const std::string& format : formats())
    refuses("mine/page", {"report", path("old"), "--format", format, "-o", path("mine/page")});
  refuses("mine/chat.jsonl", {"trace", "generate", path("mine/chat.jsonl"), "--sessions", "5"});
}

TEST_F(OutputFaults, AreRefusedBeforeAnythingRunsWhereAPipeOrAFolderStands) {
  const std::vector<std::string> run = {"run",   path("chat.json"), "--set", "workload.sessions=200000",
                                        "--set", "fidelity=layer",  "--out", path("made")};
  for (const char* name : {"result.json", "requests.csv", "run.log"}) {
    fs::create_directories(path("made") + "/" + name);
    const std::string line =
        "kvcap: --out: " + path("made") + "/" + name +
        " already exists and was not written by kvcap; choose another file or remove it\n";
    EXPECT_EQ(refused(run).err, line);
    fs::remove(path("made") + "/" + name);
    ASSERT_EQ(mkfifo((path("made") + "/" + name).c_str(), 0600), 0);
    EXPECT_EQ(refused(run).err, line);
    fs::remove(path("made") + "/" + name);
  }
}

TEST_F(OutputFaults, AreNoneWhereKvcapReplacesWhatItWrote) {
  write_old_results();
  std::vector<std::vector<std::string>> commands = writers();
  for (const std::string& format : formats())
    commands.push_back({"report", path("old"), "--format", format, "-o", path("made/page." + format)});
  for (const auto& command : commands) {
    ASSERT_EQ(kvcap(command).exit_code, 0) << command[0];
    const Outcome again = kvcap(command);
    EXPECT_EQ(again.exit_code, 0) << command[0] << " " << again.err;
  }
}

TEST_F(OutputFaults, ThatHitStdoutAreNoSuccess) {
  const std::vector<std::string> printing = {"run chat.json",
                                             "run chat.json --json",
                                             "compare chat.json --policies hcache,ideal",
                                             "restore --model llama-2-7b --hardware l40s --tokens 99 --json",
                                             "show models",
                                             "show policies --json",
                                             "completion bash",
                                             "man",
                                             "--help",
                                             "--version"};
  for (const std::string& arguments : printing) {
    const Outcome outcome = in_shell(arguments + " >/dev/full");
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    // Where more than a buffer was printed, the reason is gone.
    EXPECT_TRUE(outcome.err == "kvcap: stdout: No space left on device\n" ||
                outcome.err == "kvcap: stdout: not all could be written\n")
        << arguments << "\n"
        << outcome.err;
  }
  // Whoever closes stdout wants no output; no result takes its place.
  EXPECT_EQ(in_shell("run chat.json --json --out made >&-").exit_code, 0);
  EXPECT_TRUE(Json::parse(read_file(path("made/result.json"))).is_object());
}

TEST_F(OutputFaults, OfAFullDiskLeaveTheOldFilesAndNothingElse) {
  write_old_results();
  const auto before = files_of("made");
  ASSERT_GE(before.size(), 10U);
  for (auto command : writers()) {
    if (command[0] != "report") command.insert(command.end(), {"--set", "seed=2"});
    refused(command, on_a_small_disk);
    EXPECT_EQ(files_of("made"), before) << command[0];
  }
}

// Files of one folder that tell of one run are all new or all old.
TEST_F(OutputFaults, OfADiskThatIsFullForTheLastFileLeaveTheOthersAsTheyWere) {
  write_old_results();
  const auto before = files_of("made");
  const auto has_room_for_a_log_only = [] {
    const rlimit limit{40'000, 40'000};  // requests.csv has 30 kB, result.json more
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  for (auto command : writers()) {
    if (command[0] != "run" && command[0] != "compare") continue;
    command.insert(command.end(), {"--set", "seed=2", "--set", "workload.sessions=30"});
    refused(command, has_room_for_a_log_only);
    EXPECT_EQ(files_of("made"), before) << command[0];
  }
}

TEST_F(OutputFaults, OfFoldersAreRefusedBeforeAnythingRuns) {
  write("file", "");
  fs::create_symlink("nowhere/at/all", path("dangling"));
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"workload.sessions": [20]}})");
  // A run of minutes, if it ran.
  const std::vector<std::string> run = {"run",   path("chat.json"), "--set", "workload.sessions=200000",
                                        "--set", "fidelity=layer"};
  for (const char* folder : {"file", "file/inside", "dangling", "locked", "locked/inside"}) {
    std::vector<std::string> command = run;
    command.insert(command.end(), {"--out", path(folder)});
    refused(command, without_rights);
    refused({"compare", path("chat.json"), "--policies", "hcache,ideal", "--out", path(folder), "--set",
             "workload.sessions=200000"},
            without_rights);
    refused({"sweep", path("s.json"), "--out", path(folder)}, without_rights);
  }
  for (const char* file : {"locked/t.json", "file/t.json", "locked"}) {
    std::vector<std::string> command = run;
    command.insert(command.end(), {"--perfetto", path(file)});
    refused(command, without_rights);
    refused({"trace", "generate", path(file), "--sessions", "3"}, without_rights);
  }
  fs::permissions(path("locked"), fs::perms::owner_all);
  EXPECT_TRUE(fs::is_empty(path("locked")));
}

TEST_F(OutputFaults, AreNoneWhereAFolderOrAFileIsALink) {
  fs::create_directory(path("real"));
  fs::create_symlink("real", path("link"));
  EXPECT_EQ(kvcap({"run", path("chat.json"), "--out", path("link")}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::exists(path("real/result.json")));
  std::ofstream(path("page.md")) << "# kvcap: an older one";
  fs::create_symlink("page.md", path("latest.md"));
  EXPECT_EQ(kvcap({"report", path("real"), "-o", path("latest.md")}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("latest.md")));
  EXPECT_TRUE(read_file(path("page.md")).starts_with("# kvcap: real\n"));
  // A link to what the command reads is that file.
  fs::create_symlink("real/result.json", path("same.json"));
  EXPECT_EQ(kvcap({"report", path("real/result.json"), "-o", path("same.json")}).exit_code, 2);
  // What a shell redirects is a link to a regular file.
  EXPECT_EQ(in_shell("report link --format markdown -o /dev/stdout >redirected").exit_code, 0);
  EXPECT_TRUE(read_file(path("redirected")).starts_with("# kvcap: "));
  EXPECT_TRUE(fs::is_symlink("/dev/stdout"));
}

TEST_F(OutputFaults, OfNamesDoNotLeadOutOfTheFolder) {
  const std::string strange = "../../../x\n/\x1b[2J";
  const std::string longest(300, 'n');
  fs::create_directories(path("a/b"));
  const auto around = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().string();
      if (!name.starts_with(path("a/b/made"))) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  kvcap({"show", "models"});  // makes the files of its output
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"workload.sessions": [20],
      "name": ["../../../x\n", "/tmp/x", "a/../../x"], "model.name": ["../../../x"]}})");
  const auto before = around();
  const std::string out = path("a/b/made");
  ASSERT_EQ(kvcap({"run", path("chat.json"), "--out", out, "--set", "name=" + strange, "--set",
                   "model.name=" + strange})
                .exit_code,
            0);
  // Names that are the same in a folder, and one that no folder may have.
  const Outcome compared =
      kvcap({"compare", path("chat.json"), "--over", "name=../../../x,///.._x,x\ny," + longest, "--out", out,
             "--set", "workload.sessions=20"});
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  ASSERT_EQ(kvcap({"sweep", path("s.json"), "--out", out, "--cache", out + "/cache"}).exit_code, 0);
  EXPECT_EQ(around(), before);
  int settings = 0;
  for (const auto& entry : fs::directory_iterator(out))
    settings += entry.path().filename().string().starts_with("name=");
  EXPECT_EQ(settings, 4);
}

// Whatever the moment, a file is the old one or the new one, and nothing lies beside it but what --resume
// takes.
TEST_F(OutputFaults, OfCtrlCLeaveWholeFiles) {
  write_old_results();
  const auto old = files_of("made");
  std::mt19937 random(7);
  for (const auto& command : writers()) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(kvcap(command).exit_code, 0);
    const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
    ASSERT_EQ(files_of("made"), old) << "the same command writes the same files";
    for (int round = 0; round < 6; ++round) {
      const pid_t pid = start(command);
      std::this_thread::sleep_for(std::uniform_real_distribution<>(0, 1)(random) * whole);
      kill(pid, round % 2 == 0 ? SIGINT : SIGTERM);
      const Outcome outcome = finish(pid);
      EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 130 || outcome.exit_code == 128 + SIGTERM)
          << outcome.exit_code;
      fs::remove_all(path("made/.finished"));
      EXPECT_EQ(files_of("made"), old) << command[0] << " in round " << round;
    }
  }
}

}  // namespace
}  // namespace kvcap::output_faults_test
