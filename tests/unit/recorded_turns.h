// A few turns with round numbers and what is recorded of them.
#pragma once

#include <string>
#include <string_view>

#include "metrics/recorder.h"

namespace kvcap {

inline TurnRecord turn(uint32_t session, uint32_t number, double arrival_s, double ttft_s) {
  TurnRecord record;
  record.session = session;
  record.turn = number;
  record.history_tokens = 300 * number;
  record.input_tokens = 100;
  record.output_tokens = 11;
  record.hit_tokens = 256 * number;
  record.tier_hit_tokens[index(Tier::ssd)] = record.hit_tokens;
  record.tier_used_tokens[index(Tier::ssd)] = record.hit_tokens / 4;
  record.cold = number == 0;
  record.arrival_s = arrival_s;
  record.ttft_s = ttft_s;
  record.service_ttft_s = 0.75 * ttft_s;
  record.e2el_s = ttft_s + 0.5;  // 50 ms a token
  record.lookup_s = 0.001f;
  record.load_s = static_cast<float>(0.25 * ttft_s);
  record.restore_compute_s = static_cast<float>(0.125 * ttft_s);
  record.restore_s = record.lookup_s + record.load_s + record.restore_compute_s;
  return record;
}

inline RunFacts facts() {
  RunFacts facts;
  facts.scenario_name = "test";
  facts.scenario_json = R"({"schema": "kvcap.scenario/1", "seed": 7})";
  facts.policy = "hcache";
  facts.hardware_provenance = "paper";
  facts.duration_s = 7200;
  facts.notes = {"think time is assumed"};
  return facts;
}

// Two sessions of two turns; arrivals out of order, TTFT 100, 200, 300, 400 ms.
inline void record_four(Recorder& recorder) {
  recorder.turn(turn(1, 1, 30, 0.4));
  recorder.turn(turn(0, 0, 0, 0.1));
  recorder.turn(turn(1, 0, 10, 0.2));
  recorder.turn(turn(0, 1, 20, 0.3));
}

inline std::string text(const RunResult& result, std::string_view metric) {
  for (const Metric& m : result.metrics)
    if (m.name == metric) return std::get<std::string>(m.value);
  return "absent";
}

}  // namespace kvcap
