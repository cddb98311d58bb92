// The counts of kvcap show support are those of the studies.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "commands/show/support.h"
#include "unit/shared_data.h"
#include "validate/studies/study.h"

namespace kvcap::validated_runs_test {
namespace {

std::string key(std::string_view gpu, EngineKind engine, bool experts) {
  return std::string(gpu) + ", " + std::string(kEngineNames[static_cast<std::size_t>(engine)]) +
         (experts ? ", experts" : "");
}

TEST(ShowSupport, CountsTheMeasuredRunsOfTheStudies) {
  KVCAP_NEEDS_SHARED_DATA("runs");
  std::map<std::string, int64_t> shown, counted;
  for (const ValidatedRuns& one : validated_runs()) shown[key(one.gpu, one.engine, one.experts)] = one.count;
  for (const char* suite : {"measured", "stacks"}) {
    for (const MeasuredRun& run : measured_runs(shipped_studies(suite, {.data_folder = shared_data()}))) {
      const Scenario& scenario = run.scenario;
      ++counted[key(scenario.hardware.gpu.name, scenario.serving.engine, scenario.model.experts.has_value())];
    }
  }
  EXPECT_EQ(shown, counted);
}

}  // namespace
}  // namespace kvcap::validated_runs_test
