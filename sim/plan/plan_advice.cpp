#include "plan/plan_advice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scenario/fields.h"
#include "scenario/load.h"

namespace kvcap {
namespace {

bool is_searched(const Plan& plan, const std::string& path) {
  return std::any_of(plan.search.begin(), plan.search.end(), [&](const Dimension& dimension) {
    return std::find(dimension.paths.begin(), dimension.paths.end(), path) != dimension.paths.end();
  });
}

struct Probe {
  std::string what;
  Changes changes;
};

Probe probe(const Changes& answer, const std::vector<std::string>& paths, double from, double to) {
  Probe more{.what = paths.front() + " " + number_text(from) + " -> " + number_text(to), .changes = answer};
  for (const std::string& path : paths) more.changes.push_back(path + "=" + number_text(to));
  return more;
}

// Priced resources that the plan leaves alone.
std::vector<Probe> unsearched(const Plan& plan, const Changes& answer) {
  const Scenario scenario = load_scenario(plan.base, answer);
  const HardwareProfile& hardware = scenario.hardware;
  std::vector<Probe> probes;
  const auto add = [&](const std::vector<std::string>& paths, double from, double to) {
    for (const std::string& path : paths) {
      if (is_searched(plan, path)) return;
    }
    probes.push_back(probe(answer, paths, from, to));
  };
  constexpr double kMore = 1.25;
  const auto gpus = static_cast<double>(hardware.gpu.count);
  if (hardware.gpu.count == scenario.serving.tensor_parallel_size) {
    add({"hardware.gpu.count", "serving.tensor_parallel_size"}, gpus, 2 * gpus);
  }
  if (hardware.dram) {
    add({"hardware.dram.capacity_bytes"}, hardware.dram->capacity_bytes,
        kMore * hardware.dram->capacity_bytes);
  }
  if (hardware.ssd) {
    const auto count = static_cast<double>(hardware.ssd->count);
    add({"hardware.ssd.count"}, count, count + 1);
  }
  if (hardware.remote) {
    add({"hardware.remote.capacity_bytes"}, hardware.remote->capacity_bytes,
        kMore * hardware.remote->capacity_bytes);
  }
  return probes;
}

MeanInterval paired(const Candidate& one, const Candidate& other, const std::string& metric) {
  std::vector<double> differences;
  for (std::size_t r = 0; r < std::min(one.runs.size(), other.runs.size()); ++r) {
    differences.push_back(one.runs[r].number(metric) - other.runs[r].number(metric));
  }
  return mean_interval(differences, one.confidence);
}

// Gained per what it costs; what gains and costs nothing comes first.
double worth(const Marginal& one) {
  if (one.quality.mean >= 0) return -one.quality.mean;
  return -one.quality.mean / std::max(one.objective.mean, 1e-12);
}

struct PricedPart {
  const char* name;
  const char* metric;
};
constexpr PricedPart kPricedParts[] = {{"GPU", "cost.gpu_usd"},
                                       {"DRAM", "cost.dram_usd"},
                                       {"SSD", "cost.ssd_usd"},
                                       {"remote storage", "cost.remote_usd"}};

// The settings that make the traffic `share` of what it is.
std::vector<std::string> traffic(const ArrivalOptions& arrivals, double share) {
  const std::string path = "workload.arrivals.";
  if (arrivals.process == ArrivalProcess::closed_loop) {
    const double sessions = static_cast<double>(arrivals.concurrency.value());
    const double changed = share < 1 ? std::floor(share * sessions) : std::ceil(share * sessions);
    return {path + "concurrency=" + number_text(std::max(1.0, changed))};
  }
  if (arrivals.requests_per_s)
    return {path + "requests_per_s=" + number_text(share * *arrivals.requests_per_s)};
  if (arrivals.rates.empty()) {
    const double rate = arrivals.sessions_per_s.value_or(kDefaultSessions_per_s);
    return {path + "sessions_per_s=" + number_text(share * rate)};
  }
  std::vector<std::string> changes;
  for (std::size_t i = 0; i < arrivals.rates.size(); ++i) {
    const ArrivalRate& one = arrivals.rates[i];
    const char* field = one.requests_per_s ? "requests_per_s" : "sessions_per_s";
    const double rate = one.requests_per_s ? *one.requests_per_s : *one.sessions_per_s;
    changes.push_back(path + "rates." + std::to_string(i) + "." + field + "=" + number_text(share * rate));
  }
  return changes;
}

}  // namespace

std::vector<Marginal> marginal_values(const Plan& plan, const PlanResult& result, Judge& judge) {
  const Candidate& best = *result.best;
  std::vector<Probe> probes;
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    const Dimension& dimension = plan.search[d];
    Point more = result.best_point;
    if (dimension.numbers.empty()) continue;
    // Lists need not ascend.
    const double now = dimension.numbers[more[d]];
    const auto next = [&](std::size_t i) {
      return dimension.numbers[i] > now ? dimension.numbers[i] : INFINITY;
    };
    std::size_t least = more[d];
    for (std::size_t i = 0; i < dimension.numbers.size(); ++i) {
      if (next(i) < next(least)) least = i;
    }
    if (least == more[d]) continue;
    more[d] = least;
    probes.push_back(
        {dimension.name() + " " + number_text(now) + " -> " + number_text(dimension.numbers[least]),
         changes_at(plan, more)});
  }
  for (Probe& one : unsearched(plan, best.changes)) probes.push_back(std::move(one));

