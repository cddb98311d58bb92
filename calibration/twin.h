// `kvcap-calibrate twin`: performs restorations on this machine, case by case, and writes their times. `kvcap
// validate --suite twin` predicts the same cases from the machine's profile.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/cases/run.h"

namespace kvcap::calibration {

struct TwinPlan {
  std::vector<ModelSpec> models;
  std::vector<TwinCase> cases;
  int64_t repeats = 5;  // per case, interleaved: all cases once, then all again
  // Performs every case once more before its first repeat, because a GPU loads kernels at their first use.
  bool warms_up = false;
};

// Returns the plan for this kind of machine: toy sizes if `quick`; SSD cases only if `with_ssd`.
TwinPlan twin_plan(const DeviceInfo& info, bool quick, bool with_ssd);

std::string id_of(const TwinCase& one);

struct TwinOptionsOfRun {
  std::filesystem::path out;
  std::optional<std::filesystem::path> ssd;
  bool quick = false;
  std::optional<double> budget_s;  // of one call; the journal lets the next one continue
};

struct TwinTable {
  TwinPlan plan;
  DeviceInfo info;
  std::optional<DiskInfo> disk;
  // Mean TTFT of a case's requests in seconds, by case in the plan's order and by repeat.
  std::vector<std::vector<double>> mean_ttft_s;
  std::vector<std::string> failures;  // by case: why it failed; empty if it did not
  int64_t resumed = 0;                // repeats of an earlier run
  std::string dates;                  // when the repeats were measured

  int64_t failed() const {
    return std::ssize(failures) - std::count(failures.begin(), failures.end(), std::string());
  }
};

// Returns a line for each failed case: the case and the reason.
std::vector<std::string> failures_of(const TwinTable& table);

// Performs the plan and writes the journal OUT.measurements.jsonl. A case that fails costs its row, not the
// run. Throws InputError before the first case if a folder cannot be used, BackendError if the device
// runs nothing more, and BudgetSpent with what is left.
TwinTable perform_twin(Backend& backend, const TwinOptionsOfRun& options);

// Returns the table as JSON, schema "kvcap.twin/1", without the failed cases, which its notes name. `name` is
// the name of the profile that predicts the cases.
std::string twin_json(const TwinTable& table, const std::string& name);

// Performs the plan and writes the table: to a temporary file that is then renamed.
TwinTable write_twin(Backend& backend, const TwinOptionsOfRun& options);

}  // namespace kvcap::calibration
