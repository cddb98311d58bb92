// Simulates a scenario in somebody else's program and prints the result's JSON.
#include <kvcap.h>

#include <cstdio>

int main() {
  const char* scenario = R"({
    "schema": "kvcap.scenario/1",
    "model": "llama-2-7b",
    "hardware": "a100-40g-4x-pm9a3",
    "workload": {"source": {"kind": "chat"}, "sessions": 20},
    "policy": "kv_offload"
  })";
  try {
    std::puts(kvcap::simulate_scenario(scenario, {"policy.name=hcache"}).c_str());
    kvcap::simulate_scenario(scenario, {"policy.name=hcahe"});
  } catch (const kvcap::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 0;
  }
  return 1;
}
