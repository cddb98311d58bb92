// How many tokens a text has when no tokenizer is at hand:
//   0.135 per character + 0.78 per word + 1 per East Asian character, rounded, at least 1.
// The first two are halfway between the best rule by characters alone (characters / 3.71) and the best by
// words alone (words * 1.56) for Llama-2 on L-Eval; over its 18 sub-tasks of exact counts their sum errs by
// 11 % (rms), from -16 % (web pages) to +19 % (spoken lectures). The last is an assumption: such scripts
// put no spaces between words and take at least one token a character.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvcap {

inline constexpr double kTokensPerCharacter = 0.135;
inline constexpr double kTokensPerWord = 0.78;
inline constexpr double kTokensPerEastAsianCharacter = 1;

// 0 for a text of white space. Characters are code points of UTF-8, spaces count; words are what white
// space separates.
int64_t estimate_tokens(std::string_view utf8);

// The formula in words, for notes.
inline constexpr std::string_view kEstimateNote =
    "token counts are estimated: 0.135 per character + 0.78 per word (11 % rms error on L-Eval)";

}  // namespace kvcap
