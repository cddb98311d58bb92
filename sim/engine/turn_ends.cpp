// Answers of an Instance and the ends of its turns: completed, handed over, or dropped because their clients
// gave up.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/instance.h"

namespace kvcap {

static int64_t sum_of_tokens(const std::vector<Part>& parts) {
  int64_t tokens = 0;
  for (const Part& part : parts) tokens += part.tokens;
  return tokens;
}

// ---- answers ----

// Records a token of the answer. after_prompt: the first token, or the first one after a recomputed prompt.
void Instance::token(Request& request, double now_s, bool after_prompt) {
  if (request.generated == 1) {
    if (parts_.fleet.begun) parts_.fleet.begun(request.arrival);
    if (parts_.fleet.stored) parts_.fleet.stored(request.text.prompt);
    request.record.ttft_s = now_s - request.record.arrival_s;
    request.record.service_ttft_s = now_s - request.admitted_s;
    if (request.handed_over_s >= 0) {
      request.record.first_step_s = static_cast<float>(now_s - request.handed_over_s);
    }
    if (parts_.sessions->has_pieces) {
      forecast_.record_next_uses(request.arrival, request.text.prompt, now_s);
      const bool saved_by_step =
          keeping_.save_at == SaveAt::step && engine_.policy->traits().reuse == Reuse::stored;
      if (!saved_by_step) saves_.save(cache_.keep(request.text.prompt, request, now_s), request);
    }
  } else if (after_prompt && !request.record.warmup) {
    parts_.recorder->inter_token(now_s - request.last_token_s, 1);
  }
  request.last_token_s = now_s;
}

void Instance::complete(Request& request, double now_s) {
  if (request.arrival.is_given_up(parts_.node->now_s())) return;  // it is dropped before the next step
  if (parts_.handover) return hand_over(request);
  deadlines_.remove(request);
  request.record.e2el_s = now_s - request.record.arrival_s;
  parts_.recorder->turn(request.record);
  release(request);
  std::vector<Cut> cuts;
  const std::vector<Part> parts = parts_.sessions->close(request.arrival, request.text, &cuts);
  cut_fronts(request.arrival, cuts);
  if (parts_.fleet.stored) parts_.fleet.stored(parts);
  int64_t left = sum_of_tokens(parts);
  // Without its own text the session leaves only the answer's pieces; the prompt's pieces are counted here.
  if (!parts_.sessions->stores_own_text(request.arrival.session)) left += sum_of_tokens(request.text.prompt);
  forecast_.left(left);
  forecast_.record_next_uses(request.arrival, parts, now_s);
  if (keeping_.save_at == SaveAt::step) {
    // The steps that filled these blocks have already saved them.
    for (const Part& part : parts) parts_.sessions->seen.insert(part.key);
  } else {
    saves_.save(cache_.keep(parts, request, now_s), request);
  }
  saves_.keep_blocks(request);
  const RequestPtr gone = scheduler_.remove(request);
  arrivals_.answered(gone->arrival, now_s);
  ++completed_;
  if (parts_.finished_turns) ++*parts_.finished_turns;
  if (parts_.fleet.ended) parts_.fleet.ended(gone->arrival);
}

// Releases the parts that an ending request pins in the tiers. A request that waits, e.g. because it was
// preempted during its last step, pins none.
void Instance::release(const Request& request) {
  const bool is_admitted = request.phase == RequestPhase::running || request.restored;
  is_admitted ? cache_.release(request) : forecast_.served(request.number);
}

// Hands the request over. Its blocks are kept until their last byte has been sent and their saves have ended.
void Instance::hand_over(Request& request) {
  const double now_s = parts_.node->now_s();
  if (request.phase != RequestPhase::running) {
    // The request was preempted during its last step: it waits and computes its prompt again.
    request.generated = 0;
    return;
  }
  deadlines_.remove(request);
  cache_.release(request);
  const std::vector<Part> parts = cache_.prompt_parts(request);
  forecast_.left(sum_of_tokens(parts));
  forecast_.record_next_uses(request.arrival, parts, now_s);
  if (keeping_.save_at != SaveAt::step) saves_.save(cache_.keep(parts, request, now_s), request);
  std::function<void()> release = saves_.keep_blocks_until_called(request);
  const RequestPtr gone = scheduler_.remove(request);
  ++completed_;
  if (parts_.fleet.ended) parts_.fleet.ended(gone->arrival);
  if (gone->handover->has_failed()) parts_.fleet.lost(gone->arrival);
  handovers_.hand_over(*gone, std::move(release));
}

// ---- clients that have given up ----

// An engine learns of an abandoned request between two steps and drops it before it plans the next one,
// whether the request is in the API server, in the queue or running (vLLM's EngineCore takes abort_requests
// from its input queue between steps). Work on it that is under way ends first: a step planned ahead, a load,
// KV from another node. Its blocks are released as after a normal end: named blocks stay cached, and no more
// saves start. The tokenizer still processes its prompt.
void Instance::drop_leaving(double now_s) {
  while (Request* request = deadlines_.take(now_s)) {
    request->given_up = true;
    leaving_.push_back(request);
  }
  const auto stays = [this](const Request* request) { return !may_leave(*request); };
  const auto gone = std::stable_partition(leaving_.begin(), leaving_.end(), stays);
  for (auto request = gone; request != leaving_.end(); ++request) drop(**request, now_s);
  leaving_.erase(gone, leaving_.end());
}

void Instance::note_abandoned(Request& request, double now_s) {
  // The token that a prefill node samples is not sent to the client.
  parts_.recorder->wasted(prompt_tokens_computed(request), parts_.handover ? 0 : request.generated);
  parts_.recorder->dropped(now_s - request.arrival.time_s);
}

void Instance::drop(Request& request, double now_s) {
  if (!request.is_lost) note_abandoned(request, now_s);
  release(request);
  cache_.end_prefetch(request);
  if (request.handover) request.handover->abandon();
  saves_.keep_blocks(request);
  RequestPtr gone = api_server_.remove(request);
  if (!gone) gone = scheduler_.remove(request);
  ++dropped_;
  if (parts_.fleet.ended) parts_.fleet.ended(gone->arrival);
}

// Returns the prompt tokens that were computed in vain; 0 if the request was preempted before its first
// token.
int64_t Instance::prompt_tokens_computed(Request& request) const {
  int64_t tokens = std::min(request.computed, request.prompt_tokens());
  if (request.generated > 0) tokens = request.prompt_tokens();
  if (handovers_.is_receiver(request)) {
    // If the prompt has not been handed over, the prefill node counts it.
    if (!request.handover->is_ended()) return 0;
    Handovers::take_record(request);
    tokens = request.prompt_tokens();
  }
  return std::max<int64_t>(0, tokens - request.record.hit_tokens);
}

}  // namespace kvcap
