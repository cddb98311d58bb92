// NextUses: predicts when a text that several turns share is used next. It serves clairvoyant bounds only
// (forecast.h).
//
// The arrival of a later turn depends on answers that do not exist yet. A turn's least time (least_s) is the
// earliest time at which it can arrive: it counts only the think times before the turn. For the session's own
// turns, least times are shifted by the delay of the current turn. Other sessions are assumed to arrive at
// their least times. With closed_loop, sessions start when others end; they are assumed to start in order, at
// the mean interval so far.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/arrivals.h"
#include "policy/options.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

class NextUses {
 public:
  NextUses(const Workload& workload, Match match, int64_t chunk_tokens);

  // Returns when the next turn whose prompt contains the text is expected to arrive after `turn`, which is
  // served at `now_s`; kNever if there is none.
  Order after(Key key, const Arrival& turn, double now_s);

 private:
  struct Use {
    double least_s = 0;
    uint32_t session = 0;
    uint32_t turn = 0;
  };
  using Uses = std::vector<Use>;

  void add_session(uint32_t session, Match match, int64_t chunk_tokens);
  Order of_own_session(const Uses& uses, const Arrival& turn, double now_s, Order before_s) const;
  Order of_other_sessions(const Uses& uses, const Arrival& turn, double now_s) const;

  const Workload& workload_;
  std::vector<double> least_s_;         // by turn
  std::unordered_map<Key, Uses> uses_;  // ordered by least_s, or with closed_loop by session
  uint32_t begun_ = 0;                  // with closed_loop: the last session that has begun
};

}  // namespace kvcap
