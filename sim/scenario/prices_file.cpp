// The only reader of files of prices (kvcap.prices/1): what a user pays, for all hardware or by profile. The
// names of parts and prices are those of a hardware profile.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/joined.h"
#include "base/tier.h"
#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPricesSchema = "kvcap.prices/1";
constexpr std::array<std::string_view, 5> kKeys = {"schema", "name", "notes", "all", "hardware"};
constexpr double kMostUsd = 1e12;

// One part of a profile and the prices that it may have. Of `rent` and `purchase` one replaces the other.
struct PricedPart {
  std::string_view name;
  std::string_view rent, purchase;
  std::vector<std::string_view> keys;
};
const std::vector<PricedPart>& priced_parts() {
  static const std::vector<PricedPart> parts = [] {
    std::vector<PricedPart> all = {
        {"gpu",
         "price_usd_per_hour",
         "purchase_usd",
         {"price_usd_per_hour", "purchase_usd", "amortization_years"}},
        {"dram",
         "price_usd_per_gb_hour",
         "purchase_usd_per_gb",
         {"price_usd_per_gb_hour", "purchase_usd_per_gb", "amortization_years"}},
        {"ssd",
         "price_usd_per_gb_hour",
         "purchase_usd",
         {"price_usd_per_gb_hour", "purchase_usd", "replacement_usd_per_gb", "amortization_years"}},
        {"remote", "", "", {"price_usd_per_gb_hour", "price_usd_per_request"}},
        {"energy", "", "", {"price_usd_per_kwh", "pue"}}};
    for (const TierRow& one : kTierRows) {
      if (!one.table) continue;
      all.push_back({one.name,
                     "price_usd_per_gb_hour",
                     "purchase_usd_per_gb",
                     {"price_usd_per_gb_hour", "purchase_usd_per_gb", "amortization_years"}});
    }
    return all;
  }();
  return parts;
}

// The file, checked as a whole before any price is taken.
class PricesFile {
 public:
  PricesFile(std::string file, const Json& json) : file_(std::move(file)), json_(json) {}

  void check(const std::string& own_profile) {
    require_object(json_, "");
    const Json schema = json_.value("schema", Json());
    if (schema.is_null()) throw InputError(file_ + ": schema: missing, required");
    if (schema != kPricesSchema) {
      throw InputError(file_ + ": schema: found " + shown(schema) + ", this version supports \"" +
                       std::string(kPricesSchema) + "\"" + other_reader(schema));
    }
    know(json_, "", kKeys);
    if (const Json* all = find("all")) check_prices(*all, "all");
    const Json* hardware = find("hardware");
    if (!hardware) return;
    require_object(*hardware, "hardware");
    for (const auto& [name, prices] : hardware->items()) {
      check_name(name, own_profile);
      check_prices(prices, below("hardware", name));
    }
  }

  // Of all hardware, then of this profile, which goes before.
  std::vector<std::pair<std::string, const Json*>> entries_of(const std::string& profile) const {
    std::vector<std::pair<std::string, const Json*>> entries;
    if (const Json* all = find("all")) entries.emplace_back("all", all);
    if (const Json* hardware = find("hardware")) {
      for (const auto& [name, prices] : hardware->items()) {
        if (profile_name(name) == profile) entries.emplace_back(below("hardware", name), &prices);
      }
    }
    return entries;
  }

 private:
  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  void require_object(const Json& found, const std::string& path) const {
    if (found.is_object()) return;
    throw InputError(file_ + (path.empty() ? "" : ": " + path) + ": found " + shown(found) +
                     ", allowed: an object");
  }
  void know(const Json& object, const std::string& path, std::span<const std::string_view> keys) const {
    for (const auto& [key, value] : object.items()) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      throw InputError(file_ + ": " + below(path, key) + ": unknown key, allowed: " + joined(keys) +
                       suggestion(key, keys));
    }
  }

  static bool is_path(const std::string& name) {
    return name.find('/') != std::string::npos || name.ends_with(".json");
  }
  // A profile of the user's is named by its path; what it is called is inside.
  std::string profile_name(const std::string& name) const {
    if (!is_path(name)) return name;
    const std::string path = (fs::path(file_).parent_path() / name).lexically_normal().string();
    Json name_inside;
    try {
      const Json profile = parse_json(read_text(path), path);
      if (profile.is_object()) name_inside = profile.value("name", Json());
    } catch (const InputError& error) {
      throw InputError(file_ + ": " + below("hardware", name) + ": " + error.what());
    }
    if (name_inside.is_string()) return name_inside.get<std::string>();
    throw InputError(file_ + ": " + below("hardware", name) +
                     ": found a file without a name, allowed: the path of a profile");
  }
  void check_name(const std::string& name, const std::string& own_profile) const {
    std::vector<std::string_view> names;
    for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) names.push_back(entry.name);
    const bool is_known = name == own_profile || std::find(names.begin(), names.end(), name) != names.end();
    if (is_known) return;
    if (is_path(name)) {
      profile_name(name);
      return;
    }
    throw InputError(file_ + ": hardware: found \"" + name + "\", allowed: " + joined(names) +
                     ", or the path of a profile" + suggestion(name, names));
  }

  void check_prices(const Json& prices, const std::string& path) const {
    require_object(prices, path);
    std::vector<std::string_view> names = {"notes"};
    for (const PricedPart& part : priced_parts()) names.push_back(part.name);
    know(prices, path, names);
    for (const PricedPart& part : priced_parts()) {
      const auto found = prices.find(part.name);
      if (found == prices.end()) continue;
      check_part(*found, part, below(path, part.name));
    }
  }

  void check_part(const Json& found, const PricedPart& part, const std::string& path) const {
    require_object(found, path);
    std::vector<std::string_view> keys = part.keys;
    keys.push_back("notes");
    know(found, path, keys);
    for (std::string_view key : part.keys) {
      const auto value = found.find(key);
      if (value == found.end()) continue;
      const double number = value->is_number() ? value->get<double>() : NAN;
      const double least = key == "pue" ? 1 : key == "amortization_years" ? 1e-6 : 0;
      if (number >= least && number <= kMostUsd) continue;
      throw InputError(file_ + ": " + below(path, key) + ": found " + shown(*value) +
                       ", allowed: a number from " + number_text(least) + " to " + number_text(kMostUsd));
    }
    if (number(found, part.rent) > 0 && number(found, part.purchase) > 0) {
      throw InputError(file_ + ": " + below(path, part.purchase) + ": found " +
                       number_text(number(found, part.purchase)) + " beside " + std::string(part.rent) +
                       ", allowed: one of them (rented or bought)");
    }
  }

  static double number(const Json& object, std::string_view key) {
    const auto found = object.find(key);
    return key.empty() || found == object.end() ? 0 : found->get<double>();
  }

  std::string file_;
  const Json& json_;
};

