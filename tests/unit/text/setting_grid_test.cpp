// The terminal's table turns when its settings do not fit next to each other.
#include "text/setting_grid.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/text/width.h"

namespace kvcap {
namespace {

SettingGrid grid_of(std::size_t settings) {
  SettingGrid grid;
  grid.rows = {{"mean TTFT", "TTFT mean", "ms", {}}, {"token hit rate", "token hit rate", "%", {}}};
  for (std::size_t i = 0; i < settings; ++i) {
    grid.settings.push_back("dram=" + std::to_string(100 + i) + "GB");
    grid.rows[0].cells.push_back(std::to_string(500 - i));
    grid.rows[1].cells.push_back("61.1");
  }
  return grid;
}

std::string text_of(const SettingGrid& grid, std::size_t columns) {
  std::string text;
  for (const std::string& line : grid_lines(grid, columns)) text += line + '\n';
  return text;
}

TEST(SettingGrid, FourShortSettingsStandNextToEachOtherIn80Columns) {
  EXPECT_EQ(text_of(grid_of(4), 80),
            "                            dram=100GB  dram=101GB  dram=102GB  dram=103GB\n"
            "TTFT mean               ms         500         499         498         497\n"
            "token hit rate           %        61.1        61.1        61.1        61.1\n");
}

TEST(SettingGrid, FiveSettingsTakeARowEachIn80Columns) {
  SettingGrid grid = grid_of(5);
  grid.rows.push_back({"cost", "cost", "$/M tokens", {"1", "2", "3", "4", "5"}});
  EXPECT_EQ(text_of(grid, 80),
            "            mean     token\n"
            "            TTFT  hit rate        cost\n"
            "              ms         %  $/M tokens\n"
            "dram=100GB   500      61.1           1\n"
            "dram=101GB   499      61.1           2\n"
            "dram=102GB   498      61.1           3\n"
            "dram=103GB   497      61.1           4\n"
            "dram=104GB   496      61.1           5\n");
}

TEST(SettingGrid, NoLineIsLongerThanTheTerminal) {
  for (std::size_t settings = 1; settings < 20; ++settings) {
    for (std::size_t columns = 40; columns < 200; columns += 7) {
      for (const std::string& line : grid_lines(grid_of(settings), columns)) EXPECT_LE(line.size(), columns);
    }
  }
}

TEST(SettingGrid, LosesNoCellWhateverItsShape) {
  for (std::size_t columns : {40, 60, 80, 100}) {
    SettingGrid grid = grid_of(9);
    for (std::size_t i = 0; i < 9; ++i) grid.rows[1].cells[i] = "7" + std::to_string(i) + ".5";
    const std::string text = text_of(grid, columns);
    for (const SettingGrid::Row& row : grid.rows) {
      for (const std::string& cell : row.cells) EXPECT_NE(text.find(' ' + cell), std::string::npos) << cell;
    }
  }
}

TEST(SettingGrid, AlignsLettersByTheColumnsThatTheyTake) {
  EXPECT_EQ(display_width("Grün"), 4U);
  EXPECT_EQ(display_width("gru\u0308n"), 4U);  // an accent that joins
  EXPECT_EQ(display_width("缓存"), 4U);
  EXPECT_EQ(display_width("\xFF"), 1U);
  SettingGrid grid = grid_of(3);
  grid.settings = {"größte", "缓存", "plain"};
  EXPECT_EQ(text_of(grid, 80),
            "                                größte        缓存       plain\n"
            "TTFT mean               ms         500         499         498\n"
            "token hit rate           %        61.1        61.1        61.1\n");
  grid.settings = {std::string(40, 'x') + "缓缓缓缓缓缓缓缓缓缓", "b", "c"};
  for (const std::string& line : setting_rows(grid, 40)) EXPECT_LE(display_width(line), 40U) << line;
}

TEST(TerminalWidth, IsWhatColumnsSays) {
  setenv("COLUMNS", "132", 1);
  EXPECT_EQ(table_columns(), 132U);
  EXPECT_EQ(text_columns(), 100U);  // sentences stay readable
  setenv("COLUMNS", "80", 1);
  EXPECT_EQ(text_columns(), 80U);
  setenv("COLUMNS", "3", 1);
  EXPECT_EQ(table_columns(), 40U);
  setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(table_columns(), 100U);  // the tests write into a pipe
  unsetenv("COLUMNS");
}

}  // namespace
}  // namespace kvcap
