// Places that no output replaces: the root directory, and links that lead nowhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "faults/faults.h"

namespace kvcap::output_paths_test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class OutputPaths : public Faults {};

TEST_F(OutputPaths, InTheRootOfAllFoldersAreRefusedHoweverItIsSpelt) {
  fs::create_symlink("/", path("root"));
  write("s.json", R"({"schema": "kvcap.sweep/1", "base": "chat.json", "grid": {"workload.sessions": [20]}})");
  for (const std::string& root :
       Words{"/", "//", "/.", "/../", path("root"), path("root/"), "/not_there/.."}) {
    const std::string line =
        "kvcap: --out: found \"" + root +
        "\", the root directory (is a shell variable unset?), allowed: a folder below it\n";
    EXPECT_EQ(refused({"run", path("chat.json"), "--out", root}).err, line);
    EXPECT_EQ(refused({"compare", path("chat.json"), "--policies", "hcache,ideal", "--out", root}).err, line);
    EXPECT_EQ(refused({"sweep", path("s.json"), "--out", root}).err, line);
  }
  refused({"sweep", path("s.json"), "--out", path("made"), "--cache", "/"});
  refused({"run", path("chat.json"), "--perfetto", "/"});
  refused({"observe", path("chat.json"), "--out", "/"});
  refused({"trace", "generate", "/", "--sessions", "3"});
  for (const char* name :
       {"/result.json", "/requests.csv", "/run.log", "/table.txt", "/results.sqlite", "/not_there"})
    EXPECT_FALSE(fs::exists(name)) << name;
  EXPECT_FALSE(fs::exists(path("made")));
}

// A link that leads to itself or to a name that is not there stays what it is.
TEST_F(OutputPaths, BehindALinkThatLeadsNowhereAreRefused) {
  fs::create_symlink("loop", path("loop"));
  fs::create_symlink("there", path("here"));
  fs::create_symlink("here", path("there"));
  fs::create_symlink("absent", path("dangling"));
  fs::create_directory(path("made"));
  ASSERT_EQ(kvcap({"run", path("chat.json"), "--out", path("old")}).exit_code, 0);
  for (const char* name : {"loop", "here", "dangling"}) {
    const std::string file = path(name);
    const std::string line =
        ": found \"" + file + "\", a link that leads nowhere; remove the link, or choose another file\n";
    EXPECT_EQ(refused({"run", path("chat.json"), "--perfetto", file}).err, "kvcap: --perfetto" + line);
    EXPECT_EQ(refused({"report", path("old"), "--format", "csv", "-o", file}).err, "kvcap: -o" + line);
    refused({"trace", "generate", file, "--sessions", "3"});
    refused({"observe", path("old/result.json"), "--out", file});
    refused({"run", path("chat.json"), "--out", file});
    EXPECT_TRUE(fs::is_symlink(file)) << name;
    for (const char* inside : {"result.json", "requests.csv", "run.log"}) {
      fs::create_symlink(file, path("made") + "/" + inside);
      refused({"run", path("chat.json"), "--out", path("made")});
      EXPECT_TRUE(fs::is_symlink(path("made") + "/" + inside));
      fs::remove(path("made") + "/" + inside);
    }
    EXPECT_TRUE(fs::is_empty(path("made")));
  }
  EXPECT_FALSE(fs::exists(path("absent")));
}

}  // namespace
}  // namespace kvcap::output_paths_test
