#include "plan/sweep/sweep.h"

#include <algorithm>
#include <utility>

#include "base/input_error.h"

namespace kvcap {

Sweep::Sweep(std::string file, std::string base_text, std::string base_file, std::vector<SweepAxis> axes,
             SweepLimits limits, std::vector<Override> set)
    : file_(std::move(file)),
      base_text_(std::move(base_text)),
      base_file_(std::move(base_file)),
      axes_(std::move(axes)),
      limits_(limits),
      set_(std::move(set)) {
  constexpr std::size_t kMost = 10'000'000;
  for (const SweepAxis& axis : axes_) {
    if (axis.rows.size() > kMost / size_) {
      throw InputError(file_ + ": found more than 10,000,000 points, allowed: at most 10,000,000");
    }
    size_ *= axis.rows.size();
    for (const std::vector<Override>& row : axis.rows) {
      for (const Override& setting : row) {
        if (std::find(paths_.begin(), paths_.end(), setting.path) == paths_.end())
          paths_.push_back(setting.path);
      }
    }
  }
}

std::vector<const Override*> Sweep::settings(std::size_t point) const {
  std::vector<const Override*> settings;
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const std::vector<std::vector<Override>>& rows = axes_[a].rows;
    for (const Override& setting : rows[point % rows.size()]) settings.push_back(&setting);
    point /= rows.size();
  }
  return settings;
}

std::vector<std::string> Sweep::values(std::size_t point) const {
  std::vector<std::string> values(paths_.size());
  for (const Override* setting : settings(point)) {
    const auto place = std::find(paths_.begin(), paths_.end(), setting->path) - paths_.begin();
    values[static_cast<std::size_t>(place)] = setting->value;
  }
  return values;
}

Scenario Sweep::scenario(std::size_t point) const {
  std::vector<Override> overrides = set_;
  for (const Override* setting : settings(point)) overrides.push_back(*setting);
  // "policy" before "policy.tiers", which it would undo.
  std::stable_sort(overrides.begin(), overrides.end(), [](const Override& a, const Override& b) {
    return std::count(a.path.begin(), a.path.end(), '.') < std::count(b.path.begin(), b.path.end(), '.');
  });
  return parse_scenario_with(base_text_, base_file_, overrides);
}

}  // namespace kvcap
