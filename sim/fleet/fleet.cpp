#include "fleet/fleet.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "engine/prompt.h"

namespace kvcap {
namespace {

constexpr uint32_t kNowhere = std::numeric_limits<uint32_t>::max();

}  // namespace

Fleet::Fleet(const FleetParts& parts)
    : parts_(parts),
      sessions_(*parts.instance.workload, *parts.instance.engine->serving, *parts.instance.engine->keeping,
                parts.instance.engine->max_model_len),
      index_(parts.options.router, parts.stores.size()),
      members_(parts.stores.size()),
      facts_(parts.stores.size()) {
  for (const PoolParts& pool : parts.pools) {
    pools_.push_back(
        {.engine = pool.engine,
         .first = pools_.empty() ? 0 : pools_.front().members,
         .members = pool.nodes * pool.ranks,
         .ranks = pool.ranks,
         .step_ranks = pool.in_lockstep ? pool.ranks : 1,
         .router = Router(parts.options, parts.seed),
         .last_node = std::vector<uint32_t>(parts.instance.workload->sessions.size(), kNowhere)});
  }
  for (const NodeFailure& failure : parts.options.failures) {
    const auto node = static_cast<std::size_t>(failure.replica);
    changes_.push_back({failure.at_s, node, false});
    changes_.push_back({failure.at_s + failure.down_s, node, true});
  }
  // If changes have the same time, recoveries precede failures: a node may fail again as soon as it is up.
  std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return a.at_s != b.at_s ? a.at_s < b.at_s : a.up > b.up;
  });
  if (parts.instance.workload->warm_start) {
    Pool& pool = pools_.front();
    for (std::size_t i = 0; i < pool.last_node.size(); ++i) {
      if (parts.instance.workload->sessions[i].context_tokens == 0) continue;
      pool.last_node[i] =
          static_cast<uint32_t>(home_of(parts.instance.workload->context_key(i), pool.members));
    }
  }
  for (std::size_t node = 0; node < members_.size(); ++node) start(node);
  if (!disaggregated()) return;
  const Instance& decoder = *members_.back().instance;
  const auto lengths = std::views::iota(int64_t{1}, pools_.back().engine->max_model_len + 1);
  most_decoded_tokens_ =
      *std::ranges::partition_point(lengths, [&](int64_t tokens) { return decoder.fits(tokens); }) - 1;
}

void Fleet::start(std::size_t node) {
  InstanceParts parts = parts_.instance;
  parts.engine = pool_of(node).engine;
  if (decodes_only(node)) parts.handover = nullptr;
  Member& member = members_[node];
  member = {};
  member.restorer = parts_.make_restorer(node);
  parts.sessions = &sessions_;
  parts.store = &parts_.stores[node];
  parts.node = &parts_.world->node(node);
  parts.restorer = member.restorer.get();
  parts.wake = [this, unit = unit_of(node)] {
    if (!alone()) due_.insert(unit, {parts_.world->now_s(), unit});
    parts_.world->wake();
  };
  parts.number = node;
  parts.sees_arrivals = alone();
  const bool counts = pools_.front().router.counts_tokens_in_flight();
  if (counts) {
    parts.fleet.begun = [this, node](const Arrival& turn) { members_[node].view.answered(turn.number); };
  }
  parts.fleet.ended = [this, node, counts](const Arrival& turn) {
    if (counts) members_[node].view.answered(turn.number);
    --facts_[node].turns;
    ++ended_;
  };
  const bool reports =
      !alone() && pools_.front().router.needs_beliefs() && parts_.options.router.index == IndexKind::events;
  if (reports) {
    parts.fleet.stored = [this, node](std::span<const Part> stored) {
      index_.stored(node, stored, parts_.world->now_s());
    };
    parts.fleet.evicted = [this, node](Key part, int64_t first_token, double at_s) {
      index_.evicted(node, part, first_token, at_s);
    };
  }
  if (!alone()) {
    parts.fleet.lost_its_front = [this, node](Key key) {
      for (std::size_t other = 0; other < members_.size(); ++other) {
        if (other != node) parts_.stores[other].erase(key, Reach::own);
      }
    };
  }
  if (parts.handover) {
    parts.fleet.hands_over = [this, node](const Arrival& arrival, const std::shared_ptr<Handover>& handover) {
      handed_over_.push_back({arrival, node, handover});
    };
    parts.fleet.lost = [this](const Arrival& arrival) { lost_.push_back(arrival); };
    parts.fleet.fits_decoder = [this](int64_t tokens) { return tokens <= most_decoded_tokens_; };
  }
  member.instance = std::make_unique<Instance>(parts);
  facts_[node].up = true;
  due_.insert(unit_of(node), {parts_.world->now_s(), unit_of(node)});
}

