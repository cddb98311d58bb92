// Options of workloads: the source of sessions, their arrivals, think times and clients.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text/names.h"

namespace kvcap {

enum class BadRow : uint8_t { error, skip };
inline constexpr std::string_view kBadRowNames[] = {"error", "skip"};
constexpr Names names_of(BadRow) { return kBadRowNames; }
// What precedes a turn's new tokens in its prompt. grow: the session's context and the turn's ancestors.
// context: the context alone (L-Eval asks every question about the bare document). automatic: the session's
// own setting; without one, context for sessions that have a context, grow for others.
enum class History : uint8_t { automatic, grow, context };
inline constexpr std::string_view kHistoryNames[] = {"automatic", "grow", "context"};
constexpr Names names_of(History) { return kHistoryNames; }
// What the input length of a session's later turn counts: the turn's own tokens, or its whole prompt
// including the history. automatic: as the format defines it (input_meaning.h).
enum class InputIs : uint8_t { automatic, new_tokens, whole_prompt };
inline constexpr std::string_view kInputIsNames[] = {"automatic", "new_tokens", "whole_prompt"};
constexpr Names names_of(InputIs) { return kInputIsNames; }
// even: exactly as many sessions as the rate implies, at uniformly drawn times.
enum class ArrivalProcess : uint8_t { poisson, gamma, constant, even, trace, closed_loop };
inline constexpr std::string_view kArrivalProcessNames[] = {"poisson", "gamma", "constant",
                                                            "even",    "trace", "closed_loop"};
constexpr Names names_of(ArrivalProcess) { return kArrivalProcessNames; }
// automatic: recorded if the source has think times, else constant. recorded: the source's think times, from
// the answer to the next turn; mean_s where one is missing. timetable: turns keep the source's offsets from
// their session's first turn, but never arrive before the answer to their parent.
enum class ThinkDistribution : uint8_t { automatic, constant, exponential, lognormal, recorded, timetable };
inline constexpr std::string_view kThinkDistributionNames[] = {"auto",      "constant", "exponential",
                                                               "lognormal", "recorded", "timetable"};
constexpr Names names_of(ThinkDistribution) { return kThinkDistributionNames; }

struct SourceOptions {
  std::string kind = "chat";  // a name in the table of sources (sources_table.h)
  std::string path;           // readers: a file, plain or gzip
  std::string stand_in;       // session JSONL to read if the file `path` is missing; empty: none
  bool stands_in = false;     // `path` is the path of the stand-in
  BadRow on_bad_row = BadRow::error;
  History history = History::automatic;
  // csv, jsonl: the column of each field, "arrival=timestamp,input=prompt_tokens" (log_columns.h); empty:
  // kvcap's own column names.
  std::string columns;
  InputIs input_is = InputIs::automatic;
  std::string token_counts;  // sharegpt: JSONL of exact counts (traces/formats.md); empty: estimated
  // Tokens per block of hash_ids; absent: kMooncakeBlockTokens or kEngineBlockTokens.
  std::optional<int64_t> block_tokens;
  std::string hash_ids;  // vllm: JSONL of the requests' blocks (traces/formats.md); empty: none
  // long_context: sub-tasks separated by commas (empty: all), number of documents (absent: their number in
  // L-Eval).
  std::string tasks;
  std::optional<int64_t> documents;
  // Zipf exponent of the popularity of long_context's documents and rag's chunks: item k has the weight
  // k^-alpha.
  std::optional<double> zipf_alpha;
  // few_shot: HyperInfer's data set, number of prefixes, length at which prefixes are cut, and standard
  // deviation of their reuse, in prefixes. Absent options of few_shot and rag have the values of
  // traces/*.json.
  std::string dataset = "rte";
  std::optional<int64_t> prefixes;
  int64_t max_prefix_tokens = 10000;
  std::optional<double> reuse_sigma;
  // rag: base queries, paraphrases per query, chunks per query, tokens per chunk, chunks of the corpus
  // (absent: base queries x chunks), probability that a paraphrase retrieves a chunk of its base query, and
  // mean tokens of a question.
  std::optional<int64_t> base_queries, paraphrases, chunks, chunk_tokens, corpus_chunks;
  std::optional<double> overlap, question_tokens;

  // random: maximum tokens of a prompt without its shared prefix and of an answer; the minimum is
  // shortest_share of the maximum. Tokens of a shared prefix; `prefixes` is the number of different ones.
  // Number of different prompts, which recur in order or, if shuffled, in one random order (absent: no prompt
  // recurs).
  int64_t input_tokens = 1024, output_tokens = 128;
  double shortest_share = 1;
  int64_t prefix_tokens = 0;
  std::optional<int64_t> prompts;
  bool shuffled = false;

