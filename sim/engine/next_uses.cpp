#include "engine/next_uses.h"

#include <algorithm>

#include "engine/prompt.h"

namespace kvcap {

NextUses::NextUses(const Workload& workload, Match match, int64_t chunk_tokens) {
  for (std::size_t i = 0; i < workload.sessions.size(); ++i) {
    const Session& session = workload.sessions[i];
    const double arrival_s = workload.turns[session.first_turn].time_s;
    if (session.document != kOwnContext) uses_s_[workload.context_key(i)].push_back(arrival_s);
    for (const Item& item : pieces_of(workload, session.first_turn, match, chunk_tokens).prompt) {
      uses_s_[item.key].push_back(arrival_s);
    }
  }
}

Order NextUses::after(Key key, double now_s) const {
  const auto uses = uses_s_.find(key);
  if (uses == uses_s_.end()) return kNever;
  const auto next = std::upper_bound(uses->second.begin(), uses->second.end(), now_s);
  return next == uses->second.end() ? kNever : *next;
}

}  // namespace kvcap
