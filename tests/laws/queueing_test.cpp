// Scenarios reduced to queues, against queueing theory: one request at a time, Poisson arrivals, no history.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "laws/machines.h"
#include "metrics/recorder.h"

namespace kvcap::laws {
namespace {

constexpr int kReplications = 12;

Workload single_turns(int64_t count, double rate, uint64_t seed, auto output_tokens) {
  Workload workload;
  const RandomStream arrivals(seed, "arrivals");
  double now_s = 0;
  for (uint64_t s = 0; s < static_cast<uint64_t>(count); ++s) {
    now_s += arrivals.exponential(s) / rate;
    workload.sessions.push_back({.first_turn = static_cast<uint32_t>(s), .turn_count = 1});
    workload.turns.push_back({.input_tokens = 32, .output_tokens = output_tokens(s), .time_s = now_s});
  }
  return workload;
}

struct Waiting {
  double mean_s, half_width_s, service_s, service_squared;
};

// Mean waiting time over replications with its 99 % half-width (t of 11 degrees of freedom, 3.106).
Waiting waiting_times(double rate, auto output_tokens_of_seed) {
  Scenario one = scenario("recompute");
  one.serving.max_num_seqs = 1;
  std::vector<Case> cases;
  for (uint64_t seed = 1; seed <= kReplications; ++seed) {
    cases.push_back({one, single_turns(8000, rate, seed, output_tokens_of_seed(seed))});
  }
  std::vector<double> means;
  double service = 0;
  double squared = 0;
  double count = 0;
  for (const RunResult& run : run_all(cases)) {
    double wait = 0;
    for (const TurnRecord& turn : run.turns) {
      const double queue_s = turn.ttft_s - turn.service_ttft_s;
      const double service_s = turn.e2el_s - queue_s;
      wait += queue_s;
      service += service_s;
      squared += service_s * service_s;
      ++count;
    }
    means.push_back(wait / static_cast<double>(run.turns.size()));
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / kReplications;
  double variance = 0;
  for (double one_mean : means) variance += (one_mean - mean) * (one_mean - mean) / (kReplications - 1);
  return {mean, 3.106 * std::sqrt(variance / kReplications), service / count, squared / count};
}

// Pollaczek-Khinchine: W = lambda E[S^2] / (2 (1 - rho)).
double waiting_by_theory_s(double rate, const Waiting& measured) {
  return rate * measured.service_squared / (2 * (1 - rate * measured.service_s));
}

TEST(Queueing, WaitsAsLongAsMD1Says) {
  const auto constant = [](uint64_t) { return [](uint64_t) { return uint32_t{40}; }; };
  const double service_s = waiting_times(0.01, constant).service_s;
  for (double load : {0.4, 0.7}) {
    const double rate = load / service_s;
    const Waiting measured = waiting_times(rate, constant);
    // M/D/1: W = rho S / (2 (1 - rho))
    const double theory_s = load * service_s / (2 * (1 - load));
    EXPECT_NEAR(measured.mean_s, theory_s, measured.half_width_s) << "load " << load;
    EXPECT_LT(measured.half_width_s, 0.1 * theory_s) << "the interval is too wide to tell";
    EXPECT_NEAR(waiting_by_theory_s(rate, measured), theory_s, 1e-3 * theory_s);
  }
}

TEST(Queueing, WaitsAsLongAsMM1SaysWithExponentialAnswers) {
  const auto exponential = [](uint64_t seed) {
    return [random = RandomStream(seed, "lengths")](uint64_t s) {
      return 1 + static_cast<uint32_t>(400 * random.exponential(s));
    };
  };
  const double service_s = waiting_times(0.01, exponential).service_s;
  const double load = 0.6;
  const Waiting measured = waiting_times(load / service_s, exponential);
  // M/M/1: W = rho S / (1 - rho); answers are exponential and the prompt's prefill is 1 % of the service
  const double theory_s = load * service_s / (1 - load);
  EXPECT_NEAR(measured.mean_s, theory_s, measured.half_width_s + 0.03 * theory_s);
  EXPECT_NEAR(measured.mean_s, waiting_by_theory_s(load / service_s, measured), measured.half_width_s);
}

}  // namespace
}  // namespace kvcap::laws
