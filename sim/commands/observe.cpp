// kvcap observe: logs a server's metrics and summarises them.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/joined.h"
#include "base/text/print.h"
#include "base/text/units.h"
#include "commands/bearer_token.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "observe/history.h"
#include "observe/http.h"
#include "observe/observation.h"
#include "observe/scrape.h"
#include "text/observation_text.h"
#include "workload/logs/log_time.h"

namespace kvcap {
namespace {

struct ObserveArgs {
  std::vector<std::string> sources;
  std::string out, last, start, end, step, match;
  bool history = false;
  double every_s = 5, for_s = 0, timeout_s = 10;
  bool allow_redirects = false, json = false;
};

volatile sig_atomic_t interruptions = 0;

// The first Ctrl-C ends the observation, the second one the program. The log is complete at any time.
extern "C" void end_observation(int) {
  interruptions = interruptions + 1;
  if (interruptions > 1) _exit(130);
}

// While an object of this class exists, Ctrl-C ends the observation instead of the program.
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

// The log file of --out, which is created when the first line is written.
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

[[noreturn]] void refuse_time(const std::string& option, const std::string& found,
                              const std::string& allowed) {
  throw InputError(option + ": found \"" + found + "\", allowed: " + allowed);
}

double duration_s(const std::string& option, const std::string& text) {
  const std::optional<double> seconds = number_with_unit(text, UnitOf::seconds);
  if (!seconds || !(*seconds >= 1 && *seconds <= 1e9))
    refuse_time(option, text, "a time from 1s, such as 30s, 15min, 2h or 7d");
  return *seconds;
}

double unix_time_s(const std::string& option, const std::string& text) {
  std::optional<int64_t> time_ns = parse_date_ns(text);
  if (!time_ns) time_ns = parse_time_ns(text, TimeUnit::s);
  if (!time_ns) refuse_time(option, text, "2026-01-31T09:05:00Z, another offset than Z, or Unix seconds");
  return 1e-9 * static_cast<double>(*time_ns);
}

// Returns the label matchers without the braces that users may put around them.
std::string without_braces(const std::string& matchers) {
  constexpr const char* kAround = " \t\r\n{},";
  const std::size_t begin = matchers.find_first_not_of(kAround);
  if (begin == std::string::npos) return "";
  return matchers.substr(begin, matchers.find_last_not_of(kAround) + 1 - begin);
}

HistoryOptions history_options(const ObserveArgs& args) {
  if (args.last.empty() && args.start.empty())
    throw InputError(
        "--history: found no time, allowed: --last 2h, or --start TIME with or without --end TIME");
  if (!args.last.empty() && !args.start.empty())
    throw InputError("--history: found --last and --start, allowed: one of them");
  if (args.for_s > 0) throw InputError("--history: found --for, allowed: --last, the time to look back");
  HistoryOptions options{.end_s = args.end.empty() ? unix_now_s() : unix_time_s("--end", args.end),
                         .matchers = without_braces(args.match),
                         .http = {.timeout_s = args.timeout_s,
                                  .allow_redirects = args.allow_redirects,
                                  .bearer_token = bearer_token("PROMETHEUS_TOKEN")}};
  options.start_s = args.last.empty() ? unix_time_s("--start", args.start)
                                      : options.end_s - duration_s("--last", args.last);
  if (!(options.start_s >= 0 && options.start_s < options.end_s))
    refuse_time(args.last.empty() ? "--start" : "--last", args.last.empty() ? args.start : args.last,
                "a time that begins after 1970 and before --end, " + utc_text(options.end_s));
  constexpr double kUsualStep_s = 60, kUsualTimes = 10'000, kMostTimes = 200'000;
  const double span_s = options.end_s - options.start_s;
  options.step_s = args.step.empty() ? std::max(kUsualStep_s, std::ceil(span_s / kUsualTimes))
                                     : duration_s("--step", args.step);
  if (span_s / options.step_s > kMostTimes)
    refuse_time("--step", args.step,
                "at least " + std::to_string(std::llround(std::ceil(span_s / kMostTimes))) + "s from " +
                    utc_text(options.start_s) + " to " + utc_text(options.end_s));
  return options;
}

void write_log(const ObservedLog& log, LogFile& file) {
  std::string lines = log_header(log.address, log.every_s, log.samples.front());
  for (const Snapshot& one : log.samples) lines += log_line(one);
  for (const FailedScrape& one : log.failures) lines += log_line(one);
  file.write(lines);
}

ObservedLog history_log(const ObserveArgs& args, LogFile& file) {
  if (args.sources.size() != 1 || !is_http_address(args.sources.front()))
    throw InputError("--history: found \"" + joined(args.sources, " ") +
                     "\", allowed: the address of one Prometheus server, http://HOST:9090");
  ObservedLog log = read_history(args.sources.front(), history_options(args));
  write_log(log, file);
  return log;
}

void refuse_history_options(const ObserveArgs& args) {
  for (const auto& [option, value] : {std::pair("--last", args.last),
                                      {"--start", args.start},
                                      {"--end", args.end},
                                      {"--step", args.step},
                                      {"--match", args.match}}) {
    if (!value.empty())
      throw InputError(
          std::string(option) +
          ": found without --history, allowed: with --history, which reads what Prometheus has stored");
  }
}

ObservedLog log_of(const ObserveArgs& args, LogFile& file) {
  if (args.history) return history_log(args, file);
  refuse_history_options(args);
  if (args.sources.size() == 1 && is_http_address(args.sources.front())) {
    const EndsAtInterrupt ends;
    if (isatty(STDERR_FILENO) != 0) tell("kvcap: observing; Ctrl-C ends it");
    return scrape(args.sources.front(),
                  {.every_s = args.every_s,
                   .for_s = args.for_s,
                   .http = {.timeout_s = args.timeout_s, .allow_redirects = args.allow_redirects},
                   .ends = [] { return interruptions > 0; },
                   .write_line = [&](const std::string& line) { file.write(line); }});
  }
  for (const std::string& source : args.sources) {
    if (is_http_address(source))
      throw InputError("found several sources with " + source + ", allowed: one address, or files");
  }
  ObservedLog log = read_scrapes(args.sources);
  write_log(log, file);
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
      .values("source", args->sources,
              "http://HOST:PORT of a vLLM or SGLang server, or files: saved /metrics, one scrape each, a "
              "log, or saved query results of Prometheus")
      .required();
  command.value("--out", args->out, "new file for the log, which kvcap validate --run reads");
  command.value("--every", args->every_s, "seconds between scrapes").with_default();
  command.value("--for", args->for_s, "seconds to observe; default: until Ctrl-C");
  command
      .value("--timeout", args->timeout_s,
             "seconds that a scrape or a query may take, from the connection to the last byte")
      .with_default();
  command.flag("--allow-redirects", args->allow_redirects, "follow the server to another host or port");
  command.flag("--history", args->history,
               "the source is a Prometheus server; read what it has stored about one engine");
  command.value("--last", args->last, "with --history: the time to look back from --end: 30min, 2h or 7d");
  command.value("--start", args->start, "with --history: the first time, such as 2026-01-31T09:05:00Z");
  command.value("--end", args->end, "with --history: the last time; default: now");
  command.value("--step", args->step,
                "with --history: time between two scrapes; default: 60s, or longer for more than 7 days");
  command.value("--match", args->match,
                "with --history: labels of the engine, such as '{job=\"vllm\",pod=\"llama-0\"}'");
  command.flag("--json", args->json, "print the summary as JSON");
  command.footer(
      "Ctrl-C ends the observation and prints the summary. An address without a path means /metrics.\n"
      "Afterwards, kvcap validate --run LOG --hardware H compares the simulator with the server.\n"
      "With --history, PROMETHEUS_TOKEN is sent as a bearer token if it is set.\n\n"
      "Example: kvcap observe scenarios/observed/vllm-metrics.txt");
  command.runs([args] { observe(*args); });
}

}  // namespace kvcap
