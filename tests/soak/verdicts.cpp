#include "soak/verdicts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/random.h"
#include "metrics/serialize.h"
#include "metrics/statistics/intervals.h"
#include "plan/replicate.h"
#include "plan/workers.h"
#include "run/simulate.h"
#include "scenario/load.h"
#include "workload/workload.h"

namespace kvcap::soak {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kBeyond[] = {1.04, 1.08, 1.12};
constexpr double kLeastError = 0.015;
constexpr double kServed = 0.98;                // completed over begun, of a rate that is served
constexpr double kBelow = 0.97, kAbove = 1.05;  // where that is confirmed
constexpr double kUndecided = 0.03;             // from the limit, as a share of it
constexpr int64_t kFirstSessions = 500;

class LoadDice {
 public:
  explicit LoadDice(uint64_t number) : stream_(number, "verdicts") {}
  double within(double low, double high) { return low + (high - low) * stream_.uniform(next_++); }
  double spread(double low, double high) { return low * std::pow(high / low, within(0, 1)); }
  bool chance(double share) { return within(0, 1) < share; }
  template <class Value>
  Value pick(std::initializer_list<Value> list) {
    return *(list.begin() + static_cast<int64_t>(within(0, static_cast<double>(list.size()))));
  }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

// One simulation that is wanted: `number` at `rate` sessions per second.
struct Ask {
  uint64_t number = 0;
  double rate_per_s = 0;
  int64_t sessions = 0;
  uint64_t seed = 1;
};

struct Seen {
  bool ran = false;
  double begun_per_s = 0, completed_per_s = 0;
  double served_per_s = 0;  // sessions over the whole run
  int64_t turns = 0;
  Verdict verdict = Verdict::undecided;
  bool tells = false;
};

// Few prefixes that many prompts share depend on the seed, and with them the limit: it is that of one seed.
Scenario scenario_of(const Ask& ask) {
  Scenario scenario = parse_scenario(verdict_scenario(ask.number), "verdicts", {});
  const bool shares = scenario.workload.source.kind != "chat";
  scenario.workload.sessions = ask.sessions;
  scenario.workload.arrivals.sessions_per_s = ask.rate_per_s;
  scenario.seed = shares ? ask.number : ask.seed;
  return scenario;
}

// Over the second half of the time in which sessions begin.
void count_sessions(const std::vector<TurnRecord>& turns, Seen& seen) {
  std::vector<double> begins_s, ends_s;
  for (const TurnRecord& turn : turns) {
    if (turn.session >= begins_s.size()) {
      begins_s.resize(turn.session + 1, -1);
      ends_s.resize(turn.session + 1, 0);
    }
    double& begin_s = begins_s[turn.session];
    begin_s = begin_s < 0 ? turn.arrival_s : std::min(begin_s, turn.arrival_s);
    ends_s[turn.session] = std::max(ends_s[turn.session], turn.arrival_s + turn.e2el_s);
  }
  const double to_s = *std::max_element(begins_s.begin(), begins_s.end());
  const auto in_half = [to_s](double time_s) { return to_s / 2 < time_s && time_s <= to_s; };
  seen.begun_per_s =
      static_cast<double>(std::count_if(begins_s.begin(), begins_s.end(), in_half)) / (to_s / 2);
  seen.completed_per_s =
      static_cast<double>(std::count_if(ends_s.begin(), ends_s.end(), in_half)) / (to_s / 2);
}

std::string simulated(const Ask& ask) {
  const Scenario scenario = scenario_of(ask);
  const RunResult result = simulate(scenario, make_workload(scenario.workload, scenario.seed));
  Seen seen;
  count_sessions(result.turns, seen);
  const double stable = result.number("stable");
  const Verdict verdict = std::isnan(stable) ? Verdict::undecided
                          : stable == 1      ? Verdict::stable
                                             : Verdict::saturated;
  return Json({seen.begun_per_s, seen.completed_per_s,
               static_cast<double>(result.session_count) / result.number("duration"), result.turn_count,
               static_cast<int>(verdict), tells_the_long_run(result)})
      .dump();
}

std::vector<Seen> run_all(const std::vector<Ask>& asks) {
  std::vector<Seen> all(asks.size());
  const auto ended = [&](const std::vector<JobOutcome>& outcomes) {
    for (const JobOutcome& one : outcomes) {
      if (one.end != JobEnd::done) {
        std::fprintf(stderr, "setting %llu: %s\n", static_cast<unsigned long long>(asks[one.job].number),
                     one.text.c_str());
        continue;
      }
      const Json json = Json::parse(one.text);
      all[one.job] = {true,   json[0], json[1], json[2], json[3], static_cast<Verdict>(json[4].get<int>()),
                      json[5]};
    }
  };
  run_each_in_worker(asks.size(), [&](std::size_t i, std::atomic<int64_t>&) { return simulated(asks[i]); },
                     ended, {.timeout_s = 900, .label = "simulating"});
  return all;
}

// What is known of a setting's limit, in sessions per second.
struct Limit {
  uint64_t number = 0;
  double guess_per_s = 0;
  bool is_guessed = false;  // a rate beyond the limit was seen, close to it
  double low_per_s = 0, high_per_s = 0;
};

// Raises the guess until 1.15 times it is beyond the limit; what is completed there is the next guess.
void guess(std::vector<Limit>& limits, int64_t sessions, uint64_t& seed) {
  for (Limit& one : limits) one.is_guessed = false;
  for (int tries = 0; tries < 12; ++tries) {
    std::vector<Ask> asks;
    std::vector<Limit*> asked;
    for (Limit& one : limits) {
      if (one.is_guessed || one.guess_per_s == 0) continue;
      asks.push_back({one.number, 1.15 * one.guess_per_s, sessions, ++seed});
      asked.push_back(&one);
    }
    if (asks.empty()) return;
    const std::vector<Seen> seen = run_all(asks);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      asked[i]->is_guessed = seen[i].completed_per_s < 0.93 * seen[i].begun_per_s;
      asked[i]->guess_per_s = !seen[i].ran           ? 0
                              : asked[i]->is_guessed ? seen[i].completed_per_s
                                                     : 1.3 * asked[i]->guess_per_s;
    }
  }
}

// The rates that a mild overload completes, and how far they are from each other.
void measure(std::vector<Limit>& limits, int64_t sessions, uint64_t& seed) {
  std::vector<Ask> asks;
  for (const Limit& one : limits)
    for (double beyond : kBeyond) asks.push_back({one.number, beyond * one.guess_per_s, sessions, ++seed});
  const std::vector<Seen> seen = run_all(asks);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    std::vector<double> rates;
    for (std::size_t b = 0; b < std::size(kBeyond); ++b) {
      const Seen& one = seen[i * std::size(kBeyond) + b];
      if (one.ran) rates.push_back(one.completed_per_s);
    }
    if (rates.size() < std::size(kBeyond)) continue;
    const MeanInterval found = mean_interval(rates, 0.8);
    const double error = std::max(kLeastError * found.mean, found.half_width);
    limits[i].low_per_s = found.mean - error;
    limits[i].high_per_s = found.mean + error;
  }
}

