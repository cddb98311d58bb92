// Lays out values by setting and metric as lines of text, with a column per setting or a row per setting.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kvcap {

struct SettingGrid {
  struct Row {
    std::string title;  // in full: "mean TTFT"
    std::string label;  // may leave out what the row above says: "TTFT mean", "     p99"
    std::string unit;
    std::vector<std::string> cells;  // one per setting
  };
  std::vector<std::string> settings;
  std::vector<Row> rows;
};

// Returns a column per setting if all fit next to each other, otherwise whichever is shorter: blocks of
// columns, or a row per setting. No line is longer than `columns`, unless a single cell and its label are.
std::vector<std::string> grid_lines(const SettingGrid& grid, std::size_t columns);

// Returns a row per setting, in blocks of as many metrics as fit next to each other.
std::vector<std::string> setting_rows(const SettingGrid& grid, std::size_t columns);

}  // namespace kvcap
