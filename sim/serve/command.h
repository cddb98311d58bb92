// Translates the values that a user enters in the form ("answers") into a kvcap compare command, and finds
// the form input that an error message of the command is about.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Thrown for an answer that cannot be part of a command. input(): the name of the form input with that
// answer; empty if the error concerns none.
class AnswerError : public std::runtime_error {
 public:
  AnswerError(std::string input, const std::string& text)
      : std::runtime_error(text), input_(std::move(input)) {}
  const std::string& input() const { return input_; }

 private:
  std::string input_;
};

// Returns the arguments of kvcap: {"compare", "demo", "--rate", "3", ...}. `answers` is a JSON object whose
// keys are names of form inputs or paths of scenario fields. Its values are strings, except that of
// "policies", which is a list of strings. An absent or empty answer adds nothing to the command. The answer
// "scenario" must be one of `scenarios`. Throws AnswerError.
std::vector<std::string> command_words(std::string_view answers, const std::vector<std::string>& scenarios);

// Returns the command as typed into a shell: "kvcap compare demo --rate 3".
std::string command_text(const std::vector<std::string>& words);

// Returns the name of the form input or the path of the field that an error message of the command is about;
// empty if there is none.
std::string input_of_error(const std::string& error);

}  // namespace kvcap
