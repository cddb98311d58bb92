// kvcap serve: serves a local web page with a form that starts comparisons and shows their reports.
#include <signal.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/embedded_pages.h"
#include "base/input_error.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/output.h"
#include "scenario/load.h"
#include "serve/access.h"
#include "serve/form.h"
#include "serve/run_queue.h"
#include "serve/server.h"

namespace kvcap {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

struct ServeArgs {
  std::vector<std::string> scenarios;
  int port = 0;
  std::string host;
  std::string out;
};

// Blocks Ctrl-C and similar signals in this thread and in all threads that it starts later; wait() receives
// the first signal. The signals stay blocked afterwards, because some senders (timeout, an impatient user)
// send a second signal, which must not disturb the orderly shutdown.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    for (const int one : {SIGINT, SIGTERM, SIGHUP}) {
      // A background job of a shell keeps ignoring Ctrl-C.
      struct sigaction action {};
      sigaction(one, nullptr, &action);
      if (action.sa_handler != SIG_IGN) sigaddset(&signals_, one);
    }
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  void wait() const {
    int ignored = 0;
    sigwait(&signals_, &ignored);
  }

 private:
  sigset_t signals_{};
};

// The folder of the results: --out, or a temporary folder that the destructor removes.
class ResultFolder {
 public:
  explicit ResultFolder(const std::string& out)
      : path_(out), is_temporary_(out.empty()), made_(prepare_folder(out)) {
    if (!is_temporary_) return;
    std::string name = (std::filesystem::temp_directory_path() / "kvcap-serve-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
  }
  ~ResultFolder() {
    std::error_code ignored;
    if (is_temporary_) std::filesystem::remove_all(path_, ignored);
  }
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  const bool is_temporary_;
  const MadeFolders made_;
};

void serve(const ServeArgs& args) {
  if (!args.host.empty()) {
    throw InputError("--host: found \"" + args.host +
                     "\", allowed: none, because only this machine reaches the page; from another one: "
                     "ssh -L 8000:127.0.0.1:8000 THIS_MACHINE, with --port 8000 here");
  }
  const EmbeddedPage page = embedded_serve_page();
  if (page.html.empty()) throw InputError("serve: " + std::string(page.missing));
  std::vector<std::string> scenarios = args.scenarios;
  for (const std::string& one : scenarios) load_scenario(one, {});
  for (std::string& one : shipped_scenarios()) scenarios.push_back(std::move(one));
  const Interrupts interrupts;
  const ResultFolder folder(args.out);
  RunQueue runs({.program = kThisProgram, .folder = folder.path()});
  const PageServer server({.port = args.port,
                           .token = make_token(),
                           .page = page,
                           .program = kThisProgram,
                           .scenarios = std::move(scenarios)},
                          runs);
  print(server.address() + "   Ctrl-C ends it and its runs\n");
  std::fflush(stdout);
  interrupts.wait();
}

}  // namespace

void add_serve(CLI::App& app) {
  auto args = std::make_shared<ServeArgs>();
  Command command(app, "serve", "serve a local web page: a form, its runs and their reports");
  command.values("scenarios", args->scenarios, "further scenario files that the form may start from");
  command.value("--port", args->port, "port on 127.0.0.1; 0: any that is free")
      .within(0, 65535)
      .with_default();
  command.value("--host", args->host, "refused: only this machine reaches the page").hidden();
  command.value(
      "--out", args->out,
      "folder for the results, one folder per run; default: a temporary folder, removed at the end");
  command.footer(
      "Only this machine reaches the page, and only with the token in its address.\n"
      "The form shows the equivalent kvcap compare. One comparison runs at a time; up to four wait.\n"
      "Ctrl-C ends the server and its runs.\n\n"
      "Example: kvcap serve");
  command.runs([args] { serve(*args); });
}

}  // namespace kvcap
