// The fields of `workload`: source, arrivals, think times, clients.
#include "scenario/fields/specs.h"
#include "workload/generators/agents.h"
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
    return "format of a file, or a generator (" + generators + "): traces/formats.md";
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
  v.field("path", o.path,
          {.meaning = "file of the sessions, plain or gzip; relative to the scenario, or $KVCAP_DATA/... for "
                      "a file in the data folder (scenarios/data.md)"});
  v.field("stand_in", o.stand_in,
          {.meaning = "session JSONL that replaces a missing file at path, with a note; empty: none"});
  v.field("on_bad_row", o.on_bad_row, {.meaning = "bad rows: stop with an error, or count and skip them"});
  v.field("history", o.history,
          {.meaning = "history of a turn: the session's context and earlier turns (grow), or the context "
                      "alone (context)"});
  v.field("columns", o.columns,
          {.meaning = "csv, jsonl: names of columns, as in arrival=timestamp,input=prompt_tokens,"
                      "output=completion_tokens,session=conversation_id; also ttft, e2el, prompt, id; empty: "
                      "arrival_s, input_tokens, output_tokens, session, ..."});
  v.field("input_is", o.input_is,
          {.meaning = "meaning of the input length of later turns: new tokens, or the whole prompt including "
                      "the history; automatic: as defined by the format (traces/formats.md)"});
  v.field("token_counts", o.token_counts,
          {.meaning = "sharegpt: JSONL with exact token counts; empty: counts are estimated"});
  v.field("block_tokens", o.block_tokens,
          {.meaning = "mooncake, vllm, bailian, lmcache_agent: size of a block of hash_ids",
           .unit = "tokens",
           .min = 1,
           .max = 65536,
           .absent = block_tokens_default(),
           .fallback = kEngineBlockTokens});
  v.field("hash_ids", o.hash_ids,
          {.meaning = "vllm: JSONL with the requests' block hashes; empty: prompts share no blocks"});
  v.field("tasks", o.tasks,
          {.meaning = "long_context: sub-tasks of L-Eval, separated by commas; empty: all"});
  v.field("documents", o.documents,
          {.meaning = "long_context: number of documents",
           .min = 1,
           .max = kMaxCount,
           .absent = "their number in the sub-tasks of L-Eval"});
  v.field(
      "zipf_alpha", o.zipf_alpha,
      {.meaning =
           "long_context, rag: Zipf exponent; the k-th document or chunk has the popularity k^-zipf_alpha",
       .min = 0,
       .max = 10,
       .absent = "rag: as in traces/rag.json",
       .fallback = kLongContextZipfAlpha});
  v.field("dataset", o.dataset, {.meaning = "few_shot: data set; piqa, rte, copa or openbookqa"});
  v.field("prefixes", o.prefixes,
          {.meaning = "few_shot, random: number of different shared prefixes",
           .min = 1,
           .max = kMaxCount,
           .absent = "few_shot: as in traces/few_shot.json",
           .fallback = kRandomPrefixes});
  v.field("max_prefix_tokens", o.max_prefix_tokens,
          {.meaning = "few_shot: maximum length of a prefix; longer ones are cut",
           .unit = "tokens",
           .min = 1,
           .max = kMaxCount});
  v.field("reuse_sigma", o.reuse_sigma,
          {.meaning = "few_shot: standard deviation of the reuse, which is normal over the prefixes",
           .unit = "prefixes",
           .min = 1e-3,
           .max = kMaxCount,
           .absent = "as in traces/few_shot.json, in proportion to prefixes"});
  v.field("base_queries", o.base_queries,
          {.meaning = "rag: number of base queries", .min = 1, .max = 100000, .absent = kInRagTable});
  v.field("paraphrases", o.paraphrases,
          {.meaning = "rag: paraphrases of each base query", .min = 0, .max = 100, .absent = kInRagTable});
  v.field("chunks", o.chunks,
          {.meaning = "rag: chunks that a query retrieves", .min = 1, .max = 100, .absent = kInRagTable});
  v.field(
      "chunk_tokens", o.chunk_tokens,
      {.meaning = "rag: size of a chunk", .unit = "tokens", .min = 1, .max = 65536, .absent = kInRagTable});
  v.field("corpus_chunks", o.corpus_chunks,
          {.meaning = "rag: chunks of the corpus", .min = 1, .max = 1e7, .absent = "base_queries x chunks"});
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
          {.meaning = "random: maximum length of a prompt without its shared prefix",
           .unit = "tokens",
           .min = 1,
           .max = kMaxCount});
  v.field("output_tokens", o.output_tokens,
          {.meaning = "random: maximum length of an answer", .unit = "tokens", .min = 1, .max = kMaxCount});
  v.field("shortest_share", o.shortest_share,
          {.meaning = "random: shortest length over the longest; lengths are uniform between them",
           .min = 0,
           .max = 1});
  v.field("prefix_tokens", o.prefix_tokens,
          {.meaning = "random: length of the shared prefixes", .unit = "tokens", .min = 0, .max = kMaxCount});
  v.field("prompts", o.prompts,
          {.meaning = "random: number of different prompts, which repeat",
           .min = 1,
           .max = kMaxCount,
           .absent = "no prompt repeats"});
  v.field("shuffled", o.shuffled, {.meaning = "random: prompts have a random order, drawn once"});
  v.field("shared_tools", o.shared_tools,
          {.meaning = "weka, agents: equal sets of tools are the same text in all sessions"});
  v.field("max_prompt_tokens", o.max_prompt_tokens,
          {.meaning = "agents: maximum length of a prompt; the agent compacts longer ones",
           .unit = "tokens",
           .min = kLeastAgentPrompt_tokens,
           .max = kMaxCount,
           .absent = "as in traces/agents.json"});
  for (const SourceRow& row : source_table()) {
    if (!row.is_generated) v.needs("kind", row.name, "path");
  }
}

