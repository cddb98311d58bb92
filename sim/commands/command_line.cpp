#include "commands/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/input_error.h"

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

Declared& Declared::within(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Declared& Declared::one_of(std::vector<std::string> allowed) {
  option_->check(CLI::IsMember(std::move(allowed)));
  return *this;
}

namespace {

// Rejects "nan" and "inf", which CLI11 accepts as numbers.
std::string refuse_infinite(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  return std::isfinite(value) ? "" : "found " + text + ", allowed: a finite number";
}

}  // namespace

Command::Command(CLI::App& app, const std::string& name, const std::string& meaning)
    : app_(app.add_subcommand(name, meaning)) {}

Declared Command::value(const std::string& name, std::string& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning));
}

Declared Command::value(const std::string& name, int& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning));
}

Declared Command::value(const std::string& name, int64_t& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning));
}

Declared Command::value(const std::string& name, double& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning)->check(refuse_infinite));
}

Declared Command::value(const std::string& name, std::optional<int64_t>& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning));
}

Declared Command::value(const std::string& name, std::optional<double>& to, const std::string& meaning) {
  return Declared(app_->add_option(name, to, meaning)->check(refuse_infinite));
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
