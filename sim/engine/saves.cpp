// Saves of an Instance: the transfers of what turns leave over links.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/instance.h"

namespace kvcap {

// With SaveAt::step: saves the full blocks of the request's sequence.
void Instance::save_progress(Request& request) {
  if (keeping_.save_at != SaveAt::step) return;
  save(cache_.save_progress(request, parts_.node->now_s()), request);
}

// Performs saves of the request, which may have ended.
void Instance::save(std::vector<Move> moves, Request& request) {
  const double now_s = parts_.node->now_s();
  if (keeping_.blocking_save) {
    for (const Move& move : moves) {
      if (move.from == Tier::hbm) gpu_waits_until_s_ = std::max(gpu_waits_until_s_, now_s) + save_s(move);
    }
  }
  const auto saves =
      std::count_if(moves.begin(), moves.end(), [](const Move& move) { return move.from == Tier::hbm; });
  if (keeping_.keeps_kv && saves > 0) {
    if (!request.saves) request.saves = std::make_shared<Saves>();
    request.saves->under_way += saves;
  }
  perform(std::move(moves), request.saves);
}

// True iff the tier's write queue has room for its waiting moves, the `issued` tokens and the moves that
// running loads cause. An empty queue accepts a save of any size.
bool Instance::accepts(Tier from, Tier to, int64_t tokens, int64_t issued, bool ahead) {
  if (keeping_.write_queue_s <= 0) return true;
  const auto seconds = [&](int64_t of_tokens) {
    if (of_tokens == 0) return 0.0;
    const double requests = copies_in(to) * engine_.policy->save_requests(of_tokens);
    return engine_.route(from, to).seconds(bytes_in(to, of_tokens), requests);
  };
  for (const RequestPtr& request : scheduler_.loading()) {
    for (const Move& move : request->displaced) {
      if (move.from == from && move.to == to) issued += move.tokens;
    }
  }
  const double waiting_s = parts_.node->lane(from, to).pending_s() + seconds(issued);
  const bool fits = waiting_s <= kTimeResolution_s || waiting_s + seconds(tokens) <= keeping_.write_queue_s;
  if (!fits && !ahead) parts_.recorder->refused_save();
  return fits;
}

void Instance::perform(std::vector<Move> moves, const std::shared_ptr<Saves>& saves) {
  for (Move& move : moves) {
    const double bytes = bytes_in(move.to, move.tokens);
    const double requests = copies_in(move.to) * requests_of(move);
    const Route& route = engine_.route(move.from, move.to);
    Lane& lane = parts_.node->lane(move.from, move.to);
    const std::shared_ptr<Saves> held = move.from == Tier::hbm ? saves : nullptr;
    parts_.recorder->waiting_saves(bytes);
    lane.move(route.seconds(bytes, requests), route.latency_s,
              [this, move = std::move(move), held, bytes, requests](TransferPhase phase) {
                if (phase != TransferPhase::ended) return;
                parts_.recorder->waiting_saves(-bytes);
                parts_.recorder->wrote(move.to, bytes, requests, parts_.node->now_s());
                parts_.store->done(move);
                if (held && --held->under_way == 0) end_lease(held);
                if (parts_.check_invariants) parts_.store->check_in_turn();
                const bool prefetches =
                    keeping_.look_ahead || keeping_.prefetch_on_arrival != PrefetchOnArrival::none;
                if (!prefetches || move.from < move.to) return;
                const auto& queue = scheduler_.waiting();
                const bool fetched = may_be_passed_ || (waits_for_fetch_ && !queue.empty() &&
                                                        !forecast_.fetches(queue.front()->text.prompt));
                if (fetched) fetched_s_ = parts_.node->now_s();
                // A single step needs no wake: its end handles this.
                if (!steps_.is_running() || (fetched && steps_.in_long_run())) parts_.wake();
              });
  }
}

// Releases the blocks of an ended request after its last save; other requests may wait for them. The steps of
// the current run have already taken their blocks, so the run ends with its current step.
void Instance::end_lease(const std::shared_ptr<Saves>& saves) {
  if (!cache_.leases(*saves)) return;
  const bool in_run = steps_.in_long_run();
  returned_.push_back(saves);
  if (!in_run) take_returned();
  if (!in_run && (steps_.is_running() || !scheduler_.lacks_blocks())) return;
  fetched_s_ = std::min(fetched_s_, parts_.node->now_s());
  parts_.wake();
}

void Instance::take_returned() {
  for (const std::shared_ptr<Saves>& saves : returned_) cache_.give_back(*saves);
  returned_.clear();
}

// Returns the seconds that a save occupies the route out of the GPU.
double Instance::save_s(const Move& move) const {
  return engine_.route(move.from, move.to)
      .seconds(bytes_in(move.to, move.tokens), copies_in(move.to) * requests_of(move));
}

double Instance::copies_in(Tier tier) const { return tier == Tier::remote ? keeping_.remote_copies : 1; }

double Instance::bytes_in(Tier tier, int64_t tokens) const {
  return copies_in(tier) * static_cast<double>(tokens) * engine_.policy->traits().stored_bytes_per_token;
}

// Returns the number of I/O requests of a move; every item begins a new chunk.
double Instance::requests_of(const Move& move) const {
  double requests = 0;
  for (const Moved& moved : move.items) requests += engine_.policy->save_requests(moved.tokens);
  return requests;
}

}  // namespace kvcap
