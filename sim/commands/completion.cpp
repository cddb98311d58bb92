// kvcap completion, kvcap man: the command line described to shells and to man(1).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "base/input_error.h"
#include "base/text/print.h"
#include "commands/commands.h"
#include "commands/shell_texts.h"
#include "policy/table.h"

namespace kvcap {
namespace {

OptionText described(const CLI::Option& option) {
  OptionText text;
  text.name = option.get_lnames().empty() ? option.get_single_name() : "--" + option.get_lnames().front();
  text.meaning = option.get_description();
  text.takes_value = option.get_items_expected_max() > 0;
  // "TEXT:{local,slurm}"
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  if (open != std::string::npos) {
    std::string values = type.substr(open + 1, type.find('}') - open - 1);
    std::replace(values.begin(), values.end(), ',', ' ');
    text.allowed = CLI::detail::split(values, ' ');
  }
  return text;
}

ProgramText described(const CLI::App& app) {
  ProgramText program{.name = app.get_name(),
                      .version = KVCAP_VERSION,
                      .meaning = app.get_description(),
                      .commands = {},
                      .fields = scenario_fields(),
                      .policies = {}};
  for (const PolicyRow& row : policy_table()) program.policies.emplace_back(row.name);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandText text{command->get_name(), command->get_description(), {}, {}, command->get_footer()};
    text.examples.erase(0, std::min(text.examples.find("Example"), text.examples.size()));
    // Which the manual has in a section of its own.
    text.examples.erase(std::min(text.examples.find("\n\nFields"), text.examples.size()));
    for (const CLI::Option* option : command->get_options()) {
      (option->get_positional() ? text.positionals : text.options).push_back(described(*option));
    }
    program.commands.push_back(std::move(text));
  }
  return program;
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "completion of the command line for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")->required();
  command->footer("Example: kvcap completion bash > kvcap.bash && source kvcap.bash");
  command->callback([shell, &app] {
    const ProgramText program = described(app);
    std::string text;
    if (*shell == "bash") {
      text = bash_completion(program);
    } else if (*shell == "zsh") {
      text = zsh_completion(program);
    } else if (*shell == "fish") {
      text = fish_completion(program);
    } else {
      const std::string_view shells[] = {"bash", "zsh", "fish"};
      throw InputError("completion: found \"" + *shell + "\", allowed: bash, zsh, fish" +
                       suggestion(*shell, shells));
    }
    print(text);
  });
}

void add_man(CLI::App& app) {
  CLI::App* command = app.add_subcommand("man", "the manual page, as man -l reads it");
  command->footer("Example: kvcap man > kvcap.1");
  command->callback([&app] { print(manual_page(described(app))); });
}

}  // namespace kvcap
