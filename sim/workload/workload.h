// Workload: all sessions of a run as plain values, which do not depend on the policy. A session is an
// optional shared context and a list of turns. A turn sends `input_tokens` new tokens in addition to its
// history and receives `output_tokens`. Its prompt is the session's context, then (if history grows) its
// ancestors' inputs and answers, then its own input. Sessions are in the order of their first arrival.
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
  // First turn of a session: arrival in seconds; with closed_loop, seconds after the session may start. Later
  // turn: seconds after the answer to its parent; without a parent, seconds after the arrival of the
  // session's first turn. With Workload::absolute_times, every turn has its arrival in seconds, which is
  // delayed until the answer to its parent.
  double time_s = 0;
};

// Text that prompts may share: a block of a trace, a retrieved chunk, a few-shot example, a tool's
// definition. The pieces of a turn cover its input from the first token on; tokens beyond the input belong to
// its answer.
struct Piece {
  uint64_t key = 0;
  uint32_t tokens = 0;
};

// What equal keys of pieces stand for: the same text after the same text (hash blocks), or the same text at
// any position (chunks).
enum class PieceKeys : uint8_t { prefix, text };

inline constexpr uint32_t kOwnContext = std::numeric_limits<uint32_t>::max();
inline constexpr int32_t kNoParent = -1;

struct Session {
  uint32_t first_turn = 0;  // index into Workload::turns
  uint32_t turn_count = 0;
  uint32_t context_tokens = 0;
  int16_t priority = 0;       // priority of its requests; lower values are served first
  bool history_grows = true;  // each turn builds on its ancestors; false: on the context alone
  // Sessions with the same document share its stored context; a growing history is private.
  uint32_t document = kOwnContext;
};

// One of several model calls that together answer one turn (calls.h). Each call is a session of one turn.
struct Call {
  uint32_t asked_session = 0;  // session of the turn in the workload before the division
  bool answers = true;         // the call's output is the turn's answer
  uint32_t after = 0;          // the call arrives when this many sessions directly before it have ended
};

// Timeout of a request and retries after it (engine/arrivals.h).
struct Clients {
  double timeout_s = std::numeric_limits<double>::infinity();
  RetryOptions retries;
  uint64_t seed = 1;  // for the random backoffs
};

// Numbers of rows that were left out of the source because they cannot be true (odd_rows.h).
struct OddRowCounts {
  int64_t repeated = 0, impossible_times = 0, distant_dates = 0;
};

struct Workload {
  std::vector<Session> sessions;
  std::vector<Turn> turns;
  // Pieces of all turns in order: for each turn first the pieces of its input, then the pieces of its answer.
  // Turn i has the pieces piece_begin[i] to piece_begin[i + 1] - 1, which may be none. Both vectors are empty
  // if no turn of the source has pieces.
  std::vector<Piece> pieces;
  std::vector<uint64_t> piece_begin;
  PieceKeys piece_keys = PieceKeys::prefix;
  // Per turn: the earlier turn that it builds on and waits for, as a number within the session, from 0.
  // kNoParent: the turn builds on the session's context alone. Empty if every turn's parent is the turn
  // before it.
  std::vector<int32_t> parents;
  std::vector<Call> calls;      // per session if turns are divided into calls; else empty
  bool absolute_times = false;  // Turn::time_s is an arrival for all turns
  bool warm_start = false;
  // True: contexts that are stored before the first arrival are at the beginning of their prompts. False:
  // they stand for texts in the middle of a prompt, which CacheBlend has to blend.
  bool contexts_lead = true;
  int64_t warmup_turns = 0;
  // Closed loop: number of sessions active at any time. The first ones arrive at 0, each later one when a
  // session ends. 0: an open loop, in which sessions arrive at their own times.
  int64_t concurrency = 0;
  // Closed loop: sessions per round; a round begins when all sessions of the previous one have ended. 0: no
  // rounds.
  uint32_t round_sessions = 0;
  Clients clients;
  double sessions_per_s = 0;  // mean offered rate; 0 with a trace or `concurrency`
  int64_t bad_rows_skipped = 0;
  OddRowCounts odd_rows;
  std::vector<std::string> notes;  // assumptions (resampling, skipped rows, ...)

  std::span<const Turn> turns_of(const Session& session) const {
    return {turns.data() + session.first_turn, session.turn_count};
  }
  std::span<const Piece> pieces_of(std::size_t turn) const {
    if (piece_begin.empty()) return {};
    return {pieces.data() + piece_begin[turn], pieces.data() + piece_begin[turn + 1]};
  }
  // Returns the pieces that end within the turn's input; later pieces belong to the answer.
  std::span<const Piece> prompt_pieces_of(std::size_t turn) const;
  // Returns the turn of the session on which `turn` builds; nullopt for a root.
  std::optional<uint32_t> parent_of(const Session& session, uint32_t turn) const {
    if (parents.empty()) return turn == 0 ? std::nullopt : std::optional(turn - 1);
    const int32_t parent = parents[session.first_turn + turn];
    return parent == kNoParent ? std::nullopt : std::optional(static_cast<uint32_t>(parent));
  }
  // Returns, for each turn of the session, the tokens of its prompt that precede its input.
  std::vector<int64_t> histories_of(const Session& session) const;
  // Returns the number of tokens of the turn's input and answer that are outside all pieces. Only the turn's
  // descendants share these tokens.
  int64_t own_tokens_of(std::size_t turn) const;
  // True iff a later turn may reuse what the session's turns add. If there are pieces, a session of one turn
  // adds nothing reusable except its pieces.
  bool keeps_history(const Session& session) const {
    return session.history_grows && (session.turn_count > 1 || piece_begin.empty());
  }
  // Returns the key of the session's stored context: its number, or one key for all sessions of its document.
  uint64_t context_key(std::size_t session) const {
    const uint32_t document = sessions[session].document;
    return document == kOwnContext ? session : sessions.size() + document;
  }
  // Returns the mean number of history tokens per turn: the tokens of the turn's context and ancestors,
  // before truncation, and of those pieces of its input that earlier turns left in the store.
  double mean_history_tokens() const;
  // Returns the tokens in a store that keeps everything, at the end of the workload: each document and piece
  // once, and each session's own context with the tokens that its turns add.
  int64_t context_tokens() const;
};

// Calls `take` with the tokens of each text in a store that keeps everything: a piece, a document, or all
// text that belongs to one session alone. Empty texts are skipped.
void for_each_stored_text(const Workload& workload, const std::function<void(int64_t tokens)>& take);

// Reads or generates the source and draws arrivals and think times from random streams of `seed`. Throws
// InputError naming the file and line of the first bad row (unless on_bad_row is skip).
Workload make_workload(const WorkloadOptions& options, uint64_t seed);

}  // namespace kvcap
