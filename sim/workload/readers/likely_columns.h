// Guesses from column names which columns of an unknown log contain arrivals, tokens and times. The guess
// only appears in error messages; no data are read with it.
#pragma once

#include <span>
#include <string>

#include "base/input_error.h"

namespace kvcap {

// Returns "arrival=Timestamp,input=Prompt Tok,output=Completion Tok", in the form of --columns; empty unless
// some name looks like input tokens and some name like output tokens.
std::string likely_columns(std::span<const std::string> names);

// Returns the error for a log whose columns or keys match no format. `what`: "a CSV with the columns".
InputError unknown_columns(const std::string& path, const std::string& what,
                           std::span<const std::string> names);

}  // namespace kvcap
