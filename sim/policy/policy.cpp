#include "policy/policy.h"

namespace kvcap {

Restoration Policy::restore(const Context&, std::span<const Hit>, const LoadRates&) const { return {}; }
double Policy::save_requests(int64_t) const { return 0; }
Schedule Policy::schedule(int64_t, Tier) const { return {}; }

std::string joined_notes(const std::string& note, const std::string& more) {
  return note + (note.empty() || more.empty() ? "" : "; ") + more;
}

}  // namespace kvcap
