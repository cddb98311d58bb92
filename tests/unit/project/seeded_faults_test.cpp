// The list of seeded faults keeps up with the code: what each one replaces stands once in its file, as
// ./dev mutate asks.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kvcap::seeded_faults_test {
namespace {

std::vector<std::string> fields_of(const std::string& line) {
  const std::string bar = " | ";
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (std::size_t end; (end = line.find(bar, begin)) != std::string::npos; begin = end + bar.size()) {
    fields.push_back(line.substr(begin, end - begin));
  }
  fields.push_back(line.substr(begin));
  return fields;
}

TEST(SeededFaults, ReplaceWhatStandsOnceInTheirFiles) {
  const std::string root = std::string(KVCAP_SOURCE_DIR) + "/";
  std::ifstream list(root + "tests/mutations.txt");
  ASSERT_TRUE(list);
  int faults = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::vector<std::string> fields = fields_of(line);
    ASSERT_EQ(fields.size(), 4U) << line;
    std::ifstream file(root + fields[0]);
    ASSERT_TRUE(file) << line;
    std::ostringstream text;
    text << file.rdbuf();
    const std::size_t first = text.str().find(fields[1]);
    EXPECT_NE(first, std::string::npos) << line;
    EXPECT_EQ(text.str().find(fields[1], first + 1), std::string::npos) << "twice: " << line;
    ++faults;
  }
  EXPECT_GT(faults, 400);
}

// Of ./dev mutate every: a line that has changed would make its fault a new one.
TEST(SeededFaults, ThatMayStayReplaceALineOfTheirFile) {
  const std::string root = std::string(KVCAP_SOURCE_DIR) + "/";
  std::ifstream list(root + "tests/mutations_left.txt");
  int faults = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::vector<std::string> fields = fields_of(line);
    ASSERT_EQ(fields.size(), 4U) << line;
    std::ifstream file(root + fields[0]);
    ASSERT_TRUE(file) << line;
    bool stands = false;
    for (std::string one; std::getline(file, one);) {
      const std::size_t begin = one.find_first_not_of(' ');
      stands = stands || (begin != std::string::npos && one.substr(begin) == fields[1]);
    }
    EXPECT_TRUE(stands) << line;
    ++faults;
  }
  EXPECT_GT(faults, 20);
}

}  // namespace
}  // namespace kvcap::seeded_faults_test
