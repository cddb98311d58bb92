#include "plan/plan.h"

#include <algorithm>
#include <cmath>

#include "base/float_values.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "metrics/unserved.h"
#include "plan/sizes.h"

namespace kvcap {
std::string Dimension::name() const { return joined(paths, ","); }

bool next_point(const Plan& plan, Point& point, const Varies& varies) {
  for (std::size_t d = point.size(); d-- > 0;) {
    if (!varies(d)) continue;
    if (++point[d] < plan.search[d].values.size()) return true;
    point[d] = 0;
  }
  return false;
}

Changes changes_at(const std::vector<Dimension>& search, const Point& point) {
  Changes changes;
  for (std::size_t d = 0; d < search.size(); ++d) {
    if (search[d].size_of) continue;
    for (const std::string& path : search[d].paths) {
      changes.push_back(std::string(path).append("=").append(search[d].values[point[d]]));
    }
  }
  return changes;
}

Changes changes_at(const Plan& plan, const Point& point) {
  const auto path_of = [](const std::string& change) { return change.substr(0, change.find('=')); };
  const Changes searched = changes_at(plan.search, point);
  Changes changes, inside;
  for (const std::string& change : plan.set) {
    const bool is_inside = std::any_of(searched.begin(), searched.end(), [&](const std::string& other) {
      return path_of(change).starts_with(path_of(other) + ".");
    });
    (is_inside ? inside : changes).push_back(change);
  }
  changes.insert(changes.end(), searched.begin(), searched.end());
  changes.insert(changes.end(), inside.begin(), inside.end());
  if (!plan.open_sizes) return changes;
  const Changes sizes = size_changes(plan, point, changes);
  changes.insert(changes.end(), sizes.begin(), sizes.end());
  return changes;
}

std::string run_command(const Plan& plan, const Changes& changes) {
  const bool has_file = plan.base.text.empty();
  std::string command = "kvcap run " + (has_file ? shell_word(plan.base.path) : plan.base.command);
  for (const std::string& change : changes) {
    constexpr std::string_view kHardware = "hardware=";
    const bool is_machine = !has_file && change.starts_with(kHardware);
    command +=
        is_machine ? " --gpu " + shell_word(change.substr(kHardware.size())) : " --set " + shell_word(change);
  }
  return command;
}

bool is_saturated(const RunResult& result) { return result.number("stable") == 0; }

std::string_view unserved(const RunResult& result, const std::vector<Target>& meet) {
  return unserved(result, [&](std::string_view metric) {
    return std::any_of(meet.begin(), meet.end(),
                       [metric](const Target& one) { return one.metric == metric; });
  });
}

double slack(const Target& target, double value) {
  if (std::isnan(value)) return -kInfinity;
  const auto share = [](double room, double bound) { return room / std::max(std::abs(bound), 1e-300); };
  double least = kInfinity;
  if (std::isfinite(target.max)) least = std::min(least, share(target.max - value, target.max));
  if (std::isfinite(target.min)) least = std::min(least, share(value - target.min, target.min));
  return least;
}

double violation(const Target& target, double value) { return std::max(0.0, -slack(target, value)); }

}  // namespace kvcap
