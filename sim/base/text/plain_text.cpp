#include "base/text/plain_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/text/utf8.h"

namespace kvcap {
namespace {

// Returns the code point of one complete UTF-8 character.
uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(character[i]));
  };
  if (character.size() == 1) return byte(0);
  uint32_t code = byte(0) & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6U | (byte(i) & 0x3FU);
  return code;
}

// True iff a terminal or page acts on the character instead of showing it.
bool is_obeyed(uint32_t code) {
  struct Range {
    uint32_t first, last;
  };
  constexpr Range kRanges[] = {{0x00, 0x1F},     {0x7F, 0x9F},      // control characters
                               {0x061C, 0x061C}, {0x200E, 0x200F},  // writing direction
                               {0x200B, 0x200B}, {0xFEFF, 0xFEFF},  // zero-width spaces
                               {0x2028, 0x202E},  // ends of lines and paragraphs, writing direction
                               {0x2060, 0x206F},  // writing direction, invisible operators
                               {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [code](const Range& one) { return code >= one.first && code <= one.last; });
}

void append_unit(std::string& text, uint32_t unit) {
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(unit & 0xFFFFU));
  text += escape;
}

void append_escape(std::string& text, uint32_t code) {
  constexpr uint32_t kFirstOfTwo = 0x10000;
  switch (code) {
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      break;
  }
  if (code < kFirstOfTwo) return append_unit(text, code);
  append_unit(text, 0xD800U + ((code - kFirstOfTwo) >> 10U));
  append_unit(text, 0xDC00U + ((code - kFirstOfTwo) & 0x3FFU));
}

std::string escaped_text(std::string_view text, bool is_page) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= ' ' && text[i] <= '~') {  // nearly all characters
      plain += text[i++];
      continue;
    }
    const std::size_t bytes = character_bytes(text, i);
    const std::string_view character = text.substr(i, std::max<std::size_t>(bytes, 1));
    i += character.size();
    const uint32_t code = bytes > 0 ? code_point(character) : 0xFFFDU;
    if (bytes == 0) {
      plain += "\uFFFD";
    } else if (is_obeyed(code) && !(is_page && code == '\n')) {
      append_escape(plain, code);
    } else {
      plain += character;
    }
  }
  return plain;
}

bool is_inside_a_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Returns the text, without its middle if it has more than `most` bytes.
std::string without_middle(std::string_view text, std::size_t most, std::size_t first, std::size_t last) {
  if (text.size() <= most) return std::string(text);
  std::size_t begin = text.size() - last;
  while (first > 0 && is_inside_a_character(text, first)) --first;
  while (is_inside_a_character(text, begin)) ++begin;
  return std::string(text.substr(0, first)) + " ...(" + std::to_string(text.size()) + " bytes)... " +
         std::string(text.substr(begin));
}

constexpr std::size_t kMaxOfAWord = 400, kFirstOfAWord = 200, kLastOfAWord = 100;
constexpr std::size_t kMaxOfAMessage = 3000, kFirstOfAMessage = 2000, kLastOfAMessage = 800;
constexpr std::size_t kMaxEscaped = 4000;

std::string with_short_words(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    line += without_middle(text.substr(0, end), kMaxOfAWord, kFirstOfAWord, kLastOfAWord);
    if (end < text.size()) line += ' ';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return line;
}

}  // namespace

std::string plain_line(std::string_view text) { return escaped_text(text, false); }
std::string plain_page(std::string_view text) { return escaped_text(text, true); }

std::string message_line(std::string_view text) {
  std::string line;
  bool is_quoted = false;
  while (true) {
    const std::size_t quote = std::min(text.find('"'), text.size());
    const std::string_view part = text.substr(0, quote);
    line += is_quoted && quote < text.size() ? without_middle(part, kMaxOfAWord, kFirstOfAWord, kLastOfAWord)
                                             : with_short_words(part);
    if (quote == text.size()) break;
    line += '"';
    is_quoted = !is_quoted;
    text.remove_prefix(quote + 1);
  }
  line = plain_line(without_middle(line, kMaxOfAMessage, kFirstOfAMessage, kLastOfAMessage));
  // Escapes can make a text six times as long.
  return without_middle(line, kMaxEscaped - 50, kFirstOfAMessage, kLastOfAMessage);
}

std::string beginning(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  return valid_utf8(text.substr(0, most)) + "..." + (text.front() == '"' ? "\"" : "");
}

std::string first_few(const std::vector<std::string>& texts, std::size_t shown) {
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, texts.size()); ++i) list += (i > 0 ? ", " : "") + texts[i];
  if (texts.size() <= shown) return list;
  std::string more = std::to_string(texts.size() - shown);
  for (std::size_t at = more.size(); at > 3;) more.insert(at -= 3, ",");
  return list + " and " + more + " more";
}

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-./=,:+").find(letter) != std::string_view::npos;
  };
  std::string text = "'";
  bool plain = true;
  for (char letter : word) {
    plain = plain && is_plain(letter);
    text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return plain ? word : text + "'";
}

}  // namespace kvcap
