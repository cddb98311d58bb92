#include "engine/admissions.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace kvcap {

// Returns how many rounds (admissions.h) pass between the end of a load and its report to the scheduler. The
// worker polls for finished loads while it launches a step and reports them together with the step's result.
// With asynchronous scheduling, the scheduler has already planned another step by then, so the report counts
// one round later.
static int64_t report_steps(const ServingOptions& serving, const KeepingOptions& keeping) {
  if (!keeping.polled_loads) return 0;
  return serving.async_scheduling ? 2 : 1;
}

Admissions::Admissions(const AdmissionParts& engine)
    : parts_(engine.parts),
      engine_(*parts_.engine),
      serving_(*engine_.serving),
      keeping_(*engine_.keeping),
      api_server_(engine.api_server),
      scheduler_(engine.scheduler),
      cache_(engine.cache),
      forecast_(engine.forecast),
      steps_(engine.steps),
      saves_(engine.saves),
      handovers_(engine.handovers),
      report_steps_(report_steps(serving_, keeping_)) {}

// ---- admission ----

Admitted Admissions::admit(Request& request, const Fits& fits) {
  if (forecast_.fetches(request.text.prompt)) {
    waits_for_fetch_ = true;
    return {Outcome::waits};
  }
  if (waits_for_index(request) || waits_for_prefetch(request)) return pass();
  const FoundContext found = cache_.find(request);
  if (handovers_.receives(request)) {
    if (!fits({found.blocks, request.prompt_tokens()})) return {Outcome::waits};
    return receive(request, found);
  }
  request.free_tokens = found.parts.on_gpu();
  request.named = serving_.prefix_caching && request.free_tokens == 0;
  const bool asks = engine_.policy->traits().restores_resident && request.free_tokens > 0;
  const bool restores = found.parts.below() > 0 || asks;
  // Another request is already loading these blocks; this request waits and will then hit them.
  if (restores && request.named && cache_.is_loading(found.parts)) return pass();
  const int64_t resident = found.resident + request.free_tokens;
  if (!fits({found.blocks, restores ? resident + found.parts.below() : 0})) return {Outcome::waits};
  const bool first = request.admitted_s < 0;
  if (first) record_hits(request, found.parts, resident);
  const double now_s = parts_.node->now_s();
  cache_.use(request, now_s);
  forecast_.served(request.number);
  if (restores) return restore(request, found, first);
  count_reuse(request, resident, {});
  return {Outcome::runs, found.resident, resident};
}

void Admissions::record_hits(Request& request, const FoundParts& found, int64_t resident) const {
  request.admitted_s = request.looked_up_s >= 0 ? request.looked_up_s : parts_.node->now_s();
  TurnRecord& record = request.record;
  record.hit_tokens = static_cast<uint32_t>(resident + found.below());
  for (Tier tier : kTiers) {
    const int64_t tokens = tier == Tier::hbm ? resident : found.tokens[index(tier)];
    record.tier_hit_tokens[index(tier)] = static_cast<uint32_t>(tokens);
  }
  record.tier_used_tokens = record.tier_hit_tokens;
  if (record.hit_tokens > record.history_tokens) {
    record.input_tokens -= record.hit_tokens - record.history_tokens;
    record.history_tokens = record.hit_tokens;
  }
  cache_.weigh(request);
  handovers_.admitted(request);
}

// Receives the prompt's KV from a prefill node. Takes blocks for the whole prompt; this node computes the
// prompt's last token once the KV of all other tokens has arrived.
Admitted Admissions::receive(Request& request, const FoundContext& found) {
  cache_.use(request, parts_.node->now_s());
  handovers_.receive(request, found.resident, [this, &request] {
    const double now_s = parts_.node->now_s();
    push({.time_s = now_s, .request = &request, .times = {.loaded_s = now_s, .restored_s = now_s}});
  });
  return {Outcome::loads, found.resident, request.prompt_tokens() - 1, request.prompt_tokens()};
}

void Admissions::preempted(Request& request) {
  cache_.release(request);
  parts_.recorder->preempted();
  forecast_.comes_back(request.text.prompt, request.number);
  request.lookup_round = -1;
  request.prefetched = false;
}

// ---- waiting ----

// Makes the request wait; requests behind it may overtake it.
Admitted Admissions::pass() {
  may_be_passed_ = true;
  return {Outcome::passes};
}

// Returns whether the request waits for its lookup in a remote tier's index. The first call starts the
// lookup.
bool Admissions::waits_for_index(Request& request) {
  if (keeping_.lookup_s <= 0) return false;
  const double now_s = parts_.node->now_s();
  if (request.looked_up_s < 0) {
    request.looked_up_s = now_s;
    request.record.lookup_s = static_cast<float>(keeping_.lookup_s);
  }
  const double answered_s = request.looked_up_s + keeping_.lookup_s;
  if (now_s >= answered_s - kTimeResolution_s) return false;
  retry_s_ = std::min(retry_s_, answered_s);
  return true;
}

