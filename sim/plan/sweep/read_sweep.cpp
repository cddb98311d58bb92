// Reads sweep files: turns their JSON into the axes of a Sweep.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/input_error.h"
#include "base/json_schema.h"
#include "base/read_fields.h"
#include "plan/sweep/sample.h"
#include "plan/sweep/sweep.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

constexpr std::string_view kSweepSchema = "kvcap.sweep/1";
constexpr std::string_view kSampleMethods[] = {"random", "latin_hypercube"};
constexpr std::string_view kScales[] = {"linear", "log"};
constexpr double kMostOfRange = 1e21;

struct SampleRow {
  std::string method;
  int64_t points = 1, seed = 1;
  Members<Json> ranges;
};
// Values between min and max, or values of a list.
struct SampledRange {
  std::optional<double> min, max;
  std::string scale{kScales[0]};
  bool integer = false;
  std::vector<Json> values;
};
struct SweepFile {
  Json base;
  SweepLimits limits;
  Members<Json> grid, zip;
  std::vector<Json> points;
  std::optional<SampleRow> sample;
};

void describe(FieldVisitor& v, SampledRange& o) {
  v.field("min", o.min, {.meaning = "the smallest value", .min = -kMostOfRange, .max = kMostOfRange});
  v.field("max", o.max, {.meaning = "the largest value", .min = -kMostOfRange, .max = kMostOfRange});
  v.field("scale", o.scale, {.meaning = "scale on which values are evenly spread", .allowed = kScales});
  v.field("integer", o.integer, {.meaning = "only integers"});
  v.field("values", o.values,
          {.meaning = "the values, instead of min and max",
           .least = 1,
           .shape = "an array of at least one value"});
}

void describe(FieldVisitor& v, SampleRow& o) {
  v.field("method", o.method,
          {.meaning = "how points are drawn", .required = true, .allowed = kSampleMethods});
  v.field("points", o.points, {.meaning = "number of points", .min = 1, .max = 1e7, .required = true});
  v.field("seed", o.seed, {.meaning = "seed of the draws", .min = 0, .max = 1e7});
  v.field("ranges", o.ranges,
          {.meaning = "ranges by field",
           .required = true,
           .least = 1,
           .shape = "an object, {\"workload.arrivals.sessions_per_s\": [0.05, 0.5]}"});
}

void describe(FieldVisitor& v, SweepFile& o) {
  v.schema(kSweepSchema, true);
  v.field("base", o.base, {.meaning = "a scenario, or the path of one", .required = true});
  v.group("limits", {.meaning = "limits of each simulation"}, [&o](FieldVisitor& in) {
    in.field("timeout_s", o.limits.timeout_s, {.unit = "s", .min = 1e-6, .max = 1e9});
    in.field("memory_bytes", o.limits.memory_bytes, {.unit = "bytes", .min = 1, .max = 1e15});
  });
  v.field("grid", o.grid,
          {.meaning = "every value of a field with every value of the others",
           .least = 1,
           .shape = "an object of arrays, {\"hardware.ssd.count\": [1, 2, 4]}"});
  v.field(
      "zip", o.zip,
      {.meaning = "fields that change together", .least = 1, .shape = "an object of arrays of one length"});
  v.field(
      "points", o.points,
      {.meaning = "points, each with its fields", .least = 1, .shape = "an array of at least one object"});
  v.field("sample", o.sample, {.meaning = "random points"});
}

class SweepReader {
 public:
  SweepReader(const std::string& text, const std::string& file)
      : file_(file),
        folder_(std::filesystem::path(file).parent_path()),
        sweep_(read_fields<SweepFile>(parse_json(text, file), file)) {}

  Sweep read(const std::vector<std::string>& set) {
    std::string base_text, base_file;
    read_base(base_text, base_file);
    read_grid();
    read_zip();
    read_points();
    if (sweep_.sample) read_sample(*sweep_.sample);
    return {file_,         std::move(base_text), std::move(base_file), std::move(axes_),
            sweep_.limits, overrides_of(set)};
  }

