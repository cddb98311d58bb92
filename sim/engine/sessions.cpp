#include "engine/sessions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace kvcap {
namespace {

constexpr Key kOwnTexts = 0x6f776e2074657874ULL;
constexpr uint32_t kNoSlot32 = std::numeric_limits<uint32_t>::max();

int64_t tokens_of(std::span<const SequenceRun> runs) {
  return std::accumulate(runs.begin(), runs.end(), int64_t{0},
                         [](int64_t sum, const SequenceRun& run) { return sum + run.tokens; });
}

uint64_t turn_key(const Arrival& arrival, uint32_t turn) {
  return (static_cast<uint64_t>(arrival.session) << 32) | turn;
}

// Pieces may have any key, so if there are pieces, sessions use derived keys that do not collide with them.
Key own_key(const Workload& workload, Key key) {
  return workload.piece_begin.empty() ? key : chained(kOwnTexts, key);
}

}  // namespace

Key context_text(const Workload& workload, uint32_t session) {
  return own_key(workload, workload.context_key(session));
}

Sessions::Sessions(const Workload& workload, const ServingOptions& serving, const KeepingOptions& keeping,
                   int64_t max_model_len)
    : arrivals(workload),
      has_pieces(!workload.piece_begin.empty()),
      workload_(workload),
      serving_(serving),
      keeping_(keeping),
      max_model_len_(max_model_len),
      slot_of_session_(workload.sessions.size(), kNoSlot32) {}

// Returns the key of the session's text `number`; 0 is its first text, which begins with its context.
Key Sessions::own_text(uint32_t session, uint32_t number) const {
  const Key first = own_key(workload_, session);
  return number == 0 ? first : chained(chained(kOwnTexts, first), number);
}

Sessions::Runs Sessions::context_of(uint32_t session) const {
  const int64_t tokens = workload_.sessions[session].context_tokens;
  if (tokens == 0) return {};
  const bool own = workload_.sessions[session].document == kOwnContext;
  return {{{context_text(workload_, session), 0, tokens}, own ? TextOwner::session : TextOwner::document}};
}

Sessions::Runs Sessions::history_of(const Arrival& arrival) const {
  const Session& session = workload_.sessions[arrival.session];
  const std::optional<uint32_t> parent = workload_.parent_of(session, arrival.turn);
  const uint32_t slot = slot_of_session_[arrival.session];
  if (!session.history_grows) return slot == kNoSlot32 ? context_of(arrival.session) : slots_[slot];
  if (!parent) return context_of(arrival.session);
  if (!workload_.parents.empty()) {
    const auto found = of_turns_.find(turn_key(arrival, *parent));
    KVCAP_CHECK(found != of_turns_.end());
    return found->second;
  }
  KVCAP_CHECK(slot != kNoSlot32);
  return slots_[slot];
}

// True iff the turn continues its parent's text: among turns with the same parent, only the first does.
bool Sessions::continues_text(const Arrival& arrival) const {
  const Session& session = workload_.sessions[arrival.session];
  if (!session.history_grows) return false;
  if (workload_.parents.empty()) return true;
  const std::optional<uint32_t> parent = workload_.parent_of(session, arrival.turn);
  for (uint32_t turn = 0; turn < arrival.turn; ++turn) {
    if (workload_.parent_of(session, turn) == parent) return false;
  }
  return true;
}

// Keeps the last `tokens` tokens of the sequence. A text that lost its front, or tokens before it, becomes
// another text, unless the stored state `stays_valid`.
void Sessions::cut(Runs& runs, int64_t tokens, uint32_t session, bool stays_valid,
                   std::vector<Cut>* cuts) const {
  int64_t gone = tokens_of(runs) - tokens;
  if (gone <= 0) return;
  Runs left;
  for (SequenceRun run : runs) {
    const int64_t here = std::min(gone, run.tokens);
    gone -= here;
    run.first += here;
    run.tokens -= here;
    const bool own = run.owner == TextOwner::session;
    if (own && cuts) cuts->push_back({run.text, stays_valid ? run.tokens : 0});
    // Other sessions still use the whole shared text.
    if (!own || !stays_valid) {
      const Key text = chained(chained(kOwnTexts, session), run.text);
      const Key own_key = chained(text, static_cast<Key>(run.first));
      run = {{own_key, 0, run.tokens, own_key}, TextOwner::session};
    }
    if (run.tokens > 0) left.push_back(run);
  }
  runs = std::move(left);
}

