// kvcap-calibrate twin: restorations that are really performed on this machine, case by case, and what they
// took. `kvcap validate --suite twin` predicts the same cases from the machine's profile.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/case_run.h"

namespace kvcap::calibration {

struct TwinPlan {
  std::vector<ModelSpec> models;
  std::vector<TwinCase> cases;
  int64_t repeats = 5;  // of every case, interleaved: all cases once, then all again
  // Every case once more before its first repeat: a GPU loads its kernels at their first use.
  bool warms_up = false;
};

// What a machine of this kind performs: toy sizes when `quick`; SSD cases only `with_ssd`.
TwinPlan twin_plan(const DeviceInfo& info, bool quick, bool with_ssd);

std::string id_of(const TwinCase& one);

struct TwinOptionsOfRun {
  std::filesystem::path out;
  std::optional<std::filesystem::path> ssd;
  bool quick = false;
};

struct TwinTable {
  TwinPlan plan;
  DeviceInfo info;
  std::optional<DiskInfo> disk;
  // Mean TTFT of the requests of a case, each repeat; cases in the plan's order.
  std::vector<std::vector<double>> mean_ttft_s;
  int64_t resumed = 0;  // repeats that an earlier run performed
};

// Performs the plan, keeping the journal OUT.measurements.jsonl. Throws InputError for a folder that cannot
// be used, before anything is performed.
TwinTable perform_twin(Backend& backend, const TwinOptionsOfRun& options);

// "schema": "kvcap.twin/1". `name` is also that of the profile that the cases are predicted with.
std::string twin_json(const TwinTable& table, const std::string& name);

// Both, and the file: written aside and renamed.
TwinTable write_twin(Backend& backend, const TwinOptionsOfRun& options);

}  // namespace kvcap::calibration
