// Which columns of an unknown log probably hold what, by their names: for messages, never to read by.
#pragma once

#include <span>
#include <string>

#include "base/input_error.h"

namespace kvcap {

// "arrival=Timestamp,input=Prompt Tok,output=Completion Tok", as --columns takes it; empty where no name
// looks like that of input or output tokens.
std::string likely_columns(std::span<const std::string> names);

// For a log whose columns or keys no format has. `what`: "a CSV with the columns".
InputError unknown_columns(const std::string& path, const std::string& what,
                           std::span<const std::string> names);

}  // namespace kvcap
