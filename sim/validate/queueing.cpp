// Reduced scenarios against theory. Machines, confidence and tolerance are those of reduced.h.
#include "validate/queueing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "machine.h"
#include "policy/policy.h"
#include "validate/reduced.h"
#include "validate/theory.h"

namespace kvcap {
namespace {

constexpr const char* kSuite = "queueing";
// At which a wait is no wait: the clock resolves a nanosecond, records have seven digits.
constexpr double kNoWait = 1e-5;

// Means over the turns that are no warm-up.
double mean_of(const RunResult& run, const std::function<double(const TurnRecord&)>& of) {
  double sum = 0, count = 0;
  for (const TurnRecord& turn : run.turns) {
    if (turn.warmup) continue;
    sum += of(turn);
    ++count;
  }
  return sum / count;
}

double queue_s(const TurnRecord& turn) { return turn.ttft_s - turn.service_ttft_s; }

// ---- waiting for a server ----

constexpr int64_t kWarmup = 1000;
constexpr uint32_t kConstantTokens = 40;
constexpr double kMeanTokens = 1000;

std::size_t turns_of(const SuiteOptions& options) { return options.quick ? 10000 : 21000; }

// 1 + floor(m E) of an exponential E is geometric, with mean 1 / (1 - e^(-1/m)) and c^2 = e^(-1/m).
uint32_t drawn_tokens(const RandomStream& random, uint64_t i) {
  return 1 + static_cast<uint32_t>(kMeanTokens * random.exponential(i));
}
double mean_drawn_tokens() { return -1 / std::expm1(-1 / kMeanTokens); }

Workload requests(std::size_t turns, double rate, uint64_t seed, bool drawn) {
  const RandomStream random(seed, "lengths");
  Workload workload = turns_alone(poisson_arrivals_s(turns, rate, seed), [&](uint64_t i) {
    return drawn ? drawn_tokens(random, i) : kConstantTokens;
  });
  workload.warmup_turns = kWarmup;
  return workload;
}

// Seconds that a request with so many tokens takes on an idle machine.
double idle_s(int servers, uint32_t tokens) {
  const double arrival_s = 0;
  const Workload one = turns_alone({&arrival_s, 1}, [&](uint64_t) { return tokens; });
  return run_cases({{server_scenario(servers), one}}).front().turns.front().e2el_s;
}

double exceeds(const RunResult& run, double t_s) {
  return mean_of(run, [t_s](const TurnRecord& turn) { return queue_s(turn) > t_s ? 1.0 : 0.0; });
}

// Mean of a level over the run, and what Little's law makes of the seconds that all turns spent there.
std::vector<double> littles_sides(const RunResult& run, const std::string& level,
                                  const std::function<double(const TurnRecord&)>& seconds) {
  const auto series =
      std::find_if(run.series.begin(), run.series.end(), [&](const auto& one) { return one.first == level; });
  KVCAP_CHECK(series != run.series.end());
  double sum_s = 0;
  for (const TurnRecord& turn : run.turns) sum_s += seconds(turn);
  return {std::accumulate(series->second.begin(), series->second.end(), 0.0) /
              static_cast<double>(series->second.size()),
          sum_s / run.number("duration")};
}

// A wait follows from the one before (Lindley 1952): W' = max(0, W + S - A).
double lindley_wait_s(const Workload& workload, double service_s) {
  double wait_s = 0, sum_s = 0;
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    if (i > 0) {
      const double gap_s = workload.turns[i].time_s - workload.turns[i - 1].time_s;
      wait_s = std::max(0.0, wait_s + service_s - gap_s);
    }
    if (static_cast<int64_t>(i) >= workload.warmup_turns) sum_s += wait_s;
  }
  return sum_s / static_cast<double>(std::ssize(workload.turns) - workload.warmup_turns);
}

Experiment md1(double load, const std::string& name, double service_s, std::size_t turns) {
  const std::string of = " of M/D/1, one server with answers of 40 tokens, load " + name;
  return {
      .scenario = server_scenario(1),
      .workload = [=](uint64_t seed) { return requests(turns, load / service_s, seed, false); },
      .measure =
          [=](const Workload& workload, const RunResult& run) {
            const double wait = mean_of(run, queue_s) / service_s;
            return std::vector<double>{wait, exceeds(run, kNoWait * service_s), exceeds(run, service_s), wait,
                                       lindley_wait_s(workload, service_s) / service_s};
          },
      .predictions = {{"md1.load_" + name + ".mean", "mean wait, in services," + of, mg1_wait_s(load, 1, 0)},
                      {"md1.load_" + name + ".waits", "share that waits" + of, load},
                      {"md1.load_" + name + ".tail", "share that waits longer than a service" + of,
                       md1_wait_exceeds(load, 1)},
                      {"md1.lindley_" + name,
                       "mean wait, in services, against Lindley's recursion on the same arrivals" + of,
                       std::nullopt}}};
}

// c^2 of geometric answers is 1 - 1 / mean: an M/M/1 but for a thousandth.
Experiment mm1(double load, const std::string& name, double token_s, std::size_t turns) {
  const double service_s = mean_drawn_tokens() * token_s;
  const std::string of = " of M/M/1, one server with exponential answers, load " + name;
  return {.scenario = server_scenario(1),
          .workload = [=](uint64_t seed) { return requests(turns, load / service_s, seed, true); },
          .measure =
              [=](const Workload&, const RunResult& run) {
                return std::vector<double>{mean_of(run, queue_s) / service_s, exceeds(run, 2 * service_s)};
              },
          .predictions = {{"mm1.load_" + name + ".mean", "mean wait, in services," + of,
                           mg1_wait_s(load, 1, std::exp(-1 / kMeanTokens))},
                          {"mm1.load_" + name + ".tail", "share that waits longer than two services" + of,
                           mmc_wait_exceeds(1, load, 2)}}};
}

// A newcomer to a batch that is not full waits for the end of the running step, a thousandth of a service.
Experiment mm4(double load, const std::string& name, double token_s, std::size_t turns) {
  constexpr int kServers = 4;
  const double service_s = mean_drawn_tokens() * token_s;
  const std::string of = " of M/M/4, a batch of four with exponential answers, load " + name;
  return {
      .scenario = server_scenario(kServers),
      .workload = [=](uint64_t seed) { return requests(turns, kServers * load / service_s, seed, true); },
      .measure =
          [=](const Workload&, const RunResult& run) {
            std::vector<double> measured{mean_of(run, queue_s) / service_s, exceeds(run, 0.5 * service_s)};
            for (double side : littles_sides(run, "waiting", queue_s)) measured.push_back(side);
            for (double side : littles_sides(
                     run, "running", [](const TurnRecord& turn) { return turn.e2el_s - queue_s(turn); }))
              measured.push_back(side);
            return measured;
          },
      .predictions = {{"mm4.load_" + name + ".mean", "mean wait, in services," + of,
                       mmc_wait_s(kServers, kServers * load, 1)},
                      {"mm4.load_" + name + ".tail", "share that waits longer than half a service" + of,
                       mmc_wait_exceeds(kServers, kServers * load, 0.5)},
                      // Little 1961: on a run that begins and ends empty both sides are the same sum.
                      {"little.waiting", "mean queue against rate x mean wait, of every run" + of,
                       std::nullopt},
                      {"little.running", "mean batch against rate x mean service, of every run" + of,
                       std::nullopt}}};
}

// No queue: who finds the batch full is turned away. A place that is freed in the running step is taken by
// who comes within that step, a thousandth of a service.
Experiment loss(double offered, const std::string& name, double token_s, std::size_t turns) {
  constexpr int kServers = 4;
  const double service_s = mean_drawn_tokens() * token_s;
  Scenario scenario = server_scenario(kServers);
  scenario.serving.max_queued_turns = 0;
  return {.scenario = std::move(scenario),
          .workload = [=](uint64_t seed) { return requests(turns, offered / service_s, seed, true); },
          .measure =
              [](const Workload&, const RunResult& run) {
                double rejected = 0, counted = 0;
                for (const TurnRecord& turn : run.turns) {
                  if (turn.warmup) continue;
                  rejected += turn.rejected;
                  ++counted;
                }
                return std::vector<double>{rejected / counted};
              },
          .predictions = {{"loss.offered_" + name,
                           "share rejected by a batch of four without a queue, exponential answers, " + name +
                               " services offered at a time",
                           erlang_b(kServers, offered)}}};
}

// ---- links ----

// Other arrivals than those that wait for a server.
constexpr uint64_t kOtherSeeds = 1000;

Experiment waiting_for_a_link(std::size_t turns) {
  constexpr double kLoad = 0.7;
  constexpr uint32_t kTokens = 16384;
  const Scenario scenario = reduced_scenario("kv_offload");
  const double load_s =
      kTokens * scenario.model.kv_bytes_per_token() / scenario.hardware.ssd->read_bandwidth_bytes_per_s;
  const auto wait_s = [=](const TurnRecord& turn) { return turn.restore_s - load_s; };
  const auto share_beyond = [=](const RunResult& run, double t_s) {
    return mean_of(run, [=](const TurnRecord& turn) { return wait_s(turn) > t_s ? 1.0 : 0.0; });
  };
  const std::string of = " of loads of equal contexts from an SSD that is 70 % busy, an M/D/1";
  return {.scenario = scenario,
          .workload =
              [=](uint64_t seed) {
                Workload workload =
                    stored_turns(poisson_arrivals_s(turns, kLoad / load_s, kOtherSeeds + seed),
                                 [](uint64_t) { return kTokens; });
                workload.warmup_turns = kWarmup;
                return workload;
              },
          .measure =
              [=](const Workload&, const RunResult& run) {
                return std::vector<double>{mean_of(run, wait_s) / load_s, share_beyond(run, kNoWait * load_s),
                                           share_beyond(run, load_s)};
              },
          .predictions = {{"link.md1.mean", "mean wait, in loads," + of, mg1_wait_s(kLoad, 1, 0)},
                          {"link.md1.waits", "share that waits" + of, kLoad},
                          {"link.md1.tail", "share that waits longer than a load" + of,
                           md1_wait_exceeds(kLoad, 1)}}};
}

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
  return exact_check(kSuite, "link.fifo", "restoration, s, of four contexts on an SSD asked for at once",
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
  return exact_check(kSuite, "link.max_min",
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
  return exact_check(kSuite, "pipeline.flow_shop",
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
      kSuite, "pipeline.buffer",
      "first token, s, of layer-wise preloading with SSDs of 16 and 48 GB/s and read buffers of "
      "1, 2 and 8 layers",
      simulated_s, expected_s, 1e-6);
}

// ---- references ----

constexpr std::size_t kItems = 5000;
constexpr std::size_t kPlaces = 500;

// A cache of kPlaces is full and forgets how it began long before that.
constexpr int64_t kReferenceWarmup = 8000;
std::size_t references_of(const SuiteOptions& options) { return options.quick ? 20000 : 60000; }

Workload drawn_references(const std::vector<double>& popularity, const std::vector<double>& arrivals_s,
                          uint64_t seed) {
  Workload workload = reference_workload(arrivals_s, draw_references(arrivals_s.size(), popularity, seed));
  workload.warmup_turns = kReferenceWarmup;
  return workload;
}

double hit_rate(const RunResult& run) {
  return mean_of(run, [](const TurnRecord& turn) { return turn.hit_tokens > 0 ? 1.0 : 0.0; });
}

double stack_hit_rate(const Workload& workload, int64_t places) {
  LruStack stack(workload.pieces.size());
  double hits = 0;
  for (std::size_t i = 0; i < workload.pieces.size(); ++i) {
    const int64_t distance = stack.distance(workload.pieces[i].key);
    const bool counts = static_cast<int64_t>(i) >= workload.warmup_turns;
    if (counts && distance > 0 && distance <= places) ++hits;
    stack.use(workload.pieces[i].key);
  }
  return hits / static_cast<double>(std::ssize(workload.turns) - workload.warmup_turns);
}

Experiment lru(double alpha, const std::string& name, std::size_t count) {
  const std::vector<double> popularity = zipf(kItems, alpha);
  const std::string of = " of LRU, 500 places, 5,000 texts of Zipf popularity " + name;
  return {
      .scenario = cache_scenario(EvictionKind::lru, kPlaces),
      .workload = [=](uint64_t seed) { return drawn_references(popularity, seconds_apart(count), seed); },
      .measure =
          [](const Workload& workload, const RunResult& run) {
            return std::vector<double>{hit_rate(run), hit_rate(run), stack_hit_rate(workload, kPlaces)};
          },
      .predictions = {{"lru.zipf_" + name + ".che", "hit rate against Che's" + of,
                       lru_hit_rate(popularity, kPlaces)},
                      {"lru.zipf_" + name + ".stack",
                       "hit rate against the stack distances of the same references" + of, std::nullopt}}};
}

Experiment fifo(double alpha, const std::string& name, std::size_t count) {
  const std::vector<double> popularity = zipf(kItems, alpha);
  return {.scenario = cache_scenario(EvictionKind::fifo, kPlaces),
          .workload = [=](uint64_t seed) { return drawn_references(popularity, seconds_apart(count), seed); },
          .measure = [](const Workload&, const RunResult& run) { return std::vector<double>{hit_rate(run)}; },
          .predictions = {{"fifo.zipf_" + name + ".che",
                           "hit rate of FIFO, 500 places, 5,000 texts of Zipf popularity " + name,
                           fifo_hit_rate(popularity, kPlaces)}}};
}

Experiment ttl(double alpha, const std::string& name, std::size_t count) {
  constexpr double kTtl_s = 1000;
  const std::vector<double> popularity = zipf(kItems, alpha);
  Scenario scenario = cache_scenario(EvictionKind::lru, 2 * kItems);
  scenario.policy.ttl_s = kTtl_s;
  return {.scenario = scenario,
          .workload =
              [=](uint64_t seed) {
                return drawn_references(popularity, poisson_arrivals_s(count, 1, seed), seed);
              },
          .measure = [](const Workload&, const RunResult& run) { return std::vector<double>{hit_rate(run)}; },
          .predictions = {{"ttl.zipf_" + name,
                           "hit rate of an unbounded store that drops what was unused for 1,000 s, one "
                           "reference a second to 5,000 texts of Zipf popularity " +
                               name,
                           ttl_hit_rate(popularity, 1, kTtl_s)}}};
}

}  // namespace

std::vector<Experiment> waiting_experiments(const SuiteOptions& options) {
  const std::size_t turns = turns_of(options);
  const double service_s = idle_s(1, kConstantTokens);
  const double token_s = idle_s(1, static_cast<uint32_t>(kMeanTokens)) / kMeanTokens;
  return {md1(0.4, "0.4", service_s, turns), md1(0.7, "0.7", service_s, turns),
          mm1(0.6, "0.6", token_s, turns),   mm4(0.7, "0.7", token_s, turns),
          loss(2, "2", token_s, turns),      loss(6, "6", token_s, turns)};
}

std::vector<Experiment> link_experiments(const SuiteOptions& options) {
  return {waiting_for_a_link(turns_of(options))};
}

std::vector<Experiment> reference_experiments(const SuiteOptions& options) {
  const std::size_t count = references_of(options);
  return {lru(0.8, "0.8", count), lru(1.2, "1.2", count), fifo(0.8, "0.8", count), ttl(0.8, "0.8", count)};
}

std::vector<Check> transfer_checks() {
  return {first_come_first_served(), max_min(), flow_shop(), read_buffer()};
}

int replications(const SuiteOptions& options) { return options.quick ? 16 : 32; }

std::vector<Check> queueing_checks(const SuiteOptions& options) {
  std::vector<Experiment> experiments = waiting_experiments(options);
  for (const auto& more : {link_experiments(options), reference_experiments(options)}) {
    experiments.insert(experiments.end(), more.begin(), more.end());
  }
  std::vector<Check> checks = run_experiments(kSuite, experiments, replications(options));
  const std::vector<Check> transfers = transfer_checks();
  checks.insert(checks.end(), transfers.begin(), transfers.end());
  return checks;
}

}  // namespace kvcap
