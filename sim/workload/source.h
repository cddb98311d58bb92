// Source: sessions as a file or a generator provides them, before arrivals are set. Each reader and generator
// is one .cpp file.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workload/workload.h"

namespace kvcap {

// Name and task of a session in its source.
struct SessionLabel {
  std::string id;  // as JSON: a quoted string or an integer
  std::string task;
};

// Measured latencies of a logged request, counted from its arrival; NaN if the log lacks them.
struct MeasuredTimes {
  double ttft_s = std::numeric_limits<double>::quiet_NaN();
  double e2el_s = std::numeric_limits<double>::quiet_NaN();
};

struct Source {
  std::vector<Session> sessions;   // in the order of the source; history_grows is not set yet
  std::vector<History> histories;  // each session's own setting; empty if no session has one
  // time_s: arrival_s in the source, NaN if not given. For kinds without arrivals (SourceRow::has_arrivals):
  // seconds from the session's beginning.
  std::vector<Turn> turns;
  std::vector<Piece> pieces;  // as in Workload
  std::vector<uint64_t> piece_begin;
  std::vector<int32_t> parents;  // as in Workload
  // Seconds from the answer to a turn's parent to the turn's arrival, per turn; NaN if not given. May be
  // shorter than `turns` if the last turns have none.
  std::vector<double> think_times_s;
  PieceKeys piece_keys = PieceKeys::prefix;
  std::vector<SessionLabel> labels;    // per session; empty if the source has none
  std::vector<std::string> documents;  // names, as JSON, indexed by Session::document
  // Measured latencies per turn, and all inter-token latencies in no particular order; empty if the source
  // has none. Simulations ignore these latencies; `kvcap fit` and `kvcap validate` compare simulated ones
  // with them.
  std::vector<MeasuredTimes> measured;
  std::vector<float> measured_itls_s;
  int64_t bad_rows_skipped = 0;
  OddRowCounts odd_rows;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;  // notes that are also printed on stderr when the source is read

  // Adds a session with its turns, their pieces (empty: no turn has any) and their parents (empty: each
  // turn's parent is the turn before it).
  void add(Session session, std::span<const Turn> its_turns,
           std::span<const std::vector<Piece>> its_pieces = {}, std::span<const int32_t> its_parents = {});
  void add(Session session, const std::vector<Turn>& its_turns) { add(session, std::span(its_turns)); }
  // Removes the turn's parent, so that the turn builds on the session's context alone.
  void start_anew(std::size_t turn);
  // Adds the think times of the last added session.
  void add_think_times(std::span<const double> times_s);
  // Returns the think time of a turn; NaN if not given.
  double think_time_s(std::size_t turn) const {
    return turn < think_times_s.size() ? think_times_s[turn] : std::numeric_limits<double>::quiet_NaN();
  }
  // Adds a session of one turn with its pieces, which may be empty, to a source with pieces.
  void add(const Turn& turn, std::span<const Piece> its_pieces) {
    const std::vector<Piece> copy(its_pieces.begin(), its_pieces.end());
    add(Session{}, {&turn, 1}, {&copy, 1});
  }

