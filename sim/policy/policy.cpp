#include "policy/policy.h"

#include <algorithm>
#include <cstdio>

namespace kvcap {

Restoration Policy::restore(const Context&, std::span<const Hit>, const LoadRates&) const { return {}; }
PartUse Policy::use(const Stretch& part) const {
  const auto tokens = static_cast<double>(part.tokens);
  return {.tokens = tokens,
          .important_tokens = tokens,
          .touched_tokens = tokens,
          .chunks = 1,
          .touched_chunks = 1,
          .nodes = tokens / static_cast<double>(part.node_tokens)};
}
double Policy::save_requests(int64_t) const { return 0; }
Schedule Policy::schedule(int64_t, Tier) const { return {}; }

Tier main_tier(std::span<const TierShare> planned) {
  return std::max_element(planned.begin(), planned.end(),
                          [](const TierShare& a, const TierShare& b) { return a.share < b.share; })
      ->tier;
}

std::string tiers_text(std::span<const TierShare> planned) {
  std::string text;
  for (const TierShare& one : planned) {
    if (!text.empty()) text += " and ";
    text += name(one.tier);
    char share[32] = "";
    if (planned.size() > 1) std::snprintf(share, sizeof share, " (%.3g %%)", 100 * one.share);
    text += share;
  }
  return text;
}

std::string joined_notes(const std::string& note, const std::string& more) {
  return note + (note.empty() || more.empty() ? "" : "; ") + more;
}

}  // namespace kvcap
