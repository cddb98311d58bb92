// kvcap: what will restoring, keeping or recomputing the state of LLM serving cost on this machine?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "base/input_error.h"
#include "commands/commands.h"
#include "des/world.h"
#include "plan/workers.h"
#include "revision.h"

namespace {

int report(int exit_code, const char* what) {
  std::fprintf(stderr, "kvcap: %s\n", what);
  return exit_code;
}

// What a bug report needs to know.
std::string version_text() {
  return std::string("kvcap " KVCAP_VERSION "\nrevision ") + kvcap::kRevision +
         "\nbuild " KVCAP_BUILD_TYPE ", " KVCAP_COMPILER "\nSimGrid " + kvcap::simgrid_version();
}

// CLI11 calls an unknown subcommand a missing one; a user wants to hear what was found and what is near.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  std::string allowed;
  for (const std::string& name : names) allowed += (allowed.empty() ? "" : ", ") + name;
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  throw kvcap::InputError("found the command \"" + std::string(argv[1]) + "\", allowed: " + allowed +
                          kvcap::suggestion(argv[1], candidates));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Simulates and plans the state of LLM serving (KV caches, hidden states) across GPU, DRAM, SSD and "
      "remote tiers."};
  app.name("kvcap");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text);
  kvcap::add_run(app);
  kvcap::add_compare(app);
  kvcap::add_restore(app);
  kvcap::add_sweep(app);
  kvcap::add_plan(app);
  kvcap::add_validate(app);
  kvcap::add_report(app);
  kvcap::add_trace(app);
  kvcap::add_show(app);
  kvcap::add_completion(app);
  kvcap::add_man(app);
  // Last: subcommands inherit it.
  app.footer(
      "kvcap SUBCOMMAND --help has its options and an example.\n"
      "Example: kvcap compare scenarios/demo.json --policies recompute,kv_offload,hcache,ideal");
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    // Help and version are no errors.
    if (error.get_exit_code() == 0) return app.exit(error);
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
    return report(2, (error.what() + ("; kvcap" + command + " --help has an example")).c_str());
  } catch (const kvcap::InputError& error) {
    return report(2, error.what());
  } catch (const kvcap::CheckFailed& error) {
    return report(3, error.what());
  } catch (const kvcap::Interrupted& error) {
    return report(130, error.what());
  } catch (const std::system_error& error) {
    // A full disk, a lost folder, no more processes: the machine's state, not our bug.
    return report(2, error.what());
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}
