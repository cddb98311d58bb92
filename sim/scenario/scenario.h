// Scenario: everything one simulation depends on, as plain values: the sum of the modules' options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fidelity.h"
#include "base/text/names.h"
#include "base/tier.h"
#include "policy/options.h"
#include "serving/fleet_options.h"
#include "serving/options.h"
#include "spec/hardware_profile.h"
#include "spec/model_spec.h"
#include "workload/options.h"

namespace kvcap {

// Targets that define goodput; absent targets are not judged.
struct SloOptions {
  std::optional<double> ttft_ms;
  std::optional<double> tpot_ms;
};

// What of a tier is billed where nobody chose its size: all that the profile has, or what the run fills.
enum class StorageBilled : uint8_t { provisioned, filled };
inline constexpr std::string_view kStorageBilledNames[] = {"provisioned", "filled"};
constexpr Names names_of(StorageBilled) { return kStorageBilledNames; }

// What is paid for, of what the hardware profile has and at whose prices.
struct BillingOptions {
  StorageBilled storage = StorageBilled::provisioned;
  bool whole_servers = false;  // of hardware.gpu.per_server GPUs each, however few of them are used
  std::string prices;          // a file of the user's prices (kvcap.prices/1); loading takes them in
};

// A price that the run uses, and which file or option says so.
struct PriceSource {
  std::string field;  // "gpu.price_usd_per_hour"
  double value = 0;
  std::string from;  // "quote.json: hardware.h100-sxm.gpu.price_usd_per_hour"
};

struct Scenario {
  std::string name;
  std::optional<std::string> kvcap_version;  // that wrote the file; resolved_json has this program's
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
  std::vector<std::string> notes;          // of every object of the file, in order
  std::string resolved_json;               // the scenario with every default filled in, for the result
  std::string file;                        // as messages call it; empty where there is none
  std::string prices_file;                 // that hardware's prices are from; empty: none
  std::vector<PriceSource> price_sources;  // of the prices above 0 of the hardware's parts
  std::vector<Tier> unsized;  // tiers with the profile's size, which neither file nor --set has chosen
};

}  // namespace kvcap
