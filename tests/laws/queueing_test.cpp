// The suite `queueing` in parts, with fewer and shorter runs, and that its statistics can tell at all.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "validate/studies/study.h"

namespace kvcap::queueing_test {
namespace {

using Json = nlohmann::ordered_json;

// Returns the study with the checks whose ids begin with one of `parts`, over `seeds` runs.
Json study_of(const std::vector<std::string>& parts, int seeds) {
  Json study = Json::parse(read_text(KVCAP_SOURCE_DIR "/scenarios/studies/queueing.json"));
  Json checks = Json::array();
  for (const Json& check : study["checks"]) {
    for (const std::string& part : parts) {
      if (check["id"].get<std::string>().starts_with("queueing." + part)) checks.push_back(check);
    }
  }
  study["checks"] = checks;
  study["seeds"] = {{"count", seeds}, {"turns", 10000}, {"references", 20000}};
  return study;
}

std::vector<Check> run(const Json& study) {
  const Study read = read_study(study.dump(), "scenarios/studies/queueing.json", true, {});
  return run_studies({&read, 1});
}

void expect_inside(const std::vector<Check>& checks) {
  for (const Check& one : checks) {
    EXPECT_EQ(one.verdict, Agreement::inside)
        << one.id << ": " << one.simulated[0] << " against " << one.reference[0];
    EXPECT_TRUE(one.promised);
    if (!one.half_width.empty()) {
      EXPECT_LT(one.half_width[0], 0.2 * one.reference[0]) << one.id << " is too wide to tell";
    }
  }
}

TEST(Queueing, RequestsWaitAsLongAsTheorySays) {
  const std::vector<Check> checks = run(study_of({"md1", "mm1", "mm4", "little", "loss"}, 12));
  EXPECT_EQ(checks.size(), 16U);
  expect_inside(checks);
}

TEST(Queueing, LoadsWaitForALinkAsLongAsTheorySays) { expect_inside(run(study_of({"link.md1"}, 12))); }

TEST(Queueing, TransfersShareLinksAndOverlapAsTheorySays) {
  const std::vector<Check> checks = run(study_of({"link.fifo", "link.max_min", "pipeline"}, 1));
  EXPECT_EQ(checks.size(), 4U);
  expect_inside(checks);
}

// Two seeds of each: Che's hit rate and others are met within one percent, stack distances exactly.
TEST(Queueing, ReferencesAreFoundAsOftenAsTheorySays) {
  const std::vector<Check> checks = run(study_of({"lru", "fifo", "ttl"}, 2));
  EXPECT_EQ(checks.size(), 6U);
  for (const Check& one : checks) {
    EXPECT_NEAR(one.simulated[0] / one.reference[0], 1, 0.02) << one.id;
    if (one.id.ends_with("stack")) {
      EXPECT_EQ(one.simulated, one.reference);
    }
  }
}

// A queue at 42 % load must differ from theory at 40 %.
TEST(Queueing, AWrongTheoryIsOutside) {
  Json study = study_of({"md1.load_0.4"}, 12);
  ASSERT_EQ(study["checks"][1]["reference"], 0.4);
  study["checks"][1]["reference"] = 0.42;
  const std::vector<Check> checks = run(study);
  EXPECT_EQ(checks[0].verdict, Agreement::inside);
  EXPECT_EQ(checks[1].verdict, Agreement::outside);
  EXPECT_NE(broken_promises(checks), "");
}

}  // namespace
}  // namespace kvcap::queueing_test
