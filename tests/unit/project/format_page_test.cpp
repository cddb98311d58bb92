// scenarios/format.md explains fields in tables. Which fields there are, and their plain defaults, are facts
// of the table of fields: the page may not say otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "scenario/field_entries.h"
#include "unit/reader.h"

namespace kvcap::format_page_test {
namespace {

struct Row {
  std::string path, usual;
};

// Returns the object whose fields a section's table has; "-": none.
std::string object_of(const std::string& heading) {
  static const std::regex kObject(R"(#+ `([a-z_.]+)`.*)");
  std::smatch found;
  if (std::regex_match(heading, found, kObject)) return found[1].str() + ".";
  if (heading.find("kvcap.scenario/1") != std::string::npos) return "";
  return heading == "#### Routers" ? "fleet.router." : "-";
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
void add_rows(const std::string& object, const std::vector<std::string>& cells, std::vector<Row>& rows) {
  static const std::regex kName(R"(`([a-z0-9_.\[\]]+)`)");
  std::string first;
  for (auto one = std::sregex_iterator(cells[0].begin(), cells[0].end(), kName);
       one != std::sregex_iterator(); ++one) {
    std::string name = std::regex_replace((*one)[1].str(), std::regex(R"(\[\])"), ".0");
    if (first.empty()) first = object + name;
    std::string path = object + name;
    if (!field_entry(path)) path = first.substr(0, first.rfind('.') + 1) + name;
    rows.push_back({path, cells.back()});
  }
}

std::vector<Row> rows_of_page() {
  std::vector<Row> rows;
  std::string object = "-";
  bool is_table = false;
  for (const std::string& line : lines_of(read_file(KVCAP_SOURCE_DIR "/scenarios/format.md"))) {
    if (line.starts_with("#")) object = object_of(line);
    if (line == "| field | unit | meaning | default |") is_table = true;
    if (!line.starts_with("|")) is_table = false;
    if (is_table && object != "-" && line.starts_with("| `")) add_rows(object, cells_of(line), rows);
  }
  return rows;
}

TEST(FormatPage, NamesFieldsOfTheTable) {
  const std::vector<Row> rows = rows_of_page();
  EXPECT_GT(rows.size(), 100U);
  for (const Row& row : rows) EXPECT_NE(field_entry(row.path), nullptr) << row.path;
}

TEST(FormatPage, StatesTheDefaultsOfTheTable) {
  static const std::regex kPlain(R"(`?([a-z0-9_.]+)`?)");
  int compared = 0;
  for (const Row& row : rows_of_page()) {
    const FieldEntry* entry = field_entry(row.path);
    std::smatch found;
    const std::string prefix = "default ";
    if (!entry || !entry->usual.starts_with(prefix) || !std::regex_match(row.usual, found, kPlain)) continue;
    ++compared;
    EXPECT_EQ(found[1].str(), entry->usual.substr(prefix.size())) << row.path;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace kvcap::format_page_test
