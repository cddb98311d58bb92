// kvcap: what will restoring, keeping or recomputing the state of LLM serving cost on this machine?
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/given_values.h"
#include "base/input_error.h"
#include "base/text/joined.h"
#include "base/text/print.h"
#include "commands/commands.h"
#include "des/world.h"
#include "plan/workers.h"
#include "revision.h"

namespace {

int report(int exit_code, const std::string& what) {
  kvcap::tell("kvcap: " + what);
  return exit_code;
}

// What a bug report needs to know.
std::string version_text() {
  return std::string("kvcap " KVCAP_VERSION "\nrevision ") + kvcap::kRevision +
         "\nbuild " KVCAP_BUILD_TYPE ", " KVCAP_COMPILER "\nSimGrid " + kvcap::simgrid_version();
}

// Ctrl-C where no workers have to be stopped first. What is half written has no name yet where the file
// system can do without, else one that begins with .kvcap.part.
extern "C" void end_at_once(int) {
  constexpr std::string_view kLine = "kvcap: interrupted\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine.data(), kLine.size());
  _exit(130);
}

// A file that is too large is an error of its write, not a signal; and no file that is opened takes the place
// of an output that the caller has closed.
void prepare_process() {
  signal(SIGXFSZ, SIG_IGN);
  // A comparison keeps three files for every setting open until all are written.
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  for (int ending : {SIGINT, SIGTERM}) {
    // What a shell has put into the background stays deaf to Ctrl-C.
    if (signal(ending, end_at_once) == SIG_IGN) signal(ending, SIG_IGN);
  }
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) < 0) open("/dev/null", O_RDWR);
  }
}

// Results that could not be printed, on a full disk for example, are no success.
void flush_results() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const std::string reason = errno != 0 ? std::strerror(errno) : "not all could be written";
  throw kvcap::InputError("stdout: " + reason);
}

// CLI11 calls an unknown subcommand a missing one; a user wants to hear what was found and what is near.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  throw kvcap::InputError("found the command \"" + std::string(argv[1]) +
                          "\", allowed: " + kvcap::joined(names) + kvcap::suggestion(argv[1], candidates));
}

// What the user can do where the machine has run out of something.
std::string remedy(const std::error_code& code) {
  if (code == std::errc::too_many_files_open) return " (ulimit -n raises their number)";
  if (code == std::errc::resource_unavailable_try_again) return " (ulimit -u raises the number of processes)";
  return "";
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
  kvcap::add_capacity(app);
  kvcap::add_sweep(app);
  kvcap::add_plan(app);
  kvcap::add_fit(app);
  kvcap::add_validate(app);
  kvcap::add_observe(app);
  kvcap::add_report(app);
  kvcap::add_serve(app);
  kvcap::add_whatif(app);
  kvcap::add_trace(app);
  kvcap::add_show(app);
  kvcap::add_completion(app);
  kvcap::add_man(app);
  // Last: subcommands inherit it.
  app.footer(
      "kvcap SUBCOMMAND --help has its options and an example.\n"
      "Example: kvcap compare demo --policies recompute,kv_offload,hcache,ideal");
  kvcap::refuse_empty_values(app);
  prepare_process();
  try {
    refuse_unknown_command(app, argc, argv);
    kvcap::refuse_empty_assignments(argc, argv);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& help) {  // or the version
      app.exit(help);
    }
    flush_results();
    return 0;
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
    const bool is_unexpected = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    // A check of the option's own says what is allowed.
    if (dynamic_cast<const CLI::ValidationError*>(&error)) return report(2, error.what());
    const std::string what =
        is_unexpected ? kvcap::unexpected_text(chosen.empty() ? app : *chosen.front()) : error.what();
    return report(2, what + "; kvcap" + command + " --help has an example");
  } catch (const kvcap::InputError& error) {
    return report(2, error.what());
  } catch (const kvcap::CheckFailed& error) {
    return report(3, error.what());
  } catch (const kvcap::Interrupted& error) {
    return report(130, error.what());
  } catch (const std::system_error& error) {
    // A full disk, a lost folder, no more processes: the machine's state, not our bug.
    return report(2, error.what() + remedy(error.code()));
  } catch (const std::bad_alloc&) {
    return report(2, "out of memory");
  } catch (const std::exception& error) {
    return report(1, error.what());
  }
}
