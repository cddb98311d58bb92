// Reads files of prices (kvcap.prices/1), which list a user's prices for all hardware or per profile. Parts
// and prices have the same names as in a hardware profile. No other code reads these files.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/json_schema.h"
#include "base/read_fields.h"
#include "base/text/joined.h"
#include "base/tier.h"
#include "scenario/fields.h"
#include "scenario/json.h"

namespace kvcap {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPricesSchema = "kvcap.prices/1";
constexpr std::string_view kPriceDate = "price_date";
constexpr double kMaxUsd = 1e12;

struct PriceKey {
  std::string_view name;
  double least = 0;
};
// A part of a profile and its possible prices; `rent` and `purchase` exclude each other.
struct PricedPart {
  std::string_view name;
  std::string_view rent, purchase;
  std::vector<PriceKey> keys;
};
const std::vector<PricedPart>& priced_parts() {
  constexpr PriceKey kYears = {"amortization_years", 1e-6};
  static const std::vector<PricedPart> parts = [kYears] {
    std::vector<PricedPart> all = {
        {"gpu", "price_usd_per_hour", "purchase_usd", {{"price_usd_per_hour"}, {"purchase_usd"}, kYears}},
        {"dram",
         "price_usd_per_gb_hour",
         "purchase_usd_per_gb",
         {{"price_usd_per_gb_hour"}, {"purchase_usd_per_gb"}, kYears}},
        {"ssd",
         "price_usd_per_gb_hour",
         "purchase_usd",
         {{"price_usd_per_gb_hour"}, {"purchase_usd"}, {"replacement_usd_per_gb"}, kYears}},
        {"remote", "", "", {{"price_usd_per_gb_hour"}, {"price_usd_per_request"}}},
        {"energy", "", "", {{"price_usd_per_kwh"}, {"pue", 1}}}};
    for (const TierRow& one : kTierRows) {
      if (!one.table) continue;
      all.push_back({one.name,
                     "price_usd_per_gb_hour",
                     "purchase_usd_per_gb",
                     {{"price_usd_per_gb_hour"}, {"purchase_usd_per_gb"}, kYears}});
    }
    return all;
  }();
  return parts;
}

// Prices by part and key.
using Prices = std::map<std::pair<std::string_view, std::string_view>, double>;
struct PartPrices {
  Prices prices;
};
struct PricesFile {
  std::string name, date;
  PartPrices all;
  Members<PartPrices> hardware;
};

void describe(FieldVisitor& v, PartPrices& o) {
  for (const PricedPart& part : priced_parts()) {
    v.group(part.name, {}, [&](FieldVisitor& in) {
      for (const PriceKey& key : part.keys) {
        double price = NAN;
        in.field(key.name, price, {.min = key.least, .max = kMaxUsd});
        if (!std::isnan(price)) o.prices[{part.name, key.name}] = price;
      }
    });
  }
}

void describe(FieldVisitor& v, PricesFile& o) {
  v.schema(kPricesSchema, true);
  v.field("name", o.name, {.meaning = "of the list"});
  v.field("date", o.date, {.meaning = "of its prices: 2026, 2026-03 or 2026-03-31; empty: not known"});
  v.field("all", o.all, {.meaning = "prices of all hardware"});
  v.field("hardware", o.hardware, {.meaning = "prices by the name or path of a profile"});
}

double price_of(const Prices& prices, const PricedPart& part, std::string_view key) {
  const auto found = prices.find({part.name, key});
  return found == prices.end() ? 0 : found->second;
}

void refuse_rent_beside_purchase(const Prices& prices, const std::string& place) {
  for (const PricedPart& part : priced_parts()) {
    const double purchase_usd = price_of(prices, part, part.purchase);
    if (!(price_of(prices, part, part.rent) > 0) || !(purchase_usd > 0)) continue;
    throw InputError(below(below(place, part.name), part.purchase) + ": found " + number_text(purchase_usd) +
                     " with " + std::string(part.rent) + ", allowed: one of them (rented or bought)");
  }
}

bool is_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".json");
}
// Returns the name of the profile to which `name` refers: `name` itself or, if it is the path of a user's
// profile, the name inside that file.
std::string profile_name(const std::string& file, const std::string& name) {
  if (!is_path(name)) return name;
  const std::string path = (fs::path(file).parent_path() / name).lexically_normal().string();
  Json name_inside;
  try {
    const Json profile = parse_json(read_text(path), path);
    if (profile.is_object()) name_inside = profile.value("name", Json());
  } catch (const InputError& error) {
    throw InputError(file + ": " + below("hardware", name) + ": " + error.what());
  }
  if (name_inside.is_string()) return name_inside.get<std::string>();
  throw InputError(file + ": " + below("hardware", name) +
                   ": found a file without a name, allowed: the path of a profile");
}
void check_name(const std::string& file, const std::string& name, const std::string& own_profile) {
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) names.push_back(entry.name);
  if (name == own_profile || std::find(names.begin(), names.end(), name) != names.end()) return;
  if (is_path(name)) {
    profile_name(file, name);
    return;
  }
  throw InputError(file + ": hardware: " + unknown_profile(name) + ", or the path of a profile");
}

