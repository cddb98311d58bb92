// Defaults that moved: the table, what a scenario of an older version is told, and the change log.
#include "scenario/moved_defaults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "library/kvcap.h"
#include "spec/engine_version.h"
#include "unit/cli.h"
#include "unit/scenario_samples.h"

namespace kvcap {
namespace moved_defaults_test {

// With all that any row concerns: a model with a sampling, GPUs without NVLink.
std::string scenario_of(const std::string& engine, const std::string& more = "") {
  return R"({"schema": "kvcap.scenario/1", "kvcap_version": "0.1.0", "model": "llama-3.1-8b",
      "hardware": "l40s-8x", "workload": {"source": {"kind": "chat"}},
      "serving": {"engine": ")" +
         engine + R"(", "tensor_parallel_size": 2)" + more + "}}";
}

// The notes on defaults that moved, and each one's field.
std::vector<std::string> told(const std::string& text, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> notes;
  for (const std::string& note : parse_scenario(text, "old.json", overrides).notes) {
    if (note.starts_with("default moved since kvcap 0.1.0: ")) notes.push_back(note);
  }
  return notes;
}

std::vector<std::string> fields_told(const std::string& text,
                                     const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> fields;
  for (const std::string& note : told(text, overrides)) {
    const std::string rest = note.substr(note.find(": ") + 2);
    fields.push_back(rest.substr(0, rest.find(' ')));
  }
  return fields;
}

bool has(const std::vector<std::string>& fields, std::string_view field) {
  return std::find(fields.begin(), fields.end(), field) != fields.end();
}

Json at(const Json& json, std::string field) {
  std::replace(field.begin(), field.end(), '.', '/');
  return json.value(Json::json_pointer("/" + field), Json());
}

TEST(MovedDefaults, ThatAGivenCapacityReplacesAreNotTold) {
  EXPECT_TRUE(has(fields_told(scenario_of("sglang")), "serving.kv_capacity_model"));
  EXPECT_FALSE(has(fields_told(scenario_of("sglang"), {"serving.kv_capacity_tokens=400000"}),
                   "serving.kv_capacity_model"));
}

TEST(MovedDefaults, AreFieldsWithTodaysDefaultsAndAreToldToTheEnginesThatTheyConcern) {
  const std::vector<FieldHelp> fields = scenario_fields();
  for (const MovedDefault& row : moved_defaults()) {
    const std::string field(row.field);
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const FieldHelp& one) { return one.path == field; });
    ASSERT_NE(found, fields.end()) << field;
    bool is_told = false;
    // The bill of tiers concerns policies that store, and how contexts are loaded a stack.
    std::vector<std::string> policy;
    if (field.starts_with("billing.")) policy = {"policy.name=kv_offload"};
    if (field.starts_with("fleet.router.")) policy = {"fleet.routing=weighted", "fleet.replicas=2"};
    if (field.starts_with("policy.p")) {
      policy = {row.to == "timeout" ? "policy.name=hicache" : "policy.name=vllm_offload",
                R"(policy.tiers=[{"kind":"dram"},{"kind":"ssd"}])"};
    }
    for (const std::string engine : {"vllm", "sglang", "trtllm"}) {
      const std::string change =
          ": " + field + " is " + std::string(row.to) + ", was " + std::string(row.from) + ";";
      const std::vector<std::string> notes = told(scenario_of(engine), policy);
      const auto says = [&](const std::string& note) { return note.find(change) != std::string::npos; };
      if (std::none_of(notes.begin(), notes.end(), says)) continue;
      is_told = true;
      const Scenario today = parse_scenario(scenario_of(engine), "old.json", policy);
      const Json value = at(Json::parse(today.resolved_json), field);
      // What has no value of its own is described in the table of fields.
      if (value.is_null() || value.is_object()) {
        EXPECT_NE(found->text.find(row.to), std::string::npos) << found->text;
      } else {
        EXPECT_EQ(value.is_string() ? value.get<std::string>() : value.dump(), row.to) << field;
      }
      // What the note says restores the old default: it is accepted, and the note goes.
      const std::string restored = field + "=" + std::string(row.from);
      policy.push_back(restored);
      EXPECT_FALSE(has(fields_told(scenario_of(engine), policy), field)) << restored;
      policy.pop_back();
    }
    EXPECT_TRUE(is_told) << field << " is told to no engine";
    EXPECT_TRUE(parse_engine_version(row.version)) << field;
  }
}

