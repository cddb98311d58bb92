// Answers the questions of the page of kvcap whatif as JSON, with closed forms only: it simulates nothing and
// reads no files.
//
//   {"ask": "catalogue"}
//   {"ask": "memory", "model", "hardware", "gpus"?, "engine"?, "tokens"?}
//   {"ask": "restore", "model", "hardware", "gpus"?, "tokens", "new_tokens"?, "tier"?, "policies"?, "set"?}
//   {"ask": "break_even", as "restore", "across": {"path", "values"}, "down": {"path", "values"}}
//
// "memory" is answered with kvcap.memory/1 and the model's sizes, "restore" with the closed forms of
// kvcap.restore/1, and "break_even" with the TTFT of every policy in every cell; a path is "tokens",
// "new_tokens" or that of a field.
#pragma once

#include <string>
#include <string_view>

namespace kvcap {

// Returns the answer on one line. The answer to a bad question is {"error": "..."} with the message that the
// program would print.
std::string whatif_answer(std::string_view question);

}  // namespace kvcap
