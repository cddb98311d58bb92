// Workload: what arrives, as pure values that no policy can change. A session is an optional shared
// context and a list of turns; a turn asks `input_tokens` new tokens on top of its history and gets
// `output_tokens` back. Its prompt is the session's context, then (where history grows) its ancestors'
// inputs and answers, then its own input. Sessions are in order of their first arrival.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workload/options.h"

namespace kvcap {

struct Turn {
  uint32_t input_tokens = 0;   // new tokens of this turn, >= 1
  uint32_t output_tokens = 0;  // >= 1
  // The first turn of a session: its arrival in seconds; with closed_loop the time after its release. Later
  // turns: seconds after the answer to their parent, or with `arrivals: trace` the absolute arrival (never
  // before that answer). A later turn without a parent: seconds after the arrival of the session's first
  // turn.
  double time_s = 0;
};

// A text that prompts may share: a block of a trace, a retrieved chunk, a few-shot example, a tool's
// definition. The pieces of a turn name the first tokens of its input, and what exceeds the input belongs to
// its answer.
struct Piece {
  uint64_t key = 0;
  uint32_t tokens = 0;
};

// What equal keys of pieces mean: the same text and the same text before it (hash blocks), or the same text
// wherever it stands (chunks).
enum class PieceKeys : uint8_t { prefix, text };

inline constexpr uint32_t kOwnContext = std::numeric_limits<uint32_t>::max();
inline constexpr int32_t kNoParent = -1;

struct Session {
  uint32_t first_turn = 0;  // index into Workload::turns
  uint32_t turn_count = 0;
  uint32_t context_tokens = 0;
  bool history_grows = true;  // each turn builds on its ancestors; else on the context alone
  // Sessions with the same document share its stored context; a history that grows is private.
  uint32_t document = kOwnContext;
};

// A session's only turn as a call of the model that answers somebody's turn together with others (calls.h).
struct Call {
  uint32_t asked_session = 0;  // whose turn: as sessions were before they were divided
  bool answers = true;         // what it generates is the turn's answer
  uint32_t after = 0;          // so many sessions, those right before it, have to end before it arrives
};

// When clients give up a request, and what they do then (serving/arrivals.h).
struct Clients {
  double timeout_s = std::numeric_limits<double>::infinity();
  RetryOptions retries;
  uint64_t seed = 1;  // of what backoffs draw
};

// Rows of the source that are left out because they cannot be true (odd_rows.h).
struct OddRowCounts {
  int64_t repeated = 0, impossible_times = 0, distant_dates = 0;
};

struct Workload {
  std::vector<Session> sessions;
  std::vector<Turn> turns;
  // Pieces of all turns' inputs and then answers, in order; pieces of turn i are piece_begin[i] up to
  // piece_begin[i + 1], perhaps none. Both empty where no turn of the source has any.
  std::vector<Piece> pieces;
  std::vector<uint64_t> piece_begin;
  PieceKeys piece_keys = PieceKeys::prefix;
  // Of each turn, the earlier turn of its session that it builds on and waits for, counted from the session's
  // first; kNoParent: none, it builds on the context. Empty where every turn's parent is the one before.
  std::vector<int32_t> parents;
  std::vector<Call> calls;      // of the sessions, where turns are several calls; else empty
  bool absolute_times = false;  // arrivals: trace
  bool warm_start = false;
  int64_t warmup_turns = 0;
  // So many sessions are active at any time: the first ones arrive at 0, each later one when a session ends.
  // 0: sessions arrive at their times, whatever has ended.
  int64_t concurrency = 0;
  // With concurrency: so many sessions are a round, and none begins before all of the last round have ended.
  // 0: there are no rounds.
  uint32_t round_sessions = 0;
  Clients clients;
  double sessions_per_s = 0;  // offered, on average; 0 where the trace or `concurrency` says
  int64_t bad_rows_skipped = 0;
  OddRowCounts odd_rows;
  std::vector<std::string> notes;  // assumptions made on the way (resampling, skipped rows, ...)

  std::span<const Turn> turns_of(const Session& session) const {
    return {turns.data() + session.first_turn, session.turn_count};
  }
  std::span<const Piece> pieces_of(std::size_t turn) const {
    if (piece_begin.empty()) return {};
    return {pieces.data() + piece_begin[turn], pieces.data() + piece_begin[turn + 1]};
  }
  // Those that end within the turn's input; the others belong to the answer.
  std::span<const Piece> prompt_pieces_of(std::size_t turn) const;
  // The turn of the session that `turn` of it builds on; nothing for a root.
  std::optional<uint32_t> parent_of(const Session& session, uint32_t turn) const {
    if (parents.empty()) return turn == 0 ? std::nullopt : std::optional(turn - 1);
    const int32_t parent = parents[session.first_turn + turn];
    return parent == kNoParent ? std::nullopt : std::optional(static_cast<uint32_t>(parent));
  }
  // Of each turn of the session: tokens of its prompt before its input.
  std::vector<int64_t> histories_of(const Session& session) const;
  // Tokens of the turn's input and answer that no piece names: nobody but the turn's descendants shares them.
  int64_t own_tokens_of(std::size_t turn) const;
  // Whether a later turn may find what the session's turns add. In a workload with pieces a session of one
  // turn adds nothing that others find but its pieces.
  bool keeps_history(const Session& session) const {
    return session.history_grows && (session.turn_count > 1 || piece_begin.empty());
  }
  // Under which key the session's context is stored: its number, or one for all sessions of its document.
  uint64_t context_key(std::size_t session) const {
    const uint32_t document = sessions[session].document;
    return document == kOwnContext ? session : sessions.size() + document;
  }
  // Mean over all turns of context and ancestors' tokens (nothing truncated), and of those pieces of the
  // input that earlier turns have left.
  double mean_history_tokens() const;
  // Tokens that a store that keeps everything holds in the end: documents and pieces once, each session's own
  // context and what its turns add to it.
  int64_t context_tokens() const;
};

// Calls `take` with the tokens of each text that such a store holds: a piece, a document, or all that one
// session alone has. None has 0 tokens.
void for_each_stored_text(const Workload& workload, const std::function<void(int64_t tokens)>& take);

// Reads or generates the source, draws arrivals and think times from the streams of `seed`.
// Throws InputError naming the file and line of the first bad row (unless on_bad_row: skip).
Workload make_workload(const WorkloadOptions& options, uint64_t seed);

}  // namespace kvcap