double Fleet::advance(double now_s) {
  if (alone()) return advance_only(now_s);
  at_work_.clear();
  change_nodes(now_s);
  // If events have the same time, steps end first, then turns arrive, then the next steps begin.
  for (Slot unit = due_.first(); unit != kNoSlot && due_.first_rank().value <= now_s + kTimeResolution_s;
       unit = due_.first()) {
    call_again_or_work(unit, now_s);
  }
  give_up(now_s);
  route_arrivals(now_s);
  route_handed_over(now_s);
  work(now_s);
  if (parts_.instance.check_invariants) check(now_s);
  if (has_ended()) {
    if (parts_.instance.check_invariants) check_ended();
    ended_s_ = now_s;
    return -1;
  }
  if (!handed_over_.empty() || !lost_.empty()) return now_s;
  double next_s = std::min(sessions_.arrivals.next_s(), sessions_.arrivals.next_give_up_s());
  if (due_.first() != kNoSlot) next_s = std::min(next_s, due_.first_rank().value);
  if (next_change_ < changes_.size()) next_s = std::min(next_s, changes_[next_change_].at_s);
  return next_s;
}

// Advances a fleet of a single node, which handles arrivals itself while a step runs.
double Fleet::advance_only(double now_s) {
  Instance& only = *members_.front().instance;
  if (const std::optional<double> busy_until_s = only.finish(now_s)) return *busy_until_s;
  Arrivals& arrivals = sessions_.arrivals;
  while (true) {
    give_up(std::min(now_s, arrivals.next_s()));
    if (arrivals.next_s() > now_s + kTimeResolution_s) break;
    ++facts_.front().turns;
    ++routed_;
    only.take(arrivals.pop());
  }
  if (has_ended()) {
    ended_s_ = now_s;
    only.record_levels(now_s);
    if (parts_.instance.check_invariants) check_ended();
    return -1;
  }
  const double next_s = only.proceed(now_s);
  if (!has_ended()) return next_s;
  return advance_only(now_s);
}

void Fleet::call_again_or_work(Slot unit, double now_s) {
  due_.erase(unit);
  if (const std::optional<double> busy_until_s = finish(unit, now_s)) {
    due_.insert(unit, {*busy_until_s, unit});
  } else {
    report_metrics(unit, now_s);
    at_work_.push_back(unit);
  }
}

// Calls units that are between two steps: they admit requests and begin the next step.
void Fleet::work(double now_s) {
  for (Slot unit : at_work_) {
    due_.insert(unit, {proceed(unit, now_s), unit});
    for (Member& member : members_of(unit)) {
      member.left_waiting = member.instance->queued();
      member.begun_s = now_s;
      member.quiet_until_s = member.instance->steps().quiet_until_s();
      member.same_metrics_until_s = 0;
    }
  }
  if (parts_.shared && parts_.shared->has(Tier::remote)) {
    parts_.instance.recorder->level(stored_in(Tier::remote), parts_.shared->occupied_bytes(Tier::remote),
                                    now_s);
  }
}

// ---- routing ----

void Fleet::route_arrivals(double now_s) {
  while (sessions_.arrivals.next_s() <= now_s + kTimeResolution_s) route(sessions_.arrivals.pop(), now_s);
}