 private:
  // An SQLite table has at most 2,000 columns, and the metrics need columns, too.
  static constexpr std::size_t kMostPaths = 1000;

  [[noreturn]] void fail(const std::string& path, const Json& found, const std::string& allowed) const {
    refuse_field(file_ + ": " + path, found, allowed);
  }

  void read_base(std::string& text, std::string& file) const {
    const Json& base = sweep_.base;
    if (base.is_object()) {
      text = base.dump();
      file = file_ + ": base";
    } else if (base.is_string()) {
      file = (folder_ / base.get<std::string>()).lexically_normal().string();
      try {
        text = read_text(file);
      } catch (const InputError& error) {
        throw InputError(file_ + ": base: " + error.what());
      }
    } else {
      fail("base", base, "a scenario, or the path of one relative to this file");
    }
  }

  // Returns the override that sets `path`. `where`: the part of the file that sets it, for errors.
  Override setting(const std::string& where, const std::string& path, const Json& value) const {
    std::string text = value.dump();
    std::string place = file_;
    for (const std::string& part :
         {": " + where, ": " + path, "=" + (text.size() <= 80 ? text : shown(value))})
      place += part;
    return {path, std::move(text), std::move(place), folder_};
  }

  // Throws InputError if two parts of the file set the same field.
  void claim(const std::string& part, const Members<Json>& paths) {
    for (const auto& [path, value] : paths) {
      if (!claimed_.insert(path).second)
        throw InputError(file_ + ": " + part + ": " + path + " is also set by another part of the sweep");
    }
    if (claimed_.size() > kMostPaths) {
      throw InputError(file_ + ": " + part + ": sets more than 1,000 fields, allowed: at most 1,000");
    }
  }

  const Json& values_of(const std::string& part, const std::string& path, const Json& values) const {
    if (!values.is_array() || values.empty())
      fail(part + ": " + path, values, "an array of at least one value");
    return values;
  }

  void read_grid() {
    claim("grid", sweep_.grid);
    for (const auto& [path, values] : sweep_.grid) {
      SweepAxis& axis = axes_.emplace_back();
      for (const Json& value : values_of("grid", path, values))
        axis.rows.push_back({setting("grid", path, value)});
    }
  }

  void read_zip() {
    if (sweep_.zip.empty()) return;
    claim("zip", sweep_.zip);
    SweepAxis& axis = axes_.emplace_back();
    const auto& [first, first_values] = sweep_.zip.front();
    axis.rows.resize(values_of("zip", first, first_values).size());
    for (const auto& [path, values] : sweep_.zip) {
      if (values_of("zip", path, values).size() != axis.rows.size()) {
        throw InputError(file_ + ": zip: " + path + ": found " + std::to_string(values.size()) +
                         " values, allowed: " + std::to_string(axis.rows.size()) +
                         ", as many as the first field");
      }
      for (std::size_t i = 0; i < values.size(); ++i) axis.rows[i].push_back(setting("zip", path, values[i]));
    }
  }

  void read_points() {
    if (sweep_.points.empty()) return;
    std::set<std::string> seen;
    Members<Json> all;
    SweepAxis& axis = axes_.emplace_back();
    for (std::size_t i = 0; i < sweep_.points.size() && all.size() <= kMostPaths; ++i) {
      const Json& point = sweep_.points[i];
      const std::string where = "points." + std::to_string(i);
      if (!point.is_object()) fail(where, point, "an object, {\"policy.name\": \"hcache\"}");
      std::vector<Override>& row = axis.rows.emplace_back();
      for (const auto& [path, value] : point.items()) {
        if (seen.insert(path).second) all.emplace_back(path, nullptr);
        row.push_back(setting(where, path, value));
      }
    }
    claim("points", all);
  }

