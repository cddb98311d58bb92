// Scales a profile to a share of its server: DRAM capacity and SSDs in proportion to the GPUs. If only the
// profile sets the number of GPUs, the share is the smallest one that fits one engine and its tiers. DRAM
// bandwidth is not divided, assuming that the other GPUs do not use it; a note states this.
#include <algorithm>
#include <cmath>

#include "base/tier.h"
#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

constexpr double kMaxBytes = 1e18;

// Returns the value at hardware.PART.KEY; null if there is none.
Json* find_in(Json& hardware, std::string_view part, const char* key) {
  const auto object = hardware.find(part);
  if (object == hardware.end() || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  return found == object->end() || found->is_null() ? nullptr : &*found;
}

// Returns the amount at hardware.PART.KEY; null if it is missing or not a number from `least` to `most`.
// Invalid numbers are reported later, when the fields are read.
Json* amount_at(Json& hardware, std::string_view part, const char* key, double least, double most) {
  Json* found = find_in(hardware, part, key);
  return found && found->is_number() && *found >= least && *found <= most ? found : nullptr;
}

// Returns "1 SSD", "2 SSDs".
std::string counted(double count, const std::string& noun) {
  return number_text(count) + " " + noun + (count == 1 ? "" : "s");
}

bool buys_whole_servers(const Json& document) {
  const auto billing = document.find("billing");
  if (billing == document.end() || !billing->is_object()) return false;
  const auto found = billing->find("whole_servers");
  return found != billing->end() && *found == true;
}

// Returns the number of GPUs that a node uses; if prefill and decode nodes differ, the number of the larger
// node.
double engine_gpus(Json& document) {
  const Json fleet = document.value("fleet", Json());
  Json pools = fleet.is_object() ? fleet.value("disaggregation", Json()) : Json();
  double most_gpus = 0;
  for (const char* pool : {"prefill", "decode"}) {
    double gpus = 1;
    for (const char* key : {"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"}) {
      const Json* size = pools.is_object() ? amount_at(pools, pool, key, 1, kMaxCount) : nullptr;
      if (!size) size = amount_at(document, "serving", key, 1, kMaxCount);
      if (size) gpus *= size->get<double>();
    }
    most_gpus = std::max(most_gpus, gpus);
  }
  return most_gpus;
}

// Returns the profile's capacity of a tier that is divided among the shares of a server; 0 if there is no
// such tier, if it is remote, or if the user sets its size.
double divided_bytes(Document& document, Json& hardware, std::string_view part) {
  const auto is_meant = [part](const TierRow& one) { return one.name == part && one.tier != Tier::remote; };
  const auto* row = std::find_if(kTierRows.begin(), kTierRows.end(), is_meant);
  const Json* capacity = amount_at(hardware, part, "capacity_bytes", 1, kMaxBytes);
  if (row == kTierRows.end() || !capacity) return 0;
  const bool is_devices = has_count(row->tier);
  const std::string field = "hardware." + std::string(part) + (is_devices ? ".count" : ".capacity_bytes");
  if (!document.places.is_reference(field)) return 0;
  const Json* devices = is_devices ? amount_at(hardware, part, "count", 1, kMaxCount) : nullptr;
  return capacity->get<double>() * (devices ? devices->get<double>() : 1);
}

// Returns the share of the profile that the policy's tier sizes need: the largest share over all tiers.
// Returns 0 if the policy sets no size.
double stated_share(Document& document, Json& hardware, double gpus) {
  const Json policy = document.json.value("policy", Json());
  const Json tiers = policy.is_object() ? policy.value("tiers", Json()) : Json();
  double share = 0;
  if (!tiers.is_array()) return share;
  for (const Json& tier : tiers) {
    const Json kind = tier.is_object() ? tier.value("kind", Json()) : Json();
    const double whole_bytes =
        kind.is_string() ? divided_bytes(document, hardware, kind.get<std::string>()) : 0;
    if (whole_bytes == 0) continue;
    const auto stated = [&](const char* key) {
      const Json bytes = tier.value(key, Json());
      return bytes.is_number() ? bytes.get<double>() : 0;
    };
    const double bytes = std::max(stated("capacity_bytes"), gpus * stated("capacity_per_gpu_bytes"));
    share = std::max(share, bytes / whole_bytes);
  }
  return share;
}

// Sets the bytes of DRAM and SSDs that the rent of `share` of the profile includes. If the user sets a
// separate price for DRAM or SSDs, the rent does not include this part.
void take_included(Document& document, Json& hardware, double share) {
  const Json* includes = find_in(hardware, "gpu", "price_includes_storage");
  if (!includes || *includes != true) return;
  for (const auto& [part, bytes] :
       {std::pair("dram", document.profile_dram_bytes), std::pair("ssd", document.profile_ssd_bytes)}) {
    const auto object = hardware.find(part);
    if (object == hardware.end() || !object->is_object()) continue;
    const std::string path = "hardware." + std::string(part);
    Json& included = (*object)["included_bytes"];
    if (document.places.is_override(path + ".included_bytes")) continue;
    if (document.places.is_override(path + ".price_usd_per_gb_hour")) {
      included = 0;
    } else if (included.is_number() && document.places.is_reference(path + ".included_bytes")) {
      included = share * included.get<double>();
    } else if (included.is_null() && bytes > 0) {
      included = share * bytes;
    }
  }
}

// Reduces the number of GPUs to that of the smallest share that fits the engine and the tiers that the policy
// sizes. Returns true if the share is smaller than the profile.
bool choose_share(Document& document, Json& hardware, Json& count) {
  const double gpus = engine_gpus(document.json);
  // The tolerance absorbs rounding errors of whole numbers.
  const double stated = std::ceil(stated_share(document, hardware, gpus) * document.profile_gpus - 1e-9);
  const double share = std::max(gpus, stated);
  if (share >= count.get<double>()) return false;
  count = static_cast<int64_t>(share);
  return true;
}

// Scales the profile's DRAM and SSDs to `share`, except where the scenario or --set sets their size. Returns
// the scaled parts as text: "500 GB of DRAM and 2 SSDs".
std::string scale(Document& document, Json& hardware, double share) {
  std::string parts;
  if (Json* dram = amount_at(hardware, "dram", "capacity_bytes", 1, kMaxBytes);
      dram && document.places.is_reference("hardware.dram.capacity_bytes")) {
    *dram = share * dram->get<double>();
    parts += number_text(dram->get<double>() / 1e9) + " GB of DRAM";
  }
  for (Tier tier : kHostTiers) {
    if (!has_count(tier)) continue;
    Json* devices = amount_at(hardware, name(tier), "count", 1, kMaxCount);
    if (!devices || !document.places.is_reference("hardware." + std::string(name(tier)) + ".count")) continue;
    // The tolerance absorbs rounding errors of whole numbers.
    *devices = static_cast<int64_t>(std::max(1.0, std::floor(share * devices->get<double>() + 1e-9)));
    const std::string kind = tier == Tier::ssd ? "SSD" : std::string(tier_row(tier).title) + " device";
    parts += (parts.empty() ? "" : " and ") + counted(devices->get<double>(), kind);
  }
  return parts;
}

}  // namespace

