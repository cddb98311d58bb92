// kvcap validate: how far the simulator can be trusted, suite by suite.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "commands/commands.h"
#include "validate/suites.h"

namespace kvcap {
namespace {

struct ValidateArgs {
  std::vector<std::string> suites;
  SuiteOptions options;
  bool json = false;
};

void validate(const ValidateArgs& args) {
  const std::vector<Check> checks = run_suites(args.suites, args.options);
  std::fputs((args.json ? validation_json(checks) : validation_table(checks)).c_str(), stdout);
  if (!promises_hold(checks)) throw CheckFailed("a number is farther off than README promises; see above");
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
  command->add_option("--data", args->options.data, "folder of the measured data, which some suites read")
      ->capture_default_str();
  command->add_flag("--json", args->json, "print the checks as JSON");
  command->footer("Example: kvcap validate --suite papers");
  command->callback([args] { validate(*args); });
}

}  // namespace kvcap
