// Writes a profile as JSON, schema kvcap.hardware/1, with numbers in the order of hwprofiles/format.md.
#include <nlohmann/json.hpp>

#include "calibration/profile.h"

namespace kvcap::calibration {
namespace {

using Json = nlohmann::ordered_json;

// Rounds to four digits; more are noise.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return std::stod(text);
}

// Placeholder for the points of a table, which are written one per line; indented, each would take six lines.
constexpr const char* kPointsHere = "points of the table";

std::string points_text(const std::vector<GemmPoint>& points) {
  std::string text = "[";
  for (const GemmPoint& point : points) {
    Json line = {{"m", point.m}, {"n", point.n}, {"k", point.k}, {"time_s", rounded(point.time_s)}};
    if (point.activation_bytes_per_element != 2) {
      line["activation_bytes_per_element"] = point.activation_bytes_per_element;
    }
    if (point.weight_bytes_per_element != 2) {
      line["weight_bytes_per_element"] = point.weight_bytes_per_element;
    }
    text += (text.size() == 1 ? "\n        " : ",\n        ") + line.dump();
  }
  return text + "]";
}

void add_notes(Json* json, const std::vector<std::string>& notes) {
  if (!notes.empty()) (*json)["notes"] = notes;
}

Json efficiency_json(const Efficiency& efficiency, const std::vector<std::string>& notes) {
  Json json;
  switch (efficiency.model) {
    case EfficiencyModel::constant:
      json = {{"model", "constant"}, {"efficiency", rounded(efficiency.efficiency)}};
      break;
    case EfficiencyModel::smooth_max:
      json = {{"model", "smooth_max"},
              {"efficiency", rounded(efficiency.efficiency)},
              {"bandwidth_efficiency", rounded(efficiency.bandwidth_efficiency)},
              {"constant_s", rounded(efficiency.constant_s)}};
      break;
    case EfficiencyModel::wave:
      json = {{"model", "wave"},
              {"efficiency", rounded(efficiency.efficiency)},
              {"bandwidth_efficiency", rounded(efficiency.bandwidth_efficiency)},
              {"block_m", efficiency.block_m},
              {"constant_s", rounded(efficiency.constant_s)}};
      break;
    case EfficiencyModel::blocks:
      json = {{"model", "blocks"},
              {"efficiency", rounded(efficiency.efficiency)},
              {"bandwidth_efficiency", rounded(efficiency.bandwidth_efficiency)},
              {"block_m", efficiency.block_m},
              {"block_s", rounded(efficiency.block_s)},
              {"wave_tail", rounded(efficiency.wave_tail)},
              {"packed_heads", efficiency.packed_heads},
              {"constant_s", rounded(efficiency.constant_s)}};
      break;
    case EfficiencyModel::table:
      json = {{"model", "table"}, {"points", kPointsHere}};
      break;
  }
  add_notes(&json, notes);
  return json;
}

Json gpu_json(const NotedProfile& noted) {
  const Gpu& gpu = noted.profile.gpu;
  Json json = {{"name", gpu.name},
               {"count", gpu.count},
               {"peak_flops", rounded(gpu.peak_flops)},
               {"memory_bytes", gpu.memory_bytes},
               {"memory_bandwidth_bytes_per_s", rounded(gpu.memory_bandwidth_bytes_per_s)},
               {"sm_count", gpu.sm_count},
               {"gemm", efficiency_json(gpu.gemm, noted.gemm_notes)},
               {"attention", efficiency_json(gpu.attention, noted.attention_notes)}};
  if (gpu.peak_flops_fp8) json["peak_flops_fp8"] = rounded(*gpu.peak_flops_fp8);
  if (gpu.gemm_fp8) json["gemm_fp8"] = efficiency_json(*gpu.gemm_fp8, {});
  if (gpu.elementwise) {
    json["elementwise"] = {{"bandwidth_efficiency", rounded(gpu.elementwise->bandwidth_efficiency)},
                           {"constant_s", rounded(gpu.elementwise->constant_s)}};
    add_notes(&json["elementwise"], noted.elementwise_notes);
  }
  json["kernel_overhead_s"] = gpu.kernel_overhead_s;
  json["host_overhead_per_layer_s"] = gpu.host_overhead_per_layer_s;
  json["price_usd_per_hour"] = gpu.price_usd_per_hour;
  add_notes(&json, noted.gpu_notes);
  return json;
}

}  // namespace

std::string profile_json(const NotedProfile& noted) {
  const HardwareProfile& profile = noted.profile;
  Json json = {{"schema", "kvcap.hardware/1"},
               {"name", profile.name},
               {"provenance", {{"kind", profile.provenance_kind}, {"source", profile.provenance_source}}}};
  add_notes(&json, noted.notes);
  json["gpu"] = gpu_json(noted);
  json["pcie"] = {{"h2d_bandwidth_bytes_per_s", rounded(profile.pcie.h2d_bandwidth_bytes_per_s)},
                  {"d2h_bandwidth_bytes_per_s", rounded(profile.pcie.d2h_bandwidth_bytes_per_s)},
                  {"request_overhead_s", rounded(profile.pcie.request_overhead_s)}};
  add_notes(&json["pcie"], noted.pcie_notes);
  if (profile.nvlink) {
    json["nvlink"] = {{"bandwidth_bytes_per_s", rounded(profile.nvlink->bandwidth_bytes_per_s)},
                      {"latency_s", rounded(profile.nvlink->latency_s)}};
    add_notes(&json["nvlink"], noted.nvlink_notes);
  }
  if (profile.dram) {
    json["dram"] = {{"capacity_bytes", profile.dram->capacity_bytes},
                    {"bandwidth_bytes_per_s", rounded(profile.dram->bandwidth_bytes_per_s)}};
    add_notes(&json["dram"], noted.dram_notes);
  }
  if (profile.ssd) {
    json["ssd"] = {{"count", profile.ssd->count},
                   {"capacity_bytes", profile.ssd->capacity_bytes},
                   {"read_bandwidth_bytes_per_s", rounded(profile.ssd->read_bandwidth_bytes_per_s)},
                   {"write_bandwidth_bytes_per_s", rounded(profile.ssd->write_bandwidth_bytes_per_s)},
                   {"request_overhead_s", rounded(profile.ssd->request_overhead_s)},
                   {"sync_write_s", rounded(profile.ssd->sync_write_s)},
                   {"gpu_direct", profile.ssd->gpu_direct}};
    add_notes(&json["ssd"], noted.ssd_notes);
  }
  std::string text = json.dump(2) + "\n";
  if (profile.gpu.gemm.model == EfficiencyModel::table) {
    const std::string mark = '"' + std::string(kPointsHere) + '"';
    text.replace(text.find(mark), mark.size(), points_text(profile.gpu.gemm.points));
  }
  return text;
}

}  // namespace kvcap::calibration
