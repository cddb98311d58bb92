// kvcap completion and kvcap man: print shell completions and the manual page.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "base/input_error.h"
#include "base/text/print.h"
#include "base/tier.h"
#include "commands/commands.h"
#include "commands/shell_texts.h"
#include "engine/options.h"
#include "policy/table.h"
#include "workload/sources_table.h"

namespace kvcap {
namespace {

// Returns the option's description once for each of its names.
std::vector<OptionText> described(const CLI::Option& option) {
  OptionText text;
  text.meaning = option.get_description();
  text.takes_value = option.get_items_expected_max() > 0;
  // Type names list the allowed values: "TEXT:{local,slurm}".
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  if (open != std::string::npos) {
    std::string values = type.substr(open + 1, type.find('}') - open - 1);
    std::replace(values.begin(), values.end(), ',', ' ');
    text.allowed = CLI::detail::split(values, ' ');
  }
  std::vector<OptionText> named;
  for (const std::string& name : option.get_lnames()) {
    named.push_back(text);
    named.back().name = "--" + name;
  }
  if (!named.empty()) return named;
  text.name = option.get_single_name();
  return {text};
}

// Returns, for each option that takes a name of the catalogue, the allowed names. Options whose names stand
// for files accept paths, too.
std::map<std::string, OptionValues> catalogue_names() {
  const auto files = [](Catalogue which) {
    OptionValues values;
    for (const CatalogueEntry& file : catalogue(which)) values.words.emplace_back(file.name);
    return values;
  };
  const auto names = [](Names all) { return OptionValues{{all.begin(), all.end()}, false}; };
  OptionValues generators;
  for (const SourceRow& row : source_table())
    if (row.is_generated) generators.words.emplace_back(row.name);
  const OptionValues policies = names(policy_names()), hardware = files(Catalogue::hardware);
  OptionValues several = policies;
  several.is_list = true;
  return {{"--policies", several},
          {"--policy", policies},
          {"--hardware", hardware},
          {"--gpu", hardware},
          {"--base", hardware},
          {"--model", files(Catalogue::models)},
          {"--engine", names(kEngineNames)},
          {"--tier", names(kHostNames)},
          {"--workload", generators}};
}

ProgramText described(const CLI::App& app) {
  ProgramText program{.name = app.get_name(),
                      .version = KVCAP_VERSION,
                      .meaning = app.get_description(),
                      .commands = {},
                      .fields = scenario_fields(),
                      .names = catalogue_names()};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CommandText text{command->get_name(), command->get_description(), {}, {}, command->get_footer()};
    text.examples.erase(0, std::min(text.examples.find("Example"), text.examples.size()));
    for (const CLI::Option* option : command->get_options()) {
      std::vector<OptionText>& all = option->get_positional() ? text.positionals : text.options;
      for (OptionText& one : described(*option)) all.push_back(std::move(one));
    }
    program.commands.push_back(std::move(text));
  }
  return program;
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "print completions of the command line for a shell");
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
  CLI::App* command = app.add_subcommand("man", "print the manual page, for man -l");
  command->footer("Example: kvcap man > kvcap.1");
  command->callback([&app] { print(manual_page(described(app))); });
}

}  // namespace kvcap
