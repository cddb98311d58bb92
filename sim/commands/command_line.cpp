#include "commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/input_error.h"
#include "base/text/joined.h"

namespace kvcap {

std::vector<std::string> list_items(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string& item = items.emplace_back(list.substr(begin, end - begin));
    item.erase(0, std::min(item.find_first_not_of(' '), item.size()));
    item.erase(item.find_last_not_of(' ') + 1);
    begin = end + 1;
  }
  return items;
}

std::vector<std::string> distinct_items(const std::string& option, const std::string& list) {
  std::vector<std::string> items = list_items(list);
  for (auto one = items.begin(); one != items.end(); ++one) {
    if (one->empty())
      throw InputError(option + ": found \"" + list + "\", allowed: items between the commas");
    if (std::find(items.begin(), one, *one) != one)
      throw InputError(option + ": found \"" + *one + "\" twice, allowed: once");
  }
  return items;
}

Declared& Declared::required() {
  option_->required();
  return *this;
}

Declared& Declared::with_default() {
  option_->capture_default_str();
  return *this;
}

namespace {

using CLI::detail::lexical_cast;

// CLI11's own words for a bad value name neither what was found nor what is allowed.
std::string refusal(const std::string& text, const std::string& allowed) {
  return "found \"" + text + "\", allowed: " + allowed;
}

std::string refuse_no_integer(const std::string& text) {
  int64_t value = 0;
  return lexical_cast(text, value) ? "" : refusal(text, "an integer");
}

// CLI11 reads "nan" and "inf" as numbers, which no option means.
std::string refuse_no_number(const std::string& text) {
  double value = 0;
  if (!lexical_cast(text, value)) return refusal(text, "a number");
  return std::isfinite(value) ? "" : refusal(text, "a finite number");
}

}  // namespace

Declared& Declared::hidden() {
  option_->group("");
  return *this;
}

Declared& Declared::within(int least, int most) {
  const auto refuse = [least, most](const std::string& text) {
    int64_t value = 0;
    return lexical_cast(text, value) && least <= value && value <= most
               ? ""
               : refusal(text, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
  };
  // In the place of the check that the value is an integer.
  *option_->get_validator(0) = CLI::Validator(refuse, CLI::Range(least, most).get_description());
  return *this;
}

Declared& Declared::one_of(std::vector<std::string> allowed) {
  const std::string description = CLI::IsMember(allowed).get_description();
  const auto refuse = [allowed = std::move(allowed)](const std::string& text) {
    const std::vector<std::string_view> names(allowed.begin(), allowed.end());
    return std::find(allowed.begin(), allowed.end(), text) != allowed.end()
               ? ""
               : refusal(text, joined(allowed)) + suggestion(text, names);
  };
  option_->check(CLI::Validator(refuse, description));
  return *this;
}

Command::Command(CLI::App& app, const std::string& name, const std::string& meaning)
    : app_(app.add_subcommand(name, meaning)) {}

Declared Command::value(const std::string& name, std::string& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning));
}

Declared Command::value(const std::string& name, int& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning)->check(refuse_no_integer));
}

Declared Command::value(const std::string& name, int64_t& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning)->check(refuse_no_integer));
}

Declared Command::value(const std::string& name, double& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning)->check(refuse_no_number));
}

Declared Command::value(const std::string& name, std::optional<int64_t>& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning)->check(refuse_no_integer));
}

Declared Command::value(const std::string& name, std::optional<double>& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning)->check(refuse_no_number));
}

Declared Command::values(const std::string& name, std::vector<std::string>& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning));
}

Declared Command::repeated(const std::string& name, std::vector<std::string>& to,
                           const std::string& meaning) {
  CLI::Option* option = app_->add_option(name, to, meaning)->type_size(1)->allow_extra_args(false);
  return Declared(option->option_text("TEXT (once per value)"));
}

void Command::flag(const std::string& name, bool& to, const std::string& meaning) {
  app_->add_flag(name, to, meaning);
}

void Command::footer(const std::string& text) { app_->footer(text); }
void Command::footer(std::function<std::string()> text) { app_->footer(std::move(text)); }
void Command::runs(std::function<void()> work) { app_->callback(std::move(work)); }

}  // namespace kvcap
