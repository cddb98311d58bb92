// `kvcap-calibrate profile`: measures the machine and fits a hardware profile to the measurements.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/check.h"
#include "calibration/sweeps/sweeps.h"
#include "spec/hardware_profile.h"

namespace kvcap::calibration {

struct ProfileOptions {
  std::filesystem::path out;
  std::optional<std::filesystem::path> ssd;  // a folder on the SSD to measure
  bool quick = false;
  bool check = true;               // compare every operation with a reference first
  std::optional<double> budget_s;  // of one call; the journal lets the next one continue
  Budgets budgets;
};

struct Measurements {
  DeviceInfo info;
  DeviceState before, after;
  double device_copy_bytes_per_s = 0;  // bytes read plus bytes written
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
  std::optional<AllReduceSweep> all_reduces;           // given with several devices and a collective library
  std::optional<std::pair<double, double>> peer_link;  // given with several devices and no library
  std::vector<CheckedOperation> checks;
  std::vector<std::string> failures;  // points that could not be measured, and why
  double median_spread = 0;           // median of the samples' spreads
  double median_half_width = 0;       // median of the half widths of the medians' intervals
  std::string dates;                  // when the samples were measured
  int64_t resumed_points = 0;
};

// A hardware profile and, per object of it, notes that readers of its numbers need.
struct NotedProfile {
  HardwareProfile profile;
  std::vector<std::string> notes, gpu_notes, gemm_notes, attention_notes, elementwise_notes, pcie_notes,
      nvlink_notes, dram_notes, ssd_notes;
};

// Median spread above which the profile notes that the machine was not quiet.
inline constexpr double kQuietSpread = 0.05;

// Measures the machine and writes the journal OUT.measurements.jsonl next to the profile. Throws InputError
// before any measurement if the SSD folder cannot be used, and BudgetSpent with what is left to measure.
Measurements measure_machine(Backend& backend, const ProfileOptions& options);

// Fits a profile to the measurements. Throws InputError if a required part has too few points.
NotedProfile make_profile(const Measurements& measured, const std::string& name);

std::string profile_json(const NotedProfile& profile);

// Measures, fits and writes the profile: to a temporary file that is then renamed, so that no partial profile
// is ever visible.
NotedProfile write_profile(Backend& backend, const ProfileOptions& options);

}  // namespace kvcap::calibration
