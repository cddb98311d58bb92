// kvcap-calibrate check: every operation of a backend against a reference in float64.
#include "calibration/check.h"

#include "base/text/print.h"
#include "calibration/commands/commands.h"

namespace kvcap::calibration {
namespace {

void check(const std::string& backend_name) {
  const std::unique_ptr<Backend> backend = make_backend(backend_name);
  int wrong = 0;
  for (const CheckedOperation& operation : check_backend(*backend)) {
    print_format("%-5s  error %8.1e  allowed %8.1e  %s\n", operation.right() ? "right" : "WRONG",
                 operation.error, operation.bound, operation.what.c_str());
    wrong += operation.right() ? 0 : 1;
  }
  if (wrong > 0) throw CheckFailed(std::to_string(wrong) + " operations are wrong");
}

}  // namespace

void add_check(CLI::App& app) {
  auto backend = std::make_shared<std::string>("auto");
  CLI::App* command = app.add_subcommand("check", "every operation against a reference in float64");
  add_backend_option(*command, backend.get());
  command->footer("Example: kvcap-calibrate check");
  command->callback([backend] { check(*backend); });
}

}  // namespace kvcap::calibration
