// Files that are made to hurt: nested without end, four gigabytes long, packed ever so small, not to be read.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "faults/faults.h"
#include "unit/process.h"
#include "workload/logs/gz_file.h"

namespace kvcap::input_faults_test {
namespace {

namespace fs = std::filesystem;

const std::vector<const char*> kAllFormats = {"sessions", "sharegpt", "leval",    "mooncake",
                                              "vllm",     "azure",    "burstgpt", "csv"};

class InputFaults : public Faults {
 protected:
  // Every command that reads a document of ours.
  std::vector<std::vector<std::string>> readers_of(const std::string& file) const {
    return {{"run", path(file)},
            {"compare", path(file), "--policies", "hcache,ideal"},
            {"sweep", path(file), "--out", path("made")},
            {"plan", path(file)},
            {"report", path(file), "--format", "json"},
            {"validate", "--twin", path(file)},
            {"show", "models", path(file)},
            {"show", "hardware", path(file)},
            {"run", path("chat.json"), "--set", "model=" + path(file)},
            {"run", path("chat.json"), "--set", "hardware=" + path(file)},
            {"run", path("chat.json"), "--set", "policy=" + path(file)}};
  }
  std::vector<std::vector<std::string>> trace_readers_of(const std::string& file,
                                                         const std::vector<const char*>& formats) const {
    std::vector<std::vector<std::string>> commands;
    for (const char* format : formats) commands.push_back({"trace", "stats", path(file), "--format", format});
    return commands;
  }
};

std::string nested(const std::string& open, std::size_t levels) {
  std::string text;
  text.reserve(open.size() * levels);
  for (std::size_t i = 0; i < levels; ++i) text += open;
  return text;
}

TEST_F(InputFaults, NestedTenThousandAndTenMillionLevelsDeepAreRefused) {
  for (const std::string& text :
       {nested("[", 10'000), nested("{\"notes\":", 10'000), nested("[", 10'000'000)}) {
    write("deep.json", text);
    for (const auto& command : readers_of("deep.json")) refused(command, with_little_memory);
  }
  write("deep.json",
        R"({"schema": "kvcap.scenario/1", "name": )" + nested("[", 10'000) + nested("]", 10'000) + "}");
  EXPECT_EQ(refused({"run", path("deep.json")}).err,
            "kvcap: " + path("deep.json") + ": is nested deeper than 100 levels\n");
}

TEST_F(InputFaults, NestedInOneRowOfATraceAreRefused) {
  for (const char* row : {"", "{\"id\":", "[{\"id\":\"a\",\"conversations\":"}) {
    write("deep.jsonl", row + nested("[", 10'000) + "\n");
    for (const auto& command : trace_readers_of("deep.jsonl", kAllFormats))
      refused(command, with_little_memory);
    write("deep.jsonl", row + nested("[", 10'000'000) + "\n");
    for (const auto& command : trace_readers_of("deep.jsonl", {"sessions", "sharegpt", "mooncake"}))
      refused(command, with_little_memory);
  }
}

TEST_F(InputFaults, NestedInSettingsAreRefused) {
  const std::string deep = nested("[", 10'000) + nested("]", 10'000);
  for (const char* field : {"name=", "notes=", "policy=", "model=", "hardware.gpu=", "workload="})
    refused({"run", path("chat.json"), "--set", field + deep});
  refused({"run", path("chat.json"), "--set", nested("a.", 10'000) + "a=1"});
}

TEST_F(InputFaults, OfFourGigabytesInOneLineAreRefusedWithoutReadingThem) {
  write("long.json", "");
  fs::resize_file(path("long.json"), std::uintmax_t{4} << 30);  // a hole: takes no room
  for (const auto& command : readers_of("long.json")) refused(command, with_little_memory);
  for (const auto& command : trace_readers_of("long.json", {"sessions", "sharegpt", "csv"}))
    refused(command, with_little_memory);
  EXPECT_EQ(refused({"run", path("long.json")}).err,
            "kvcap: " + path("long.json") + ": is larger than 64 MB, the limit for one file\n");
  EXPECT_EQ(refused({"trace", "stats", path("long.json"), "--format", "sessions"}).err,
            "kvcap: " + path("long.json") + ":1: line is longer than 64 MiB\n");
}

// A gzip file may be several, one after the other.
TEST_F(InputFaults, OfFourGigabytesInAFewPackedOnesAreRefusedWithoutKeepingThem) {
  const auto packed = [](char letter) {
    const std::string part = gzip(std::string(16 << 20, letter));
    std::string whole;
    for (int i = 0; i < 256; ++i) whole += part;
    return whole;
  };
  write("zeros.gz", packed('\0'));
  ASSERT_LT(fs::file_size(path("zeros.gz")), 10'000'000U);
  for (const auto& command : trace_readers_of("zeros.gz", {"sessions"})) refused(command, with_little_memory);
  write("string.gz", gzip("[{\"conversations\":[],\"id\":\"") + packed('a'));
  for (const auto& command : trace_readers_of("string.gz", {"leval"})) refused(command, with_little_memory);
  EXPECT_EQ(refused({"trace", "stats", path("string.gz")}).err,
            "kvcap: " + path("string.gz") +
                ": a string is longer than 64 MiB; read as sharegpt, which --format can change\n");
}

TEST_F(InputFaults, WithoutEndAreRefused) {
  fs::create_symlink("/dev/zero", path("endless"));
  refused({"run", path("endless")}, with_little_memory);
  refused({"report", path("endless"), "--format", "json"}, with_little_memory);
  for (const auto& command : trace_readers_of("endless", {"sessions", "sharegpt"}))
    refused(command, with_little_memory);
}

// A pipe that nobody opens for writing would hold a program for ever.
TEST_F(InputFaults, ThatArePipesSocketsOrDevicesAreRefusedWithinSeconds) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  fs::create_symlink("/dev/ptmx", path("device"));  // a terminal that nobody types into
  const std::vector<std::pair<const char*, std::string>> inputs = {
      {"socket", "it is a socket"},
      {"device", "it is a device; allowed: a file or a pipe"},
      {"pipe", "it is a pipe without a writer"}};
  for (const auto& [file, reason] : inputs) {
    EXPECT_EQ(refused({"run", path(file)}).err,
              "kvcap: " + path(file) + ": cannot be read: " + reason + "\n");
    std::vector<std::vector<std::string>> commands = readers_of(file);
    for (const auto& command : trace_readers_of(file, {"sessions", "sharegpt"})) commands.push_back(command);
    if (file == std::string("pipe")) commands.resize(3);  // each waits for some seconds
    commands.push_back({"trace", "stats", path(file)});
    commands.push_back({"run", path("chat.json"), "--set", "workload.source.kind=sessions", "--set",
                        "workload.source.path=" + path(file)});
    for (const auto& command : commands) {
      const auto begin = std::chrono::steady_clock::now();
      refused(command);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << command[0];
    }
  }
  close(listener);
}

TEST_F(InputFaults, AreNoneWhereAPipeHasAWriterWhoTakesHisTime) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const auto feed = [&](const char* from, int pause_ms, int idle_ms) {
    return start_process([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      std::ofstream pipe(path("pipe"));
      std::this_thread::sleep_for(std::chrono::milliseconds(idle_ms));
      pipe << read_file(path(from));
    });
  };
  for (const auto& [pause_ms, idle_ms] : {std::pair(0, 0), {500, 0}, {0, 4000}}) {
    const pid_t writer = feed("chat.json", pause_ms, idle_ms);
    const Outcome outcome = kvcap({"run", path("pipe")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    wait_for_process(writer);
  }
  ASSERT_EQ(kvcap({"trace", "generate", path("t.jsonl.gz"), "--sessions", "20"}).exit_code, 0);
  const pid_t writer = feed("t.jsonl.gz", 0, 0);
  const Outcome outcome = kvcap({"trace", "stats", path("pipe"), "--format", "sessions"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  wait_for_process(writer);
}

// Reading it for its kind, or for its hash, would take away what the simulation reads.
TEST_F(InputFaults, ThatArePipesAreRefusedWhereTheyAreReadTwice) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(
      refused({"trace", "stats", path("pipe")}).err,
      "kvcap: " + path("pipe") + ": is a pipe, which can be read only once; give its format with --format\n");
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {
      "workload.source": [{"kind": "sessions", "path": "pipe"}]}})");
  EXPECT_EQ(refused({"sweep", path("s.json"), "--out", path("made")}).err,
            "kvcap: " + path("pipe") +
                ": is a pipe, which can be read only once, and a sweep reads it several times; allowed: a "
                "file\n");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"plan", path("pipe")}, {"compare", path("pipe"), "--policies", "ideal"}}) {
    EXPECT_NE(refused(command).err.find("is a pipe, which can be read only once, and a "), std::string::npos);
  }
}

TEST_F(InputFaults, ThatCannotBeReadAreRefusedWithTheReason) {
  fs::create_directory(path("folder"));
  fs::create_symlink("absent", path("dangling"));
  write("secret", "{}");
  fs::permissions(path("secret"), fs::perms::none);
  for (const char* file : {"folder", "dangling", "secret"}) {
    for (const auto& command : readers_of(file)) refused(command, without_rights);
    for (const auto& command : trace_readers_of(file, {"sessions", "sharegpt", "csv"}))
      refused(command, without_rights);
  }
  EXPECT_EQ(refused({"run", path("secret")}, without_rights).err,
            "kvcap: " + path("secret") + ": cannot be read: Permission denied\n");
}

// JSON holds none.
TEST_F(InputFaults, AndNamesThatAreNotUtf8AreRefused) {
  const std::string bad = "\xff";
  refused({"run", path("chat.json"), "--set", "name=" + bad});
  refused({"run", path("chat.json"), "--set", bad + "=1"});
  refused({"compare", path("chat.json"), "--over", "name=a," + bad});
  refused({"restore", "--model", bad, "--hardware", "l40s", "--tokens", "9"});
  refused({"run", bad});
  // A trace may be called so, and its name goes into the notes of a result.
  write(bad + ".jsonl", "{}\n{\"id\": 1, \"turns\": [{\"input_tokens\": 9, \"output_tokens\": 9}]}\n");
  Outcome outcome = kvcap({"trace", "stats", path(bad + ".jsonl"), "--format", "sessions", "--set",
                           "workload.source.on_bad_row=skip", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

// What a 32-bit count of tokens, or a 64-bit one of nanoseconds, does not hold.
TEST_F(InputFaults, WithNumbersThatNothingCanHoldAreRefused) {
  for (const char* number : {"4e9", "4294967296", "1e18", "9223372036854775807", "18446744073709551616",
                             "1e300", "-1", "0.5", "\"9\"", "null"}) {
    const std::string text(number);
    write("s.jsonl", "{\"id\":1,\"turns\":[{\"input_tokens\":" + text + ",\"output_tokens\":1}]}\n");
    refused({"trace", "stats", path("s.jsonl"), "--format", "sessions"});
    write("m.jsonl",
          "{\"timestamp\":0,\"input_length\":" + text + ",\"output_length\":1,\"hash_ids\":[0]}\n");
    refused({"trace", "stats", path("m.jsonl"), "--format", "mooncake"});
    write("c.csv", "arrival_s,input_tokens,output_tokens\n0," + text + ",1\n");
    // A field of CSV may stand in quotes.
    if (text.front() != '"') refused({"trace", "stats", path("c.csv"), "--format", "csv"});
  }
  write("late.jsonl",
        "{\"id\":1,\"turns\":[{\"input_tokens\":1,\"output_tokens\":1,\"arrival_s\":1e300}]}\n");
  refused({"trace", "stats", path("late.jsonl"), "--format", "sessions"});
  // 500 messages of one side, ten million tokens each, are one turn of more than 32 bits.
  std::string messages, counts;
  for (int i = 0; i < 500; ++i) {
    messages += std::string(i > 0 ? "," : "") + R"({"from":"human","value":"a"})";
    counts += std::string(i > 0 ? "," : "") + "10000000";
  }
  write("chat.share.json",
        R"([{"id":"a","conversations":[)" + messages + R"(,{"from":"gpt","value":"b"}]}])");
  write("counts.jsonl", R"({"id":"a","tokens":[)" + counts + ",1]}\n");
  EXPECT_NE(refused({"trace", "stats", path("chat.share.json"), "--format", "sharegpt", "--set",
                     "workload.source.token_counts=" + path("counts.jsonl")})
                .err.find("found 5000000001 tokens, allowed: at most 10000000"),
            std::string::npos);
}

// SQLite has 2,000 columns; and a key more is compared with all before it.
TEST_F(InputFaults, WithMoreSweptFieldsThanColumnsAreRefused) {
  for (const std::string part : {"grid", "zip", "sample", "points"}) {
    for (const int count : {1'001, 9'000}) {
      std::string fields;
      for (int i = 0; i < count; ++i) {
        fields += std::string(i > 0 ? "," : "") + "\"notes.n" + std::to_string(i) +
                  (part == "points" ? "\":1" : "\":[1,2]");
      }
      fields = "{" + fields + "}";
      if (part == "points") fields = "[" + fields + "]";
      if (part == "sample") fields = R"({"method": "random", "points": 2, "ranges": )" + fields + "}";
      write("wide.json",
            R"({"schema": "kvcap.sweep/1", "base": "chat.json", ")" + part + "\": " + fields + "}");
      EXPECT_EQ(refused({"sweep", path("wide.json"), "--out", path("made")}, with_little_memory).err,
                "kvcap: " + path("wide.json") + ": " + part +
                    ": sets more than 1,000 fields, allowed: at most 1,000\n");
    }
  }
}

TEST_F(InputFaults, WithMorePointsThanASweepCanHaveAreRefused) {
  std::string values = "0";
  for (int i = 1; i < 100'000; ++i) values += "," + std::to_string(i);
  write("grid.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"seed": [)" + values +
                         R"(], "workload.sessions": [)" + values + "]}}");
  EXPECT_EQ(
      refused({"sweep", path("grid.json"), "--out", path("made")}).err,
      "kvcap: " + path("grid.json") + ": found more than 10,000,000 points, allowed: at most 10,000,000\n");
  write("limits.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"seed": [1]},
    "limits": {"timeout_s": 1e300}})");
  refused({"sweep", path("limits.json"), "--out", path("made")});
  for (const char* bound : {"nan", "inf", "1e999"})
    refused({"run", path("chat.json"), "--require", std::string("p99_ttft_ms<=") + bound});
}

}  // namespace
}  // namespace kvcap::input_faults_test
