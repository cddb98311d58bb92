// kvcap sweep: simulates every point of a grid, a list or a sample and writes the results to one file.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/model_options.h"
#include "commands/output.h"
#include "plan/sweep/database_file.h"
#include "plan/sweep/export.h"
#include "plan/sweep/run_sweep.h"
#include "plan/sweep/slurm.h"
#include "plan/workers.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

struct SweepArgs {
  std::string sweep_path;
  std::vector<std::string> overrides;
  std::string prices;
  std::string out;
  int jobs = 0;
  bool resume = false;
  std::string shard;
  std::string launcher = "local";
  std::string cache;
  bool collect = false;
  bool csv = false;
  bool json = false;
};

std::string count(std::size_t number) { return format_count(static_cast<int64_t>(number)); }

// Parses "3/8" as shard 3 of 8; shards are counted from 0.
Shard shard_of(const std::string& text) {
  Shard shard;
  const char* end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto last = std::from_chars(index.ptr + 1, end, shard.count);
    if (last.ec == std::errc() && last.ptr == end && shard.index < shard.count) return shard;
  }
  throw InputError("--shard: found \"" + text + "\", allowed: I/N with I from 0 to N - 1, e.g. 0/8");
}

std::string shard_path(const std::string& out, const Shard& shard) {
  return out + "/shards/" + std::to_string(shard.index) + "-of-" + std::to_string(shard.count) + ".sqlite";
}

std::vector<std::string> shard_files(const std::string& out) {
  std::vector<std::string> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(out + "/shards", none)) {
    if (entry.path().extension() == ".sqlite") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void say(const SweepSummary& summary, int at_once) {
  std::string line = "sweep: " + count(summary.points) + " points";
  if (summary.different < summary.points) line += ", " + count(summary.different) + " different";
  line += ": " + count(summary.ok) + " ok";
  if (summary.had > 0) line += " (" + count(summary.had) + " before)";
  if (summary.cached > 0) line += " (" + count(summary.cached) + " cached)";
  if (summary.failed > 0) line += ", " + count(summary.failed) + " failed";
  if (summary.timed_out > 0) line += ", " + count(summary.timed_out) + " timed out";
  if (summary.strange > 0)
    line += "; the file also has " + format_count(static_cast<int64_t>(summary.strange), "point") +
            " of another sweep";
  if (summary.worker_cpu_s > 0) {
    char text[80];
    std::snprintf(text, sizeof text, "; %.1f s, %d workers busy %.0f %%", summary.wall_s, at_once,
                  100 * summary.worker_cpu_s / (at_once * summary.wall_s));
    line += text;
  }
  tell(line);
  if (!summary.first_error.empty()) tell("sweep: the first failure: " + summary.first_error);
}

void collect(const CheckedSweep& checked, const SweepArgs& args, const std::string& results) {
  const std::vector<std::string> shards = shard_files(args.out);
  const std::vector<std::size_t> missing = collect_shards(checked, shards, results);
  tell("sweep: " + count(checked.first.size() - missing.size()) + " of " + count(checked.first.size()) +
       " different points collected from " + count(shards.size()) + " shards");
  if (!missing.empty()) {
    throw CheckFailed(count(missing.size()) + " points are missing, the first is point " +
                      std::to_string(missing.front()) +
                      "; run their shards again with --resume, or all of them with --resume alone");
  }
}

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

void launch_on_slurm(const CheckedSweep& checked, const SweepArgs& args) {
  if (!args.resume && !shard_files(args.out).empty()) {
    throw InputError(args.out + "/shards: already exists; use --resume to complete it, or another --out");
  }
  constexpr std::size_t kTasks = 16;
  SlurmArray array;
  array.shards = std::min(args.jobs > 0 ? static_cast<std::size_t>(args.jobs) : kTasks, checked.first.size());
  array.folder = absolute(args.out) + "/slurm";
  array.arguments = {"sweep", absolute(args.sweep_path), "--out", absolute(args.out), "--resume"};
  for (const std::string& one : args.overrides) array.arguments.insert(array.arguments.end(), {"--set", one});
  if (!args.prices.empty())
    array.arguments.insert(array.arguments.end(), {"--prices", absolute(args.prices)});
  if (!args.cache.empty()) array.arguments.insert(array.arguments.end(), {"--cache", absolute(args.cache)});
  const MadeFolders of_slurm = prepare_folder(array.folder);
  const std::vector<std::string> inputs = {args.sweep_path};
  refuse_to_replace("--out", array.folder + "/array.sh", inputs, "#!/bin/sh\nexec '");
  const MadeFolders of_shards = prepare_folder(args.out + "/shards");
  const std::vector<std::size_t> missing = run_on_slurm(array, [&](std::size_t index) {
    const Shard shard{index, array.shards};
    return shard_has_ended(checked, shard, shard_path(args.out, shard));
  });
  if (missing.empty()) return;
  throw CheckFailed("shards " + slurm_list(missing) + " of " + std::to_string(array.shards) +
                    " have not ended after " + std::to_string(array.at_most) + " arrays; " + array.folder +
                    " has their logs");
}

void sweep(const SweepArgs& args) {
  if (args.csv && args.json) throw InputError("sweep: found --csv and --json, allowed: one of them");
  if (args.collect && !args.shard.empty())
    throw InputError("sweep: found --collect and --shard, allowed: one of them");
  const bool slurm = args.launcher == "slurm";
  if (slurm && !args.shard.empty())
    throw InputError("sweep: found --launcher slurm and --shard, allowed: one of them");
  if (slurm && !args.collect && (args.csv || args.json))
    throw InputError("sweep: found --csv or --json with --launcher slurm, allowed: with --collect");
  const Shard shard = args.shard.empty() ? Shard{} : shard_of(args.shard);
  const Sweep asked = load_sweep(args.sweep_path, with_prices(args.prices, args.overrides));
  const CheckedSweep checked = check_sweep(asked, slurm ? 0 : args.jobs);
  const MadeFolders made = prepare_folder(args.out);
  const MadeFolders cache = prepare_folder(args.cache, "--cache");
  std::string results = args.out + "/results.sqlite";
  refuse_link_to_nothing("--out", results);
  std::size_t bad = 0;  // points that failed
  if (slurm) launch_on_slurm(checked, args);
  if (args.collect) {
    collect(checked, args, results);
  } else if (!slurm) {
    const MadeFolders shards = prepare_folder(args.shard.empty() ? "" : args.out + "/shards");
    if (!args.shard.empty()) results = shard_path(args.out, shard);
    const int at_once = args.jobs > 0 ? args.jobs : core_count();
    if (journal_mode_at(results) == JournalMode::rollback) {
      tell("sweep: " + args.out +
           " is not on a local file system: rows are written without a write-ahead log, which is slower");
    }
    const SweepSummary summary =
        run_sweep(checked, results,
                  {.at_once = at_once, .resume = args.resume, .shard = shard, .cache_folder = args.cache});
    say(summary, at_once);
    bad = summary.failed + summary.timed_out;
  }
  if (args.csv) export_csv(ResultsFile(results), std::cout);
  if (args.json) export_json(ResultsFile(results), std::cout);
  if (bad > 0) {
    std::cout.flush();
    throw CheckFailed(format_count(static_cast<int64_t>(bad), "point") +
                      " without a result: the rows say why; --resume tries again");
  }
}

}  // namespace

