// Output shared by run and compare: the scenario in one line, and the folder of --out.
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

// "chat-7b   llama-2-7b on 1x A100-40G SXM4 (paper)   1,000 sessions, 5,540 turns   seed 1, 5 replications"
std::string scenario_line(const Scenario& scenario, const RunResult& result);

// Returns `overrides` after the override for --prices FILE; only `overrides` if `prices` is empty. Throws
// InputError for a file that can be read only once, such as a pipe.
std::vector<std::string> with_prices(const std::string& prices, std::vector<std::string> overrides);

// Returns the files that the scenario was read from and refers to, for refuse_to_replace().
std::vector<std::string> files_of(const Scenario& scenario);

// Throws InputError if add_run_files() would replace a file of `inputs`, or a file that kvcap did not write.
void refuse_to_replace_run(const std::string& folder, const std::vector<std::string>& inputs);

// Folders that a command created. The destructor removes those that are still empty.
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

// Creates the folder of an option, if given, before anything runs. Throws InputError for "/" and for a folder
// that cannot be written.
[[nodiscard]] MadeFolders prepare_folder(const std::string& folder, const std::string& option = "--out");

// Runs a command with this --out. Ctrl-C's message names --resume if the folder has finished runs.
void run_resumable(const std::string& out, const std::function<void()>& run);
// Throws InputError for --resume without --out.
void refuse_resume_without_folder(const std::string& command, bool resume, const std::string& out);

// Returns the paths of the files that add_run_files() writes.
std::vector<std::filesystem::path> files_of_run(const std::string& folder);

// Tells how long a longer run would take, if one of the runs, which took `wall_s` together, was too short.
void tell_longer_run(const std::vector<RunResult>& results, double wall_s);

// Creates the folder and adds result.json and run.log of one run, and requests.csv if the result has its
// turns.
void add_run_files(const std::string& folder, const std::string& line, const RunResult& result,
                   NewFiles& files);

// Returns the line above a table of fewer seeds than were asked for, because Ctrl-C ended them.
std::string finished_text(std::size_t finished, int64_t replications);

inline constexpr const char* kExplainHelp =
    "also print how the answer comes about: bottlenecks, costs, policies, notes and assumptions";

}  // namespace kvcap
