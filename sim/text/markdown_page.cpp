#include "text/markdown_page.h"

#include <string_view>

#include "base/text/format.h"
#include "base/text/plain_text.h"

namespace kvcap {
namespace {

constexpr std::size_t kMostRows = 50;

// Escapes a text for Markdown, so that it cannot start a table cell, a line, a tag, a link in brackets or
// emphasis.
std::string plain(std::string_view text) {
  std::string safe;
  for (char c : plain_line(text)) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      if (std::string_view("|\\`*_[]").find(c) != std::string_view::npos) safe += '\\';
      safe += c;
    }
  }
  return safe;
}

}  // namespace

void MarkdownPage::heading(int level, const std::string& text) {
  if (!text_.empty()) text_ += '\n';
  text_ += std::string(static_cast<std::size_t>(level), '#') + " " + plain(text) + "\n\n";
}

void MarkdownPage::list(const std::vector<std::string>& items) {
  if (text_.ends_with("|\n")) text_ += "\n";  // ends a table
  for (const std::string& item : items) text_ += "- " + plain(item) + "\n";
}

void MarkdownPage::table(const Cells& head, const std::vector<Cells>& rows, std::size_t texts) {
  row(head);
  for (std::size_t i = 0; i < head.size(); ++i) text_ += i < texts ? "| --- " : "| ---: ";
  text_ += "|\n";
  for (std::size_t i = 0; i < rows.size() && i < kMostRows; ++i) row(rows[i]);
  if (rows.size() > kMostRows)
    text_ += "\n" + format_count(std::ssize(rows) - static_cast<int64_t>(kMostRows)) +
             " more rows are in the formats csv and html.\n";
}

void MarkdownPage::fold(const std::string& title) {
  text_ += "\n<details><summary>" + plain(title) + "</summary>\n\n";
}

void MarkdownPage::end_fold() { text_ += "\n</details>\n"; }

void MarkdownPage::row(const Cells& cells) {
  for (const std::string& cell : cells) text_ += "| " + plain(cell) + " ";
  text_ += "|\n";
}

}  // namespace kvcap
