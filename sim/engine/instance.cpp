#include "engine/instance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace kvcap {

// Returns a callback that reports evictions to the fleet.
static std::function<void(Key, int64_t)> report_evictions(const InstanceParts& parts, const Steps& steps) {
  if (!parts.fleet.evicted) return nullptr;
  return [&](Key part, int64_t first_token) { parts.fleet.evicted(part, first_token, steps.eviction_s()); };
}

// Returns the request's place in the queue. Arrival numbers are below kMostArrivals, so priority takes
// precedence over arrival.
static Order place_in_queue(const ServingOptions& serving, const Workload& workload, const Arrival& arrival) {
  constexpr double kMostArrivals = 1LL << 42;
  const auto number = static_cast<double>(arrival.number);
  if (serving.scheduling_policy == SchedulingPolicy::fcfs) return number;
  return kMostArrivals * workload.sessions[arrival.session].priority + number;
}

static std::function<int64_t(int64_t)> drafts_of_batch(const Speculation* speculation) {
  if (!speculation || !speculation->adapts()) return nullptr;
  return [speculation](int64_t sequences) { return speculation->drafts_of(sequences); };
}

Instance::Instance(const InstanceParts& parts)
    : parts_(parts),
      engine_(*parts.engine),
      serving_(*engine_.serving),
      keeping_(*engine_.keeping),
      arrivals_(parts.sessions->arrivals),
      forecast_(*parts.workload, arrivals_, *parts.store, keeping_,
                engine_.policy->traits().stored_bytes_per_token, serving_.scheduling_policy),
      cache_({.engine = parts.engine,
              .workload = parts.workload,
              .sessions = parts.sessions,
              .store = parts.store,
              .evicted = report_evictions(parts_, steps_),
              .now_s = [this] { return steps_.eviction_s(); }}),
      api_server_(serving_),
      scheduler_(serving_,
                 {.least_tokens =
                      static_cast<int64_t>(std::ceil(engine_.policy->traits().kv_buffer.reserved_tokens)),
                  .draft_tokens = engine_.speculation ? engine_.speculation->draft_tokens() : 0,
                  .drafts_of_batch = drafts_of_batch(engine_.speculation),
                  .lookahead_tokens = engine_.speculation ? engine_.speculation->lookahead_tokens() : 0,
                  .max_model_len = engine_.max_model_len},
                 cache_.pool(), admissions_),
      steps_(parts_, scheduler_, cache_,
             {.computed = report_progress(),
              .yielded =
                  [this](Request& request, double now_s, bool after_prompt) {
                    token(request, now_s, after_prompt);
                    if (Scheduler::ended(request)) complete(request, now_s);
                  },
              .most_steps = [this] { return admissions_.next_round(); }}),
      saves_(parts_, cache_, steps_,
             {.fetched = [this] { admissions_.fetched(); },
              .freed = [this](bool in_run) { admissions_.blocks_freed(in_run); }}),
      handovers_(parts_),
      admissions_({.parts = parts_,
                   .api_server = api_server_,
                   .scheduler = scheduler_,
                   .cache = cache_,
                   .forecast = forecast_,
                   .steps = steps_,
                   .saves = saves_,
                   .handovers = handovers_}) {}

// Returns a callback that saves and hands over the tokens that a request has computed.
std::function<void(Request&)> Instance::report_progress() {
  if (keeping_.save_at != SaveAt::step && !parts_.handover) return nullptr;
  return [this](Request& request) {
    saves_.save_progress(request);
    if (request.handover) request.handover->computed(request.computed);
  };
}

// ---- steps ----

std::optional<double> Instance::finish(double now_s) {
  if (const int64_t landed = steps_.land(now_s)) {
    admissions_.end_rounds(landed);
    record_level(Level::running, static_cast<double>(turns() - waiting()), now_s);
    record_level(Level::kv_tokens, held_tokens(), now_s);
  }
  if (!steps_.is_running()) return std::nullopt;
  const double end_s = end_of_step(now_s);
  if (end_s > now_s + kTimeResolution_s) return std::min(end_s, steps_.next_landing_s());
  admissions_.end_rounds(steps_.end(now_s));
  saves_.release_blocks();
  steps_.end_slices(now_s);
  return std::nullopt;
}

double Instance::proceed(double now_s) {
  if (prepare(now_s) == Plan::step) begin_step(now_s);
  return settle(now_s);
}

