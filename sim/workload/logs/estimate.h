// Estimates the number of tokens of a text without a tokenizer:
//   0.135 per character + 0.78 per word + 1 per East Asian character, rounded, at least 1.
// The first two terms are the average of the best estimate from characters alone (characters / 3.71) and the
// best estimate from words alone (words * 1.56) for Llama-2 on L-Eval. Over its 18 sub-tasks with exact
// counts their sum has an rms error of 11 %, from -16 % (web pages) to +19 % (spoken lectures). The last term
// is an assumption: East Asian scripts put no spaces between words and take at least one token per character.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvcap {

inline constexpr double kTokensPerCharacter = 0.135;
inline constexpr double kTokensPerWord = 0.78;
inline constexpr double kTokensPerEastAsianCharacter = 1;

// Returns the estimate; 0 for a text of white space. Characters are UTF-8 code points, spaces included; white
// space separates words.
int64_t estimate_tokens(std::string_view utf8);

// Note on the formula for users.
inline constexpr std::string_view kEstimateNote =
    "token counts are estimated: 0.135 per character + 0.78 per word (11 % rms error on L-Eval)";

}  // namespace kvcap
