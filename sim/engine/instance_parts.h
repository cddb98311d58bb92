// InstanceParts: everything that an engine gets from its fleet, i.e. its model, node, store, clock and
// callbacks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/fidelity.h"
#include "des/world.h"
#include "engine/arrivals.h"
#include "engine/engine_model.h"
#include "engine/handover/handover.h"
#include "engine/prompt.h"
#include "engine/restorer.h"
#include "engine/sessions.h"
#include "metrics/recorder.h"
#include "state/store.h"
#include "workload/workload.h"

namespace kvcap {

// Times that differ by at most this are treated as equal, because the World's clock has a finite resolution.
inline constexpr double kTimeResolution_s = 2e-9;

// Callbacks from an instance to its fleet.
struct FleetCallbacks {
  std::function<void(const Arrival&)> ended;            // a turn was answered or refused
  std::function<void(const Arrival&)> begun = nullptr;  // a turn has its first token
  std::function<void(Key key)> lost_its_front;          // copies of the context on other nodes became invalid
  // For a router's index. stored: the GPU has computed these parts. evicted: since `at_s` only the first
  // `first_token` tokens of the part remain.
  std::function<void(std::span<const Part> parts)> stored = nullptr;
  std::function<void(Key part, int64_t first_token, double at_s)> evicted = nullptr;
  // For nodes that compute prompts for others. hands_over: the turn needs a decode node. fits_decoder: true
  // iff some decode node can ever hold a sequence of `tokens` tokens.
  std::function<void(const Arrival&, const std::shared_ptr<Handover>&)> hands_over;
  // A turn starts over because the other node of its handover has failed.
  std::function<void(const Arrival&)> lost;
  std::function<bool(int64_t tokens)> fits_decoder;
};

// Collaborators of an instance; all outlive it.
struct InstanceParts {
  const EngineModel* engine = nullptr;
  const Workload* workload = nullptr;
  Sessions* sessions = nullptr;
  Store* store = nullptr;
  Node* node = nullptr;
  std::function<void()> wake;  // calls Fleet::advance() as soon as the current callback returns
  Restorer* restorer = nullptr;
  Recorder* recorder = nullptr;
  Fidelity fidelity = Fidelity::request;
  bool check_invariants = false;                   // check at every call
  std::atomic<int64_t>* finished_turns = nullptr;  // for a progress bar
  std::size_t number = 0;                          // index of the node in its fleet
  const HandoverPlan* handover = nullptr;          // set for nodes that compute prompts for others
  // True if this is the fleet's only node and never fails. It then reads the arrivals itself and need not be
  // called for them.
  bool sees_arrivals = false;
  FleetCallbacks fleet;
};

}  // namespace kvcap