// Reads the prices and checks the whole file before any price is used.
PricesFile read_prices(const Json& json, const std::string& file, const std::string& own_profile) {
  PricesFile prices = read_fields<PricesFile>(json, file);
  refuse_rent_beside_purchase(prices.all.prices, file + ": all");
  for (const auto& [name, parts] : prices.hardware) {
    check_name(file, name, own_profile);
    refuse_rent_beside_purchase(parts.prices, file + ": " + below("hardware", name));
  }
  return prices;
}

// Returns the prices of all hardware, then the prices of this profile, which take precedence. Each entry has
// its path in the file.
std::vector<std::pair<std::string, const Prices*>> entries_of(const PricesFile& prices,
                                                              const std::string& file,
                                                              const std::string& profile) {
  std::vector<std::pair<std::string, const Prices*>> entries = {{"all", &prices.all.prices}};
  for (const auto& [name, parts] : prices.hardware) {
    if (profile_name(file, name) == profile) entries.emplace_back(below("hardware", name), &parts.prices);
  }
  return entries;
}

std::string field_of(const PricedPart& part, std::string_view key) {
  return below(below("hardware", part.name), key);
}

void set_date(Document& document, const PricedPart& part, const std::string& date, const std::string& place) {
  const std::string field = field_of(part, kPriceDate);
  document.json["hardware"][std::string(part.name)][std::string(kPriceDate)] = date;
  document.places.add_override(field, field, place, {}, date);
}

// Sets one price in the document. A rent above 0 sets the part's purchase price to 0, and vice versa.
void set_price(Document& document, const PricedPart& part, std::string_view key, double value,
               const std::string& place) {
  Json& object = document.json["hardware"][std::string(part.name)];
  const auto put = [&](std::string_view name, double price) {
    const Json number = price;
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
  const PricesFile prices = read_prices(json, document.prices_file, profile);
  if (!has_profile) return;

  // --set takes precedence. This loop comes first because prices from the file count as overrides, too.
  std::vector<std::string> kept;
  for (const PricedPart& part : priced_parts()) {
    for (const PriceKey& key : part.keys) {
      const std::string field = field_of(part, key.name);
      if (document.places.is_override(field)) kept.push_back(field);
    }
  }
  for (const auto& [entry, parts] : entries_of(prices, document.prices_file, profile)) {
    for (const PricedPart& part : priced_parts()) {
      const auto has = hardware->find(part.name);
      const bool is_there = has != hardware->end() && has->is_object();
      const bool is_made = has == hardware->end() && part.name == "energy";
      if (!is_there && !is_made) continue;  // no such part
      for (const PriceKey& key : part.keys) {
        const auto price = parts->find({part.name, key.name});
        const bool is_kept = std::find(kept.begin(), kept.end(), field_of(part, key.name)) != kept.end();
        if (price == parts->end() || is_kept) continue;
        set_price(document, part, key.name, price->second,
                  document.prices_file + ": " + below(below(entry, part.name), key.name));
        if (!prices.date.empty() && part.name != "energy") {
          set_date(document, part, prices.date, document.prices_file + ": date");
        }
      }
    }
  }
  std::string taken;
  for (const PriceSource& one : price_sources(document)) {
    if (!one.from.starts_with(document.prices_file + ": ")) continue;
    taken += (taken.empty() ? "" : ", ") + one.field + " " + number_text(one.value);
  }
  document.notes.push_back("prices of " + document.prices_file + ": " + (taken.empty() ? "none" : taken) +
                           "; all others come from the profile or --set");
}

void drop_old_dates(Document& document) {
  const auto hardware = document.json.find("hardware");
  if (hardware == document.json.end() || !hardware->is_object()) return;
  const Places& places = document.places;
  for (const PricedPart& part : priced_parts()) {
    const auto object = hardware->find(part.name);
    if (object == hardware->end() || !object->is_object()) continue;
    const bool is_replaced = std::any_of(part.keys.begin(), part.keys.end(), [&](const PriceKey& key) {
      return key.name.find("_usd") != std::string_view::npos && places.is_override(field_of(part, key.name));
    });
    if (is_replaced && !places.is_override(field_of(part, kPriceDate)))
      object->erase(std::string(kPriceDate));
  }
}

std::vector<PriceSource> price_sources(const Document& document) {
  std::vector<PriceSource> sources;
  const auto hardware = document.json.find("hardware");
  if (hardware == document.json.end() || !hardware->is_object()) return sources;
  for (const PricedPart& part : priced_parts()) {
    const auto object = hardware->find(part.name);
    if (object == hardware->end() || !object->is_object()) continue;
    for (const PriceKey& row : part.keys) {
      const std::string_view key = row.name;
      const auto value = object->find(key);
      if (key.find("_usd") == std::string_view::npos || value == object->end()) continue;
      if (!value->is_number() || !(*value > 0)) continue;
      const Json date = object->value(std::string(kPriceDate), Json(""));
      sources.push_back({below(part.name, key), value->get<double>(), document.places.at(field_of(part, key)),
                         date.is_string() && key != "replacement_usd_per_gb" ? date.get<std::string>() : ""});
    }
  }
  return sources;
}

std::string prices_json_schema() {
  PricesFile prices;
  return json_schema(kPricesSchema, [&](FieldVisitor& v) { describe(v, prices); });
}

}  // namespace kvcap
