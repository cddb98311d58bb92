#include "calibration/import.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/embedded.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/text/json_document.h"
#include "calibration/fit.h"
#include "calibration/tables/tables.h"
#include "cost/cost_model.h"
#include "cost/gemm.h"

namespace kvcap::calibration {
namespace {

using Json = nlohmann::ordered_json;

// ", measured by X and Y"; empty if the tables do not say.
std::string measured_by(const ImportedTimes& times) {
  std::string text;
  for (const std::string& version : times.versions)
    text += (text.empty() ? ", measured by " : " and ") + version;
  return text;
}

void add_left_out(Json* profile, const ImportedTimes& times) {
  for (const auto& [reason, rows] : times.left_out) {
    (*profile)["notes"].push_back("not imported: " + std::to_string(rows) + " rows, " + reason);
  }
}

std::string base_text(const std::string& base) {
  const std::string path = "hwprofiles/" + base + ".json";
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path == path) return std::string(file.text);
  }
  std::error_code none;
  if (!std::filesystem::exists(base, none))
    throw InputError("--base: found \"" + base + "\", allowed: a profile's path or name");
  return read_text(base);
}

// Returns the GPU's rates, to which times are compared.
Gpu gpu_of(const Json& json) {
  Gpu gpu;
  gpu.peak_flops = json.at("peak_flops");
  gpu.memory_bandwidth_bytes_per_s = json.at("memory_bandwidth_bytes_per_s");
  gpu.sm_count = json.value("sm_count", int64_t{0});
  if (json.contains("peak_flops_fp8")) gpu.peak_flops_fp8 = json.at("peak_flops_fp8").get<double>();
  if (json.contains("peak_flops_fp4")) gpu.peak_flops_fp4 = json.at("peak_flops_fp4").get<double>();
  return gpu;
}

double rounded_to_4(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return std::stod(text);
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

Json smooth_json(const Efficiency& fit) {
  return {{"model", "smooth_max"},
          {"efficiency", rounded_to_4(std::min(fit.efficiency, 1.0))},
          {"bandwidth_efficiency", rounded_to_4(std::min(fit.bandwidth_efficiency, 1.0))},
          {"constant_s", rounded_to_4(fit.constant_s)}};
}

Efficiency gemm_model(const Gpu& gpu, const std::vector<GemmPoint>& points, bool smooth) {
  if (smooth) return smooth_fit(gpu, points);
  return {.model = EfficiencyModel::table, .points = points};
}

// Returns the note on the held-out error: "error on the 12 shapes of every second ...".
std::string held_out_note(const Gpu& gpu, const std::vector<GemmPoint>& points, bool smooth) {
  std::set<std::pair<int64_t, int64_t>> shapes;
  for (const GemmPoint& point : points) shapes.insert({point.n, point.k});
  if (shapes.size() < 2) return "one shape only: nothing could be held out";
  std::set<std::pair<int64_t, int64_t>> known;
  for (auto shape = shapes.begin(); shape != shapes.end(); ++shape) {
    known.insert(*shape);
    if (++shape == shapes.end()) break;
  }
  std::vector<GemmPoint> fitted, held;
  for (const GemmPoint& point : points) {
    (known.contains({point.n, point.k}) ? fitted : held).push_back(point);
  }
  const GemmModel model(gemm_model(gpu, fitted, smooth), gpu);
  std::vector<double> errors;
  for (const GemmPoint& point : held) {
    bool extrapolated = false;
    const ElementBytes bytes{point.activation_bytes_per_element, point.weight_bytes_per_element,
                             std::max(point.activation_bytes_per_element, 2.0)};
    const double time_s =
        model.time_s({static_cast<double>(point.m), 1}, {point.n, point.k}, bytes, &extrapolated);
    errors.push_back(std::abs(time_s / point.time_s - 1));
  }
  std::sort(errors.begin(), errors.end());
  const auto at = [&errors](double share) {
    return errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))];
  };
  return "made of every second shape alone, it errs on the other " + std::to_string(held.size()) +
         " rows by " + percent(at(0.5)) + " in the median, " + percent(at(0.9)) + " at the 90th percentile";
}

Json point_json(const GemmPoint& point) {
  Json json = {{"m", point.m}, {"n", point.n}, {"k", point.k}, {"time_s", rounded_to_4(point.time_s)}};
  if (point.activation_bytes_per_element != 2) {
    json["activation_bytes_per_element"] = point.activation_bytes_per_element;
  }
  if (point.weight_bytes_per_element != 2) json["weight_bytes_per_element"] = point.weight_bytes_per_element;
  return json;
}

