// Translates the answers of a form into a kvcap compare command, and its errors back into inputs of the form.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

// Thrown for an answer that cannot be part of a command. input(): the name of its input, or empty.
class AnswerError : public std::runtime_error {
 public:
  AnswerError(std::string input, const std::string& text)
      : std::runtime_error(text), input_(std::move(input)) {}
  const std::string& input() const { return input_; }

 private:
  std::string input_;
};

// Returns the arguments of kvcap: {"compare", "demo", "--rate", "3", ...}. `answers` is a JSON object whose
// keys are names of inputs or paths of fields. Its values are texts; that of "policies" is a list of texts.
// An absent or empty answer sets nothing. Only `scenarios` are allowed as the scenario. Throws AnswerError.
std::vector<std::string> command_words(std::string_view answers, const std::vector<std::string>& scenarios);

// Returns the command as typed into a shell: "kvcap compare demo --rate 3".
std::string command_text(const std::vector<std::string>& words);

// Returns the name of the input or field that an error message of the command is about; empty if none.
std::string input_of_error(const std::string& error);

}  // namespace kvcap
