#include "workload/sources_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "workload/gz_file.h"

namespace kvcap {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr int64_t kDefaultGenerated = 1000;

int64_t generated(const SourceRequest& request) { return request.sessions.value_or(kDefaultGenerated); }

bool is_among(std::string_view key, std::initializer_list<std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// An object is known by a key that only one of the readers has.
bool has_key(const FileBeginning& beginning, std::string_view quoted) {
  return !beginning.first_key.empty() && beginning.text.find(quoted) != std::string_view::npos;
}

// A CSV is known by a column that only one of the readers has.
bool has_column(const FileBeginning& beginning, std::string_view column) {
  return beginning.header.find(column) != std::string_view::npos;
}

constexpr std::array kSources = {
    SourceRow{.name = "sessions",
              .summary = "our session JSONL",
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
        .summary = "ShareGPT's raw JSON",
        .open = [](const SourceRequest& request) { return read_sharegpt(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return beginning.is_array; }},
    SourceRow{
        .name = "leval",
        .summary = "L-Eval's raw JSONL",
        .open = [](const SourceRequest& request) { return read_leval(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return is_among(beginning.first_key,
                              {"instructions", "outputs", "input", "source", "evaluation"});
            }},
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
        .sniff = [](const FileBeginning& beginning) { return has_key(beginning, "\"block_size\""); }},
    SourceRow{.name = "lmcache_agent",
              .summary = "agents' sessions of LMCache's trace: turns, times and blocks of prompts",
              .think_times = ThinkTimes::all,
              .open =
                  [](const SourceRequest& request) {
                    return read_lmcache_agent(request.options, request.sessions);
                  },
              .sniff =
                  [](const FileBeginning& beginning) {
                    return has_key(beginning, "\"session\"") && has_key(beginning, "\"hash_ids\"");
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
        .summary = "Mooncake's JSONL: arrivals, lengths and blocks of prompts",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_mooncake(request.options, request.sessions); },
        .sniff =
            [](const FileBeginning& beginning) {
              return is_among(beginning.first_key,
                              {"timestamp", "input_length", "output_length", "hash_ids"});
            }},
    SourceRow{
        .name = "vllm",
        .summary = "requests of a vLLM run as CSV, with a JSONL of their blocks",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_vllm(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return has_column(beginning, "request_id"); }},
    SourceRow{
        .name = "azure",
        .summary = "CSV of Azure's LLM inference traces: arrivals and lengths",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_azure(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return has_column(beginning, "ContextTokens"); }},
    SourceRow{
        .name = "burstgpt",
        .summary = "BurstGPT's CSV: arrivals and lengths",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_burstgpt(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return has_column(beginning, "Request tokens"); }},
    SourceRow{
        .name = "csv",
        .summary = "any CSV of arrival_s, input_tokens, output_tokens and perhaps session",
        .has_arrivals = true,
        .open = [](const SourceRequest& request) { return read_csv(request.options, request.sessions); },
        .sniff = [](const FileBeginning& beginning) { return has_column(beginning, "arrival_s"); }},
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
              .open = [](const SourceRequest& request) {
                return generate_rag(request.options, request.sessions, request.seed);
              }}};

FileBeginning beginning_of(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlank);
  if (start == std::string_view::npos) return {};
  text.remove_prefix(start);
  if (text.front() == '[') return {.is_array = true};
  if (text.front() != '{') return {.header = text.substr(0, text.find('\n'))};
  const std::size_t quote = text.find_first_not_of(kBlank, 1);
  if (quote == std::string_view::npos || text[quote] != '"') return {};
  return {.first_key = text.substr(quote + 1, text.find('"', quote + 1) - quote - 1), .text = text};
}

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
  refuse_read_once(path, "; say what it is with --format");
  std::string text(4096, ' ');
  GzFile file(path);
  text.resize(file.read(text));
  const FileBeginning beginning = beginning_of(text);
  for (const SourceRow& row : kSources) {
    if (row.sniff && row.sniff(beginning)) return row;
  }
  return kSources.front();
}

}  // namespace kvcap