std::optional<double> Instance::busy_until_s(double now_s) {
  if (!steps_.is_running()) return std::nullopt;
  return end_of_step(now_s);
}

Instance::Plan Instance::prepare(double now_s) {
  look_around(now_s);
  return plan_step(now_s);
}

void Instance::begin(double now_s, int64_t rows_of_others) {
  steps_.set_rows_of_others(rows_of_others);
  begin_step(now_s);
}

double Instance::settle(double now_s) {
  const double next_s = steps_.is_running() ? end_of_step(now_s) : idle_until_s(now_s);
  clear_up(now_s);
  return std::min(next_s, steps_.next_landing_s());
}

Instance::Plan Instance::plan_step(double now_s) {
  if (saves_.gpu_waits_until_s() > now_s + 1e-9 || admissions_.is_blocking() || steps_.is_full()) {
    return Plan::blocked;
  }
  admissions_.begin_planning();
  bool has_work = steps_.plan();
  while (!has_work && !steps_.has_batches() && admissions_.pass_round()) {
    take_restored(now_s);
    drop_leaving(now_s);
    has_work = steps_.plan();
  }
  // A load that has just started may block all requests.
  if (admissions_.is_blocking()) {
    steps_.withdraw();
    return Plan::blocked;
  }
  return has_work ? Plan::step : Plan::nothing;
}

void Instance::begin_step(double now_s) {
  steps_.begin(now_s);
  handovers_.begin_step(steps_);
}

double Instance::end_of_step(double now_s) {
  return steps_.end_s(now_s, steps_.in_long_run() ? next_event_s() : std::numeric_limits<double>::infinity());
}

double Instance::idle_until_s(double now_s) const {
  if (saves_.gpu_waits_until_s() > now_s + 1e-9) return std::min(saves_.gpu_waits_until_s(), next_event_s());
  return next_event_s();
}

// Processes the events since the last step.
void Instance::look_around(double now_s) {
  newcomer_s_ = std::numeric_limits<double>::infinity();
  admissions_.begin_round();
  join(now_s);
  take_restored(now_s);
  drop_leaving(now_s);
  handovers_.end_leases(now_s);
  if (keeping_.expires) parts_.store->expire(now_s);
  if (parts_.check_invariants) check(now_s);
}

// Does the work that follows the start of a step.
void Instance::clear_up(double now_s) {
  saves_.perform(cache_.save_evicted(now_s));
  saves_.perform(forecast_.look_ahead(scheduler_.admitted(), now_s));
  if (parts_.check_invariants) check(now_s);
  record_levels(now_s);
}

// True iff an arrival may change the next step. An arrival behind a blocked queue cannot change it until
// memory is freed, unless arrivals are prefetched, the queue is limited, or an arrival may overtake others.
bool Instance::heeds_newcomers() const {
  return scheduler_.waiting().empty() || admissions_.may_be_passed() || keeping_.look_ahead ||
         keeping_.prefetches_arrivals() || serving_.most_turns() ||
         serving_.scheduling_policy == SchedulingPolicy::priority;
}

double Instance::next_event_s() const {
  double next_s =
      std::min({newcomer_s_, admissions_.next_event_s(), deadlines_.next_s(), handovers_.next_lease_end_s()});
  if (heeds_newcomers()) next_s = std::min(next_s, api_server_.next_s());
  if (!parts_.sees_arrivals) return next_s;
  if (heeds_newcomers()) next_s = std::min(next_s, arrivals_.next_s() + serving_.request_overhead_s);
  return std::min(next_s, arrivals_.next_deadline_s());
}

// ---- arrival ----

void Instance::take(const Arrival& arrival) {
  const double now_s = parts_.node->now_s();
  if (heeds_newcomers()) newcomer_s_ = now_s + serving_.request_overhead_s;
  const int64_t before = turns();
  arrive(arrival);
  // An instance that reads arrivals itself may notice them late: if the queue is blocked, or if the turn
  // follows an answer that a restoration completed during a step. The arrival is recorded at its own time,
  // but never before the last recorded levels.
  const double seen_s =
      parts_.sees_arrivals ? std::clamp(arrival.time_s, recorded_s_, std::max(recorded_s_, now_s)) : now_s;
  recorded_waiting_ += turns() - before;
  record_level(Level::waiting, static_cast<double>(recorded_waiting_), seen_s);
}

