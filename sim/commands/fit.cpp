// kvcap fit: fits a few parameters of an engine to measured runs and evaluates them on held-out requests.
#include "fit/fit.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/output.h"
#include "scenario/load.h"
#include "text/fit_text.h"

namespace kvcap {
namespace {

struct FitArgs {
  std::vector<std::string> runs, judged;
  FitRunOptions options;
  std::string out;
  bool json = false;
  std::string hit_share;
};

constexpr const char* kSource = "fitted by kvcap fit";

// Throws InputError if --set overrides the hardware, because --base names the profile to fit, or if a run is
// given twice.
void refuse_unfit(const FitArgs& args) {
  for (const std::string& one : args.options.overrides) {
    if (!one.starts_with("hardware")) continue;
    throw InputError("--set " + one +
                     ": allowed: fields of the scenario except hardware; --base names the profile");
  }
  std::vector<std::string> paths = args.runs;
  paths.insert(paths.end(), args.judged.begin(), args.judged.end());
  std::sort(paths.begin(), paths.end());
  const auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice != paths.end()) throw InputError(*twice + ": given twice, allowed: each run once");
}

// Parses --hit-share; nullopt if the option is not given.
std::optional<double> hit_share_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double share = std::strtod(text.c_str(), &end);
  if (*end == '\0' && share >= 0 && share < 1) return share;
  throw InputError("--hit-share: found \"" + text + "\", allowed: a number from 0 to below 1");
}

std::vector<FitRun> read_runs(const FitArgs& args) {
  std::vector<FitRun> runs;
  for (const std::string& path : args.runs) runs.push_back(read_fit_run(path, args.options));
  for (const std::string& path : args.judged) {
    runs.push_back(read_fit_run(path, args.options));
    runs.back().only_judged = true;
  }
  return runs;
}

// Returns the text of the fitted profile. Its provenance shows that kvcap fit wrote the file, so a later fit
// may replace it.
std::string text_of(const FitArgs& args, const std::vector<FitRun>& runs, const FitAnswer& answer) {
  const Scenario& base = runs.front().scenario;
  HardwareProfile profile = profile_at(runs.front(), answer.parameters, answer.x, answer.sigma);
  profile.name = std::filesystem::path(args.out).stem().string();
  profile.provenance_kind = "measured";
  profile.provenance_source = std::string(kSource) + " to " + std::to_string(answer.fitted_requests) +
                              " measured requests (see notes), starting from " + base.hardware.name + ": " +
                              base.hardware.provenance_source;
  return hardware_file_with(args.options.base, profile, fit_notes(runs, answer));
}

void refuse_other_files(const FitArgs& args) {
  std::vector<std::string> inputs = args.runs;
  inputs.insert(inputs.end(), args.judged.begin(), args.judged.end());
  inputs.push_back(args.options.base);
  const std::filesystem::path path = args.out;
  if (path.extension() != ".json") {
    throw InputError("--out: found \"" + args.out + "\", allowed: a profile's name with .json");
  }
  const std::filesystem::path folder = path.parent_path();
  if (!folder.empty() && access(folder.c_str(), W_OK) != 0) {
    throw InputError("--out: " + args.out + ": cannot be written: no such folder, or no permission");
  }
  const bool is_fitted = std::filesystem::is_regular_file(path) &&
                         read_text(path).find("\"source\": \"" + std::string(kSource)) != std::string::npos;
  if (is_fitted) return refuse_to_replace("--out", path, inputs, "{");
  refuse_to_replace("--out", path, inputs);
}

void run_fit(FitArgs& args) {
  args.options.hit_share = hit_share_of(args.hit_share);
  refuse_unfit(args);
  refuse_other_files(args);
  const std::vector<FitRun> runs = read_runs(args);
  const FitAnswer answer = fit(runs);
  print(args.json ? fit_json(runs, answer) : fit_text(runs, answer));
  write_file(args.out, text_of(args, runs, answer));
  tell(args.out + ": the fitted profile, for --set hardware=" + args.out);
}

}  // namespace

void add_fit(CLI::App& app) {
  auto args = std::make_shared<FitArgs>();
  Command command(app, "fit", "fit an engine's and a machine's times to measured runs");
  command
      .values(
          "runs", args->runs,
          "logs with latencies of requests (vllm bench serve --save-detailed, CSV, ...), or scenarios whose "
          "workload.source is such a log")
      .required();
  command.value("--base", args->options.base, "the hardware profile to start from: a name or a path")
      .required();
  command.value("--out", args->out, "where to write the fitted profile: FILE.json").required();
  command.value("--model", args->options.model, "the model that was served: a name or a path");
  command.value("--columns", args->options.columns,
                "columns of a log: arrival=A,input=I,output=O,session=S,ttft=T,e2el=E (traces/formats.md)");
  command.value(
      "--hit-share", args->hit_share,
      "for logs that do not show which prompts share text: the share of prompt tokens that the server "
      "found in its prefix cache, 0 to below 1; default: derived from TTFT");
  command.repeated("--judge", args->judged,
                   "a run on which to evaluate the fit, and which is not fitted; may be given several times");
  command.repeated("--set", args->options.overrides,
                   "set a field of all scenarios: path=value, e.g. serving.tensor_parallel_size=2");
  command.flag("--json", args->json, "print parameters and errors as JSON");
  command.footer("Example: kvcap fit traces/bench-sample.json --base h100-sxm --out mine.json");
  command.runs([args] { run_fit(*args); });
}

}  // namespace kvcap