// Returns whether the request waits for a prefetch into the first host tier. If not, its prefetch no longer
// counts toward the prefetch capacity.
bool Admissions::waits_for_prefetch(Request& request) {
  const bool waits = is_prefetching(request);
  if (!waits) cache_.end_prefetch(request);
  return waits;
}

bool Admissions::is_prefetching(Request& request) {
  const PrefetchOnArrival how = keeping_.prefetch_on_arrival;
  if (how == PrefetchOnArrival::none || how == PrefetchOnArrival::best_effort) return false;
  if (how == PrefetchOnArrival::at_lookup) return waits_for_lookup(request);
  const bool may_give_up = how == PrefetchOnArrival::timeout;
  if (may_give_up && parts_.node->now_s() >= request.waits_until_s - kTimeResolution_s) return false;
  const bool fetches = cache_.prefetches(request);
  if (fetches && may_give_up) retry_s_ = std::min(retry_s_, request.waits_until_s);
  return fetches;
}

// Returns whether the request waits for a lookup in the tiers beyond DRAM, whose result is available in the
// next round, or for the prefetch of that lookup's hits.
bool Admissions::waits_for_lookup(Request& request) {
  if (!request.prefetched) {
    if (!cache_.lies_farther(request)) return false;
    if (request.lookup_round < 0) request.lookup_round = lookup_round_ = rounds_;
    if (request.lookup_round == rounds_) return true;
    request.prefetched = true;
    saves_.perform(cache_.prefetch(request, parts_.node->now_s()));
  }
  return cache_.prefetches(request);
}

bool Admissions::pass_round() {
  if (next_round() == std::numeric_limits<int64_t>::max()) return false;
  ++rounds_;
  return true;
}

int64_t Admissions::next_round() const {
  if (lookup_round_ == rounds_) return 1;
  return unreported_.empty() ? std::numeric_limits<int64_t>::max() : unreported_.front().reported - rounds_;
}

void Admissions::fetched() {
  if (!keeping_.look_ahead && keeping_.prefetch_on_arrival == PrefetchOnArrival::none) return;
  const auto& queue = scheduler_.waiting();
  const bool serves = may_be_passed_ ||
                      (waits_for_fetch_ && !queue.empty() && !forecast_.fetches(queue.front()->text.prompt));
  if (serves) retry_s_ = std::min(retry_s_, parts_.node->now_s());
  if (serves || !steps_.is_running()) steps_.wake();
}

void Admissions::blocks_freed(bool in_run) {
  if (!in_run && (steps_.is_running() || !scheduler_.lacks_blocks())) return;
  retry_s_ = std::min(retry_s_, parts_.node->now_s());
  parts_.wake();
}

double Admissions::next_event_s() const {
  return restored_.empty() ? retry_s_ : std::min(retry_s_, restored_.front().time_s);
}

// ---- restorations ----

// Returns how many leading tokens of a prompt certainly follow the same text as when their KV was computed.
// With prefix or session matching these are all tokens. With chunk matching they are the session's own
// history or, if there is none, the first text: other chunks may have been computed after different texts.
static int64_t unmoved_tokens(const TurnText& text, Match match) {
  if (match != Match::chunk) return std::numeric_limits<int64_t>::max();
  const std::size_t runs = text.was_cut ? 0 : text.history_runs;
  int64_t tokens = 0;
  for (std::size_t i = 0; i < std::min(std::max<std::size_t>(runs, 1), text.runs.size()); ++i)
    tokens += text.runs[i].tokens;
  return tokens;
}

Context Admissions::context_of(const Request& request, const FoundParts& found, int64_t resident) {
  const int64_t unmoved = parts_.workload->contexts_lead ? unmoved_tokens(request.text, keeping_.match) : 0;
  Context context{
      .history_tokens = std::max(request.history_tokens, resident + found.below()),
      .new_tokens = 0,
      .resident_tokens = resident,
      .leading_tokens = found.leading_tokens(request.text.prompt, resident, unmoved),
      .turn = parts_.workload->sessions[request.arrival.session].first_turn + request.arrival.turn};
  context.new_tokens = request.known_tokens() - context.history_tokens;
  if (found.on_gpu() == 0) {
    // All prefix-cached tokens of the context are used.
    const auto cached = static_cast<double>(resident);
    context.use[index(Tier::hbm)] = {.tokens = cached, .important_tokens = cached, .touched_tokens = cached};
  }
  auto part = request.text.prompt.begin();
  for (const Hit& hit : found.hits) {
    while (part->key != hit.key) ++part;
    if (hit.tokens == 0) continue;
    context.use[index(hit.tier)] += engine_.policy->use({part->node_tokens, part->first_token, hit.tokens});
  }
  if (engine_.policy->traits().heeds_engine) context.engine = engine_load(request);
  if (serving_.schedule == StepOrder::prefill_first) context.may_compute_beside = !computes_prompts();
  return context;
}

