#include "text/setting_grid.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text/format.h"
#include "base/text/plain_text.h"
#include "base/text/utf8.h"
#include "base/text/width.h"

namespace kvcap {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kUnitWidth = 10;
constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastCellWidth = 10;

// Shortens a long label to its end, where labels such as "hardware.ssd.count=8" differ.
std::string shortened(const std::string& setting, std::size_t most) {
  const std::string label = plain_line(setting);
  if (display_width(label) <= most) return label;
  std::string_view end = label;
  while (display_width(end) > most - 3) end.remove_prefix(std::max<std::size_t>(character_bytes(end, 0), 1));
  return "..." + std::string(end);
}

Lines shortened(const Lines& settings, std::size_t most) {
  Lines labels;
  for (const std::string& setting : settings) labels.push_back(shortened(setting, most));
  return labels;
}

std::size_t widest(const Lines& texts) {
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, display_width(text));
  return width;
}

// Lays out a column per setting, in blocks of as many columns as fit next to each other. All columns are
// equally wide. Sets `blocks` to the number of blocks.
Lines column_per_setting(const SettingGrid& grid, std::size_t columns, std::size_t& blocks) {
  std::size_t name_width = 0, cell_width = kLeastCellWidth;
  for (const SettingGrid::Row& row : grid.rows) {
    name_width = std::max(name_width, row.label.size());
    cell_width = std::max(cell_width, widest(row.cells));
  }
  const std::size_t head_width = name_width + kUnitWidth + kGap;
  const std::size_t longest =
      columns > head_width + cell_width + kGap ? columns - head_width - kGap : cell_width;
  const Lines heads = shortened(grid.settings, longest);
  cell_width = std::max(cell_width, widest(heads)) + kGap;
  const std::size_t most = std::max<std::size_t>(1, (columns - std::min(columns, head_width)) / cell_width);
  blocks = (heads.size() + most - 1) / most;
  Lines lines;
  for (std::size_t first = 0; first < heads.size(); first += most) {
    const std::size_t last = std::min(heads.size(), first + most);
    if (first > 0) lines.emplace_back();
    lines.emplace_back(head_width, ' ');
    for (std::size_t i = first; i < last; ++i) lines.back() += right_aligned(heads[i], cell_width);
    for (const SettingGrid::Row& row : grid.rows) {
      lines.push_back(left_aligned(row.label, name_width) + right_aligned(row.unit, kUnitWidth + kGap));
      for (std::size_t i = first; i < last; ++i) lines.back() += right_aligned(row.cells[i], cell_width);
    }
  }
  return lines;
}

// Returns a title in two lines, split where the longer one is shortest, and a third line with its unit.
using Head = std::array<std::string, 3>;
Head head_of(const SettingGrid::Row& row) {
  Head best = {"", row.title, row.unit};
  for (std::size_t space = row.title.find(' '); space != std::string::npos;
       space = row.title.find(' ', space + 1)) {
    Head head = {row.title.substr(0, space), row.title.substr(space + 1), row.unit};
    const auto width = [](const Head& one) { return std::max(one[0].size(), one[1].size()); };
    if (width(head) < width(best)) best = std::move(head);
  }
  return best;
}

}  // namespace

std::vector<std::string> setting_rows(const SettingGrid& grid, std::size_t columns) {
  const Lines labels = shortened(grid.settings, std::max<std::size_t>(16, columns / 2));
  const std::size_t name_width = widest(labels);
  const std::size_t head_lines = Head().size();
  Lines lines;
  std::size_t begin = 0, taken = columns + 1;  // width used in the block
  for (const SettingGrid::Row& row : grid.rows) {
    const Head head = head_of(row);
    const std::size_t width = kGap + std::max(widest({head.begin(), head.end()}), widest(row.cells));
    if (taken + width > columns) {
      if (!lines.empty()) lines.emplace_back();
      begin = lines.size();
      taken = name_width;
      for (std::size_t i = 0; i < head_lines; ++i) lines.emplace_back(name_width, ' ');
      for (const std::string& label : labels) lines.push_back(left_aligned(label, name_width));
    }
    taken += width;
    for (std::size_t i = 0; i < head_lines; ++i) lines[begin + i] += right_aligned(head[i], width);
    for (std::size_t i = 0; i < labels.size(); ++i)
      lines[begin + head_lines + i] += right_aligned(row.cells[i], width);
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  // Removes lines that no head of a block needs.
  const auto is_double = [](const std::string& one, const std::string& next) {
    return one.empty() && next.empty();
  };
  lines.erase(std::unique(lines.begin(), lines.end(), is_double), lines.end());
  if (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  return lines;
}

std::vector<std::string> grid_lines(const SettingGrid& grid, std::size_t columns) {
  std::size_t blocks = 0;
  Lines by_column = column_per_setting(grid, columns, blocks);
  if (blocks <= 1) return by_column;
  Lines by_row = setting_rows(grid, columns);
  return by_row.size() < by_column.size() ? by_row : by_column;
}

}  // namespace kvcap