// Returns the parts of a turn's prompt, including new tokens.
std::vector<Part> Fleet::prompt_parts(const TurnText& text) const {
  return parts_of(first_tokens(text.runs, text.history_tokens + text.input_tokens),
                  parts_.instance.engine->keeping->chunk_tokens);
}

// Called when a step of the unit has ended: the unit's servers update their metrics.
void Fleet::report_metrics(Slot unit, double now_s) {
  if (!pools_.front().router.scrapes()) return;
  for (Member& member : members_of(unit)) {
    member.view.report({member.left_waiting, member.instance->held_share()}, now_s,
                       parts_.options.router.metrics_period_s);
  }
}

// Sets the queue length and KV usage in `facts` to their values at the last scrape.
void Fleet::scrape(std::size_t node, NodeFacts& facts, double now_s) {
  Member& member = members_[node];
  const double period_s = parts_.options.router.metrics_period_s;
  const double scrape_s = ServerView::scrape_s(now_s, period_s);
  if (scrape_s > member.same_metrics_until_s && member.instance->steps().in_long_run() &&
      scrape_s > std::max(member.begun_s, member.view.reported_s()) + kTimeResolution_s) {
    // Steps of this run have ended without an event. Arrivals interrupt a run unless the queue is blocked.
    catch_up(member, scrape_s);
    const int64_t waiting = member.left_waiting > 0 ? member.instance->waiting() : 0;
    member.view.report({waiting, member.instance->held_share()}, scrape_s, period_s);
    if (member.left_waiting == 0) member.same_metrics_until_s = member.quiet_until_s;
  }
  const ServerMetrics& metrics = member.view.scraped(now_s, period_s);
  facts.waiting = metrics.waiting;
  facts.held_share = metrics.held_share;
}

// Counts the steps that have ended on a node.
void Fleet::catch_up(Member& member, double now_s) {
  member.instance->steps().catch_up(now_s);
  member.quiet_until_s = member.instance->steps().quiet_until_s();
}

// Updates the router's facts about each node, including how many tokens of this prompt the index lists.
void Fleet::learn(const Pool& pool, const TurnText& text, std::span<const Part> prompt, double now_s) {
  const IndexKind kind = parts_.options.router.index;
  const bool reads_engines = pool.router.reads_engines(), looks = kind == IndexKind::exact;
  for (std::size_t node = pool.first; node < pool.first + pool.members; ++node) {
    NodeFacts& facts = facts_[node];
    Member& member = members_[node];
    facts = {.up = facts.up, .turns = facts.turns};
    if (!facts.up) continue;
    if (pool.router.scrapes()) scrape(node, facts, now_s);
    const bool has_changed = kind != IndexKind::approximate && now_s > member.quiet_until_s;
    if (reads_engines || has_changed) catch_up(member, now_s);
    if (reads_engines) read_engine(*member.instance, facts);
    if (looks) facts.found_tokens = member.instance->found_tokens(text);
    facts.tokens_in_flight = member.view.tokens_in_flight();
  }
  if (looks) return;
  index_.hear(now_s);
  for (std::size_t node = pool.first; node < pool.first + pool.members; ++node) {
    if (kind == IndexKind::approximate) facts_[node].indexed_tokens = index_.indexed_tokens(node);
  }
  for (uint32_t node : index_.holders(prompt)) {
    if (node < pool.first || node >= pool.first + pool.members) continue;
    facts_[node].found_tokens[index(Tier::hbm)] = index_.believed_tokens(node, prompt);
  }
}

// All caches fill up, so cached tokens do not tell nodes apart: without an index of what was sent to them
// they are compared by the KV tokens of their requests.
void Fleet::read_engine(const Instance& instance, NodeFacts& facts) {
  const EngineFacts engine = instance.facts();
  facts.waiting = engine.waiting;
  facts.held_share = engine.held_share;
  facts.indexed_tokens = engine.held_tokens;
  facts.prefill_tokens = engine.prefill_tokens;
  facts.decode_tokens = engine.decode_tokens;
}

