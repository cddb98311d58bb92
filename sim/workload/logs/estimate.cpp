#include "workload/logs/estimate.h"

#include <algorithm>
#include <cmath>

namespace kvcap {
namespace {

bool is_space(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

// From U+2E80 (CJK radicals) to U+FFFF: in UTF-8 three bytes of which the first is e2 ba.., e3 .. ef.
bool begins_east_asian(std::string_view rest) {
  const auto first = static_cast<unsigned char>(rest[0]);
  if (first == 0xe2) return rest.size() > 1 && static_cast<unsigned char>(rest[1]) >= 0xba;
  return first >= 0xe3 && first <= 0xef;
}

}  // namespace

int64_t estimate_tokens(std::string_view utf8) {
  int64_t characters = 0, words = 0, east_asian = 0;
  bool inside_word = false;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if ((byte & 0xc0) == 0x80) continue;  // not the first byte of its character
    if (begins_east_asian(utf8.substr(i, 2))) {
      ++east_asian;
      inside_word = false;
      continue;
    }
    ++characters;
    const bool space = is_space(byte);
    words += !space && !inside_word;
    inside_word = !space;
  }
  if (words + east_asian == 0) return 0;
  const double tokens = kTokensPerCharacter * static_cast<double>(characters) +
                        kTokensPerWord * static_cast<double>(words) +
                        kTokensPerEastAsianCharacter * static_cast<double>(east_asian);
  return std::max<int64_t>(1, std::llround(tokens));
}

}  // namespace kvcap
