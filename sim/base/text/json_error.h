// What a JSON parser says, as one line that a user can act on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvcap {

// "file:line:column: " of a byte of `text`, counted from 1; "file: " for byte 0.
std::string json_place(std::string_view text, std::size_t byte, const std::string& file);

// "usage: key \"a\" is given twice in one object". `path`: of the object; empty: the whole text.
std::string repeated_key(std::string_view path, std::string_view key);

// True for a text that is nested deeper than any of ours, which has a dozen levels: it must not take the
// stack or the memory with it. Asked before the text is parsed.
bool is_nested_too_deep(std::string_view text);
inline constexpr std::string_view kNestedTooDeep = "is nested deeper than 100 levels";

// The library's message without its prefix "[json.exception...] parse error at line 1, column 2: ".
std::string json_reason(std::string_view what);

}  // namespace kvcap
