#include <signal.h>
#include <xbt/log.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>

#include "base/check.h"
#include "des/server.h"
#include "des/world.h"

// clang-format off
#include <simgrid/version.h>  // uses macros of the headers above
// clang-format on

namespace kvcap {
namespace {

constexpr int kMostAlarms = 1 << 16;
constexpr double kExactly_s = 1e6;  // below this, doubles are spaced more closely than SimGrid resolves times
constexpr double kLastAlarm_s = 1e12;  // no event is expected later than this
constexpr double kMostBytes = 4e18;    // limit per activity: SimGrid counts the bytes in an integer

struct Transfer {
  double alone_s = 0;
  double latency_s = 0;
  double ready_s = 0;
  std::function<void(TransferPhase)> on_phase;
};

class SimgridLane;

// A link, and the lanes whose bytes flow over it with the bandwidth that each would use if nothing slowed it.
struct SharedLink {
  struct User {
    SimgridLane* lane = nullptr;
    double bytes_per_s = 0;
  };

  sg4::Link* link = nullptr;
  std::vector<User> users = {};

  bool is_contended() const {
    double asked_bytes_per_s = 0;
    for (const User& user : users) asked_bytes_per_s += user.bytes_per_s;
    return asked_bytes_per_s > link->get_bandwidth() * (1 + 1e-9);
  }
};

// A link of a lane, and how often its bytes cross it.
struct Crossing {
  SharedLink* shared = nullptr;
  int times = 0;
};

// A lane carries one transfer at a time: a single transfer already uses the full bandwidth of its route, and
// concurrent ones would only share it. As long as no link of its route is contended, a transfer gets the full
// bandwidth, so that its end is known. Once a link is contended, SimGrid divides its bandwidth among the
// transfers that use it.
class SimgridLane : public Lane, public Server<Transfer> {
 public:
  SimgridLane(Clock& clock, Timers& timers, Agenda& agenda, sg4::Host* from, sg4::Host* to, Route route,
              std::vector<Crossing> crossings, const LinkObserver& observer)
      : Server(clock, timers, agenda),
        from_(from),
        to_(to),
        route_(std::move(route)),
        bytes_per_s_(route_.bytes_per_s()),
        crossings_(std::move(crossings)),
        observer_(observer) {}

  void move(double alone_s, double latency_s, std::function<void(TransferPhase)> on_phase,
            double ready_s) override {
    queued_s_ += alone_s;
    ask({alone_s, latency_s, ready_s, std::move(on_phase)});
  }

  double pending_s() const override {
    switch (flow_) {
      case Flow::none:
        return queued_s_;
      case Flow::alone:
        return queued_s_ + pending_.left_s();
      case Flow::shared:
        return queued_s_ + (pending_.activity()->get_remaining() + later_bytes_) / bytes_per_s_;
    }
    KVCAP_BUG("unknown flow");
  }

  void drop_all() {
    give_up();
    queued_s_ = 0;
    leave_links();
  }

 private:
  enum class Flow : uint8_t { none, alone, shared };

  void serve() override {
    began_s_ = now_s();
    current_.on_phase(TransferPhase::began);
    const double until_ready_s = std::max(0.0, current_.ready_s - began_s_);
    began_s_ += until_ready_s;
    after(until_ready_s + current_.latency_s, [this] { carry(); });
  }

  void carry() {
    queued_s_ = queue_.empty() ? 0 : queued_s_ - current_.alone_s;
    if (current_.alone_s <= kResolution_s) return arrived();
    flow_ = Flow::alone;
    pending_.pass(current_.alone_s, [this] { carried(); });
    for (const Crossing& crossing : crossings_) {
      SharedLink& shared = *crossing.shared;
      shared.users.push_back({this, crossing.times * bytes_per_s_});
      if (!shared.is_contended()) continue;
      for (const SharedLink::User& user : shared.users) user.lane->share();
    }
  }

