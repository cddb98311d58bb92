#include "advise/marginals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "advise/perturb.h"
#include "plan/sizes.h"
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

std::string step_text(const std::string& path, double from, double to) {
  return path + " " + number_text(from) + " -> " + number_text(to);
}

// Returns a probe for each numeric dimension: the answer with the next larger value.
std::vector<Probe> searched(const Plan& plan, const PlanResult& result) {
  std::vector<Probe> probes;
  for (std::size_t d = 0; d < plan.search.size(); ++d) {
    const std::vector<double>& numbers = plan.search[d].numbers;
    if (numbers.empty()) continue;
    Point more = result.best_point;
    const double now = numbers[more[d]];
    double least = INFINITY;
    for (std::size_t i = 0; i < numbers.size(); ++i) {  // lists need not be ascending
      if (numbers[i] <= now || numbers[i] >= least) continue;
      least = numbers[i];
      more[d] = i;
    }
    if (std::isinf(least)) continue;
    probes.push_back({step_text(plan.search[d].name(), now, least), changes_at(plan, more)});
  }
  return probes;
}

// Returns a probe for each priced resource that the plan does not search, and for each link that moves stored
// state.
std::vector<Probe> unsearched(const Plan& plan, const Changes& answer) {
  const Scenario scenario = load_scenario(plan.base, answer);
  const HardwareProfile& hardware = scenario.hardware;
  std::vector<Probe> probes;
  const auto add = [&](const std::vector<std::string>& paths, double from, double to, bool has_price = true) {
    for (const std::string& path : paths) {
      if (is_searched(plan, path)) return;
    }
    Probe more{step_text(paths.front(), from, to), answer, has_price};
    for (const std::string& path : paths) more.changes.push_back(path + "=" + number_text(to));
    probes.push_back(std::move(more));
  };
  const auto one_more = [&](const std::string& path, int64_t count) {
    add({path}, static_cast<double>(count), static_cast<double>(count + 1));
  };
  constexpr double kMore = 1.25, kFaster = 1.1;
  if (hardware.gpu.count == scenario.serving.tensor_parallel_size) {
    const auto gpus = static_cast<double>(hardware.gpu.count);
    add({"hardware.gpu.count", "serving.tensor_parallel_size"}, gpus, 2 * gpus);
  }
  one_more("fleet.replicas", scenario.fleet.replicas);
  if (const auto& dram = hardware.dram) {
    add({"hardware.dram.capacity_bytes"}, dram->capacity_bytes, kMore * dram->capacity_bytes);
  }
  // A device that stays empty cannot help.
  if (hardware.ssd && keeps_in(scenario, Tier::ssd)) one_more("hardware.ssd.count", hardware.ssd->count);
  for (Tier tier : kTiers) {
    const std::optional<Devices>& part = hardware.devices[index(tier)];
    if (part && keeps_in(scenario, tier))
      one_more("hardware." + std::string(name(tier)) + ".count", part->count);
  }
  if (const auto& remote = hardware.remote) {
    add({"hardware.remote.capacity_bytes"}, remote->capacity_bytes, kMore * remote->capacity_bytes);
  }
  // If a link has a measured curve of rates by size, the curve determines transfer times and the bandwidth
  // only caps it.
  const auto add_link = [&](const char* path, double bandwidth_bytes_per_s, const auto& curve) {
    if (!curve.empty()) return;
    add({path}, bandwidth_bytes_per_s, std::round(kFaster * bandwidth_bytes_per_s), false);
  };
  const Pcie& pcie = hardware.pcie;
  add_link("hardware.pcie.h2d_bandwidth_bytes_per_s", pcie.h2d_bandwidth_bytes_per_s, pcie.h2d_curve);
  if (const auto& ssd = hardware.ssd) {
    add_link("hardware.ssd.read_bandwidth_bytes_per_s", ssd->read_bandwidth_bytes_per_s, ssd->read_curve);
  }
  if (const auto& remote = hardware.remote) {
    add_link("hardware.remote.bandwidth_bytes_per_s", remote->bandwidth_bytes_per_s, remote->curve);
  }
  return probes;
}

