// Output that several commands share: the scenario in one line, and the files and folders of --out.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "metrics/result.h"
#include "scenario/scenario.h"

namespace kvcap {

// Returns the scenario in one line: "chat-7b   llama-2-7b on 1x A100-40G SXM4 (paper)   1,000 sessions, 5,540
// turns   seed 1, 5 replications".
std::string scenario_line(const Scenario& scenario, const RunResult& result);

// Returns `overrides`, preceded by the override for --prices FILE unless `prices` is empty. Throws InputError
// for a file that can be read only once, such as a pipe.
std::vector<std::string> with_prices(const std::string& prices, std::vector<std::string> overrides);

// Returns the files that the scenario was read from and refers to, for refuse_to_replace().
std::vector<std::string> files_of(const Scenario& scenario);

// Throws InputError if add_run_files() would replace a file of `inputs`, or a file that kvcap did not write.
void refuse_to_replace_run(const std::string& folder, const std::vector<std::string>& inputs);

// The folders that a command created. The destructor removes those that are still empty.
class MadeFolders {
 public:
  MadeFolders() = default;
  explicit MadeFolders(std::vector<std::filesystem::path> made) : made_(std::move(made)) {}
  MadeFolders(MadeFolders&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  MadeFolders& operator=(MadeFolders&&) = delete;
  ~MadeFolders();

 private:
  std::vector<std::filesystem::path> made_;  // innermost first
};

// Creates the folder that an option names, if it names one, before anything runs. Throws InputError for "/"
// and for a folder that cannot be written.
[[nodiscard]] MadeFolders prepare_folder(const std::string& folder, const std::string& option = "--out");

// Runs a command. If Ctrl-C interrupts it and the folder `out` has finished runs, the message names --resume.
void run_resumable(const std::string& out, const std::function<void()>& run);
// Throws InputError for --resume without --out.
void refuse_resume_without_folder(const std::string& command, bool resume, const std::string& out);

// Returns the paths of the files that add_run_files() writes.
std::vector<std::filesystem::path> files_of_run(const std::string& folder);

// If one of the runs was too short to tell whether the load is served, prints to stderr how long runs with
// kLongerRun times the sessions would take. `wall_s`: the time that these runs took together.
void tell_longer_run(const std::vector<RunResult>& results, double wall_s);

// Creates the folder and adds one run's result.json and run.log to `files`, and its requests.csv if the
// result contains the turns.
void add_run_files(const std::string& folder, const std::string& line, const RunResult& result,
                   NewFiles& files);

// Returns the line above the results of an interrupted command: how many seeds had finished at Ctrl-C.
std::string finished_text(std::size_t finished, int64_t replications);

inline constexpr const char* kExplainHelp =
    "also explain the answer: bottlenecks, costs, policies, notes and assumptions";

}  // namespace kvcap
