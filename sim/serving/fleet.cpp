#include "serving/fleet.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "serving/prompt.h"

namespace kvcap {
namespace {

// Two dates closer than this are one: the World resolves no finer.
constexpr double kResolution_s = 2e-9;
constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();

}  // namespace

Fleet::Fleet(const FleetParts& parts)
    : parts_(parts),
      sessions_(*parts.instance.workload, parts.instance.serving, parts.instance.keeping,
                parts.instance.max_model_len),
      router_(parts.options.routing, parts.options.load_bound),
      members_(parts.stores.size()),
      facts_(parts.stores.size()),
      last_node_(parts.instance.workload->sessions.size(), kNowhere) {
  for (const NodeFailure& failure : parts.options.failures) {
    const auto node = static_cast<std::size_t>(failure.replica);
    changes_.push_back({failure.at_s, node, false});
    changes_.push_back({failure.at_s + failure.down_s, node, true});
  }
  // At one date nodes come back first: a node may fail again as soon as it is up.
  std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return a.at_s != b.at_s ? a.at_s < b.at_s : a.up > b.up;
  });
  if (parts.instance.workload->warm_start) {
    for (std::size_t i = 0; i < last_node_.size(); ++i) {
      if (parts.instance.workload->sessions[i].context_tokens == 0) continue;
      last_node_[i] =
          static_cast<uint32_t>(home_of(parts.instance.workload->context_key(i), members_.size()));
    }
  }
  for (std::size_t node = 0; node < members_.size(); ++node) start(node);
}

void Fleet::start(std::size_t node) {
  InstanceParts parts = parts_.instance;
  Member& member = members_[node];
  member.restorer = parts_.make_restorer(node);
  parts.sessions = &sessions_;
  parts.store = &parts_.stores[node];
  parts.node = &parts_.world->node(node);
  parts.restorer = member.restorer.get();
  parts.wake = [this, node] {
    if (!alone()) due_.insert(static_cast<Slot>(node), {parts_.world->now_s(), node});
    parts_.world->wake();
  };
  parts.number = node;
  parts.sees_arrivals = alone();
  parts.fleet.ended = [this, node](const Arrival&) {
    --facts_[node].turns;
    ++ended_;
  };
  if (!alone()) {
    parts.fleet.lost_its_front = [this, node](Key key) {
      for (std::size_t other = 0; other < members_.size(); ++other) {
        if (other != node) parts_.stores[other].own().erase(key);
      }
    };
  }
  member.instance = std::make_unique<Instance>(parts);
  facts_[node].up = true;
  due_.insert(static_cast<Slot>(node), {parts_.world->now_s(), node});
}

double Fleet::advance(double now_s) {
  if (alone()) return advance_only(now_s);
  at_work_.clear();
  change_nodes(now_s);
  // Steps that end now end before turns arrive, and turns arrive before the next steps begin.
  for (Slot node = due_.first(); node != kNoSlot && due_.first_rank().value <= now_s + kResolution_s;
       node = due_.first()) {
    due_.erase(node);
    const std::optional<double> busy_until_s = members_[node].instance->finish(now_s);
    if (busy_until_s) {
      due_.insert(node, {*busy_until_s, node});
    } else {
      at_work_.push_back(node);
    }
  }
  route_arrivals(now_s);
  work(now_s);
  if (parts_.instance.check_invariants) check(now_s);
  if (sessions_.arrivals.ended()) {
    if (parts_.instance.check_invariants) check_ended();
    ended_s_ = now_s;
    return -1;
  }
  double next_s = sessions_.arrivals.next_s();
  if (due_.first() != kNoSlot) next_s = std::min(next_s, due_.first_rank().value);
  if (next_change_ < changes_.size()) next_s = std::min(next_s, changes_[next_change_].at_s);
  return next_s;
}