// Returns the tokens of a turn's history that remain if serving.overflow cuts it to fit max_model_len.
int64_t Sessions::kept_history(int64_t history, const Turn& turn) const {
  if (serving_.overflow != Overflow::truncate) return history;
  const int64_t window = max_model_len_ - turn.output_tokens;
  while (history > 0 && history + turn.input_tokens > window) history /= 2;
  return history;
}

int64_t Sessions::output_tokens(const Turn& turn, int64_t prompt_tokens, bool is_whole_prompt) const {
  const int64_t room = max_model_len_ - prompt_tokens;
  const bool is_cut = serving_.overflow == Overflow::truncate && is_whole_prompt && room > 0;
  return is_cut ? std::min<int64_t>(turn.output_tokens, room) : turn.output_tokens;
}

TurnText Sessions::open(const Arrival& arrival, std::vector<Cut>* cuts) const {
  const Session& session = workload_.sessions[arrival.session];
  const std::size_t number = session.first_turn + arrival.turn;
  const Turn& turn = workload_.turns[number];
  TurnText text;
  text.runs = history_of(arrival);
  int64_t history = tokens_of(text.runs);
  int64_t input = turn.input_tokens;
  const std::span<const Piece> pieces = workload_.pieces_of(number);
  if (serving_.overflow == Overflow::truncate && pieces.empty()) {
    const int64_t window = max_model_len_ - turn.output_tokens;
    const int64_t before = history;
    history = kept_history(history, turn);
    while (input > window && window > 0) input /= 2;
    text.was_cut = history < before;
    text.truncated = text.was_cut || input < turn.input_tokens;
    if (text.was_cut) cut(text.runs, history, arrival.session, keeping_.decoupled_positions, cuts);
  }
  text.output_tokens = output_tokens(turn, history + input, !pieces.empty());
  text.truncated = text.truncated || text.output_tokens < turn.output_tokens;
  text.history_runs = text.runs.size();
  const std::size_t in_prompt = workload_.prompt_pieces_of(number).size();
  int64_t reusable = history;
  int64_t rest = input + text.output_tokens;
  const bool is_cut = text.output_tokens < turn.output_tokens;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (is_cut && i >= in_prompt && pieces[i].tokens > rest) break;
    text.runs.push_back({{pieces[i].key, 0, pieces[i].tokens}, TextOwner::piece});
    rest -= pieces[i].tokens;
    if (i < in_prompt) reusable += pieces[i].tokens;
  }
  name_parts(text.runs, workload_.piece_keys, keeping_.match);
  text.prompt = parts_of(text.runs, keeping_.chunk_tokens);
  int64_t end = 0;
  const auto beyond = std::find_if(text.prompt.begin(), text.prompt.end(), [&](const Part& part) {
    end += part.tokens;
    return end > reusable;
  });
  text.answer.assign(beyond, text.prompt.end());
  text.prompt.erase(beyond, text.prompt.end());
  // The last token of a prompt is always computed because it yields the first token of the answer.
  text.history_tokens = std::min(reusable, history + input - 1);
  text.input_tokens = history + input - text.history_tokens;
  if (rest > 0) {
    const bool goes_on = !text.runs.empty() && text.runs.back().owner == TextOwner::session;
    if (goes_on && continues_text(arrival)) {
      text.runs.back().tokens += rest;
    } else {
      const bool is_first = arrival.turn == 0 && text.runs.empty();
      const Key key = own_text(arrival.session, is_first ? 0 : arrival.turn + 1);
      text.runs.push_back({{key, 0, rest, key}, TextOwner::session});
    }
  }
  const auto is_seen = [this](const Part& part) { return seen.contains(part.key); };
  text.cold = has_pieces ? std::ranges::none_of(text.prompt, is_seen) : arrival.turn == 0;
  return text;
}

