// Trace files that are kept for workers give the workloads that reading them anew gives.
#include "plan/sweep/sources.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/input_error.h"
#include "scenario/load.h"

namespace kvcap::sources_test {
namespace {

TEST(Sources, AreReadOnceForAllWorkloadsOfAFile) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("kvcap_sources_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "trace.jsonl")
      << R"({"id": 1, "turns": [{"input_tokens": 10, "output_tokens": 20}, {"input_tokens": 5, "output_tokens": 6}]}
{"id": 2, "turns": [{"input_tokens": 30, "output_tokens": 40}]}
)";
  Scenario scenario = parse_scenario(R"({"schema": "kvcap.scenario/1", "model": "llama-2-7b",
      "hardware": "h100-sxm", "workload": {"source": {"kind": "sessions", "path": "trace.jsonl"}}})",
                                     (folder / "scenario.json").string(), {});
  const Workload expected = make_workload(scenario.workload, scenario.seed);
  ASSERT_EQ(expected.turns.size(), 3U);
  Sources sources;
  sources.read(scenario);
  std::filesystem::remove_all(folder);

  const Workload found = sources.workload(scenario);
  ASSERT_EQ(found.turns.size(), expected.turns.size());
  for (std::size_t i = 0; i < found.turns.size(); ++i) {
    EXPECT_EQ(found.turns[i].input_tokens, expected.turns[i].input_tokens);
    EXPECT_EQ(found.turns[i].output_tokens, expected.turns[i].output_tokens);
    EXPECT_EQ(found.turns[i].time_s, expected.turns[i].time_s);
  }
  // Another seed draws other arrivals of the same sessions.
  ++scenario.seed;
  EXPECT_NE(sources.workload(scenario).turns[2].time_s, expected.turns[2].time_s);
  // The first of them are there already.
  WorkloadOptions first = scenario.workload;
  first.sessions = 1;
  EXPECT_EQ(sources.workload(scenario, first).turns.size(), 2U);
  // A scenario that asks for fewer is read anew, and the file is gone.
  scenario.workload.sessions = 1;
  EXPECT_THROW(sources.workload(scenario), InputError);
}

}  // namespace
}  // namespace kvcap::sources_test