// One node alone: while a step runs nobody has to tell it who comes.
double Fleet::advance_only(double now_s) {
  Instance& only = *members_.front().instance;
  if (const std::optional<double> busy_until_s = only.finish(now_s)) return *busy_until_s;
  while (sessions_.arrivals.next_s() <= now_s + kResolution_s) {
    ++facts_.front().turns;
    ++routed_;
    only.take(sessions_.arrivals.pop());
  }
  if (sessions_.arrivals.ended()) {
    ended_s_ = now_s;
    only.record_levels(now_s);
    if (parts_.instance.check_invariants) check_ended();
    return -1;
  }
  const double next_s = only.proceed(now_s);
  if (!sessions_.arrivals.ended()) return next_s;
  return advance_only(now_s);
}

// Nodes between two steps admit and begin the next.
void Fleet::work(double now_s) {
  for (Slot node : at_work_) {
    due_.insert(node, {members_[node].instance->proceed(now_s), node});
  }
  if (parts_.shared && parts_.shared->has(Tier::remote)) {
    parts_.instance.recorder->level(stored_in(Tier::remote), parts_.shared->occupied_bytes(Tier::remote),
                                    now_s);
  }
}

// ---- routing ----

void Fleet::route_arrivals(double now_s) {
  while (sessions_.arrivals.next_s() <= now_s + kResolution_s) route(sessions_.arrivals.pop(), now_s);
}

void Fleet::route(Arrival arrival, double now_s) {
  if (router_.looks_into_stores()) {
    const TurnText text = sessions_.open(arrival);
    for (std::size_t node = 0; node < members_.size(); ++node) {
      facts_[node].found_tokens = facts_[node].up ? members_[node].instance->found_tokens(text) : 0;
    }
  }
  uint32_t& last_node = last_node_[arrival.session];
  const std::optional<std::size_t> before =
      last_node == kNowhere ? std::nullopt : std::optional<std::size_t>(last_node);
  const std::optional<std::size_t> chosen = router_.choose(facts_, before);
  if (!chosen) {
    held_.push_back(arrival);
    // As the first node's, which has nothing to say now.
    parts_.instance.recorder->level(Level::waiting, static_cast<double>(held_.size()), now_s);
    return;
  }
  arrival.moved = before && before != chosen;
  last_node = static_cast<uint32_t>(*chosen);
  ++facts_[*chosen].turns;
  ++routed_;
  Instance& instance = *members_[*chosen].instance;
  instance.take(arrival);
  // A run of steps under way may have to end sooner for it.
  const auto node = static_cast<Slot>(*chosen);
  if (std::find(at_work_.begin(), at_work_.end(), node) != at_work_.end()) return;
  due_.erase(node);
  const std::optional<double> busy_until_s = instance.finish(now_s);
  if (busy_until_s) {
    due_.insert(node, {*busy_until_s, node});
  } else {
    at_work_.push_back(node);
  }
}

// ---- failures ----

void Fleet::change_nodes(double now_s) {
  while (next_change_ < changes_.size() && changes_[next_change_].at_s <= now_s + kResolution_s) {
    const Change& change = changes_[next_change_++];
    if (!change.up) {
      fail(change.node, now_s);
      continue;
    }
    start(change.node);
    const std::deque<Arrival> waiting = std::exchange(held_, {});
    if (!waiting.empty()) parts_.instance.recorder->level(Level::waiting, 0, now_s);
    for (const Arrival& arrival : waiting) route(arrival, now_s);
  }
}

void Fleet::fail(std::size_t node, double now_s) {
  Member& member = members_[node];
  std::vector<Arrival> lost = member.instance->fail(now_s);
  parts_.world->node(node).drop_all();
  member.instance.reset();
  member.restorer.reset();
  parts_.stores[node].fail();
  if (due_.contains(static_cast<Slot>(node))) due_.erase(static_cast<Slot>(node));
  std::erase(at_work_, static_cast<Slot>(node));
  routed_ -= facts_[node].turns;
  facts_[node] = {.up = false};
  for (Level level : {Level::waiting, Level::running, Level::kv_tokens}) {
    parts_.instance.recorder->level(level, 0, now_s, node);
  }
  for (Tier tier : kTiers) {
    if (parts_.shared && parts_.shared->has(tier)) continue;
    parts_.instance.recorder->level(stored_in(tier), 0, now_s, node);
  }
  for (Arrival& arrival : lost) {
    ++arrival.retries;
    parts_.instance.recorder->retried();
    route(arrival, now_s);
  }
}

}  // namespace kvcap