std::string field_of(const PricedPart& part, std::string_view key) {
  return below(below("hardware", part.name), key);
}

// One price of the document; the other way to pay for the part gives way.
void set_price(Document& document, const PricedPart& part, std::string_view key, const Json& value,
               const std::string& place) {
  Json& object = document.json["hardware"][std::string(part.name)];
  const auto put = [&](std::string_view name, const Json& number) {
    object[std::string(name)] = number;
    const std::string field = field_of(part, name);
    document.places.add_override(field, field, place, {}, number.dump());
  };
  put(key, value);
  const std::string_view other = key == part.rent ? part.purchase : key == part.purchase ? part.rent : "";
  if (!other.empty() && value > 0 && object.contains(std::string(other))) put(other, 0);
}

}  // namespace

void take_prices(Document& document) {
  const auto billing = document.json.find("billing");
  if (billing == document.json.end() || !billing->is_object()) return;
  const auto written = billing->find("prices");
  if (written == billing->end() || !written->is_string()) return;
  const auto name = written->get<std::string>();
  if (name.empty()) return;
  *written = "";
  const std::string place = document.places.at("billing.prices");
  document.prices_file = (document.places.folder("billing.prices") / name).lexically_normal().string();
  Json json;
  try {
    json = parse_json(read_text(document.prices_file), document.prices_file);
  } catch (const InputError& error) {
    const std::string reason = error.what();
    throw InputError(reason.starts_with(place) ? reason : place + ": " + reason);
  }
  const auto hardware = document.json.find("hardware");
  const bool has_profile = hardware != document.json.end() && hardware->is_object();
  const Json called = has_profile ? hardware->value("name", Json()) : Json();
  const std::string profile = called.is_string() ? called.get<std::string>() : "";
  PricesFile prices(document.prices_file, json);
  prices.check(profile);
  if (!has_profile) return;

  // What --set says goes before; what is taken from the file counts as set, so this is asked first.
  std::vector<std::string> kept;
  for (const PricedPart& part : priced_parts()) {
    for (std::string_view key : part.keys) {
      const std::string field = field_of(part, key);
      if (document.places.is_override(field)) kept.push_back(field);
    }
  }
  for (const auto& [entry, parts] : prices.entries_of(profile)) {
    for (const PricedPart& part : priced_parts()) {
      const auto found = parts->find(part.name);
      if (found == parts->end()) continue;
      const auto has = hardware->find(part.name);
      const bool is_there = has != hardware->end() && has->is_object();
      const bool is_made = has == hardware->end() && part.name == "energy";
      if (!is_there && !is_made) continue;  // no such part, no price
      for (std::string_view key : part.keys) {
        const auto value = found->find(key);
        const std::string field = field_of(part, key);
        if (value == found->end() || std::find(kept.begin(), kept.end(), field) != kept.end()) continue;
        set_price(document, part, key, *value,
                  document.prices_file + ": " + below(below(entry, part.name), key));
      }
    }
  }
  std::string taken;
  for (const PriceSource& one : price_sources(document)) {
    if (!one.from.starts_with(document.prices_file + ": ")) continue;
    taken += (taken.empty() ? "" : ", ") + one.field + " " + number_text(one.value);
  }
  document.notes.push_back("prices of " + document.prices_file + ": " + (taken.empty() ? "none" : taken) +
                           "; the others are the profile's or --set's");
}

std::vector<PriceSource> price_sources(const Document& document) {
  std::vector<PriceSource> sources;
  const auto hardware = document.json.find("hardware");
  if (hardware == document.json.end() || !hardware->is_object()) return sources;
  for (const PricedPart& part : priced_parts()) {
    const auto object = hardware->find(part.name);
    if (object == hardware->end() || !object->is_object()) continue;
    for (std::string_view key : part.keys) {
      const auto value = object->find(key);
      if (key.find("_usd") == std::string_view::npos || value == object->end()) continue;
      if (!value->is_number() || !(*value > 0)) continue;
      sources.push_back(
          {below(part.name, key), value->get<double>(), document.places.at(field_of(part, key))});
    }
  }
  return sources;
}

}  // namespace kvcap
