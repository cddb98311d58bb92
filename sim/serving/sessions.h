// Sessions: what is true of sessions and texts whichever node serves them. One for a whole fleet.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/key_map.h"
#include "cost/identification.h"
#include "serving/arrivals.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

struct Sessions {
  explicit Sessions(const Workload& workload) : arrivals(workload) {
    history_tokens.reserve(workload.sessions.size());
    for (const Session& session : workload.sessions) history_tokens.push_back(session.context_tokens);
  }

  Arrivals arrivals;
  std::vector<uint32_t> history_tokens;        // of each session, that its next turn finds
  KeySet seen;                                 // keys of what some turn has left
  std::unordered_map<Key, ChunkScore> scores;  // where some tier keeps the highest
};

}  // namespace kvcap
