#include "advise/purchase.h"

#include <algorithm>

#include "base/text/format.h"
#include "plan/sizes.h"
#include "run/billing.h"
#include "scenario/fields.h"
#include "scenario/load.h"
#include "spec/tiers.h"

namespace kvcap {
namespace {

std::string sized(double bytes) {
  return bytes >= 1e12 ? format_number(bytes / 1e12) + " TB" : format_number(bytes / 1e9) + " GB";
}

// Returns "2x H100", or "1 whole server of 8x H100, of which 2 are used,".
std::string gpus_text(const Scenario& scenario) {
  const Gpu& gpu = scenario.hardware.gpu;
  const int64_t per_server = gpu.per_server.value_or(gpu.count);
  const std::string gpus = std::to_string(gpu.count) + "x " + gpu.name;
  if (scenario.billing.whole_servers) {
    const int64_t billed = billed_gpus(gpu, true);
    const int64_t servers = billed / per_server;
    return std::to_string(servers) + (servers == 1 ? " whole server of " : " whole servers of ") +
           std::to_string(per_server) + "x " + gpu.name +
           (billed > gpu.count
                ? ", of which " + std::to_string(gpu.count) + (gpu.count == 1 ? " is used," : " are used,")
                : "");
  }
  return gpus;
}

// True iff this price is part of the configuration's cost. Wear is not part of the total, and power is not if
// machines are rented.
bool is_paid(const Scenario& scenario, const std::string& field) {
  for (Tier tier : kHostTiers) {
    if (field.starts_with(std::string(name(tier)) + ".")) {
      const bool is_bought = keeps_in(scenario, tier) || chooses_devices(scenario, tier);
      return is_bought && field.find("replacement") == std::string::npos &&
             usd_per_gb_hour(scenario.hardware, tier) > 0;
    }
  }
  return field.starts_with("gpu.") || scenario.hardware.gpu.purchase_usd > 0;
}

// Returns "Prices: from hwprofiles/h100-sxm.json gpu.price_usd_per_hour 3.9; from ...", one part per file.
std::string prices_text(const Scenario& scenario) {
  std::vector<std::pair<std::string, std::string>> files;  // file and its prices
  for (const PriceSource& one : scenario.price_sources) {
    if (!is_paid(scenario, one.field)) continue;
    const bool is_set = one.from.starts_with("--set ");
    const std::string file = is_set ? "--set" : one.from.substr(0, one.from.rfind(": "));
    const std::string price =
        one.field + " " + number_text(one.value) + " (" + (one.date.empty() ? "undated" : one.date) + ")";
    const auto found =
        std::find_if(files.begin(), files.end(), [&](const auto& each) { return each.first == file; });
    if (found == files.end()) {
      files.emplace_back(file, price);
    } else {
      found->second += ", " + price;
    }
  }
  std::string text;
  for (const auto& [file, prices] : files)
    text += (text.empty() ? "Prices: from " : "; from ") + file + " " + prices;
  return text.empty() ? "" : text + ".";
}

// Returns "the instance's 500 GB of DRAM" or "8.00 TB on 2 SSDs".
std::string store_text(const HardwareProfile& hardware, const BoughtSize& bought) {
  const TierFacts facts = *tier_facts(hardware, bought.tier);
  const std::string place = bought.tier == Tier::ssd ? " on " + std::to_string(hardware.ssd->count) +
                                                           (hardware.ssd->count > 1 ? " SSDs" : " SSD")
                                                     : " of " + std::string(tier_row(bought.tier).stored);
  return (facts.rent_free_bytes >= bought.bytes ? "the instance's " : "") + sized(bought.bytes) + place;
}

std::string share_text(const Scenario& scenario) {
  const Gpu& gpu = scenario.hardware.gpu;
  const int64_t per_server = gpu.per_server.value_or(gpu.count);
  if (scenario.billing.whole_servers || gpu.count >= per_server) return "";
  return "The cost covers " + std::to_string(gpu.count) + " of the " + std::to_string(per_server) +
         " GPUs of a server; --set billing.whole_servers=true bills whole servers.";
}

std::string sizes_text(const Plan& plan, const Changes& changes) {
  std::string text;
  for (const BoughtSize& one : bought_sizes(plan, changes)) {
    if (!(one.profile_bytes > 0)) continue;
    text += (text.empty() ? "Storage sizes were searched because the plan sets none: " : ", ") +
            sized(one.bytes) + " of the profile's " + sized(one.profile_bytes) + " of " +
            std::string(name(one.tier));
  }
  return text.empty() ? "" : text + ".";
}

}  // namespace

std::string purchase(const Plan& plan, const Changes& changes) {
  const Scenario scenario = load_scenario(plan.base, changes);
  const HardwareProfile& hardware = scenario.hardware;
  const int64_t nodes = scenario.fleet.replicas;
  std::string text = (nodes > 1 ? std::to_string(nodes) + " nodes of " : "") + gpus_text(scenario);
  std::string stores, unused;
  for (const BoughtSize& one : bought_sizes(plan, changes)) {
    std::string& list = one.is_used ? stores : unused;
    list += (list.empty() ? "" : " and ") + store_text(hardware, one);
  }
  if (!stores.empty()) text += " with " + stores + " for stored state";
  if (!unused.empty()) text += (stores.empty() ? " with " : ", ") + unused + " that stay empty";
  return text + ", serving " + scenario.model.name + " with " + scenario.policy.name +
         (scenario.serving.gpus() > 1 ? " over " + std::to_string(scenario.serving.gpus()) + " GPUs" : "") +
         (scenario.serving.data_parallel_size > 1
              ? " in each of " + std::to_string(scenario.serving.data_parallel_size) + " ranks"
              : "");
}

std::vector<std::string> purchase_notes(const Plan& plan, const Changes& changes) {
  std::vector<std::string> notes;
  const Scenario scenario = load_scenario(plan.base, changes);
  for (const std::string& one : {sizes_text(plan, changes), share_text(scenario), prices_text(scenario)}) {
    if (!one.empty()) notes.push_back(one);
  }
  return notes;
}

}  // namespace kvcap
