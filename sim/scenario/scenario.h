// Scenario: all inputs of one simulation as plain values, namely the options of all modules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fidelity.h"
#include "base/text/names.h"
#include "base/tier.h"
#include "engine/options.h"
#include "fleet/options.h"
#include "policy/options.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"
#include "workload/options.h"

namespace kvcap {

// Targets that define goodput; absent targets are ignored.
struct SloOptions {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
};

// Billed size of a tier whose size is not set: the profile's capacity, or the bytes that the run fills.
enum class StorageBilled : uint8_t { provisioned, filled };
inline constexpr std::string_view kStorageBilledNames[] = {"provisioned", "filled"};
constexpr Names names_of(StorageBilled) { return kStorageBilledNames; }

// What is billed, and the source of prices.
struct BillingOptions {
  StorageBilled storage = StorageBilled::filled;
  // Names of the tiers whose hardware has the profile's size, as resolved scenarios state them: "dram,ssd".
  // Absent: the tiers whose hardware comes from a profile in the catalogue or a file.
  std::optional<std::string> unsized_tiers;
  bool whole_servers = false;  // whole servers of hardware.gpu.per_server GPUs are billed
  std::string prices;          // file of the user's prices (kvcap.prices/1); cleared after loading
};

// A price that the run uses, with the file or option that sets it.
struct PriceSource {
  std::string field;  // "gpu.price_usd_per_hour"
  double value = 0;
  std::string from;  // "quote.json: hardware.h100-sxm.gpu.price_usd_per_hour"
  std::string date;  // "2026-03"; empty: not known
};

struct Scenario {
  std::string name;
  // Version that wrote the file; resolved_json states the running version.
  std::optional<std::string> kvcap_version;
  ModelSpec model;
  HardwareProfile hardware;
  ServingOptions serving;
  FleetOptions fleet;
  WorkloadOptions workload;
  PolicyOptions policy;
  SloOptions slo;
  BillingOptions billing;
  Fidelity fidelity = Fidelity::request;
  int64_t replications = 1;  // runs with seeds seed .. seed + replications - 1
  uint64_t seed = 1;
  std::vector<std::string> notes;          // of all objects of the file, in order
  std::string resolved_json;               // scenario with all defaults filled in, for the result
  std::string file;                        // name in messages; empty: no file
  std::string prices_file;                 // source of hardware prices; empty: none
  std::vector<PriceSource> price_sources;  // all prices above 0 of the hardware's parts
  std::vector<Tier> profile_sized;         // host tiers whose hardware has the size of its profile
};

}  // namespace kvcap
