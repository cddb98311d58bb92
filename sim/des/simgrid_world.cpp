#include <xbt/log.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

#include "base/check.h"
#include "des/world.h"

// clang-format off
#include <simgrid/version.h>  // uses macros of the headers above
// clang-format on

namespace sg4 = simgrid::s4u;

namespace kvcap {
namespace {

// SimGrid resolves dates to a nanosecond; anything shorter is over at once.
constexpr double kResolution_s = 1e-9;

// A long-lived actor that serves a queue, from the first time that it is asked, and sleeps while it is empty.
// What is in the queue is lost when the actor is killed.
class Server {
 public:
  virtual ~Server() = default;

  void place(sg4::Host* home) { home_ = home; }
  void drop_all() {
    if (!std::exchange(started_, false)) return;
    actor_->kill();
    actor_ = nullptr;
    asked_ = sg4::Semaphore::create(0);
    idle_ = false;
    forget();
  }

 protected:
  // One more is in the queue.
  void ask() {
    // What it serves first may ask for more before create() returns.
    if (!std::exchange(started_, true)) {
      actor_ = sg4::Actor::create("server", home_, [this, asked = asked_] { work(asked); });
      actor_->daemonize();
    } else if (std::exchange(idle_, false)) {
      asked_->release();
    }
  }
  // Serves the first of the queue.
  virtual void serve() = 0;
  virtual bool has_work() const = 0;
  virtual void forget() = 0;

 private:
  void work(const sg4::SemaphorePtr& asked) {
    // An actor that is killed before its first line still gets there.
    while (asked == asked_) {
      if (has_work()) {
        serve();
      } else {
        idle_ = true;
        asked->acquire();
      }
    }
  }

  sg4::Host* home_ = nullptr;
  sg4::ActorPtr actor_;
  sg4::SemaphorePtr asked_ = sg4::Semaphore::create(0);
  bool started_ = false;
  bool idle_ = false;
};

// One transfer in flight: it uses the route fully, and more would only share it.
class SimgridLane : public Lane, public Server {
 public:
  SimgridLane(sg4::Host* from, sg4::Host* to, Route route, const LinkObserver& observer)
      : from_(from), to_(to), route_(std::move(route)), observer_(observer) {}

  void move(double alone_s, double latency_s, std::function<void(TransferPhase)> on_phase) override {
    queue_.push_back({alone_s, latency_s, std::move(on_phase)});
    queued_s_ += alone_s;
    ask();
  }

  double pending_s() const override {
    return queued_s_ + (carried_ ? carried_->get_remaining() / route_.bytes_per_s() : 0);
  }

  void serve() override {
    const Transfer transfer = std::move(queue_.front());
    queue_.pop_front();
    const double began_s = sg4::Engine::get_clock();
    transfer.on_phase(TransferPhase::began);
    if (transfer.latency_s > kResolution_s) sg4::this_actor::sleep_for(transfer.latency_s);
    if (transfer.alone_s > kResolution_s) {
      const sg4::CommPtr carried = sg4::Comm::sendto_async(
          from_, to_, static_cast<uint64_t>(std::llround(transfer.alone_s * route_.bytes_per_s())));
      leave_queue(transfer);
      carried_ = carried;
      carried_->wait();
      carried_ = nullptr;
      report(transfer.alone_s, began_s, sg4::Engine::get_clock());
    } else {
      leave_queue(transfer);
    }
    transfer.on_phase(TransferPhase::ended);
  }

 private:
  struct Transfer {
    double alone_s;
    double latency_s;
    std::function<void(TransferPhase)> on_phase;
  };

  bool has_work() const override { return !queue_.empty(); }
  void forget() override {
    queue_.clear();
    queued_s_ = 0;
    carried_ = nullptr;
  }

  void leave_queue(const Transfer& transfer) {
    queued_s_ = queue_.empty() ? 0 : queued_s_ - transfer.alone_s;
  }

  void report(double alone_s, double began_s, double ended_s) const {
    const double bytes = alone_s * route_.bytes_per_s();
    for (const Hop& hop : route_.hops) {
      observer_(hop.resource, bytes * hop.crossings / hop.bytes_per_s, began_s, ended_s);
    }
  }