  // weka, agents: prompts with equal sets of tools (weka: with equal token counts of tools and of the system
  // prompt) begin with the same text in all sessions.
  bool shared_tools = false;
  // agents: prompts longer than this are compacted. Absent: as in traces/agents.json.
  std::optional<int64_t> max_prompt_tokens;
};

// Defaults of options; those of few_shot, rag and agents are in traces/*.json.
inline constexpr int64_t kMooncakeBlockTokens = 512;
inline constexpr int64_t kEngineBlockTokens = 16;  // vllm, bailian, lmcache_agent
inline constexpr double kLongContextZipfAlpha = 1;
inline constexpr int64_t kRandomPrefixes = 1;

// Rate from `from_s` until the time of the next rate. Exactly one of sessions_per_s and requests_per_s is
// set.
struct ArrivalRate {
  double from_s = 0;
  std::optional<double> sessions_per_s, requests_per_s;
  bool ramp = false;  // the rate changes linearly to the next one
};

inline constexpr double kDefaultSessions_per_s = 0.1;
inline constexpr int64_t kDefaultSessions = 1000;  // number of generated sessions

// Rate of poisson, gamma, constant and even: set at most one of sessions_per_s, requests_per_s (turns) and
// `rates`; without any, kDefaultSessions_per_s applies.
struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::poisson;
  std::optional<double> sessions_per_s, requests_per_s;
  std::vector<ArrivalRate> rates;      // starts at 0; times ascend
  std::optional<double> period_s;      // `rates` repeat after this time; absent: the last rate never ends
  double cv = 1;                       // gamma: coefficient of variation of the gaps between sessions
  std::optional<int64_t> concurrency;  // closed_loop: how many sessions are active at any time
  // closed_loop: sessions per round; a round begins when all sessions of the previous one have ended. Absent:
  // no rounds.
  std::optional<int64_t> round_sessions;
  // closed_loop: the first answer of each session that begins at 0 is cut to a uniformly drawn share, so that
  // equal requests do not run in lockstep.
  bool staggered = false;
  // trace: factor on the trace's session rate. Times within a session do not change.
  double speed = 1;
};

constexpr bool draws_gaps(ArrivalProcess process) {
  return process != ArrivalProcess::trace && process != ArrivalProcess::closed_loop;
}

// Time between the end of an answer and the session's next turn.
struct ThinkTimeOptions {
  ThinkDistribution distribution = ThinkDistribution::automatic;
  double mean_s = 30;
  double cv = 1;  // lognormal
};

// Retries after a timeout: the client sends the request again, at most `count` times. Before retry n it waits
// for backoff_s x multiplier^(n - 1), at most max_backoff_s, reduced by a random share of up to `jitter`. The
// defaults, except `count`, are those of OpenAI's Python client (openai 1.x, _base_client.py: 0.5 s, doubled,
// at most 8 s, times 0.75 to 1), which retries twice.
struct RetryOptions {
  int64_t count = 0;
  double backoff_s = 0.5;
  double multiplier = 2;
  double max_backoff_s = 8;
  double jitter = 0.25;
};

// Requests of `share` / (sum of all shares) of the sessions have this priority. Lower values are served
// first.
struct PriorityShare {
  double share = 0;
  int64_t priority = 0;
};
inline constexpr int64_t kMostPriority = 1000;

// Turns that metrics of latencies and hits exclude: the first warmup_turns, those that MSER finds
// (metrics/statistics/warmup.h), or those that arrive outside the steady window
// (metrics/statistics/stability.h).
enum class Warmup : uint8_t { turns, automatic, steady };
inline constexpr std::string_view kWarmupNames[] = {"turns", "auto", "steady"};
constexpr Names names_of(Warmup) { return kWarmupNames; }
// Time span over which rates, utilizations and prices per token are taken: the steady window, or the run from
// the first arrival to the last answer. automatic: the run if a trace sets the arrivals of sessions, else the
// steady window.
enum class RatesOver : uint8_t { automatic, steady, run };
inline constexpr std::string_view kRatesOverNames[] = {"auto", "steady", "run"};
constexpr Names names_of(RatesOver) { return kRatesOverNames; }
// Number of sessions of a run. fixed: `sessions`; steady: `sessions`, doubled until it is clear whether the
// machine sustains the load.
enum class RunLength : uint8_t { fixed, steady };
inline constexpr std::string_view kRunLengthNames[] = {"fixed", "steady"};
constexpr Names names_of(RunLength) { return kRunLengthNames; }

struct WorkloadOptions {
  SourceOptions source;
  ArrivalOptions arrivals;
  ThinkTimeOptions think_time;
  std::optional<double> client_timeout_s;  // from sending a request to its last token; absent: no timeout
  std::optional<RetryOptions> retries;     // after timeouts; absent: none
  std::vector<PriorityShare> priorities;   // drawn per session; empty: all 0
  std::optional<int64_t>
      sessions;  // absent: all sessions of a file, all queries of rag, kDefaultSessions of other generators
  int64_t warmup_turns = 0;  // first turns by arrival, left out of the metrics
  Warmup warmup = Warmup::turns;
  RatesOver rates_over = RatesOver::automatic;
  RunLength run_length = RunLength::fixed;
  bool warm_start = false;  // contexts are in the store before the first arrival
};

}  // namespace kvcap
