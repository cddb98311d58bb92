#include "plan/sweep/run_sweep.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/input_error.h"
#include "base/memory.h"
#include "base/text/progress.h"
#include "metrics/recorder.h"
#include "metrics/serialize.h"
#include "plan/replicate.h"
#include "plan/sweep/point.h"
#include "plan/sweep/results_file.h"
#include "plan/sweep/row_writer.h"
#include "plan/sweep/sources.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "workload/workload.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

// A lock that allows only one process to write a results file. The kernel releases the lock when the process
// ends, for whatever reason. Workers do not inherit the lock.
class WriterLock {
 public:
  explicit WriterLock(const std::string& results_path) : path_(results_path + ".lock") {
    // The previous holder may have removed the lock file between our open() and the lock.
    do {
      if (file_ >= 0) close(file_);
      lock(results_path);
    } while (!is_the_file());
  }
  ~WriterLock() {
    unlink(path_.c_str());
    close(file_);
  }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  void lock(const std::string& results_path) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_);
    struct stat found {};
    if (fstat(file_, &found) == 0 && (!S_ISREG(found.st_mode) || found.st_size > 0)) {
      close(file_);
      throw InputError(
          path_ + ": not a lock file of kvcap, because it is not empty; remove it or choose another folder");
    }
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fcntl(file_, F_SETLK, &whole) == 0) return;
    const int code = errno;
    close(file_);
    if (code == EACCES || code == EAGAIN)
      throw InputError(results_path + ": is being written by another kvcap sweep");
    throw std::system_error(code, std::generic_category(), path_);
  }
  // True iff the locked file is still the one at the path.
  bool is_the_file() const {
    struct stat locked {
    }, named{};
    return fstat(file_, &locked) == 0 && stat(path_.c_str(), &named) == 0 && locked.st_dev == named.st_dev &&
           locked.st_ino == named.st_ino;
  }

  std::string path_;
  int file_ = -1;
};

void set_swept(ResultsFile& file, const CheckedSweep& checked, const std::vector<std::size_t>& points) {
  file.set_swept(checked.sweep.paths(), points.size(), [&](std::size_t i) {
    return ResultsFile::SweptPoint{points[i], checked.keys[points[i]], checked.sweep.values(points[i])};
  });
}

