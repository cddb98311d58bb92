// World: the only clock. It moves bytes over the links of its machines, lets computations take their time,
// and calls one loop whenever its time has come. SimGrid is behind it; tests put a small fake behind it.
//
// The loop is a function from now to the time it wants to be called again; callbacks of lanes and of the
// restoring GPU may change what it would answer and then say wake(). Everything runs on one thread of
// control: no two callbacks are ever active at once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/resource.h"
#include "base/tier.h"
#include "cost/routes.h"

namespace kvcap {

enum class TransferPhase : uint8_t { began, ended };

// Transfers between two tiers, first come first served, a bounded number in flight. Lanes share links.
class Lane {
 public:
  virtual ~Lane() = default;
  // `alone_s`: what the bytes take on an idle route (Route::seconds), after `latency_s` in which none flow.
  // `on_phase` is called when the transfer leaves the queue and when its last byte has arrived. Its latency
  // begins at `ready_s` at the earliest: before, there is nothing to carry, and those behind it wait as well.
  virtual void move(double alone_s, double latency_s, std::function<void(TransferPhase)> on_phase,
                    double ready_s = 0) = 0;
  // Seconds that the bytes asked for and not yet carried take on an idle route.
  virtual double pending_s() const = 0;
};

// A server of restoration work on the GPU, first come first served, one at a time.
class ComputeQueue {
 public:
  virtual ~ComputeQueue() = default;
  virtual void run(double seconds, std::function<void()> done) = 0;
  // Seconds of work served so far, a started piece counted up to now.
  virtual double served_s() const = 0;
  // Seconds of work that have been asked for and are not yet served.
  virtual double pending_s() const = 0;
};

// One machine of it: lanes between its tiers, a queue of restorations, and what the time is.
class Node {
 public:
  virtual ~Node() = default;
  virtual double now_s() const = 0;
  // REQUIRES: the tiers differ and the machine has both.
  virtual Lane& lane(Tier from, Tier to) = 0;
  virtual ComputeQueue& restore_compute() = 0;
  // The machine is lost: whatever was asked of its lanes and its queue never happens, and no callback comes.
  virtual void drop_all() = 0;
};

class World {
 public:
  virtual ~World() = default;
  virtual double now_s() const = 0;
  virtual Node& node(std::size_t number) = 0;
  // From a node that sends to one that does not. REQUIRES: the World has an Interconnect.
  virtual Lane& between(std::size_t from, std::size_t to) = 0;
  // Calls the loop as soon as the current callback returns, unless it is due anyway.
  virtual void wake() = 0;
  // Calls loop(now) at time 0, then whenever the time it returned has come or wake() was said. Infinity: only
  // by wake(). Returns when the loop returns a negative number; what is under way then stays undone.
  // Aborts when nothing can happen any more though the loop waits: that is our bug.
  virtual void run(std::function<double(double now_s)> loop) = 0;
};

// Seconds of work that a link did for one transfer: reported when the transfer ends.
using LinkObserver = std::function<void(Resource, double busy_s, double from_s, double to_s)>;

// The first `senders` nodes send to all others. Each node has one link for it, of `route`'s only hop, which
// its transfers share.
struct Interconnect {
  std::size_t senders = 0;
  Route route;
};

// Nodes in SimGrid, one for each observer: a link for every device of the profile, a pair of hosts for every
// lane. Nodes share nothing, but the link of the remote tier where `shared_remote` says so. What an
// interconnect carries both of its ends observe. REQUIRES: the only World of this process (SimGrid has one
// engine a process).
std::unique_ptr<World> make_simgrid_world(const HardwareProfile& hardware, int64_t tensor_parallel_size,
                                          std::vector<LinkObserver> observers, bool shared_remote = false,
                                          const std::optional<Interconnect>& interconnect = std::nullopt);

// "3.32", of the library that runs.
std::string simgrid_version();

}  // namespace kvcap