  // One of its links is contended from now on.
  void share() {
    if (flow_ != Flow::alone || pending_.left_s() <= kResolution_s) return;
    const double left_s = pending_.left_s();
    pending_.call_off();
    carry_shared(left_s);
  }

  void carry_shared(double alone_s) {
    flow_ = Flow::shared;
    later_bytes_ = alone_s * bytes_per_s_;
    carry_part();
  }

  void carry_part() {
    const double bytes = std::min(later_bytes_, kMostBytes);
    later_bytes_ -= bytes;
    pending_.carry(from_, to_, bytes, [this] { later_bytes_ > 0 ? carry_part() : carried(); });
  }

  void carried() {
    leave_links();
    report(now_s());
    arrived();
    go_on();
  }

  void leave_links() {
    if (std::exchange(flow_, Flow::none) == Flow::none) return;
    for (const Crossing& crossing : crossings_) {
      std::erase_if(crossing.shared->users,
                    [this](const SharedLink::User& user) { return user.lane == this; });
    }
  }

  void arrived() {
    const Transfer over = std::move(current_);
    over.on_phase(TransferPhase::ended);
    finished();
  }

  void report(double ended_s) const {
    const double bytes = current_.alone_s * bytes_per_s_;
    for (const Hop& hop : route_.hops) {
      observer_(hop.resource, bytes * hop.crossings / hop.bytes_per_s, began_s_, ended_s);
    }
  }

  sg4::Host* from_;
  sg4::Host* to_;
  Route route_;
  double bytes_per_s_;
  std::vector<Crossing> crossings_;
  const LinkObserver& observer_;
  double queued_s_ = 0;  // time on an idle route of the transfers whose bytes do not flow yet
  double began_s_ = 0;
  Flow flow_ = Flow::none;  // of the current transfer's bytes
  double later_bytes_ = 0;  // shared: remainder of the current transfer that exceeds one activity's limit
};

struct Work {
  double seconds = 0;
  std::function<void()> done;
};

class SimgridComputeQueue : public ComputeQueue, public Server<Work> {
 public:
  using Server::Server;

  void run(double seconds, std::function<void()> done) override {
    asked_s_ += seconds;
    ask({seconds, std::move(done)});
  }

  double served_s() const override { return running_ ? served_s_ + (now_s() - running_since_s_) : served_s_; }
  double pending_s() const override { return asked_s_ - served_s(); }

  void drop_all() {
    give_up();
    running_ = false;
    served_s_ = asked_s_ = 0;
  }

 private:
  void serve() override {
    running_ = true;
    running_since_s_ = now_s();
    after(current_.seconds, [this] { done(); });
  }

  void done() {
    running_ = false;
    served_s_ += current_.seconds;
    const Work over = std::move(current_);
    over.done();
    finished();
  }

  bool running_ = false;
  double running_since_s_ = 0;
  double served_s_ = 0;
  double asked_s_ = 0;
};

// Names of the node's hosts and links begin with `prefix`.
class SimgridNode : public Node {
 public:
  SimgridNode(Clock& clock, Timers& timers, Agenda& agenda, sg4::NetZone* zone, const std::string& prefix,
              LinkObserver observer)
      : clock_(clock),
        timers_(timers),
        agenda_(agenda),
        zone_(zone),
        prefix_(prefix),
        observer_(std::move(observer)),
        compute_(clock, timers, agenda) {}

  // `remote`: the link of the remote tier that all nodes share; nullptr if they share none.
  void build(const HardwareProfile& hardware, int64_t gpus, SharedLink* remote) {
    if (remote) links_[Resource::remote] = remote;
    make_duplex(hardware.pcie, static_cast<double>(gpus));
    for (Tier from : kTiers) {
      for (Tier to : kTiers) {
        if (from == to || !has_tier(hardware, from) || !has_tier(hardware, to)) continue;
        add_lane(hardware, from, to, route(hardware, gpus, from, to));
      }
    }
  }

  double now_s() const override { return clock_.now_s(); }

  Lane& lane(Tier from, Tier to) override {
    auto found = lanes_.find({from, to});
    KVCAP_CHECK(found != lanes_.end());
    return *found->second;
  }