// The resources of a configuration, summed over all nodes. The order is that of ResourceUnit.
using Resources = std::array<double, 5>;

Resources resources_of(const Plan& plan, const Changes& changes) {
  const Scenario scenario = load_scenario(plan.base, changes);
  const HardwareProfile& hardware = scenario.hardware;
  const auto nodes = static_cast<double>(scenario.fleet.replicas);
  const double ssds = hardware.ssd ? static_cast<double>(hardware.ssd->count) : 0;
  double bytes = 0, bytes_per_s = hardware.pcie.h2d_bandwidth_bytes_per_s;
  for (Tier tier : kHostTiers) {
    const std::optional<TierFacts> facts = tier_facts(hardware, tier);
    if (!facts) continue;
    bytes += facts->capacity_bytes;
    if (tier != Tier::dram) bytes_per_s += facts->read.bytes_per_s;
  }
  return {0, nodes * static_cast<double>(hardware.gpu.count), nodes * ssds, nodes * bytes / 1e12,
          nodes * bytes_per_s / 1e9};
}

// Sets the unit and the added amount of a marginal. If several resources grow, counts the first one in the
// order of ResourceUnit, because a GPU may bring links and an SSD brings storage.
void count_units(const Resources& now, const Resources& then, Marginal& marginal) {
  for (std::size_t unit = 1; unit < now.size(); ++unit) {
    if (!(then[unit] > now[unit])) continue;
    marginal.unit = static_cast<ResourceUnit>(unit);
    marginal.units = then[unit] - now[unit];
    return;
  }
}

// Returns how a candidate differs from the answer. Returns nothing if the candidate cannot run, or if nothing
// changes because the added resource is unused.
std::optional<Marginal> effect(const Plan& plan, const Candidate& best, const Candidate& candidate) {
  if (candidate.verdict == Judgement::cannot_run) return {};
  const auto change_of = [&](const std::string& metric) {
    return paired_difference(candidate, best, [&](const RunResult& run) { return run.number(metric); });
  };
  Marginal more{
      .candidate = &candidate, .objective = change_of(plan.minimize), .quality = change_of(kFrontMetric)};
  // Below this relative difference, sums over runs of different lengths differ only by rounding.
  constexpr double kRounding = 1e-9;
  if (std::abs(more.objective.mean) < kRounding * std::abs(objective(plan, best))) more.objective = {0, 0};
  if (more.objective.mean == 0 && more.quality.mean == 0) return {};
  return more;
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
  std::vector<Probe> probes = searched(plan, result);
  for (Probe& one : unsearched(plan, best.changes)) probes.push_back(std::move(one));
  std::vector<Trial> trials;
  for (const Probe& one : probes) trials.push_back({one.changes});
  const Resources now = resources_of(plan, best.changes);
  std::vector<Marginal> marginals;
  const auto tell = [&](const std::vector<const Candidate*>& judged) {
    for (std::size_t i = 0; i < probes.size(); ++i) {
      std::optional<Marginal> more = effect(plan, best, *judged[i]);
      if (!more) continue;
      more->what = probes[i].what;
      more->has_price = probes[i].has_price;
      count_units(now, resources_of(plan, probes[i].changes), *more);
      marginals.push_back(std::move(*more));
    }
  };
  perturb({"advice: more of each resource", Look::intervals, once(std::move(trials)), tell}, judge);
  std::stable_sort(marginals.begin(), marginals.end(), [](const Marginal& a, const Marginal& b) {
    return a.has_price != b.has_price ? a.has_price : worth(a) > worth(b);
  });
  return marginals;
}

bool is_worth_buying(const Marginal& marginal) {
  return marginal.has_price && marginal.quality.mean + marginal.quality.half_width < 0 &&
         marginal.candidate->verdict != Judgement::misses;
}

const Marginal* next_to_buy(const std::vector<Marginal>& marginals) {
  const auto found = std::find_if(marginals.begin(), marginals.end(), is_worth_buying);
  return found == marginals.end() ? nullptr : &*found;
}

}  // namespace kvcap
