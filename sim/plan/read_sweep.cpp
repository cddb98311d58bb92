// The sweep file: from JSON to axes.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/input_error.h"
#include "plan/sample.h"
#include "plan/sweep.h"
#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

class SweepReader {
 public:
  SweepReader(const std::string& text, const std::string& file)
      : file_(file), folder_(std::filesystem::path(file).parent_path()), json_(parse_json(text, file)) {}

  Sweep read(const std::vector<std::string>& set) {
    if (!json_.is_object()) throw InputError(file_ + ": found " + shown(json_) + ", allowed: an object");
    check_schema();
    refuse_unknown(json_, "", {"schema", "notes", "base", "limits", "grid", "zip", "points", "sample"});
    std::string base_text, base_file;
    read_base(base_text, base_file);
    read_grid();
    read_zip();
    read_points();
    read_sample();
    return {file_, std::move(base_text), std::move(base_file), std::move(axes_), limits(), overrides_of(set)};
  }

 private:
  // Each is a column beside those of the metrics; SQLite has 2,000.
  static constexpr std::size_t kMostPaths = 1000;

  [[noreturn]] void fail(const std::string& path, const Json& found, const std::string& allowed) const {
    throw InputError(file_ + ": " + path + ": found " + shown(found) + ", allowed: " + allowed);
  }

