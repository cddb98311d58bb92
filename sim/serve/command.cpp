#include "serve/command.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/utf8.h"
#include "policy/table.h"
#include "scenario/field_entries.h"
#include "serve/form.h"

namespace kvcap {
namespace {

using Answers = nlohmann::json;  // sorted by name

constexpr std::size_t kMostAnswers = 200, kMostBytes = 4096;

// Returns the text of an answer. Throws AnswerError unless it is a line of text of limited length.
std::string answer_text(const std::string& name, const Answers& answer) {
  if (!answer.is_string()) throw AnswerError(name, name + ": allowed: a text");
  std::string text = answer.get<std::string>();
  const bool is_plain =
      std::none_of(text.begin(), text.end(), [](unsigned char letter) { return std::iscntrl(letter) != 0; });
  if (!is_plain || text.size() > kMostBytes || !is_utf8(text)) {
    throw AnswerError(name, name + ": found control characters or more than " + std::to_string(kMostBytes) +
                                " bytes, allowed: a line of text");
  }
  return text;
}

std::string option_value(const std::string& name, const Answers& answer) {
  std::string text = answer_text(name, answer);
  if (text.starts_with('-'))
    throw AnswerError(name, name + ": found \"" + text + "\", allowed: a value without a leading \"-\"");
  return text;
}

std::string scenario_of(const Answers& answer, const std::vector<std::string>& scenarios) {
  std::string text = answer_text("scenario", answer);
  if (text.empty() || std::find(scenarios.begin(), scenarios.end(), text) != scenarios.end()) return text;
  const std::vector<std::string_view> names(scenarios.begin(), scenarios.end());
  throw AnswerError("scenario", "scenario: found \"" + text + "\", allowed: " + joined(scenarios) +
                                    suggestion(text, names));
}

// Returns the policies, separated by commas.
std::string policies_of(const Answers& answer) {
  if (!answer.is_array()) throw AnswerError("policies", "policies: allowed: a list of names");
  std::vector<std::string> chosen;
  for (const Answers& one : answer) {
    const std::string text = answer_text("policies", one);
    const auto names = policy_names();
    if (std::find(names.begin(), names.end(), text) == names.end())
      throw AnswerError("policies", "policies: found \"" + text + "\", allowed: " + joined(names));
    chosen.push_back(text);
  }
  if (chosen.empty()) throw AnswerError("policies", "policies: found none, allowed: at least one");
  return joined(chosen, ",");
}

// True iff the form input with this name has an answer that is not empty.
bool is_given(const Answers& answers, std::string_view name) {
  const auto found = answers.find(name);
  return found != answers.end() && !(found->is_string() && found->get_ref<const std::string&>().empty());
}

void refuse_unknown(const Answers& answers) {
  if (!answers.is_object() || answers.size() > kMostAnswers)
    throw AnswerError("", "found no form, allowed: an object of at most 200 answers");
  for (const auto& [name, answer] : answers.items()) {
    if (!form_input(name) && !field_entry(name))
      throw AnswerError("", "found \"" + plain_line(name) + "\", allowed: an input or a field of a scenario");
  }
}

bool is_word_part(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
}

// Returns the position of a whole word in the text; npos if it does not occur.
std::size_t find_word(const std::string& text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_part(text[at - 1]);
    if (begins && (end == text.size() || !is_word_part(text[end]))) return at;
  }
  return std::string::npos;
}

// Returns the name of the input whose option occurs first in the text; "" if none does.
std::string first_option(const std::string& text) {
  std::string name;
  std::size_t first = std::string::npos;
  for (const FormInput& input : form_inputs()) {
    const std::size_t at = input.option.empty() ? std::string::npos : find_word(text, input.option);
    if (at < first) {
      first = at;
      name = input.name;
    }
  }
  return name;
}

}  // namespace

std::vector<std::string> command_words(std::string_view text, const std::vector<std::string>& scenarios) {
  const Answers answers = Answers::parse(text, nullptr, false);
  refuse_unknown(answers);
  std::vector<std::string> words = {"compare"};
  if (is_given(answers, "scenario")) words.push_back(scenario_of(answers["scenario"], scenarios));
  for (const FormInput& input : form_inputs()) {
    if (input.option.empty() || (input.name != "policies" && !is_given(answers, input.name))) continue;
    const std::string name(input.name);
    words.emplace_back(input.option);
    words.push_back(name == "policies" ? policies_of(answers.value(name, Answers::array()))
                                       : option_value(name, answers[name]));
  }
  for (const auto& [path, answer] : answers.items()) {
    const FormInput* input = form_input(path);
    const bool is_option = input && (!input->option.empty() || path == "scenario");
    if (is_option || !is_given(answers, path)) continue;
    words.emplace_back("--set");
    words.push_back(std::string(path).append("=").append(answer_text(path, answer)));
  }
  return words;
}

std::string command_text(const std::vector<std::string>& words) {
  return "kvcap " + joined(words, " ", shell_word);
}

std::string input_of_error(const std::string& error) {
  const std::size_t found = error.find(": found");
  const std::string place = error.substr(0, found);
  if (found == std::string::npos) return first_option(error);
  if (std::string name = first_option(place); !name.empty()) return name;
  constexpr std::string_view kSet = "--set ";
  const std::size_t set = place.find(kSet);
  const std::size_t begin = set != std::string::npos ? set + kSet.size() : place.rfind(' ') + 1;
  std::string path = place.substr(begin, place.find('=', begin) - begin);
  if (!field_entry(path)) return "";
  for (const FormInput& input : form_inputs()) {
    if (input.field == path) return std::string(input.name);
  }
  return path;
}

}  // namespace kvcap
