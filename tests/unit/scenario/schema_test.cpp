// The loader and the published JSON Schema come from one table; this judges the schema with a validator
// of somebody else's.

// GCC 12 takes std::regex, which valijson uses, for a reader of uninitialised memory under sanitizers.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/input_error.h"
#include "plan/plan.h"
#include "plan/sweep/sweep.h"
#include "scenario/load.h"
#include "unit/malformed_scenarios.h"
#include "unit/scenario_samples.h"
#include "validate/studies/study.h"

#if __has_include(<valijson/validator.hpp>)
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#define KVCAP_HAS_VALIJSON 1
#endif

namespace kvcap::schema_test {
namespace {

using nlohmann::json;

#ifdef KVCAP_HAS_VALIJSON

class ScenarioSchema : public testing::Test {
 protected:
  ScenarioSchema() {
    const json text = json::parse(scenario_json_schema());
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema_);
  }
  bool accepts(const json& document) {
    return valijson::Validator().validate(schema_, valijson::adapters::NlohmannJsonAdapter(document),
                                          nullptr);
  }
  valijson::Schema schema_;
};

bool loads(const json& document) {
  try {
    parse_scenario(document.dump(), "chat.json", {});
    return true;
  } catch (const InputError&) {
    return false;
  }
}

TEST_F(ScenarioSchema, RefusesWhatTheLoaderRefuses) {
  for (const MalformedScenario& one : kMalformedScenarios) {
    json document = json::parse(sample_scenario());
    document.merge_patch(json::parse(one.patch));
    EXPECT_EQ(accepts(document), one.across_fields) << one.patch;
    EXPECT_FALSE(loads(document)) << one.patch;
  }
}

TEST_F(ScenarioSchema, AcceptsWhatTheLoaderAccepts) {
  const std::string cases[] = {
      "",
      R"("name": "x", "seed": 0, "replications": 5, "fidelity": "layer")",
      R"("notes": "one")",
      R"("notes": ["one", "two"])",
      R"("policy": "recompute")",
      R"("policy": {"name": "hcache", "split": "paper", "preload": null})",
      R"("policy": {"tiers": [{"kind": "dram", "eviction": "fifo"}, {"kind": "ssd", "capacity_bytes": 4e9}]})",
      R"("slo": {"ttft_ms": 0.5, "tpot_ms": null})",
      R"("serving": {"kv_capacity_tokens": null, "max_model_len": 4096, "notes": []})",
      R"("fleet": {"replicas": 1024, "routing": "least_loaded", "load_bound": 0, "failures": []})",
      R"("fleet": {"replicas": 2, "failures": [{"replica": 1, "at_s": 0, "down_s": 9}, {"replica": 1, "at_s": 9, "down_s": 1}]})",
      R"("serving": {"overflow": "reject", "gpu_memory_utilization": 1})",
      R"("workload": {"source": {"kind": "sessions", "path": "x.jsonl"}, "arrivals": {"process": "trace"}})",
      R"("workload": {"source": {"kind": "chat"}, "think_time": {"distribution": "lognormal", "cv": 2}})",
      R"("model": "llama-2-7b")",
      R"("model": {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 8, "num_hidden_layers": 2,
                   "intermediate_size": 688, "vocab_size": 100, "rope_scaling": {"factor": 2}})",
  };
  for (const std::string& one : cases) {
    json document = json::parse(sample_scenario());
    document.update(json::parse("{" + one + "}"));
    EXPECT_TRUE(accepts(document)) << one;
    EXPECT_TRUE(loads(document)) << one;
  }
}

TEST_F(ScenarioSchema, AcceptsEveryResolvedScenario) {
  const Scenario scenario = parse_scenario(sample_scenario(), "chat.json", {});
  EXPECT_TRUE(accepts(json::parse(scenario.resolved_json)));
}

TEST_F(ScenarioSchema, AcceptsEveryCatalogueFileAsAnInlineObject) {
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    json document = json::parse(sample_scenario());
    document["model"] = json::parse(entry.text);
    EXPECT_TRUE(accepts(document)) << entry.name;
  }
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    json document = json::parse(sample_scenario());
    document["hardware"] = json::parse(entry.text);
    EXPECT_TRUE(accepts(document)) << entry.name;
  }
}

// Plans, sweeps and studies that are shipped; a misspelt key is refused.
TEST(Schemas, OfOtherFilesAcceptTheShippedOnes) {
  const std::pair<const char*, std::string> kinds[] = {
      {"plans", plan_json_schema()}, {"sweeps", sweep_json_schema()}, {"studies", study_json_schema()}};
  for (const auto& [folder, text] : kinds) {
    valijson::Schema schema;
    const json parsed = json::parse(text);
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(parsed), schema);
    const auto accepts = [&](const json& document) {
      return valijson::Validator().validate(schema, valijson::adapters::NlohmannJsonAdapter(document),
                                            nullptr);
    };
    int files = 0;
    for (const auto& file :
         std::filesystem::directory_iterator(std::string(KVCAP_SOURCE_DIR "/scenarios/") + folder)) {
      if (file.path().extension() != ".json") continue;
      ++files;
      json document = json::parse(read_text(file.path().string()));
      EXPECT_TRUE(accepts(document)) << file.path();
      document["serch"] = 1;
      EXPECT_FALSE(accepts(document)) << file.path();
    }
    EXPECT_GT(files, 0) << folder;
  }
}

#else

TEST(ScenarioSchema, IsJudgedByValijson) { GTEST_SKIP() << "needs valijson (Debian: libvalijson-dev)"; }

#endif

}  // namespace
}  // namespace kvcap::schema_test
