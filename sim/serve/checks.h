// Checks the whole form of kvcap serve: every answer that has an error is found at once, in the form's words.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct FormError {
  std::string input;  // name of its input or path of its field; empty: none
  std::string text;
};

struct CheckedForm {
  std::string command;    // for a shell; empty: no command can be made of the answers
  std::string would_run;  // of a form without errors: what the try answered
  std::vector<FormError> errors;
};

// What a try of a command says: its error, or else its output.
struct Tried {
  std::string error, output;
};
using TryCommand = std::function<Tried(const std::vector<std::string>& words)>;

// Tries the command of the answers; after an error that names an answer, tries it again without that answer.
CheckedForm check_form(std::string_view answers, const std::vector<std::string>& scenarios,
                       const TryCommand& try_command);

// Returns an error of the command in the form's words: options are the titles of their inputs, and the option
// or field at its beginning is left out, because the error stands beside its input.
std::string form_text(const std::string& error);

}  // namespace kvcap
