// kvcap: what will restoring, keeping or recomputing the state of LLM serving cost on this machine?
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/input_error.h"
#include "commands/commands.h"
#include "plan/workers.h"

namespace {

int report(int exit_code, const char* what) {
  std::fprintf(stderr, "kvcap: %s\n", what);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Simulates and plans the state of LLM serving (KV caches, hidden states) across GPU, DRAM, SSD and "
               "remote tiers."};
  app.name("kvcap");
  app.require_subcommand(1);
  app.set_version_flag("--version", "kvcap " KVCAP_VERSION);
  app.footer("Example: kvcap compare scenarios/demo.json --policies recompute,kv_offload,hcache,ideal");
  kvcap::add_run(app);
  kvcap::add_compare(app);
  kvcap::add_restore(app);
  kvcap::add_show(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    // Help and version are no errors.
    if (error.get_exit_code() == 0) return app.exit(error);
    return report(2, error.what());
  } catch (const kvcap::InputError& error) {
    return report(2, error.what());
  } catch (const kvcap::CheckFailed& error) {
    return report(3, error.what());
  } catch (const kvcap::Interrupted& error) {
    return report(130, error.what());
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}
