// Twenty-two results as this revision gives them (tests/golden/results.json), so that they change only on
// purpose. KVCAP_WRITE_GOLDEN=1 writes them anew; the commit says why.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "unit/cli.h"

namespace kvcap::golden_results_test {
namespace {

using Json = nlohmann::ordered_json;

const std::filesystem::path kGolden = std::filesystem::path(KVCAP_SOURCE_DIR) / "tests/golden/results.json";

class GoldenResults : public Cli {
 protected:
  // Those of a scenario's metrics that are stored, as the program gives them.
  Json metrics_of(const Json& entry) const {
    const std::string folder = std::string(KVCAP_SOURCE_DIR) + "/";
    std::vector<std::string> command = {
        "run", folder + "scenarios/" + entry["scenario"].get<std::string>() + ".json", "--json"};
    for (const std::string setting : entry["set"]) {
      command.push_back("--set");
      // Stand-ins lie in traces/ whatever else is at hand.
      const std::size_t path = setting.find("=traces/");
      command.push_back(path == std::string::npos
                            ? setting
                            : setting.substr(0, path + 1) + folder + setting.substr(path + 1));
    }
    const Outcome outcome = kvcap(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    if (outcome.exit_code != 0) return {};
    return Json::parse(outcome.out)["metrics"];
  }
};

TEST_F(GoldenResults, AreThoseThatAreStored) {
  Json golden = Json::parse(read_file(kGolden));
  ASSERT_EQ(golden["results"].size(), 22U);
  const bool writes = std::getenv("KVCAP_WRITE_GOLDEN") != nullptr;
  for (Json& entry : golden["results"]) {
    const Json metrics = metrics_of(entry);
    for (auto& [name, stored] : entry["metrics"].items()) {
      ASSERT_TRUE(metrics.contains(name)) << name;
      const double now =
          metrics[name].is_object() ? metrics[name]["mean"].get<double>() : metrics[name].get<double>();
      if (writes) {
        stored = now;
        continue;
      }
      // Libraries of mathematics differ in the last digits.
      EXPECT_NEAR(now, stored.get<double>(), 1e-6 * std::abs(stored.get<double>()))
          << entry["scenario"] << " " << entry["set"] << ": " << name;
    }
  }
  if (writes) std::ofstream(kGolden) << golden.dump(1) << "\n";
}

}  // namespace
}  // namespace kvcap::golden_results_test
