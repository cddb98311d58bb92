// The pages of tests/ list every test that needs public data, and name only tests that exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "unit/cli.h"

namespace kvcap::tests_page_test {
namespace {

// "Suite.Name" of every test, and of those whose bodies need public data.
struct Tests {
  std::set<std::string> all, need_data;
};

Tests tests_of_the_sources() {
  Tests tests;
  const std::regex heading(R"(\nTEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(KVCAP_SOURCE_DIR "/tests")) {
    if (!entry.path().string().ends_with("_test.cpp")) continue;
    const std::string text = read_file(entry.path());
    const std::sregex_iterator end;
    for (std::sregex_iterator at(text.begin(), text.end(), heading); at != end; ++at) {
      const std::string name = at->str(1) + "." + at->str(2);
      const auto next = std::next(at);
      const auto begin = static_cast<std::size_t>(at->position());
      const std::size_t length =
          next == end ? std::string::npos : static_cast<std::size_t>(next->position()) - begin;
      tests.all.insert(name);
      if (text.substr(begin, length).find("  KVCAP_NEEDS_SHARED_DATA(") != std::string::npos)
        tests.need_data.insert(name);
    }
  }
  return tests;
}

// What stands in backticks and looks like a test, or like tests: `Suite.Name`, `Suite.*`.
std::set<std::string> named_on_the_pages() {
  std::string page;
  for (const char* file : {"README.md", "invariants.md", "public_data.md", "soak.md"})
    page += read_file(KVCAP_SOURCE_DIR "/tests/" + std::string(file));
  const std::regex name(R"(`(?:Of/)?([A-Z]\w+\.(?:[A-Z]\w+\*?|\*))`)");
  std::set<std::string> names;
  for (std::sregex_iterator at(page.begin(), page.end(), name), end; at != end; ++at)
    names.insert(at->str(1));
  return names;
}

bool stands_for(const std::string& pattern, const std::string& test) {
  return pattern.ends_with('*') ? test.starts_with(pattern.substr(0, pattern.size() - 1)) : test == pattern;
}

TEST(TestsPage, NamesTestsThatExist) {
  const Tests tests = tests_of_the_sources();
  for (const std::string& name : named_on_the_pages()) {
    if (name.starts_with("Report.")) continue;  // ctest's own
    EXPECT_TRUE(std::any_of(tests.all.begin(), tests.all.end(),
                            [&](const std::string& test) { return stands_for(name, test); }))
        << "a page of tests/ names " << name << ", which is no test";
  }
}

TEST(TestsPage, ListsEveryTestThatNeedsPublicData) {
  const Tests tests = tests_of_the_sources();
  const std::set<std::string> names = named_on_the_pages();
  EXPECT_GT(tests.need_data.size(), 8U);
  for (const std::string& test : tests.need_data) {
    EXPECT_TRUE(std::any_of(names.begin(), names.end(),
                            [&](const std::string& name) { return stands_for(name, test); }))
        << test << " is skipped without public data: tests/public_data.md has to say what stands in for it";
  }
}

}  // namespace
}  // namespace kvcap::tests_page_test
