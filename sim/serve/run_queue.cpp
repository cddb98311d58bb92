#include "serve/run_queue.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/utf8.h"
#include "serve/child.h"
#include "serve/command.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kReport = "report.html";
constexpr int64_t kMostReportBytes = 200'000'000;
constexpr std::size_t kMostTextBytes = 1'000'000, kMostFinished = 2'000;
constexpr std::string_view kStates[] = {"waiting", "running", "done", "failed", "cancelled"};

std::string_view state_name(RunState state) { return kStates[static_cast<std::size_t>(state)]; }

Json summary_json(const QueuedRun& run) {
  return {{"id", run.id}, {"command", command_text(run.words)}, {"state", state_name(run.state)}};
}

void append_bounded(std::string& to, std::string_view text) {
  to.append(text.substr(0, kMostTextBytes - std::min(to.size(), kMostTextBytes)));
}

// Assembles lines from texts that may begin and end anywhere, and passes each complete line to `take`.
class Lines {
 public:
  explicit Lines(std::function<void(const std::string&)> take) : take_(std::move(take)) {}
  void add(std::string_view text) {
    append_bounded(begun_, text);
    for (std::size_t end; (end = begun_.find('\n')) != std::string::npos; begun_.erase(0, end + 1))
      take_(begun_.substr(0, end));
    if (begun_.size() == kMostTextBytes) begun_.clear();
  }

 private:
  std::function<void(const std::string&)> take_;
  std::string begun_;
};

bool has_ended(const QueuedRun& run) {
  return run.state != RunState::waiting && run.state != RunState::running;
}

}  // namespace

RunQueue::RunQueue(RunQueueOptions options) : options_(std::move(options)), worker_([this] { work(); }) {}

RunQueue::~RunQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

std::optional<int64_t> RunQueue::add(std::vector<std::string> words) {
  const std::lock_guard lock(mutex_);
  const auto waiting = std::count_if(runs_.begin(), runs_.end(),
                                     [](const QueuedRun& run) { return run.state == RunState::waiting; });
  if (static_cast<std::size_t>(waiting) >= options_.most_waiting) return std::nullopt;
  forget_oldest();
  // Skips the numbers of runs that an earlier session left in the same folder.
  const auto folder_of = [this](int64_t id) { return options_.folder / ("run-" + std::to_string(id)); };
  while (std::filesystem::exists(folder_of(next_))) ++next_;
  runs_.push_back({.id = next_, .words = std::move(words), .folder = folder_of(next_)});
  changed_.notify_all();
  return next_++;
}

bool RunQueue::cancel(int64_t id) {
  const std::lock_guard lock(mutex_);
  QueuedRun* run = find(id);
  if (!run || has_ended(*run)) return false;
  // A running run counts as cancelled only when its processes have ended.
  if (run->state == RunState::running) {
    cancelled_ = id;
  } else {
    run->state = RunState::cancelled;
  }
  return true;
}

std::string RunQueue::list_json() const {
  const std::lock_guard lock(mutex_);
  Json list = Json::array();
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) list.push_back(summary_json(*run));
  return list.dump();
}

std::string RunQueue::run_json(int64_t id) const {
  const std::lock_guard lock(mutex_);
  const QueuedRun* run = find(id);
  if (!run) return "";
  Json json = summary_json(*run);
  json["progress"] = run->progress;
  json["share"] = run->share;
  json["finished"] = Json::array();
  for (const std::string& one : run->finished) json["finished"].push_back(Json::parse(one));
  json["messages"] = valid_utf8(run->messages);
  json["answer"] = valid_utf8(run->answer);
  return json.dump();
}

std::optional<std::string> RunQueue::report(int64_t id) const {
  std::filesystem::path page;
  {
    const std::lock_guard lock(mutex_);
    const QueuedRun* run = find(id);
    if (!run || run->state != RunState::done) return std::nullopt;
    page = run->folder / kReport;
  }
  return read_file(page, kMostReportBytes);
}

void RunQueue::work() {
  while (true) {
    QueuedRun* next = nullptr;
    {
      std::unique_lock lock(mutex_);
      const auto find_next = [&] {
        const auto found = std::find_if(runs_.begin(), runs_.end(),
                                        [](const QueuedRun& run) { return run.state == RunState::waiting; });
        next = found == runs_.end() ? nullptr : &*found;
        return is_ending_ || next != nullptr;
      };
      changed_.wait(lock, find_next);
      if (is_ending_) return;
      next->state = RunState::running;
      cancelled_ = 0;
    }
    run(*next);
  }
}

// Runs the comparison, then writes the report of its results.
void RunQueue::run(QueuedRun& one) {
  Lines errors([&](const std::string& line) { take_error_line(one, line); });
  const ChildHooks hooks{.on_output =
                             [&](std::string_view text) {
                               const std::lock_guard lock(mutex_);
                               append_bounded(one.answer, text);
                             },
                         .on_errors = [&](std::string_view text) { errors.add(text); },
                         .is_stopped = [&] { return is_ending_ || cancelled_ == one.id; }};
  ChildEnd end;
  try {
    std::vector<std::string> words = one.words;
    words.insert(words.end(), {"--progress", "--out", one.folder.string()});
    end = run_child(options_.program, words, hooks);
    if (end.exit_code == 0) {
      const std::string title = command_text(one.words).substr(std::string("kvcap ").size());
      const std::vector<std::string> page = {
          "report", one.folder.string(), "-o", (one.folder / kReport).string(), "--title", title};
      end = run_child(options_.program, page, {.on_errors = hooks.on_errors, .is_stopped = hooks.is_stopped});
    }
  } catch (const std::system_error& error) {
    end.exit_code = 1;
    take_error_line(one, error.what());
  }
  std::error_code ignored;
  if (end.was_stopped) std::filesystem::remove_all(one.folder, ignored);
  const std::lock_guard lock(mutex_);
  one.state = end.was_stopped ? RunState::cancelled : end.exit_code == 0 ? RunState::done : RunState::failed;
}

void RunQueue::take_error_line(QueuedRun& one, const std::string& line) {
  const Json json = line.starts_with('{') ? Json::parse(line, nullptr, false) : Json();
  const std::lock_guard lock(mutex_);
  if (json.is_object() && json.contains("progress")) {
    one.progress = json.value("progress", "");
    one.share = json.value("share", 0.0);
  } else if (json.is_object() && json.contains("finished")) {
    if (one.finished.size() < kMostFinished) one.finished.push_back(line);
  } else {
    append_bounded(one.messages, line + "\n");
  }
}

void RunQueue::forget_oldest() {
  while (runs_.size() >= options_.most_kept + options_.most_waiting && has_ended(runs_.front()))
    runs_.pop_front();
}

QueuedRun* RunQueue::find(int64_t id) { return const_cast<QueuedRun*>(std::as_const(*this).find(id)); }

const QueuedRun* RunQueue::find(int64_t id) const {
  const auto found =
      std::find_if(runs_.begin(), runs_.end(), [id](const QueuedRun& run) { return run.id == id; });
  return found == runs_.end() ? nullptr : &*found;
}

}  // namespace kvcap