  ComputeQueue& restore_compute() override { return compute_; }

  void drop_all() {
    for (auto& [tiers, lane] : lanes_) lane->drop_all();
    compute_.drop_all();
  }

 private:
  void add_lane(const HardwareProfile& hardware, Tier from, Tier to, const Route& way) {
    const std::string label = prefix_ + std::string(name(from)) + "-" + std::string(name(to));
    auto* source = zone_->create_host(label + "-from", 1);
    auto* sink = zone_->create_host(label + "-to", 1);
    std::vector<sg4::LinkInRoute> links;
    std::vector<Crossing> crossings;
    const auto cross = [&](SharedLink* shared) {
      links.emplace_back(shared->link);
      const auto crossed = std::ranges::find(crossings, shared, &Crossing::shared);
      crossed == crossings.end() ? crossings.push_back({shared, 1}) : void(++crossed->times);
    };
    for (const Hop& hop : way.hops) {
      for (int i = 0; i < hop.crossings; ++i) cross(link(hop));
      if (hop.resource == Resource::ssd_read || hop.resource == Resource::ssd_write) {
        cross(ssd_media(*hardware.ssd));
      }
      const bool is_pcie = hop.resource == Resource::pcie_h2d || hop.resource == Resource::pcie_d2h;
      if (is_pcie && pcie_duplex_) cross(pcie_duplex_);
    }
    zone_->add_route(source->get_netpoint(), sink->get_netpoint(), nullptr, nullptr, links, false);
    lanes_[{from, to}] = std::make_unique<SimgridLane>(clock_, timers_, agenda_, source, sink, way,
                                                       std::move(crossings), observer_);
  }

  SharedLink* link(const Hop& hop) {
    SharedLink*& made = links_[hop.resource];
    if (!made) made = make_link(std::string(kResourceNames[index(hop.resource)]), hop.bytes_per_s);
    return made;
  }

  // Creates a link for what both directions of PCIe share (host memory, controllers). Its bandwidth is
  // duplex_share times the sum of both directions, but at least that of the faster one.
  void make_duplex(const Pcie& pcie, double gpus) {
    if (pcie.duplex_share >= 1) return;
    const double h2d = pcie.h2d_bandwidth_bytes_per_s, d2h = pcie.d2h_bandwidth_bytes_per_s;
    pcie_duplex_ = make_link("pcie_duplex", gpus * std::max({h2d, d2h, pcie.duplex_share * (h2d + d2h)}));
  }

  // Returns a link for what reads and writes of the SSDs share (flash, controllers). It has the bandwidth of
  // the faster direction.
  SharedLink* ssd_media(const Ssd& ssd) {
    if (!ssd_media_) {
      const double faster = std::max(ssd.read_bandwidth_bytes_per_s, ssd.write_bandwidth_bytes_per_s);
      ssd_media_ = make_link("ssd_media", static_cast<double>(ssd.count) * faster);
    }
    return ssd_media_;
  }

  SharedLink* make_link(const std::string& of, double bytes_per_s) {
    sg4::Link* made = zone_->create_link(prefix_ + of, bytes_per_s)->set_latency(0);
    made->seal();
    return &shared_links_.emplace_back(SharedLink{made});
  }

  Clock& clock_;
  Timers& timers_;
  Agenda& agenda_;
  sg4::NetZone* zone_;
  std::string prefix_;
  LinkObserver observer_;
  std::deque<SharedLink> shared_links_;  // the lanes refer to them
  std::map<Resource, SharedLink*> links_;
  SharedLink* ssd_media_ = nullptr;
  SharedLink* pcie_duplex_ = nullptr;
  std::map<std::pair<Tier, Tier>, std::unique_ptr<SimgridLane>> lanes_;
  SimgridComputeQueue compute_;
};

// Restores the caller's signal handlers (Ctrl-C, faults), which SimGrid's engine replaces.
class SignalHandlers {
 public:
  SignalHandlers() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], nullptr, &before_[i]);
  }
  void restore() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGSEGV, SIGBUS};
  std::array<struct sigaction, kSignals.size()> before_{};
};