// What is to be served just below and not just beyond: else the limit may be there, too.
void confirm(std::vector<Limit>& limits, int64_t sessions, uint64_t& seed) {
  for (const bool below : {true, false}) {
    std::vector<Limit*> open;
    for (Limit& one : limits)
      if (one.low_per_s > 0) open.push_back(&one);
    for (int tries = 0; tries < 6 && !open.empty(); ++tries) {
      std::vector<Ask> asks;
      for (const Limit* one : open)
        asks.push_back(
            {one->number, below ? kBelow * one->low_per_s : kAbove * one->high_per_s, sessions, ++seed});
      const std::vector<Seen> seen = run_all(asks);
      std::vector<Limit*> still;
      for (std::size_t i = 0; i < open.size(); ++i) {
        const bool is_served = seen[i].completed_per_s >= kServed * seen[i].begun_per_s;
        if (!seen[i].ran || is_served == below) continue;
        (below ? open[i]->low_per_s : open[i]->high_per_s) = asks[i].rate_per_s;
        still.push_back(open[i]);
      }
      open = std::move(still);
    }
  }
}

std::vector<Limit> find_limits(uint64_t first, uint64_t count, int64_t sessions) {
  std::vector<Limit> limits;
  std::vector<Ask> asks;
  uint64_t seed = 1000;
  // All at once: a rate for which a machine is never fast enough.
  for (uint64_t number = first; number < first + count; ++number)
    asks.push_back({number, 1e4, kFirstSessions, ++seed});
  const std::vector<Seen> seen = run_all(asks);
  for (std::size_t i = 0; i < asks.size(); ++i)
    if (seen[i].ran) limits.push_back({.number = asks[i].number, .guess_per_s = seen[i].served_per_s});
  guess(limits, sessions / 8, seed);
  guess(limits, sessions / 2, seed);
  std::erase_if(limits, [](const Limit& one) { return !one.is_guessed; });
  measure(limits, sessions, seed);
  confirm(limits, sessions, seed);
  std::erase_if(limits, [](const Limit& one) { return one.low_per_s == 0; });
  return limits;
}

