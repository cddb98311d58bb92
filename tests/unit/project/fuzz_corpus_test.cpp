// A short, repeatable fuzz: every file of tests/fuzz/corpus as it is, and damaged in some thousand ways. The
// long one is ./dev fuzz.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/targets.h"

namespace kvcap::fuzz_corpus_test {
namespace {

std::vector<std::string> corpus_of(std::string_view target) {
  const std::filesystem::path folder =
      std::filesystem::path(KVCAP_SOURCE_DIR) / "tests/fuzz/corpus" / std::string(target);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

// Cuts, doubles, swaps and replaces stretches; numbers become extreme ones.
std::string damaged(std::string text, std::mt19937_64& random) {
  static constexpr std::string_view kTokens[] = {"-1",     "1e308",  "99999999999999999999",
                                                 "0.0",    "null",   "\"\"",
                                                 "[",      "}",      "{}",
                                                 "NaN",    "1e-320", "\\ud800",
                                                 "true",   ",",      "\xff",
                                                 {"\0", 1}};
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t times = 1 + below(3); times > 0; --times) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(text.size() - at, 40) + 1);
    switch (below(5)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text.replace(at, length, kTokens[below(std::size(kTokens))]);
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      default: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = text.find_first_not_of("0123456789.eE+-", digit);
        text.replace(digit, std::min(end, text.size()) - digit, kTokens[below(4)]);
      }
    }
  }
  return text;
}

class FuzzCorpus : public testing::TestWithParam<FuzzTarget> {};
INSTANTIATE_TEST_SUITE_P(Target, FuzzCorpus, testing::ValuesIn(fuzz_targets().begin(), fuzz_targets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

TEST_P(FuzzCorpus, IsReadOrRefusedHoweverItIsDamaged) {
  const std::vector<std::string> texts = corpus_of(GetParam().name);
  ASSERT_FALSE(texts.empty());
  std::mt19937_64 random(20260101);
  for (const std::string& text : texts) {
    GetParam().read(text);
    for (int i = 0; i < GetParam().damages; ++i) {
      const std::string bytes = damaged(text, random);
      try {
        GetParam().read(bytes);
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what() << "\n" << bytes.substr(0, 2000);
        return;
      }
    }
  }
}

}  // namespace
}  // namespace kvcap::fuzz_corpus_test
