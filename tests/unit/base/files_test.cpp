#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/input_error.h"
#include "base/text/json_error.h"
#include "base/text/utf8.h"
#include "unit/process.h"

namespace kvcap::files_test {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  Files() : folder_(fs::temp_directory_path() / ("kvcap_files_" + std::to_string(::getpid()))) {
    fs::create_directory(folder_);
  }
  ~Files() override { fs::remove_all(folder_); }

  std::string content(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }
  std::string refusal(const std::string& name, int64_t most_bytes) const {
    try {
      read_file(folder_ / name, most_bytes);
      return "read";
    } catch (const InputError& error) {
      return error.what();
    }
  }
  fs::path folder_;
};

TEST_F(Files, AreReplacedAndLeaveNothingBeside) {
  write_file(folder_ / "result.json", "old and longer\n");
  write_file(folder_ / "result.json", "new\n");
  EXPECT_EQ(content("result.json"), "new\n");
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, GrowAsideAndAreSeenWhole) {
  write_file(folder_ / "requests.csv", "old\n");
  {
    NewFile given_up(folder_ / "requests.csv");
    given_up.append("half");
    EXPECT_EQ(content("requests.csv"), "old\n");
  }
  EXPECT_EQ(content("requests.csv"), "old\n");
  EXPECT_EQ(files(), 1);
  NewFile whole(folder_ / "requests.csv");
  whole.append("new ");
  whole.append("rows\n");
  whole.commit();
  EXPECT_EQ(content("requests.csv"), "new rows\n");
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, MayHaveTheLongestNameThereIs) {
  const std::string name(255, 'n');
  write_file(folder_ / name, "x");
  EXPECT_EQ(content(name), "x");
}

TEST_F(Files, CannotBeWrittenWhereTheFolderIsMissing) {
  try {
    write_file(folder_ / "missing" / "result.json", "x");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.what(), (folder_ / "missing/result.json").string() + ": No such file or directory");
  }
}

TEST_F(Files, DoNotTakeThePlaceOfPipes) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // so that a writer does not wait
  write_file(pipe, "x");
  EXPECT_TRUE(fs::is_fifo(pipe));
  char text[2] = {};
  EXPECT_EQ(::read(reader, text, 1), 1);
  EXPECT_STREQ(text, "x");
  ::close(reader);
}

TEST_F(Files, AreReplacedBehindALinkAndTheLinkStays) {
  fs::create_directory(folder_ / "real");
  write_file(folder_ / "real/result.json", "old\n");
  fs::create_symlink("real/result.json", folder_ / "latest.json");
  write_file(folder_ / "latest.json", "new\n");
  EXPECT_TRUE(fs::is_symlink(folder_ / "latest.json"));
  EXPECT_EQ(content("real/result.json"), "new\n");
  // A link to nothing becomes the file.
  fs::create_symlink("nowhere/result.json", folder_ / "dangling.json");
  write_file(folder_ / "dangling.json", "here\n");
  EXPECT_FALSE(fs::is_symlink(folder_ / "dangling.json"));
  EXPECT_EQ(content("dangling.json"), "here\n");
}

// Whoever may write in the folder can guess the name under which a file is written.
TEST_F(Files, AreNeverWrittenThroughALinkThatLiesInWait) {
  write_file(folder_ / "victim", "precious\n");
  const std::string guess = ".kvcap.part" + std::to_string(::getpid()) + ".0";
  fs::create_symlink(folder_ / "victim", folder_ / guess);
  write_file(folder_ / "result.json", "new\n");
  EXPECT_EQ(content("victim"), "precious\n");
  EXPECT_EQ(content("result.json"), "new\n");
  EXPECT_TRUE(fs::is_symlink(folder_ / guess));
}

TEST_F(Files, ThatDoNotFitOnTheDiskLeaveTheOldOne) {
  write_file(folder_ / "result.json", "old\n");
  const pid_t pid = start_process([this] {
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    try {
      write_file(folder_ / "result.json", std::string(2000, 'x'));
    } catch (const std::system_error& error) {
      _exit(error.code().value());
    }
  });
  EXPECT_EQ(WEXITSTATUS(wait_for_process(pid)), EFBIG);
  EXPECT_EQ(content("result.json"), "old\n");
  EXPECT_EQ(files(), 1);
}

TEST_F(Files, AreReadUpToALimit) {
  write_file(folder_ / "text", "12345");
  EXPECT_EQ(read_file(folder_ / "text", 5), "12345");
  EXPECT_EQ(refusal("text", 4),
            (folder_ / "text").string() + ": is larger than 0 MB, the limit for one file");
  // Four gigabytes that take no room.
  fs::resize_file(folder_ / "text", int64_t{4} << 30);
  EXPECT_EQ(refusal("text", 1'000'000),
            (folder_ / "text").string() + ": is larger than 1 MB, the limit for one file");
  FILE* endless = popen("yes", "r");
  fs::create_symlink("/proc/self/fd/" + std::to_string(fileno(endless)), folder_ / "endless");
  EXPECT_EQ(refusal("endless", 1'000'000),
            (folder_ / "endless").string() + ": is larger than 1 MB, the limit for one file");
  pclose(endless);
}

TEST_F(Files, ThatCannotBeReadAreRefusedWithTheReason) {
  EXPECT_EQ(refusal("absent", 9),
            (folder_ / "absent").string() + ": cannot be read: No such file or directory");
  EXPECT_EQ(refusal("", 9), (folder_ / "").string() + ": cannot be read: Is a directory");
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(refusal("loop", 9),
            (folder_ / "loop").string() + ": cannot be read: Too many levels of symbolic links");
}

TEST(Utf8, IsToldFromOtherBytes) {
  EXPECT_TRUE(is_utf8("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z"));
  for (const char* text : {"\xFFz", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80"})
    EXPECT_FALSE(is_utf8(text));
}

TEST(JsonText, IsTooDeepByItsOpenBracketsAlone) {
  EXPECT_FALSE(is_nested_too_deep(std::string(100, '[') + std::string(100, ']') + "[]"));
  EXPECT_TRUE(is_nested_too_deep(std::string(101, '[')));
  std::string alternating;
  for (int i = 0; i < 51; ++i) alternating += "{\"a\":[";
  EXPECT_TRUE(is_nested_too_deep(alternating));
  EXPECT_FALSE(is_nested_too_deep("\"\\\"" + std::string(200, '[') + "\""));
}

}  // namespace
}  // namespace kvcap::files_test
