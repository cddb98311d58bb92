// Turns the errors of a JSON parser into one line that a user can act on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvcap {

// Returns "file:line:column: " for a byte of `text`, counted from 1, or "file: " for byte 0.
std::string json_place(std::string_view text, std::size_t byte, const std::string& file);

// Returns "usage: key \"a\" is given twice in one object". `path`: the path of the object; empty for the
// outermost one.
std::string repeated_key(std::string_view path, std::string_view key);

// True iff a text is nested deeper than 100 levels, which could exhaust the stack or the memory; files of
// kvcap have about a dozen levels. Call this before parsing.
bool is_nested_too_deep(std::string_view text);
inline constexpr std::string_view kNestedTooDeep = "is nested deeper than 100 levels";

// Returns the library's message without its prefix "[json.exception...] parse error at line 1, column 2: ".
std::string json_reason(std::string_view what);

}  // namespace kvcap
