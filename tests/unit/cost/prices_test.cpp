#include "cost/prices.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/input_error.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap::prices_test {
namespace {

using Json = nlohmann::ordered_json;

HardwareProfile h100(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"hardware=h100-sxm"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  all.emplace_back("serving.tensor_parallel_size=1");
  return parse_scenario(sample_scenario(), "chat.json", all).hardware;
}

std::string error_of(const std::vector<std::string>& overrides) {
  try {
    h100(overrides);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Prices, AreTheRentOrThePurchaseWrittenOffEvenly) {
  HardwareProfile hardware = h100();
  EXPECT_DOUBLE_EQ(gpu_usd_per_hour(hardware), hardware.gpu.price_usd_per_hour);
  hardware.gpu = {.purchase_usd = 35040, .amortization_years = 4};
  hardware.dram = Dram{.capacity_bytes = 512e9, .purchase_usd_per_gb = 8.76, .amortization_years = 5};
  hardware.ssd = Ssd{.capacity_bytes = 4e12, .purchase_usd = 876, .amortization_years = 2};
  EXPECT_DOUBLE_EQ(gpu_usd_per_hour(hardware), 1);                         // 35040 / (4 x 8760)
  EXPECT_DOUBLE_EQ(usd_per_gb_hour(hardware, Tier::dram), 0.001 / 5);      // 8.76 / 8760 / 5
  EXPECT_DOUBLE_EQ(usd_per_gb_hour(hardware, Tier::ssd), 0.1 / 4000 / 2);  // 876 $ for 4,000 GB
  EXPECT_DOUBLE_EQ(store_usd(hardware, Tier::ssd, 4e12, 7200), 0.1);       // a device for two hours
}

TEST(Prices, OfStorageInTheRentAreZeroUpToWhatItIncludes) {
  HardwareProfile hardware = h100();
  ASSERT_TRUE(hardware.gpu.price_includes_storage);
  EXPECT_EQ(tier_usd_per_hour(hardware, Tier::dram, 250e9), 0);
  EXPECT_EQ(usd_per_gb_hour(hardware, Tier::dram), 0);
  EXPECT_TRUE(has_price(hardware, Tier::dram));
  hardware.dram->included_bytes = 100e9;
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(hardware, Tier::dram, 150e9), 50 * 0.0044);
  EXPECT_DOUBLE_EQ(usd_per_gb_hour(hardware, Tier::dram), 150 * 0.0044 / 250);
  // More than the instance has is paid for.
  const HardwareProfile more = h100({"hardware.dram.capacity_bytes=400e9", "hardware.ssd.count=3"});
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(more, Tier::dram, 400e9), (400 - 250) * 0.0044);
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(more, Tier::ssd, 3 * 7680e9), 2 * 7680 * 0.00011);
  // What is bought is paid for, and bought GPUs have no rent that includes anything.
  hardware.gpu.price_usd_per_hour = 0;
  hardware.gpu.purchase_usd = 30000;
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(hardware, Tier::dram, 250e9), 250 * 0.0044);
  const HardwareProfile bought =
      h100({"hardware.dram.price_usd_per_gb_hour=0", "hardware.dram.purchase_usd_per_gb=8.76"});
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(bought, Tier::dram, 250e9), 250 * 0.001 / 5);
  const HardwareProfile extra = h100({"hardware.gpu.price_includes_storage=false"});
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(extra, Tier::ssd, 7680e9), 7680 * 0.00011);
}

TEST(Prices, OfZeroAreNotKnown) {
  HardwareProfile hardware = h100({"hardware.gpu.price_includes_storage=false"});
  EXPECT_TRUE(has_price(hardware, Tier::ssd));
  hardware.ssd->price_usd_per_gb_hour = 0;
  EXPECT_FALSE(has_price(hardware, Tier::ssd));
  hardware.ssd->purchase_usd = 100;
  EXPECT_TRUE(has_price(hardware, Tier::ssd));
  hardware.remote = Remote{.capacity_bytes = 1e12, .bandwidth_bytes_per_s = 1e9};
  EXPECT_FALSE(has_price(hardware, Tier::remote));
  hardware.remote->price_usd_per_request = 1e-6;
  EXPECT_TRUE(has_price(hardware, Tier::remote));
}

TEST(Prices, OfTheProfileGiveWayToThoseOfTheCommandLine) {
  EXPECT_EQ(h100({"hardware.gpu.price_usd_per_hour=2.5"}).gpu.price_usd_per_hour, 2.5);
  const HardwareProfile bought = h100({"hardware.gpu.price_usd_per_hour=0", "hardware.gpu.purchase_usd=26280",
                                       "hardware.gpu.amortization_years=3"});
  EXPECT_DOUBLE_EQ(gpu_usd_per_hour(bought), 1);
}

TEST(Prices, OfOnePartAreRentOrPurchaseAndNotBoth) {
  EXPECT_EQ(
      error_of({"hardware.gpu.price_usd_per_hour=3.5", "hardware.gpu.purchase_usd=25000"}),
      "--set hardware.gpu.purchase_usd=25000: found 25000, allowed: 0 with gpu.price_usd_per_hour = 3.5 "
      "(rented or bought: one of them is 0)");
  EXPECT_NE(error_of({"hardware.dram.purchase_usd_per_gb=4"})
                .find("purchase_usd_per_gb=4: found 4, allowed: 0 with"),
            std::string::npos);
  EXPECT_NE(error_of({"hardware.ssd.purchase_usd=800"}).find("purchase_usd=800: found 800, allowed: 0 with"),
            std::string::npos);
  EXPECT_NE(
      error_of({"hardware.gpu.amortization_years=0"}).find("allowed: a number from 1e-06 to 1000000000000"),
      std::string::npos);
  EXPECT_NE(error_of({"hardware.gpu.power_idle_w=701"}).find("allowed: at most gpu.power_busy_w = 700"),
            std::string::npos);
}

// The note beside a number that begins with its name, or that begins with several names.
std::string note_on(const Json& part, const std::string& key) {
  for (const Json& note : part.value("notes", Json::array())) {
    const auto text = note.get<std::string>();
    if (text.substr(0, text.find(':')).find(key) != std::string::npos) return text;
  }
  return "";
}

bool names_a_year(const std::string& text) {
  for (std::size_t at = text.find("20"); at != std::string::npos; at = text.find("20", at + 1)) {
    const std::string year = text.substr(at, 4);
    if (year >= "2015" && year <= "2035" && year.find_first_not_of("0123456789") == std::string::npos)
      return true;
  }
  return false;
}

TEST(Prices, OfEveryShippedProfileHaveADateAndASourceAndWattsHaveASource) {
  int prices = 0, watts = 0;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    const Json profile = Json::parse(entry.text);
    for (const auto& [name, part] : profile.items()) {
      if (!part.is_object()) continue;
      for (const auto& [key, value] : part.items()) {
        if (!value.is_number() || value.get<double>() == 0) continue;
        const bool is_price = key.find("_usd") != std::string::npos;
        if (!is_price && !key.starts_with("power_")) continue;
        const std::string note = note_on(part, key);
        EXPECT_GT(note.size(), key.size() + 20) << entry.name << " " << name << "." << key;
        EXPECT_TRUE(!is_price || names_a_year(note)) << entry.name << " " << key << ": " << note;
        (is_price ? prices : watts)++;
      }
    }
  }
  EXPECT_GE(prices, 3 * 13);
  EXPECT_GE(watts, 2 * 20);
}

}  // namespace
}  // namespace kvcap::prices_test