void Instance::take_over(const Arrival& arrival, const std::shared_ptr<Handover>& handover) {
  const double now_s = parts_.node->now_s();
  if (heeds_newcomers()) newcomer_s_ = now_s + serving_.request_overhead_s;
  RequestPtr request = request_of(arrival, nullptr);
  ++arrived_;
  request->chain = cache_.chain_of(request->text);
  request->named = serving_.prefix_caching;
  request->handover = handover;
  add(std::move(request), now_s);
  record_level(Level::waiting, static_cast<double>(++recorded_waiting_), now_s);
}

RequestPtr Instance::request_of(const Arrival& arrival, std::vector<Cut>* cuts) const {
  auto request = std::make_unique<Request>();
  request->arrival = arrival;
  request->text = parts_.sessions->open(arrival, cuts);
  request->record = parts_.sessions->record_of(arrival, request->text);
  request->record.node = static_cast<uint16_t>(parts_.number);
  request->history_tokens = request->text.history_tokens;
  request->input_tokens = request->text.input_tokens;
  request->output_tokens = request->record.output_tokens;
  request->number = place_in_queue(serving_, *parts_.workload, arrival);
  return request;
}

void Instance::arrive(const Arrival& arrival) {
  std::vector<Cut> cuts;
  RequestPtr request = request_of(arrival, &cuts);
  cut_fronts(arrival, cuts);
  ++arrived_;
  if (!fits_at_all(*request) || !may_wait()) return refuse(*request);
  request->chain = cache_.chain_of(request->text);
  request->named = serving_.prefix_caching;
  if (parts_.handover) handovers_.open(*request);
  forecast_.joins(request->text.prompt, request->number);
  if (keeping_.prefetches_arrivals()) {
    const auto tokens = static_cast<double>(request->prompt_tokens());
    const double timeout_s = keeping_.prefetch_timeout_s + tokens * keeping_.prefetch_timeout_s_per_token;
    request->waits_until_s = arrival.time_s + std::min(timeout_s, keeping_.prefetch_timeout_max_s);
    saves_.perform(cache_.prefetch(*request, parts_.node->now_s()));
  }
  add(std::move(request), arrival.time_s);
}

void Instance::add(RequestPtr request, double from_s) {
  deadlines_.add(*request);
  api_server_.add(std::move(request), from_s);
}

void Instance::join(double now_s) {
  while (api_server_.next_s() <= now_s + kTimeResolution_s) scheduler_.add(api_server_.pop());
}

void Instance::take_restored(double now_s) {
  while (Request* restored = admissions_.take_restored(now_s)) {
    Request& request = *restored;
    if (!request.fused) {
      scheduler_.loaded(request);
      continue;
    }
    scheduler_.computed_beside(request);
    token(request, request.restored_s, true);
    saves_.save_progress(request);
    if (Scheduler::ended(request)) complete(request, request.restored_s);
  }
}

// Removes the fronts of stored contexts whose histories were truncated; only their ends stay usable.
void Instance::cut_fronts(const Arrival& arrival, const std::vector<Cut>& cuts) {
  for (const Cut& cut : cuts) {
    if (parts_.fleet.lost_its_front) parts_.fleet.lost_its_front(cut.key);
    cache_.cut(cut, arrival.moved);
  }
}

bool Instance::fits_at_all(const Request& request) const {
  const int64_t tokens = request.history_tokens + request.input_tokens + request.output_tokens;
  if (tokens > engine_.max_model_len) return false;
  if (!parts_.handover) return fits(tokens);
  return fits(tokens - request.output_tokens + 1) && parts_.fleet.fits_decoder(tokens);
}

bool Instance::fits(int64_t tokens) const {
  return scheduler_.blocks_needed(scheduler_.most_slots(tokens)) <= cache_.pool().total();
}

// True iff the batch or the queue has room for another turn.
bool Instance::may_wait() const {
  const std::optional<int64_t> most = serving_.most_turns();
  return !most || turns() < *most;
}

// Refuses the turn. This ends its session, so the session's later turns never arrive.
void Instance::refuse(Request& request) {
  request.record.rejected = true;
  const uint32_t unborn = parts_.sessions->end_unanswered(request.arrival, request.record,
                                                          request.arrival.time_s, *parts_.recorder);
  arrived_ += unborn;
  refused_ += 1 + unborn;
  if (parts_.finished_turns) *parts_.finished_turns += 1 + unborn;
  if (parts_.fleet.ended) parts_.fleet.ended(request.arrival);
}

// ---- failure ----