std::optional<std::size_t> Fleet::assign(const Arrival& arrival, Pool& pool, bool& moved, double now_s) {
  uint32_t& last_node = pool.last_node[arrival.session];
  const std::optional<std::size_t> before =
      last_node == kNowhere ? std::nullopt : std::optional<std::size_t>(last_node);
  const std::optional<std::size_t> chosen = choose_node(arrival, pool, before, now_s);
  if (!chosen) return std::nullopt;
  moved = before && before != chosen;
  last_node = static_cast<uint32_t>(*chosen);
  ++facts_[*chosen].turns;
  ++routed_;
  return chosen;
}

std::optional<std::size_t> Fleet::choose_node(const Arrival& arrival, Pool& pool,
                                              std::optional<std::size_t> before, double now_s) {
  if (!pool.router.needs_beliefs()) return choose_by_facts(pool, before, 1);
  const TurnText text = sessions_.open(arrival);
  const std::vector<Part> prompt = prompt_parts(text);
  learn(pool, text, prompt, now_s);
  const std::optional<std::size_t> chosen =
      choose_by_facts(pool, before, text.history_tokens + text.input_tokens);
  if (chosen && pool.router.counts_tokens_in_flight()) {
    const int64_t tokens = text.history_tokens + text.input_tokens - facts_[*chosen].all_found();
    members_[*chosen].view.sent(arrival.number, tokens);
  }
  if (!chosen || parts_.options.router.index == IndexKind::exact) return chosen;
  catch_up(members_[*chosen], now_s);
  int64_t there = 0;
  for (int64_t tokens : members_[*chosen].instance->found_tokens(text)) there += tokens;
  parts_.instance.recorder->believed(facts_[*chosen].all_found(), there);
  index_.routed(*chosen, prompt, now_s);
  return chosen;
}

std::optional<std::size_t> Fleet::choose_by_facts(Pool& pool, std::optional<std::size_t> before,
                                                  int64_t prompt_tokens) {
  if (before) before = *before - pool.first;
  const std::optional<std::size_t> chosen =
      pool.ranks == 1
          ? pool.router.choose(std::span(facts_).subspan(pool.first, pool.members), before, prompt_tokens)
          : choose_rank(pool, before, prompt_tokens);
  if (!chosen) return std::nullopt;
  return pool.first + *chosen;
}

// Returns the number, within the pool, of the member that gets the turn: a rank of the node that the router
// chooses. `before`: the number of the member that served the session's previous turn.
std::optional<std::size_t> Fleet::choose_rank(Pool& pool, std::optional<std::size_t> before,
                                              int64_t prompt_tokens) {
  node_facts_.assign(pool.members / pool.ranks, {});
  for (std::size_t rank = 0; rank < pool.members; ++rank) {
    const NodeFacts& of_rank = facts_[pool.first + rank];
    NodeFacts& facts = node_facts_[rank / pool.ranks];
    facts.up = of_rank.up;
    facts.turns += of_rank.turns;
    if (of_rank.all_found() > facts.all_found()) facts.found_tokens = of_rank.found_tokens;
    facts.waiting += of_rank.waiting;
    facts.indexed_tokens += of_rank.indexed_tokens;
    facts.held_share += of_rank.held_share / static_cast<double>(pool.ranks);
    facts.prefill_tokens += of_rank.prefill_tokens;
    facts.decode_tokens += of_rank.decode_tokens;
    facts.tokens_in_flight += of_rank.tokens_in_flight;
  }
  if (before) before = *before / pool.ranks;
  const std::optional<std::size_t> node = pool.router.choose(node_facts_, before, prompt_tokens);
  if (!node) return std::nullopt;
  return least_loaded(pool.first + *node * pool.ranks, pool.ranks) - pool.first;
}

// Returns the least loaded of the `ranks` members from `first` on.
std::size_t Fleet::least_loaded(std::size_t first, std::size_t ranks) const {
  const auto load = [this](std::size_t member) {
    const Instance& instance = *members_[member].instance;
    return 3 * instance.waiting() + instance.turns();  // 4 * waiting + running
  };
  std::size_t least = first;
  for (std::size_t member = first + 1; member < first + ranks; ++member) {
    if (load(member) < load(least)) least = member;
  }
  return least;
}

