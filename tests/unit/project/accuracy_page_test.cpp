// README.md, scenarios/accuracy.md and scenarios/reference/accuracy.md show what kvcap validate computes, row
// by row, so that results change only on purpose. `queueing` is left out: its rows take as long as all others
// together, and each of them is a promise that kvcap validate --quick keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "text/validation_text.h"
#include "unit/cli.h"
#include "unit/shared_data.h"
#include "validate/suites.h"

namespace kvcap::accuracy_page_test {
namespace {

// A number as it is printed has three digits, of which libraries of mathematics may round the last one
// differently.
constexpr double kLastDigits = 0.011;

using Cells = std::vector<std::string>;
using Rows = std::map<std::string, Cells>;  // by id; of a table of suites by the suite's name

Cells cells_of(const std::string& line) {
  Cells cells;
  std::size_t begin = 2;
  for (std::size_t end; (end = line.find(" |", begin)) != std::string::npos; begin = end + 3) {
    cells.push_back(line.substr(begin, end - begin));
  }
  return cells;
}

// Rows by the id at the end of their first cell.
Rows rows_of(const std::string& text) {
  Rows rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find("(`"), end = line.find("`)");
    if (!line.starts_with("| ") || end == std::string::npos) continue;
    rows[line.substr(begin + 2, end - begin - 2)] = cells_of(line);
  }
  return rows;
}

// The rows under "### SUITE" and "### SUITE: PART".
Rows rows_of_suite(const std::string& text, const std::string& suite) {
  std::istringstream lines(text);
  std::string tables;
  bool is_there = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("### ")) is_there = line.substr(4, line.find(':') - 4) == suite;
    if (is_there) tables += line + "\n";
  }
  return rows_of(tables);
}

// Its rows in the table of suites, by their names.
Rows sums_of_suite(const std::string& text, const std::string& suite) {
  Rows rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| " + suite)) rows[cells_of(line)[0]] = cells_of(line);
  }
  return rows;
}

// What ./dev accuracy writes between its two marks.
std::string written_part(const std::string& page) {
  const std::size_t begin = page.find("<!-- accuracy -->");
  return page.substr(begin, page.find("<!-- end of accuracy -->") - begin);
}

bool is_same_word(const std::string& a, const std::string& b) {
  char *a_end, *b_end;
  const double x = std::strtod(a.c_str(), &a_end), y = std::strtod(b.c_str(), &b_end);
  if (a_end == a.c_str() || b_end == b.c_str()) return a == b;
  return std::string(a_end) == b_end && std::abs(x - y) <= kLastDigits * std::max(std::abs(x), std::abs(y));
}

bool is_same_text(const std::string& a, const std::string& b) {
  std::istringstream a_words(a), b_words(b);
  std::string x, y;
  while (a_words >> x) {
    if (!(b_words >> y) || !is_same_word(x, y)) return false;
  }
  return !(b_words >> y);
}

bool is_same_row(const Cells& a, const Cells& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same_text);
}

std::string as_line(const Cells& cells) {
  std::string line;
  for (const std::string& cell : cells) line += "| " + cell + " ";
  return line + "|";
}

// Returns how many rows lack the data that they need.
std::size_t expect_same(const Rows& page, const Rows& computed) {
  const char* const accept =
      "\nWhere that is on purpose, ./dev accuracy writes the page and the commit says why.";
  std::size_t lacking = 0;
  for (const auto& [id, now] : computed) {
    const auto found = page.find(id);
    const bool lacks_data = !has_shared_data() && now.back().starts_with("not comparable");
    if (lacks_data && (found == page.end() || !found->second.back().starts_with("not comparable"))) {
      ++lacking;  // without its data a whole set of rows is one row
    } else if (found == page.end()) {
      ADD_FAILURE() << id << " is not in scenarios/reference/accuracy.md" << accept;
    } else {
      EXPECT_TRUE(is_same_row(found->second, now))
          << id << " has changed.\nscenarios/reference/accuracy.md: " << as_line(found->second)
          << "\nkvcap validate now:    " << as_line(now) << accept;
    }
  }
  for (const auto& [id, before] : page) {
    EXPECT_TRUE(lacking > 0 || computed.contains(id))
        << "kvcap validate has no " << id << " any more" << accept;
  }
  return lacking;
}

class AccuracyPage : public Cli, public testing::WithParamInterface<const char*> {
 protected:
  const Rows readme_ = rows_of(written_part(read_file(KVCAP_SOURCE_DIR "/README.md")));
  const std::string page_ = written_part(read_file(KVCAP_SOURCE_DIR "/scenarios/accuracy.md")) + '\n' +
                            written_part(read_file(KVCAP_SOURCE_DIR "/scenarios/reference/accuracy.md"));
};

TEST_F(AccuracyPage, AgreesWithReadme) {
  const Rows rows = rows_of(page_);
  EXPECT_EQ(readme_.size(), headlines().size());
  for (const Headline& one : headlines()) {
    ASSERT_TRUE(readme_.contains(std::string(one.check))) << one.check << " is not in README.md";
    const Cells& cells = readme_.at(std::string(one.check));
    ASSERT_TRUE(rows.contains(std::string(one.check)))
        << one.check << " is not in scenarios/reference/accuracy.md";
    EXPECT_EQ(cells.at(2), rows.at(std::string(one.check)).at(3)) << one.check;
    if (one.coverage.empty()) continue;
    ASSERT_TRUE(rows.contains(std::string(one.coverage))) << one.coverage;
    EXPECT_NEAR(std::stod(cells.at(4)) / 100, std::stod(rows.at(std::string(one.coverage)).at(1)), 0.002);
  }
}

TEST_P(AccuracyPage, ShowsWhatIsComputed) {
  const std::string suite = GetParam();
  std::vector<std::string> command = {"validate", "--markdown", "--suite", suite};
  if (has_shared_data()) command.insert(command.end(), {"--data", shared_data()});
  const Outcome outcome = kvcap(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Rows computed = rows_of_suite(outcome.out, suite);
  ASSERT_FALSE(computed.empty());
  const std::size_t lacking = expect_same(rows_of_suite(page_, suite), computed);
  std::printf("%zu of %zu rows compared; the others need data that are not part of the project\n",
              computed.size() - lacking, computed.size());
  if (lacking == 0) expect_same(sums_of_suite(page_, suite), sums_of_suite(outcome.out, suite));
}

INSTANTIATE_TEST_SUITE_P(Of, AccuracyPage,
                         testing::Values("papers", "measured", "stacks", "hits", "fidelity", "twin"),
                         [](const testing::TestParamInfo<const char*>& suite) {
                           return std::string(suite.param);
                         });

}  // namespace
}  // namespace kvcap::accuracy_page_test
