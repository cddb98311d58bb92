// The fields of `workload`: source, arrivals, think times, clients.
#include "scenario/fields/specs.h"
#include "workload/sources_table.h"

namespace kvcap {

using namespace field_specs;

// Returns "the format of a file, or a generator (chat, ...)".
static std::string_view kind_meaning() {
  static const std::string meaning = [] {
    std::string generators;
    for (const SourceRow& row : source_table()) {
      if (row.is_generated) generators += (generators.empty() ? "" : ", ") + std::string(row.name);
    }
    return "the format of a file, or a generator (" + generators + "): traces/formats.md";
  }();
  return meaning;
}

constexpr std::string_view kInRagTable = "as in traces/rag.json";

static std::string_view block_tokens_default() {
  static const std::string text = "mooncake: " + std::to_string(kMooncakeBlockTokens);
  return text;
}

static void describe(FieldVisitor& v, SourceOptions& o) {
  v.field("kind", o.kind, {.meaning = kind_meaning(), .required = true, .allowed = source_names()});
  v.field(
      "path", o.path,
      {.meaning = "the file, plain or gzip; relative to this one, or $KVCAP_DATA/... for a file of the data "
                  "folder (scenarios/data.md)"});
  v.field(
      "stand_in", o.stand_in,
      {.meaning = "session JSONL that is read, with a note, where there is no file at path; empty: none"});
  v.field("on_bad_row", o.on_bad_row, {.meaning = "stop, or count and go on"});
  v.field(
      "history", o.history,
      {.meaning = "what a turn builds on: context and earlier turns (grow), or the session's context alone"});
  v.field("columns", o.columns,
          {.meaning = "csv, jsonl: which column holds what, as in arrival=timestamp,input=prompt_tokens,"
                      "output=completion_tokens,session=conversation_id; also ttft, e2el, prompt, id; empty: "
                      "arrival_s, input_tokens, output_tokens, session, ..."});
  v.field("input_is", o.input_is,
          {.meaning = "what the input length of a session's later turn counts: its new tokens, or the whole "
                      "prompt with the history; automatic: what the format says (traces/formats.md)"});
  v.field("token_counts", o.token_counts,
          {.meaning = "sharegpt: JSONL of exact token counts; without it they are estimated"});
  v.field("block_tokens", o.block_tokens,
          {.meaning = "mooncake, vllm, bailian, lmcache_agent: size of a block of hash_ids",
           .unit = "tokens",
           .min = 1,
           .max = 65536,
           .absent = block_tokens_default(),
           .fallback = kEngineBlockTokens});
  v.field("hash_ids", o.hash_ids,
          {.meaning = "vllm: JSONL of the requests' blocks; without it no prompt shares any"});
  v.field("tasks", o.tasks,
          {.meaning = "long_context: sub-tasks of L-Eval, separated by commas; empty: all"});
  v.field("documents", o.documents,
          {.meaning = "long_context: how many there are",
           .min = 1,
           .max = kMaxCount,
           .absent = "as many as the sub-tasks have in L-Eval"});
  v.field("zipf_alpha", o.zipf_alpha,
          {.meaning = "long_context, rag: the k-th document's or chunk's popularity is k^-zipf_alpha",
           .min = 0,
           .max = 10,
           .absent = "rag: as in traces/rag.json",
           .fallback = kLongContextZipfAlpha});
  v.field("dataset", o.dataset, {.meaning = "few_shot: piqa, rte, copa or openbookqa"});
  v.field("prefixes", o.prefixes,
          {.meaning = "few_shot, random: how many there are that prompts share",
           .min = 1,
           .max = kMaxCount,
           .absent = "few_shot: as in traces/few_shot.json",
           .fallback = kRandomPrefixes});
  v.field("max_prefix_tokens", o.max_prefix_tokens,
          {.meaning = "few_shot: where prefixes are cut", .unit = "tokens", .min = 1, .max = kMaxCount});
  v.field("reuse_sigma", o.reuse_sigma,
          {.meaning = "few_shot: standard deviation of the prefixes' reuse",
           .unit = "prefixes",
           .min = 1e-3,
           .max = kMaxCount,
           .absent = "as in traces/few_shot.json, in proportion to prefixes"});
  v.field("base_queries", o.base_queries,
          {.meaning = "rag: different ones", .min = 1, .max = 100000, .absent = kInRagTable});
  v.field("paraphrases", o.paraphrases,
          {.meaning = "rag: of each base query", .min = 0, .max = 100, .absent = kInRagTable});
  v.field("chunks", o.chunks,
          {.meaning = "rag: that a query retrieves", .min = 1, .max = 100, .absent = kInRagTable});
  v.field("chunk_tokens", o.chunk_tokens,
          {.meaning = "rag: of one chunk", .unit = "tokens", .min = 1, .max = 65536, .absent = kInRagTable});
  v.field("corpus_chunks", o.corpus_chunks,
          {.meaning = "rag: chunks there are", .min = 1, .max = 1e7, .absent = "base_queries x chunks"});
  v.field("overlap", o.overlap,
          {.meaning = "rag: probability that a paraphrase retrieves a chunk of its base query",
           .min = 0,
           .max = 1,
           .absent = kInRagTable});
  v.field("question_tokens", o.question_tokens,
          {.meaning = "rag: mean length of a question",
           .unit = "tokens",
           .min = 1,
           .max = kMaxCount,
           .absent = kInRagTable});
  v.field("input_tokens", o.input_tokens,
          {.meaning = "random: of a prompt beyond its shared prefix, at most",
           .unit = "tokens",
           .min = 1,
           .max = kMaxCount});
  v.field("output_tokens", o.output_tokens,
          {.meaning = "random: of an answer, at most", .unit = "tokens", .min = 1, .max = kMaxCount});
  v.field("shortest_share", o.shortest_share,
          {.meaning = "random: lengths are even from this share of the longest to all of it",
           .min = 0,
           .max = 1});
  v.field("prefix_tokens", o.prefix_tokens,
          {.meaning = "random: that prompts share in front; there are `prefixes` of them",
           .unit = "tokens",
           .min = 0,
           .max = kMaxCount});
  v.field("prompts", o.prompts,
          {.meaning = "random: how many there are, which come again and again",
           .min = 1,
           .max = kMaxCount,
           .absent = "none comes again"});
  v.field("shuffled", o.shuffled, {.meaning = "random: prompts come in an order that is drawn once"});
  v.field("shared_tools", o.shared_tools,
          {.meaning = "weka: tools and system prompts of equal size are the same text in all sessions"});
  v.field("max_prompt_tokens", o.max_prompt_tokens,
          {.meaning = "agents: the agent compacts a prompt before it grows beyond",
           .unit = "tokens",
           .min = 32768,
           .max = kMaxCount,
           .absent = "as in traces/agents.json"});
  for (const SourceRow& row : source_table()) {
    if (!row.is_generated) v.needs("kind", row.name, "path");
  }
}

static void describe(FieldVisitor& v, ArrivalRate& o) {
  v.field("from_s", o.from_s,
          {.meaning = "when this rate begins; the first one at 0",
           .unit = "s",
           .min = 0,
           .max = kMaxYears_s,
           .required = true});
  v.field("sessions_per_s", o.sessions_per_s, not_negative("new sessions", "1/s", "requests_per_s says"));
  v.field("requests_per_s", o.requests_per_s, not_negative("requests (turns)", "1/s", "sessions_per_s says"));
  v.field("ramp", o.ramp, {.meaning = "true: the rate changes linearly to the next one"});
}

static void describe(FieldVisitor& v, ArrivalOptions& o) {
  v.field("process", o.process,
          {.meaning = "gaps between sessions; even: as many as the rate means, at dates drawn evenly; trace: "
                      "arrival_s of the file; closed_loop: a session begins when another one ends"});
  v.field("sessions_per_s", o.sessions_per_s,
          positive_or_absent("rate of new sessions", "1/s", "requests_per_s or rates says",
                             kDefaultSessions_per_s));
  v.field("requests_per_s", o.requests_per_s,
          positive_or_absent("rate of requests: sessions_per_s x mean turns of a session", "1/s",
                             "sessions_per_s or rates says"));
  v.field("rates", o.rates, {.meaning = "a rate that changes, in place of sessions_per_s"});
  v.field("period_s", o.period_s,
          positive_or_absent("after which rates repeat: 86400 for a day", "s", "the last rate has no end"));
  v.field("cv", o.cv, variation("coefficient of variation: gamma"));
  v.field("concurrency", o.concurrency,
          {.meaning = "closed_loop: sessions that are active at any time",
           .unit = "sessions",
           .min = 1,
           .max = kMaxCount,
           .absent = "required with closed_loop"});
  v.field("round_sessions", o.round_sessions,
          {.meaning = "closed_loop: sessions per round; no session begins before all sessions of the last "
                      "round have ended",
           .unit = "sessions",
           .min = 1,
           .max = kMaxCount,
           .absent = "there are no rounds"});
  v.field(
      "staggered", o.staggered,
      {.meaning = "closed_loop: the first answers are cut short, evenly from none to whole, so that equal "
                  "requests do not keep in step"});
  v.field("speed", o.speed,
          {.meaning = "trace: sessions begin at so many times the trace's rate; inside a session nothing is "
                      "faster",
           .min = 1e-6,
           .max = 1e6});
  v.needs("process", "closed_loop", "concurrency");
}

static void describe(FieldVisitor& v, ThinkTimeOptions& o) {
  v.field("distribution", o.distribution,
          {.meaning = "of the time between an answer and the next turn; recorded: as the source says; "
                      "timetable: turns at the source's times after their session's first; auto: recorded "
                      "where the source says any, else constant"});
  v.field("mean_s", o.mean_s, not_negative("its mean", "s"));
  v.field("cv", o.cv, variation("coefficient of variation: lognormal"));
}

static void describe(FieldVisitor& v, RetryOptions& o) {
  v.field("count", o.count,
          {.meaning = "how often a client sends a request again (OpenAI's client: 2)",
           .min = 0,
           .max = 1000,
           .required = true});
  v.field("backoff_s", o.backoff_s, not_negative("before it does so for the first time", "s"));
  v.field("multiplier", o.multiplier, {.meaning = "each backoff over the one before", .min = 1, .max = 100});
  v.field("max_backoff_s", o.max_backoff_s, not_negative("but no longer", "s"));
  v.field("jitter", o.jitter, {.meaning = "share of it that chance takes off at most", .min = 0, .max = 1});
}

void describe(FieldVisitor& v, WorkloadOptions& o) {
  v.field("source", o.source, {.meaning = "what the sessions are", .required = true});
  v.field("arrivals", o.arrivals, {.meaning = "when sessions begin"});
  v.field("think_time", o.think_time, {.meaning = "how long users take"});
  v.field("client_timeout_s", o.client_timeout_s,
          positive_or_absent("a client gives a request up so long after it has sent it, unless it has the "
                             "last token; the engine drops it before its next step (OpenAI's client: 600)",
                             "s", "clients wait for ever"));
  v.field("retries", o.retries,
          {.meaning = "what clients do then: they send the request again; after the last retry it has "
                      "failed, and its session ends",
           .absent = "none",
           .shorthand = "count"});
  v.field("sessions", o.sessions,
          {.meaning = "how many",
           .min = 1,
           .max = 1e8,
           .absent = "all of the file, all queries of rag",
           .fallback = kDefaultSessions});
  v.field("warmup_turns", o.warmup_turns,
          {.meaning = "first turns, left out of the metrics", .unit = "turns", .min = 0, .max = 1e9});
  v.field("warmup", o.warmup,
          {.meaning = "what is left out of latencies and hits: the first warmup_turns, what MSER-5 finds in "
                      "the TTFTs, or what arrives outside of the steady window"});
  v.field("rates_over", o.rates_over,
          {.meaning = "what rates, utilizations and prices per token cover: the steady window or the run; "
                      "auto: the run of a trace's arrivals, else the steady window"});
  v.field("run_length", o.run_length,
          {.meaning = "sessions as they are, or doubled until it is clear whether the machine serves them"});
  v.field("warm_start", o.warm_start, {.meaning = "contexts are stored before the first arrival"});
}

}  // namespace kvcap