void Fleet::route(Arrival arrival, double now_s) {
  const std::optional<std::size_t> chosen = assign(arrival, pools_.front(), arrival.moved, now_s);
  if (!chosen) {
    held_.push_back(arrival);
    return level_held(now_s);
  }
  members_[*chosen].instance->take(arrival);
  tell(*chosen, now_s);
}

// Informs the member's unit of an arrival, which may end the unit's running steps earlier.
void Fleet::tell(std::size_t member, double now_s) {
  const Slot unit = unit_of(member);
  if (std::find(at_work_.begin(), at_work_.end(), unit) != at_work_.end()) return;
  call_again_or_work(unit, now_s);
}

// A handed-over turn may end a step on its decode node, and then more turns may be handed over.
void Fleet::route_handed_over(double now_s) {
  while (!handed_over_.empty() || !lost_.empty()) {
    start_over(std::exchange(lost_, {}), now_s);
    for (const HandedOver& turn : std::exchange(handed_over_, {})) hand_over(turn, now_s);
  }
}

void Fleet::hand_over(const HandedOver& turn, double now_s) {
  bool moved = false;
  const std::optional<std::size_t> chosen = assign(turn.arrival, pools_.back(), moved, now_s);
  if (!chosen) {
    held_for_decode_.push_back(turn);
    return level_held(now_s);
  }
  turn.handover->send_through(parts_.world->between(turn.from, *chosen));
  members_[*chosen].instance->take_over(turn.arrival, turn.handover);
  tell(*chosen, now_s);
}

// If no node of a pool is up, records the turns held for the pool as waiting on its first node.
void Fleet::level_held(double now_s) const {
  Recorder& recorder = *parts_.instance.recorder;
  const auto level = [&](const Pool& pool, std::size_t held) {
    if (facts_[pool.first].up) return;
    recorder.level(Level::waiting, static_cast<double>(held), now_s, pool.first);
  };
  level(pools_.front(), held_.size());
  if (disaggregated()) level(pools_.back(), held_for_decode_.size());
}

// ---- clients that give up ----

void Fleet::give_up(double now_s) {
  while (sessions_.arrivals.next_give_up_s() <= now_s + kTimeResolution_s) give_up_one(now_s);
}

void Fleet::give_up_one(double now_s) {
  Recorder& recorder = *parts_.instance.recorder;
  const Arrival given_up = sessions_.arrivals.give_up();
  recorder.abandoned();
  drop_held(given_up, now_s);
  if (!sessions_.arrivals.is_last(given_up)) return;
  TurnRecord record = sessions_.record_of(given_up, sessions_.open(given_up));
  ++record.abandoned;
  record.failed = true;
  record.e2el_s = given_up.deadline_s - record.arrival_s;
  const uint32_t unborn = sessions_.end_unanswered(given_up, record, given_up.deadline_s, recorder);
  if (parts_.instance.finished_turns) *parts_.instance.finished_turns += 1 + unborn;
}

// Drops the turn if it waits because no node is up.
void Fleet::drop_held(const Arrival& given_up, double now_s) {
  const auto same = [&](const Arrival& one) { return one.number == given_up.number; };
  bool is_dropped = std::erase_if(held_, same) > 0;
  std::erase_if(held_for_decode_, [&](const HandedOver& turn) {
    if (!same(turn.arrival)) return false;
    // The prefill node drops a turn whose prompt it still computes.
    is_dropped = turn.handover->is_ended();
    turn.handover->abandon();
    return true;
  });
  if (is_dropped) parts_.instance.recorder->dropped(now_s - given_up.time_s);
  level_held(now_s);
}

// ---- failures ----

