// Files of prices: what they put in place of a profile's prices, what goes before them, and bad ones.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/input_error.h"
#include "cost/prices.h"
#include "scenario/load.h"
#include "unit/scenario_samples.h"

namespace kvcap::prices_file_test {
namespace {

class PricesFile : public testing::Test {
 protected:
  PricesFile()
      : folder_(std::filesystem::temp_directory_path() / ("kvcap_prices_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~PricesFile() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "quote.json").string(); }
  // `parts`: all members but the schema.
  void write(const std::string& parts) const {
    std::ofstream(path()) << R"({"schema": "kvcap.prices/1")" << (parts.empty() ? "" : ", ") << parts << "}";
  }
  Scenario load(std::vector<std::string> overrides = {}) const {
    overrides.insert(overrides.begin(), {"hardware=h100-sxm", "serving.tensor_parallel_size=1"});
    overrides.push_back("billing.prices=" + path());
    return parse_scenario(sample_scenario(), "chat.json", overrides);
  }
  // Without the folder.
  std::string refusal(const std::string& parts) const {
    write(parts);
    try {
      load();
    } catch (const InputError& error) {
      std::string message = error.what();
      for (std::size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;)
        message.erase(at, folder_.string().size() + 1);
      return message;
    }
    return "";
  }

  std::filesystem::path folder_;
};

TEST_F(PricesFile, ReplacesThePricesOfAllHardwareAndThenOfOneProfile) {
  write(R"("all": {"gpu": {"price_usd_per_hour": 2}, "dram": {"price_usd_per_gb_hour": 0.001}},
           "hardware": {"h100-sxm": {"gpu": {"price_usd_per_hour": 2.5}}, "l40s": {"gpu": {"price_usd_per_hour": 9}}})");
  const HardwareProfile h100 = load().hardware;
  EXPECT_EQ(h100.gpu.price_usd_per_hour, 2.5);
  EXPECT_EQ(h100.dram->price_usd_per_gb_hour, 0.001);
  EXPECT_EQ(h100.ssd->price_usd_per_gb_hour, 0.00011);  // the profile's
  EXPECT_EQ(load({"hardware=l40s"}).hardware.gpu.price_usd_per_hour, 9);
  EXPECT_EQ(load({"hardware=h200-sxm"}).hardware.gpu.price_usd_per_hour, 2);
}

TEST_F(PricesFile, BuysWhatTheProfileRents) {
  write(
      R"("all": {"ssd": {"purchase_usd": 876, "amortization_years": 1}, "energy": {"price_usd_per_kwh": 0.3}})");
  const HardwareProfile h100 = load().hardware;
  EXPECT_EQ(h100.ssd->price_usd_per_gb_hour, 0);
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(h100, Tier::ssd, 1e9), 876 / 8760.0);  // the whole device
  EXPECT_EQ(h100.energy.price_usd_per_kwh, 0.3);
  // And a profile's own entry rents again what all others buy.
  write(R"("all": {"ssd": {"purchase_usd": 876}},
           "hardware": {"h100-sxm": {"ssd": {"price_usd_per_gb_hour": 0.0002}}})");
  EXPECT_EQ(load().hardware.ssd->purchase_usd, 0);
  EXPECT_EQ(load().hardware.ssd->price_usd_per_gb_hour, 0.0002);
}

TEST_F(PricesFile, GivesWayToTheCommandLine) {
  write(R"("all": {"gpu": {"price_usd_per_hour": 2}, "dram": {"price_usd_per_gb_hour": 0.001}})");
  const Scenario scenario = load({"hardware.gpu.price_usd_per_hour=7"});
  EXPECT_EQ(scenario.hardware.gpu.price_usd_per_hour, 7);
  EXPECT_EQ(scenario.hardware.dram->price_usd_per_gb_hour, 0.001);
}

TEST_F(PricesFile, SaysOfEachPriceWhereItIsFrom) {
  write(R"("hardware": {"h100-sxm": {"gpu": {"price_usd_per_hour": 2.5}}})");
  const Scenario scenario = load({"hardware.dram.price_usd_per_gb_hour=0.002"});
  const auto from = [&](const std::string& field) {
    const auto found = std::find_if(scenario.price_sources.begin(), scenario.price_sources.end(),
                                    [&](const PriceSource& one) { return one.field == field; });
    return found == scenario.price_sources.end() ? "nowhere" : found->from;
  };
  EXPECT_EQ(from("gpu.price_usd_per_hour"), path() + ": hardware.h100-sxm.gpu.price_usd_per_hour");
  EXPECT_EQ(from("dram.price_usd_per_gb_hour"), "--set hardware.dram.price_usd_per_gb_hour=0.002");
  EXPECT_EQ(from("ssd.price_usd_per_gb_hour"), "hwprofiles/h100-sxm.json: ssd.price_usd_per_gb_hour");
  EXPECT_EQ(from("remote.price_usd_per_gb_hour"), "nowhere");
  EXPECT_EQ(scenario.prices_file, path());
  EXPECT_NE(std::find(scenario.notes.begin(), scenario.notes.end(),
                      "prices of " + path() +
                          ": gpu.price_usd_per_hour 2.5; all others come from the profile or --set"),
            scenario.notes.end());
}

// The resolved scenario has the prices and no longer needs the file.
TEST_F(PricesFile, IsTakenIntoTheResolvedScenario) {
  write(R"("all": {"gpu": {"price_usd_per_hour": 2}})");
  const Scenario scenario = load();
  std::filesystem::remove(path());
  const Scenario again = parse_scenario(scenario.resolved_json, "result.json", {});
  EXPECT_EQ(again.hardware.gpu.price_usd_per_hour, 2);
  EXPECT_EQ(again.resolved_json, scenario.resolved_json);
}

// A price that is replaced takes its date with it.
TEST_F(PricesFile, GivesTheDateOfItsPricesAndNoneWhereItStatesNone) {
  EXPECT_EQ(parse_scenario(sample_scenario(), "chat.json", {"hardware=h100-sxm"}).hardware.gpu.price_date,
            "2026-03");
  write(R"("date": "2026-10-31", "all": {"gpu": {"price_usd_per_hour": 2}})");
  const HardwareProfile dated = load({"hardware.ssd.price_usd_per_gb_hour=0.001"}).hardware;
  EXPECT_EQ(dated.gpu.price_date, "2026-10-31");
  EXPECT_EQ(dated.dram->price_date, "2026-11");  // the profile's
  EXPECT_EQ(dated.ssd->price_date, "");          // that of --set
  write(R"("all": {"gpu": {"price_usd_per_hour": 2}})");
  EXPECT_EQ(load().hardware.gpu.price_date, "");
  EXPECT_EQ(load({"hardware.gpu.price_date=2026"}).hardware.gpu.price_date, "2026");
  EXPECT_EQ(refusal(R"("date": "March", "all": {"gpu": {"price_usd_per_hour": 2}})"),
            "quote.json: date: found \"March\", allowed: a date: 2026, 2026-03 or 2026-03-31");
  for (const char* bad :
       {"26", "20x6", "2026-13", "2026-00", "2026-3", "2026/03", "2026-03-32", "2026-03-00", "2026-03-31x"}) {
    EXPECT_NE(refusal(R"("all": {"gpu": {"price_usd_per_hour": 2}}, "date": ")" + std::string(bad) + "\"")
                  .find("allowed: a date"),
              std::string::npos)
        << bad;
  }
}

// Storage whose own price a user gives is billed, whatever the profile's rent includes.
TEST_F(PricesFile, BillsStorageThatItPrices) {
  write(R"("all": {"dram": {"price_usd_per_gb_hour": 0.001}})");
  const HardwareProfile h100 = load().hardware;
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(h100, Tier::dram, 100e9), 0.1);
  EXPECT_DOUBLE_EQ(tier_usd_per_hour(h100, Tier::ssd, 7680e9), 0);
}

TEST_F(PricesFile, OfAnOwnProfileIsNamedByItsPath) {
  write(R"("hardware": {"mine.json": {"dram": {"price_usd_per_gb_hour": 0.5}}})");
  std::ofstream(folder_ / "mine.json") << sample_hardware();
  const Scenario scenario = parse_scenario(sample_scenario(), "chat.json", {"billing.prices=" + path()});
  EXPECT_EQ(scenario.hardware.dram->price_usd_per_gb_hour, 0.5);
  EXPECT_EQ(load().hardware.dram->price_usd_per_gb_hour, 0.0044);
}

TEST_F(PricesFile, IsRefusedWithOneLineThatSaysWhere) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_TRUE(
      refusal(R"("hardware": {"h100-smx": {}})")
          .starts_with(
              "quote.json: hardware: found \"h100-smx\"; did you mean \"h100-sxm\"? allowed: a100-40g-"));
  EXPECT_EQ(refusal(R"("al": {})"), "quote.json: al: unknown key; did you mean \"all\"?");
  EXPECT_EQ(refusal(R"("all": {"gpus": {}})"), "quote.json: all.gpus: unknown key; did you mean \"gpu\"?");
  EXPECT_EQ(refusal(R"("all": {"gpu": {"price_usd_per_hours": 2}})"),
            "quote.json: all.gpu.price_usd_per_hours: unknown key; did you mean \"price_usd_per_hour\"?");
  EXPECT_EQ(refusal(R"("hardware": {"l40s": {"gpu": {"price_usd_per_hour": -1}}})"),
            "quote.json: hardware.l40s.gpu.price_usd_per_hour: found -1, allowed: a number from 0 to "
            "1000000000000");
  EXPECT_EQ(refusal(R"("all": {"gpu": {"price_usd_per_hour": "2"}})"),
            "quote.json: all.gpu.price_usd_per_hour: found \"2\", allowed: a number from 0 to 1000000000000");
  EXPECT_EQ(refusal(R"("all": {"dram": {"price_usd_per_gb_hour": 1, "purchase_usd_per_gb": 4}})"),
            "quote.json: all.dram.purchase_usd_per_gb: found 4 with price_usd_per_gb_hour, allowed: one of "
            "them (rented or bought)");
  EXPECT_EQ(refusal(R"("all": [])"), "quote.json: all: found an array, allowed: an object");
  std::ofstream(path()) << R"({"schema": "kvcap.plan/1"})";
  EXPECT_THROW(load(), InputError);
  std::filesystem::remove(path());
  EXPECT_THROW(load(), InputError);
}

}  // namespace
}  // namespace kvcap::prices_file_test
