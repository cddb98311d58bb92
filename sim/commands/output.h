// What run and compare share: the scenario in one line, and the folder of --out.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "metrics/result.h"
#include "scenario/scenario.h"

namespace kvcap {

// "chat-7b   llama-2-7b on 1x A100-40G SXM4 (paper)   1,000 sessions, 5,540 turns   seed 1, 5 replications"
std::string scenario_line(const Scenario& scenario, const RunResult& result);

// What --prices FILE is short for, before what --set says; empty: nothing is asked for. Throws InputError for
// what can be read only once.
std::vector<std::string> with_prices(const std::string& prices, std::vector<std::string> overrides);

// The files that the scenario was read from and names, for refuse_to_replace().
std::vector<std::string> files_of(const Scenario& scenario);

// Throws InputError where add_run_files() would write over a file of `inputs`, or one that kvcap did not
// write.
void refuse_to_replace_run(const std::string& folder, const std::vector<std::string>& inputs);

// Folders that a command has made: those that are still empty at its end go again.
class MadeFolders {
 public:
  MadeFolders() = default;
  explicit MadeFolders(std::vector<std::filesystem::path> made) : made_(std::move(made)) {}
  MadeFolders(MadeFolders&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  MadeFolders& operator=(MadeFolders&&) = delete;
  ~MadeFolders();

 private:
  std::vector<std::filesystem::path> made_;  // the innermost first
};

// Makes the folder of an option, if one is given, before anything runs. Throws InputError when nothing can be
// written there, and for "/".
[[nodiscard]] MadeFolders prepare_folder(const std::string& folder, const std::string& option = "--out");

// Throws InputError for --resume without --out.
void refuse_resume_without_folder(const std::string& command, bool resume, const std::string& out);

// The files of add_run_files().
std::vector<std::filesystem::path> files_of_run(const std::string& folder);

// Makes the folder and adds result.json and run.log of one run, and requests.csv where the result has its
// turns.
void add_run_files(const std::string& folder, const std::string& line, const RunResult& result,
                   NewFiles& files);

}  // namespace kvcap
