#include "commands/launched.h"

#include "base/input_error.h"
#include "base/print.h"
#include "scenario/load.h"
#include "scenario/names.h"

namespace kvcap {

// A fault of what the line says is the line's.
static HardwareProfile hardware_of(const std::string& scenario_path, const std::vector<std::string>& all,
                                   const std::vector<std::string>& launched) {
  try {
    return load_scenario(scenario_path, all).hardware;
  } catch (const InputError& error) {
    const std::string message = error.what();
    if (message.find("found \"remote\"") != std::string::npos) {
      throw InputError(
          "--from: the line stores remotely and the hardware has no remote store; describe it: --set "
          "'hardware.remote={\"capacity_bytes\": 1e12, \"bandwidth_bytes_per_s\": 5e10}'");
    }
    for (const std::string& one : launched) {
      const std::string place = "--set " + one + ":";
      if (message.starts_with(place)) throw InputError("--from: " + one + ":" + message.substr(place.size()));
    }
    throw;
  }
}

std::vector<std::string> launched_overrides(const std::string& from, const std::string& scenario_path,
                                            const std::vector<std::string>& overrides) {
  if (from.empty()) return {};
  const LaunchLine line = read_launch_line(from);
  for (const std::string& note : line.notes) tell("kvcap: --from: " + note);
  // The scenario's own serving and policy are not the line's.
  std::vector<std::string> launched = {"serving={}", "policy={}"};
  launched.insert(launched.end(), line.overrides.begin(), line.overrides.end());
  std::vector<std::string> all = launched;
  all.insert(all.end(), overrides.begin(), overrides.end());
  const std::vector<std::string> defaults = defaults_on(line, hardware_of(scenario_path, all, launched));
  launched.insert(launched.end(), defaults.begin(), defaults.end());
  return launched;
}

std::vector<std::string> stacks_beside(const LaunchLine& line) {
  switch (line.engine) {
    case Stack::sglang:
      return {"recompute", "hicache"};
    case Stack::trtllm:
      return {"recompute", "trtllm_offload"};
    case Stack::vllm:
    case Stack::lmcache:
    case Stack::dynamo:
      break;
  }
  return {"recompute", "vllm_offload", "lmcache"};
}

std::vector<std::string> overrides_beside(std::string_view policy, const std::vector<std::string>& given) {
  std::vector<std::string> overrides = {"policy={}", "policy.name=" + std::string(policy)};
  for (const std::string& one : given) {
    const bool is_own = one.starts_with("policy.name=") || one.starts_with("policy.tiers");
    if (one.starts_with("policy.") && !is_own) overrides.push_back(one);
  }
  return overrides;
}

// TensorRT-LLM reads them from a file.
static const char* place_of_keys(const std::string& flags) {
  const bool has_keys = flags.find("--extra_llm_api_options.") != std::string::npos;
  return has_keys ? " (what has a dot is a key of the YAML file of --extra_llm_api_options)" : "";
}

std::string launch_text(const Scenario& scenario, const std::string& model) {
  const std::string line = launch_line_of(scenario, model);
  return line.empty() ? "" : "Launch: " + line + place_of_keys(line) + "\n";
}

std::string flags_line(const std::string& label, const Scenario& from, const Scenario& to) {
  const std::string_view engine = kEngineNames[static_cast<std::size_t>(to.serving.engine)];
  if (launch_line_of(to).empty())
    return "  " + label + ": no flag of " + std::string(engine) + " does this\n";
  const std::string flags = changed_flags(from, to);
  return "  " + label + ": " + (flags.empty() ? "the same flags" : flags + place_of_keys(flags)) + "\n";
}

}  // namespace kvcap
