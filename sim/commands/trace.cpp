// kvcap trace: prints statistics of workloads, converts them to session JSONL, and writes generated
// workloads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/joined.h"
#include "base/text/plain_text.h"
#include "base/text/print.h"
#include "base/text/utf8.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "documents/kind.h"
#include "scenario/load.h"
#include "workload/logs/gz_file.h"
#include "workload/source.h"
#include "workload/sources_table.h"
#include "workload/trace_stats.h"

namespace kvcap {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kActions = {"stats", "convert", "generate"};

struct TraceArgs {
  std::string action;
  std::vector<std::string> files;
  std::string format;
  std::string columns;   // see workload.source.columns
  std::string input_is;  // see workload.source.input_is
  std::optional<int64_t> sessions;
  int64_t seed = 1;
  std::vector<std::string> overrides;
  bool json = false;
};

[[noreturn]] void refuse(const std::string& where, const std::string& found,
                         const std::vector<std::string_view>& allowed) {
  throw InputError(where + ": found \"" + found + "\", allowed: " + joined(allowed) +
                   suggestion(found, allowed));
}

// Returns the source kind that --format names. Without --format, guesses it from the beginning of the file,
// or returns "chat" for generate, which has no file.
const SourceRow& kind_of(const TraceArgs& args) {
  const bool generate = args.action == "generate";
  if (args.format.empty() && generate) return source_row("chat");
  if (args.format.empty()) return args.columns.empty() ? guess_source(args.files.front()) : source_row("csv");
  std::vector<std::string_view> allowed;
  for (const SourceRow& row : source_table()) {
    if (row.is_generated != generate) continue;
    if (row.name == args.format) return row;
    allowed.push_back(row.name);
  }
  refuse("--format", args.format, allowed);
}

// Returns the names of the kinds: "chat, long_context, few_shot, rag".
std::string kinds(bool generated) {
  std::string names;
  for (const SourceRow& row : source_table()) {
    if (row.is_generated == generated) names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

struct Input {
  WorkloadOptions options;
  uint64_t seed = 1;
};

// Puts the options into a scenario and loads it, so that --set has its usual names, ranges and messages. The
// model and hardware of this scenario are not used.
Input input_of(const TraceArgs& args) {
  const SourceRow& kind = kind_of(args);
  const std::string path = kind.is_generated ? "" : args.files.front();
  Json workload = {{"source", {{"kind", kind.name}, {"path", path}}}};
  if (!args.columns.empty()) workload["source"]["columns"] = args.columns;
  if (!args.input_is.empty()) workload["source"]["input_is"] = args.input_is;
  if (args.sessions) workload["sessions"] = *args.sessions;
  const Json text = {{"schema", "kvcap.scenario/1"},
                     {"model", "llama-2-7b"},
                     {"hardware", "a100-40g-4x-pm9a3"},
                     {"workload", workload},
                     {"seed", args.seed}};
  const std::string valid = text.dump(-1, ' ', false, Json::error_handler_t::replace);
  Scenario scenario = parse_scenario(valid, "trace " + args.action, args.overrides);
  if (!is_utf8(path)) scenario.workload.source.path = path;  // JSON cannot represent it
  return {scenario.workload, scenario.seed};
}

// Opens the source. If the format was guessed, adds a hint on --format to errors.
Source read_source(const TraceArgs& args, const Input& input) {
  try {
    return open_source(input.options, input.seed);
  } catch (const InputError& error) {
    const bool is_said = !args.format.empty() || !args.columns.empty();
    if (is_said || source_row(input.options.source.kind).is_generated) throw;
    throw InputError(std::string(error.what()) + "; read as " + input.options.source.kind +
                     ", which --format can change");
  }
}

// ---- stats ----

struct FigureRow {
  const char* name;  // JSON key after the prefix mean_, median_, ...
  const char* label;
  const char* unit;
  const TraceFigure* figure;
};

std::vector<FigureRow> rows_of(const TraceStats& stats) {
  const bool pieces = stats.pieces > 0;
  return {{"turns", "turns of a session", "", &stats.turns},
          {"input_tokens", "new input of a request", "tokens", &stats.input_tokens},
          {"output_tokens", "output of a request", "tokens", &stats.output_tokens},
          {"history_tokens", "history of a request", "tokens", &stats.history_tokens},
          {"context_tokens", pieces ? "stored text" : "context at its end", "tokens", &stats.context_tokens},
          {"reuse_distance_tokens", "reuse distance", "tokens", &stats.reuse_distance_tokens},
          {"reuse_distance_s", "time since last use", "s", &stats.reuse_distance_s}};
}

Json number(double value) { return std::isnan(value) ? Json() : Json(value); }

std::string stats_json(const TraceStats& stats, const Workload& workload, const std::string& format,
                       const std::vector<std::string>& notes) {
  Json json = {{"schema", "kvcap.trace_stats/1"},
               {"format", format},
               {"requests", stats.requests},
               {"sessions", stats.sessions},
               {"duration_s", stats.duration_s ? Json(*stats.duration_s) : Json()},
               {"request_gap_cv", number(stats.request_gap_cv.value_or(NAN))},
               {"multi_turn_share", stats.multi_turn_share},
               {"history_token_share", stats.history_token_share},
               {"infinite_cache_token_hit_rate", stats.infinite_cache_token_hit_rate},
               {"mean_request_hit_rate", stats.mean_request_hit_rate},
               {"infinite_cache_block_hit_rate", stats.infinite_cache_block_hit_rate},
               {"infinite_cache_full_block_hit_rate", number(stats.infinite_cache_full_block_hit_rate)},
               {"block_tokens", stats.block_tokens > 0 ? Json(stats.block_tokens) : Json()},
               {"pieces", stats.pieces},
               {"unique_pieces", stats.unique_pieces},
               {"total_context_tokens", stats.total_context_tokens},
               {"reuses", stats.reuses}};
  for (const FigureRow& row : rows_of(stats)) {
    const std::string name = row.name;
    json["mean_" + name] = number(row.figure->mean);
    json["median_" + name] = number(row.figure->median);
    json["p90_" + name] = number(row.figure->p90);
    json["p99_" + name] = number(row.figure->p99);
    json["max_" + name] = number(row.figure->max);
  }
  json["miss_ratio_curve"] = Json::array();
  for (const MissRatioPoint& point : stats.miss_ratio_curve) {
    json["miss_ratio_curve"].push_back(
        {{"capacity_tokens", point.capacity_tokens}, {"token_miss_ratio", point.token_miss_ratio}});
  }
  const OddRowCounts& odd = workload.odd_rows;
  json["rows_left_out"] = {{"bad", workload.bad_rows_skipped},
                           {"repeated", odd.repeated},
                           {"impossible_times", odd.impossible_times},
                           {"distant_dates", odd.distant_dates}};
  json["notes"] = notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";  // notes may contain file names
                                                                           // that are not UTF-8
}

void print_table(const std::string& name, const TraceStats& stats, const std::string& format,
                 const std::vector<std::string>& notes) {
  print_format("%s   %s, %s", message_line(name).c_str(), format_count(stats.sessions, "session").c_str(),
               format_count(stats.requests, "request").c_str());
  if (stats.duration_s) {
    print_format(", %s s", format_number(*stats.duration_s).c_str());
    const double rate_per_s = static_cast<double>(stats.requests) / *stats.duration_s;
    if (*stats.duration_s > 0) print_format(", %s requests/s", format_number(rate_per_s).c_str());
  }
  print_format("\nread as %s: %s\n", format.c_str(), std::string(source_row(format).summary).c_str());
  print_format("\n%-24s%8s%11s%11s%11s%11s%11s\n", "", "", "mean", "p50", "p90", "p99", "max");
  for (const FigureRow& row : rows_of(stats)) {
    const TraceFigure& one = *row.figure;
    print_format("%-24s%8s", row.label, row.unit);
    for (double value : {one.mean, one.median, one.p90, one.p99, one.max}) {
      print_format("%11s", format_number(value).c_str());
    }
    print_format("\n");
  }
  const auto line = [](const char* label, const std::string& value) {
    print_format("%-40s%14s\n", label, value.c_str());
  };
  print_format("\n");
  line("sessions of several turns", format_percent(stats.multi_turn_share));
  line("history's share of prompt tokens", format_percent(stats.history_token_share));
  line("token hit rate of an unlimited cache", format_percent(stats.infinite_cache_token_hit_rate));
  line("  mean over requests", format_percent(stats.mean_request_hit_rate));
  const std::string size = format_count(stats.block_tokens) + " tokens";
  const bool pieces = stats.pieces > 0;
  line(pieces ? "  hit rate, pieces of prompts" : ("  hit rate, blocks of " + size).c_str(),
       format_percent(stats.infinite_cache_block_hit_rate));
  if (pieces && stats.block_tokens > 0) {
    line(("  hit rate, full pieces of " + size).c_str(),
         format_percent(stats.infinite_cache_full_block_hit_rate));
  }
  line("tokens in that cache at the end", format_count(stats.total_context_tokens));
  if (pieces) {
    line("pieces of prompts", format_count(stats.pieces));
    line("  distinct pieces", format_count(stats.unique_pieces));
  }
  if (stats.request_gap_cv) line("variation of gaps between requests", format_number(*stats.request_gap_cv));
  print_format("\n");
  for (const std::string& note : notes) print("note: " + plain_line(note) + "\n");
}

void print_stats(const TraceArgs& args) {
  Input input = input_of(args);
  const Source source = read_source(args, input);
  const bool has_arrivals = source_row(input.options.source.kind).has_arrivals;
  if (has_arrivals && has_timetable(source)) input.options.arrivals.process = ArrivalProcess::trace;
  const Workload workload = arrange(source, input.options, input.seed);
  std::vector<std::string> notes = workload.notes;
  if (!workload.absolute_times && input.options.arrivals.process != ArrivalProcess::trace) {
    const std::string load = workload.concurrency > 0
                                 ? format_count(workload.concurrency) + " sessions at a time"
                                 : format_number(workload.sessions_per_s) + " sessions/s";
    const std::string pauses = uses_recorded_think_times(input.options, source)
                                   ? "the source's think times"
                                   : format_number(input.options.think_time.mean_s) + " s";
    notes.push_back("reuse distances are those of " + load + " with " + pauses +
                    " between turns (workload.arrivals, workload.think_time) and answers that take no "
                    "time");
  }
  const TraceStats stats = trace_stats(workload);
  if (stats.history_token_share == 0) {
    notes.push_back("no request shares a prefix or a session with an earlier one: there is no reuse to see");
  }
  const std::string json = stats_json(stats, workload, input.options.source.kind, notes);
  if (args.json) return print(json);
  print_table(args.files.front(), stats, input.options.source.kind, notes);
  print("\n" + wrapped(document_sentences(Json::parse(json))));
}

// ---- convert, generate ----

// Drops arrival times that are relative to the beginning of each session, because session JSONL has one clock
// for all sessions. Think times are kept.
void drop_relative_arrivals(const std::string& kind, Source& source) {
  if (source_row(kind).has_arrivals) return;
  const auto is_known = [](const Turn& turn) { return !std::isnan(turn.time_s); };
  if (std::none_of(source.turns.begin(), source.turns.end(), is_known)) return;
  for (Turn& turn : source.turns) turn.time_s = NAN;
  source.notes.push_back(
      "arrival_s is not written: the times of this format count from each session's beginning");
}

void write_sessions(const TraceArgs& args) {
  const std::string& path = args.files.back();
  const Input input = input_of(args);
  Source source = read_source(args, input);
  drop_relative_arrivals(input.options.source.kind, source);
  const std::string text = session_lines(source);
  write_file(path, path.ends_with(".gz") ? gzip(text) : text);
  for (const std::string& note : source.notes) tell("note: " + note);
  tell(path + ": " + format_count(std::ssize(source.sessions), "session") + ", " +
       format_count(std::ssize(source.turns), "turn"));
}

void refuse_unwritable(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder)) return;
  throw InputError(path + ": cannot be written: No such folder");
}

void trace(const TraceArgs& args) {
  const std::vector<std::string_view> actions(kActions.begin(), kActions.end());
  if (std::find(actions.begin(), actions.end(), args.action) == actions.end()) {
    refuse("trace", args.action, actions);
  }
  const bool convert = args.action == "convert";
  if (args.files.size() != (convert ? 2 : 1)) {
    throw InputError("trace " + args.action + ": files: found " + std::to_string(args.files.size()) +
                     ", allowed: " + (convert ? "2, FROM and TO" : "1"));
  }
  if (args.action == "stats") return print_stats(args);
  if (args.json) throw InputError("trace " + args.action + ": --json: allowed with stats only");
  refuse_unwritable(args.files.back());
  const std::vector<std::string> inputs(args.files.begin(), args.files.end() - 1);
  refuse_to_replace("trace " + args.action, args.files.back(), inputs);
  write_sessions(args);
}

}  // namespace