Admitted Admissions::restore(Request& request, const FoundContext& context, bool first) {
  const FoundParts& found = context.parts;
  const int64_t resident = context.resident + request.free_tokens;
  const std::vector<Hit> hits = found.by_tier();
  Restoration restoration =
      engine_.policy->restore(context_of(request, found, resident), hits, parts_.restorer->current_rates());
  request.fused = restoration.fused;
  if (parts_.check_invariants) cache_.check_found(found);
  if (restoration.empty()) {
    count_reuse(request, resident, restoration);
    return {Outcome::runs, context.resident, resident};
  }
  saves_.defer(cache_.promote(found, parts_.node->now_s()), request);
  leave_out(request, restoration, first);
  if (!keeping_.exact) request.named = false;
  const int64_t tokens = resident + found.below();
  count_reuse(request, tokens, restoration);
  record_reads(hits, restoration, first);
  cache_.load(request, found);
  const int64_t restored = tokens - request.unused_tokens;
  start(request, std::move(restoration), restored, first);
  const int64_t there = request.fused ? request.known_tokens() : restored;
  return {request.fused ? Outcome::computes_beside : Outcome::loads, context.resident, there, there};
}

// Starts the restoration. `tokens`: how many tokens of the context are on the GPU when it has ended.
void Admissions::start(Request& request, Restoration restoration, int64_t tokens, bool first) {
  const double now_s = parts_.node->now_s();
  const bool blocks = keeping_.load == LoadMode::blocking && !request.fused;
  if (blocks) ++blocking_loads_;
  double host = 0;
  if (request.fused) host = add_token(request, restoration, tokens);
  parts_.restorer->start(std::move(restoration), [this, &request, now_s, first, blocks,
                                                  host](RestoreTimes times) {
    const RestoreTimes on_gpu = times;
    times.restored_s += host;
    if (blocks) {
      times.loaded_s = std::max(times.loaded_s, now_s + keeping_.load_enqueue_s);
      times.restored_s = std::max(times.restored_s, times.loaded_s);
    }
    request.restored_s = times.restored_s;
    if (first) {
      // Fused computation is the prefill of the new tokens, so it is not part of the restoration.
      request.record.restore_s =
          static_cast<float>((request.fused ? times.loaded_s : times.restored_s) - now_s);
      request.record.load_s = static_cast<float>(times.loaded_s - now_s);
      if (!request.fused) {
        request.record.restore_compute_s = static_cast<float>(times.restored_s - times.loaded_s);
      }
    }
    push(
        {.time_s = times.restored_s, .request = &request, .blocks = blocks, .times = on_gpu, .first = first});
  });
}

// A fused restoration also yields a token, so it is followed by drafting and, without asynchronous
// scheduling, by host time. Adds the drafter's GPU work to the restoration and returns the seconds that do
// not use the GPU.
double Admissions::add_token(const Request& request, Restoration& restoration, int64_t cached) const {
  const StepTime& time = *engine_.step_time;
  if (engine_.speculation) {
    const PrefillChunk prompt{request.known_tokens() - cached, cached};
    restoration.work.push_back(
        {.layers = 1, .form = LayerForm::head, .compute_s = time.drafter_s({&prompt, 1}, {})});
  }
  // The request itself is still in the queue.
  const double host_s = serving_.async_scheduling ? 0 : time.host_s(1, scheduler_.waiting().size() - 1);
  return time.draft_step_s() + host_s;
}

void Admissions::record_reads(const std::vector<Hit>& hits, const Restoration& restoration,
                              bool first) const {
  const double now_s = parts_.node->now_s();
  const PerTier bytes = restoration.total_bytes();
  for (const Hit& hit : hits) {
    double requests = 0;
    for (const LayerWork& work : restoration.work) {
      requests += static_cast<double>(work.layers) * work.load_requests[index(hit.tier)];
    }
    if (first) {
      parts_.recorder->read(hit.tier, bytes[index(hit.tier)], requests, now_s);
    } else {
      parts_.recorder->reloaded(hit.tier, hit.tokens, bytes[index(hit.tier)], requests, now_s);
    }
  }
}

// True iff a running request still computes its prompt, or a loading or restored request will.
bool Admissions::computes_prompts() const {
  if (scheduler_.restored_waiting() > 0 || !scheduler_.loading().empty()) return true;
  const auto& running = scheduler_.running();
  return std::any_of(running.begin(), running.end(),
                     [](const RequestPtr& request) { return request->computed < request->prompt_end; });
}

