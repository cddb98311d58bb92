// Where a workload comes from and how its sessions arrive.
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
// What a turn finds before its new tokens: the session's context and the turns that it builds on (grow), or
// the context alone (context: L-Eval asks every question on the bare document). automatic: what the session
// says; else context for sessions that have one, grow for the others.
enum class History : uint8_t { automatic, grow, context };
inline constexpr std::string_view kHistoryNames[] = {"automatic", "grow", "context"};
constexpr Names names_of(History) { return kHistoryNames; }
// What the input length of a session's later turn counts: the turn's own tokens, or its whole prompt with the
// history in it. automatic: what the format's own definition says (input_meaning.h).
enum class InputIs : uint8_t { automatic, new_tokens, whole_prompt };
inline constexpr std::string_view kInputIsNames[] = {"automatic", "new_tokens", "whole_prompt"};
constexpr Names names_of(InputIs) { return kInputIsNames; }
// even: as many sessions as the rate means, at dates drawn evenly.
enum class ArrivalProcess : uint8_t { poisson, gamma, constant, even, trace, closed_loop };
inline constexpr std::string_view kArrivalProcessNames[] = {"poisson", "gamma", "constant",
                                                            "even",    "trace", "closed_loop"};
constexpr Names names_of(ArrivalProcess) { return kArrivalProcessNames; }
// automatic: recorded where the source says think times, else constant. recorded: what the source says, from
// the answer to the next turn; constant where it says none. timetable: turns arrive as long after their
// session's first one as the source says, or when their parent is answered if that is later.
enum class ThinkDistribution : uint8_t { automatic, constant, exponential, lognormal, recorded, timetable };
inline constexpr std::string_view kThinkDistributionNames[] = {"auto",      "constant", "exponential",
                                                               "lognormal", "recorded", "timetable"};
constexpr Names names_of(ThinkDistribution) { return kThinkDistributionNames; }

struct SourceOptions {
  std::string kind = "chat";  // a name in the table of sources (sources_table.h)
  std::string path;           // of the readers: a file, plain or gzip
  std::string stand_in;       // session JSONL that is read where there is no such file; empty: none
  bool stands_in = false;     // `path` is the stand-in
  BadRow on_bad_row = BadRow::error;
  History history = History::automatic;
  // csv, jsonl: which column holds what, "arrival=timestamp,input=prompt_tokens" (log_columns.h); empty:
  // columns of our own names.
  std::string columns;
  InputIs input_is = InputIs::automatic;
  std::string token_counts;  // sharegpt: JSONL of exact counts (traces/README.md); empty: estimated
  // mooncake, vllm: tokens of the block that one of hash_ids stands for (absent: 512; vllm: 16).
  std::optional<int64_t> block_tokens;
  std::string hash_ids;  // vllm: JSONL of the requests' blocks (traces/README.md); empty: none
  // long_context: sub-tasks separated by commas (empty: all), how many documents there are (absent: as many
  // as the sub-tasks have in L-Eval).
  std::string tasks;
  std::optional<int64_t> documents;
  // Exponent of the popularity of long_context's documents (absent: 1) and rag's chunks (absent: 0): weight
  // k^-alpha for the k-th.
  std::optional<double> zipf_alpha;
  // few_shot: HyperInfer's data set, how many prefixes it has, the length at which they are cut, and the
  // standard deviation of their reuse, in prefixes. Absent, here and for rag: traces/*.json.
  std::string dataset = "rte";
  std::optional<int64_t> prefixes;
  int64_t max_prefix_tokens = 10000;
  std::optional<double> reuse_sigma;
  // rag: queries, paraphrases of each, chunks that one retrieves, their size, how many there are (absent: as
  // many as base queries retrieve), the probability that a paraphrase retrieves a chunk of its base query,
  // and the mean length of a question.
  std::optional<int64_t> base_queries, paraphrases, chunks, chunk_tokens, corpus_chunks;
  std::optional<double> overlap, question_tokens;

  // random: of a prompt without its shared prefix, at most (shortest_share of it at least), likewise of its
  // answer; its prefix, of which there are `prefixes` (absent: 1); how many prompts there are that come again
  // and again (absent: none does), in the order of their numbers or in one that is drawn once.
  int64_t input_tokens = 1024, output_tokens = 128;
  double shortest_share = 1;
  int64_t prefix_tokens = 0;
  std::optional<int64_t> prompts;
  bool shuffled = false;