void Fleet::change_nodes(double now_s) {
  while (next_change_ < changes_.size() && changes_[next_change_].at_s <= now_s + kTimeResolution_s) {
    const Change& change = changes_[next_change_++];
    if (!change.up) {
      fail(change.node, now_s);
      continue;
    }
    const auto [first, ranks] = ranks_of(change.node);
    const bool decodes = decodes_only(first);
    for (std::size_t member = first; member < first + ranks; ++member) start(member);
    if (decodes) {
      std::ranges::move(std::exchange(held_for_decode_, {}), std::back_inserter(handed_over_));
      parts_.instance.recorder->level(Level::waiting, 0, now_s, pools_.back().first);
      continue;
    }
    const std::deque<Arrival> waiting = std::exchange(held_, {});
    if (!waiting.empty()) parts_.instance.recorder->level(Level::waiting, 0, now_s);
    for (const Arrival& arrival : waiting) route(arrival, now_s);
  }
}

// Returns the members of a node; the prefill nodes come first.
Fleet::NodeMembers Fleet::ranks_of(std::size_t node) const {
  const Pool& first = pools_.front();
  const std::size_t nodes = first.members / first.ranks;
  if (node < nodes) return {node * first.ranks, first.ranks};
  return {first.members + (node - nodes) * pools_.back().ranks, pools_.back().ranks};
}

// Takes the node and all its ranks down.
void Fleet::fail(std::size_t node, double now_s) {
  std::vector<Arrival> lost;
  const auto [first, ranks] = ranks_of(node);
  for (std::size_t member = first; member < first + ranks; ++member) fail_rank(member, now_s, lost);
  if (disaggregated() && !decodes_only(first)) {
    for (std::size_t member = first; member < first + ranks; ++member) lose_prompts_of(member, now_s, lost);
  }
  start_over(std::move(lost), now_s);
}

// Adds the turns whose prompts were still on a failed node to `all_lost`.
void Fleet::lose_prompts_of(std::size_t member, double now_s, std::vector<Arrival>& all_lost) {
  for (std::size_t decoder = pools_.back().first; decoder < members_.size(); ++decoder) {
    if (!members_[decoder].instance) continue;
    const std::vector<Arrival> lost = members_[decoder].instance->lose_prompts_of(member, now_s);
    all_lost.insert(all_lost.end(), lost.begin(), lost.end());
  }
  const auto is_lost = [&](const HandedOver& turn) {
    if (turn.from != member) return false;
    if (turn.handover->is_ended()) all_lost.push_back(turn.arrival);
    return true;
  };
  std::erase_if(held_for_decode_, is_lost);
  std::erase_if(handed_over_, is_lost);
}

// Routes turns again, in order of arrival.
void Fleet::start_over(std::vector<Arrival> lost, double now_s) {
  std::ranges::stable_sort(lost, {}, &Arrival::number);
  for (Arrival& arrival : lost) {
    if (arrival.is_given_up(now_s)) {
      parts_.instance.recorder->dropped(now_s - arrival.time_s);
      continue;
    }
    ++arrival.retries;
    parts_.instance.recorder->retried();
    route(arrival, now_s);
  }
}

void Fleet::fail_rank(std::size_t node, double now_s, std::vector<Arrival>& all_lost) {
  Member& member = members_[node];
  const std::vector<Arrival> lost = member.instance->fail(now_s);
  all_lost.insert(all_lost.end(), lost.begin(), lost.end());
  parts_.world->drop_all(node);
  member.instance.reset();
  member.restorer.reset();
  parts_.stores[node].fail();
  if (due_.contains(unit_of(node))) due_.erase(unit_of(node));
  std::erase(at_work_, unit_of(node));
  index_.lost(node);
  routed_ -= facts_[node].turns;
  facts_[node] = {.up = false};
  for (Level level : {Level::waiting, Level::running, Level::kv_tokens}) {
    parts_.instance.recorder->level(level, 0, now_s, node);
  }
  for (Tier tier : kTiers) {
    if (parts_.shared && parts_.shared->has(tier)) continue;
    parts_.instance.recorder->level(stored_in(tier), 0, now_s, node);
  }
}

}  // namespace kvcap
