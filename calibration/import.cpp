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
#include <sstream>

#include "base/embedded.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/text/json_document.h"
#include "calibration/fit.h"
#include "cost/cost_model.h"
#include "cost/gemm.h"

namespace kvcap::calibration {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream text(line);
  for (std::string field; std::getline(text, field, ',');) {
    const std::size_t begin = field.find_first_not_of(" \t\r");
    const std::size_t end = field.find_last_not_of(" \t\r");
    fields.push_back(begin == std::string::npos ? "" : field.substr(begin, end - begin + 1));
  }
  return fields;
}

// One row of a table; values are looked up by column name.
class TableRow {
 public:
  TableRow(const std::string& path, int64_t line, const std::vector<std::string>& columns,
           std::vector<std::string> fields)
      : at_(path + ":" + std::to_string(line)), columns_(columns), fields_(std::move(fields)) {
    fields_.resize(columns_.size());
  }
  bool has(const std::string& column) const { return find(column) != nullptr; }
  const std::string& text(const std::string& column) const {
    const std::string* found = find(column);
    if (!found) throw InputError(at_ + ": no column " + column);
    return *found;
  }
  double number(const std::string& column, double least = 0) const {
    const std::string& found = text(column);
    char* end = nullptr;
    const double value = std::strtod(found.c_str(), &end);
    if (found.empty() || *end != '\0' || !(value >= least) || !std::isfinite(value)) {
      char allowed[40];
      std::snprintf(allowed, sizeof allowed, "a number from %g", least);
      refuse(column, allowed);
    }
    return value;
  }
  int64_t integer(const std::string& column, int64_t least = 1) const {
    const double value = number(column, static_cast<double>(least));
    if (value != std::floor(value) || value > 9e15) refuse(column, "an integer");
    return static_cast<int64_t>(value);
  }
  // Returns the first of the names that is a column; empty if none is.
  std::string first_of(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      if (has(name)) return name;
    }
    return {};
  }
  double time_s() const {
    for (const auto& [column, unit_s] : {std::pair("time_s", 1.0), {"t_ms", 1e-3}, {"t_us", 1e-6}}) {
      if (!has(column)) continue;
      const double time_s = number(column) * unit_s;
      if (time_s <= 0) refuse(column, "a time above 0");
      return time_s;
    }
    throw InputError(at_ + ": no column of times, allowed: time_s, t_ms, t_us");
  }
  [[noreturn]] void refuse(const std::string& column, const std::string& allowed) const {
    throw InputError(at_ + ": " + column + ": found \"" + text(column) + "\", allowed: " + allowed);
  }
  const std::string& at() const { return at_; }

 private:
  const std::string* find(const std::string& column) const {
    const auto found = std::find(columns_.begin(), columns_.end(), column);
    return found == columns_.end() ? nullptr : &fields_[static_cast<std::size_t>(found - columns_.begin())];
  }
  std::string at_;
  const std::vector<std::string>& columns_;
  std::vector<std::string> fields_;
};

// Returns the bytes per element of A and of B.
std::pair<double, double> element_bytes(const TableRow& row) {
  static const std::map<std::string, std::pair<double, double>> kFormats = {{"float32", {4, 4}},
                                                                            {"float16", {2, 2}},
                                                                            {"bfloat16", {2, 2}},
                                                                            {"fp8", {1, 1}},
                                                                            {"nvfp4", {0.5, 0.5625}}};
  if (!row.has("dtype")) return {2, 2};
  const auto found = kFormats.find(row.text("dtype"));
  if (found == kFormats.end()) row.refuse("dtype", "float32, float16, bfloat16, fp8, nvfp4");
  return found->second;
}

void add_gemm(const TableRow& row, ImportedTimes* times) {
  const auto [activation, weight] = element_bytes(row);
  times->gemms.push_back({row.integer(row.first_of({"m", "tokens"})), row.integer("n"), row.integer("k"),
                          row.time_s(), activation, weight});
}

