// The program in a bad world: small disks, little memory, no rights, and inputs that are made to hurt.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "unit/cli.h"

namespace kvcap {

class Faults : public Cli {
 protected:
  // ---- for start(), in the new process ----

  static void on_a_small_disk() {
    const rlimit limit{1000, 1000};  // bytes of a file
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  // Far below the four gigabytes that some inputs have.
  static void with_little_memory() {
#ifndef __SANITIZE_ADDRESS__
    const rlimit limit{1 << 30, 1 << 30};
    setrlimit(RLIMIT_AS, &limit);
#endif
  }
  // As everybody: root, who may read and write everything, loses that right.
  static void without_rights() {
    constexpr int kReadAndWriteAll = 1, kReadAll = 2;  // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    prctl(PR_CAPBSET_DROP, kReadAndWriteAll, 0, 0, 0);
    prctl(PR_CAPBSET_DROP, kReadAll, 0, 0, 0);
  }

  // ---- what has to hold ----

  // One line, and the exit code of bad input or a bad machine.
  static void expect_refused(const Outcome& outcome, const std::string& what) {
    EXPECT_EQ(outcome.exit_code, 2) << what << "\n" << outcome.err.substr(0, 500);
    EXPECT_TRUE(outcome.err.starts_with("kvcap: ")) << what << "\n" << outcome.err.substr(0, 500);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << what << "\n"
                                                                           << outcome.err.substr(0, 500);
    EXPECT_LT(outcome.err.size(), 4100U) << what;
  }
  Outcome refused(const std::vector<std::string>& arguments, void (*prepare)() = nullptr) const {
    const Outcome outcome = finish(start(arguments, prepare));
    std::string what;
    for (const std::string& argument : arguments) what += argument.substr(0, 100) + " ";
    expect_refused(outcome, what);
    return outcome;
  }
  // Names and contents of all files of a folder.
  std::map<std::string, std::string> files_of(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(folder))) {
      if (entry.is_regular_file()) files[entry.path().string()] = read_file(entry.path());
    }
    return files;
  }
};

}  // namespace kvcap
