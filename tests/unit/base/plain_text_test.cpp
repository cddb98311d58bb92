#include "base/text/plain_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kvcap {
namespace {

TEST(PlainText, ShowsControlCharactersAsEscapes) {
  EXPECT_EQ(plain_line("\x1b[31mred\x07 \x7f"), "\\u001b[31mred\\u0007 \\u007f");
  EXPECT_EQ(plain_line("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(plain_line(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(plain_line(""), "");
}

TEST(PlainText, ShowsWhatTurnsOrHidesTextAsEscapes) {
  EXPECT_EQ(plain_line("\u0080\u009f\u00a0"), "\\u0080\\u009f\u00a0");
  EXPECT_EQ(plain_line("\u202a\u202e\u202f"), "\\u202a\\u202e\u202f");
  EXPECT_EQ(plain_line("\u2027\u2028\u2029\u2066\u2069"), "\u2027\\u2028\\u2029\\u2066\\u2069");
  EXPECT_EQ(plain_line("\u200a\u200b\u200d\u200e\u200f"), "\u200a\\u200b\u200d\\u200e\\u200f");
  EXPECT_EQ(plain_line("\u061c\ufeff\ufff9"), "\\u061c\\ufeff\\ufff9");
  EXPECT_EQ(plain_line("\U000e0041"), "\\udb40\\udc41");
}

TEST(PlainText, LeavesLettersOfAnyScript) {
  const std::string letters = "Grüße, 模型, модель, نموذج, 😀 ± \\ \" | ~";
  EXPECT_EQ(plain_line(letters), letters);
  EXPECT_EQ(plain_page(letters), letters);
}

TEST(PlainText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(plain_line("a\x9b[31m"), "a\uFFFD[31m");  // an escape sequence of 8 bits
  EXPECT_EQ(plain_line("\xc3"), "\uFFFD");
  EXPECT_EQ(plain_line("\xc0\x80"), "\uFFFD\uFFFD");
}

TEST(PlainText, KeepsTheLinesOfAPageOnly) { EXPECT_EQ(plain_page("a\nb\r\n\x1b"), "a\nb\\r\n\\u001b"); }

TEST(PlainText, LeavesTheMeaningOfJson) {
  const nlohmann::json json = {{"name", "\x1b[2J \u202e \u009b \U000e0041 \x7f"}};
  const std::string text = plain_page(json.dump(2) + "\n");
  EXPECT_EQ(text.find('\u007f'), std::string::npos);
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(text), json);
}

TEST(MessageLine, CutsALongNameAndSaysHowLongItWas) {
  const std::string name(100'000, 'n');
  const std::string cut = std::string(200, 'n') + " ...(100000 bytes)... " + std::string(100, 'n');
  EXPECT_EQ(message_line("found \"" + name + "\", allowed: a, b"), "found \"" + cut + "\", allowed: a, b");
  EXPECT_EQ(message_line(name + ": missing"),
            std::string(200, 'n') + " ...(100001 bytes)... " + std::string(99, 'n') + ": missing");
  const std::string longest(400, 'n');
  EXPECT_EQ(message_line("found \"" + longest + "\""), "found \"" + longest + "\"");
}

TEST(MessageLine, CutsAQuotedTextWithSpacesAsOne) {
  std::string words;
  while (words.size() < 1000) words += "ab ";
  const std::string line = message_line("found \"" + words + "\", allowed: c");
  EXPECT_NE(line.find("...(1002 bytes)..."), std::string::npos) << line;
  EXPECT_LT(line.size(), 400U);
  EXPECT_TRUE(line.ends_with("\", allowed: c"));
}

TEST(MessageLine, CutsBetweenCharacters) {
  for (int shift = 0; shift < 3; ++shift) {
    std::string name(static_cast<std::size_t>(shift), 'a');
    while (name.size() < 1000) name += "模";
    EXPECT_EQ(message_line(name).find("\uFFFD"), std::string::npos) << shift;
  }
}

TEST(MessageLine, HasABoundWhateverItIsMadeOf) {
  std::string words, quotes;
  for (int i = 0; i < 10'000; ++i) {
    words += "word ";
    quotes += "\"a\" ";
  }
  for (const std::string& text : {words, quotes, std::string(50'000, '\x1b'), std::string(50'000, '\xff')})
    EXPECT_LE(message_line(text).size(), 4000U) << text.substr(0, 5);
  EXPECT_EQ(message_line("two\nlines"), "two\\nlines");
  EXPECT_TRUE(message_line(words + "end").ends_with(" end"));
}

TEST(FirstFew, NamesTheFirstAndCountsTheRest) {
  const std::vector<std::string> many(9000, "a");
  EXPECT_EQ(first_few(many), "a, a, a and 8,997 more");
  EXPECT_EQ(first_few({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(first_few({"a", "b", "c", "d"}), "a, b, c and 1 more");
  EXPECT_EQ(first_few({}), "");
  EXPECT_EQ(first_few(std::vector<std::string>(1'000'003, "a")), "a, a, a and 1,000,000 more");
}

TEST(Beginning, OfAQuotedTextIsQuotedAndValid) {
  EXPECT_EQ(beginning("\"abc\"", 5), "\"abc\"");
  EXPECT_EQ(beginning("\"abcdef\"", 5), "\"abcd...\"");
  EXPECT_EQ(beginning("123456", 5), "12345...");
  EXPECT_EQ(beginning("abcd\u00e9f", 5), "abcd\ufffd...");
}

}  // namespace
}  // namespace kvcap