void take_share(Document& document) {
  const auto hardware = document.json.find("hardware");
  if (hardware == document.json.end() || !hardware->is_object()) return;
  const Json* per_server = amount_at(*hardware, "gpu", "per_server", 1, kMaxCount);
  if (document.profile_gpus < 1 || !per_server) return take_included(document, *hardware, 1);
  Json* count = amount_at(*hardware, "gpu", "count", 1, kMaxCount);
  const bool is_whole = buys_whole_servers(document.json);
  const bool is_open = !is_whole && count && document.places.is_reference("hardware.gpu.count");
  const bool is_chosen = is_open && choose_share(document, *hardware, *count);
  const auto server = per_server->get<double>();
  const double used = count ? count->get<double>() : 1;
  const double bought = is_whole ? std::ceil(used / server) * server : used;
  const double share = bought / document.profile_gpus;
  take_included(document, *hardware, share);
  if (share == 1) return;
  const std::string parts = scale(document, *hardware, share);
  if (parts.empty()) return;
  document.notes.push_back(
      "the hardware is " + counted(bought, "GPU") + " of a server of " + number_text(server) + " with " +
      parts +
      (bought < server ? "; DRAM bandwidth is not divided, as if the other GPUs did not use it" : "") +
      (is_chosen ? "; hardware.gpu.count sets another number of GPUs" : ""));
}

}  // namespace kvcap
