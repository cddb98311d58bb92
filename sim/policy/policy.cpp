#include "policy/policy.h"

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

std::string joined_notes(const std::string& note, const std::string& more) {
  return note + (note.empty() || more.empty() ? "" : "; ") + more;
}

}  // namespace kvcap