  // weka: conversations whose tools and system prompts have equally many tokens begin with the same text,
  // whatever session they are of.
  bool shared_tools = false;
  // agents: a prompt that would be longer is compacted. Absent: as in traces/agents.json.
  std::optional<int64_t> max_prompt_tokens;
};

// The rate from a time on: exactly one of the two, until the next one's time.
struct ArrivalRate {
  double from_s = 0;
  std::optional<double> sessions_per_s, requests_per_s;
  bool ramp = false;  // the rate changes linearly to the next one
};

inline constexpr double kDefaultSessions_per_s = 0.1;

// The rate of poisson, gamma and constant is one of sessions_per_s, requests_per_s (turns) and `rates`; where
// none is given, kDefaultSessions_per_s.
struct ArrivalOptions {
  ArrivalProcess process = ArrivalProcess::poisson;
  std::optional<double> sessions_per_s, requests_per_s;
  std::vector<ArrivalRate> rates;      // the first from 0 on, times ascend
  std::optional<double> period_s;      // after which `rates` repeat; absent: the last one has no end
  double cv = 1;                       // gamma: coefficient of variation of the gaps between sessions
  std::optional<int64_t> concurrency;  // closed_loop: sessions that are active at any time
  // closed_loop: so many sessions are a round, and none begins before all of the last one have ended (absent:
  // no rounds); the first answer of each place is cut short, evenly from none to whole, so that equal
  // requests do not keep in step.
  std::optional<int64_t> round_sessions;
  bool staggered = false;
  // trace: sessions begin at so many times the trace's rate. What happens inside a session keeps its pace.
  double speed = 1;
};

constexpr bool draws_gaps(ArrivalProcess process) {
  return process != ArrivalProcess::trace && process != ArrivalProcess::closed_loop;
}

// Time between the end of an answer and the next turn of the session.
struct ThinkTimeOptions {
  ThinkDistribution distribution = ThinkDistribution::automatic;
  double mean_s = 30;
  double cv = 1;  // lognormal
};

// What a client does about an answer that takes too long: it sends the request again, `count` times at most.
// The n-th time it waits before that for backoff_s x multiplier^(n - 1), at most max_backoff_s, of which
// chance takes off up to the share `jitter`. The defaults but `count` are those of OpenAI's Python client
// (openai 1.x, _base_client.py: 0.5 s, doubled, at most 8 s, times 0.75 to 1), which retries twice.
struct RetryOptions {
  int64_t count = 0;
  double backoff_s = 0.5;
  double multiplier = 2;
  double max_backoff_s = 8;
  double jitter = 0.25;
};

// What is left out of latencies and hits: warmup_turns, what MSER finds (metrics/statistics/warmup.h), or the
// turns that arrive outside of the steady window (metrics/statistics/stability.h).
enum class Warmup : uint8_t { turns, automatic, steady };
inline constexpr std::string_view kWarmupNames[] = {"turns", "auto", "steady"};
constexpr Names names_of(Warmup) { return kWarmupNames; }
// What rates, utilizations and prices per token cover: the steady window, or the run from the first arrival
// to the last answer. automatic: the run where a trace says when sessions begin, else the steady window.
enum class RatesOver : uint8_t { automatic, steady, run };
inline constexpr std::string_view kRatesOverNames[] = {"auto", "steady", "run"};
constexpr Names names_of(RatesOver) { return kRatesOverNames; }
// How many sessions there are: `sessions`, or twice as many as often as it takes to tell whether the machine
// serves them in the long run.
enum class RunLength : uint8_t { fixed, steady };
inline constexpr std::string_view kRunLengthNames[] = {"fixed", "steady"};
constexpr Names names_of(RunLength) { return kRunLengthNames; }

struct WorkloadOptions {
  SourceOptions source;
  ArrivalOptions arrivals;
  ThinkTimeOptions think_time;
  std::optional<double> client_timeout_s;  // from sending a request to its last token; absent: none
  std::optional<RetryOptions> retries;     // of requests that timed out; absent: none
  std::optional<int64_t> sessions;  // absent: all lines of the source (generated: 1,000, all queries of rag)
  int64_t warmup_turns = 0;         // the first turns by arrival, left out of the metrics
  Warmup warmup = Warmup::turns;
  RatesOver rates_over = RatesOver::automatic;
  RunLength run_length = RunLength::fixed;
  bool warm_start = false;  // contexts lie in the store before the first arrival
};

}  // namespace kvcap