std::vector<Arrival> Instance::fail(double now_s) {
  steps_.fail(now_s);
  admissions_.fail(now_s);
  std::vector<Arrival> lost;
  // A turn whose prompt is not computed yet stays on its prefill node.
  const auto lose = [&](const Request& request) {
    const bool waits_for_prompt = handovers_.is_receiver(request);
    if (!waits_for_prompt || request.handover->is_ended()) lost.push_back(request.arrival);
    if (waits_for_prompt) request.handover->receiver_failed();
  };
  for (const auto* list : {&scheduler_.running(), &scheduler_.loading()}) {
    for (const RequestPtr& request : *list) {
      cache_.release(*request);
      lose(*request);
    }
  }
  for (const RequestPtr& request : scheduler_.waiting()) {
    if (request->restored) cache_.release(*request);
    lose(*request);
  }
  for (const RequestPtr& request : api_server_.requests()) lose(*request);
  std::erase_if(lost, [&](const Arrival& arrival) {
    if (!arrival.is_given_up(now_s)) return false;
    parts_.recorder->dropped(now_s - arrival.time_s);
    return true;
  });
  std::sort(lost.begin(), lost.end(), [](const Arrival& a, const Arrival& b) { return a.number < b.number; });
  return lost;
}

std::vector<Arrival> Instance::lose_prompts_of(std::size_t node, double now_s) {
  std::vector<Arrival> lost;
  bool any = false;
  const auto lose = [&](Request& request) {
    if (!handovers_.is_receiver(request) || request.handover->sender() != node) return;
    request.handover->sender_failed();
    if (!request.handover->has_failed() || request.given_up) return;
    request.is_lost = any = true;
    deadlines_.remove(request);
    leaving_.push_back(&request);
    if (request.handover->is_ended()) lost.push_back(request.arrival);
  };
  for (const RequestPtr& request : scheduler_.loading()) lose(*request);
  for (const RequestPtr& request : scheduler_.waiting()) lose(*request);
  for (const RequestPtr& request : api_server_.requests()) lose(*request);
  if (!any) return lost;
  newcomer_s_ = now_s;  // ends the running steps
  parts_.wake();
  return lost;
}

// ---- bookkeeping ----

void Instance::record_level(Level which, double value, double now_s) {
  parts_.recorder->level(which, value, now_s, parts_.number);
}

// Converts a number of blocks to tokens; with several layer groups, by their share of the pool's capacity.
double Instance::tokens_of(int64_t blocks) const {
  const KvPool& pool = cache_.pool();
  if (engine_.kv_layout->is_plain()) {
    return static_cast<double>(blocks) * static_cast<double>(pool.unit_tokens());
  }
  return static_cast<double>(blocks) / static_cast<double>(pool.total()) *
         static_cast<double>(engine_.kv_capacity_tokens);
}

double Instance::held_tokens() const { return tokens_of(cache_.pool().held()); }

EngineFacts Instance::facts() const {
  EngineFacts facts{.waiting = waiting()};
  facts.held_share = held_share();
  facts.held_tokens = std::llround(held_tokens());
  const auto add = [&facts](const Request& request) {
    // Prompt tokens that remain to be computed, without those that are being loaded or that another node
    // computes.
    int64_t left = 0;
    if (!request.handover) {
      left =
          request.phase == RequestPhase::running
              ? request.prompt_end - request.computed
              : request.known_tokens() -
                    std::max<int64_t>(request.computed,
                                      request.phase == RequestPhase::loading ? request.record.hit_tokens : 0);
    }
    if (left > 0) {
      facts.prefill_tokens += left;
    } else {
      facts.decode_tokens += request.known_tokens();
    }
  };
  for (const RequestPtr& request : api_server_.requests()) add(*request);
  for (const RequestPtr& request : scheduler_.waiting()) add(*request);
  for (const RequestPtr& request : scheduler_.loading()) add(*request);
  for (const RequestPtr& request : scheduler_.running()) add(*request);
  return facts;
}

void Instance::record_levels(double now_s) {
  recorded_s_ = now_s;
  recorded_waiting_ = waiting();
  record_level(Level::waiting, static_cast<double>(recorded_waiting_), now_s);
  record_level(Level::running, static_cast<double>(turns() - waiting()), now_s);
  record_level(Level::kv_tokens, held_tokens(), now_s);
  for (Tier tier : kTiers) {
    const Store& store = *parts_.store;
    if (store.has(tier, Reach::own)) record_level(stored_in(tier), store.occupied_bytes(tier), now_s);
  }
}

}  // namespace kvcap
