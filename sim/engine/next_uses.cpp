#include "engine/next_uses.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/prompt.h"
#include "engine/sessions.h"

namespace kvcap {
namespace {

std::vector<double> least_times_s(const Workload& workload) {
  std::vector<double> least_s(workload.turns.size());
  for (const Session& session : workload.sessions) {
    for (uint32_t turn = 0; turn < session.turn_count; ++turn) {
      const double time_s = workload.turns[session.first_turn + turn].time_s;
      const std::optional<uint32_t> parent = workload.parent_of(session, turn);
      const double after_s = turn == 0 ? 0 : least_s[session.first_turn + parent.value_or(0)];
      least_s[session.first_turn + turn] =
          workload.absolute_times ? std::max(time_s, after_s) : after_s + time_s;
    }
  }
  return least_s;
}

// Returns the texts of the turn's prompt that other turns may share, without those of its ancestors.
std::vector<Part> shared_parts(const Workload& workload, uint32_t session, uint32_t turn, Match match,
                               int64_t chunk_tokens) {
  const Session& its = workload.sessions[session];
  std::vector<SequenceRun> runs;
  if (its.context_tokens > 0) {
    const bool is_own = its.document == kOwnContext;
    runs.push_back({{context_text(workload, session), 0, its.context_tokens},
                    is_own ? TextOwner::session : TextOwner::document});
  }
  for (const Piece& piece : workload.prompt_pieces_of(its.first_turn + turn)) {
    runs.push_back({{piece.key, 0, piece.tokens}, TextOwner::piece});
  }
  name_parts(runs, workload.piece_keys, match);
  std::vector<Part> parts = parts_of(runs, chunk_tokens);
  std::erase_if(parts, [](const Part& part) { return !part.shared; });
  return parts;
}

}  // namespace

NextUses::NextUses(const Workload& workload, Match match, int64_t chunk_tokens)
    : workload_(workload), least_s_(least_times_s(workload)) {
  for (uint32_t i = 0; i < workload.sessions.size(); ++i) add_session(i, match, chunk_tokens);
  if (workload.concurrency > 0) return;
  for (auto& [key, uses] : uses_) {
    std::stable_sort(uses.begin(), uses.end(),
                     [](const Use& one, const Use& other) { return one.least_s < other.least_s; });
  }
}

void NextUses::add_session(uint32_t session, Match match, int64_t chunk_tokens) {
  const Session& its = workload_.sessions[session];
  // A piece of text that follows a growing history has a key that depends on the history.
  const bool depends = match == Match::prefix && workload_.piece_keys == PieceKeys::text;
  const uint32_t turns =
      its.history_grows && depends ? std::min<uint32_t>(its.turn_count, 1) : its.turn_count;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    for (const Part& part : shared_parts(workload_, session, turn, match, chunk_tokens)) {
      uses_[part.key].push_back({least_s_[its.first_turn + turn], session, turn});
    }
  }
}

Order NextUses::after(Key key, const Arrival& turn, double now_s) {
  begun_ = std::max(begun_, turn.session);
  const auto found = uses_.find(key);
  if (found == uses_.end()) return kNever;
  const Order other_s = of_other_sessions(found->second, turn, now_s);
  return std::min(other_s, of_own_session(found->second, turn, now_s, other_s));
}

// Considers only uses before `before_s`.
Order NextUses::of_own_session(const Uses& uses, const Arrival& turn, double now_s, Order before_s) const {
  const double least_s = least_s_[workload_.sessions[turn.session].first_turn + turn.turn];
  const auto begin = workload_.concurrency > 0
                         ? std::partition_point(uses.begin(), uses.end(),
                                                [&](const Use& use) { return use.session < turn.session; })
                         : std::partition_point(uses.begin(), uses.end(),
                                                [&](const Use& use) { return use.least_s < least_s; });
  for (auto use = begin; use != uses.end(); ++use) {
    const bool ends = workload_.concurrency > 0 ? use->session != turn.session : use->least_s >= before_s;
    if (ends) break;
    if (use->session != turn.session || use->turn <= turn.turn) continue;
    return workload_.absolute_times ? std::max(now_s, use->least_s) : now_s + use->least_s - least_s;
  }
  return kNever;
}

Order NextUses::of_other_sessions(const Uses& uses, const Arrival& turn, double now_s) const {
  if (workload_.concurrency > 0) {
    const auto next =
        std::partition_point(uses.begin(), uses.end(), [&](const Use& use) { return use.session <= begun_; });
    if (next == uses.end()) return kNever;
    const double distance_s = now_s / (begun_ + 1.0);
    return now_s + distance_s * (next->session - begun_);
  }
  auto next = std::partition_point(uses.begin(), uses.end(),
                                   [&](const Use& use) { return use.least_s <= turn.time_s; });
  while (next != uses.end() && next->session == turn.session) ++next;
  return next == uses.end() ? kNever : next->least_s;
}

}  // namespace kvcap
