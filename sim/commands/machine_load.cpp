#include "commands/machine_load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "metrics/quantity.h"

namespace kvcap {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"duration", "offered_load", "kv_capacity_tokens",
                                                    "peak_kv_tokens"};
constexpr std::array<std::string_view, 5> kFamilies = {"utilization.", "read_bytes.", "written_bytes.",
                                                       "peak_stored_bytes.", "billed_bytes."};

bool is_shown(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](std::string_view family) { return name.starts_with(family); });
}

}  // namespace

Json machine_load(const std::string& resolved, const std::vector<RunResult>& runs) {
  if (runs.empty()) return {};
  Json metrics = Json::object();
  for (const Quantity& one : quantities()) {
    if (one.kind != QuantityKind::metric || !is_shown(one.name)) continue;
    double sum = 0;
    for (const RunResult& run : runs) sum += run.number(one.name);
    if (std::isfinite(sum)) metrics[one.name] = sum / static_cast<double>(runs.size());
  }
  metrics["bound_by"] = runs.front().text("bound_by");
  const Json scenario = Json::parse(resolved, nullptr, false);
  Json hardware = scenario.is_object() && scenario.contains("hardware") ? scenario["hardware"] : Json();
  return {{"scenario", {{"hardware", std::move(hardware)}}}, {"metrics", std::move(metrics)}};
}

}  // namespace kvcap
