#include "workload/sources_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "workload/readers/likely_columns.h"
#include "workload/readers/vllm_bench.h"

namespace kvcap {
namespace {

int64_t generated(const SourceRequest& request) { return request.sessions.value_or(kDefaultSessions); }

bool is_among(std::string_view key, std::span<const std::string> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

constexpr std::array kSources = {
    SourceRow{.name = "sessions",
              .summary = "kvcap's session JSONL",
              .has_arrivals = true,
              .think_times = ThinkTimes::some,
              .open =
                  [](const SourceRequest& request) {
                    return read_sessions(request.options, request.sessions, request.needs_arrivals);
                  }},
    SourceRow{
        .name = "chat",
        .summary = "chats with the turns and lengths of ShareGPT",
        .is_generated = true,
        .open =
            [](const SourceRequest& request) { return generate_chats(generated(request), request.seed); }},
    SourceRow{
        .name = "sharegpt",
        .summary = "ShareGPT's raw JSON or JSONL",
        .open = [](const SourceRequest& request) { return read_sharegpt(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              if (beginning.is_array && beginning.item_keys.empty()) return true;
              const std::vector<std::string>& keys =
                  beginning.is_array ? beginning.item_keys : beginning.keys;
              if (is_among("conversations", keys) || is_among("items", keys)) return true;
              // A request log may contain each request's messages and its token counts.
              return is_among("messages", keys) && !is_among("usage", keys) &&
                     !is_among("output_length", keys);
            }},
    SourceRow{
        .name = "leval",
        .summary = "L-Eval's raw JSONL",
        .open = [](const SourceRequest& request) { return read_leval(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_key("instructions"); }},
    SourceRow{.name = "long_context",
              .summary = "questions about documents, with the lengths of L-Eval",
              .is_generated = true,
              .open =
                  [](const SourceRequest& request) {
                    return generate_long_context(request.options, generated(request), request.seed);
                  }},
    SourceRow{
        .name = "weka",
        .summary = "coding agents' sessions of kv-cache-tester: blocks of prompts, sub-agents, think times",
        .think_times = ThinkTimes::all,
        .open = [](const SourceRequest& request) { return read_weka(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return beginning.has_keys({"block_size", "requests"});
            }},
    SourceRow{.name = "lmcache_agent",
              .summary = "agents' sessions of LMCache's trace: turns, times and blocks of prompts",
              .think_times = ThinkTimes::all,
              .open =
                  [](const SourceRequest& request) {
                    return read_lmcache_agent(request.options, request.sessions);
                  },
              .sniff =
                  [](const FileBeginning& beginning) {
                    return beginning.has_keys({"session", "hash_ids"});
                  }},
    SourceRow{.name = "agents",
              .summary = "coding agents with the prompts, growth and pauses of the Weka trace",
              .is_generated = true,
              .think_times = ThinkTimes::all,
              .open =
                  [](const SourceRequest& request) {
                    return generate_agents(request.options, generated(request), request.seed);
                  }},
    SourceRow{
        .name = "mooncake",
        .summary = "Mooncake's JSONL: arrivals, lengths and blocks of prompts; sessions with delays",
        .has_arrivals = true,
        .think_times = ThinkTimes::some,
        .open = [](const SourceRequest& request) { return read_mooncake(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return beginning.has_key("input_length") && !beginning.has_key("chat_id");
            }},
    SourceRow{
        .name = "vllm",
        .summary = "requests of a vLLM run as CSV, with a JSONL of their blocks",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_vllm(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return beginning.has_column("request_id") && beginning.has_column("arrival_s") &&
                     !beginning.has_column("session") && !beginning.has_column("e2el_s") &&
                     !beginning.has_column("prompt_id");
            }},
    SourceRow{.name = "vllm_bench",
              .summary = "result of vllm bench serve --save-detailed or SGLang's bench_serving "
                         "--output-details: arrivals, lengths, latencies",
              .has_arrivals = true,
              .input_is = InputIs::whole_prompt,
              .open =
                  [](const SourceRequest& request) {
                    return read_vllm_bench(request.options, request.sessions, request.seed);
                  },
              .sniff =
                  [](const FileBeginning& beginning) {
                    return beginning.has_keys({"request_rate", "total_input_tokens"});
                  }},
    SourceRow{
        .name = "guidellm",
        .summary = "GuideLLM's benchmarks.json: starts, lengths, latencies",
        .has_arrivals = true,
        .input_is = InputIs::whole_prompt,
        .open = [](const SourceRequest& request) { return read_guidellm(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_key("benchmarks"); }},
    SourceRow{
        .name = "aiperf",
        .summary = "AIPerf's profile_export.jsonl: starts, lengths, latencies",
        .has_arrivals = true,
        .input_is = InputIs::whole_prompt,
        .open = [](const SourceRequest& request) { return read_aiperf(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) { return beginning.has_key("metadata.request_start_ns"); }},
    SourceRow{
        .name = "genai_perf",
        .summary = "GenAI-Perf's profile_export.json: texts and times",
        .has_arrivals = true,
        .input_is = InputIs::whole_prompt,
        .open =
            [](const SourceRequest& request) { return read_genai_perf(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_key("experiments"); }},
    SourceRow{.name = "inference_perf",
              .summary = "inference-perf's per_request_lifecycle_metrics.json: starts, lengths, latencies",
              .has_arrivals = true,
              .input_is = InputIs::whole_prompt,
              .open =
                  [](const SourceRequest& request) {
                    return read_inference_perf(request.options, request.sessions);
                  },
              .sniff =
                  [](const FileBeginning& beginning) {
                    return is_among("start_time", beginning.item_keys) &&
                           is_among("end_time", beginning.item_keys);
                  }},
    SourceRow{.name = "multi_round_qa",
              .summary = "CSV of LMCache's and production-stack's multi-round-qa: starts, lengths, users",
              .has_arrivals = true,
              .input_is = InputIs::whole_prompt,
              .open =
                  [](const SourceRequest& request) {
                    return read_multi_round_qa(request.options, request.sessions);
                  },
              .sniff =
                  [](const FileBeginning& beginning) {
                    return beginning.has_column("generation_tokens") && beginning.has_column("launch_time");
                  }},
    SourceRow{.name = "lmcache_lookup",
              .summary = "LMCache's lookup-hash log: arrivals and chunks of prompts",
              .has_arrivals = true,
              .input_is = InputIs::whole_prompt,
              .open =
                  [](const SourceRequest& request) {
                    return read_lmcache_lookup(request.options, request.sessions);
                  },
              .sniff =
                  [](const FileBeginning& beginning) {
                    return beginning.has_keys({"seq_len", "chunk_size"});
                  }},
    SourceRow{
        .name = "bailian",
        .summary = "usage traces of Qwen on Bailian: chats with blocks of prompts",
        .has_arrivals = true,
        .input_is = InputIs::whole_prompt,
        .open = [](const SourceRequest& request) { return read_bailian(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return beginning.has_keys({"chat_id", "input_length"});
            }},
    SourceRow{
        .name = "blis",
        .summary = "BLIS' TraceV2 as CSV: arrivals, lengths, sessions, shared prefixes",
        .has_arrivals = true,
        .input_is = InputIs::whole_prompt,
        .open = [](const SourceRequest& request) { return read_blis(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_column("arrival_time_us"); }},
    SourceRow{
        .name = "otel",
        .summary = "OpenTelemetry's GenAI spans as JSON: starts, lengths, conversations",
        .has_arrivals = true,
        .input_is = InputIs::whole_prompt,
        .open = [](const SourceRequest& request) { return read_otel(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return beginning.has_key("resourceSpans") ||
                     beginning.has_key_ending("gen_ai.usage.input_tokens") ||
                     beginning.has_key_ending("gen_ai.usage.prompt_tokens");
            }},
    SourceRow{
        .name = "azure",
        .summary = "CSV of Azure's LLM inference traces: arrivals and lengths",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_azure(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_column("ContextTokens"); }},
    SourceRow{
        .name = "burstgpt",
        .summary = "BurstGPT's CSV: arrivals and lengths, sessions in its third part",
        .has_arrivals = true,
        .input_is = InputIs::whole_prompt,
        .open = [](const SourceRequest& request) { return read_burstgpt(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_column("Request tokens"); }},
    SourceRow{
        .name = "vidur",
        .summary = "Vidur's CSV: lengths and, in some files, arrivals",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_vidur(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return beginning.has_column("num_prefill_tokens") && beginning.has_column("num_decode_tokens");
            }},
    SourceRow{
        .name = "splitwise",
        .summary = "CSV of Splitwise's simulator: arrivals and lengths",
        .has_arrivals = true,
        .open =
            [](const SourceRequest& request) { return read_splitwise(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return beginning.has_column("prompt_size") && beginning.has_column("token_size");
            }},
    SourceRow{
        .name = "csv",
        .summary = "any CSV of requests: arrival_s, input_tokens, output_tokens, session, or "
                   "workload.source.columns",
        .has_arrivals = true,
        .has_columns = true,
        .input_is = InputIs::automatic,
        .open = [](const SourceRequest& request) { return read_csv(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_column("arrival_s"); }},
    SourceRow{
        .name = "jsonl",
        .summary = "any JSONL of requests, with keys as the columns of csv",
        .has_arrivals = true,
        .has_columns = true,
        .input_is = InputIs::automatic,
        .open = [](const SourceRequest& request) { return read_csv(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.has_key("arrival_s"); }},
    SourceRow{.name = "few_shot",
              .summary = "few-shot prompts that share prefixes, as in HyperInfer",
              .is_generated = true,
              .open =
                  [](const SourceRequest& request) {
                    return generate_few_shot(request.options, generated(request), request.seed);
                  }},
    SourceRow{.name = "rag",
              .summary = "questions with retrieved chunks, as in CacheBlend",
              .is_generated = true,
              .open =
                  [](const SourceRequest& request) {
                    return generate_rag(request.options, request.sessions, request.seed);
                  }},
    SourceRow{.name = "random",
              .summary = "benchmark prompts of given lengths, optionally with shared prefixes or repeated",
              .is_generated = true,
              .open = [](const SourceRequest& request) {
                return generate_random_prompts(request.options, generated(request), request.seed);
              }}};

}  // namespace

std::span<const SourceRow> source_table() { return kSources; }

std::span<const std::string_view> source_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const SourceRow& row : kSources) list.push_back(row.name);
    return list;
  }();
  return names;
}

const SourceRow& source_row(std::string_view name) {
  for (const SourceRow& row : kSources) {
    if (row.name == name) return row;
  }
  KVCAP_BUG("a source kind is not in the table");
}

const SourceRow& guess_source(const std::string& path) {
  const FileBeginning beginning = beginning_of_file(path);
  for (const SourceRow& row : kSources) {
    if (row.sniff && row.sniff(beginning)) return row;
  }
  refuse_array_of_objects(path, beginning);
  if (beginning.columns.size() > 1) throw unknown_columns(path, "a CSV with the columns", beginning.columns);
  if (!beginning.has_key("turns") && !likely_columns(beginning.keys).empty()) {
    throw unknown_columns(path, "JSON with the keys", beginning.keys);
  }
  return kSources.front();
}

}  // namespace kvcap
