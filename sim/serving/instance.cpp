#include "serving/instance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace kvcap {
namespace {

// vLLM keeps this share of its blocks free when it admits a request, against immediate preemption.
constexpr double kWatermark = 0.01;

int64_t tokens_of(const std::vector<Part>& parts) {
  return std::transform_reduce(parts.begin(), parts.end(), int64_t{0}, std::plus<>(),
                               [](const Item& item) { return item.tokens; });
}

}  // namespace

Instance::Instance(const InstanceParts& parts)
    : parts_(parts),
      step_time_(*parts.cost, parts.policy->save_floors()),
      kv_buffer_(parts.policy->kv_buffer()),
      arrivals_(parts.sessions->arrivals),
      forecast_(*parts.workload, arrivals_, *parts.store, parts.keeping,
                parts.policy->stored_bytes_per_token()),
      blocks_(parts.kv_capacity_tokens, parts.serving.block_size),
      watermark_blocks_(static_cast<int64_t>(kWatermark * static_cast<double>(blocks_.total()))) {}

double Instance::advance(double now_s) {
  const std::optional<double> busy_until_s = finish(now_s);
  return busy_until_s ? *busy_until_s : proceed(now_s);
}

std::optional<double> Instance::finish(double now_s) {
  if (!step_.running) return std::nullopt;
  const double end_s = end_of_step(now_s);
  if (end_s > now_s + kResolution_s) return end_s;
  finish_step(now_s);
  return std::nullopt;
}

double Instance::proceed(double now_s) {
  if (alone()) take_arrivals(now_s);
  newcomer_s_ = std::numeric_limits<double>::infinity();
  take_restored(now_s);
  if (parts_.keeping.expires) parts_.store->expire(now_s);
  admit(now_s);
  perform(forecast_.look_ahead(admitted_.size(), now_s));
  if (parts_.check_invariants) check(now_s);
  if (alone() && arrivals_.ended()) {
    ended_s_ = now_s;
    record_levels(now_s);
    return -1;
  }
  const double next_s = start_step(now_s);
  if (parts_.check_invariants) check(now_s);
  record_levels(now_s);
  return next_s;
}

double Instance::next_event_s() const {
  double next_s = std::min(fetched_s_, newcomer_s_);
  // A newcomer behind a blocked queue changes nothing before memory is freed, but for what is fetched for it
  // and for a queue that is full.
  const bool heeds = waiting_.empty() || parts_.keeping.look_ahead || parts_.serving.max_queued_turns;
  if (alone() && heeds) next_s = std::min(next_s, arrivals_.next_s());
  return restored_.empty() ? next_s : std::min(next_s, restored_.front().time_s);
}

// ---- arrival ----

void Instance::take_arrivals(double now_s) {
  while (arrivals_.next_s() <= now_s + kResolution_s) {
    const Arrival arrival = arrivals_.pop();
    arrive(arrival);
    // Behind a blocked queue it is seen late, and after an answer that a restoration gave during a step
    // perhaps later than the levels were recorded last.
    record_level(Level::waiting, static_cast<double>(waiting_.size()),
                 std::clamp(arrival.time_s, recorded_s_, std::max(recorded_s_, now_s)));
  }
}

void Instance::take(const Arrival& arrival) {
  const double now_s = parts_.node->now_s();
  if (waiting_.empty() || parts_.keeping.look_ahead) newcomer_s_ = now_s;
  arrive(arrival);
  record_level(Level::waiting, static_cast<double>(waiting_.size()), now_s);
}

void Instance::arrive(const Arrival& arrival) {
  const Session& session = parts_.workload->sessions[arrival.session];
  const Turn& turn = parts_.workload->turns[session.first_turn + arrival.turn];
  auto request = std::make_unique<Request>();
  request->arrival = arrival;
  request->input_tokens = turn.input_tokens;
  request->output_tokens = turn.output_tokens;
  const bool cold = parts_.workload->piece_begin.empty() ? take_history(*request) : take_pieces(*request);
  request->record = {.session = arrival.session,
                     .turn = arrival.turn,
                     .history_tokens = static_cast<uint32_t>(request->history_tokens),
                     .input_tokens = static_cast<uint32_t>(request->input_tokens),
                     .output_tokens = turn.output_tokens,
                     .cold = cold,
                     .warmup = arrival.number < parts_.workload->warmup_turns,
                     .node = static_cast<uint16_t>(parts_.fleetmate.number),
                     .retries = static_cast<uint16_t>(arrival.retries),
                     .arrival_s = arrival.time_s};
  request->number = static_cast<double>(arrival.number);
  ++arrived_;
  if (fits_at_all(*request) && may_wait()) {
    forecast_.joins(request->prompt, request->number);
    waiting_.push_back(std::move(request));
  } else {
    refuse(*request);
  }
}

