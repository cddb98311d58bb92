// Workload: what arrives, as pure values that no policy can change. A session is an optional shared
// context and a list of turns; a turn asks `input_tokens` new tokens on top of its history and gets
// `output_tokens` back. Sessions are in order of their first arrival.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workload/options.h"

namespace kvcap {

struct Turn {
  uint32_t input_tokens = 0;   // new tokens of this turn, >= 1; with pieces the whole prompt
  uint32_t output_tokens = 0;  // >= 1
  // The first turn of a session: its arrival in seconds. Later turns: seconds after the end of the turn
  // before, or with `arrivals: trace` the absolute arrival (never before the end of the turn before).
  double time_s = 0;
};

// A stretch of a prompt that other prompts may share: a block of a trace, a retrieved chunk, a few-shot
// example.
struct Piece {
  uint64_t key = 0;
  uint32_t tokens = 0;
};

// What equal keys of pieces mean: the same text and the same text before it (hash blocks), or the same text
// wherever it stands (chunks).
enum class PieceKeys : uint8_t { prefix, text };

inline constexpr uint32_t kOwnContext = std::numeric_limits<uint32_t>::max();

struct Session {
  uint32_t first_turn = 0;  // index into Workload::turns
  uint32_t turn_count = 0;
  uint32_t context_tokens = 0;
  bool history_grows = true;
  // Sessions with the same document share its stored context; their history does not grow.
  uint32_t document = kOwnContext;
};

// A session's only turn as a call of the model that answers somebody's turn together with others (calls.h).
struct Call {
  uint32_t asked_session = 0;  // whose turn: as sessions were before they were divided
  bool answers = true;         // what it generates is the turn's answer
  uint32_t after = 0;          // so many sessions, those right before it, have to end before it arrives
};

struct Workload {
  std::vector<Session> sessions;
  std::vector<Turn> turns;
  // Pieces of all turns' prompts and then answers, in order; pieces of turn i are piece_begin[i] up to
  // piece_begin[i + 1]. Both empty where the source has none: reuse is by session then. A session with pieces
  // has one turn and no context.
  std::vector<Piece> pieces;
  std::vector<uint64_t> piece_begin;
  PieceKeys piece_keys = PieceKeys::prefix;
  std::vector<int32_t> parents;
  std::optional<uint32_t> parent_of(const Session&, uint32_t turn) const {
    return turn == 0 ? std::nullopt : std::optional<uint32_t>(turn - 1);
  }
  std::vector<Call> calls;      // of the sessions, where turns are several calls; else empty
  bool absolute_times = false;  // arrivals: trace
  bool warm_start = false;
  int64_t warmup_turns = 0;
  double sessions_per_s = 0;  // offered; 0 when the trace says
  int64_t bad_rows_skipped = 0;
  std::vector<std::string> notes;  // assumptions made on the way (resampling, skipped rows, ...)

  std::span<const Turn> turns_of(const Session& session) const {
    return {turns.data() + session.first_turn, session.turn_count};
  }
  std::span<const Piece> pieces_of(std::size_t turn) const {
    if (piece_begin.empty()) return {};
    return {pieces.data() + piece_begin[turn], pieces.data() + piece_begin[turn + 1]};
  }
  // Those that end within the prompt; the others belong to the answer.
  std::span<const Piece> prompt_pieces_of(std::size_t turn) const;
  // Under which key the session's context is stored: its number, or one for all sessions of its document.
  uint64_t context_key(std::size_t session) const {
    const uint32_t document = sessions[session].document;
    return document == kOwnContext ? session : sessions.size() + document;
  }
  // Mean over all turns of the tokens a turn finds before its new ones (nothing truncated); with pieces, of
  // the prompt's tokens that earlier turns have left.
  double mean_history_tokens() const;
  // Tokens of all sessions' contexts at their ends, documents and pieces once: what a store that keeps
  // everything would hold.
  int64_t context_tokens() const;
};

// Reads or generates the source, draws arrivals and think times from the streams of `seed`.
// Throws InputError naming the file and line of the first bad row (unless on_bad_row: skip).
Workload make_workload(const WorkloadOptions& options, uint64_t seed);

}  // namespace kvcap
