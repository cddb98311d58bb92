// Scales a profile to a part of its server: its DRAM capacity and SSDs in proportion to the GPUs. DRAM
// bandwidth is not divided, assuming that the other GPUs do not use it; a note states this.
#include <algorithm>
#include <cmath>

#include "base/tier.h"
#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

constexpr double kMaxBytes = 1e18;

// The amount from `least` to `most` at hardware.PART.KEY; null where there is none, which reading may refuse.
Json* amount_at(Json& hardware, std::string_view part, const char* key, double least, double most) {
  const auto object = hardware.find(part);
  if (object == hardware.end() || !object->is_object()) return nullptr;
  const auto found = object->find(key);
  const bool is_amount = found != object->end() && found->is_number() && *found >= least && *found <= most;
  return is_amount ? &*found : nullptr;
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

}  // namespace

void take_share(Document& document) {
  const auto hardware = document.json.find("hardware");
  if (document.profile_gpus < 1 || hardware == document.json.end() || !hardware->is_object()) return;
  const Json* per_server = amount_at(*hardware, "gpu", "per_server", 1, kMaxCount);
  const Json* count = amount_at(*hardware, "gpu", "count", 1, kMaxCount);
  if (!per_server) return;
  const auto server = per_server->get<double>();
  const double used = count ? count->get<double>() : 1;
  const double bought = buys_whole_servers(document.json) ? std::ceil(used / server) * server : used;
  if (bought == document.profile_gpus) return;
  const double share = bought / document.profile_gpus;
  std::string parts;
  // Values set by the scenario or --set are kept.
  if (Json* dram = amount_at(*hardware, "dram", "capacity_bytes", 1, kMaxBytes);
      dram && document.places.is_reference("hardware.dram.capacity_bytes")) {
    *dram = share * dram->get<double>();
    parts += number_text(dram->get<double>() / 1e9) + " GB of DRAM";
  }
  for (Tier tier : kHostTiers) {
    if (!has_count(tier)) continue;
    Json* devices = amount_at(*hardware, name(tier), "count", 1, kMaxCount);
    if (!devices || !document.places.is_reference("hardware." + std::string(name(tier)) + ".count")) continue;
    // The tolerance is for what rounding makes of whole numbers.
    *devices = static_cast<int64_t>(std::max(1.0, std::floor(share * devices->get<double>() + 1e-9)));
    const std::string kind = tier == Tier::ssd ? "SSD" : std::string(tier_row(tier).title) + " device";
    parts += (parts.empty() ? "" : " and ") + counted(devices->get<double>(), kind);
  }
  if (parts.empty()) return;
  document.notes.push_back(
      "the part of " + counted(bought, "GPU") + " of a server of " + number_text(server) + ": " + parts +
      (bought < server ? "; the bandwidth of DRAM is not divided, as if the other GPUs left "
                         "it free"
                       : ""));
}

}  // namespace kvcap
