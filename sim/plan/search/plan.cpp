#include "plan/search/plan.h"

#include <algorithm>

#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "plan/search/plan_sizes.h"

namespace kvcap {
std::string Dimension::name() const { return joined(paths, ","); }

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

}  // namespace kvcap
