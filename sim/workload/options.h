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
// What precedes a turn's new tokens in its prompt. grow: the session's context, then the inputs and answers
// of the turn's ancestors. context: the context alone (L-Eval asks every question about the bare document).
// automatic: the session's own setting; a session without one has `context` if it has a context, else `grow`.
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
// their session's first turn, but never arrive before their parent is answered.
enum class ThinkDistribution : uint8_t { automatic, constant, exponential, lognormal, recorded, timetable };
inline constexpr std::string_view kThinkDistributionNames[] = {"auto",      "constant", "exponential",
                                                               "lognormal", "recorded", "timetable"};
constexpr Names names_of(ThinkDistribution) { return kThinkDistributionNames; }

struct SourceOptions {
  std::string kind = "chat";  // a name in the table of sources (sources_table.h)
  std::string path;           // readers only: the file, plain or gzip
  std::string stand_in;       // session JSONL to read if the file `path` is missing; empty: none
  bool stands_in = false;     // the loader has replaced `path` by the stand-in
  BadRow on_bad_row = BadRow::error;
  History history = History::automatic;
  // csv, jsonl: the column of each field, as in "arrival=timestamp,input=prompt_tokens" (log_columns.h);
  // empty: kvcap's own column names.
  std::string columns;
  InputIs input_is = InputIs::automatic;
  std::string token_counts;  // sharegpt: JSONL of exact counts (traces/formats.md); empty: estimates
  // Tokens per block of hash_ids; absent: kMooncakeBlockTokens or kEngineBlockTokens, depending on `kind`.
  std::optional<int64_t> block_tokens;
  std::string hash_ids;  // vllm: JSONL of the requests' blocks (traces/formats.md); empty: no blocks
  // long_context: names of sub-tasks separated by commas (empty: all), and the number of documents (absent:
  // as many as these sub-tasks have in L-Eval).
  std::string tasks;
  std::optional<int64_t> documents;
  // Zipf exponent of the popularity of long_context's documents and rag's chunks: the item of rank k has the
  // weight k^-alpha.
  std::optional<double> zipf_alpha;
  // few_shot: one of HyperInfer's data sets, the number of prefixes, and the length at which prefixes are
  // cut. The reuse of prefixes is normally distributed over their indices, with the standard deviation
  // reuse_sigma, in prefixes. Absent options of few_shot and rag take their defaults from
  // traces/few_shot.json and traces/rag.json.
  std::string dataset = "rte";
  std::optional<int64_t> prefixes;
  int64_t max_prefix_tokens = 10000;
  std::optional<double> reuse_sigma;
  // rag: number of base queries, paraphrases per base query, chunks per query, tokens per chunk, chunks in
  // the corpus (absent: base_queries x chunks), probability that a paraphrase keeps a chunk of its base
  // query, and mean tokens of a question.
  std::optional<int64_t> base_queries, paraphrases, chunks, chunk_tokens, corpus_chunks;
  std::optional<double> overlap, question_tokens;

  // random: input_tokens is the maximum length of a prompt without its shared prefix, output_tokens that of
  // an answer; minimum lengths are shortest_share times the maximum. prefix_tokens is the length of a shared
  // prefix, `prefixes` the number of different prefixes. `prompts` is the number of different prompts, which
  // recur in order or, if shuffled, in one random order; absent: no prompt recurs.
  int64_t input_tokens = 1024, output_tokens = 128;
  double shortest_share = 1;
  int64_t prefix_tokens = 0;
  std::optional<int64_t> prompts;
  bool shuffled = false;

  // weka, agents: prompts with the same set of tools begin with the same text in all sessions. For weka, sets
  // are the same if the token counts of tools and of the system prompt are equal.
  bool shared_tools = false;
  // agents: prompts longer than this are compacted. Absent: as in traces/agents.json.
  std::optional<int64_t> max_prompt_tokens;
};

// Defaults of absent options. The defaults of few_shot, rag and agents are in traces/*.json.
inline constexpr int64_t kMooncakeBlockTokens = 512;
inline constexpr int64_t kEngineBlockTokens = 16;  // vllm, bailian, lmcache_agent
inline constexpr double kLongContextZipfAlpha = 1;
inline constexpr int64_t kRandomPrefixes = 1;

// Arrival rate from `from_s` until the next rate begins. Exactly one of sessions_per_s and requests_per_s is
// set.
struct ArrivalRate {
  double from_s = 0;
  std::optional<double> sessions_per_s, requests_per_s;
  bool ramp = false;  // the rate changes linearly to the next one
};

inline constexpr double kDefaultSessions_per_s = 0.1;
inline constexpr int64_t kDefaultSessions = 1000;  // number of generated sessions

// When sessions arrive. The rate of poisson, gamma, constant and even is set by at most one of
// sessions_per_s, requests_per_s (a request is a turn) and `rates`; if none is set, it is
// kDefaultSessions_per_s.
struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::poisson;
  std::optional<double> sessions_per_s, requests_per_s;
  std::vector<ArrivalRate> rates;      // starts at 0; times ascend
  std::optional<double> period_s;      // `rates` repeat after this time; absent: the last rate never ends
  double cv = 1;                       // gamma: coefficient of variation of the gaps between sessions
  std::optional<int64_t> concurrency;  // closed_loop: number of sessions active at any time
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

// Gives the requests of a fraction `share` / (sum of all shares) of the sessions this priority. Lower values
// are served first.
struct PriorityShare {
  double share = 0;
  int64_t priority = 0;
};
inline constexpr int64_t kMostPriority = 1000;

// Turns that metrics of latencies and hits exclude. turns: the first warmup_turns. automatic: the warm-up
// that MSER detects (metrics/statistics/warmup.h). steady: turns that arrive outside the steady window
// (metrics/statistics/stability.h).
enum class Warmup : uint8_t { turns, automatic, steady };
inline constexpr std::string_view kWarmupNames[] = {"turns", "auto", "steady"};
constexpr Names names_of(Warmup) { return kWarmupNames; }
// Time span over which rates, utilizations and prices per token are computed. steady: the steady window. run:
// from the first arrival to the last answer. automatic: run if a trace sets the arrivals of sessions, else
// steady.
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
  int64_t warmup_turns = 0;  // Warmup::turns: number of first turns, by arrival, to exclude
  Warmup warmup = Warmup::turns;
  RatesOver rates_over = RatesOver::automatic;
  RunLength run_length = RunLength::fixed;
  bool warm_start = false;  // contexts are in the store before the first arrival
};

}  // namespace kvcap
