#include "serve/checks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "serve/command.h"
#include "serve/form.h"

namespace kvcap {
namespace {

using Answers = nlohmann::json;

constexpr std::size_t kMostErrors = 8;

// Returns the input whose answer begins the error: a file that could not be read.
std::string input_of_file(const Answers& answers, const std::string& error) {
  if (!answers.is_object()) return "";
  for (const auto& [name, answer] : answers.items()) {
    const std::string text = answer.is_string() ? answer.get<std::string>() : "";
    if (!text.empty() && error.starts_with(text + ":")) return name;
  }
  return "";
}

// Removes an answer. Without any policy there is no command: the stock engine stands for them.
void leave_out(Answers& answers, const std::string& input) {
  answers.erase(input);
  if (input == "policies") answers[input] = {"recompute"};
}

void replace_all(std::string& text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

}  // namespace

CheckedForm check_form(std::string_view given, const std::vector<std::string>& scenarios,
                       const TryCommand& try_command) {
  CheckedForm checked;
  Answers answers = Answers::parse(given, nullptr, false);
  std::string text(given);
  const auto is_known = [&](const std::string& input) {
    return std::any_of(checked.errors.begin(), checked.errors.end(),
                       [&](const FormError& one) { return one.input == input; });
  };
  for (bool is_first = true; checked.errors.size() < kMostErrors; is_first = false) {
    FormError error;
    try {
      const std::vector<std::string> words = command_words(text, scenarios);
      if (is_first) checked.command = command_text(words);
      const Tried tried = try_command(words);
      if (tried.error.empty()) {
        if (is_first) checked.would_run = tried.output;
        return checked;
      }
      error = {input_of_error(tried.error), form_text(tried.error)};
      if (error.input.empty()) error.input = input_of_file(answers, tried.error);
    } catch (const AnswerError& refused) {
      const std::string said = refused.what(), place = refused.input() + ": ";
      error = {refused.input(), said.starts_with(place) ? said.substr(place.size()) : said};
    }
    // What follows from an answer that was left out is no error of the form.
    const bool is_consequence = !is_first && (error.input.empty() || !answers.contains(error.input));
    if (is_consequence || is_known(error.input)) return checked;
    checked.errors.push_back(error);
    if (error.input.empty()) return checked;
    leave_out(answers, error.input);
    text = answers.dump();
  }
  return checked;
}

std::string form_text(const std::string& error) {
  const std::size_t found = error.find(": found");
  const bool has_place = error.starts_with("--") && found != std::string::npos;
  std::string text = has_place ? error.substr(found + 2) : error;
  // Longer options first: --gpu is a part of --gpus.
  std::vector<const FormInput*> inputs;
  for (const FormInput& one : form_inputs())
    if (!one.option.empty()) inputs.push_back(&one);
  std::sort(inputs.begin(), inputs.end(), [](const FormInput* one, const FormInput* other) {
    return one->option.size() > other->option.size();
  });
  for (const FormInput* one : inputs) replace_all(text, one->option, "\"" + std::string(one->title) + "\"");
  return text;
}

}  // namespace kvcap