void set_gemms(Json* gpu_json, const std::vector<GemmPoint>& points, const ImportOptions& options) {
  if (points.empty()) return;
  const Gpu gpu = gpu_of(*gpu_json);
  const std::string source = std::to_string(points.size()) + " GEMMs of " + files_text(options);
  if (!options.smooth) {
    Json json = {{"model", "table"}, {"points", Json::array()}, {"notes", Json::array()}};
    for (const GemmPoint& point : points) json["points"].push_back(point_json(point));
    json["notes"] = {source, held_out_note(gpu, points, false)};
    (*gpu_json)["gemm"] = json;
    // The base profile's entries of other formats describe another kernel than the imported table's; they are
    // removed.
    for (const char* name : {"gemm_fp8", "gemm_fp4", "grouped_gemm", "grouped_gemm_fp8", "grouped_gemm_fp4",
                             "grouped_gemm_w4a16"}) {
      gpu_json->erase(name);
    }
    return;
  }
  for (const auto& [name, precision] :
       {std::pair("gemm", Precision::half), {"gemm_fp8", Precision::fp8}, {"gemm_fp4", Precision::fp4}}) {
    std::vector<GemmPoint> of_format;
    for (const GemmPoint& point : points) {
      const ElementBytes bytes{point.activation_bytes_per_element, point.weight_bytes_per_element, 2};
      if (precision_of(bytes) == precision) of_format.push_back(point);
    }
    if (of_format.empty()) continue;
    Json json = smooth_json(smooth_fit(gpu, of_format));
    json["notes"] = {"fitted to " + std::to_string(of_format.size()) + " of " + source,
                     held_out_note(gpu, of_format, true)};
    (*gpu_json)[name] = json;
  }
}

void set_attention(Json* gpu_json, const std::vector<AttentionTime>& times, const ImportOptions& options) {
  if (times.empty()) return;
  if (times.size() < 3)
    throw InputError("attention: " + std::to_string(times.size()) + " rows, 3 are needed");
  const Gpu gpu = gpu_of(*gpu_json);
  FittedModel best = fit_attention(EfficiencyModel::smooth_max, gpu, times);
  if (gpu.sm_count > 0) {
    const FittedModel wave = fit_attention(EfficiencyModel::wave, gpu, times);
    if (wave.errors.median < best.errors.median) best = wave;
  }
  Json json = smooth_json(best.efficiency);
  if (best.efficiency.model == EfficiencyModel::wave) {
    json["model"] = "wave";
    json["block_m"] = best.efficiency.block_m;
  }
  json["notes"] = {"fitted to attention of " + files_text(options) + ", which errs by " +
                   text_of(best.errors) + ", on the fitted rows themselves"};
  (*gpu_json)["attention"] = json;
  gpu_json->erase("decode_attention");  // belongs to the base's kernel
}

Json collective_json(const std::vector<CollectivePoint>& points) {
  Json json = Json::array();
  for (const CollectivePoint& point : points) {
    json.push_back({{"gpus", point.gpus}, {"bytes", point.bytes}, {"time_s", rounded_to_4(point.time_s)}});
  }
  return json;
}

void set_collectives(Json* profile, const Collectives& collectives, const ImportOptions& options) {
  Json json;
  const auto set = [&json](const char* name, const std::vector<CollectivePoint>& points) {
    if (!points.empty()) json[name] = collective_json(points);
  };
  set("all_reduce", collectives.all_reduce);
  set("all_gather", collectives.all_gather);
  set("all_to_all", collectives.all_to_all);
  if (json.is_null()) return;
  json["notes"] = {"every row of " + files_text(options)};
  (*profile)["collectives"] = json;
}

}  // namespace

std::string import_profile(const ImportOptions& options) {
  const ImportedTimes times = read_tables(options);
  Json profile;
  try {
    profile = read_json<Json>(base_text(options.base), "--base " + options.base);
    Json& gpu = profile.at("gpu");
    set_gemms(&gpu, times.gemms, options);
    set_attention(&gpu, times.attention, options);
    set_collectives(&profile, times.collectives, options);
    if (!options.name.empty()) profile["name"] = options.name;
    const std::string source = profile.at("provenance").at("source");
    profile["provenance"] = {
        {"kind", "measured"},
        {"source", "kernel times of " + files_text(options) + measured_by(times) + "; all else: " + source}};
    add_left_out(&profile, times);
  } catch (const Json::exception& error) {
    throw InputError("--base " + options.base + ": " + error.what());
  }
  return profile.dump(2) + "\n";
}

}  // namespace kvcap::calibration
