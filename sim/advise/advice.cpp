#include "advise/advice.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "advise/flips.h"
#include "scenario/fields.h"
#include "scenario/load.h"
#include "spec/tiers.h"

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
  bool has_price = true;
};

Probe probe(const Changes& answer, const std::vector<std::string>& paths, double from, double to) {
  Probe more{.what = paths.front() + " " + number_text(from) + " -> " + number_text(to), .changes = answer};
  for (const std::string& path : paths) more.changes.push_back(path + "=" + number_text(to));
  return more;
}

// Returns probes of the priced resources that the plan does not search, and of the links that move state.
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
  constexpr double kMore = 1.25, kFaster = 1.1;
  const auto gpus = static_cast<double>(hardware.gpu.count);
  if (hardware.gpu.count == scenario.serving.tensor_parallel_size) {
    add({"hardware.gpu.count", "serving.tensor_parallel_size"}, gpus, 2 * gpus);
  }
  const auto replicas = static_cast<double>(scenario.fleet.replicas);
  add({"fleet.replicas"}, replicas, replicas + 1);
  if (hardware.dram) {
    add({"hardware.dram.capacity_bytes"}, hardware.dram->capacity_bytes,
        kMore * hardware.dram->capacity_bytes);
  }
  if (hardware.ssd) {
    const auto count = static_cast<double>(hardware.ssd->count);
    add({"hardware.ssd.count"}, count, count + 1);
  }
  for (Tier tier : kTiers) {
    if (const std::optional<Devices>& part = hardware.devices[index(tier)]) {
      const auto count = static_cast<double>(part->count);
      add({"hardware." + std::string(name(tier)) + ".count"}, count, count + 1);
    }
  }
  if (hardware.remote) {
    add({"hardware.remote.capacity_bytes"}, hardware.remote->capacity_bytes,
        kMore * hardware.remote->capacity_bytes);
  }
  const std::size_t priced = probes.size();
  // If a link has a measured curve of rates by size, the curve determines transfer times and the bandwidth
  // only caps it.
  const auto add_link = [&](const char* path, double bandwidth_bytes_per_s, bool has_curve) {
    if (!has_curve) add({path}, bandwidth_bytes_per_s, std::round(kFaster * bandwidth_bytes_per_s));
  };
  const Pcie& pcie = hardware.pcie;
  add_link("hardware.pcie.h2d_bandwidth_bytes_per_s", pcie.h2d_bandwidth_bytes_per_s,
           !pcie.h2d_curve.empty());
  if (const auto& ssd = hardware.ssd) {
    add_link("hardware.ssd.read_bandwidth_bytes_per_s", ssd->read_bandwidth_bytes_per_s,
             !ssd->read_curve.empty());
  }
  if (const auto& remote = hardware.remote) {
    add_link("hardware.remote.bandwidth_bytes_per_s", remote->bandwidth_bytes_per_s, !remote->curve.empty());
  }
  for (std::size_t i = priced; i < probes.size(); ++i) probes[i].has_price = false;
  return probes;
}

// The resources of a configuration, summed over all nodes.
struct Resources {
  double gpus = 0, ssds = 0, storage_tb = 0, links_gb_per_s = 0;
};

Resources resources_of(const Plan& plan, const Changes& changes) {
  const Scenario scenario = load_scenario(plan.base, changes);
  const HardwareProfile& hardware = scenario.hardware;
  const auto nodes = static_cast<double>(scenario.fleet.replicas);
  Resources all{.gpus = nodes * static_cast<double>(hardware.gpu.count)};
  double bytes = 0, bytes_per_s = hardware.pcie.h2d_bandwidth_bytes_per_s;
  if (hardware.ssd) all.ssds = nodes * static_cast<double>(hardware.ssd->count);
  for (Tier tier : kHostTiers) {
    const std::optional<TierFacts> facts = tier_facts(hardware, tier);
    if (!facts) continue;
    bytes += facts->capacity_bytes;
    if (tier != Tier::dram) bytes_per_s += facts->read.bytes_per_s;
  }
  all.storage_tb = nodes * bytes / 1e12;
  all.links_gb_per_s = nodes * bytes_per_s / 1e9;
  return all;
}

