// Parses values of flags as engines do. Parsing functions throw InputError: "--from: FLAG: found ...,
// allowed: ...".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launch/flags/flags.h"

namespace kvcap {

// Throws InputError: the value is not allowed or, for "$TP", the line does not set the variable.
[[noreturn]] void refuse_value(std::string_view flag, const std::string& value, const std::string& allowed);

// Parses "8192", "0.92", vLLM's "8k" (8000) and "8K" (8192).
double number_value(std::string_view flag, const std::string& value);
// Parses a number like number_value(), or one with a unit such as GB or GiB.
double bytes_value(std::string_view flag, const std::string& value);
// True iff the value is not literal: it contains a variable, a command or a placeholder, e.g. "$TP",
// "$(nproc)".
bool has_variable(std::string_view value);
// True iff the value contains a placeholder of a Helm template: "{{ .Values.tp }}".
bool has_placeholder(std::string_view value);
int64_t integer_value(std::string_view flag, const std::string& value);
// Returns the value of a word in the row's `words`; nothing if the word does not set the field.
std::optional<std::string> word_value(const FlagRow& row, const std::string& word);
// Returns the first word of a row with this value.
std::optional<std::string_view> word_for(const FlagRow& row, std::string_view value);

// Return JSON texts: with all digits, and rounded to an integer.
std::string number_json(double number);
std::string integer_json(double number);

std::string lower_case(std::string_view text);

}  // namespace kvcap