// Returns whether the turn is the first of its session.
bool Instance::take_history(Request& request) {
  const Arrival& arrival = request.arrival;
  const Session& session = parts_.workload->sessions[arrival.session];
  Key key = parts_.workload->context_key(arrival.session);
  int64_t history = parts_.sessions->history_tokens[arrival.session];
  if (parts_.serving.overflow == Overflow::truncate) {
    const int64_t window = parts_.max_model_len - request.output_tokens;
    const bool truncated = history > 0 && history + request.input_tokens > window;
    while (history > 0 && history + request.input_tokens > window) history /= 2;
    while (request.input_tokens > window && window > 0) request.input_tokens /= 2;
    if (truncated && session.document != kOwnContext) {
      key = arrival.session;  // others keep the whole document
    } else if (truncated) {
      // Else what is kept encodes the old positions and the dropped tokens.
      cut_front(request, key, parts_.keeping.decoupled_positions ? history : 0);
    }
  }
  parts_.sessions->history_tokens[arrival.session] = static_cast<uint32_t>(history);
  request.history_tokens = history;
  request.prompt = {{{key, history}, history, 0}};
  return arrival.turn == 0;
}

// Of a session's context only the last `tokens` tokens are still of use.
void Instance::cut_front(const Request& request, Key key, int64_t tokens) {
  if (parts_.fleetmate.lost_its_front) parts_.fleetmate.lost_its_front(key);
  // What another node has put behind it is not known here.
  if (request.arrival.moved) parts_.store->own().erase(key);
  if (tokens > 0) {
    parts_.store->shrink(key, tokens);
  } else {
    parts_.store->erase(key);
  }
}

// Returns whether nobody has left a piece of the prompt before.
bool Instance::take_pieces(Request& request) {
  const Session& session = parts_.workload->sessions[request.arrival.session];
  Pieces pieces =
      pieces_of(*parts_.workload, session.first_turn, parts_.keeping.match, parts_.keeping.chunk_tokens);
  request.prompt = std::move(pieces.prompt);
  request.answer = std::move(pieces.answer);
  bool cold = true;
  for (const Item& part : request.prompt) {
    request.history_tokens += part.tokens;
    cold = cold && !parts_.sessions->seen.contains(part.key);
  }
  // The last token of a prompt is computed in any case: it yields the first of the answer.
  if (request.history_tokens == request.input_tokens) --request.history_tokens;
  request.input_tokens -= request.history_tokens;
  return cold;
}

bool Instance::fits_at_all(const Request& request) const {
  const int64_t tokens = request.history_tokens + request.input_tokens + request.output_tokens;
  return tokens <= parts_.max_model_len && blocks_needed(tokens) <= blocks_.total();
}

// Whether there is a place in the batch or in the queue.
bool Instance::may_wait() const {
  if (!parts_.serving.max_queued_turns) return true;
  const auto inside = static_cast<int64_t>(admitted_.size() + waiting_.size());
  return inside < parts_.serving.max_num_seqs + *parts_.serving.max_queued_turns;
}

// The session ends with a refused turn; those that would have followed are refused with it.
void Instance::refuse(Request& request) {
  const uint32_t unborn = arrivals_.refused(request.arrival, request.arrival.time_s);
  request.record.rejected = true;
  parts_.recorder->turn(request.record);
  const std::span<const Turn> turns =
      parts_.workload->turns_of(parts_.workload->sessions[request.arrival.session]);
  for (uint32_t i = request.arrival.turn + 1; i < turns.size(); ++i) {
    request.record.turn = i;
    request.record.retries = 0;
    request.record.history_tokens = 0;
    request.record.input_tokens = turns[i].input_tokens;
    request.record.output_tokens = turns[i].output_tokens;
    parts_.recorder->turn(request.record);
  }
  arrived_ += unborn;
  refused_ += 1 + unborn;
  if (parts_.finished_turns) *parts_.finished_turns += 1 + unborn;
  if (!alone()) parts_.fleetmate.ended(request.arrival);
}

// ---- the end of a turn ----

void Instance::complete(Request& request, double now_s) {
  request.record.e2el_s = now_s - request.arrival.time_s;
  parts_.recorder->turn(request.record);
  unpin(request);
  keep_context(request, now_s);
  release(request);
  arrivals_.answered(request.arrival, now_s);
  ++completed_;
  if (parts_.finished_turns) ++*parts_.finished_turns;
  if (!alone()) parts_.fleetmate.ended(request.arrival);
  std::erase_if(admitted_, [&request](const RequestPtr& one) { return one.get() == &request; });
}

void Instance::keep_context(const Request& request, double now_s) {
  forecast_.foresee(request.arrival, request.prompt, request.answer, now_s);
  if (!parts_.workload->piece_begin.empty()) {
    forecast_.left(tokens_of(request.prompt) + tokens_of(request.answer));
    keep(request.answer, now_s);  // the prompt's pieces are kept since they were computed
    return;
  }
  const bool grows = parts_.workload->sessions[request.arrival.session].history_grows;
  const int64_t all_tokens =
      request.history_tokens + (grows ? request.input_tokens + request.output_tokens : int64_t{0});
  const auto tokens =
      static_cast<int64_t>(std::llround(parts_.keeping.retained_share * static_cast<double>(all_tokens)));
  forecast_.left(tokens);
  if (tokens < all_tokens) cut_front(request, request.prompt.front().key, tokens);
  parts_.sessions->history_tokens[request.arrival.session] = static_cast<uint32_t>(tokens);
  keep({{{request.prompt.front().key, tokens}, tokens, 0}}, now_s);
}

