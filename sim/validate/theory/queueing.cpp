// Reduced scenarios against theory. Machines, confidence and tolerance are those of reduced.h.
#include "validate/theory/queueing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "validate/theory/reduced.h"
#include "validate/theory/theory.h"

namespace kvcap {
namespace {

constexpr const char* kQueueingSuite = "queueing";
// At which a wait is no wait: the clock resolves a nanosecond, records have seven digits.
constexpr double kNoWait = 1e-5;

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

// ---- waiting for a link ----

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

std::vector<Check> queueing_checks(const SuiteOptions& options) {
  std::vector<Experiment> experiments = waiting_experiments(options);
  for (const auto& more : {link_experiments(options), reference_experiments(options)}) {
    experiments.insert(experiments.end(), more.begin(), more.end());
  }
  std::vector<Check> checks = run_experiments(kQueueingSuite, experiments, options.quick ? 16 : 32);
  const std::vector<Check> transfers = transfer_checks();
  checks.insert(checks.end(), transfers.begin(), transfers.end());
  return checks;
}

}  // namespace kvcap