  std::vector<Changes> wanted;
  wanted.reserve(probes.size());
  for (const Probe& one : probes) wanted.push_back(one.changes);
  const std::vector<const Candidate*> candidates = judge.judge(wanted);
  judge.give_intervals(candidates);
  std::vector<Marginal> marginals;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (candidates[i]->verdict == Judgement::cannot_run) continue;
    const MeanInterval objective = paired(*candidates[i], best, plan.minimize);
    const MeanInterval quality = paired(*candidates[i], best, kFrontMetric);
    // More of what the answer does not use.
    if (objective.mean == 0 && quality.mean == 0) continue;
    marginals.push_back({probes[i].what, candidates[i], objective, quality});
  }
  std::stable_sort(marginals.begin(), marginals.end(),
                   [](const Marginal& a, const Marginal& b) { return worth(a) > worth(b); });
  return marginals;
}

std::vector<Stress> stress(const Plan& plan, const PlanResult& result, Judge& judge) {
  const Changes& answer = result.best->changes;
  const Scenario scenario = load_scenario(plan.base, answer);
  std::vector<Stress> tests;
  const ArrivalOptions& arrivals = scenario.workload.arrivals;
  if (arrivals.process != ArrivalProcess::trace) {
    for (double share : {0.8, 1.2}) {
      Changes changes = answer;
      for (std::string& change : traffic(arrivals, share)) changes.push_back(std::move(change));
      tests.push_back({share < 1 ? "traffic -20 %" : "traffic +20 %", judge.judge({changes}).front()});
    }
  }
  for (double scale : {1.2, 1.5}) {
    const Candidate* longer = judge.judge({answer}, scale).front();
    if (longer->verdict == Judgement::cannot_run) continue;
    tests.push_back({scale < 1.3 ? "prompts 20 % longer" : "prompts 50 % longer", longer, false});
  }
  return tests;
}

std::vector<PriceChange> price_changes(const Plan& plan, const PlanResult& result) {
  std::vector<PriceChange> changes;
  if (!plan.minimize.starts_with("cost.")) return changes;
  for (const PricedPart& part : kPricedParts) {
    if (!(result.best->metric(part.metric).mean > 0)) continue;
    for (double factor : {0.8, 1.2}) {
      const auto objective = [&](const Candidate& one) {
        const double share = one.metric(part.metric).mean / one.metric("cost.total_usd").mean;
        return one.metric(plan.minimize).mean * (1 + (factor - 1) * share);
      };
      PriceChange change{.what = std::string(part.name) + " price " + (factor < 1 ? "-20 %" : "+20 %"),
                         .objective = objective(*result.best),
                         .best = result.best};
      for (const Candidate* one : result.judged) {
        const double margin = 1e-9 * std::abs(change.objective);
        if (one->verdict == Judgement::meets && objective(*one) < objective(*change.best) - margin) {
          change.best = one;
        }
      }
      changes.push_back(std::move(change));
    }
  }
  return changes;
}

const Target* binding_target(const Plan& plan, const Candidate& candidate) {
  const Target* binding = nullptr;
  double least = INFINITY;
  for (const Target& target : plan.meet) {
    const double room = slack(target, candidate.metric(target.metric).mean);
    if (room >= least) continue;
    least = room;
    binding = &target;
  }
  return binding;
}

}  // namespace kvcap
