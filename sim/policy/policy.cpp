#include "policy/policy.h"

namespace kvcap {

Restoration Policy::restore(const Context&, std::span<const Hit>, const LoadRates&) const { return {}; }
double Policy::save_requests(int64_t) const { return 0; }
Schedule Policy::schedule(int64_t, Tier) const { return {}; }

}  // namespace kvcap