std::vector<Part> Sessions::close(const Arrival& arrival, const TurnText& text, std::vector<Cut>* cuts) {
  const Session& session = workload_.sessions[arrival.session];
  if (!stores_own_text(arrival.session)) return text.answer;
  Runs runs = text.runs;
  if (!session.history_grows) runs.resize(text.history_runs);
  if (!has_pieces && keeping_.retained_share < 1) {
    const auto all = static_cast<double>(tokens_of(runs));
    cut(runs, std::llround(keeping_.retained_share * all), arrival.session, true, cuts);
  }
  std::vector<Part> parts = parts_of(runs, keeping_.chunk_tokens);
  // No turn continues the answer, but other turns may use its pieces.
  if (!session.history_grows) parts.insert(parts.end(), text.answer.begin(), text.answer.end());
  const bool changed = session.history_grows || text.was_cut || keeping_.retained_share < 1;
  if (changed && session.turn_count > 1) remember(arrival, std::move(runs));
  return parts;
}

void Sessions::remember(const Arrival& arrival, Runs runs) {
  if (!workload_.parents.empty() && workload_.sessions[arrival.session].history_grows) {
    of_turns_[turn_key(arrival, arrival.turn)] = std::move(runs);
    if (++closed_turns_[arrival.session] == workload_.sessions[arrival.session].turn_count) {
      const uint32_t turns = closed_turns_[arrival.session];
      for (uint32_t turn = 0; turn < turns; ++turn) of_turns_.erase(turn_key(arrival, turn));
      closed_turns_.erase(arrival.session);
    }
    return;
  }
  uint32_t& slot = slot_of_session_[arrival.session];
  if (arrival.turn + 1 == workload_.sessions[arrival.session].turn_count) return end(arrival.session);
  if (slot == kNoSlot32) {
    if (free_slots_.empty()) {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_slots_.back();
      free_slots_.pop_back();
    }
  }
  slots_[slot] = std::move(runs);
}

void Sessions::end(uint32_t session) {
  // If turns branch, turns of the session may still be in flight, and arrive again if a node fails.
  uint32_t& slot = slot_of_session_[session];
  if (slot == kNoSlot32) return;
  slots_[slot].clear();
  free_slots_.push_back(slot);
  slot = kNoSlot32;
}

// ---- records ----

TurnRecord Sessions::record_of(const Arrival& arrival, const TurnText& text) const {
  return {.session = arrival.session,
          .turn = arrival.turn,
          .history_tokens = static_cast<uint32_t>(text.history_tokens),
          .input_tokens = static_cast<uint32_t>(text.input_tokens),
          .output_tokens = static_cast<uint32_t>(text.output_tokens),
          .cold = text.cold,
          .truncated = text.truncated,
          .warmup = arrival.warmup,
          .retries = static_cast<uint16_t>(arrival.retries),
          .arrival_s = std::max(0.0, arrival.time_s - arrival.earlier_s),  // 0 may be rounded to -1e-17
          .earlier_s = arrival.earlier_s,
          .abandoned = static_cast<uint16_t>(arrival.attempt)};
}

uint32_t Sessions::end_unanswered(const Arrival& arrival, TurnRecord record, double now_s,
                                  Recorder& recorder) {
  std::vector<uint32_t> unborn_turns;
  const uint32_t unborn = arrivals.refused(arrival, now_s, &unborn_turns);
  end(arrival.session);
  recorder.turn(record);
  if (unborn_turns.empty()) return unborn;
  const std::span<const Turn> turns = workload_.turns_of(workload_.sessions[arrival.session]);
  const std::vector<int64_t> histories = workload_.histories_of(workload_.sessions[arrival.session]);
  record.retries = record.abandoned = 0;
  record.earlier_s = record.e2el_s = 0;
  for (uint32_t i : unborn_turns) {
    record.turn = i;
    record.history_tokens = static_cast<uint32_t>(kept_history(histories[i], turns[i]));
    record.input_tokens = turns[i].input_tokens;
    record.output_tokens = turns[i].output_tokens;
    recorder.turn(record);
  }
  return unborn;
}

}  // namespace kvcap
