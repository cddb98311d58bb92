#include <gtest/gtest.h>
#include <cstdio>
#include "laws/machines.h"
namespace kvcap::laws { namespace {
TEST(Tmp, Burst) {
  Workload workload;
  workload.warm_start = true;
  for (uint32_t s = 0; s < 8; ++s) {
    workload.sessions.push_back({.first_turn = s, .turn_count = 1, .context_tokens = 1500, .history_grows = false});
    workload.turns.push_back({.input_tokens = 64, .output_tokens = 1});
  }
    Scenario s = scenario("hcache");
    s.model = llama_2_13b();
    s.hardware.gpu.memory_bytes = 1e12;
    s.hardware.ssd->count = 1;
    auto r = run(s, workload);
    for (auto& t : r.turns) std::printf(" %.1f/%.1f", 1e3*t.restore_s, 1e3*t.ttft_s);
}
}}
