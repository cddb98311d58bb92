#include "engine/saves.h"

#include <algorithm>
#include <utility>

namespace kvcap {

Saves::Saves(const InstanceParts& parts, ContextCache& cache, const Steps& steps, SaveCallbacks on)
    : parts_(parts),
      engine_(*parts.engine),
      keeping_(*engine_.keeping),
      cache_(cache),
      steps_(steps),
      on_(std::move(on)) {
  parts_.store->accept_moves([this](Tier from, Tier to, int64_t tokens, int64_t issued, bool ahead) {
    return accepts(from, to, tokens, issued, ahead);
  });
}

// ---- moves ----

void Saves::save(std::vector<Move> moves, Request& request) {
  if (moves.empty()) return;
  const double now_s = parts_.node->now_s();
  if (keeping_.blocking_save) {
    for (const Move& move : moves) {
      if (move.from == Tier::hbm) gpu_waits_until_s_ = std::max(gpu_waits_until_s_, now_s) + seconds(move);
    }
  }
  const auto reads =
      std::count_if(moves.begin(), moves.end(), [](const Move& move) { return move.from == Tier::hbm; });
  if (keeping_.keeps_kv && reads > 0) {
    if (!request.lease) request.lease = std::make_shared<KvLease>();
    request.lease->readers += reads;
  }
  perform(std::move(moves), request.lease);
}

void Saves::save_progress(Request& request) {
  if (keeping_.save_at != SaveAt::step || !cache_.has_progress(request)) return;
  save(cache_.save_progress(request, parts_.node->now_s()), request);
}

void Saves::defer(std::vector<Move> moves, Request& request) {
  for (const Move& move : moves) deferred_tokens_[index(move.from)][index(move.to)] += move.tokens;
  request.displaced = std::move(moves);
}

void Saves::perform_deferred(Request& request) {
  for (const Move& move : request.displaced)
    deferred_tokens_[index(move.from)][index(move.to)] -= move.tokens;
  perform(std::exchange(request.displaced, {}));
}

// True iff the tier's write queue has room for `tokens` more tokens, in addition to its waiting moves, the
// `issued` tokens and the deferred moves. An empty queue accepts a save of any size.
bool Saves::accepts(Tier from, Tier to, int64_t tokens, int64_t issued, bool ahead) {
  if (keeping_.write_queue_s <= 0) return true;
  const auto seconds = [&](int64_t of_tokens) {
    if (of_tokens == 0) return 0.0;
    const double requests = copies_in(to) * engine_.policy->save_requests(of_tokens);
    return engine_.route(from, to).seconds(bytes_in(to, of_tokens), requests);
  };
  issued += deferred_tokens_[index(from)][index(to)];
  const double waiting_s = parts_.node->lane(from, to).pending_s() + seconds(issued);
  const bool fits = waiting_s <= kTimeResolution_s || waiting_s + seconds(tokens) <= keeping_.write_queue_s;
  if (!fits && !ahead) parts_.recorder->refused_save();
  return fits;
}

void Saves::perform(std::vector<Move> moves, const std::shared_ptr<KvLease>& lease) {
  for (Move& move : moves) {
    const double bytes = bytes_in(move.to, move.tokens);
    const double requests = copies_in(move.to) * requests_of(move);
    const Route& route = engine_.route(move.from, move.to);
    Lane& lane = parts_.node->lane(move.from, move.to);
    const std::shared_ptr<KvLease> read = move.from == Tier::hbm ? lease : nullptr;
    parts_.recorder->waiting_saves(bytes);
    lane.move(route.seconds(bytes, requests), route.latency_s,
              [this, move = std::move(move), read, bytes, requests](TransferPhase phase) {
                if (phase == TransferPhase::ended) ended(move, bytes, requests, read);
              });
  }
}

void Saves::ended(const Move& move, double bytes, double requests, const std::shared_ptr<KvLease>& lease) {
  parts_.recorder->waiting_saves(-bytes);
  parts_.recorder->wrote(move.to, bytes, requests, parts_.node->now_s());
  parts_.store->done(move);
  if (lease && --lease->readers == 0) end_lease(lease);
  if (parts_.check_invariants) parts_.store->check_in_turn();
  if (move.to <= move.from) on_.fetched();
}

// Returns the seconds that a move occupies its route.
double Saves::seconds(const Move& move) const {
  return engine_.route(move.from, move.to)
      .seconds(bytes_in(move.to, move.tokens), copies_in(move.to) * requests_of(move));
}

double Saves::bytes_in(Tier tier, int64_t tokens) const {
  return copies_in(tier) * static_cast<double>(tokens) * engine_.policy->traits().stored_bytes_per_token;
}

// Returns the number of I/O requests of a move; every item begins a new chunk.
double Saves::requests_of(const Move& move) const {
  double requests = 0;
  for (const Moved& moved : move.items) requests += engine_.policy->save_requests(moved.tokens);
  return requests;
}

// ---- blocks of ended requests ----

void Saves::keep_blocks(Request& request) {
  if (!request.lease || request.lease->readers == 0) return;
  request.lease->holding = std::exchange(request.holding, KvHolding());
  kept_.push_back(&request.lease->holding);
}

std::function<void()> Saves::keep_blocks_until_called(Request& request) {
  if (!request.lease) request.lease = std::make_shared<KvLease>();
  ++request.lease->readers;
  keep_blocks(request);
  return [this, lease = request.lease] {
    if (--lease->readers == 0) end_lease(lease);
  };
}

// Releases the blocks if their request has ended. The steps of the current run have already taken their
// blocks, so the lease's blocks are released when the run ends.
void Saves::end_lease(const std::shared_ptr<KvLease>& lease) {
  if (std::find(kept_.begin(), kept_.end(), &lease->holding) == kept_.end()) return;
  const bool in_run = steps_.in_long_run();
  unreleased_.push_back(lease);
  if (!in_run) release_blocks();
  on_.freed(in_run);
}

void Saves::release_blocks() {
  for (const std::shared_ptr<KvLease>& lease : unreleased_) {
    std::erase(kept_, &lease->holding);
    cache_.pool().give_back(lease->holding);
  }
  unreleased_.clear();
}

}  // namespace kvcap
