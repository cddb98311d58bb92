// Parses values of flags as engines do. Parsing functions throw InputError: "--from: FLAG: found ...,
// allowed: ...".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launch/flags/flags.h"

namespace kvcap {

// Throws InputError with a message that the value is not allowed or, for a value such as "$TP", that the line
// does not set the variable.
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
// Returns the value that the row's `words` give to a word; nullopt if the word does not set the field. Throws
// InputError for an unknown word.
std::optional<std::string> word_value(const FlagRow& row, const std::string& word);
// Returns the row's first word that stands for this value; nullopt if there is none.
std::optional<std::string_view> word_for(const FlagRow& row, std::string_view value);

// Return a number as JSON text: with all digits, or rounded to an integer.
std::string number_json(double number);
std::string integer_json(double number);

std::string lower_case(std::string_view text);

}  // namespace kvcap
