#include "workload/source.h"

#include <cmath>

#include "base/check.h"
#include "base/input_error.h"

namespace kvcap {
namespace {

// True iff each turn's parent is the turn before it.
bool is_chain(std::span<const int32_t> parents) {
  for (std::size_t turn = 0; turn < parents.size(); ++turn) {
    if (parents[turn] != static_cast<int32_t>(turn) - 1) return false;
  }
  return true;
}

}  // namespace

void Source::write_parents() {
  if (!parents.empty()) return;
  for (const Session& one : sessions) {
    for (uint32_t turn = 0; turn < one.turn_count; ++turn) parents.push_back(static_cast<int32_t>(turn) - 1);
  }
}

void Source::start_anew(std::size_t turn) {
  write_parents();
  parents[turn] = kNoParent;
}

void Source::add(Session session, std::span<const Turn> its_turns,
                 std::span<const std::vector<Piece>> its_pieces, std::span<const int32_t> its_parents) {
  KVCAP_CHECK(its_pieces.empty() || its_pieces.size() == its_turns.size());
  KVCAP_CHECK(its_parents.empty() || its_parents.size() == its_turns.size());
  if (is_chain(its_parents)) its_parents = {};
  // Sessions added so far may have no pieces or no parents. Their entries are filled in now: no pieces, and
  // the previous turn as the parent.
  if (!its_pieces.empty() && piece_begin.empty()) piece_begin.assign(turns.size() + 1, 0);
  if (!its_parents.empty()) write_parents();
  for (std::size_t turn = 0; turn < its_turns.size(); ++turn) {
    if (!its_pieces.empty()) {
      pieces.insert(pieces.end(), its_pieces[turn].begin(), its_pieces[turn].end());
    }
    if (!piece_begin.empty()) piece_begin.push_back(pieces.size());
    if (its_parents.empty() && parents.empty()) continue;
    parents.push_back(its_parents.empty() ? static_cast<int32_t>(turn) - 1 : its_parents[turn]);
  }
  session.first_turn = static_cast<uint32_t>(turns.size());
  session.turn_count = static_cast<uint32_t>(its_turns.size());
  turns.insert(turns.end(), its_turns.begin(), its_turns.end());
  sessions.push_back(session);
}

void Source::add_think_times(std::span<const double> times_s) {
  KVCAP_CHECK(!sessions.empty() && times_s.size() == sessions.back().turn_count);
  think_times_s.resize(sessions.back().first_turn, NAN);
  think_times_s.insert(think_times_s.end(), times_s.begin(), times_s.end());
}

bool history_grows(History scenario, History session, uint32_t context_tokens) {
  const History history = scenario == History::automatic ? session : scenario;
  if (history == History::automatic) return context_tokens == 0;
  return history == History::grow;
}

void refuse_growing_history(const SourceOptions& options) {
  if (options.history != History::grow) return;
  throw InputError(options.path +
                   ": workload.source.history: found \"grow\", allowed: automatic, context (inputs of " +
                   options.kind + " are whole prompts)");
}

}  // namespace kvcap
