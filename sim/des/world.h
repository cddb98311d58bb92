// World: the simulated machines (nodes) and the only clock. It moves bytes over the nodes' links, runs timed
// computations, and calls the main loop when that is due. The implementation uses SimGrid; tests use a small
// fake.
//
// The loop is a function that takes the current time and returns the time of its next call. A callback of a
// lane or of a ComputeQueue that changes the time of the loop's next call must call wake(). Everything runs
// on one thread: two callbacks are never active at the same time.
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

// A queue of transfers from one tier to another: first come, first served, with a bounded number in flight.
// Lanes may share links.
class Lane {
 public:
  virtual ~Lane() = default;
  // Queues a transfer that takes `alone_s` on an idle route (Route::seconds), after `latency_s` without data
  // flow. `on_phase` is called when the transfer leaves the queue and when its last byte has arrived. The
  // latency begins no earlier than `ready_s`; until then this transfer and those queued behind it wait.
  virtual void move(double alone_s, double latency_s, std::function<void(TransferPhase)> on_phase,
                    double ready_s = 0) = 0;
  // Returns the time that the bytes still to be carried, including those of queued transfers, take on an idle
  // route.
  virtual double pending_s() const = 0;
};

// A queue of restoration work on the GPU: first come, first served, one job at a time.
class ComputeQueue {
 public:
  virtual ~ComputeQueue() = default;
  virtual void run(double seconds, std::function<void()> done) = 0;
  // Returns the seconds of work served so far, including the elapsed part of the running job.
  virtual double served_s() const = 0;
  // Returns the seconds of requested work that have not been served.
  virtual double pending_s() const = 0;
};

// One machine of the World: lanes between its tiers, a queue of restoration work, and the current time.
class Node {
 public:
  virtual ~Node() = default;
  virtual double now_s() const = 0;
  // REQUIRES: the tiers differ, and the machine has both.
  virtual Lane& lane(Tier from, Tier to) = 0;
  virtual ComputeQueue& restore_compute() = 0;
};

class World {
 public:
  virtual ~World() = default;
  virtual double now_s() const = 0;
  virtual Node& node(std::size_t number) = 0;
  // Returns the lane from a sending node to a receiving node. REQUIRES: the World has an Interconnect.
  virtual Lane& between(std::size_t from, std::size_t to) = 0;
  // Called when a node fails: drops all transfers on its lanes and on the lanes to and from other nodes, and
  // all work in its ComputeQueue, without calling their callbacks.
  virtual void drop_all(std::size_t node) = 0;
  // Calls the loop as soon as the current callback returns, unless the loop is due anyway.
  virtual void wake() = 0;
  // Calls loop(now) at time 0, then at each time that it returns and after each wake(). If the loop returns
  // infinity, only wake() leads to another call. run() returns when the loop returns a negative number, and
  // abandons running activities. Aborts if no event is left although the loop waits, which is an internal
  // error.
  virtual void run(std::function<double(double now_s)> loop) = 0;
};

// Called at the end of a transfer, once for each link on its route. busy_s: the time for which the transfer
// alone would have kept the link busy. from_s, to_s: the beginning and the end of the transfer.
using LinkObserver = std::function<void(Resource, double busy_s, double from_s, double to_s)>;

// Interconnect: the first `senders` nodes send to all others. Each node has one link for this purpose, which
// all its transfers share. The single hop of `sends` or `receives` describes the link.
struct Interconnect {
  std::size_t senders = 0;
  Route sends, receives;

  // Returns the route from a sender to a receiver: its slower end.
  const Route& route() const { return sends.bytes_per_s() <= receives.bytes_per_s() ? sends : receives; }
};

// The parts from which a node of the World is made. The profile is used only while the World is made.
struct NodeParts {
  const HardwareProfile* hardware = nullptr;
  int64_t gpus = 1;  // GPUs of the engine
  LinkObserver observer;
};

// Returns a World of SimGrid nodes, each with a link per device of its profile and a pair of hosts per lane.
// With `shared_remote` the nodes share the link of the remote tier in the first node's profile; otherwise
// they share nothing. Both end nodes observe the transfers of an interconnect. REQUIRES: this is the only
// World of the process (SimGrid allows one engine per process).
std::unique_ptr<World> make_simgrid_world(std::vector<NodeParts> nodes, bool shared_remote = false,
                                          const std::optional<Interconnect>& interconnect = std::nullopt);

// Returns the version of the linked SimGrid library, e.g. "3.32".
std::string simgrid_version();

}  // namespace kvcap
