#include <algorithm>

#include "base/text/format.h"
#include "base/text/width.h"
#include "text/plan/plan_text.h"

namespace kvcap {
std::string break_even_text(const Plan& plan, const BreakEvenMap& map, const std::vector<std::string>& said) {
  const BreakEven& asked = *plan.break_even;
  std::string text = wrapped(said) + "\n" + plan.name +
                     ": the policy with the least TTFT, and how many times longer the second takes\n";
  for (std::size_t p = 0; p < asked.policies.size(); ++p) {
    text += std::string(p == 0 ? "" : ", ") + static_cast<char>('a' + p) + " = " + asked.policies[p];
  }
  text += "; *: the closed form names another\n\n";
  std::size_t name_width = display_width(asked.down.name());
  for (const std::string& value : asked.down.values) name_width = std::max(name_width, display_width(value));
  std::size_t width = 9;
  for (const std::string& value : asked.across.values) width = std::max(width, display_width(value) + 2);
  text += right_aligned("", name_width) + "  " + asked.across.name() + "\n" +
          right_aligned(asked.down.name(), name_width);
  for (const std::string& value : asked.across.values) text += right_aligned(value, width);
  text += '\n';
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    text += right_aligned(asked.down.values[r], name_width);
    for (const BreakEvenCell& cell : map.rows[r]) {
      std::string shown = "-";
      if (cell.winner >= 0) {
        const bool differs = cell.closed_form_winner >= 0 && cell.closed_form_winner != cell.winner;
        shown = std::string(1, static_cast<char>('a' + cell.winner)) + (differs ? "*" : "") + " " +
                format_number(cell.lead);
      }
      text += right_aligned(shown, width);
    }
    text += '\n';
  }
  if (map.boundaries.empty()) return text;
  text += "\nWhere the winner changes, simulated (closed form):\n";
  for (const Boundary& one : map.boundaries) {
    text += "  " + asked.down.name() + "=" + asked.down.values[one.row] + ": " +
            asked.policies[static_cast<std::size_t>(one.from)] + " -> " +
            asked.policies[static_cast<std::size_t>(one.to)] + " at " + asked.across.name() + " " +
            format_number(one.simulated) + " (" + format_number(one.closed_form) + ")\n";
  }
  return text;
}

}  // namespace kvcap
