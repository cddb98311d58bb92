// The scenarios that operators of production stacks start from.
#include <gtest/gtest.h>

#include <string>

#include "launch/launch_line.h"
#include "scenario/load.h"

namespace kvcap::operator_scenarios_test {
namespace {

struct Start {
  const char* file;
  EngineKind engine;
  const char* policy;
};
constexpr Start kStarts[] = {{"chat-vllm", EngineKind::vllm, "vllm_offload"},
                             {"documents-lmcache", EngineKind::vllm, "lmcache"},
                             {"rag-lmcache", EngineKind::vllm, "lmcache"},
                             {"agents-hicache", EngineKind::sglang, "hicache"},
                             {"batch-trtllm", EngineKind::trtllm, "trtllm_offload"}};

std::string path_of(const Start& start) {
  return std::string(KVCAP_SOURCE_DIR) + "/scenarios/" + start.file + ".json";
}

TEST(OperatorScenarios, AreStacksInTheirOwnDefaultsAndNeedNoData) {
  for (const Start& start : kStarts) {
    const Scenario one = load_scenario(path_of(start), {});
    EXPECT_EQ(one.serving.engine, start.engine) << start.file;
    EXPECT_EQ(one.policy.name, start.policy) << start.file;
    EXPECT_TRUE(one.workload.source.path.empty()) << start.file;
    EXPECT_FALSE(launch_line_of(one).empty()) << start.file;
  }
}

TEST(OperatorScenarios, NameTheCommandThatHoldsThemAgainstTheEngineAlone) {
  for (const Start& start : kStarts) {
    const std::string command = "kvcap compare scenarios/" + std::string(start.file) + ".json --policies ";
    bool is_named = false;
    for (const std::string& note : load_scenario(path_of(start), {}).notes) {
      if (!note.starts_with(command)) continue;
      is_named = true;
      std::string policies = note.substr(command.size()) + ",";
      EXPECT_TRUE(policies.starts_with("recompute," + std::string(start.policy) + ",")) << note;
      for (std::size_t comma; (comma = policies.find(',')) != std::string::npos;
           policies.erase(0, comma + 1)) {
        EXPECT_NO_THROW(load_scenario(path_of(start), {"policy.name=" + policies.substr(0, comma)})) << note;
      }
    }
    EXPECT_TRUE(is_named) << start.file;
  }
}

}  // namespace
}  // namespace kvcap::operator_scenarios_test