static void describe(FieldVisitor& v, ArrivalRate& o) {
  v.field("from_s", o.from_s,
          {.meaning = "start of this rate; 0 for the first one",
           .unit = "s",
           .min = 0,
           .max = kMaxYears_s,
           .required = true});
  v.field("sessions_per_s", o.sessions_per_s,
          not_negative("rate of new sessions", "1/s", "from requests_per_s"));
  v.field("requests_per_s", o.requests_per_s,
          not_negative("rate of requests (turns)", "1/s", "from sessions_per_s"));
  v.field("ramp", o.ramp, {.meaning = "the rate changes linearly to the next one"});
}

static void describe(FieldVisitor& v, ArrivalOptions& o) {
  v.field("process", o.process,
          {.meaning =
               "arrival process of sessions. even: uniformly drawn times, exactly as many as the rate "
               "implies; trace: arrival_s of the file; closed_loop: a session begins when another one ends"});
  v.field("sessions_per_s", o.sessions_per_s,
          positive_or_absent("rate of new sessions", "1/s", "from requests_per_s or rates",
                             kDefaultSessions_per_s));
  v.field("requests_per_s", o.requests_per_s,
          positive_or_absent("rate of requests, which is sessions_per_s x mean turns of a session", "1/s",
                             "from sessions_per_s or rates"));
  v.field("rates", o.rates, {.meaning = "rates that change over time, in place of sessions_per_s"});
  v.field("period_s", o.period_s,
          positive_or_absent("period after which rates repeat; 86400 for a day", "s",
                             "the last rate lasts to the end"));
  v.field("cv", o.cv, variation("gamma: coefficient of variation of the gaps"));
  v.field("concurrency", o.concurrency,
          {.meaning = "closed_loop: number of active sessions",
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
           .absent = "no rounds"});
  v.field("staggered", o.staggered,
          {.meaning = "closed_loop: the first answers have uniformly random lengths, so that equal requests "
                      "do not run in step"});
  v.field("speed", o.speed,
          {.meaning = "trace: factor on the rate of sessions; times within a session do not change",
           .min = 1e-6,
           .max = 1e6});
  v.needs("process", "closed_loop", "concurrency");
}