class SimgridWorld : public World {
 public:
  SimgridWorld(std::vector<NodeParts> nodes, bool shared_remote,
               const std::optional<Interconnect>& interconnect)
      : engine_(std::string("kvcap")) {
    caller_.restore();
    // Without TCP window limits and cross traffic, CM02 gives each flow exactly its max-min share of the
    // links.
    xbt_log_control_set("root.thresh:warning");
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/TCP-gamma:0");
    sg4::Engine::set_config("network/crosstraffic:0");
    // A full zone has a table of all pairs of its hosts. With several nodes, each therefore gets a small zone
    // of its own.
    const bool many = nodes.size() > 1;
    auto* root = many ? sg4::create_empty_zone("root") : sg4::create_full_zone("root");
    // SimGrid keeps a cancelled alarm until the next event, so every alarm gets a core.
    clock_host_ = root->create_host("clock", 1)->set_core_count(kMostAlarms);
    SharedLink* remote = nullptr;
    if (const std::optional<Remote>& shared = nodes.front().hardware->remote; shared_remote && shared) {
      remote = &shared_links_.emplace_back(
          SharedLink{root->create_link("remote", shared->bandwidth_bytes_per_s)->set_latency(0)});
      remote->link->seal();
    }
    if (interconnect) connect(root, *interconnect, nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string prefix = many ? std::to_string(i) + "-" : "";
      auto* zone = many ? sg4::create_full_zone(prefix + "node")->set_parent(root) : root;
      NodeParts& parts = nodes[i];
      nodes_.push_back(
          std::make_unique<SimgridNode>(clock_, timers_, agenda_, zone, prefix, std::move(parts.observer)));
      nodes_.back()->build(*parts.hardware, parts.gpus, remote);
      if (zone != root) zone->seal();
    }
    root->seal();
    const auto hear = [this](const sg4::Activity& ended) {
      Pending* pending = Pending::of(ended);
      if (stopped_ || !pending) return;
      pending->over();
      go_on();
    };
#if SIMGRID_VERSION >= 33400
    sg4::Comm::on_completion_cb(hear);
    sg4::Exec::on_completion_cb(hear);
#else
    sg4::Activity::on_completion_cb(hear);
#endif
  }

  double now_s() const override { return clock_.now_s(); }
  Node& node(std::size_t number) override { return *nodes_.at(number); }

  Lane& between(std::size_t from, std::size_t to) override {
    const auto found = between_.find({from, to});
    KVCAP_CHECK(found != between_.end());
    return *found->second;
  }

  void drop_all(std::size_t node) override {
    nodes_.at(node)->drop_all();
    for (auto& [ends, lane] : between_) {
      if (ends.first == node || ends.second == node) lane->drop_all();
    }
  }

  void wake() override {
    if (in_loop_ || std::exchange(woken_, true)) return;
    agenda_.add([this] {
      if (woken_) call();
    });
  }

  void run(std::function<double(double)> loop) override {
    loop_ = std::move(loop);
    call();
    go_on();
    engine_.run();
    if (!stopped_) KVCAP_BUG("the simulation waits for something that can never happen");
  }

