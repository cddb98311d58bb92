// kvcap run: simulates one scenario.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/launched.h"
#include "commands/model_options.h"
#include "commands/output.h"
#include "commands/question.h"
#include "commands/require.h"
#include "launch/deployment.h"
#include "metrics/recorder.h"
#include "metrics/write.h"
#include "plan/replicate.h"
#include "plan/workers.h"
#include "text/result_table.h"

namespace kvcap {
namespace {

struct RunArgs {
  QuestionArgs question;
  std::vector<std::string> requirements;
  std::string out;
  bool json = false;
  bool explain = false;
  std::string perfetto;
  bool check = false;
  std::string emit;
};

// Prints the deployment of the scenario, without a simulation.
void emit_deployment(const RunArgs& args) {
  const std::pair<const char*, bool> others[] = {{"--out", !args.out.empty()},
                                                 {"--require", !args.requirements.empty()},
                                                 {"--explain", args.explain},
                                                 {"--perfetto", !args.perfetto.empty()},
                                                 {"--json", args.json},
                                                 {"--check", args.check},
                                                 {"--save", !args.question.save.empty()}};
  for (const auto& [option, is_given] : others) {
    if (is_given)
      throw InputError("run: found --emit with " + std::string(option) + ", allowed: one of them");
  }
  QuestionArgs asked = args.question;
  // A scenario needs a workload, but its deployment does not depend on the workload.
  if (asked.file.empty() && asked.workload.empty()) asked.workload = "chat";
  const Question question(asked, {.needs_load = false});
  print(deployment_of(question.load(), deployment_form(args.emit)));
}

// Checks the folder of --perfetto before the run, because the timeline is complete only at its end.
void require_writable_place(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder) || access(folder.c_str(), W_OK) != 0) {
    throw InputError("--perfetto: found \"" + path + "\", allowed: a file in a folder that can be written");
  }
}

void run(const RunArgs& args) {
  if (!args.emit.empty()) {
    emit_deployment(args);
    return;
  }
  const Question question(args.question, {});
  const Scenario scenario = question.load();
  const std::vector<Requirement> requirements = parse_requirements(args.requirements);
  require_writable_place(args.perfetto);
  const std::vector<std::string> inputs = files_of(scenario);
  if (!args.perfetto.empty()) refuse_to_replace("--perfetto", args.perfetto, inputs);
  question.save(scenario);
  const MadeFolders made = prepare_folder(args.out);
  refuse_to_replace_run(args.out, inputs);
  if (!args.perfetto.empty() && !args.out.empty()) {
    for (const std::filesystem::path& file : files_of_run(args.out))
      refuse_one_path("--perfetto", args.perfetto, file);
  }
  NewFiles files;
  NewFile* timeline = args.perfetto.empty() ? nullptr : &files.add(args.perfetto);
  NewFile* requests =
      args.out.empty() ? nullptr : &files.add(std::filesystem::path(args.out) / "requests.csv");
  const auto begin = std::chrono::steady_clock::now();
  bool is_interrupted = false;
  const std::vector<RunResult> runs = run_replications({scenario}, {.check_invariants = args.check,
                                                                    .timeline = timeline,
                                                                    .requests = requests,
                                                                    .is_interrupted = &is_interrupted})
                                          .front();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (is_interrupted && args.json) throw Interrupted();
  RunResult result = combine_replications(runs);
  const Launched& from = question.from();
  if (from.is_given()) result.from_json = launched_json(from).dump();
  const std::string line = scenario_line(scenario, result);
  if (!is_interrupted) {
    if (!args.out.empty()) add_run_files(args.out, line, result, files);
    files.commit();
  }
  const CheckedRequirements checked = check_requirements(requirements, result);
  if (args.json) {
    print(with_requirements(result_json(result), checked));
  } else {
    TableOptions options{.is_brief = !args.explain};
    for (const Requirement& one : requirements) options.metrics.push_back(one.metric);
    if (is_interrupted) print(finished_text(runs.size(), scenario.replications));
    print(result_table({result.policy}, {result}, {}, line, options) + launched_text(from) +
          (is_interrupted ? "" : holds_text(checked)));
  }
  if (is_interrupted) throw Interrupted();
  tell_longer_run({result}, wall.count());
  require_all(checked);
}

}  // namespace

void add_run(CLI::App& app) {
  auto args = std::make_shared<RunArgs>();
  Command command(app, "run", "simulate one scenario");
  add_question(command, args->question);
  declare_model_options(command);
  command.value("--prices", args->question.prices,
                "price file (kvcap.prices/1), in place of the profiles' prices");
  command.value("--out", args->out, "folder for result.json, requests.csv, run.log");
  command.repeated("--require", args->requirements,
                   "fail with exit code 3 unless this holds: 'p99_ttft_ms<=500'");
  command.value("--perfetto", args->perfetto,
                "file for a timeline of the first run, which ui.perfetto.dev opens");
  command.flag("--explain", args->explain, kExplainHelp);
  command.flag("--json", args->json, "print the result as JSON");
  command.flag("--check", args->check, "check invariants after every event; sums of large stores less often");
  declare_emit(command, args->emit, "the scenario, without a simulation");
  command.footer(
      "kvcap show fields lists what --set takes.\n\nExample: kvcap run demo --set "
      "policy.name=kv_offload --require 'p99_ttft_ms<=500'");
  command.runs([args] { run(*args); });
}

}  // namespace kvcap
