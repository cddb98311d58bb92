#include "text/change_gain.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text/format.h"
#include "base/text/joined.h"
#include "metrics/quantity.h"
#include "text/result_rows.h"

namespace kvcap {
namespace {

constexpr const char* kIndent = "      ";

// Returns "mean TTFT 72,400 ms instead of 78,000 (-7 %)".
std::string change_of(std::string_view metric, const Setting& one, const Setting& first) {
  const Quantity& quantity = *find_quantity(metric);
  const double value = one.number(metric), other = first.number(metric);
  const auto shown = [&](double number) { return format_number(quantity.unit.scale * number); };
  const std::string unit(quantity.unit.symbol);
  return std::string(quantity.title) + " " + shown(value) + (unit.empty() ? "" : " " + unit) +
         " instead of " + shown(other) + fmt::format(" ({:+.0f} %)", 100 * (value / other - 1));
}

// True iff the runs show a noticeably worse value. A single run, whose differences have no interval, shows
// every noticeable one.
bool is_worse(const Comparison& all, const Setting& one, const Setting& first, std::string_view metric) {
  const Difference change = all.difference(one, first, metric);
  const bool is_more = change.difference > 0;
  return is_more != (find_quantity(metric)->better == Better::more) &&
         std::abs(change.difference) > kNoticeableShare * std::abs(first.number(metric)) &&
         !(std::abs(change.difference) <= change.half_width);
}

// Returns the line that names what the change worsens; "" if it worsens nothing.
std::string losses_text(const Comparison& all, const Setting& one, const Setting& first) {
  std::vector<std::string> losses;
  for (std::string_view metric : kFelt)
    if (is_worse(all, one, first, metric)) losses.push_back(change_of(metric, one, first));
  return losses.empty() ? "" : kIndent + ("but " + joined(losses, ", ")) + "\n";
}

}  // namespace

std::string gain_text(const Comparison& all, const Setting& one) {
  const Setting& first = all.settings().front();
  if (first.result->is_bound || !all.is_eligible_so_far(one)) return "";
  if (!all.is_eligible_so_far(first)) {
    // The latencies of the turns that the first setting serves are not comparable.
    if (one.is_undecided()) return "";
    return kIndent +
           (first.is_saturated()
                ? "serves this load, which " + first.label + " does not"
                : "serves the turns that " + first.label + " rejects, truncates or lets clients abandon") +
           "\n";
  }
  const Difference change = all.difference(one, first, kMean);
  if (!(-change.difference >= kNoticeableShare * first.number(kMean)) ||
      -change.difference <= change.half_width)
    return "";
  const bool is_early = one.is_undecided() || first.is_undecided();
  return kIndent + std::string(is_early ? "so far " : "") + change_of(kMean, one, first) +
         (std::isnan(change.half_width) ? " in one run, which may be chance\n" : "\n") +
         losses_text(all, one, first);
}

std::string no_gain_text(const Comparison& all) {
  const std::vector<Setting>& real = all.real();
  const auto serves = [&](const Setting& one) { return all.is_eligible_so_far(one); };
  if (!real.empty() && std::none_of(real.begin(), real.end(), serves)) {
    return "\nNo flag to change: no setting serves this load. kvcap capacity finds the highest load "
           "served.\n";
  }
  if (std::any_of(real.begin(), real.end(), [](const Setting& one) { return one.is_undecided(); }))
    return "\nThe runs were too brief to tell whether to change a flag.\n";
  return "\nNo flag to change: no setting " +
         std::string(std::all_of(real.begin(), real.end(), serves) ? "" : "that serves this load ") +
         "lowers mean TTFT by more than chance and half a per cent.\n";
}

}  // namespace kvcap
