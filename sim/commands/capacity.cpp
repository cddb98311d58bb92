// kvcap capacity: the highest load that meets the targets, and the curve around it.
#include "plan/capacity.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/format.h"
#include "base/text/note.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/machine_load.h"
#include "commands/model_options.h"
#include "commands/output.h"
#include "commands/question.h"
#include "commands/require.h"
#include "documents/kind.h"
#include "metrics/statistics/percentile_share.h"
#include "metrics/write.h"
#include "plan/workers.h"
#include "run/billing.h"
#include "text/capacity_text.h"
#include "text/result_sentences.h"

namespace kvcap {
namespace {

struct CapacityArgs {
  QuestionArgs question;
  std::string policies;
  std::vector<std::string> meet;
  int seeds = 8;
  std::string out;
  bool resume = false;
  bool json = false;
  bool explain = false;
};

// True iff the metric gets worse as the load grows. The search accepts targets only on such metrics: on
// others, it would not find the highest load that meets the target.
bool worsens_with_load(const std::string& metric) {
  return metric.ends_with("_ms") || metric.ends_with("hit_rate") || metric.starts_with("rejected") ||
         metric.starts_with("failed") || metric.starts_with("truncated");
}

std::vector<Target> read_targets(const CapacityArgs& args, const Scenario& scenario,
                                 const std::string& name) {
  const std::vector<Target> targets = args.meet.empty() ? targets_of(scenario.slo) : parse_targets(args.meet);
  for (const Target& one : targets) {
    if (worsens_with_load(one.metric)) continue;
    throw InputError("--meet: found the metric \"" + one.metric +
                     "\", allowed: one that a higher load makes worse: latencies (_ms), hit rates, rejected, "
                     "failed, truncated and their shares");
  }
  if (!targets.empty()) return targets;
  throw InputError(name +
                   ": slo: missing, required without --meet, e.g. --set slo.ttft_ms=1000 or --meet "
                   "'p99_ttft_ms<=1000'");
}

// NaN and infinity become null, because JSON has neither.
Json point_object(const CapacityQuestion& question, const LoadPoint& point) {
  Json metrics = Json::object(), half_widths = Json::object();
  std::vector<std::string> names = {"mean_ttft_ms",
                                    "p99_ttft_ms",
                                    "mean_tpot_ms",
                                    "p99_tpot_ms",
                                    "mean_e2el_ms",
                                    "request_throughput",
                                    "output_throughput",
                                    "request_goodput",
                                    "token_hit_rate",
                                    "kv_capacity_tokens",
                                    "peak_kv_tokens",
                                    "preemptions",
                                    "offered_load",
                                    "utilization.gpu",
                                    "rejected",
                                    "rejected_share",
                                    "failed",
                                    "failed_share",
                                    "abandoned",
                                    "truncated",
                                    "truncated_share",
                                    "cost.usd_per_million_output_tokens"};
  for (const Target& target : question.meet) {
    names.push_back(target.metric);
    if (allowed_share(target.metric)) names.push_back(beyond_share_name(target.metric));
  }
  for (const std::string& one : names) {
    const MeanInterval found = point.metric(one);
    metrics[one] = found.mean;
    half_widths[one] = found.half_width;
  }
  int64_t sessions = 0, turns = 0;
  for (const RunResult& run : point.runs) {
    sessions += run.session_count;
    turns += run.turn_count;
  }
  constexpr const char* kVerdicts[] = {"misses", "misses", "unclear", "meets"};
  return {{question.closed_loop ? "concurrency" : "requests_per_s", point.load},
          {"seeds", point.runs.size()},
          {"sessions", sessions},
          {"turns", turns},
          {"stable", name(point.stability())},
          {"verdict", kVerdicts[static_cast<std::size_t>(point.verdict)]},
          {"missed", point.missed.empty() ? Json() : Json(point.missed)},
          {"metrics", metrics},
          {"half_widths", half_widths}};
}

// Returns the note on how a lossy policy changes the model's output; null for a lossless policy.
Json quality_note_of(const CapacityAnswer& answer) {
  for (const LoadPoint& point : answer.points) {
    if (!point.runs.empty() && !point.runs.front().quality_note.empty())
      return point.runs.front().quality_note;
  }
  return {};
}

// Returns the mean per served turn of the metric `total`, at the first load at which turns were served; null
// if there is none.
Json mean_of(const CapacityAnswer& answer, const char* total) {
  for (const LoadPoint& point : answer.points) {
    if (point.runs.empty()) continue;
    const RunResult& run = point.runs.front();
    const double mean = run.number(total) / run.number("completed");
    if (std::isfinite(mean)) return mean;
  }
  return {};
}

// Returns the highest simulated load that does not exceed the capacity; null if there is none.
const LoadPoint* at_capacity(const CapacityAnswer& answer) {
  const LoadPoint* found = nullptr;
  for (const LoadPoint& point : answer.points)
    if (point.load <= answer.load && !point.runs.empty()) found = &point;
  return found;
}

Json answer_object(const Scenario& scenario, const CapacityQuestion& question, const CapacityAnswer& answer) {
  Json interval;
  if (question.seeds > 1) interval = {answer.sure, answer.beyond};
  Json meet = Json::object();
  for (const Target& target : question.meet) {
    Json& bounds = meet[target.metric] = Json::object();
    if (std::isfinite(target.min)) bounds["min"] = target.min;
    if (std::isfinite(target.max)) bounds["max"] = target.max;
  }
  Json object = {{"schema", "kvcap.capacity/1"},
                 {"name", scenario.name},
                 {"model", scenario.model.name},
                 {"hardware", scenario.hardware.name},
                 {"policy", scenario.policy.name},
                 {"quality_note", quality_note_of(answer)},
                 {"mean_input_tokens", mean_of(answer, "total_input_tokens")},
                 {"mean_output_tokens", mean_of(answer, "total_output_tokens")},
                 {"meet", meet},
                 {"unit", question.closed_loop ? "concurrency" : "requests_per_s"},
                 {"capacity", {{"mean", answer.load}, {"interval", interval}}},
                 {"seeds", question.seeds},
                 {"limit", answer.limit},
                 {"notes", scenario.notes},
                 {"curve", Json::array()},
                 {"attempts", Json::array()}};
  if (answer.is_interrupted) object["interrupted"] = true;
  const LoadPoint* held = at_capacity(answer);
  object["machine"] = held ? machine_load(scenario.resolved_json, held->runs) : Json();
  for (const LoadPoint& one : answer.curve) object["curve"].push_back(point_object(question, one));
  for (const LoadPoint& one : answer.points) object["attempts"].push_back(point_object(question, one));
  return object;
}

struct Alternative {
  std::string policy;
  Scenario scenario;
  CapacityAnswer answer;
};

// Returns the scenario with a size for every tier that has none: the bytes that the run at capacity stores
// there.
Scenario sized(const Scenario& scenario, const CapacityAnswer& answer) {
  const LoadPoint* point = at_capacity(answer);
  return point ? with_filled_sizes(scenario, point->runs.front()) : scenario;
}

// Returns the capacities of the engine's other policies: its prefix cache alone, and its offloading stacks.
// After Ctrl-C, returns those that are complete and sets `interrupted`.
std::vector<Alternative> alternatives(const CapacityArgs& args, const Question& question,
                                      const Scenario& scenario, const CapacityQuestion& asked,
                                      const FinishedRuns& finished, bool& interrupted) {
  std::vector<Alternative> found;
  for (const std::string& policy : question.own_policies()) {
    if (policy == scenario.policy.name) continue;
    Scenario other = question.load(overrides_beside(policy, args.question.set));
    CapacityAnswer answer;
    try {
      answer = find_capacity(asked, simulated_loads(other, asked.meet, finished));
    } catch (const Interrupted&) {
      answer.is_interrupted = true;
    }
    interrupted = answer.is_interrupted;
    if (interrupted) break;
    found.push_back({policy, std::move(other), std::move(answer)});
  }
  return found;
}

// Returns the launch line of the answer, followed by the flag changes that raise the capacity.
std::string flags_text(const Scenario& scenario, const CapacityQuestion& question,
                       const CapacityAnswer& answer, const std::vector<Alternative>& others) {
  const Scenario filled = sized(scenario, answer);
  std::string text = "\n" + launch_text(filled), changes;
  for (const Alternative& one : others) {
    if (one.answer.load <= answer.load) continue;
    std::string gain = "      " + format_number(one.answer.load) + " " +
                       (question.closed_loop ? "active sessions" : "requests/s") + " instead of " +
                       format_number(answer.load);
    if (answer.load > 0) gain += " (" + format_percent(one.answer.load / answer.load - 1) + ")";
    if (question.seeds == 1) gain += " with one seed, which may be chance";
    if (question.seeds > 1 && one.answer.sure < answer.beyond)
      gain += "; the intervals overlap, so this may be chance";
    changes += flags_line(one.policy, filled, sized(one.scenario, one.answer)) + gain + "\n";
  }
  if (!changes.empty()) text += kFlagsTitle + changes;
  return text == "\n" ? "" : text;
}

// Returns all notes if `is_explained`, otherwise a line that counts them.
std::string notes_text(const std::vector<std::string>& notes, bool is_explained) {
  const std::vector<std::string> assumed = assumptions(notes);
  const auto old =
      static_cast<std::size_t>(std::count_if(notes.begin(), notes.end(), [](const std::string& note) {
        return kind_of(note) == NoteKind::outdated;
      }));
  if (notes.empty()) return "";
  if (!is_explained) {
    std::vector<std::string> lines = version_texts(notes);
    const std::size_t left_out = assumed.size() - lines.size();
    lines.push_back(outdated_text(old));
    lines.push_back(left_out_text(notes.size() - assumed.size() - old, left_out));
    std::string text;
    for (const std::string& line : lines)
      if (!line.empty()) text += "\n" + line + "\n";
    return text;
  }
  std::string text = "\nNotes:\n";
  for (const std::string& note : notes) text += wrapped({"  " + note + "."}, "    ");
  return text;
}

// One policy with its capacity and, for a question from a launch line, the engine's other policies.
struct Answered {
  Scenario scenario;
  CapacityAnswer answer;
  std::vector<Alternative> others;
  Json document;
};

// Adds the launch line of the answer, and the flag changes that select each of the other policies.
void add_launch(const Launched& from, Answered& one) {
  const Scenario filled = sized(one.scenario, one.answer);
  const std::string launch = launch_line_of(filled);
  one.document["launch"] = launch.empty() ? Json() : Json(launch);
  one.document["flags"] = Json::array();
  for (const Alternative& other : one.others) {
    const std::string flags = changed_flags(filled, sized(other.scenario, other.answer));
    one.document["flags"].push_back({{"policy", other.policy},
                                     {"change", flags.empty() ? Json() : Json(flags)},
                                     {"capacity", other.answer.load}});
  }
  if (!from.is_given()) return;
  one.document["from"] = launched_json(from);
  one.document["warnings"] = one.document["from"]["warnings"];
}

// Returns one scenario for each of --policies, or the question's own scenario without that option.
std::vector<Scenario> scenarios_of(const CapacityArgs& args, const Question& question) {
  if (args.policies.empty()) return {question.load()};
  const std::vector<Storage>& sizes = question.storages();
  if (sizes.size() > 1)
    throw InputError("capacity: found several sizes of --dram or --ssd, allowed: one of each");
  std::vector<Scenario> scenarios;
  for (const std::string& policy : distinct_items("--policies", args.policies)) {
    Overrides changes = {{"policy.name", Json(policy).dump(), "--policies", {}}};
    if (question.from().is_given()) changes = overrides_beside(policy, args.question.set);
    const Overrides tiers = sizes.empty() ? Overrides() : storing(policy, sizes.front(), "--dram, --ssd");
    changes.insert(changes.end(), tiers.begin(), tiers.end());
    scenarios.push_back(question.load(with_set_tiers(std::move(changes), question.set())));
  }
  return scenarios;
}

// Returns the files of --out: capacity.json, or capacity-hcache.json for each of several policies.
std::vector<std::string> file_names(const std::vector<Scenario>& scenarios) {
  if (scenarios.size() == 1) return {"capacity.json"};
  std::vector<std::string> names;
  for (const Scenario& scenario : scenarios) names.push_back("capacity-" + scenario.policy.name + ".json");
  return names;
}

void refuse_trace(const Scenario& scenario, const std::string& name) {
  if (scenario.workload.arrivals.process != ArrivalProcess::trace) return;
  throw InputError(name +
                   ": workload.arrivals.process: found \"trace\", allowed: poisson, gamma, constant, "
                   "closed_loop (a trace already fixes when its requests arrive)");
}

// Returns "chat: llama-3.1-8b, recompute; mean prompt with its history 2,360 tokens, mean answer 456 tokens".
std::string heading_of(const Answered& one, const std::string& policy) {
  std::string text = one.scenario.name + ": " + one.scenario.model.name + policy;
  const Json &prompt = one.document["mean_input_tokens"], &answer = one.document["mean_output_tokens"];
  if (!prompt.is_null() && !answer.is_null()) {
    text += "; mean prompt with its history " + format_number(prompt.get<double>()) +
            " tokens, mean answer " + format_number(answer.get<double>()) + " tokens";
  }
  return wrapped({text}) + "\n";
}

std::string page_of(const CapacityArgs& args, const CapacityQuestion& question, const Answered& one) {
  const Scenario& scenario = one.scenario;
  std::string text = heading_of(one, ", " + scenario.policy.name);
  std::vector<std::string> sentences = document_sentences(one.document);
  const std::size_t brief = one.document["quality_note"].is_null() ? 2 : 3;
  if (!args.explain) sentences.resize(std::min(sentences.size(), brief));
  text += wrapped(sentences);
  if (!one.answer.curve.empty()) text += "\n" + curve_text(question, one.answer);
  return text + notes_text(scenario.notes, args.explain) +
         flags_text(scenario, question, one.answer, one.others);
}

// Returns one or two sentences per policy, the highest capacity first, followed by the page of each policy if
// --explain is given.
std::string pages_of(const CapacityArgs& args, const CapacityQuestion& question, std::vector<Answered> all) {
  if (all.size() == 1) return page_of(args, question, all.front());
  std::stable_sort(all.begin(), all.end(),
                   [](const Answered& a, const Answered& b) { return a.answer.load > b.answer.load; });
  std::string text = heading_of(all.front(), "");
  for (const Answered& one : all) {
    std::vector<std::string> sentences = document_sentences(one.document);
    sentences.resize(std::min<std::size_t>(sentences.size(), one.document["quality_note"].is_null() ? 1 : 2));
    text += wrapped(sentences);
  }
  for (const Answered& one : all)
    if (args.explain) text += "\n" + page_of(args, question, one);
  return text;
}

// Returns the answer for every policy. After Ctrl-C, returns the answers so far and sets `interrupted`;
// throws Interrupted if there are none.
std::vector<Answered> answers_of(const CapacityArgs& args, const Question& asked,
                                 const CapacityQuestion& question, std::vector<Scenario> scenarios,
                                 const FinishedRuns& finished, bool& interrupted) {
  std::vector<Answered> all;
  try {
    for (Scenario& scenario : scenarios) {
      Answered one{std::move(scenario), {}, {}, {}};
      one.answer = find_capacity(question, simulated_loads(one.scenario, question.meet, finished));
      interrupted = one.answer.is_interrupted;
      if (asked.from().is_given() && args.policies.empty() && !interrupted)
        one.others = alternatives(args, asked, one.scenario, question, finished, interrupted);
      one.document = answer_object(one.scenario, question, one.answer);
      add_launch(asked.from(), one);
      all.push_back(std::move(one));
      if (interrupted) break;
    }
  } catch (const Interrupted&) {
    if (all.empty()) throw;
    interrupted = true;
  }
  return all;
}

void capacity(const CapacityArgs& args) {
  const Question asked(args.question, {.has_sizes = !args.policies.empty(), .needs_load = false});
  const Launched& from = asked.from();
  if (!args.policies.empty() && !args.question.save.empty())
    throw InputError("capacity: found --save with --policies, allowed: one of them");
  std::vector<Scenario> scenarios = scenarios_of(args, asked);
  const Scenario& first = scenarios.front();
  refuse_trace(first, asked.name());
  const CapacityQuestion question{
      .meet = read_targets(args, first, asked.name()),
      .closed_loop = first.workload.arrivals.process == ArrivalProcess::closed_loop,
      .seeds = args.seeds,
      .guess = load_of(first)};
  asked.save(first);
  refuse_resume_without_folder("capacity", args.resume, args.out);
  const MadeFolders made = prepare_folder(args.out);
  const std::vector<std::string> names = file_names(scenarios);
  if (!args.out.empty()) refuse_to_replace_in("--out", args.out, names, files_of(first));
  const FinishedRuns finished(args.out, args.resume);
  bool interrupted = false;
  std::vector<Answered> all = answers_of(args, asked, question, std::move(scenarios), finished, interrupted);
  if (interrupted) {
    if (!args.json) print(pages_of(args, question, std::move(all)));
    throw Interrupted();
  }
  Json documents = Json::array();
  for (const Answered& one : all) documents.push_back(one.document);
  const std::string json = (all.size() == 1 ? documents.front() : documents).dump(2) + "\n";
  for (std::size_t i = 0; i < all.size() && !args.out.empty(); ++i)
    write_file(args.out + "/" + names[i], documents[i].dump(2) + "\n");
  finished.discard();
  const bool any =
      std::any_of(all.begin(), all.end(), [](const Answered& one) { return one.answer.load > 0; });
  print(args.json ? json : pages_of(args, question, std::move(all)) + launched_text(from));
  if (!any) throw CheckFailed(asked.name() + ": no load meets the targets");
}

}  // namespace

void add_capacity(CLI::App& app) {
  auto args = std::make_shared<CapacityArgs>();
  Command command(app, "capacity", "the highest load that meets the targets");
  add_question(command, args->question);
  declare_model_options(command);
  command.value("--prices", args->question.prices,
                "price file (kvcap.prices/1), in place of the profiles' prices");
  command.value("--policies", args->policies,
                "find the capacity of each policy: a,b,c; exit code 3 if none meets the targets");
  command.repeated("--meet", args->meet, "a target, in place of the scenario's slo: 'p99_ttft_ms<=500'");
  command.value("--seeds", args->seeds, "seeds per load; a single seed gives no interval")
      .with_default()
      .within(1, 100);
  command.value("--out", args->out,
                "folder for capacity.json, or capacity-POLICY.json for each of --policies");
  command.flag("--resume", args->resume,
               "continue an interrupted command with this --out; keep its finished simulations");
  command.flag("--explain", args->explain, kExplainHelp);
  command.flag("--json", args->json, "print everything as JSON");
  command.footer(
      "The load is a rate of requests or, with workload.arrivals.process closed_loop, the number of\n"
      "sessions that are active at once. Runs are lengthened until they represent the steady state. A\n"
      "target on a 99th percentile is met if at most 1 % of the turns of all seeds exceed it.\n\n"
      "Example: kvcap capacity demo --set policy.name=kv_offload --seeds 2");
  command.runs([args] { run_resumable(args->out, [args] { capacity(*args); }); });
}

}  // namespace kvcap
