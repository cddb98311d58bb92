// kvcap-calibrate: measures this machine and writes a hardware profile for kvcap.
#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "base/given_values.h"
#include "base/input_error.h"
#include "base/text/print.h"
#include "calibration/commands/commands.h"
#include "calibration/journal.h"

namespace {

int report(int exit_code, const std::string& what) {
  kvcap::tell("kvcap-calibrate: " + what);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures this machine into a hardware profile for kvcap."};
  app.name("kvcap-calibrate");
  app.require_subcommand(1);
  app.set_version_flag("--version", "kvcap-calibrate " KVCAP_VERSION);
  kvcap::calibration::add_profile(app);
  kvcap::calibration::add_twin(app);
  kvcap::calibration::add_check(app);
  kvcap::calibration::add_import(app);
  // Set after the subcommands, which would otherwise inherit it.
  app.footer(
      "kvcap-calibrate SUBCOMMAND --help has its options and an example.\n"
      "Example: kvcap-calibrate check");
  kvcap::refuse_empty_values(app);
  try {
    kvcap::refuse_empty_assignments(argc, argv);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    // Help and version are not errors.
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const bool is_unexpected = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    return report(
        2, is_unexpected ? kvcap::unexpected_text(chosen.empty() ? app : *chosen.front()) : error.what());
  } catch (const kvcap::InputError& error) {
    return report(2, error.what());
  } catch (const kvcap::calibration::CheckFailed& error) {
    return report(3, error.what());
  } catch (const kvcap::calibration::BudgetSpent& error) {
    return report(130, error.what());
  } catch (const std::system_error& error) {
    // A full disk or a missing folder is an error of the environment, not a bug.
    return report(2, error.what());
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}