std::vector<std::size_t> all_points(const CheckedSweep& checked) {
  std::vector<std::size_t> points(checked.keys.size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = i;
  return points;
}

// Returns the points of a shard: for each of its distinct keys, the first point with that key.
std::vector<std::size_t> firsts_of(const CheckedSweep& checked, const Shard& shard) {
  std::vector<std::size_t> mine;
  for (std::size_t i = shard.index; i < checked.first.size(); i += shard.count)
    mine.push_back(checked.first[i]);
  return mine;
}

PointRow row_of(const std::string& key, RunResult result) {
  return {.key = key,
          .scenario_json = std::move(result.scenario_json),
          .metrics = std::move(result.metrics),
          .intervals = std::move(result.intervals),
          .notes = std::move(result.notes),
          .quality_note = std::move(result.quality_note)};
}

// The points to run, and their results so far.
class Runner {
 public:
  Runner(const CheckedSweep& checked, ResultsFile& file, const PointCache& cache, SweepSummary& summary)
      : checked_(checked), writer_(file), cache_(cache), summary_(summary) {}

  void run(const std::vector<std::size_t>& points, int at_once) {
    for (std::size_t point : points) {
      for (int32_t run = 0; run < checked_.runs[point]; ++run) jobs_.push_back({point, run});
    }
    for (std::size_t point : checked_.readers) sources_.read(source_of(checked_.sweep.scenario(point)));
    const auto start = std::chrono::steady_clock::now();
    while (!jobs_.empty()) {
      run_each_in_worker(
          jobs_.size(), [this](std::size_t job, std::atomic<int64_t>&) { return simulated(jobs_[job]); },
          [this](std::vector<JobOutcome> ended) { take(std::move(ended)); },
          {.at_once = at_once,
           .timeout_s = checked_.sweep.limits().timeout_s,
           .memory_bytes = checked_.sweep.limits().memory_bytes,
           .label = "sweeping",
           .remark = [this] { return remark(); },
           .name = [this](std::size_t job) { return name_of(jobs_[job]); }});
      jobs_ = std::exchange(longer_, {});
    }
    writer_.finish();
    summary_.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  struct Waiting {
    std::map<int32_t, RunResult> runs;  // key: replication, so that completion order does not matter
    int32_t ended = 0;
    PointRow row;  // row of the first failure
  };

  struct Job {
    std::size_t point = 0;
    int32_t run = 0;
    int64_t sessions = 0;  // sessions of a lengthened run; 0: as in the scenario
  };

  // Returns the scenario with all sessions of its file, because a longer run may need them.
  static Scenario source_of(Scenario scenario) {
    if (scenario.workload.run_length == RunLength::steady) scenario.workload.sessions.reset();
    return scenario;
  }

  std::string name_of(const Job& job) const {
    const uint64_t seed = checked_.sweep.scenario(job.point).seed + static_cast<uint64_t>(job.run);
    return "the simulation of point " + std::to_string(job.point + 1) + ", seed " + std::to_string(seed);
  }

  // Simulates the job; called in a worker.
  std::string simulated(const Job& job) const {
    Scenario scenario = checked_.sweep.scenario(job.point);
    scenario.seed += static_cast<uint64_t>(job.run);
    WorkloadOptions options = scenario.workload;
    if (job.sessions > 0) options.sessions = job.sessions;
    return serialize(without_curves(simulate(scenario, sources_.workload(source_of(scenario), options))));
  }

  // True iff the point needs runs that represent the steady state and this run does not. If so, schedules the
  // run again with twice the sessions, to start after all other runs have ended.
  bool is_made_longer(const Job& job, const RunResult& result) {
    const bool wanted = checked_.sweep.scenario(job.point).workload.run_length == RunLength::steady;
    if (!wanted || tells_the_long_run(result) || 2 * result.turn_count > kMostTurns) return false;
    longer_.push_back({job.point, job.run, 2 * result.session_count});
    return true;
  }

  void take(std::vector<JobOutcome> ended) {
    std::vector<PointRow> rows;
    for (JobOutcome& outcome : ended) {
      summary_.worker_cpu_s += outcome.cpu_s;
      const Job& job = jobs_[outcome.job];
      const std::size_t point = job.point;
      Waiting& waiting = waiting_[point];
      if (outcome.end == JobEnd::done) {
        RunResult result = deserialize(outcome.text);
        if (is_made_longer(job, result)) continue;
        waiting.runs[job.run] = std::move(result);
      } else if (waiting.row.error.empty()) {
        waiting.row.status = outcome.end == JobEnd::timed_out ? PointStatus::timeout : PointStatus::failed;
        waiting.row.error = std::move(outcome.text);
        std::replace(waiting.row.error.begin(), waiting.row.error.end(), '\n', ' ');
      }
      if (++waiting.ended == checked_.runs[point]) {
        rows.push_back(row_of_ended(point, std::move(waiting)));
        waiting_.erase(point);
      }
    }
    writer_.put(std::move(rows));
  }

  PointRow row_of_ended(std::size_t point, Waiting ended) {
    const std::string& key = checked_.keys[point];
    PointRow& row = ended.row;
    if (row.status != PointStatus::ok) {
      ++(row.status == PointStatus::timeout ? summary_.timed_out : summary_.failed);
      if (summary_.first_error.empty()) summary_.first_error = row.error;
      row.key = key;
      row.scenario_json = checked_.sweep.scenario(point).resolved_json;
      return std::move(row);
    }
    ++summary_.ok;
    std::vector<RunResult> runs;
    for (auto& [number, run] : ended.runs) runs.push_back(std::move(run));
    RunResult result = combine_replications(std::move(runs));
    cache_.keep(key, result);
    return row_of(key, std::move(result));
  }

  std::string remark() const {
    std::string text;
    if (summary_.failed > 0) text += ", " + std::to_string(summary_.failed) + " failed";
    if (summary_.timed_out > 0) text += ", " + std::to_string(summary_.timed_out) + " timed out";
    return text;
  }

  const CheckedSweep& checked_;
  RowWriter writer_;
  const PointCache& cache_;
  SweepSummary& summary_;
  Sources sources_;
  std::vector<Job> jobs_, longer_;
  std::unordered_map<std::size_t, Waiting> waiting_;
};

}  // namespace

CheckedSweep check_sweep(const Sweep& sweep, int at_once) {
  constexpr double kBytesOfPoint = 200;  // its key, twice
  refuse_beyond_memory("points", static_cast<int64_t>(sweep.size()), kBytesOfPoint);
  CheckedSweep checked{.sweep = sweep, .keys = {}, .runs = {}, .first = {}, .readers = {}};
  PointKeys keys;
  std::set<std::string> known;
  std::map<std::string, std::size_t> sources;  // a point that reads the file
  std::optional<Progress> progress("checking");
  for (std::size_t point = 0; point < sweep.size(); ++point) {
    progress->show(static_cast<double>(point) / static_cast<double>(sweep.size()));
    const Scenario scenario = sweep.scenario(point);
    checked.keys.push_back(keys.key(scenario));
    checked.runs.push_back(static_cast<int32_t>(scenario.replications));
    if (known.insert(checked.keys.back()).second) checked.first.push_back(point);
    const SourceOptions& source = scenario.workload.source;
    if (!source.path.empty()) {
      sources.try_emplace(source.path + "\n" + source.token_counts + "\n" + source.hash_ids, point);
    }
  }
  progress.reset();
  std::vector<std::size_t>& readers = checked.readers;
  readers.reserve(sources.size());
  for (const auto& [files, point] : sources) readers.push_back(point);
  run_in_workers(readers.size(),
                 [&](std::size_t i, std::atomic<int64_t>&) -> std::string {
                   const Scenario scenario = sweep.scenario(readers[i]);
                   make_workload(scenario.workload, scenario.seed);
                   return {};
                 },
                 {.at_once = at_once, .label = "reading"});
  return checked;
}

SweepSummary run_sweep(const CheckedSweep& checked, const std::string& results_path,
                       const SweepOptions& options) {
  if (fs::exists(results_path) && !options.resume) {
    throw InputError(results_path + ": already exists; use --resume to complete it, or another --out");
  }
  const WriterLock lock(results_path);
  ResultsFile file(results_path);
  const PointCache cache(options.cache_folder);
  const std::vector<std::size_t> mine = firsts_of(checked, options.shard);
  std::set<std::string_view> my_keys;
  for (std::size_t point : mine) my_keys.insert(checked.keys[point]);
  std::vector<std::size_t> swept;
  for (std::size_t point = 0; point < checked.keys.size(); ++point) {
    if (my_keys.contains(checked.keys[point])) swept.push_back(point);
  }
  set_swept(file, checked, swept);

  SweepSummary summary{.points = swept.size(), .different = mine.size()};
  const std::map<std::string, PointStatus> ended = file.ended();
  const std::set<std::string_view> all_keys(checked.keys.begin(), checked.keys.end());
  for (const std::string& key : file.keys()) summary.strange += !all_keys.contains(key);
  std::vector<std::size_t> missing;
  std::vector<PointRow> found;
  for (std::size_t point : mine) {
    const std::string& key = checked.keys[point];
    const auto had = ended.find(key);
    RunResult result;
    if (had != ended.end() && had->second == PointStatus::ok) {
      ++summary.had;
    } else if (cache.find(key, result)) {
      ++summary.cached;
      found.push_back(row_of(key, std::move(result)));
    } else {
      missing.push_back(point);
    }
  }
  summary.ok = summary.had + summary.cached;
  if (!found.empty()) file.put(found);
  if (!missing.empty()) Runner(checked, file, cache, summary).run(missing, options.at_once);
  return summary;
}

std::vector<std::size_t> collect_shards(const CheckedSweep& checked, const std::vector<std::string>& shards,
                                        const std::string& results_path) {
  const WriterLock lock(results_path);
  ResultsFile file(results_path);
  set_swept(file, checked, all_points(checked));
  for (const std::string& shard : shards) file.take_from(shard);
  const std::map<std::string, PointStatus> ended = file.ended();
  std::vector<std::size_t> missing;
  for (std::size_t point : checked.first) {
    if (!ended.contains(checked.keys[point])) missing.push_back(point);
  }
  return missing;
}

bool shard_has_ended(const CheckedSweep& checked, const Shard& shard, const std::string& results_path) {
  if (!fs::exists(results_path)) return false;
  const std::map<std::string, PointStatus> ended = ResultsFile(results_path).ended();
  for (std::size_t point : firsts_of(checked, shard)) {
    if (!ended.contains(checked.keys[point])) return false;
  }
  return true;
}

}  // namespace kvcap
