// Checks the invariants of a Scheduler, recomputed from its requests.
#include <algorithm>

#include "base/invariants.h"
#include "engine/scheduler/scheduler.h"

namespace kvcap {

std::vector<const KvHolding*> Scheduler::holdings() const {
  std::vector<const KvHolding*> all;
  for (const RequestPtr& request : waiting_) all.push_back(&request->holding);
  for (const RequestPtr& request : running_) all.push_back(&request->holding);
  for (const RequestPtr& request : loading_) all.push_back(&request->holding);
  return all;
}

// Checks that there is room for the blocks that requests which cannot be preempted still need.
void Scheduler::check_room() const {
  KVCAP_INVARIANT("INV-ROOM", serving_.admission != Admission::reserve_output ||
                                  owed_blocks() + pool_.shared() <= pool_.free());
  const auto check = [&](const Request& request) {
    KVCAP_INVARIANT("INV-TOKENS",
                    request.planned == request.computed && request.planned <= request.known_tokens());
    KVCAP_INVARIANT("INV-ROOM", pool_.tokens(request.holding) >= in_blocks(request, request.planned));
  };
  for (const RequestPtr& request : loading_) check(*request);
  for (const RequestPtr& request : waiting_) {
    if (request->restored) check(*request);
  }
}

void Scheduler::check() const {
  KVCAP_INVARIANT("INV-LIMITS",
                  static_cast<int64_t>(running_.size()) + computing_beside_ <= serving_.max_num_seqs);
  int64_t restored = 0;
  for (const RequestPtr& request : waiting_) {
    KVCAP_INVARIANT("INV-PHASES", request->phase == RequestPhase::waiting && request->ahead == 0);
    restored += request->restored;
    KVCAP_INVARIANT("INV-ROOM",
                    request->restored || (request->holding.blocks() == 0 && request->planned == 0));
    KVCAP_INVARIANT("INV-TOKENS", request->generated < request->output_tokens);
  }
  KVCAP_INVARIANT("INV-PHASES", !has_priorities() || std::is_sorted(waiting_.begin(), waiting_.end(),
                                                                    [](const auto& a, const auto& b) {
                                                                      return a->number < b->number;
                                                                    }));
  KVCAP_INVARIANT("INV-PHASES", restored == restored_waiting_);
  int64_t beside = 0;
  for (const RequestPtr& request : loading_) {
    KVCAP_INVARIANT("INV-PHASES",
                    request->phase == RequestPhase::loading && !request->restored && request->ahead == 0);
    beside += request->fused;
  }
  KVCAP_INVARIANT("INV-PHASES", beside == computing_beside_);
  check_room();
  for (const RequestPtr& request : running_) {
    KVCAP_INVARIANT("INV-PHASES", request->phase == RequestPhase::running && request->orphans >= 0);
    KVCAP_INVARIANT("INV-TOKENS", request->free_tokens >= 0 && request->unused_tokens >= 0);
    KVCAP_INVARIANT("INV-TOKENS", request->computed <= request->planned);
    KVCAP_INVARIANT("INV-TOKENS", request->planned <= request->known_tokens() + request->ahead);
    KVCAP_INVARIANT("INV-TOKENS", request->drafts_ahead >= 0 && request->drafts_ahead <= request->ahead);
    KVCAP_INVARIANT("INV-ROOM", pool_.tokens(request->holding) >= in_blocks(*request, request->planned));
    KVCAP_INVARIANT("INV-TOKENS",
                    request->generated + request->ahead - request->drafts_ahead <= request->output_tokens);
    KVCAP_INVARIANT("INV-ROOM", pool_.named_tokens(request->holding) <= request->known_tokens());
    KVCAP_INVARIANT("INV-TOKENS", request->generated < request->output_tokens);
  }
}

}  // namespace kvcap
