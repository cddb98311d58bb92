#include "observe/scrape.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/joined.h"
#include "observe/history.h"
#include "observe/prometheus.h"

namespace kvcap {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kMostLogBytes = 2'000'000'000;   // a log of several weeks
constexpr int64_t kMostAnswerBytes = 200'000'000;  // JSON takes many times its size in memory

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Sleeps in short steps, so that `ends` takes effect quickly.
void wait_until(Clock::time_point start, double at_s, const std::function<bool()>& ends) {
  constexpr double kStep_s = 0.05;
  while (!(ends && ends())) {
    const double left_s = at_s - seconds_since(start);
    if (left_s <= 0) return;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(left_s, kStep_s)));
  }
}

Snapshot scrape_once(const HttpAddress& server, const std::string& address, const HttpOptions& options) {
  const double before_s = unix_now_s();
  const HttpAnswer answer = http_get(server, options);
  if (!answer.error.empty()) throw InputError(address + ": " + answer.error);
  // The values were read at some time between request and answer; uses the middle.
  return snapshot_of(parse_metrics(answer.body, address), (before_s + unix_now_s()) / 2, address);
}

double written_s(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return unix_now_s();
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

}  // namespace

double unix_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ObservedLog scrape(const std::string& address, const ScrapeOptions& options) {
  const HttpAddress server = parse_http_address(address);
  const Clock::time_point start = Clock::now();
  const auto write = [&](const std::string& line) {
    if (options.write_line) options.write_line(line);
  };
  ObservedLog log{.address = address, .every_s = options.every_s};
  log.samples.push_back(scrape_once(server, address, options.http));
  const Snapshot first = log.samples.front();
  write(log_header(address, options.every_s, first) + log_line(first));
  double next_s = options.every_s;
  while (options.for_s == 0 || next_s <= options.for_s * (1 + 1e-9)) {
    wait_until(start, next_s, options.ends);
    if (options.ends && options.ends()) break;
    try {
      Snapshot one = scrape_once(server, address, options.http);
      if (one.engine != first.engine)
        throw InputError(address + ": the engine is not the same as in the first scrape");
      log.samples.push_back(std::move(one));
      write(log_line(log.samples.back()));
    } catch (const InputError& error) {
      log.failures.push_back({unix_now_s(), error.what()});
      write(log_line(log.failures.back()));
    }
    // Skips the scrapes whose times passed during a slow answer.
    next_s = options.every_s * std::max(std::floor(seconds_since(start) / options.every_s) + 1,
                                        std::round(next_s / options.every_s) + 1);
  }
  put_in_order(log, address);
  return log;
}

ObservedLog read_scrapes(const std::vector<std::string>& files) {
  ObservedLog log;
  QueryAnswer answers;
  for (const std::string& file : files) {
    const std::string text = read_file(file, kMostLogBytes);
    if (is_observed_log(text)) {
      if (files.size() > 1) throw InputError(file + ": is the log of an observation; give this file alone");
      return parse_observed_log(text, file);
    }
    if (is_query_answer(text)) {
      if (std::ssize(text) > kMostAnswerBytes)
        throw InputError(file + ": found an answer of more than 200 MB, allowed: one file per metric or day");
      add_query_answer(answers, text, file);
      continue;
    }
    log.address += (log.address.empty() ? "" : " ") + file;
    const double unix_s = written_s(file);
    log.samples.push_back(snapshot_of(parse_metrics(text, file), unix_s, file));
    if (log.samples.back().unix_s == unix_s && files.size() > 1 && log.notes.empty()) {
      log.notes.emplace_back("a scrape without a timestamp has the modification time of its file");
    }
  }
  if (log.samples.empty()) return history_of(std::move(answers), joined(files, " "));
  if (!answers.series.empty())
    throw InputError("found scrapes and answers of Prometheus, allowed: files of one kind");
  put_in_order(log, files.front());
  return log;
}

}  // namespace kvcap