  void refuse_unknown(const Json& object, const std::string& path,
                      const std::vector<std::string_view>& known) const {
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      throw InputError(file_ + ": " + below(path, key) + ": unknown key" + suggestion(key, known));
    }
  }

  const Json* find(const Json& object, const char* key) const {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

  // An object with at least one member; null where there is none under `key`.
  const Json* find_object(const char* key, const char* allowed) const {
    const Json* object = find(json_, key);
    if (object && (!object->is_object() || object->empty())) fail(key, *object, allowed);
    return object;
  }

  const Json& require(const Json& object, const std::string& path, const char* key) const {
    const Json* found = find(object, key);
    if (!found) throw InputError(file_ + ": " + below(path, key) + ": missing, required");
    return *found;
  }

  void check_schema() const {
    const Json& found = require(json_, "", "schema");
    if (found == "kvcap.sweep/1") return;
    throw InputError(file_ + ": schema: found " + shown(found) + ", this version supports \"kvcap.sweep/1\"" +
                     other_reader(found));
  }

  void read_base(std::string& text, std::string& file) const {
    const Json& base = require(json_, "", "base");
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

  SweepLimits limits() const {
    SweepLimits limits;
    const Json* object = find_object("limits", "an object with timeout_s or memory_bytes");
    if (!object) return limits;
    refuse_unknown(*object, "limits", {"timeout_s", "memory_bytes"});
    const auto positive = [&](const char* key, double most) {
      const Json* found = find(*object, key);
      if (!found) return 0.0;
      const double value = found->is_number() ? found->get<double>() : 0;
      if (!(value > 0 && value <= most)) {
        fail(below("limits", key), *found, "a number greater than 0 and up to " + number_text(most));
      }
      return value;
    };
    limits.timeout_s = positive("timeout_s", 1e9);
    limits.memory_bytes = static_cast<int64_t>(positive("memory_bytes", 1e18));
    return limits;
  }

  // `where`: the part of the file that sets it.
  Override setting(const std::string& where, const std::string& path, const Json& value) const {
    std::string text = value.dump();
    std::string place = file_;
    for (const std::string& part :
         {": " + where, ": " + path, "=" + (text.size() <= 80 ? text : shown(value))})
      place += part;
    return {path, std::move(text), std::move(place), folder_};
  }

  // No path may be set by two parts of the file.
  void claim(const std::string& part, const Json& paths) {
    for (const auto& [path, value] : paths.items()) {
      if (!claimed_.insert(path).second)
        throw InputError(file_ + ": " + part + ": " + path + " is set by another part of the sweep too");
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
    const Json* grid = find_object("grid", "an object of arrays, {\"hardware.ssd.count\": [1, 2, 4]}");
    if (!grid) return;
    claim("grid", *grid);
    for (const auto& [path, values] : grid->items()) {
      SweepAxis& axis = axes_.emplace_back();
      for (const Json& value : values_of("grid", path, values))
        axis.rows.push_back({setting("grid", path, value)});
    }
  }

  void read_zip() {
    const Json* zip = find_object("zip", "an object of arrays of one length");
    if (!zip) return;
    claim("zip", *zip);
    SweepAxis& axis = axes_.emplace_back();
    axis.rows.resize(values_of("zip", zip->items().begin().key(), zip->front()).size());
    for (const auto& [path, values] : zip->items()) {
      if (values_of("zip", path, values).size() != axis.rows.size()) {
        throw InputError(file_ + ": zip: " + path + ": found " + std::to_string(values.size()) +
                         " values, allowed: as many as the first has, " + std::to_string(axis.rows.size()));
      }
      for (std::size_t i = 0; i < values.size(); ++i) axis.rows[i].push_back(setting("zip", path, values[i]));
    }
  }

  void read_points() {
    const Json* points = find(json_, "points");
    if (!points) return;
    if (!points->is_array() || points->empty()) fail("points", *points, "an array of at least one object");
    Json all = Json::object();
    SweepAxis& axis = axes_.emplace_back();
    for (std::size_t i = 0; i < points->size() && all.size() <= kMostPaths; ++i) {
      const Json& point = (*points)[i];
      const std::string where = "points." + std::to_string(i);
      if (!point.is_object()) fail(where, point, "an object, {\"policy.name\": \"hcache\"}");
      std::vector<Override>& row = axis.rows.emplace_back();
      for (const auto& [path, value] : point.items()) {
        all[path] = nullptr;
        row.push_back(setting(where, path, value));
      }
    }
    claim("points", all);
  }

  void read_sample() {
    const Json* object = find_object("sample", "an object with method, points and ranges");
    if (!object) return;
    refuse_unknown(*object, "sample", {"method", "points", "seed", "ranges"});
    const Json& method = require(*object, "sample", "method");
    if (method != "random" && method != "latin_hypercube") {
      constexpr std::string_view kMethods[] = {"random", "latin_hypercube"};
      fail("sample.method", method,
           "random, latin_hypercube" +
               (method.is_string() ? suggestion(method.get<std::string>(), kMethods) : ""));
    }
    const auto points = static_cast<std::size_t>(integer(*object, "points", nullptr, 1));
    const auto seed = static_cast<uint64_t>(integer(*object, "seed", "1", 0));
    const Json& ranges = require(*object, "sample", "ranges");
    if (!ranges.is_object() || ranges.empty()) {
      fail("sample.ranges", ranges, "an object, {\"workload.arrivals.sessions_per_s\": [0.05, 0.5]}");
    }
    constexpr std::size_t kMostValues =
        2'000'000;  // all of which are held in memory, with where they are from
    if (points > kMostValues / ranges.size()) {
      fail("sample.points", require(*object, "sample", "points"),
           "at most " + std::to_string(kMostValues / ranges.size()) + " for " +
               std::to_string(ranges.size()) + (ranges.size() == 1 ? " range" : " ranges"));
    }
    claim("sample", ranges);
    SweepAxis& axis = axes_.emplace_back();
    axis.rows.resize(points);
    for (const auto& [path, range] : ranges.items()) {
      const std::vector<double> places = sample(
          method == "random" ? SampleMethod::random : SampleMethod::latin_hypercube, points, seed, path);
      for (std::size_t i = 0; i < points; ++i)
        axis.rows[i].push_back(setting("sample", path, at(path, range, places[i])));
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

  int64_t integer(const Json& object, const char* key, const char* otherwise, int64_t least) const {
    const Json* found = find(object, key);
    if (!found && otherwise) return std::stoll(otherwise);
    const Json& value = require(object, "sample", key);
    const bool whole = value.is_number_integer() && value >= least && value <= 10'000'000;
    if (!whole) {
      fail(below("sample", key), value, "an integer from " + std::to_string(least) + " to 10,000,000");
    }
    return value.get<int64_t>();
  }

  // The value that lies at the share `place` of a range.
  Json at(const std::string& path, const Json& range, double place) const {
    const std::string where = "sample.ranges: " + path;
    if (range.is_array() && range.size() == 2)
      return at(path, Json{{"min", range[0]}, {"max", range[1]}}, place);
    if (!range.is_object()) fail(where, range, "[MIN, MAX], {\"min\", \"max\"} or {\"values\": [...]}");
    if (const Json* values = find(range, "values")) {
      refuse_unknown(range, where, {"values"});
      const auto count = static_cast<double>(values_of("sample.ranges", path, *values).size());
      return (*values)[static_cast<std::size_t>(place * count)];
    }
    refuse_unknown(range, where, {"min", "max", "scale", "integer"});
    const Json& low = require(range, where, "min");
    const Json& high = require(range, where, "max");
    if (!low.is_number()) fail(where + ": min", low, "a number");
    if (!high.is_number() || !(high > low)) fail(where + ": max", high, "a number greater than min");
    const Json scale = range.value("scale", Json("linear"));
    if (scale != "linear" && scale != "log") fail(where + ": scale", scale, "linear, log");
    if (scale == "log" && !(low > 0))
      fail(where + ": min", low, "a number greater than 0 where scale is log");
    const Json whole = range.value("integer", Json(false));
    if (!whole.is_boolean()) fail(where + ": integer", whole, "true or false");
    if (whole == true && !low.is_number_integer()) fail(where + ": min", low, "an integer");
    if (whole == true && !high.is_number_integer()) fail(where + ": max", high, "an integer");

    const double from = low.get<double>(), to = high.get<double>() + (whole == true ? 1 : 0);
    const double value = scale == "log" ? from * std::pow(to / from, place) : from + (to - from) * place;
    if (whole == false) return std::clamp(value, from, to);
    return std::min(static_cast<int64_t>(std::floor(value)), high.get<int64_t>());
  }

  const std::string& file_;
  const std::filesystem::path folder_;
  const Json json_;
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

}  // namespace kvcap