TEST(MovedDefaults, SayWhatMovedWhatItDoesAndHowToRestoreIt) {
  const std::vector<std::string> notes = told(scenario_of("sglang"), {"serving.host_times=none"});
  // SGLang without host times samples as asked, so three rows are left: its memory, links without NVLink, and
  // the bill of tiers without a size.
  ASSERT_EQ(notes.size(), 3U) << testing::PrintToString(notes);
  EXPECT_EQ(
      notes[0],
      "default moved since kvcap 0.1.0: serving.kv_capacity_model is static_share, was simple; SGLang's KV "
      "capacity is about 14 % smaller; --set serving.kv_capacity_model=simple restores it");
}

TEST(MovedDefaults, AreNotToldWhereTheFileStatesThem) {
  EXPECT_TRUE(has(fields_told(scenario_of("vllm")), "serving.mixed_attention"));
  EXPECT_FALSE(
      has(fields_told(scenario_of("vllm", R"(, "mixed_attention": "one_call")")), "serving.mixed_attention"));
  // B200's attention is two calls, as it was.
  EXPECT_FALSE(has(fields_told(scenario_of("vllm"), {"hardware=b200-sxm-8x"}), "serving.mixed_attention"));
  // One GPU has no collectives.
  EXPECT_FALSE(has(fields_told(scenario_of("vllm"), {"serving.tensor_parallel_size=1"}), "hardware.peer"));
}

TEST(MovedDefaults, AreToldNeitherToTodaysScenariosNorWithoutAVersion) {
  const std::string old = scenario_of("vllm");
  const Json today = Json::parse(parse_scenario(old, "old.json", {}).resolved_json);
  EXPECT_EQ(today["kvcap_version"], version());
  EXPECT_TRUE(told(today.dump()).empty());
  Json without = Json::parse(old);
  without.erase("kvcap_version");
  for (const std::string& note : parse_scenario(without.dump(), "x.json", {}).notes) {
    EXPECT_EQ(note.find("default moved"), std::string::npos) << note;
  }
}

TEST(MovedDefaults, OfANewerVersionAreUnknownAndWhatIsNoVersionIsRefused) {
  const auto notes = parse_scenario(sample_scenario(R"("kvcap_version": "99.0")"), "x.json", {}).notes;
  EXPECT_TRUE(has(notes, "the scenario was written by kvcap 99.0, this is " + version() +
                             ": its defaults may be different"))
      << testing::PrintToString(notes);
  try {
    parse_scenario(sample_scenario(R"("kvcap_version": "old")"), "x.json", {});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(),
              "x.json: kvcap_version: found \"old\", allowed: a version of kvcap: \"" + version() + "\"");
  }
}

class OldResults : public Cli {};

TEST_F(OldResults, SayOfTheirScenariosWhichVersionWroteThem) {
  Json scenario = Json::parse(sample_scenario());
  scenario["workload"]["sessions"] = 2;
  write(
      "old.json",
      Json{{"schema", "kvcap.result/1"}, {"scenario", scenario}, {"provenance", {{"kvcap_version", "0.1.0"}}}}
          .dump());
  const Outcome outcome = kvcap({"run", path("old.json") + "#scenario", "--explain"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("serving.host_times=none restores it."), std::string::npos) << outcome.out;
}

TEST_F(OldResults, OfAnotherKindOfProvenanceAreReadAsOfNoVersion) {
  Json scenario = Json::parse(sample_scenario());
  scenario["workload"]["sessions"] = 2;
  write("odd.json",
        Json{{"schema", "kvcap.result/1"}, {"scenario", scenario}, {"provenance", Json::array()}}.dump());
  const Outcome outcome = kvcap({"run", path("odd.json") + "#scenario", "--explain"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("default moved"), std::string::npos);
}

TEST(MovedDefaults, StandInTheChangeLogAsInTheTable) {
  const std::string log = read_file(KVCAP_SOURCE_DIR "/.github/CHANGELOG.md");
  EXPECT_NE(
      log.find("<!-- moved defaults -->\n" + moved_defaults_markdown() + "<!-- end of moved defaults -->\n"),
      std::string::npos)
      << "the change log should have:\n"
      << moved_defaults_markdown();
}

}  // namespace moved_defaults_test
}  // namespace kvcap
