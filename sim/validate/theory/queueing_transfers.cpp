// Loads of stored contexts: how they share links, and how they overlap with computation.
#include <algorithm>

#include "policy/policy.h"
#include "run/machine.h"
#include "validate/theory/queueing.h"
#include "validate/theory/theory.h"

namespace kvcap {
namespace {

constexpr const char* kTransfersSuite = "queueing";

// ---- links ----

std::vector<double> restores_s(const RunResult& run) {
  std::vector<double> seconds;
  for (const TurnRecord& turn : run.turns) seconds.push_back(turn.restore_s);
  return seconds;
}

// Contexts of so many tokens, all asked for at time 0.
Workload at_once(const std::vector<uint32_t>& tokens) {
  return stored_turns(std::vector<double>(tokens.size(), 0.0), [&](uint64_t i) { return tokens[i]; });
}

// Transfers of one route are served first come first served, each at the whole rate: the k-th ends when all
// up to it have been carried.
Check first_come_first_served() {
  const std::vector<uint32_t> tokens = {30000, 10000, 50000, 20000};
  const Scenario scenario = reduced_scenario("kv_offload");
  std::vector<double> expected_s;
  double sum_s = 0;
  for (uint32_t one : tokens) {
    sum_s += one * scenario.model.kv_bytes_per_token() / scenario.hardware.ssd->read_bandwidth_bytes_per_s;
    expected_s.push_back(sum_s);
  }
  return exact_check(kTransfersSuite, "link.fifo",
                     "restoration, s, of four contexts on an SSD asked for at once",
                     restores_s(run_cases({{scenario, at_once(tokens)}}).front()), expected_s, 1e-6);
}

// Routes that share a link divide it max-min (Bertsekas, Gallager 1992, 6.5.2): equal shares, and what one
// cannot use is the other's. The first context lies in DRAM, which it fills, the second on an SSD; both cross
// PCIe, of rate P. A slow SSD, of rate r < P/2, is not held up: the first gets P - r. A fast one, r > P/2,
// gets P/2 until the first is over.
Check max_min() {
  constexpr uint32_t kNear = 100000, kFar = 300000;
  std::vector<Case> cases;
  std::vector<double> expected_s;
  for (double ssd_rate : {2e9, 4e9, 8e9}) {
    Scenario scenario = reduced_scenario("kv_offload");
    const double near = kNear * scenario.model.kv_bytes_per_token();
    const double far = kFar * scenario.model.kv_bytes_per_token();
    const double link = scenario.hardware.pcie.h2d_bandwidth_bytes_per_s;
    scenario.hardware.ssd->read_bandwidth_bytes_per_s = ssd_rate;
    scenario.policy.tiers = {{.kind = Tier::dram, .capacity_bytes = near}, {.kind = Tier::ssd}};
    scenario.policy.inclusive = false;
    cases.push_back({scenario, at_once({kNear, kFar})});
    const double near_s = near / std::max(link - ssd_rate, link / 2);
    const double far_rate = std::min(ssd_rate, link / 2);
    expected_s.push_back(near_s);
    expected_s.push_back(near_s + (far - near_s * far_rate) / std::min(ssd_rate, link));
  }
  std::vector<double> simulated_s;
  for (const RunResult& run : run_cases(cases)) {
    for (double seconds : restores_s(run)) simulated_s.push_back(seconds);
  }
  return exact_check(kTransfersSuite, "link.max_min",
                     "loads, s, from DRAM and from an SSD of 2, 4 and 8 GB/s at once over PCIe of 10 GB/s",
                     simulated_s, expected_s, 1e-6);
}

// ---- pipelines ----

// Layers that take about as long to load as to compute.
Scenario layered_scenario(const std::string& policy, double ssd_rate) {
  Scenario scenario = reduced_scenario(policy);
  scenario.model.num_hidden_layers = 24;
  scenario.model.hidden_size = 4096;
  scenario.model.num_attention_heads = scenario.model.num_key_value_heads = 32;
  scenario.model.intermediate_size = 11008;
  scenario.hardware.gpu.peak_flops = 150e12;
  scenario.hardware.pcie.h2d_bandwidth_bytes_per_s = 64e9;
  scenario.hardware.ssd->read_bandwidth_bytes_per_s = ssd_rate;
  scenario.fidelity = Fidelity::layer;
  return scenario;
}

struct LayerTimes {
  std::vector<double> load_s, compute_s;
};

// Of one context on an SSD: what the policy has each layer load and compute.
LayerTimes layer_times(const Scenario& scenario, uint32_t tokens, int64_t new_tokens) {
  const Machine machine(scenario, tokens, tokens);
  const Hit hit{.tier = Tier::ssd, .tokens = tokens};
  const Restoration restoration = machine.policy().restore(
      {.history_tokens = tokens, .new_tokens = new_tokens}, {&hit, 1}, machine.idle_rates());
  LayerTimes times;
  for (const LayerWork& work : restoration.work) {
    for (int64_t i = 0; i < work.layers; ++i) {
      times.load_s.push_back(work.load_bytes[index(Tier::ssd)] /
                             scenario.hardware.ssd->read_bandwidth_bytes_per_s);
      times.compute_s.push_back(work.compute_s);
    }
  }
  return times;
}

constexpr uint32_t kHistory = 8192;

// hcache: hidden states that are loaded and projected beside layers that are only loaded or only computed.
Check flow_shop() {
  std::vector<Case> cases;
  std::vector<double> expected_s;
  for (double ssd_rate : {4e9, 16e9, 48e9}) {
    const Scenario scenario = layered_scenario("hcache", ssd_rate);
    cases.push_back({scenario, at_once({kHistory})});
    const LayerTimes times = layer_times(scenario, kHistory, 1);
    expected_s.push_back(flow_shop_makespan_s(times.load_s, times.compute_s));
  }
  std::vector<double> simulated_s;
  for (const RunResult& run : run_cases(cases)) simulated_s.push_back(restores_s(run).front());
  return exact_check(kTransfersSuite, "pipeline.flow_shop",
                     "restoration, s, of hidden states with SSDs of 4, 16 and 48 GB/s, layer by layer on the "
                     "clock, against Johnson's longest way through the same layers",
                     simulated_s, expected_s, 1e-6);
}

// kv_offload, layer-wise: n layers alike of a seconds to load and b to compute, then the head. With a read
// buffer of one layer nothing overlaps, n (a + b); with two or more n max(a, b) + min(a, b).
Check read_buffer() {
  constexpr uint32_t kNewTokens = 200;
  std::vector<Case> cases;
  std::vector<double> expected_s;
  for (double ssd_rate : {16e9, 48e9}) {
    for (int64_t buffer : {1, 2, 8}) {
      Scenario scenario = layered_scenario("kv_offload", ssd_rate);
      scenario.policy.preload = Preload::layerwise;
      scenario.policy.read_buffer_layers = buffer;
      Case one{scenario, at_once({kHistory})};
      one.workload.turns.front().input_tokens = kNewTokens;
      cases.push_back(one);
      const LayerTimes times = layer_times(scenario, kHistory, kNewTokens);
      const double a = times.load_s.front(), b = times.compute_s.front(), head_s = times.compute_s.back();
      const auto n = static_cast<double>(scenario.model.num_hidden_layers);
      expected_s.push_back(head_s + (buffer == 1 ? n * (a + b) : n * std::max(a, b) + std::min(a, b)));
    }
  }
  std::vector<double> simulated_s;
  for (const RunResult& run : run_cases(cases)) simulated_s.push_back(run.turns.front().service_ttft_s);
  return exact_check(
      kTransfersSuite, "pipeline.buffer",
      "first token, s, of layer-wise preloading with SSDs of 16 and 48 GB/s and read buffers of "
      "1, 2 and 8 layers",
      simulated_s, expected_s, 1e-6);
}

}  // namespace

std::vector<Check> transfer_checks() {
  return {first_come_first_served(), max_min(), flow_shop(), read_buffer()};
}

}  // namespace kvcap
