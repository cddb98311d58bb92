// kvcap observe: writes a server's metrics to a log and summarises them.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "observe/http.h"
#include "observe/observation.h"
#include "observe/scrape.h"

namespace kvcap {
namespace {

struct ObserveArgs {
  std::vector<std::string> sources;
  std::string out;
  double every_s = 5, for_s = 0, timeout_s = 10;
  bool allow_redirects = false, json = false;
};

volatile sig_atomic_t interruptions = 0;

// The first Ctrl-C ends the observation, the second one ends the program; the log is complete at any time.
extern "C" void end_observation(int) {
  interruptions = interruptions + 1;
  if (interruptions > 1) _exit(130);
}

// During its lifetime, Ctrl-C ends the observation and not the program.
class EndsAtInterrupt {
 public:
  EndsAtInterrupt() {
    struct sigaction ending {};
    ending.sa_handler = end_observation;
    sigemptyset(&ending.sa_mask);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &ending, &before_[i]);
      // Background jobs of a shell keep ignoring Ctrl-C.
      if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  ~EndsAtInterrupt() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  EndsAtInterrupt(const EndsAtInterrupt&) = delete;
  EndsAtInterrupt& operator=(const EndsAtInterrupt&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM};
  struct sigaction before_[std::size(kSignals)]{};
};

// The growing log. The file is created with its first line.
class LogFile {
 public:
  explicit LogFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    std::error_code none;
    const std::filesystem::path folder = std::filesystem::absolute(path_).parent_path();
    if (!std::filesystem::is_directory(folder, none) || access(folder.c_str(), W_OK) != 0) {
      throw InputError("--out: found \"" + path_ + "\", allowed: a file in a folder that can be written");
    }
    if (std::filesystem::is_regular_file(path_, none) && std::filesystem::file_size(path_, none) > 0) {
      throw InputError("--out: " + path_ + " already exists; choose another file or remove it");
    }
    refuse_to_replace("--out", path_, {});
  }

  void write(const std::string& lines) {
    if (path_.empty()) return;
    errno = 0;
    if (!file_.is_open()) file_.open(path_, std::ios::binary | std::ios::app);
    file_ << lines << std::flush;
    if (!file_) throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(), path_);
  }

 private:
  std::string path_;
  std::ofstream file_;
};

void require_seconds(const std::string& option, double value, double least) {
  if (std::isfinite(value) && value >= least && value <= 1e8) return;
  throw InputError(option + ": found " + std::to_string(value) + ", allowed: seconds from " +
                   (least > 0 ? "0.01" : "0") + " to 1e8");
}

ObservedLog log_of(const ObserveArgs& args, LogFile& file) {
  if (args.sources.size() == 1 && is_http_address(args.sources.front())) {
    const EndsAtInterrupt ends;
    if (isatty(STDERR_FILENO) != 0) tell("kvcap: observing; Ctrl-C ends it");
    return scrape(args.sources.front(), {.every_s = args.every_s,
                                         .for_s = args.for_s,
                                         .http = {args.timeout_s, args.allow_redirects},
                                         .ends = [] { return interruptions > 0; },
                                         .write_line = [&](const std::string& line) { file.write(line); }});
  }
  for (const std::string& source : args.sources) {
    if (is_http_address(source))
      throw InputError("found several sources with " + source + ", allowed: one address, or files");
  }
  ObservedLog log = read_scrapes(args.sources);
  std::string lines = log_header(log.address, log.every_s, log.samples.front());
  for (const Snapshot& one : log.samples) lines += log_line(one);
  for (const FailedScrape& one : log.failures) lines += log_line(one);
  file.write(lines);
  return log;
}

void observe(const ObserveArgs& args) {
  require_seconds("--every", args.every_s, 0.01);
  require_seconds("--timeout", args.timeout_s, 0.01);
  require_seconds("--for", args.for_s, 0);
  LogFile file(args.out);
  const Observation seen = observation_of(log_of(args, file));
  print(args.json ? observation_json(seen) : observation_table(seen));
}

}  // namespace

void add_observe(CLI::App& app) {
  auto args = std::make_shared<ObserveArgs>();
  Command command(app, "observe", "log a server's metrics and summarise them");
  command
      .values(
          "source", args->sources,
          "http://HOST:PORT of a vLLM or SGLang server, or files: saved /metrics, one scrape each, or a log")
      .required();
  command.value("--out", args->out, "the log, a new file, for kvcap validate --run");
  command.value("--every", args->every_s, "seconds between scrapes").with_default();
  command.value("--for", args->for_s, "seconds to observe; default: until Ctrl-C");
  command
      .value("--timeout", args->timeout_s,
             "seconds that a scrape may take, from the connection to the last byte")
      .with_default();
  command.flag("--allow-redirects", args->allow_redirects, "follow the server to another host or port");
  command.flag("--json", args->json, "print the summary as JSON");
  command.footer(
      "Ctrl-C ends the observation and prints the summary. An address without a path means /metrics.\n"
      "Afterwards, kvcap validate --run LOG --hardware H compares the simulator with the server.\n\n"
      "Example: kvcap observe scenarios/observed/vllm-metrics.txt");
  command.runs([args] { observe(*args); });
}

}  // namespace kvcap
