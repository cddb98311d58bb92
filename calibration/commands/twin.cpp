// `kvcap-calibrate twin`: performs restorations on this machine and writes their times.
#include "calibration/twin.h"

#include "base/input_error.h"
#include "base/text/print.h"
#include "calibration/commands/commands.h"

namespace kvcap::calibration {
namespace {

struct TwinArgs {
  std::string backend = "auto";
  std::string ssd;
  std::string out;
  bool quick = false;
  std::optional<double> budget_s;
};

void twin(const TwinArgs& args) {
  TwinOptionsOfRun options{.out = args.out, .quick = args.quick, .budget_s = args.budget_s};
  if (!args.ssd.empty()) options.ssd = args.ssd;
  require_place_for_measured(options.out);
  const std::unique_ptr<Backend> backend = make_backend(args.backend);
  const TwinTable table = write_twin(*backend, options);
  const int64_t performed = std::ssize(table.plan.cases) - table.failed();
  tell("kvcap-calibrate: " + std::to_string(performed) + " cases, " + std::to_string(table.plan.repeats) +
       " times each; `kvcap validate --suite twin` predicts them");
  for (const std::string& failure : failures_of(table)) tell("kvcap-calibrate: " + failure);
  print(args.out + "\n");
  if (table.failed() > 0) {
    throw CheckFailed(std::to_string(table.failed()) + " cases failed and are missing from " + args.out +
                      ". Run the same command again to retry only these");
  }
}

}  // namespace

void add_twin(CLI::App& app) {
  auto args = std::make_shared<TwinArgs>();
  CLI::App* command =
      app.add_subcommand("twin", "performs restorations on this machine and writes what they took");
  add_backend_option(*command, &args->backend);
  add_budget_option(*command, &args->budget_s);
  command->add_option("--ssd", args->ssd, "a folder on the SSD to restore from; without it only host memory");
  command->add_flag("--quick", args->quick, "toy sizes, seconds: whether it works, not how long it takes");
  command
      ->add_option("--out", args->out,
                   "the table, named as the profile that predicts it; "
                   "OUT.measurements.jsonl holds every repeat")
      ->required();
  command->footer(
      "A run that was stopped goes on where it was when it is started again the same way.\n"
      "Example: kvcap-calibrate twin --ssd . --out mine-twin.json");
  command->callback([args] { twin(*args); });
}

}  // namespace kvcap::calibration