void Instance::keep(const std::vector<Part>& parts, double now_s) {
  for (const Part& part : parts) parts_.sessions->seen.insert(part.key);
  if (parts_.policy->reuse() == Reuse::everything) return;
  // The last part first: of parts that are equally recent the last leaves first, and what is before it stays
  // of use.
  const std::vector<Item> last_first(parts.rbegin(), parts.rend());
  std::vector<Move> moves = parts_.store->put(last_first, now_s);
  if (parts_.keeping.blocking_save) {
    for (const Move& move : moves) {
      if (move.from == Tier::hbm) gpu_waits_until_s_ = std::max(gpu_waits_until_s_, now_s) + save_s(move);
    }
  }
  perform(std::move(moves));
}

void Instance::pin(const Request& request) {
  for (const Item& part : request.prompt) parts_.store->pin(part.key);
}

void Instance::unpin(const Request& request) {
  for (const Item& part : request.prompt) parts_.store->unpin(part.key);
}

void Instance::perform(std::vector<Move> moves) {
  for (Move& move : moves) {
    const double bytes = static_cast<double>(move.tokens) * parts_.policy->stored_bytes_per_token();
    const double requests = requests_of(move);
    const Route& route = parts_.route(move.from, move.to);
    Lane& lane = parts_.node->lane(move.from, move.to);
    lane.move(route.seconds(bytes, requests), route.latency_s,
              [this, move = std::move(move), bytes, requests](TransferPhase phase) {
                if (phase != TransferPhase::ended) return;
                parts_.recorder->wrote(move.to, bytes, requests);
                parts_.store->done(move);
                if (parts_.check_invariants) parts_.store->check_in_turn();
                if (!parts_.keeping.look_ahead || move.from < move.to) return;
                const bool fetched = waits_for_fetch_ && !forecast_.fetches(waiting_.front()->prompt);
                if (fetched) fetched_s_ = parts_.node->now_s();
                // A step that ends before is soon enough to see it.
                if (!step_.running || (fetched && in_long_run())) parts_.wake();
              });
  }
}

// Out of the GPU, wherever it goes from there.
double Instance::save_s(const Move& move) const {
  const double bytes = static_cast<double>(move.tokens) * parts_.policy->stored_bytes_per_token();
  return parts_.route(move.from, move.to).seconds(bytes, requests_of(move));
}

// Every item begins a chunk of its own.
double Instance::requests_of(const Move& move) const {
  double requests = 0;
  for (const Moved& moved : move.items) requests += parts_.policy->save_requests(moved.tokens);
  return requests;
}

// ---- failure ----

std::vector<Arrival> Instance::fail(double now_s) {
  if (step_.running) {
    const double done_s = parts_.restorer->progress_s(now_s) - step_.progress_s;
    record_busy(Resource::gpu, std::clamp(done_s, 0.0, step_.work_s), step_.start_s, now_s);
  }
  std::vector<Arrival> lost;
  for (const RequestPtr& request : admitted_) {
    unpin(*request);
    lost.push_back(request->arrival);
  }
  for (const RequestPtr& request : waiting_) lost.push_back(request->arrival);
  std::sort(lost.begin(), lost.end(), [](const Arrival& a, const Arrival& b) { return a.number < b.number; });
  return lost;
}

void Instance::release(Request& request) {
  blocks_.give_back(request.blocks);
  request.blocks = 0;
}

// ---- bookkeeping ----

void Instance::record_level(Level which, double value, double now_s) {
  parts_.recorder->level(which, value, now_s, parts_.fleetmate.number);
}

void Instance::record_busy(Resource which, double busy_s, double from_s, double to_s) {
  parts_.recorder->busy(which, busy_s, from_s, to_s, parts_.fleetmate.number);
}

void Instance::record_levels(double now_s) {
  recorded_s_ = now_s;
  record_level(Level::waiting, static_cast<double>(waiting_.size()), now_s);
  record_level(Level::running, static_cast<double>(admitted_.size()), now_s);
  record_level(Level::kv_tokens, static_cast<double>(blocks_.used_tokens()), now_s);
  constexpr std::array kStored = {Level::stored_hbm, Level::stored_dram, Level::stored_ssd,
                                  Level::stored_remote};
  for (Tier tier : kTiers) {
    const Store& own = parts_.store->own();
    if (own.has(tier)) record_level(kStored[index(tier)], own.occupied_bytes(tier), now_s);
  }
}

}  // namespace kvcap
