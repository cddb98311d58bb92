// Sources of sessions: what is asked, before anyone has said when. One file each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// What a session is called in its source.
struct SessionLabel {
  std::string id;  // as JSON: a quoted string or an integer
  std::string task;
};

struct Source {
  std::vector<Session> sessions;  // in the order of the source; history_grows is not set yet
  std::vector<Turn> turns;        // time_s: arrival_s of the source, NaN where it says none
  std::vector<Piece> pieces;      // as in Workload
  std::vector<uint64_t> piece_begin;
  PieceKeys piece_keys = PieceKeys::prefix;
  std::vector<SessionLabel> labels;    // of the sessions; empty where the source has none
  std::vector<std::string> documents;  // names, as JSON, of what Session::document numbers
  int64_t bad_rows_skipped = 0;
  std::vector<std::string> notes;

  // Adds a session with its turns.
  void add(Session session, const std::vector<Turn>& its_turns) {
    session.first_turn = static_cast<uint32_t>(turns.size());
    session.turn_count = static_cast<uint32_t>(its_turns.size());
    turns.insert(turns.end(), its_turns.begin(), its_turns.end());
    sessions.push_back(session);
  }
  // Adds a session of one turn with its pieces. A source has them for every session or for none.
  void add(const Turn& turn, std::span<const Piece> its_pieces) {
    if (piece_begin.empty()) piece_begin.push_back(0);
    pieces.insert(pieces.end(), its_pieces.begin(), its_pieces.end());
    piece_begin.push_back(pieces.size());
    add(Session{}, {turn});
  }
};

// The source of `options`, whatever its kind.
Source open_source(const WorkloadOptions& options, uint64_t seed);

// Gives the source's sessions their times. `make_workload` is one after the other.
Workload arrange(const Source& source, const WorkloadOptions& options, uint64_t seed);

// The kind of a file, by how it begins: an array is ShareGPT, an object whose first key is one of L-Eval's
// or Mooncake's is that, a line with a CSV reader's columns is that reader's, all else are sessions. Throws
// InputError where it cannot be read.
SourceKind guess_kind(const std::string& path);

// Reads session JSONL (traces/README.md), at most `most` good lines. `needs_arrivals`: every turn must have
// arrival_s. Throws InputError for a bad row, unless they are skipped, and for a file without sessions.
Source read_sessions(const SourceOptions& options, std::optional<int64_t> most, bool needs_arrivals);

// The same sessions as text that read_sessions reads back.
std::string session_lines(const Source& source);

// Reads ShareGPT's raw JSON, one conversation at a time, and L-Eval's raw JSONL; traces/README.md has the
// rules. Errors as above.
Source read_sharegpt(const SourceOptions& options, std::optional<int64_t> most);
Source read_leval(const SourceOptions& options, std::optional<int64_t> most);

// Read traces of requests whose prompts are blocks (block_traces.cpp), and of requests of which only lengths
// are known (csv_traces.cpp). Times do not decrease from row to row. Errors as above.
Source read_mooncake(const SourceOptions& options, std::optional<int64_t> most);
Source read_vllm(const SourceOptions& options, std::optional<int64_t> most);
Source read_azure(const SourceOptions& options, std::optional<int64_t> most);
Source read_burstgpt(const SourceOptions& options, std::optional<int64_t> most);
Source read_csv(const SourceOptions& options, std::optional<int64_t> most);

// Draws chats from the tables of traces/chat.json. Session i is the same for every `count`.
Source generate_chats(int64_t count, uint64_t seed);

// Draws questions about documents, one a session, from the tables of traces/long_context.json. The document
// of popularity k is drawn with weight k^-zipf_alpha. Session i is the same for every `count`.
// REQUIRES: the options' tasks are among long_context_tasks().
Source generate_long_context(const SourceOptions& options, int64_t count, uint64_t seed);

// Draws queries behind one of a few prefixes, with the facts of traces/few_shot.json; pieces are the nodes of
// a radix tree. Session i is the same for every `count`.
// REQUIRES: the options' dataset is among few_shot_datasets().
Source generate_few_shot(const SourceOptions& options, int64_t count, uint64_t seed);

// Draws questions with retrieved chunks, with the facts of traces/rag.json: every query once (absent `count`:
// exactly that), then all again in another order. Session i is the same for every `count`.
// REQUIRES: corpus_chunks is at least chunks.
Source generate_rag(const SourceOptions& options, std::optional<int64_t> count, uint64_t seed);

}  // namespace kvcap