 private:
  // Fills `parents` if it is empty: each turn's parent is the turn before it.
  void write_parents();
};

// Reads or generates the source that `options` describe, whatever its kind (sources_table.h).
Source open_source(const WorkloadOptions& options, uint64_t seed);

// Prints the source's warnings to stderr (base/text/warning.h). Adds one if the source has arrivals but the
// scenario uses the default arrivals.
void warn_of(const Source& source, const WorkloadOptions& options);

// True iff a session's history grows. The scenario's setting takes precedence over the session's own; if both
// are automatic, the history grows iff the session has no context.
bool history_grows(History scenario, History session, uint32_t context_tokens);

// True iff the workload uses the source's think times between turns.
bool uses_recorded_think_times(const WorkloadOptions& options, const Source& source);

// True iff arrivals.process trace can replay the source: it contains the arrivals of all turns, or the
// arrivals of sessions and the think times of their later turns.
bool has_timetable(const Source& source);

// Throws InputError if the scenario sets histories to grow. For readers of formats in which each input is a
// whole prompt, which already contains the history.
void refuse_growing_history(const SourceOptions& options);

// Builds the workload from the source: chooses sessions and sets their times. make_workload calls open_source
// and then arrange.
Workload arrange(const Source& source, const WorkloadOptions& options, uint64_t seed);

// Reads session JSONL (traces/formats.md), at most `most` valid lines. `needs_arrivals`: every turn must have
// arrival_s. Throws InputError for a bad row, unless bad rows are skipped, and for a file without sessions.
Source read_sessions(const SourceOptions& options, std::optional<int64_t> most, bool needs_arrivals);

// Returns the sessions as session JSONL, which read_sessions reads.
std::string session_lines(const Source& source);

// Read ShareGPT's raw JSON, one conversation at a time, and L-Eval's raw JSONL (traces/formats.md). Throw
// InputError as read_sessions does.
Source read_sharegpt(const SourceOptions& options, std::optional<int64_t> most);
Source read_leval(const SourceOptions& options, std::optional<int64_t> most);

// Read traces of requests, either with blocks of prompts (block_traces.cpp) or with lengths only
// (csv_traces.cpp, csv_log.cpp, vidur.cpp, splitwise.cpp). Rows may be in any order. Throw InputError as
// read_sessions does.
Source read_mooncake(const SourceOptions& options, std::optional<int64_t> most);
Source read_vllm(const SourceOptions& options, std::optional<int64_t> most);
Source read_azure(const SourceOptions& options, std::optional<int64_t> most);
Source read_burstgpt(const SourceOptions& options, std::optional<int64_t> most);
Source read_csv(const SourceOptions& options, std::optional<int64_t> most);
Source read_vidur(const SourceOptions& options, std::optional<int64_t> most);
Source read_splitwise(const SourceOptions& options, std::optional<int64_t> most);

// Read logs of other programs, one .cpp file each (traces/formats.md). Rows may be in any order. Throw
// InputError as read_sessions does.
Source read_guidellm(const SourceOptions& options, std::optional<int64_t> most);
Source read_aiperf(const SourceOptions& options, std::optional<int64_t> most);
Source read_inference_perf(const SourceOptions& options, std::optional<int64_t> most);
Source read_multi_round_qa(const SourceOptions& options, std::optional<int64_t> most);
Source read_genai_perf(const SourceOptions& options, std::optional<int64_t> most);
Source read_lmcache_lookup(const SourceOptions& options, std::optional<int64_t> most);
Source read_bailian(const SourceOptions& options, std::optional<int64_t> most);
Source read_blis(const SourceOptions& options, std::optional<int64_t> most);
Source read_otel(const SourceOptions& options, std::optional<int64_t> most);

// Read sessions of agents (weka.cpp, lmcache_agent.cpp). Each turn gives its whole prompt as a list of block
// ids and may wait for other turns of its session; times count from the session's beginning. Throw InputError
// as read_sessions does.
Source read_weka(const SourceOptions& options, std::optional<int64_t> most);
Source read_lmcache_agent(const SourceOptions& options, std::optional<int64_t> most);

// Draws sessions of coding agents with the statistics of traces/agents.json. Session i does not depend on
// `count`.
Source generate_agents(const SourceOptions& options, int64_t count, uint64_t seed);

// Draws chats with the statistics of traces/chat.json. Session i does not depend on `count`.
Source generate_chats(int64_t count, uint64_t seed);

// Draws questions about documents, one per session, with the statistics of traces/long_context.json. The
// document of popularity rank k has the weight k^-zipf_alpha. Session i does not depend on `count`. REQUIRES:
// the options' tasks are among long_context_tasks().
Source generate_long_context(const SourceOptions& options, int64_t count, uint64_t seed);

// Draws queries that follow one of a few prefixes, with the statistics of traces/few_shot.json; pieces are
// the nodes of a radix tree. Session i does not depend on `count`. REQUIRES: the options' dataset is among
// few_shot_datasets().
Source generate_few_shot(const SourceOptions& options, int64_t count, uint64_t seed);

// Draws questions with retrieved chunks, with the statistics of traces/rag.json. Every query occurs once,
// then all occur again in another order, and so on; without `count`, every query occurs once. Session i does
// not depend on `count`. REQUIRES: corpus_chunks is at least chunks.
Source generate_rag(const SourceOptions& options, std::optional<int64_t> count, uint64_t seed);

// Draws prompts as server benchmarks send them (kind random). Each prompt is a session of one turn.
Source generate_random_prompts(const SourceOptions& options, int64_t count, uint64_t seed);

}  // namespace kvcap
