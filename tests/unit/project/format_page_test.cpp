// scenarios/format.md explains fields in tables. Which fields there are is a fact of the table of fields: the
// page may not name others.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "scenario/field_entries.h"
#include "unit/reader.h"

namespace kvcap::format_page_test {
namespace {

// Returns the object whose fields a section's table has; "-": none. A part of a section, without a name of
// its own, continues `outer`.
std::string object_of(const std::string& heading, const std::string& outer) {
  static const std::regex kObject(R"(#+ `([a-z_.]+)`.*)");
  std::smatch found;
  if (std::regex_match(heading, found, kObject)) return found[1].str() + ".";
  if (heading.find("kvcap.scenario/1") != std::string::npos) return "";
  if (heading == "#### Routers") return "fleet.router.";
  return heading.starts_with("#### ") ? outer : "-";
}

std::vector<std::string> cells_of(std::string line) {
  line = std::regex_replace(line, std::regex(R"(\\\|)"), "/");
  std::vector<std::string> cells;
  for (std::size_t begin = 2; begin < line.size();) {
    const std::size_t end = std::min(line.find(" |", begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 3;
  }
  return cells;
}

// "`a`, `b`" has two fields; the second may leave out what both begin with: "`source.a`, `b`".
void add_fields(const std::string& object, const std::string& cell, std::vector<std::string>& paths) {
  static const std::regex kName(R"(`([a-z0-9_.\[\]]+)`)");
  std::string first;
  for (auto one = std::sregex_iterator(cell.begin(), cell.end(), kName); one != std::sregex_iterator();
       ++one) {
    std::string name = std::regex_replace((*one)[1].str(), std::regex(R"(\[\])"), ".0");
    if (first.empty()) first = object + name;
    std::string path = object + name;
    if (!field_entry(path)) path = first.substr(0, first.rfind('.') + 1) + name;
    paths.push_back(path);
  }
}

std::vector<std::string> fields_of_page() {
  std::vector<std::string> paths;
  std::string object = "-";
  bool is_table = false;
  for (const std::string& line : lines_of(read_file(KVCAP_SOURCE_DIR "/scenarios/format.md"))) {
    if (line.starts_with("#")) object = object_of(line, object);
    if (line == "| field | meaning |") {
      is_table = true;
      EXPECT_NE(object, "-") << "a table of fields below a heading that names no object";
    }
    if (!line.starts_with("|")) is_table = false;
    if (is_table && object != "-" && line.starts_with("| `")) add_fields(object, cells_of(line)[0], paths);
  }
  return paths;
}

TEST(FormatPage, NamesFieldsOfTheTable) {
  const std::vector<std::string> paths = fields_of_page();
  EXPECT_GT(paths.size(), 100U);
  for (const std::string& path : paths) EXPECT_NE(field_entry(path), nullptr) << path;
}

}  // namespace
}  // namespace kvcap::format_page_test
