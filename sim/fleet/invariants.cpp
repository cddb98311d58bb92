// Structural invariants of a fleet, recomputed after every event if InstanceParts::check_invariants is set.
#include "base/invariants.h"

#include "fleet/fleet.h"

namespace kvcap {

void Fleet::check(double now_s) const {
  int64_t outstanding = 0;
  bool any_up = false, any_decodes = false;
  for (std::size_t node = 0; node < members_.size(); ++node) {
    const NodeFacts& facts = facts_[node];
    const Instance* instance = members_[node].instance.get();
    KVCAP_INVARIANT("INV-NODES", facts.up == (instance != nullptr));
    KVCAP_INVARIANT("INV-NODES", facts.turns == (instance ? instance->turns() : 0));
    // Exactly the units that are up have a next call.
    KVCAP_INVARIANT("INV-NODES", due_.contains(unit_of(node)) == facts.up);
    outstanding += facts.turns;
    (decodes_only(node) ? any_decodes : any_up) |= facts.up;
  }
  KVCAP_INVARIANT("INV-TURNS", routed_ == ended_ + outstanding);
  KVCAP_INVARIANT("INV-NODES", held_.empty() || !any_up);
  KVCAP_INVARIANT("INV-NODES", held_for_decode_.empty() || !any_decodes);
  KVCAP_INVARIANT("INV-NODES", next_change_ == changes_.size() || changes_[next_change_].at_s > now_s);
  if (parts_.shared) parts_.shared->check_in_turn();
  check_pins();
}

void Fleet::check_pins() const {
  if (!parts_.shared) return;
  int64_t pins = 0;
  for (std::size_t node = 0; node < members_.size(); ++node) {
    if (decodes_only(node)) continue;
    if (members_[node].instance) pins += members_[node].instance->pins();
    pins += parts_.stores[node].fetches();
  }
  KVCAP_INVARIANT("INV-PINS", parts_.shared->pins() == pins);
}

void Fleet::check_ended() const {
  for (const Member& member : members_) {
    if (member.instance) member.instance->check_ended();
  }
  KVCAP_INVARIANT("INV-EMPTY", held_.empty() && handed_over_.empty() && held_for_decode_.empty() &&
                                   lost_.empty() && routed_ == ended_);
  if (parts_.shared) parts_.shared->check();
  check_pins();
}

}  // namespace kvcap
