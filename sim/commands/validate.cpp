// kvcap validate: how far the simulator can be trusted, suite by suite.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "commands/commands.h"
#include "validate/suites.h"
#include "validate/twin.h"

namespace kvcap {
namespace {

struct ValidateArgs {
  std::vector<std::string> suites;
  std::string twin, hardware;
  SuiteOptions options;
  bool json = false;
  bool markdown = false;
};

std::vector<Check> checks_for(const ValidateArgs& args) {
  if (args.twin.empty()) {
    if (!args.hardware.empty()) throw InputError("--hardware: it goes with --twin FILE");
    return run_suites(args.suites, args.options);
  }
  if (!args.suites.empty()) throw InputError("--twin FILE: it is a suite of its own, without --suite");
  return twin_checks_of(args.twin, args.hardware);
}

void validate(const ValidateArgs& args) {
  const std::vector<Check> checks = checks_for(args);
  const std::string text = args.json       ? validation_json(checks)
                           : args.markdown ? validation_markdown(checks, headlines())
                                           : validation_table(checks);
  std::fputs(text.c_str(), stdout);
  const std::string broken = broken_promises(checks);
  if (!broken.empty()) throw CheckFailed("farther off than promised: " + broken);
}

}  // namespace

void add_validate(CLI::App& app) {
  auto args = std::make_shared<ValidateArgs>();
  CLI::App* command =
      app.add_subcommand("validate", "simulated against published, measured and analytic numbers");
  command
      ->add_option("--suite", args->suites, "only this suite; may be given several times: " + suite_names())
      ->type_size(1)
      ->allow_extra_args(false);
  command->add_flag("--quick", args->options.quick, "fewer replications and cases, within three minutes");
  command
      ->add_option("--data", args->options.data_folder, "folder of the measured data, which some suites read")
      ->capture_default_str();
  command->add_option("--twin", args->twin, "a table of kvcap-calibrate twin instead of the suites");
  command->add_option("--hardware", args->hardware,
                      "with --twin: the profile that predicts it; default: the one that it names");
  command->add_flag("--json", args->json, "print the checks as JSON");
  command->add_flag("--markdown", args->markdown, "print README's accuracy table: a row a suite");
  command->footer("Example: kvcap validate --suite twin");
  command->callback([args] { validate(*args); });
}

}  // namespace kvcap