void add_trace(CLI::App& app) {
  auto args = std::make_shared<TraceArgs>();
  Command command(app, "trace", "describe, convert and generate workloads");
  command.value("action", args->action, "stats, convert or generate").required();
  command.values("files", args->files,
                 "stats: FILE; convert: FROM TO; generate: TO (session JSONL; .gz is compressed)");
  command.value("--format", args->format,
                kinds(false) + " (default: guessed from the beginning of the file); generate: " +
                    kinds(true) + " (default: chat)");
  command.value(
      "--columns", args->columns,
      "columns of a CSV or JSONL: arrival=A,input=I,output=O,session=S (also ttft, e2el, prompt, id)");
  command.value(
      "--input-is", args->input_is,
      "new_tokens or whole_prompt: what the input of a session's later turns counts; default: by format");
  command.value("--sessions", args->sessions,
                "number of sessions; default: all sessions of a file, or 1000 generated ones");
  command.value("--seed", args->seed, "seed of generated workloads").with_default();
  command.repeated("--set", args->overrides,
                   "override a scenario's field: path=value, e.g. workload.source.tasks=quality,tpo");
  command.flag("--json", args->json, "stats: print JSON");
  command.footer("Example: kvcap trace stats traces/sample-chat.jsonl");
  command.runs([args] { trace(*args); });
}

}  // namespace kvcap