  sg4::Host* from_;
  sg4::Host* to_;
  Route route_;
  const LinkObserver& observer_;
  std::deque<Transfer> queue_;
  double queued_s_ = 0;   // of what is not under way
  sg4::CommPtr carried_;  // what is
};

class SimgridComputeQueue : public ComputeQueue, public Server {
 public:
  void run(double seconds, std::function<void()> done) override {
    queue_.push_back({seconds, std::move(done)});
    asked_s_ += seconds;
    ask();
  }

  double served_s() const override {
    return running_ ? served_s_ + (sg4::Engine::get_clock() - running_since_s_) : served_s_;
  }
  double pending_s() const override { return asked_s_ - served_s(); }

  void serve() override {
    const Piece piece = std::move(queue_.front());
    queue_.pop_front();
    running_ = true;
    running_since_s_ = sg4::Engine::get_clock();
    if (piece.seconds > kResolution_s) sg4::this_actor::sleep_for(piece.seconds);
    running_ = false;
    served_s_ += piece.seconds;
    piece.done();
  }

 private:
  struct Piece {
    double seconds;
    std::function<void()> done;
  };

  bool has_work() const override { return !queue_.empty(); }
  void forget() override {
    queue_.clear();
    running_ = false;
    served_s_ = asked_s_ = 0;
  }

  std::deque<Piece> queue_;
  bool running_ = false;
  double running_since_s_ = 0;
  double served_s_ = 0;
  double asked_s_ = 0;
};

// Names of hosts and links begin with the node's `prefix`.
class SimgridNode : public Node {
 public:
  SimgridNode(sg4::NetZone* zone, std::string prefix, LinkObserver observer)
      : zone_(zone), prefix_(std::move(prefix)), observer_(std::move(observer)) {}

  // `home`: where its actors live. `remote`: the link of the remote tier, if it is one that nodes share.
  void build(const HardwareProfile& hardware, int64_t tensor_parallel_size, sg4::Host* home,
             sg4::Link* remote) {
    compute_.place(home);
    if (remote) links_[Resource::remote] = remote;
    for (Tier from : kTiers) {
      for (Tier to : kTiers) {
        if (from == to || !has_tier(hardware, from) || !has_tier(hardware, to)) continue;
        add_lane(hardware, from, to, route(hardware, tensor_parallel_size, from, to)).place(home);
      }
    }
  }

  double now_s() const override { return sg4::Engine::get_clock(); }

  Lane& lane(Tier from, Tier to) override {
    auto found = lanes_.find({from, to});
    KVCAP_CHECK(found != lanes_.end());
    return *found->second;
  }

  ComputeQueue& restore_compute() override { return compute_; }

  void drop_all() override {
    for (auto& [tiers, lane] : lanes_) lane->drop_all();
    compute_.drop_all();
  }

 private:
  SimgridLane& add_lane(const HardwareProfile& hardware, Tier from, Tier to, const Route& way) {
    const std::string label = prefix_ + std::string(name(from)) + "-" + std::string(name(to));
    auto* source = zone_->create_host(label + "-from", 1);
    auto* sink = zone_->create_host(label + "-to", 1);
    std::vector<sg4::LinkInRoute> links;
    for (const Hop& hop : way.hops) {
      for (int i = 0; i < hop.crossings; ++i) links.emplace_back(link(hop));
      if (hop.resource == Resource::ssd_read || hop.resource == Resource::ssd_write) {
        links.emplace_back(ssd_media(*hardware.ssd));
      }
    }
    zone_->add_route(source->get_netpoint(), sink->get_netpoint(), nullptr, nullptr, links, false);
    auto& lane = lanes_[{from, to}] = std::make_unique<SimgridLane>(source, sink, way, observer_);
    return *lane;
  }

  sg4::Link* link(const Hop& hop) {
    sg4::Link*& made = links_[hop.resource];
    if (!made) made = make_link(std::string(kResourceNames[index(hop.resource)]), hop.bytes_per_s);
    return made;
  }

  // Reads and writes of an SSD share its flash and controller: together no more than the faster of the two.
  sg4::Link* ssd_media(const Ssd& ssd) {
    if (!ssd_media_) {
      const double faster = std::max(ssd.read_bandwidth_bytes_per_s, ssd.write_bandwidth_bytes_per_s);
      ssd_media_ = make_link("ssd_media", static_cast<double>(ssd.count) * faster);
    }
    return ssd_media_;
  }

