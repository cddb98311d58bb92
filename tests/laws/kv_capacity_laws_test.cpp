// Tests that `kvcap show memory` and the servers of a run have the same KV capacity, for every model, GPU,
// engine of the catalogue, on one GPU and on as many as divide its heads.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.h"
#include "commands/question.h"
#include "commands/show/memory.h"
#include "laws/machines.h"
#include "run/machine.h"
#include "run/ranks.h"
#include "scenario/load.h"
#include "scenario/tensor_parallel.h"

namespace kvcap::kv_capacity_laws_test {
namespace {

using Json = nlohmann::json;

Json shown(const ShowMemoryArgs& args) {
  testing::internal::CaptureStdout();
  try {
    show_memory(args);
  } catch (...) {
    testing::internal::GetCapturedStdout();
    throw;
  }
  return Json::parse(testing::internal::GetCapturedStdout());
}

Scenario scenario_of(const ShowMemoryArgs& args) {
  QuestionArgs asked;
  asked.model = args.model;
  asked.hardware = args.hardware;
  asked.engine = args.engine;
  asked.gpus = args.gpus;
  asked.workload = "chat";
  asked.set = args.overrides;
  asked.set.emplace_back("workload.sessions=1");
  return Question(asked, {.needs_load = false}).load();
}

// The KV capacity of simulate()'s machine, or its error.
struct Server {
  int64_t tokens = 0;
  std::string refusal;
};

Server server_of(const Scenario& scenario, const Workload& workload) {
  try {
    return {Machine(scenario, workload).kv_capacity_tokens(), ""};
  } catch (const InputError& error) {
    return {0, error.what()};
  }
}

// Returns the largest server of each GPU.
std::vector<HardwareProfile> servers() {
  std::map<std::pair<std::string, double>, HardwareProfile> largest;
  for (const CatalogueEntry& entry : catalogue(Catalogue::hardware)) {
    HardwareProfile hardware = load_hardware(std::string(entry.name));
    HardwareProfile& kept = largest[{hardware.gpu.name, hardware.gpu.memory_bytes}];
    if (kept.name.empty() || hardware.gpu.count > kept.gpu.count) kept = std::move(hardware);
  }
  std::vector<HardwareProfile> servers;
  for (const auto& [gpu, hardware] : largest) servers.push_back(hardware);
  return servers;
}

// Returns the models with a file, and every fifth row of models/published.jsonl.
std::vector<std::string> models() {
  std::vector<std::string> names;
  std::size_t rows = 0;
  for (const CatalogueEntry& entry : catalogue(Catalogue::models)) {
    const bool is_row = entry.text.find('\n') == std::string_view::npos;
    if (!is_row || rows++ % 5 == 0) names.emplace_back(entry.name);
  }
  return names;
}

// The largest power of two of GPUs among which the model can be divided.
int64_t most_gpus(const Scenario& scenario, int64_t gpus) {
  int64_t most = 1;
  while (2 * most <= gpus && allowed_division(scenario, 2 * most).empty()) most *= 2;
  return most;
}

class KvCapacityOfTheCatalogue : public testing::TestWithParam<const char*> {};

TEST_P(KvCapacityOfTheCatalogue, IsTheSameInShowMemoryAndInARun) {
  const Workload workload = laws::chats(1, 1);
  int fitting = 0;
  for (const HardwareProfile& hardware : servers()) {
    for (const std::string& model : models()) {
      ShowMemoryArgs args{.model = model,
                          .hardware = hardware.name,
                          .overrides = {"serving.engine=" + std::string(GetParam())},
                          .json = true};
      args.gpus = 1;
      const int64_t most = most_gpus(scenario_of(args), hardware.gpu.count);
      for (const int64_t gpus : most > 1 ? std::vector<int64_t>{1, most} : std::vector<int64_t>{1}) {
        args.gpus = gpus;
        const std::string what = args.model + " on " + std::to_string(gpus) + " of " + args.hardware;
        const Server server = server_of(scenario_of(args), workload);
        const Json memory = shown(args);
        const Json& said = memory["servers"][0];
        EXPECT_EQ(said.value("refusal", ""), server.refusal) << what;
        if (!server.refusal.empty()) continue;
        ++fitting;
        EXPECT_EQ(memory["kv_capacity_tokens"], server.tokens) << what;
        EXPECT_EQ(said["kv_capacity_tokens"], server.tokens) << what;
        double left_bytes = memory["share_bytes"];
        for (const Json& term : memory["terms"]) {
          if (term["charged"]) left_bytes -= term["bytes"].get<double>();
        }
        EXPECT_NEAR(left_bytes, memory["kv_bytes"].get<double>(), 16) << what;
        EXPECT_EQ(memory["blocks"], static_cast<int64_t>(memory["kv_bytes"].get<double>() /
                                                         memory["block_bytes"].get<double>()))
            << what;
      }
    }
  }
  EXPECT_GT(fitting, 500);
}
INSTANTIATE_TEST_SUITE_P(Of, KvCapacityOfTheCatalogue, testing::Values("vllm", "sglang", "trtllm"),
                         [](const auto& one) { return std::string(one.param); });

// Other settings that change the capacity: a run's capacity is the sum of the capacities in `servers`.
TEST(KvCapacity, OfARunIsTheSumOfTheServersOfShowMemory) {
  const std::vector<std::vector<std::string>> settings = {
      {},
      {"serving.engine=trtllm"},
      {"serving.kv_capacity_tokens=5000"},
      {"serving.kv_capacity_model=simple"},
      {"serving.gpu_memory_utilization=0.7", "serving.block_size=64"},
      {"serving.pipeline_parallel_size=2"},
      {"serving.pipeline_parallel_size=3", "serving.kv_capacity_model=simple"},
      {"serving.tensor_parallel_size=8", "model.num_key_value_heads=2",
       "serving.decode_context_parallel_size=4"},
      {R"(hardware.engine={"kv_capacity_share": 0.9})"},
      {R"(hardware.engine={"kv_capacity_share": 1.1})", "serving.engine=trtllm"},
      {R"(policy={"name": "kv_offload", "tiers": [{"kind": "hbm"}, {"kind": "dram"}]})"},
      {R"(policy={"name": "ideal", "tiers": [{"kind": "hbm"}]})"},
      {R"(policy={"name": "kv_offload", "tiers": [{"kind": "hbm", "capacity_bytes": 1e9}, {"kind": "dram"}]})"},
      {R"(serving.speculative={"method": "layers", "draft_tokens": 2, "acceptance_rate": 0.5})"},
      {R"(fleet={"replicas": 3, "disaggregation": {"prefill_replicas": 1,)"
       R"( "prefill": {"max_num_batched_tokens": 32768}, "decode": {"max_num_seqs": 1024}}})"},
  };
  for (const std::vector<std::string>& changes : settings) {
    ShowMemoryArgs args{
        .model = "llama-3.1-8b", .hardware = "h100-sxm-8x", .overrides = changes, .json = true};
    const Scenario scenario = scenario_of(args);
    const Json memory = shown(args);
    double sum = 0;
    for (const Json& server : memory["servers"]) {
      const int64_t nodes = server["role"] == "all"       ? engines(scenario)
                            : server["role"] == "prefill" ? storing_engines(scenario)
                                                          : engines(scenario) - storing_engines(scenario);
      sum += static_cast<double>(nodes) * server["kv_capacity_tokens"].get<double>();
    }
    const RunResult result = laws::run(scenario, laws::one_turn(100, 20));
    EXPECT_EQ(result.number("kv_capacity_tokens"), sum) << (changes.empty() ? "" : changes.front());
  }
}

}  // namespace
}  // namespace kvcap::kv_capacity_laws_test
