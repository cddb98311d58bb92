// The command that does what a form asks for: kvcap compare with the answers as its options.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// An answer that no command can be made of; `input` is the name of its input, or empty.
class AnswerError : public std::runtime_error {
 public:
  AnswerError(std::string input, const std::string& text)
      : std::runtime_error(text), input_(std::move(input)) {}
  const std::string& input() const { return input_; }

 private:
  std::string input_;
};

// Returns the arguments of kvcap: {"compare", "demo", "--rate", "3", ...}. `answers` is a JSON object: by the
// name of an input or the path of a field a text, by "policies" a list of texts; an absent or empty answer
// sets nothing. Only `scenarios` may be named as the scenario. Throws AnswerError.
std::vector<std::string> command_words(std::string_view answers, const std::vector<std::string>& scenarios);

// Returns the command for a shell: "kvcap compare demo --rate 3".
std::string command_text(const std::vector<std::string>& words);

// Returns the name of the input or field that an error of the command names; empty: none.
std::string input_of_error(const std::string& error);

}  // namespace kvcap