void add_collective(const TableRow& row, ImportedTimes* times) {
  const CollectivePoint point{row.integer(row.first_of({"num_gpus", "gpus"}), 2), row.number("bytes", 1),
                              row.time_s()};
  const std::string& op = row.text("op");
  if (op == "all_reduce") {
    times->collectives.all_reduce.push_back(point);
  } else if (op == "all_gather") {
    times->collectives.all_gather.push_back(point);
  } else if (op == "all_to_all" || op == "alltoall") {
    times->collectives.all_to_all.push_back(point);
  }  // others, such as reduce_scatter, are not simulated
}

void add_attention(const TableRow& row, ImportedTimes* times) {
  AttentionTime time;
  time.format = Format::bfloat16;
  if (row.has("q_kv_heads")) {
    const std::string& heads = row.text("q_kv_heads");
    char* rest = nullptr;
    time.query_heads = std::strtoll(heads.c_str(), &rest, 10);
    if (*rest != '/') row.refuse("q_kv_heads", "query heads/KV heads, as 32/8");
    time.kv_heads = std::strtoll(rest + 1, nullptr, 10);
    if (time.query_heads < 1 || time.kv_heads < 1) row.refuse("q_kv_heads", "numbers from 1");
  } else {
    time.query_heads = row.integer("q_heads");
    time.kv_heads = row.integer("kv_heads");
  }
  time.head_dim = row.has("head_dim") ? row.integer("head_dim") : 128;
  time.batch = row.has("batch") ? row.integer("batch") : 1;
  const std::string fresh = row.first_of({"new_tokens", "isl"});
  const std::string cached = row.first_of({"cached_tokens", "cached_kv", "ctx"});
  time.new_tokens = fresh.empty() ? 1 : row.integer(fresh);
  time.cached_tokens = cached.empty() ? 0 : row.integer(cached, 0);
  // The profile models one prompt per call, or a batch that decodes.
  if (time.new_tokens > 1 && time.batch > 1) return;
  time.time.time_s = row.time_s();
  times->attention.push_back(time);
}

using AddRow = void (*)(const TableRow& row, ImportedTimes* times);

AddRow reader_of(const TableRow& row) {
  if (row.has("n") && row.has("k") && !row.first_of({"m", "tokens"}).empty()) return add_gemm;
  if (row.has("op") && row.has("bytes") && !row.first_of({"num_gpus", "gpus"}).empty()) return add_collective;
  if (row.has("q_kv_heads") || (row.has("q_heads") && row.has("kv_heads"))) return add_attention;
  throw InputError(
      row.at() +
      ": no table that is known by its columns, allowed: m, n, k; op, num_gpus, bytes; or q_heads, "
      "kv_heads (kvcap-calibrate import --help)");
}

void read_table(const std::string& path, const ImportOptions& options, ImportedTimes* times) {
  std::istringstream file(read_text(path));
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = fields_of(line);
  for (const auto& [column, value] : options.where) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
      throw InputError(path + ": no column " + column + " (--where)");
    }
  }
  for (int64_t number = 2; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const TableRow row(path, number, columns, fields_of(line));
    const AddRow add = reader_of(row);
    const bool wanted =
        std::all_of(options.where.begin(), options.where.end(),
                    [&row](const auto& condition) { return row.text(condition.first) == condition.second; });
    if (wanted) add(row, times);
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

std::string files_text(const ImportOptions& options) {
  std::string text;
  for (const std::string& table : options.tables) text += (text.empty() ? "" : ", ") + table;
  for (const auto& [column, value] : options.where) text.append(", ").append(column + "=" + value);
  return text;
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

ImportedTimes read_tables(const ImportOptions& options) {
  ImportedTimes times;
  for (const std::string& table : options.tables) read_table(table, options, &times);
  const Collectives& collectives = times.collectives;
  if (times.gemms.empty() && times.attention.empty() && collectives.all_reduce.empty() &&
      collectives.all_gather.empty() && collectives.all_to_all.empty()) {
    throw InputError("no row of " + files_text(options) + " can be used");
  }
  return times;
}

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
    profile["provenance"] = {{"kind", "measured"},
                             {"source", "kernel times of " + files_text(options) + "; all else: " + source}};
  } catch (const Json::exception& error) {
    throw InputError("--base " + options.base + ": " + error.what());
  }
  return profile.dump(2) + "\n";
}

}  // namespace kvcap::calibration
