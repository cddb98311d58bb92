// kvcap validate: compares the simulator with references, suite by suite.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/output.h"
#include "documents/kind.h"
#include "text/run_comparison_text.h"
#include "text/validation_text.h"
#include "validate/runs/run_comparison.h"
#include "validate/studies/study.h"
#include "validate/suites.h"
#include "validate/twin.h"

namespace kvcap {
namespace {

struct ValidateArgs {
  std::vector<std::string> studies;
  std::vector<std::string> suites;
  std::string twin, hardware;
  std::string run, scenario;
  std::vector<std::string> overrides;
  SuiteOptions options;
  std::string out;
  bool json = false;
  bool markdown = false;
};

// Throws InputError for options that exclude each other, and for options that need --run.
void refuse_mixed_options(const ValidateArgs& args) {
  if (!args.studies.empty()) {
    const std::pair<bool, const char*> others[] = {{!args.suites.empty(), "--suite"},
                                                   {!args.twin.empty(), "--twin"},
                                                   {!args.run.empty(), "--run"},
                                                   {!args.hardware.empty(), "--hardware"}};
    for (const auto& [is_given, option] : others) {
      if (is_given)
        throw InputError(args.studies.front() + ": found with " + option + ", allowed: a study by itself");
    }
  }
  if (args.run.empty()) {
    if (!args.scenario.empty()) throw InputError("--scenario: found without --run, allowed: with --run LOG");
    if (!args.overrides.empty()) throw InputError("--set: found without --run, allowed: with --run LOG");
    return;
  }
  if (!args.suites.empty()) throw InputError("--run LOG: found with --suite, allowed: one of them");
  if (!args.twin.empty()) throw InputError("--run LOG: found with --twin, allowed: one of them");
  if (args.markdown) throw InputError("--run LOG: found --markdown, allowed: --json or neither");
}

void validate_run(const ValidateArgs& args) {
  const MadeFolders made = prepare_folder(args.out);
  if (!args.out.empty()) {
    refuse_to_replace_in("--out", args.out, std::vector<std::string>{"validation.json"},
                         std::vector<std::string>{args.run, args.scenario, args.hardware});
  }
  const RunComparison comparison = compare_with_run(args.run, args.scenario, args.hardware, args.overrides);
  const std::string json = run_comparison_json(comparison);
  if (!args.out.empty()) write_file(args.out + "/validation.json", json);
  print(args.json ? json : run_comparison_table(comparison));
  std::string outside;
  for (const Check& one : comparison.checks) {
    if (one.verdict == Agreement::outside) outside += (outside.empty() ? "" : ", ") + one.id;
  }
  if (!outside.empty()) throw CheckFailed("the simulation does not agree with " + args.run + ": " + outside);
}

std::vector<Check> checks_for(const ValidateArgs& args) {
  if (!args.studies.empty()) {
    StudyOptions options{.quick = args.options.quick};
    if (args.options.needs_data) options.data_folder = args.options.data_folder;
    std::vector<Study> studies;
    for (const std::string& path : args.studies) studies.push_back(load_study(path, options));
    return run_studies(studies);
  }
  if (args.twin.empty()) {
    if (!args.hardware.empty())
      throw InputError("--hardware: found alone, allowed: with --twin FILE or --run LOG");
    return run_suites(args.suites, args.options);
  }
  if (!args.suites.empty()) throw InputError("--twin FILE: found with --suite, allowed: one of them");
  return twin_checks_of(args.twin, args.hardware);
}

void validate(const ValidateArgs& args) {
  refuse_mixed_options(args);
  if (!args.run.empty()) return validate_run(args);
  std::vector<std::string> inputs = args.studies;
  for (const std::string& path : {args.twin, args.hardware}) inputs.push_back(path);
  const MadeFolders made = prepare_folder(args.out);
  if (!args.out.empty()) {
    refuse_to_replace_in("--out", args.out, std::vector<std::string>{"validation.json"}, inputs);
  }
  const std::vector<Check> checks = checks_for(args);
  const std::span<const Headline> shown = args.studies.empty() ? headlines() : std::span<const Headline>();
  const std::string json = validation_json(checks);
  const std::string text =
      args.json       ? json
      : args.markdown ? validation_markdown(checks, shown)
                      : validation_table(checks) + "\n" + wrapped(document_sentences(Json::parse(json)));
  if (!args.out.empty()) write_file(args.out + "/validation.json", json);
  print(text);
  const std::string broken = broken_promises(checks);
  if (!broken.empty()) throw CheckFailed("outside the stated accuracy: " + broken);
}

}  // namespace

void add_validate(CLI::App& app) {
  auto args = std::make_shared<ValidateArgs>();
  const char* data = std::getenv("KVCAP_DATA");
  if (data && *data != '\0') {
    args->options.data_folder = data;
    args->options.needs_data = true;
  }
  Command command(app, "validate", "compare simulated with published, measured and analytic numbers");
  command.values("FILE", args->studies,
                 "study files, with scenarios and measured values, to run instead of the suites");
  command.repeated("--suite", args->suites, "only this suite; may be given several times: " + suite_names());
  command.flag("--quick", args->options.quick, "fewer replications and cases, within three minutes");
  command
      .value("--data", args->options.data_folder,
             "folder of the measured data that some suites read, also set by KVCAP_DATA; without the data "
             "the checks of these suites are not comparable")
      .with_default();
  command.value("--twin", args->twin, "check a table of kvcap-calibrate twin instead of the suites");
  command.value("--hardware", args->hardware,
                "with --twin: the profile to predict the table with; default: the one that the table names. "
                "With --run: the server's machine");
  command.value("--run", args->run,
                "compare the simulator with a server, whose log kvcap observe has written, instead of "
                "running the suites");
  command.value("--scenario", args->scenario,
                "with --run: the scenario to simulate; default: the one that the log describes");
  command.repeated("--set", args->overrides, "with --run: override a field of the scenario: path=value");
  command.value("--out", args->out, "folder for validation.json");
  command.flag("--json", args->json, "print the checks as JSON");
  command.flag("--markdown", args->markdown, "print the README's accuracy table, one row per suite");
  command.footer("Example: kvcap validate --suite twin");
  command.runs([args, folder = args->options.data_folder] {
    if (args->options.data_folder != folder) args->options.needs_data = true;
    validate(*args);
  });
}

}  // namespace kvcap
