// JSON has no comments: a scenario, a plan and a sweep open with two notes that say what is set up and what
// one learns from running it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/text/joined.h"
#include "state/eviction_kind.h"

namespace kvcap::scenario_notes_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestNote = 160;  // characters: two lines of a terminal

fs::path scenarios() { return fs::path(KVCAP_SOURCE_DIR) / "scenarios"; }
fs::path format_page() { return scenarios() / "format.md"; }

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// All that kvcap runs; studies are no scenarios.
std::vector<fs::path> files() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(scenarios())) {
    if (entry.path().extension() == ".json" && entry.path().parent_path().filename() != "studies")
      found.push_back(entry.path());
  }
  return found;
}

TEST(ScenarioNotes, StandBeforeEverythingButSchemaAndName) {
  for (const fs::path& path : files()) {
    std::vector<std::string> keys;
    const Json json = Json::parse(read(path));
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    std::vector<std::string> expected = {"schema", "name", "notes"};
    if (path.parent_path().filename() == "sweeps") expected.erase(expected.begin() + 1);  // has no name
    ASSERT_GE(keys.size(), expected.size()) << path;
    keys.resize(expected.size());
    EXPECT_EQ(keys, expected) << path;
  }
}

TEST(ScenarioNotes, SayInTwoSentencesWhatIsSetUpAndWhatOneLearns) {
  std::set<std::string> seen;
  for (const fs::path& path : files()) {
    const Json notes = Json::parse(read(path)).value("notes", Json::array());
    ASSERT_TRUE(notes.is_array() && notes.size() >= 2) << path;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string note = notes[i];
      EXPECT_GE(note.size(), 40U) << path << ": " << note;
      EXPECT_LE(note.size(), kLongestNote) << path << ": " << note;
      EXPECT_NE(note.back(), '.') << path << ": " << note;
      EXPECT_TRUE(seen.insert(note).second) << path << " says what another file says: " << note;
    }
  }
  EXPECT_GE(seen.size(), 80U);
}

TEST(ScenarioNotes, AndEveryFileStandsOnAPage) {
  std::string pages;
  for (const auto& entry : fs::directory_iterator(scenarios())) {
    if (entry.path().extension() == ".md") pages += read(entry.path());
  }
  for (const fs::path& path : files())
    EXPECT_NE(pages.find(path.filename().string() + "`"), std::string::npos) << path;
}

TEST(ScenarioNotes, AndTheEvictionOrdersOfThePageAreThoseOfTheTable) {
  const std::string begin = "<!-- evictions -->", end = "<!-- end of evictions -->";
  const std::string list = joined(kEvictions, "; ", [](const EvictionRow& row) {
    return "`" + std::string(row.name) + "`: " + std::string(row.summary);
  });
  std::string page = read(format_page());
  const std::size_t first = page.find(begin) + begin.size(), last = page.find(end);
  ASSERT_LE(first, last);
  if (std::getenv("KVCAP_WRITE_GOLDEN")) {
    std::ofstream(format_page()) << page.replace(first, last - first, list);
    return;
  }
  EXPECT_EQ(page.substr(first, last - first), list) << "to write the list anew: KVCAP_WRITE_GOLDEN=1";
}

}  // namespace
}  // namespace kvcap::scenario_notes_test