// Sets the unit and the added amount. The first resource in this order counts, because a GPU may add links
// and an SSD adds storage.
void count_units(const Resources& now, const Resources& then, Marginal& marginal) {
  const std::pair<ResourceUnit, double> added[] = {
      {ResourceUnit::gpu, then.gpus - now.gpus},
      {ResourceUnit::ssd, then.ssds - now.ssds},
      {ResourceUnit::terabyte, then.storage_tb - now.storage_tb},
      {ResourceUnit::gigabyte_per_s, then.links_gb_per_s - now.links_gb_per_s}};
  for (const auto& [unit, units] : added) {
    if (!(units > 0)) continue;
    marginal.unit = unit;
    marginal.units = units;
    return;
  }
}

// Returns the gain per cost; infinite for a gain without cost.
double worth(const Marginal& one) {
  if (one.quality.mean >= 0) return -one.quality.mean;
  return -one.quality.mean / std::max(one.objective.mean, 1e-12);
}

}  // namespace

std::string_view name(ResourceUnit unit) {
  constexpr std::string_view kNames[] = {"", "GPU", "SSD", "TB", "GB/s"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::vector<Marginal> marginal_values(const Plan& plan, const PlanResult& result, Judge& judge) {
  const Candidate& best = *result.best;
  judge.begin("advice: more of each resource");
  std::vector<Probe> probes;
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    const Dimension& dimension = plan.search[d];
    Point more = result.best_point;
    if (dimension.numbers.empty()) continue;
    // Looks for the next larger value, because lists need not ascend.
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
  const std::vector<const Candidate*> candidates = judge.look(wanted);
  judge.give_intervals(candidates);
  const Resources now = resources_of(plan, best.changes);
  std::vector<Marginal> marginals;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (candidates[i]->verdict == Judgement::cannot_run) continue;
    const auto change_of = [&](const std::string& metric) {
      return paired_difference(*candidates[i], best,
                               [&](const RunResult& run) { return run.number(metric); });
    };
    MeanInterval objective = change_of(plan.minimize);
    const MeanInterval quality = change_of(kFrontMetric);
    // Below this relative difference, sums over runs of different lengths differ only by rounding.
    constexpr double kRounding = 1e-9;
    if (std::abs(objective.mean) < kRounding * std::abs(best.metric(plan.minimize).mean)) objective = {0, 0};
    // Without any effect, the added resource is unused.
    if (objective.mean == 0 && quality.mean == 0) continue;
    Marginal& more = marginals.emplace_back(Marginal{.what = probes[i].what,
                                                     .candidate = candidates[i],
                                                     .objective = objective,
                                                     .quality = quality,
                                                     .has_price = probes[i].has_price});
    count_units(now, resources_of(plan, probes[i].changes), more);
  }
  std::stable_sort(marginals.begin(), marginals.end(), [](const Marginal& a, const Marginal& b) {
    return a.has_price != b.has_price ? a.has_price : worth(a) > worth(b);
  });
  return marginals;
}

const Marginal* next_to_buy(const std::vector<Marginal>& marginals) {
  const auto is_worth = [](const Marginal& one) {
    return one.has_price && one.quality.mean + one.quality.half_width < 0 &&
           one.candidate->verdict != Judgement::misses;
  };
  const auto found = std::find_if(marginals.begin(), marginals.end(), is_worth);
  return found == marginals.end() ? nullptr : &*found;
}

std::vector<Stress> stress(const Plan& plan, const PlanResult& result, Judge& judge) {
  const Changes& answer = result.best->changes;
  const Scenario scenario = load_scenario(plan.base, answer);
  judge.begin("advice: other traffic and prompts");
  std::vector<Stress> tests;
  const ArrivalOptions& arrivals = scenario.workload.arrivals;
  if (arrivals.process != ArrivalProcess::trace) {
    for (double share : {0.8, 1.2}) {
      Changes changes = answer;
      for (std::string& change : traffic_changes(arrivals, share)) changes.push_back(std::move(change));
      tests.push_back({share < 1 ? "traffic -20 %" : "traffic +20 %", judge.look({changes}).front()});
    }
  }
  for (double scale : {1.2, 1.5}) {
    const Candidate* longer = judge.look({answer}, scale).front();
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
        return one.metric(plan.minimize).mean + (factor - 1) * part_of_objective(plan, one, part);
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
