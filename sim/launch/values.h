// Values of flags, as engines read them. Functions that read throw InputError: "--from: FLAG: found ...,
// allowed: ...".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "launch/flags.h"

namespace kvcap {

// Says that a value is missing or, of "$TP", that the line does not set the variable.
[[noreturn]] void refuse_value(std::string_view flag, const std::string& value, const std::string& allowed);

// "8192", "0.92", vLLM's "8k" (8000) and "8K" (8192).
double number_value(std::string_view flag, const std::string& value);
// The same with GB and GiB as well.
double bytes_value(std::string_view flag, const std::string& value);
// "$TP", "${TP}", "$(nproc)".
bool has_variable(std::string_view value);
int64_t integer_value(std::string_view flag, const std::string& value);
// What a row's words say of a word. Nothing where the row leaves the field alone.
std::optional<std::string> word_value(const FlagRow& row, const std::string& word);
// The first word of a row that stands for a value.
std::optional<std::string> word_for(const FlagRow& row, std::string_view value);

// Numbers as JSON texts: with all digits, and rounded to an integer.
std::string number_json(double number);
std::string integer_json(double number);

std::string lower_case(std::string_view text);

}  // namespace kvcap
