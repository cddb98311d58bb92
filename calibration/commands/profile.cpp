// `kvcap-calibrate profile`: measures this machine and writes a hardware profile.
#include "calibration/profile.h"

#include "base/input_error.h"
#include "base/text/print.h"
#include "calibration/commands/commands.h"

namespace kvcap::calibration {
namespace {

struct ProfileArgs {
  std::string backend = "auto";
  std::string ssd;
  std::string out;
  bool quick = false;
  std::optional<double> budget_s;
};

void profile(const ProfileArgs& args) {
  ProfileOptions options;
  options.out = args.out;
  options.quick = args.quick;
  options.budget_s = args.budget_s;
  if (!args.ssd.empty()) options.ssd = args.ssd;
  if (args.quick) options.budgets = quick_budgets();
  require_place_for_measured(options.out);
  const std::unique_ptr<Backend> backend = make_backend(args.backend);
  const NotedProfile result = write_profile(*backend, options);
  for (const std::string& note : result.notes) tell("kvcap-calibrate: " + note);
  print(args.out + "\n");
}

}  // namespace

void add_profile(CLI::App& app) {
  auto args = std::make_shared<ProfileArgs>();
  CLI::App* command = app.add_subcommand("profile", "measures this machine into a hardware profile");
  add_backend_option(*command, &args->backend);
  add_budget_option(*command, &args->budget_s);
  command->add_option("--ssd", args->ssd, "a folder on the SSD to measure; without it the profile has none");
  command->add_flag("--quick", args->quick, "under a minute, fewer points");
  command->add_option("--out", args->out, "the profile; OUT.measurements.jsonl holds every measurement")
      ->required();
  command->footer(
      "A run that was stopped goes on where it was when it is started again the same way.\n"
      "Example: kvcap-calibrate profile --ssd . --out mine.json");
  command->callback([args] { profile(*args); });
}

}  // namespace kvcap::calibration
