#include "whatif/installed_engine.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "launch/launch_line.h"
#include "run/engine_memory.h"
#include "scenario/load.h"
#include "scenario/servers.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

// Sets the hardware and the number of GPUs of one engine in the scenario. If no profile has that many GPUs,
// returns an override for the number.
std::vector<std::string> add_gpus(const InstalledEngine& asked, Json& scenario) {
  scenario["hardware"] = asked.hardware;
  if (!asked.gpus) return {};
  const HardwareProfile own = load_hardware(asked.hardware);
  const std::string server = server_of(own, asked.hardware, *asked.gpus);
  scenario["hardware"] = server;
  scenario["serving"]["tensor_parallel_size"] = *asked.gpus;
  if (own.gpu.count >= *asked.gpus || server != asked.hardware) return {};
  return {"hardware.gpu.count=" + std::to_string(*asked.gpus)};
}

// Returns the overrides, followed by overrides for the engine's defaults on these GPUs and for the longest
// sequence that fits.
std::vector<std::string> defaults_of(const std::string& text, std::vector<std::string> overrides) {
  const Scenario first = parse_scenario(text, "whatif", overrides);
  LaunchLine installed;
  installed.engine = first.serving.engine == EngineKind::vllm     ? Stack::vllm
                     : first.serving.engine == EngineKind::sglang ? Stack::sglang
                                                                  : Stack::trtllm;
  for (const std::string& one : defaults_on(installed, first.hardware)) overrides.push_back(one);
  const int64_t tokens = longest_that_fits(parse_scenario(text, "whatif", overrides), std::nullopt);
  if (tokens > 0) overrides.push_back("serving.max_model_len=" + std::to_string(tokens));
  return overrides;
}

}  // namespace

Scenario installed_scenario(const InstalledEngine& asked) {
  Json scenario = {{"schema", "kvcap.scenario/1"},
                   {"name", "whatif"},
                   {"model", asked.model},
                   {"policy", "recompute"},
                   {"workload", {{"source", {{"kind", "chat"}}}}}};
  std::vector<std::string> overrides = add_gpus(asked, scenario);
  const std::size_t at = asked.engine.find('@');
  scenario["serving"]["engine"] = asked.engine.substr(0, at);
  if (at != std::string::npos) scenario["serving"]["engine_version"] = asked.engine.substr(at + 1);
  const std::string text = scenario.dump(-1, ' ', false, Json::error_handler_t::replace);
  Scenario installed = parse_scenario(text, "whatif", defaults_of(text, std::move(overrides)));
  installed.file.clear();  // error messages must not name a file
  return installed;
}

}  // namespace kvcap
