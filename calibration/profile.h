// kvcap-calibrate profile: everything that is measured of a machine, and the hardware profile that follows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/check.h"
#include "calibration/sweeps.h"
#include "spec/hardware_profile.h"

namespace kvcap::calibration {

struct ProfileOptions {
  std::filesystem::path out;
  std::optional<std::filesystem::path> ssd;  // a folder on the device that is measured
  bool quick = false;
  Budgets budgets;
};

struct Measurements {
  DeviceInfo info;
  DeviceState before, after;
  double device_copy_bytes_per_s = 0;  // read and written
  GemmSweep gemms;
  std::vector<AttentionTime> attention;
  std::vector<std::string> attention_notes;
  std::vector<ElementwiseTime> elementwise;
  std::vector<std::string> elementwise_notes;
  Launches launches;
  std::vector<CopyTime> copies;
  std::vector<std::string> copy_notes;
  HostMemory host_memory;
  std::optional<DiskSweep> disk;
  std::optional<AllReduceSweep> all_reduces;           // with several devices and a library for it
  std::optional<std::pair<double, double>> peer_link;  // with several devices and none
  std::vector<CheckedOperation> checks;
  double median_spread = 0;  // of all samples
  int64_t resumed_points = 0;
};

// A profile and, for each of its objects, what a reader of its numbers must know.
struct NotedProfile {
  HardwareProfile profile;
  std::vector<std::string> notes, gpu_notes, gemm_notes, attention_notes, elementwise_notes, pcie_notes,
      nvlink_notes, dram_notes, ssd_notes;
};

// Above this the machine was not quiet, and the profile says so.
inline constexpr double kQuietSpread = 0.05;

// Measures, keeping the journal OUT.measurements.jsonl beside the profile. Throws InputError for an SSD
// folder that cannot be used, before anything is measured.
Measurements measure_machine(Backend& backend, const ProfileOptions& options);

// Throws InputError where too little was measured to fit a part that every profile has.
NotedProfile make_profile(const Measurements& measured, const std::string& name);

std::string profile_json(const NotedProfile& profile);

// All of the above, and the file: written aside and renamed, so that no half profile exists.
NotedProfile write_profile(Backend& backend, const ProfileOptions& options);

}  // namespace kvcap::calibration