 private:
  // Creates a host and a link per node.
  void connect(sg4::NetZone* root, const Interconnect& interconnect, const std::vector<NodeParts>& nodes) {
    auto* zone = sg4::create_full_zone("interconnect")->set_parent(root);
    std::vector<sg4::Host*> hosts;
    std::vector<SharedLink*> ways;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string prefix = "interconnect-" + std::to_string(i);
      const Route& end = i < interconnect.senders ? interconnect.sends : interconnect.receives;
      hosts.push_back(zone->create_host(prefix, 1));
      ways.push_back(&shared_links_.emplace_back(
          SharedLink{zone->create_link(prefix + "-link", end.bytes_per_s())->set_latency(0)}));
      ways.back()->link->seal();
    }
    const double slower_bytes_per_s = interconnect.route().bytes_per_s();
    const double sender_part = slower_bytes_per_s / interconnect.sends.bytes_per_s();
    const double receiver_part = slower_bytes_per_s / interconnect.receives.bytes_per_s();
    for (std::size_t from = 0; from < interconnect.senders; ++from) {
      for (std::size_t to = interconnect.senders; to < nodes.size(); ++to) {
        const std::vector<sg4::LinkInRoute> way = {sg4::LinkInRoute(ways[from]->link),
                                                   sg4::LinkInRoute(ways[to]->link)};
        zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, way, false);
        between_observers_.push_back([=, sender = nodes[from].observer, receiver = nodes[to].observer](
                                         Resource resource, double busy_s, double from_s, double to_s) {
          sender(resource, sender_part * busy_s, from_s, to_s);
          receiver(resource, receiver_part * busy_s, from_s, to_s);
        });
        between_[{from, to}] = std::make_unique<SimgridLane>(
            clock_, timers_, agenda_, hosts[from], hosts[to], interconnect.route(),
            std::vector<Crossing>{{ways[from], 1}, {ways[to], 1}}, between_observers_.back());
      }
    }
    zone->seal();
  }

  // Starts what was asked for and does what is due. As long as nothing is under way in SimGrid, it goes on
  // from one timer or call of the loop to the next; else an alarm does.
  void go_on() {
    agenda_.work_off();
    while (!stopped_ && next_s() < kLastAlarm_s) {
      if (next_s() - now_s() > kResolution_s) {
        if (!is_idle()) break;
        alarm_.call_off();
        clock_.skip_to(next_s());
      }
      timers_.next_s() <= next_call_s_ ? timers_.first().over() : call();
      agenda_.work_off();
    }
    if (!stopped_) set_alarm();
  }

  double next_s() const { return std::min(next_call_s_, timers_.next_s()); }

  // True iff nothing but the alarm is under way.
  bool is_idle() const { return clock_.under_way == (alarm_.activity() ? 1 : 0); }

  void call() {
    woken_ = false;
    in_loop_ = true;
    do {
      next_call_s_ = loop_(now_s());
      stopped_ = next_call_s_ < 0;
    } while (!stopped_ && next_call_s_ - now_s() <= kResolution_s);
    in_loop_ = false;
  }

  // Sets an alarm for the next loop call. SimGrid adds the alarm's duration to its clock and misses the alarm
  // if the sum is off by more than a nanosecond. The sum is exact only if the duration does not exceed the
  // clock. So an alarm lasts at most as long as the clock has run (or kExactly_s); if it rings before the
  // loop is due, another alarm is set.
  void set_alarm() {
    if (alarm_.activity() && alarm_s_ <= next_s()) return;
    alarm_.call_off();
    if (next_s() > kLastAlarm_s) return;
    const double wait_s = std::min(next_s() - now_s(), std::max(sg4::Engine::get_clock(), kExactly_s));
    alarm_s_ = now_s() + wait_s;
    alarm_.pass_beside_others(clock_host_, wait_s, [] {});
  }

  const SignalHandlers caller_;
  sg4::Engine engine_;
  Clock clock_;
  Timers timers_;
  Agenda agenda_;
  std::deque<SharedLink> shared_links_;  // the lanes refer to them
  std::vector<std::unique_ptr<SimgridNode>> nodes_;
  std::deque<LinkObserver> between_observers_;  // the lanes below refer to them
  std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<SimgridLane>> between_;
  std::function<double(double)> loop_;
  double next_call_s_ = 0;
  sg4::Host* clock_host_ = nullptr;
  Pending alarm_{clock_, timers_};
  double alarm_s_ = 0;
  bool in_loop_ = false;
  bool woken_ = false;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<World> make_simgrid_world(std::vector<NodeParts> nodes, bool shared_remote,
                                          const std::optional<Interconnect>& interconnect) {
  return std::make_unique<SimgridWorld>(std::move(nodes), shared_remote, interconnect);
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
