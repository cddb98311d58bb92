// Answers the questions of the page of kvcap whatif as JSON. Computes only closed forms: simulates nothing
// and reads no files. A question is one of:
//
//   {"ask": "catalogue"}
//   {"ask": "memory", "model", "hardware", "gpus"?, "engine"?, "tokens"?}
//   {"ask": "restore", "model", "hardware", "gpus"?, "tokens", "new_tokens"?, "tier"?, "policies"?, "set"?}
//   {"ask": "break_even", as "restore", "across": {"path", "values"}, "down": {"path", "values"}}
//
// Members marked with ? are optional. The answer to "memory" is kvcap.memory/1 with the model's sizes, the
// answer to "restore" the closed forms of kvcap.restore/1, and the answer to "break_even" the TTFT of every
// policy in every cell. A "path" is "tokens", "new_tokens" or the path of a field.
#pragma once

#include <string>
#include <string_view>

namespace kvcap {

// Returns the answer on one line. The answer to a bad question is {"error": "..."} with the message that the
// program would print.
std::string whatif_answer(std::string_view question);

}  // namespace kvcap
