// MarkdownPage: builds a page of headings, lists and tables. All texts are escaped, so they cannot start a
// line, a table cell, a tag or emphasis.
#pragma once

#include <string>
#include <vector>

namespace kvcap {

using Cells = std::vector<std::string>;

class MarkdownPage {
 public:
  void heading(int level, const std::string& text);
  void list(const std::vector<std::string>& items);
  // Adds a table whose first `texts` columns are left-aligned texts; the others are numbers. A long table is
  // cut off, and a note counts the rows that are left out.
  void table(const Cells& head, const std::vector<Cells>& rows, std::size_t texts);
  // Begins a collapsible section with this title, which ends at end_fold().
  void fold(const std::string& title);
  void end_fold();
  std::string take() { return std::move(text_); }

 private:
  void row(const Cells& cells);

  std::string text_;
};

}  // namespace kvcap