// Returns the load of the engine, not counting the waiting request `but`.
EngineLoad Admissions::engine_load(const Request& but) {
  scheduler_.outlook(outlook_);
  const auto prefilling = static_cast<int64_t>(outlook_.slices.size()) - outlook_.decoding;
  EngineLoad load{
      .decode_rows = outlook_.decoding,
      .waiting_turns = static_cast<int64_t>(scheduler_.waiting().size() - 1 + scheduler_.loading().size() +
                                            api_server_.requests().size()) -
                       scheduler_.restored_waiting() + prefilling};
  // Turns that have just arrived may be admitted together with this one.
  const double now_s = parts_.node->now_s();
  const auto& queue = scheduler_.waiting();
  for (auto last = queue.rbegin(); last != queue.rend(); ++last) {
    if (last->get() == &but) continue;
    if ((*last)->arrival.time_s < now_s - kTimeResolution_s) break;
    --load.waiting_turns;
  }
  load.waiting_turns = std::max<int64_t>(0, load.waiting_turns);
  if (load.decode_rows > 0) load.decode_step_s = steps_.decode_step_s(outlook_);
  load.next_rows = 0;
  for (const Slice& slice : outlook_.slices) load.next_rows += slice.tokens;
  load.next_step_s = load.decode_step_s;
  if (!outlook_.decodes_only()) load.next_step_s = steps_.plan_s(outlook_);
  return load;
}

// Records the GPU time that the reuse of `tokens` tokens saves, and the GPU time that their restoration
// takes.
void Admissions::count_reuse(const Request& request, int64_t tokens, const Restoration& restoration) const {
  if (tokens == 0) return;
  const CostModel& cost = *engine_.cost;
  const auto layers = static_cast<double>(cost.model().num_hidden_layers);
  double compute_s = restoration.total_compute_s();
  if (restoration.fused) {
    const int64_t cached = tokens - request.unused_tokens;
    compute_s -= layers * cost.prefill_layer_s({request.known_tokens() - cached, cached}) + cost.head_s(1);
  }
  parts_.recorder->reused(layers * cost.prefill_layer_s({tokens, 0}), compute_s, restoration.fused);
}

// Subtracts the tokens that the restoration does not use from the request's tokens; they need no blocks.
void Admissions::leave_out(Request& request, const Restoration& restoration, bool first) const {
  for (Tier tier : kTiers) {
    const int64_t unused = restoration.unused_tokens[index(tier)];
    request.unused_tokens += unused;
    if (tier == Tier::hbm) request.free_tokens -= std::min(unused, request.free_tokens);
    if (first) request.record.tier_used_tokens[index(tier)] -= static_cast<uint32_t>(unused);
  }
}

// ---- ends of restorations ----

void Admissions::push(Restored restored) {
  restored.order = restorations_++;
  restored_.push_back(restored);
  std::push_heap(restored_.begin(), restored_.end());
  steps_.wake();
}

// The end of a load is reported in a later round unless the load blocks the whole engine or is fused with the
// prefill.
Request* Admissions::take_restored(double now_s) {
  while (!restored_.empty() && restored_.front().time_s <= now_s + kTimeResolution_s) {
    std::pop_heap(restored_.begin(), restored_.end());
    Restored restored = restored_.back();
    restored_.pop_back();
    if (report_steps_ == 0 || restored.blocks || restored.request->fused) return end(restored);
    restored.reported = rounds_ + report_steps_;
    unreported_.push_back(restored);
  }
  if (unreported_.empty() || unreported_.front().reported > rounds_) return nullptr;
  const Restored reported = unreported_.front();
  unreported_.pop_front();
  if (reported.first) reported.request->record.load_s += static_cast<float>(now_s - reported.time_s);
  return end(reported);
}

Request* Admissions::end(const Restored& restored) {
  Request& request = *restored.request;
  record_computed(restored.times, restored.times.restored_s);
  cache_.loaded(request);
  saves_.perform_deferred(request);
  if (restored.blocks) --blocking_loads_;
  if (handovers_.is_receiver(request)) request.handover = nullptr;
  return &request;
}

void Admissions::fail(double now_s) const {
  for (const Restored& restored : restored_) record_computed(restored.times, now_s);
  for (const Restored& restored : unreported_) record_computed(restored.times, now_s);
}

// Records the GPU time that the restoration has used by `until_s`.
void Admissions::record_computed(const RestoreTimes& times, double until_s) const {
  const double from_s = times.computes_from_s, all_s = times.restored_s - from_s;
  const double end_s = std::clamp(until_s, from_s, times.restored_s);
  const double busy_s = all_s > 0 ? times.compute_s * (end_s - from_s) / all_s : times.compute_s;
  if (busy_s > 0) parts_.recorder->busy(Resource::gpu, busy_s, from_s, end_s, parts_.number);
}

}  // namespace kvcap