void add_sweep(CLI::App& app) {
  auto args = std::make_shared<SweepArgs>();
  Command command(app, "sweep", "simulate every point of a grid, a list or a sample into one file");
  command.value("sweep", args->sweep_path, "sweep file (JSON)").required();
  command.repeated("--set", args->overrides,
                   "set a field of every point: path=value, e.g. workload.sessions=200");
  declare_model_options(command);
  command.value("--prices", args->prices, "price file (kvcap.prices/1), in place of the profiles' prices");
  command.value("--out", args->out, "folder for results.sqlite, whose view results has one row per point")
      .required();
  command
      .value("--jobs", args->jobs,
             "simulations at once (default: one per core); with --launcher slurm: array tasks (default: 16)")
      .within(1, 4096);
  command.flag("--resume", args->resume, "complete an existing file: run the missing and failed points");
  command.value("--shard", args->shard, "only part I (from 0) of N, into OUT/shards: I/N");
  command
      .value("--launcher", args->launcher,
             "local: workers on this machine; slurm: a job array of shards; waits for it to end")
      .one_of({"local", "slurm"});
  command.flag("--collect", args->collect,
               "merge OUT/shards into OUT/results.sqlite; runs no simulations unless --launcher is given");
  command.value("--cache", args->cache, "folder of finished points that sweeps share");
  command.flag("--csv", args->csv, "then print the results as CSV");
  command.flag("--json", args->json, "then print the results as JSON");
  command.footer("Example: kvcap sweep scenarios/sweeps/ssds.json --out build/ssds --csv > ssds.csv");
  command.runs([args] { sweep(*args); });
}

}  // namespace kvcap