  sg4::Link* make_link(const std::string& of, double bytes_per_s) {
    sg4::Link* made = zone_->create_link(prefix_ + of, bytes_per_s)->set_latency(0);
    made->seal();
    return made;
  }

  sg4::NetZone* zone_;
  std::string prefix_;
  LinkObserver observer_;
  std::map<Resource, sg4::Link*> links_;
  sg4::Link* ssd_media_ = nullptr;
  std::map<std::pair<Tier, Tier>, std::unique_ptr<SimgridLane>> lanes_;
  SimgridComputeQueue compute_;
};

class SimgridWorld : public World {
 public:
  SimgridWorld(const HardwareProfile& hardware, int64_t tensor_parallel_size,
               std::vector<LinkObserver> observers, bool shared_remote)
      : engine_(std::string("kvcap")) {
    // CM02 without the TCP window and without cross traffic: a flow gets its max-min share of the links, no
    // more and no less.
    xbt_log_control_set("root.thresh:warning");
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/TCP-gamma:0");
    sg4::Engine::set_config("network/crosstraffic:0");
    sg4::Engine::set_config("contexts/stack-size:2048");  // KiB; a large fleet has thousands of actors
    // A full zone has a table of all its pairs: a small one for each node, where there are several.
    const bool many = observers.size() > 1;
    auto* root = many ? sg4::create_empty_zone("root") : sg4::create_full_zone("root");
    home_ = root->create_host("home", 1);
    sg4::Link* remote = nullptr;
    if (shared_remote && hardware.remote) {
      remote = root->create_link("remote", hardware.remote->bandwidth_bytes_per_s)->set_latency(0);
      remote->seal();
    }
    for (std::size_t i = 0; i < observers.size(); ++i) {
      const std::string prefix = many ? std::to_string(i) + "-" : "";
      auto* zone = many ? sg4::create_full_zone(prefix + "node")->set_parent(root) : root;
      nodes_.push_back(std::make_unique<SimgridNode>(zone, prefix, std::move(observers[i])));
      nodes_.back()->build(hardware, tensor_parallel_size, home_, remote);
      if (zone != root) zone->seal();
    }
    root->seal();
    woken_ = sg4::Semaphore::create(0);
    sg4::Engine::on_deadlock_cb(
        [] { KVCAP_BUG("the simulation waits for something that can never happen"); });
  }

  double now_s() const override { return sg4::Engine::get_clock(); }
  Node& node(std::size_t number) override { return *nodes_.at(number); }

  void wake() override {
    if (asleep_ && !wake_pending_) {
      wake_pending_ = true;
      woken_->release();
    }
  }

  void run(std::function<double(double)> loop) override {
    sg4::Actor::create("loop", home_, [this, loop = std::move(loop)] { call(loop); });
    engine_.run();
  }

 private:
  void call(const std::function<double(double)>& loop) {
    for (;;) {
      const double until_s = loop(now_s());
      if (until_s < 0) return;
      const double wait_s = until_s - now_s();
      if (wait_s <= kResolution_s) continue;
      asleep_ = true;
      if (std::isinf(wait_s)) {
        woken_->acquire();
      } else if (woken_->acquire_timeout(wait_s)) {
        // A wake that was said at this very date is still to be taken.
        if (wake_pending_) woken_->acquire();
      }
      asleep_ = false;
      wake_pending_ = false;
    }
  }

  sg4::Engine engine_;
  sg4::Host* home_ = nullptr;
  std::vector<std::unique_ptr<SimgridNode>> nodes_;
  sg4::SemaphorePtr woken_;
  bool asleep_ = false;
  bool wake_pending_ = false;
};

}  // namespace

std::unique_ptr<World> make_simgrid_world(const HardwareProfile& hardware, int64_t tensor_parallel_size,
                                          std::vector<LinkObserver> observers, bool shared_remote) {
  return std::make_unique<SimgridWorld>(hardware, tensor_parallel_size, std::move(observers), shared_remote);
}

std::string simgrid_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  std::string text = std::to_string(major) + "." + std::to_string(minor);
  return patch > 0 ? text + "." + std::to_string(patch) : text;
}

}  // namespace kvcap
