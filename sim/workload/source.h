// Sources of sessions: what is asked, before anyone has said when. One file each.
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

// What a session is called in its source.
struct SessionLabel {
  std::string id;  // as JSON: a quoted string or an integer
  std::string task;
};

// How long a log says that a request took, from its arrival; NaN where it does not say.
struct MeasuredTimes {
  double ttft_s = std::numeric_limits<double>::quiet_NaN();
  double e2el_s = std::numeric_limits<double>::quiet_NaN();
};

struct Source {
  std::vector<Session> sessions;   // in the order of the source; history_grows is not set yet
  std::vector<History> histories;  // what the sessions themselves say of it; empty where none does
  // time_s: arrival_s of the source, NaN where it says none. Where the table of sources says that a source
  // has no arrivals, seconds from its session's beginning.
  std::vector<Turn> turns;
  std::vector<Piece> pieces;  // as in Workload
  std::vector<uint64_t> piece_begin;
  std::vector<int32_t> parents;  // as in Workload
  // Of the turns: seconds from the answer to their parent until they arrive, NaN where the source does not
  // say; shorter than turns where it says none of the last ones.
  std::vector<double> think_times_s;
  PieceKeys piece_keys = PieceKeys::prefix;
  std::vector<SessionLabel> labels;    // of the sessions; empty where the source has none
  std::vector<std::string> documents;  // names, as JSON, of what Session::document numbers
  // What a real server took for each turn, and all gaps between tokens in no order (ITL). Simulations do not
  // read them; `kvcap fit` and `validate` compare with them. Empty where the source has none.
  std::vector<MeasuredTimes> measured;
  std::vector<float> measured_itls_s;
  int64_t bad_rows_skipped = 0;
  OddRowCounts odd_rows;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;  // those of them that whoever reads the source has to see at once

  // Adds a session with its turns, for each of them its pieces (none: for no turn) and its parent (none: the
  // turn before).
  void add(Session session, std::span<const Turn> its_turns,
           std::span<const std::vector<Piece>> its_pieces = {}, std::span<const int32_t> its_parents = {});
  void add(Session session, const std::vector<Turn>& its_turns) { add(session, std::span(its_turns)); }
  // The turn has no parent any more: it builds on the session's context alone.
  void start_anew(std::size_t turn);
  // The think times of the session that was added last.
  void add_think_times(std::span<const double> times_s);
  // Of a turn; NaN where the source does not say.
  double think_time_s(std::size_t turn) const {
    return turn < think_times_s.size() ? think_times_s[turn] : std::numeric_limits<double>::quiet_NaN();
  }
  // Adds a session of one turn with its pieces, perhaps none, of a source that has some.
  void add(const Turn& turn, std::span<const Piece> its_pieces) {
    const std::vector<Piece> copy(its_pieces.begin(), its_pieces.end());
    add(Session{}, {&turn, 1}, {&copy, 1});
  }

 private:
  // Every turn's parent is the one before, where nobody has said otherwise.
  void write_parents();
};

// The source of `options`, whatever its kind (sources_table.h).
Source open_source(const WorkloadOptions& options, uint64_t seed);

// What a user has to see at once of how the source is read, on stderr (base/text/warning.h).
void warn_of(const Source& source, const WorkloadOptions& options);

// Whether a session's history grows: what the scenario says, else the session itself, else whether it has no
// context.
bool history_grows(History scenario, History session, uint32_t context_tokens);

// Whether turns wait for the source's own think times.
bool uses_recorded_think_times(const WorkloadOptions& options, const Source& source);

// Whether arrivals.process trace can replay the source: it says when all turns arrive, or when sessions begin
// and how long after the answer before their later turns come.
bool has_timetable(const Source& source);

// Throws InputError where the scenario lets histories grow; for readers of whole prompts.
void refuse_growing_history(const SourceOptions& options);

// Gives the source's sessions their times. `make_workload` is one after the other.
Workload arrange(const Source& source, const WorkloadOptions& options, uint64_t seed);

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
// are known (csv_traces.cpp, csv_log.cpp). Rows are in any order. Errors as above.
Source read_mooncake(const SourceOptions& options, std::optional<int64_t> most);
Source read_vllm(const SourceOptions& options, std::optional<int64_t> most);
Source read_azure(const SourceOptions& options, std::optional<int64_t> most);
Source read_burstgpt(const SourceOptions& options, std::optional<int64_t> most);
Source read_csv(const SourceOptions& options, std::optional<int64_t> most);
Source read_vidur(const SourceOptions& options, std::optional<int64_t> most);
Source read_splitwise(const SourceOptions& options, std::optional<int64_t> most);

// Read logs of other programs, one file each; traces/README.md has the rules. Rows are in any order. Errors
// as above.
Source read_guidellm(const SourceOptions& options, std::optional<int64_t> most);
Source read_aiperf(const SourceOptions& options, std::optional<int64_t> most);
Source read_inference_perf(const SourceOptions& options, std::optional<int64_t> most);
Source read_multi_round_qa(const SourceOptions& options, std::optional<int64_t> most);
Source read_genai_perf(const SourceOptions& options, std::optional<int64_t> most);
Source read_lmcache_lookup(const SourceOptions& options, std::optional<int64_t> most);
Source read_bailian(const SourceOptions& options, std::optional<int64_t> most);
Source read_blis(const SourceOptions& options, std::optional<int64_t> most);
Source read_otel(const SourceOptions& options, std::optional<int64_t> most);

// Read sessions of agents (weka.cpp, lmcache_agent.cpp): whole prompts named by their blocks, turns that wait
// for others of their session, times from the session's beginning. Errors as above.
Source read_weka(const SourceOptions& options, std::optional<int64_t> most);
Source read_lmcache_agent(const SourceOptions& options, std::optional<int64_t> most);

// Draws sessions of coding agents from the tables of traces/agents.json. Session i is the same for every
// `count`.
Source generate_agents(const SourceOptions& options, int64_t count, uint64_t seed);

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

// random: prompts as benchmarks send them, each a session of one turn.
Source generate_random_prompts(const SourceOptions& options, int64_t count, uint64_t seed);

}  // namespace kvcap
