// The form of kvcap serve agrees with the table of fields, the catalogue and the options of kvcap compare.
#include "serve/form.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "policy/table.h"
#include "scenario/field_entries.h"
#include "scenario/load.h"
#include "unit/process.h"
#include "unit/programs.h"
#include "unit/shell_word.h"

namespace kvcap::serve_form_test {
namespace {

using Json = nlohmann::json;

TEST(ServeForm, NamesFieldsOfTheTableAndOptionsOfCompare) {
  const std::string help = shell_output(shell_word(kvcap_program()) + " compare --help").text;
  std::set<std::string_view> names;
  for (const FormInput& input : form_inputs()) {
    EXPECT_TRUE(names.insert(input.name).second) << input.name;
    EXPECT_EQ(form_input(input.name), &input);
    if (!input.field.empty()) {
      EXPECT_NE(field_entry(std::string(input.field)), nullptr) << input.field;
    }
    if (!input.option.empty()) {
      EXPECT_NE(help.find(input.option), std::string::npos) << input.option;
    }
    const bool is_field = input.option.empty() && input.name != "scenario";
    if (is_field) {
      EXPECT_EQ(input.name, input.field) << "--set takes the path of a field";
    }
  }
  EXPECT_EQ(form_input("none"), nullptr);
}

TEST(ServeForm, OffersTheWholeCatalogueAndEveryField) {
  const Json form = Json::parse(form_json({"mine.json", "demo"}));
  EXPECT_EQ(form["inputs"].size(), form_inputs().size());
  EXPECT_EQ(form["fields"].size(), scenario_fields().size());
  const Json& choices = form["choices"];
  EXPECT_EQ(choices["models"].size(), catalogue(Catalogue::models).size());
  EXPECT_EQ(choices["hardware"].size(), catalogue(Catalogue::hardware).size());
  EXPECT_EQ(choices["policies"].size(), policy_names().size());
  EXPECT_EQ(choices["scenarios"][0]["name"], "");
  EXPECT_EQ(choices["scenarios"][1]["name"], "mine.json");
  EXPECT_EQ(form["start"], "mine.json");
  EXPECT_EQ(Json::parse(form_json(shipped_scenarios()))["start"], "demo");
  for (const auto& [list, entries] : choices.items()) EXPECT_GT(entries.size(), 2U) << list;
  for (const Json& policy : choices["policies"]) EXPECT_FALSE(policy["summary"].empty()) << policy;
}

TEST(ServeForm, HasTheValuesOfEveryShippedScenarioThatCanBeLoaded) {
  int loaded = 0;
  for (const std::string& name : shipped_scenarios()) {
    try {
      const Json json = Json::parse(scenario_values_json(name));
      EXPECT_FALSE(json["values"]["model"].get<std::string>().empty()) << name;
      EXPECT_FALSE(json["policy"].get<std::string>().empty()) << name;
      for (const auto& [path, value] : json["values"].items()) {
        EXPECT_TRUE(value.is_string()) << name << " " << path;
        EXPECT_TRUE(form_input(path) || field_entry(path)) << name << " " << path;
      }
      ++loaded;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("$KVCAP_DATA"), std::string::npos) << error.what();
    }
  }
  EXPECT_GE(loaded, 8);
}

TEST(ServeForm, ShowsTheDemosValuesAsItsFileHasThem) {
  const Json json = Json::parse(scenario_values_json("demo"));
  const Json& values = json["values"];
  EXPECT_EQ(values["gpu"], "a100-40g-4x-pm9a3");
  EXPECT_EQ(values["gpus"], "1");
  EXPECT_EQ(values["workload"], "chat");
  EXPECT_EQ(values["slo.ttft_ms"], "1000");
  EXPECT_EQ(values["replications"], "3");
  EXPECT_EQ(values["policy.tiers.0.kind"], "ssd");
  EXPECT_FALSE(values.contains("rate"));
  EXPECT_EQ(json["hints"]["rate"], "0.1 sessions/s");
  EXPECT_EQ(json["hints"]["ssd"], "4TB");
  EXPECT_EQ(json["policy"], "hcache");
}

TEST(ServeForm, FindsFieldsOfEveryItemOfAList) {
  EXPECT_EQ(field_entry("policy.tiers.3.kind"), field_entry("policy.tiers.0.kind"));
  ASSERT_NE(field_entry("policy.tiers.3.kind"), nullptr);
  EXPECT_EQ(field_entry("policy.tiers.kind"), nullptr);
  EXPECT_EQ(field_entry(""), nullptr);
  EXPECT_EQ(field_entry("serving.prefix_caching")->words, (std::vector<std::string>{"true", "false"}));
}

}  // namespace
}  // namespace kvcap::serve_form_test