  void read_sample(const SampleRow& row) {
    // Limit of the sampled values, which are kept in memory.
    constexpr std::size_t kMostValues = 2'000'000;
    const auto points = static_cast<std::size_t>(row.points);
    const std::size_t ranges = row.ranges.size();
    if (points > kMostValues / ranges) {
      fail("sample.points", row.points,
           "at most " + std::to_string(kMostValues / ranges) + " for " + std::to_string(ranges) +
               (ranges == 1 ? " range" : " ranges"));
    }
    claim("sample", row.ranges);
    SweepAxis& axis = axes_.emplace_back();
    axis.rows.resize(points);
    const bool is_random = row.method == kSampleMethods[0];
    for (const auto& [path, json] : row.ranges) {
      const SampledRange range = range_of(path, json);
      const std::vector<double> places =
          sample(is_random ? SampleMethod::random : SampleMethod::latin_hypercube, points,
                 static_cast<uint64_t>(row.seed), path);
      for (std::size_t i = 0; i < points; ++i)
        axis.rows[i].push_back(setting("sample", path, value_at(range, places[i])));
    }
  }

  std::vector<Override> overrides_of(const std::vector<std::string>& set) const {
    std::vector<Override> overrides;
    for (const std::string& one : set) {
      overrides.push_back(override_of(one));
      if (!claimed_.contains(overrides.back().path)) continue;
      throw InputError("--set: found \"" + one + "\", allowed: a field that the sweep does not set");
    }
    return overrides;
  }

  // Reads a range of the sample: [MIN, MAX], or an object.
  SampledRange range_of(const std::string& path, const Json& json) const {
    const std::string where = "sample.ranges." + path;
    const bool is_pair = json.is_array() && json.size() == 2;
    if (!is_pair && !json.is_object())
      fail(where, json, "[MIN, MAX], {\"min\", \"max\"} or {\"values\": [...]}");
    auto range =
        read_fields<SampledRange>(is_pair ? Json{{"min", json[0]}, {"max", json[1]}} : json, file_, where);
    if (!range.values.empty()) {
      if (json.size() > 1) fail(where, json, "values, or min and max");
      return range;
    }
    if (!range.min) throw InputError(file_ + ": " + where + ".min: missing, required");
    if (!range.max) throw InputError(file_ + ": " + where + ".max: missing, required");
    const double min = *range.min, max = *range.max;
    if (!(max > min)) fail(where + ".max", max, "a number greater than min");
    if (range.scale == "log" && !(min > 0))
      fail(where + ".min", min, "a number greater than 0 where scale is log");
    if (range.integer && min != std::floor(min)) fail(where + ".min", min, "an integer");
    if (range.integer && max != std::floor(max)) fail(where + ".max", max, "an integer");
    return range;
  }

  // Returns the value at the relative position `place`, from 0 to 1, of a range.
  static Json value_at(const SampledRange& range, double place) {
    if (!range.values.empty()) {
      return range.values[static_cast<std::size_t>(place * static_cast<double>(range.values.size()))];
    }
    const double from = *range.min, to = *range.max + (range.integer ? 1 : 0);
    const double value =
        range.scale == "log" ? from * std::pow(to / from, place) : from + (to - from) * place;
    if (!range.integer) return std::clamp(value, from, to);
    return std::min(static_cast<int64_t>(std::floor(value)), static_cast<int64_t>(*range.max));
  }

  const std::string& file_;
  const std::filesystem::path folder_;
  const SweepFile sweep_;
  std::vector<SweepAxis> axes_;
  std::set<std::string> claimed_;
};

}  // namespace

Sweep parse_sweep(const std::string& text, const std::string& file, const std::vector<std::string>& set) {
  return SweepReader(text, file).read(set);
}

Sweep load_sweep(const std::string& path, const std::vector<std::string>& set) {
  return parse_sweep(read_text(path), path, set);
}

std::string sweep_json_schema() {
  SweepFile sweep;
  return json_schema(kSweepSchema, [&](FieldVisitor& v) { describe(v, sweep); });
}

}  // namespace kvcap