static void describe(FieldVisitor& v, ThinkTimeOptions& o) {
  v.field("distribution", o.distribution,
          {.meaning = "time between an answer and the next turn. recorded: that of the source; timetable: "
                      "turns keep the source's times after the first turn of the session; auto: recorded if "
                      "the source has think times, else constant"});
  v.field("mean_s", o.mean_s, not_negative("mean think time", "s"));
  v.field("cv", o.cv, variation("lognormal: coefficient of variation"));
}

static void describe(FieldVisitor& v, RetryOptions& o) {
  v.field("count", o.count,
          {.meaning = "maximum number of retries of a request (OpenAI's client: 2)",
           .min = 0,
           .max = 1000,
           .required = true});
  v.field("backoff_s", o.backoff_s, not_negative("wait before the first retry", "s"));
  v.field("multiplier", o.multiplier, {.meaning = "factor from one wait to the next", .min = 1, .max = 100});
  v.field("max_backoff_s", o.max_backoff_s, not_negative("maximum wait before a retry", "s"));
  v.field("jitter", o.jitter,
          {.meaning = "largest random reduction of a wait, as a share of the wait", .min = 0, .max = 1});
}

static void describe(FieldVisitor& v, PriorityShare& o) {
  v.field("share", o.share,
          {.meaning = "share of the sessions, over the sum of all shares",
           .min = kMinShare,
           .max = kMaxCount,
           .required = true});
  v.field("priority", o.priority,
          {.meaning = "priority of their requests; lower values are served first",
           .min = 0,
           .max = kMostPriority,
           .required = true});
}

void describe(FieldVisitor& v, WorkloadOptions& o) {
  v.field("source", o.source, {.meaning = "source of the sessions", .required = true});
  v.field("arrivals", o.arrivals, {.meaning = "arrivals of sessions"});
  v.field("think_time", o.think_time, {.meaning = "think times between turns"});
  v.field("client_timeout_s", o.client_timeout_s,
          positive_or_absent("timeout of a request, from sending it to its last token; the engine drops it "
                             "before its next step (OpenAI's client: 600)",
                             "s", "no timeout"));
  v.field(
      "retries", o.retries,
      {.meaning = "retries after timeouts; after the last one the request has failed and its session ends",
       .absent = "none",
       .shorthand = "count"});
  v.field("priorities", o.priorities,
          {.meaning = "priorities of requests, drawn per session; empty: all 0 "
                      "(serving.scheduling_policy=priority uses them)"});
  v.field("sessions", o.sessions,
          {.meaning = "number of sessions",
           .min = 1,
           .max = 1e8,
           .absent = "all of the file, all queries of rag",
           .fallback = kDefaultSessions});
  v.field("warmup_turns", o.warmup_turns,
          {.meaning = "first turns that metrics exclude", .unit = "turns", .min = 0, .max = 1e9});
  v.field("warmup", o.warmup,
          {.meaning = "turns that latencies and hits exclude: the first warmup_turns (turns), those that "
                      "MSER-5 finds in the TTFTs (auto), or arrivals outside the steady window (steady)"});
  v.field("rates_over", o.rates_over,
          {.meaning = "time span of rates, utilizations and prices per token: the steady window or the run; "
                      "auto: the run with arrivals of a trace, else the steady window"});
  v.field("run_length", o.run_length,
          {.meaning = "fixed: `sessions`; steady: doubled until the run shows whether the load is stable"});
  v.field("warm_start", o.warm_start, {.meaning = "contexts are already stored at the first arrival"});
}

}  // namespace kvcap