// As workload.run_length "steady" does for a user: twice as long until it tells.
void find_verdicts(std::vector<VerdictCase>& cases) {
  std::vector<VerdictCase*> open;
  for (VerdictCase& one : cases) {
    one.sessions = kFirstSessions;
    open.push_back(&one);
  }
  while (!open.empty()) {
    std::vector<Ask> asks;
    for (const VerdictCase* one : open)
      asks.push_back({one->number, one->rate_per_s(), one->sessions, one->number});
    const std::vector<Seen> seen = run_all(asks);
    std::vector<VerdictCase*> longer;
    for (std::size_t i = 0; i < open.size(); ++i) {
      open[i]->verdict = seen[i].verdict;
      if (!seen[i].ran || seen[i].tells || 2 * seen[i].turns > kMostTurns) continue;
      open[i]->sessions *= 2;
      longer.push_back(open[i]);
    }
    open = std::move(longer);
  }
}

}  // namespace

bool VerdictCase::is_wrong() const {
  return truth_is_known() &&
         (rate_per_s() < low_per_s ? verdict == Verdict::saturated : verdict == Verdict::stable);
}

double VerdictCase::distance() const {
  return std::max({0.0, low_per_s / rate_per_s() - 1, rate_per_s() / high_per_s - 1});
}

std::string verdict_scenario(uint64_t number) {
  LoadDice dice(number);
  struct Machine {
    const char *model, *hardware;
  };
  const Machine machine = dice.pick<Machine>({{"llama-2-7b", "a100-40g-4x-pm9a3"},
                                              {"llama-3.1-8b", "h100-sxm"},
                                              {"llama-3.1-8b-fp8", "l40s"},
                                              {"mistral-7b", "a100-80g-sxm"},
                                              {"qwen2.5-7b", "rtx-pro-6000"},
                                              {"qwen3-30b-a3b", "h200-sxm"},
                                              {"llama-2-13b", "a100-80g-sxm"}});
  Json json = {{"schema", "kvcap.scenario/1"}, {"name", "verdict " + std::to_string(number)}};
  json["model"] = machine.model;
  json["hardware"] = machine.hardware;
  json["serving"] = {{"max_model_len", dice.pick({4096, 8192, 16384})},
                     {"max_num_seqs", dice.pick({8, 32, 128, 256})},
                     {"max_num_batched_tokens", dice.pick({512, 2048, 8192})},
                     {"allow_impossible", true},
                     {"prefix_caching", dice.chance(0.8)}};
  if (dice.chance(0.3)) json["serving"]["kv_capacity_tokens"] = std::llround(dice.spread(20'000, 200'000));
  Json& workload = json["workload"];
  const double kind = dice.within(0, 1);
  if (kind < 0.6) {
    workload["source"]["kind"] = "chat";
  } else if (kind < 0.8) {
    workload["source"] = {{"kind", "few_shot"}, {"dataset", "piqa"}, {"max_prefix_tokens", 2000}};
  } else {
    workload["source"] = {{"kind", "rag"}, {"base_queries", 2000}, {"chunks", 4}, {"chunk_tokens", 256}};
  }
  const char* process = dice.pick({"poisson", "poisson", "gamma", "constant"});
  workload["arrivals"] = {{"process", process}, {"sessions_per_s", 0.1}, {"cv", dice.spread(0.3, 3)}};
  workload["think_time"] = {{"distribution", dice.pick({"constant", "exponential", "lognormal"})},
                            {"mean_s", dice.spread(1, 60)}};
  workload["warmup"] = "steady";
  Json& policy = json["policy"];
  policy["name"] = dice.pick({"recompute", "kv_offload", "hcache", "adaptive", "cached_attention", "ideal"});
  const std::string name = policy["name"];
  if (name != "recompute" && name != "ideal")
    policy["tiers"] = {{{"kind", "dram"}, {"capacity_bytes", dice.spread(2e9, 1e11)}}};
  return json.dump(2);
}

VerdictTally check_verdicts(uint64_t first, uint64_t count, int64_t long_sessions,
                            const std::function<void(const VerdictCase&)>& on_case) {
  std::vector<VerdictCase> cases;
  for (const Limit& one : find_limits(first, count, long_sessions)) {
    VerdictCase& found = cases.emplace_back(VerdictCase{one.number, one.low_per_s, one.high_per_s});
    found.ratio = RandomStream(one.number, "ratio").uniform(0) + 0.5;
  }
  find_verdicts(cases);
  VerdictTally tally;
  tally.refused = static_cast<int64_t>(count) - std::ssize(cases);
  for (const VerdictCase& one : cases) {
    on_case(one);
    if (!one.truth_is_known()) {
      ++tally.unknown;
      continue;
    }
    ++tally.told;
    tally.wrong += one.is_wrong();
    const bool is_open = one.verdict == Verdict::undecided;
    tally.undecided += is_open;
    tally.undecided_far += is_open && one.distance() > kUndecided;
  }
  return tally;
}

}  // namespace kvcap::soak
