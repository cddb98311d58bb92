#include "metrics/calls.h"

#include <algorithm>
#include <map>

namespace kvcap {
namespace {

double ended_s(const TurnRecord& call) { return call.arrival_s + call.e2el_s; }

TurnRecord merged(uint32_t session, std::span<const TurnRecord* const> calls,
                  std::span<const CallOfTurn> of_session) {
  const CallOfTurn& any = of_session[calls.front()->session];
  TurnRecord whole{.session = session, .output_tokens = any.output_tokens, .warmup = any.warmup};
  const TurnRecord* answer = nullptr;
  const TurnRecord* last = nullptr;  // of the calls that do not answer, the one that ends last
  double admitted_s = calls.front()->arrival_s + calls.front()->ttft_s;
  whole.arrival_s = calls.front()->arrival_s;
  for (const TurnRecord* call : calls) {
    whole.arrival_s = std::min(whole.arrival_s, call->arrival_s);
    whole.history_tokens += call->history_tokens;
    whole.input_tokens += call->input_tokens;
    whole.hit_tokens += call->hit_tokens;
    for (std::size_t t = 0; t < kTiers.size(); ++t) {
      whole.tier_hit_tokens[t] += call->tier_hit_tokens[t];
      whole.tier_used_tokens[t] += call->tier_used_tokens[t];
    }
    whole.abandoned = static_cast<uint16_t>(whole.abandoned + call->abandoned);
    whole.retries = static_cast<uint16_t>(whole.retries + call->retries);
    whole.cold = whole.cold && call->cold;
    whole.rejected = whole.rejected || call->rejected;
    whole.failed = whole.failed || call->failed;
    whole.truncated = whole.truncated || call->truncated;
    admitted_s = std::min(admitted_s, call->arrival_s + call->ttft_s - call->service_ttft_s);
    if (of_session[call->session].answers) {
      answer = call;
    } else if (!last || ended_s(*call) > ended_s(*last)) {
      last = call;
    }
  }
  whole.failed = whole.failed && !whole.rejected;
  whole.node = (answer ? answer : last)->node;
  const double end_s = ended_s(answer ? *answer : *last);
  const double first_token_s = answer ? answer->arrival_s + answer->ttft_s : end_s;
  whole.ttft_s = first_token_s - whole.arrival_s;
  whole.service_ttft_s = first_token_s - admitted_s;
  whole.e2el_s = end_s - whole.arrival_s;
  const TurnRecord& restored = last ? *last : *answer;
  whole.restore_s = restored.restore_s;
  whole.lookup_s = restored.lookup_s;
  whole.load_s = restored.load_s;
  whole.restore_compute_s = restored.restore_compute_s;
  whole.decode_queue_s = restored.decode_queue_s;
  whole.transfer_s = restored.transfer_s;
  whole.first_step_s = restored.first_step_s;
  whole.api_s = restored.api_s;
  return whole;
}

}  // namespace

std::vector<TurnRecord> merged_calls(const std::vector<TurnRecord>& records,
                                     std::span<const CallOfTurn> of_session) {
  std::map<uint32_t, std::vector<const TurnRecord*>> calls;
  for (const TurnRecord& record : records) calls[of_session[record.session].asked_session].push_back(&record);
  std::vector<TurnRecord> turns;
  turns.reserve(calls.size());
  for (const auto& [session, of_turn] : calls) turns.push_back(merged(session, of_turn, of_session));
  return turns;
}

}  // namespace kvcap
